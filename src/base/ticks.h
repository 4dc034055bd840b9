/*
 * base/ticks.h - a clock that is read in a few nanoseconds, for those who read it all the time: the
 * processor's counter, which all processors of a host count together. How long a tick is, and what
 * it is by the monotonic clock, is for the reader to find out.
 */
#ifndef WEFT_BASE_TICKS_H
#define WEFT_BASE_TICKS_H

#include <stdbool.h>
#include <stdint.h>

static inline uint64_t weft_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return 0;
#endif
}

/* Whether Linux takes its own time from that counter: it has seen that it can be relied upon. */
bool weft_ticks_are_good(void);

#endif
