/*
 * runtime/job/exchange.h - the host's own collectives, over the control channel: all processes
 * bring something and get what all have brought, in the order of the calls that they stand for.
 */
#ifndef WEFT_RUNTIME_JOB_EXCHANGE_H
#define WEFT_RUNTIME_JOB_EXCHANGE_H

#include "runtime/job/job.h"

/* What an exchange is for, and the call that it stands for. */
#define WEFT_EXCHANGE_MAP(X)                                                                       \
    X(HOSTS, "weft_open")                                                                          \
    X(NETWORK, "weft_open")                                                                        \
    X(OPEN, "weft_open")                                                                           \
    X(READY, "weft_open")                                                                          \
    X(MESSAGES, "weft_open")                                                                       \
    X(TRACE, "weft_open")                                                                          \
    X(PREPARE, "weft_prepare")                                                                     \
    X(QUEUES, "weft_prepare")                                                                      \
    X(PREPARED, "weft_prepare")                                                                    \
    X(RUN, "weft_run")                                                                             \
    X(RAN, "weft_run")                                                                             \
    X(GATHER, "weft_host_gather")                                                                  \
    X(SCATTER, "weft_host_scatter")                                                                \
    X(PGAS, "weft_pgas_open")                                                                      \
    X(TASKS, "weft_tasks_begin")                                                                   \
    X(RECORD, "weft_tasks_ready")                                                                  \
    X(CLOSE, "weft_close")                                                                         \
    X(STOPPED, "weft_close")
enum weft_exchange_op {
    WEFT_EXCHANGE_NONE,
#define WEFT_EXCHANGE_OP(op, call) WEFT_EXCHANGE_##op,
    WEFT_EXCHANGE_MAP(WEFT_EXCHANGE_OP)
};

/*
 * Every process brings `bytes` bytes and gets everybody's, by process, in all (bytes * processes).
 * Collective, blocking. Errors: MISMATCH, and the job's failure.
 */
weft_status weft_exchange(struct weft_job *job, enum weft_exchange_op op, const void *mine,
                          size_t bytes, void *all);
/* Exchanges; returns everybody's, malloc'ed. NULL: *status says why, and the job has failed. */
void *weft_exchange_all(struct weft_job *job, enum weft_exchange_op op, const void *mine,
                        size_t bytes, weft_status *status);
/* The exchange after which no process waits for another: the job is over. */
enum weft_exchange_op weft_exchange_last(const struct weft_job *job);
/* "weft_run": the call that an exchange stands for. */
const char *weft_exchange_name(uint32_t op);
/* A process that is in another call than this one. */
struct weft_elsewhere {
    int process;
    const char *call;
    uint32_t barriers; /* barriers of WEFT_COMM_HOST that it had entered before */
};
/*
 * Counts other processes that are in an exchange, only that of weft_close or any, while this one is
 * not, as far as it has heard. *first: of them, the one that has entered the fewest barriers.
 */
int weft_exchange_elsewhere(struct weft_job *job, bool close, struct weft_elsewhere *first);
/* Counts barriers of WEFT_COMM_HOST that this process has entered; by its own program. */
uint32_t weft_barriers_entered(const struct weft_job *job);

#endif
