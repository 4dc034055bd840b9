/*
 * runtime/service/progress.c - the two tasks that move data for ranks that cannot do it themselves.
 *
 * Each loops while it finds something to do, and sleeps on its bell when it does not. On the CPU
 * device threads that run ranks do the same rounds when they have nothing else to do, and hand a
 * command to the network when a rank posts one: that spares a switch to another thread on the way
 * out and in. The tasks then keep still, and look now and then whether anybody still helps. The
 * labels DRAIN_* let the mutation check switch one of them off.
 */
#include "runtime/job/job.h"

#include "base/say.h"
#include "runtime/trace/timeline.h"

enum {
    SLEEP_NS = 20000000,
    POLL_NS = 50000,        /* between two polls where nothing rings */
    POLL_DOUBLES = 6,       /* after 2^6 polls in vain twice POLL_NS, and so on */
    POLL_MOST = 4,          /* POLL_NS doubles so often, at most: 0.8 ms */
    PARK_NS = 200000,       /* between two looks whether workers still help, at least */
    PARK_MOST_NS = 2000000, /* between two looks whether workers still help, at most */
    PARK_PART = 8,          /* part of the time without need: between the two limits */
    /* Moving a megabyte or two takes a worker less, and is no computing. */
    COMPUTES_NS = PARK_NS * 2
};

/* Whether the services have no more rounds to do. */
static bool over(const struct weft_job *job)
{
    return __atomic_load_n(&job->proxy.stop_services, __ATOMIC_ACQUIRE) != 0 ||
           weft_job_status(job) != WEFT_OK;
}

bool weft_services_drive(struct weft_job *job, enum weft_net_side side)
{
    bool did = false;

    if (weft_mutation == (side == WEFT_NET_SEND ? DRAIN_progress : DRAIN_receive))
        return false;
    const weft_status status = weft_net_progress(job->proxy.net, side, &did);
    if (status != WEFT_OK)
        weft_job_cannot(job, status, "%s", side == WEFT_NET_SEND ? "send" : "receive");
    return did;
}

static bool send_round(struct weft_job *job)
{
    return weft_services_drive(job, WEFT_NET_SEND);
}

static bool receive_round(struct weft_job *job)
{
    return weft_services_drive(job, WEFT_NET_RECEIVE);
}

const struct weft_service weft_network_service = {.round = {send_round, receive_round}};

/* Work of a side under its lock: a rank's commands, one module's round, or all. */
struct work {
    enum weft_net_side side;
    uint32_t slot;             /* not 0: the commands of this slot */
    weft_service_round *round; /* not NULL, and slot 0: this round */
};

/*
 * The service itself waits for the lock; a worker does it if nobody is at it; in random mode there
 * is none. What goes wrong in it the job says, once (weft_job_fail). It is not gone after it: until
 * the job has failed there are no more rounds. False also if nothing was done.
 */
static bool locked(struct weft_job *job, struct work work, bool waits)
{
    struct weft_lock *const lock = &job->proxy.progress_lock[work.side];
    bool did = false;

    if (weft_model == NULL && waits)
        weft_lock(lock);
    else if (weft_model == NULL && !weft_lock_try(lock))
        return false;
    const uint64_t begin = job->trace != NULL ? weft_now_ns() : 0;
    const enum weft_level before = weft_err_level(WEFT_SAY_INFO);
    if (!weft_job_is_failing(job))
        did = work.slot != 0       ? weft_proxy_serve(job, work.slot)
              : work.round != NULL ? work.round(job)
                                   : weft_services_round(job, work.side);
    weft_err_level(before);
    if (did)
        weft_trace_round(job, work.side, begin);
    if (weft_model == NULL)
        weft_unlock(lock);
    return did;
}

static bool locked_round(struct weft_job *job, enum weft_net_side side, bool waits)
{
    return locked(job, (struct work){.side = side}, waits);
}

/* Hands what the rank has posted to the network. What is left of it is for the service. */
void weft_services_posted(void *context, int rank)
{
    struct weft_job *job = context;

    if (!locked(job, (struct work){.side = WEFT_NET_SEND, .slot = (uint32_t)rank + 1}, false))
        weft_bell_ring(job->proxy.command_bell);
}

void weft_services_send(struct weft_job *job, weft_service_round *round)
{
    if (weft_model != NULL ||
        !locked(job, (struct work){.side = WEFT_NET_SEND, .round = round}, false))
        weft_bell_ring(job->proxy.command_bell);
}

bool weft_services_help(void *context, uint64_t now)
{
    struct weft_job *job = context;
    const uint64_t before = __atomic_load_n(&job->proxy.helped, __ATOMIC_RELAXED);

    bool did = locked_round(job, WEFT_NET_RECEIVE, false);
    did |= locked_round(job, WEFT_NET_SEND, false);
    if ((int64_t)(now - before) > COMPUTES_NS) /* several workers: before may be the later one */
        __atomic_fetch_add(&job->proxy.computed, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&job->proxy.helped, now, __ATOMIC_RELAXED);
    return did;
}

void weft_services_leave(void *context)
{
    struct weft_job *job = context;

    __atomic_fetch_add(&job->proxy.left, 1, __ATOMIC_RELEASE);
    weft_bell_ring(&job->proxy.parked_bell);
}

/* Whether nobody has helped lately: all who could do compute. */
static bool alone(const struct weft_job *job, uint64_t now)
{
    return (int64_t)(now - __atomic_load_n(&job->proxy.helped, __ATOMIC_RELAXED)) > COMPUTES_NS;
}

/*
 * Says how long a service may keep still; *calm: since when no rank has been seen to compute for
 * long while nobody helped. A look costs the worker whose processor it takes some 30 us on a
 * virtual machine. The look is late by PARK_NS and a part of the time in which there was no need.
 */
static uint64_t park_ns(const struct weft_job *job, uint32_t *computed, uint64_t *calm)
{
    const uint64_t now = weft_now_ns();
    const uint32_t times = __atomic_load_n(&job->proxy.computed, __ATOMIC_RELAXED);

    if (times != *computed || alone(job, now))
        *calm = now;
    *computed = times;
    const uint64_t part = (now - *calm) / PARK_PART;
    return part < PARK_NS ? PARK_NS : part < PARK_MOST_NS ? part : PARK_MOST_NS;
}

/*
 * Keeps still as long as workers do this service's rounds. One timer is enough: while the receive
 * task looks whether they do, the other sleeps until it is told. It is always told: `watched` is
 * cleared before `left` changes, and who has seen the new `left` (acquire, release) sees that, too;
 * who has not, is rung for.
 */
static void park(struct weft_job *job, enum weft_net_side side)
{
    uint64_t calm = weft_now_ns(), helped;
    uint32_t computed = __atomic_load_n(&job->proxy.computed, __ATOMIC_RELAXED), left;

    if (side == WEFT_NET_RECEIVE)
        __atomic_store_n(&job->proxy.watched, 1, __ATOMIC_RELAXED);
    do {
        uint64_t timeout = park_ns(job, &computed, &calm);
        helped = __atomic_load_n(&job->proxy.helped, __ATOMIC_RELAXED);
        left = __atomic_load_n(&job->proxy.left, __ATOMIC_ACQUIRE);
        if (side == WEFT_NET_SEND && __atomic_load_n(&job->proxy.watched, __ATOMIC_RELAXED) != 0)
            timeout = SLEEP_NS;
        const uint32_t ticket = weft_bell_prepare(&job->proxy.parked_bell);
        if (over(job) || __atomic_load_n(&job->proxy.left, __ATOMIC_RELAXED) != left)
            weft_bell_cancel(&job->proxy.parked_bell);
        else
            weft_bell_sleep(&job->proxy.parked_bell, ticket, timeout);
    } while (__atomic_load_n(&job->proxy.helped, __ATOMIC_RELAXED) != helped &&
             __atomic_load_n(&job->proxy.left, __ATOMIC_RELAXED) == left && !over(job));
    if (side == WEFT_NET_RECEIVE) {
        __atomic_store_n(&job->proxy.watched, 0, __ATOMIC_RELAXED);
        weft_services_leave(job);
    }
}

/* Whether a service with nothing to do should look again before it sleeps. */
static bool spinning(const struct weft_job *job, uint64_t *idle_since)
{
    const uint64_t now = weft_now_ns();

    if (weft_load_relaxed_u32(&job->space.state.signals->proxied) == 0)
        return false;
    if (job->ranks.image != NULL && __atomic_load_n(&job->ranks.running, __ATOMIC_RELAXED))
        return true; /* the ranks of such a device cannot ring */
    if (*idle_since == 0)
        *idle_since = now;
    return now - *idle_since < job->proxy.spin_ns;
}

/* Says how long to sleep after so many sleeps in vain. */
static uint64_t sleep_ns(const struct weft_job *job, enum weft_net_side side, bool rung,
                         uint32_t in_vain)
{
    const uint32_t doubled = in_vain >> POLL_DOUBLES;
    const uint64_t ns =
        rung ? SLEEP_NS : (uint64_t)POLL_NS << (doubled < POLL_MOST ? doubled : POLL_MOST);
    const uint64_t look =
        side == WEFT_NET_RECEIVE ? __atomic_load_n(&job->proxy.look_ns, __ATOMIC_RELAXED) : 0;

    return look != 0 && look < ns ? look : ns;
}

/*
 * Rounds until the services stop; sleeps on the bell, or polls slowly where none rings. Once the
 * job has failed it does nothing more, and the last service to see so lets the ranks end.
 */
static void serve(struct weft_job *job, enum weft_net_side side)
{
    const bool receives = side == WEFT_NET_RECEIVE;
    struct weft_bell *bell = receives ? job->proxy.receive_bell : job->proxy.command_bell;
    const bool rung =
        (receives || job->ranks.image == NULL) && weft_net_bell(job->proxy.net, side) != NULL;
    uint64_t idle_since = 0;
    uint32_t in_vain = 0;
    uint64_t helped = __atomic_load_n(&job->proxy.helped, __ATOMIC_RELAXED);

    weft_say_process(job->numbers.process);
    while (!over(job)) {
        if (__atomic_load_n(&job->proxy.helped, __ATOMIC_RELAXED) != helped) {
            if (!alone(job, weft_now_ns()))
                park(job, side);
            helped = __atomic_load_n(&job->proxy.helped, __ATOMIC_RELAXED);
            idle_since = 0;
        }
        if (locked_round(job, side, true)) {
            idle_since = 0;
            in_vain = 0;
            continue;
        }
        if (spinning(job, &idle_since)) {
            /* Ranks of another device need none of the host's processors; but let who says so. */
            if (job->ranks.image == NULL || job->proxy.spin_ns == 0)
                weft_task_yield(true);
            continue;
        }
        const uint32_t ticket = weft_bell_prepare(bell);
        if (locked_round(job, side, true) || over(job) ||
            (receives && weft_net_sleep(job->proxy.net, sleep_ns(job, side, true, 0))))
            weft_bell_cancel(bell);
        else
            weft_bell_sleep(bell, ticket,
                            sleep_ns(job, side, rung, job->ranks.image == NULL ? in_vain++ : 0));
    }
    if (weft_model == NULL) {
        weft_lock(
            &job->proxy.progress_lock[side]); /* who helps ends his round, and begins no other */
        weft_unlock(&job->proxy.progress_lock[side]);
    }
    /* Nothing is copied any more; an error has been said, or will be. */
    if (job->ranks.image != NULL)
        job->device_ops->wait(job->device, receives ? WEFT_STREAM_RECEIVE : WEFT_STREAM_SEND);
    if (__atomic_sub_fetch(&job->proxy.services_busy, 1, __ATOMIC_ACQ_REL) == 0 &&
        weft_job_status(job) != WEFT_OK)
        weft_services_are_quiet(job);
}

static void progress_main(void *argument)
{
    serve(argument, WEFT_NET_SEND);
}

static void receive_main(void *argument)
{
    serve(argument, WEFT_NET_RECEIVE);
}

weft_status weft_services_start(struct weft_job *job)
{
    __atomic_store_n(&job->proxy.stop_services, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&job->proxy.services_busy, 2, __ATOMIC_RELEASE);
    weft_status status = weft_task_start(&job->proxy.progress, "weft progress", progress_main, job);
    job->proxy.services_run = status == WEFT_OK;
    if (status == WEFT_OK)
        status = weft_task_start(&job->proxy.receive, "weft receive", receive_main, job);
    job->proxy.services_run += status == WEFT_OK;
    if (status == WEFT_OK)
        return WEFT_OK;
    __atomic_sub_fetch(&job->proxy.services_busy, 2 - job->proxy.services_run, __ATOMIC_ACQ_REL);
    weft_services_stop(job);
    return status;
}

void weft_services_stop(struct weft_job *job)
{
    if (job->proxy.services_run == 0)
        return;
    __atomic_store_n(&job->proxy.stop_services, 1, __ATOMIC_RELEASE);
    weft_bell_ring(job->proxy.command_bell);
    weft_bell_ring(job->proxy.receive_bell);
    weft_bell_ring(&job->proxy.parked_bell);
    weft_task_join(&job->proxy.progress);
    if (job->proxy.services_run == 2)
        weft_task_join(&job->proxy.receive);
    job->proxy.services_run = 0;
}
