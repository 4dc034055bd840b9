/*
 * runtime/job/exchange.h - the host's own collectives, over the control channel: all processes
 * bring something and get what all have brought, in the order of the calls that they stand for.
 */
#ifndef WEFT_RUNTIME_JOB_EXCHANGE_H
#define WEFT_RUNTIME_JOB_EXCHANGE_H

#include "runtime/job/job.h"

enum weft_exchange_op {
    WEFT_EXCHANGE_HOSTS = 1,
    WEFT_EXCHANGE_NETWORK,
    WEFT_EXCHANGE_OPEN,
    WEFT_EXCHANGE_READY,
    WEFT_EXCHANGE_MESSAGES,
    WEFT_EXCHANGE_TRACE,
    WEFT_EXCHANGE_PREPARE,
    WEFT_EXCHANGE_QUEUES,
    WEFT_EXCHANGE_PREPARED,
    WEFT_EXCHANGE_RUN,
    WEFT_EXCHANGE_RAN,
    WEFT_EXCHANGE_SIZES,
    WEFT_EXCHANGE_PGAS,
    WEFT_EXCHANGE_TASKS,
    WEFT_EXCHANGE_CLOSE,
    WEFT_EXCHANGE_STOPPED
};

weft_status weft_exchange_open(struct weft_job *job);
void weft_exchange_close(struct weft_job *job);
/*
 * Every process brings `bytes` bytes and gets everybody's, by process, in all (bytes * processes).
 * Collective, blocking. Errors: MISMATCH, and the job's failure.
 */
weft_status weft_exchange(struct weft_job *job, enum weft_exchange_op op, const void *mine,
                          size_t bytes, void *all);
/* "weft_run": the call that an exchange stands for. */
const char *weft_exchange_name(uint32_t op);
/*
 * How many other processes are in weft_close while this one is elsewhere, as far as it has heard.
 * *barriers: the fewest of WEFT_COMM_HOST that one of them has entered (what each brings to CLOSE).
 */
int weft_exchange_closed(struct weft_job *job, uint32_t *barriers);
extern const struct weft_service weft_exchange_service;

#endif
