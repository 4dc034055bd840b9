/* runtime/service/service.c - see the header. Tasks read the table while another is added. */
#include "runtime/service/service.h"

#include "base/say.h"
#include "runtime/job/job.h"

const struct weft_service *weft_service_owner(const struct weft_services *services,
                                              enum weft_owned sort, uint32_t kind)
{
    return kind < WEFT_SERVICE_KINDS
               ? __atomic_load_n(&services->owner[sort][kind], __ATOMIC_ACQUIRE)
               : NULL;
}

weft_status weft_service_add(struct weft_services *services, const struct weft_service *service)
{
    const uint32_t count = services->count;

    for (int i = 0; i < 2 * WEFT_SERVICE_KINDS; i++) /* by sort and kind */
        if ((service->owns[i & 1] & WEFT_KIND(i / 2)) != 0 && services->owner[i & 1][i / 2] != NULL)
            return weft_err(WEFT_ERR_STATE, "commands 0x%x or waits 0x%x have an owner",
                            service->owns[WEFT_OWNS_COMMANDS], service->owns[WEFT_OWNS_WAITS]);
    if (count == WEFT_SERVICES)
        return weft_err(WEFT_ERR_LIMIT, "a job has %d modules at most", WEFT_SERVICES);
    for (int i = 0; i < 2 * WEFT_SERVICE_KINDS; i++)
        if ((service->owns[i & 1] & WEFT_KIND(i / 2)) != 0)
            __atomic_store_n(&services->owner[i & 1][i / 2], service, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; i++)
        if (service->round[i] != NULL)
            __atomic_store_n(&services->round[i][services->rounds[i]++], service->round[i],
                             __ATOMIC_RELEASE);
    services->list[count] = service;
    __atomic_store_n(&services->count, count + 1, __ATOMIC_RELEASE);
    return WEFT_OK;
}

void weft_services_work(const struct weft_job *job, uint64_t work, char *text, size_t bytes)
{
    text[0] = 0;
    for (uint32_t i = 0; work != 0 && i < job->services.count; i++)
        if (job->services.list[i]->works_on != NULL)
            job->services.list[i]->works_on(job, work, text, bytes);
}

bool weft_services_round(struct weft_job *job, enum weft_net_side side)
{
    weft_service_round *const *round = job->services.round[side], *now;
    bool did = false;

    while ((now = __atomic_load_n(round++, __ATOMIC_ACQUIRE)) != NULL)
        did |= now(job);
    return did;
}

bool weft_services_frame(struct weft_job *job, const struct weft_frame *frame)
{
    const uint32_t count = __atomic_load_n(&job->services.count, __ATOMIC_ACQUIRE);
    bool heard = false;

    for (uint32_t i = 0; frame->kind < WEFT_SERVICE_KINDS && i < count; i++) {
        const struct weft_service *service = job->services.list[i];
        if ((service->frames & WEFT_KIND(frame->kind)) == 0)
            continue;
        if (service->frame_bytes == 0 || service->frame_bytes == frame->bytes)
            service->frame(job, frame);
        else
            weft_job_fail(job, WEFT_ERR_PROTOCOL, "process %d sent a frame of kind %u in %u bytes",
                          frame->source, frame->kind, frame->bytes);
        heard = true;
    }
    return heard;
}
