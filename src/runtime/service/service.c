/* runtime/service/service.c - see the header. Any task. */
#include "runtime/service/service.h"

#include "base/say.h"
#include "runtime/job/job.h"

const struct weft_service *weft_service_owner(enum weft_owned sort, uint32_t kind)
{
    const struct weft_service *const *service = weft_services;

    if (kind >= 32)
        return NULL;
    while (*service != NULL && ((*service)->owns[sort] & WEFT_KIND(kind)) == 0)
        service++;
    return *service;
}

void weft_services_work(const struct weft_job *job, uint64_t work, char *text, size_t bytes)
{
    text[0] = 0;
    for (int i = 0; work != 0 && weft_services[i] != NULL; i++)
        if (weft_services[i]->works_on != NULL)
            weft_services[i]->works_on(job, work, text, bytes);
}

bool weft_services_round(struct weft_job *job, enum weft_net_side side)
{
    bool did = false;

    for (int i = 0; weft_services[i] != NULL; i++)
        if (weft_services[i]->round[side] != NULL)
            did |= weft_services[i]->round[side](job);
    return did;
}

bool weft_services_frame(struct weft_job *job, const struct weft_frame *frame)
{
    const struct weft_service *owner = weft_service_owner(WEFT_OWNS_FRAMES, frame->kind);

    if (owner == NULL)
        return false;
    if (owner->frame_bytes == 0 || owner->frame_bytes == frame->bytes)
        owner->frame(job, frame);
    else
        weft_job_fail(job, WEFT_ERR_PROTOCOL, "process %d sent a frame of kind %u in %u bytes",
                      frame->source, frame->kind, frame->bytes);
    return true;
}
