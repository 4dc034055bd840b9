/* base/file_limit.c - see the header. */
#include "base/file_limit.h"

#include <errno.h>
#include <stddef.h>
#include <time.h>

static sigset_t beyond(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    return set;
}

void weft_file_limit_begin(sigset_t *before)
{
    const sigset_t set = beyond();

    pthread_sigmask(SIG_BLOCK, &set, before);
}

void weft_file_limit_end(const sigset_t *before)
{
    const sigset_t set = beyond();
    const struct timespec at_once = {0};
    const int error = errno;

    if (!sigismember(before, SIGXFSZ)) /* it is this thread's, and waits for the mask */
        sigtimedwait(&set, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, before, NULL);
    errno = error;
}
