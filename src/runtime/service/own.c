/*
 * runtime/service/own.c - notices of a process to itself: from its host program to its ranks and
 * back, where they count in different memory (weft_state.hosts_apart). The progress task takes them
 * from rings of commands, and the receive task counts them, as it does those of others. The ring
 * between the two has the labels of those.
 */
#include "runtime/job/job.h"

#include "base/say.h"

bool weft_own_tell(struct weft_job *job, uint32_t notice)
{
    struct weft_own *own = &job->proxy.own;
    const uint32_t given = own->given;

    if (given - weft_load_acquire_u32(&own->taken, ORDER_command_space) == WEFT_OWN_NOTICES)
        return false;
    own->notice[given % WEFT_OWN_NOTICES] = notice;
    weft_store_release_u32(&own->given, given + 1, ORDER_command_commit);
    weft_bell_ring(job->proxy.receive_bell);
    return true;
}

bool weft_own_done(const struct weft_job *job)
{
    const struct weft_own *own = &job->proxy.own;

    return weft_load_acquire_u32(&own->taken, ORDER_command_space) ==
           weft_load_acquire_u32(&own->given, ORDER_command_poll);
}

/* They are taken when their counts are in place. */
static bool own_round(struct weft_job *job)
{
    struct weft_own *own = &job->proxy.own;
    const uint32_t taken = own->taken,
                   given = weft_load_acquire_u32(&own->given, ORDER_command_poll);

    if (given == taken)
        return false;
    for (uint32_t i = taken; i != given; i++) {
        const struct weft_net_delivery delivery = {.process = job->numbers.process,
                                                   .notice = own->notice[i % WEFT_OWN_NOTICES]};
        if (weft_notice_take(&job->proxy.kinds, &delivery) != WEFT_OK)
            return true; /* the device failed, and so has the job */
    }
    weft_delivery_arrived(job);
    if (!weft_delivery_settle(job)) {
        weft_job_cannot(job, WEFT_ERR_DEVICE, "tell itself");
        return true;
    }
    weft_store_release_u32(&own->taken, given, ORDER_command_credit);
    weft_bell_ring(job->proxy.command_bell);
    return true;
}

const struct weft_service weft_own_service = {.round = {[WEFT_NET_RECEIVE] = own_round}};
