/* runtime/service/service.c - see the header. Tasks read the table while another is added. */
#include "runtime/service/service.h"

#include "base/say.h"
#include "runtime/job/job.h"

/* Whether none of the kinds has an owner. */
static bool are_free(const struct weft_service *const owners[WEFT_SERVICE_KINDS], uint32_t kinds)
{
    for (uint32_t kind = 0; kind < WEFT_SERVICE_KINDS; kind++)
        if ((kinds & WEFT_KIND(kind)) != 0 && owners[kind] != NULL)
            return false;
    return true;
}

static void own(const struct weft_service *owners[WEFT_SERVICE_KINDS], uint32_t kinds,
                const struct weft_service *service)
{
    for (uint32_t kind = 0; kind < WEFT_SERVICE_KINDS; kind++)
        if ((kinds & WEFT_KIND(kind)) != 0)
            __atomic_store_n(&owners[kind], service, __ATOMIC_RELEASE);
}

weft_status weft_service_add(struct weft_services *services, const struct weft_service *service)
{
    const uint32_t count = services->count;

    if (!are_free(services->command, service->commands) ||
        !are_free(services->wait, service->waits))
        return weft_err(WEFT_ERR_STATE, "commands 0x%x or waits 0x%x have an owner",
                        service->commands, service->waits);
    if (count == WEFT_SERVICES)
        return weft_err(WEFT_ERR_LIMIT, "a job has %d modules at most", WEFT_SERVICES);
    own(services->command, service->commands, service);
    own(services->wait, service->waits, service);
    for (int side = 0; side < 2; side++) {
        const uint32_t rounds = services->rounds[side];
        if (service->round[side] == NULL)
            continue;
        services->round[side][rounds] = service->round[side];
        __atomic_store_n(&services->rounds[side], rounds + 1, __ATOMIC_RELEASE);
    }
    services->list[count] = service;
    __atomic_store_n(&services->count, count + 1, __ATOMIC_RELEASE);
    return WEFT_OK;
}

bool weft_services_round(struct weft_job *job, enum weft_net_side side)
{
    const uint32_t rounds = __atomic_load_n(&job->services.rounds[side], __ATOMIC_ACQUIRE);
    bool did = false;

    for (uint32_t i = 0; i < rounds; i++)
        did |= job->services.round[side][i](job);
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
        service->frame(job, frame);
        heard = true;
    }
    return heard;
}
