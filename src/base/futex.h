/*
 * base/futex.h - the system call under bells and locks. shared: the word may lie in memory that
 * several processes map, at different addresses.
 */
#ifndef WEFT_BASE_FUTEX_H
#define WEFT_BASE_FUTEX_H

#include "base/say.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* An error that is not part of the protocol means a broken word: going on would spin for ever. */
static inline void weft_futex_broken(const char *call, const uint32_t *word)
{
    weft_say(WEFT_SAY_ERROR, "%s on word %p: %s", call, (const void *)word, strerror(errno));
    abort();
}

/* Sleeps if *word is still `value`, until woken; may return early. timeout: NULL for none. */
static inline void weft_futex_wait(uint32_t *word, uint32_t value, bool shared,
                                   const struct timespec *timeout)
{
    const int operation = shared ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE;

    if (syscall(SYS_futex, word, operation, value, timeout, NULL, 0) != 0 && errno != EAGAIN &&
        errno != EINTR && errno != ETIMEDOUT)
        weft_futex_broken("futex wait", word);
}

static inline void weft_futex_wake(uint32_t *word, int sleepers, bool shared)
{
    const int operation = shared ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE;

    if (syscall(SYS_futex, word, operation, sleepers, NULL, NULL, 0) < 0)
        weft_futex_broken("futex wake", word);
}

#endif
