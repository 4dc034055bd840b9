/*
 * runtime/job/exchange.c - the host's own collectives: everybody brings a few bytes and gets all.
 * The monitor keeps what arrives until the thread of the program takes it, under exchange_lock.
 *
 * A process's exchanges arrive in the order in which it made them, so the n-th frames of all
 * processes belong together; each carries what call it stands for, so that programs that disagree
 * are told so instead of hanging.
 */
#include "runtime/job/exchange.h"

#include "base/say.h"
#include "rank/path/dispatch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

enum { SLEEP_NS = 25000000 }; /* ns: sleep; the watchdog looks every tenth of a second */

struct exchange_head {
    uint32_t op;
    uint32_t barriers; /* weft_barriers_entered of the sender */
};

struct arrival {
    STAILQ_ENTRY(arrival) link;
    struct exchange_head head;
    uint32_t count; /* number of bytes */
    unsigned char bytes[];
};

/* Frames of one process that have arrived and were not taken yet, oldest first. */
struct weft_exchange_slot {
    STAILQ_HEAD(arrivals, arrival) arrivals;
    uint32_t ran; /* WEFT_EXCHANGE_RAN frames so far: they end a run for the monitor */
};

static weft_status exchange_open(struct weft_job *job)
{
    job->exchange = weft_job_keep(job, (size_t)job->numbers.processes, sizeof(*job->exchange));
    if (job->exchange == NULL)
        return WEFT_ERR_MEMORY;
    for (int p = 0; p < job->numbers.processes; p++)
        STAILQ_INIT(&job->exchange[p].arrivals);
    return WEFT_OK;
}

static void exchange_close(struct weft_job *job)
{
    for (int p = 0; job->exchange != NULL && p < job->numbers.processes; p++) {
        struct arrival *a;
        while ((a = STAILQ_FIRST(&job->exchange[p].arrivals)) != NULL) {
            STAILQ_REMOVE_HEAD(&job->exchange[p].arrivals, link);
            free(a);
        }
    }
}

enum weft_exchange_op weft_exchange_last(const struct weft_job *job)
{
    return job->proxy.net != NULL && job->proxy.caps.closes_together ? WEFT_EXCHANGE_STOPPED
                                                                     : WEFT_EXCHANGE_CLOSE;
}

/* Counts the end of a run: after the last process's, all sweep at this point of the order. */
static void count_ran(struct weft_job *job, int source)
{
    const uint32_t ran = ++job->exchange[source].ran;

    for (int p = 0; p < job->numbers.processes; p++)
        if ((int32_t)(job->exchange[p].ran - ran) < 0)
            return;
    weft_collective_sweep(job);
}

static void exchange_frame(struct weft_job *job, const struct weft_frame *frame)
{
    struct arrival *a;

    if (frame->bytes < sizeof(a->head)) {
        weft_job_fail(job, WEFT_ERR_PROTOCOL, "process %d sent an exchange of %u bytes",
                      frame->source, frame->bytes);
        return;
    }
    a = malloc(sizeof(*a) + frame->bytes);
    if (a == NULL) {
        weft_job_fail(job, WEFT_ERR_MEMORY, "process %d has no memory for an exchange of %u bytes",
                      job->numbers.process, frame->bytes);
        return;
    }
    memcpy(&a->head, frame->payload, sizeof(a->head));
    a->count = frame->bytes - (uint32_t)sizeof(a->head);
    memcpy(a->bytes, (const unsigned char *)frame->payload + sizeof(a->head), a->count);
    if (a->head.op == WEFT_EXCHANGE_RAN)
        count_ran(job, frame->source);
    if (a->head.op >= WEFT_EXCHANGE_CLOSE && a->head.op == weft_exchange_last(job))
        job->parted++;
    weft_lock(&job->exchange_lock);
    STAILQ_INSERT_TAIL(&job->exchange[frame->source].arrivals, a, link);
    weft_unlock(&job->exchange_lock);
    weft_bell_ring(&job->exchange_bell);
}

/* Takes the oldest frame of a process, for the caller to free; NULL: none has come. */
static struct arrival *take_arrival(struct weft_job *job, int process)
{
    weft_lock(&job->exchange_lock);
    struct arrival *a = STAILQ_FIRST(&job->exchange[process].arrivals);
    if (a != NULL)
        STAILQ_REMOVE_HEAD(&job->exchange[process].arrivals, link);
    weft_unlock(&job->exchange_lock);
    return a;
}

__attribute__((no_sanitize("thread"))) uint32_t weft_barriers_entered(const struct weft_job *job)
{
    return job->ranks.selves[WEFT_HOST_SLOT]->barriers[weft_handle_index(WEFT_COMM_HOST)];
}

int weft_exchange_elsewhere(struct weft_job *job, bool close, struct weft_elsewhere *first)
{
    int count = 0;

    weft_lock(&job->exchange_lock); /* the program's thread takes and frees them */
    for (int p = 0; p < job->numbers.processes; p++) {
        const struct arrival *a =
            p != job->numbers.process ? STAILQ_FIRST(&job->exchange[p].arrivals) : NULL;
        if (a == NULL || (close && a->head.op != WEFT_EXCHANGE_CLOSE))
            continue;
        if (count++ == 0 || (int32_t)(a->head.barriers - first->barriers) < 0)
            *first = (struct weft_elsewhere){p, weft_exchange_name(a->head.op), a->head.barriers};
    }
    weft_unlock(&job->exchange_lock);
    return count;
}

const char *weft_exchange_name(uint32_t op)
{
#define EXCHANGE_NAME(op, call) call,
    static const char *const names[] = {"?", WEFT_EXCHANGE_MAP(EXCHANGE_NAME)};
    return names[op < sizeof(names) / sizeof(names[0]) ? op : 0];
}

/*
 * Takes the oldest frame of a process, once there is one; NULL when the job fails before. The
 * watchdog sees the wait. Waiting for others to end their kernels is no stall: if a rank of theirs
 * does not go on, its own process says so.
 */
static struct arrival *await(struct weft_job *job, enum weft_exchange_op op, int process)
{
    weft_self *host = job->ranks.selves[WEFT_HOST_SLOT];
    struct arrival *a = take_arrival(job, process);

    if (a != NULL)
        return a;
    for (;;) {
        const uint32_t ticket = weft_bell_prepare(&job->exchange_bell);
        a = take_arrival(job, process);
        if (a != NULL || weft_job_status(job) != WEFT_OK)
            break;
        if (op != WEFT_EXCHANGE_RAN)
            weft_tell(host, WEFT_WAIT_PROCESS, (uint64_t)process, 0, op);
        weft_bell_sleep(&job->exchange_bell, ticket, SLEEP_NS);
    }
    weft_bell_cancel(&job->exchange_bell);
    weft_wait_told_over(host); /* not the port: another thread may be in a call */
    return a;
}

/* Sends this process's frame. The others wait for it: without memory for it the job has to end. */
static weft_status send_mine(struct weft_job *job, enum weft_exchange_op op, const void *mine,
                             size_t bytes)
{
    const struct exchange_head head = {.op = op, .barriers = weft_barriers_entered(job)};
    WEFT_FREED unsigned char *frame = malloc(sizeof(head) + bytes);

    if (frame == NULL) {
        weft_job_fail(job, WEFT_ERR_MEMORY, "%s: process %d has no memory for %zu bytes",
                      weft_exchange_name(op), job->numbers.process, sizeof(head) + bytes);
        return weft_job_agree_failure(job);
    }
    memcpy(frame, &head, sizeof(head));
    if (bytes != 0)
        memcpy(frame + sizeof(head), mine, bytes);
    return weft_control_send(job->control, WEFT_FRAME_EXCHANGE, frame, sizeof(head) + bytes);
}

/*
 * Begins or ends a run of a job's only process without a frame. False: there are others, or the job
 * is failing, which the channel has to order. At the end no rank waits for the monitor any more.
 */
static bool runs_alone(struct weft_job *job, enum weft_exchange_op op)
{
    if (job->numbers.processes > 1 || (op != WEFT_EXCHANGE_RUN && op != WEFT_EXCHANGE_RAN) ||
        weft_job_is_failing(job))
        return false;
    if (op == WEFT_EXCHANGE_RAN)
        weft_collective_sweep(job);
    return true;
}

weft_status weft_exchange(struct weft_job *job, enum weft_exchange_op op, const void *mine,
                          size_t bytes, void *all)
{
    WEFT_TRY(weft_job_status(job));
    weft_bell_ring(job->proxy.command_bell); /* a batch of the host program may hold it back */
    if (runs_alone(job, op))
        return WEFT_OK;
    WEFT_TRY(send_mine(job, op, mine, bytes));
    for (int p = 0; p < job->numbers.processes; p++) {
        WEFT_FREED struct arrival *a = await(job, op, p);
        if (a == NULL)
            return weft_job_status(job);
        if (a->head.op != op || a->count != bytes) {
            weft_job_fail(job, WEFT_ERR_MISMATCH, "process %d calls %s while process %d calls %s",
                          job->numbers.process, weft_exchange_name(op), p,
                          weft_exchange_name(a->head.op));
            return weft_job_agree_failure(job);
        }
        if (all != NULL)
            memcpy((unsigned char *)all + (size_t)p * bytes, a->bytes, bytes);
    }
    return WEFT_OK;
}

void *weft_exchange_all(struct weft_job *job, enum weft_exchange_op op, const void *mine,
                        size_t bytes, weft_status *status)
{
    void *all = malloc((size_t)job->numbers.processes * bytes);

    if (all == NULL) { /* the others would wait for what this process brings */
        weft_job_fail(job, WEFT_ERR_MEMORY, "%s: process %d has no memory for %d of %zu bytes",
                      weft_exchange_name(op), job->numbers.process, job->numbers.processes, bytes);
        *status = weft_job_agree_failure(job);
        return NULL;
    }
    *status = weft_exchange(job, op, mine, bytes, all);
    if (*status == WEFT_OK)
        return all;
    free(all);
    return NULL;
}

const struct weft_service weft_exchange_service = {
    .open = exchange_open,
    .close = exchange_close,
    .owns[WEFT_OWNS_FRAMES] = WEFT_KIND(WEFT_FRAME_EXCHANGE),
    .frame = exchange_frame,
};
