/*
 * rank/fail.h - complaints: what the checks call. path/command.h says how they reach the host.
 */
#ifndef WEFT_RANK_FAIL_H
#define WEFT_RANK_FAIL_H

#include "rank/state.h"
#ifndef __CUDACC__
#include "device/cpu/team.h"
#endif

/*
 * Reports an error with its call and numbers, and ends the rank. Does not return: the host ends
 * the job, which sets `stop`. By all threads of the rank or by any of them: on a GPU the first
 * one speaks, and each ends by itself; threads that did not fail end in their next call.
 */
WEFT_COLD void weft_fail(weft_self *self, weft_status status, const char *text, int count,
                         const weft_log_arg *args);

/* Fails as weft_fail, with up to four numbers. */
WEFT_COLD void weft_fail4(weft_self *self, weft_status status, const char *text, int64_t a,
                          int64_t b, int64_t c, int64_t d);

/* Fails for one of several calls: text begins with "%s: ", for the name of this one. */
WEFT_COLD void weft_fail_in(weft_self *self, weft_status status, const char *call, const char *text,
                            int64_t a, int64_t b, int64_t c, int64_t d);

/* Whether memory lies on the rank's stack, or is shared by its threads, which neither other threads
 * nor the host can reach on a GPU: no call takes that for data. */
WEFT_HOT bool weft_is_private(const weft_self *self, const void *memory)
{
#ifdef __CUDACC__
    (void)self, (void)memory; /* to ask would cost every put its latency */
    return false;
#else
    return WEFT_UNLIKELY((uintptr_t)memory - self->port.stack < self->port.stack_bytes) &&
           (self->port.team == NULL || weft_team_holds(self->port.team, memory));
#endif
}

/* Memory of the caller's, which a call is to send or fill, is NULL or private: says which. */
WEFT_COLD void weft_fail_memory(weft_self *self, const char *call, const void *memory)
{
    const char *text = "%s: the memory is NULL";

#ifndef __CUDACC__
    if (memory != NULL && self->port.team != NULL && weft_team_shares(self->port.team, memory))
        text =
            "%s: memory 0x%llx is shared by the rank's threads, and no GPU could send or fill it";
    else if (memory != NULL)
        text = "%s: memory 0x%llx is on the rank's stack, and no GPU could send or fill it";
#endif
    weft_fail_in(self, WEFT_ERR_ARGUMENT, call, text, (int64_t)(uintptr_t)memory, 0, 0, 0);
}

WEFT_INLINE weft_log_arg weft_value(uint64_t bits, weft_log_kind kind)
{
    weft_log_arg arg;
    arg.bits = bits;
    arg.kind = kind;
    arg.unused = 0;
    return arg;
}

WEFT_INLINE weft_log_arg weft_number(int64_t value)
{
    return weft_value((uint64_t)value, WEFT_LOG_INT);
}

WEFT_INLINE weft_log_arg weft_name(const char *text)
{
    return weft_value((uint64_t)(uintptr_t)text, WEFT_LOG_STRING);
}

#endif
