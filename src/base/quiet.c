/* base/quiet.c - see the header. */
#include "base/quiet.h"

#include <errno.h>
#include <stddef.h>
#include <time.h>

static sigset_t of_writes(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    sigaddset(&set, SIGPIPE);
    return set;
}

void weft_quiet_begin(sigset_t *before)
{
    const sigset_t set = of_writes();

    pthread_sigmask(SIG_BLOCK, &set, before);
}

void weft_quiet_end(const sigset_t *before)
{
    sigset_t set = of_writes();
    const struct timespec at_once = {0};
    const int error = errno;

    if (sigismember(before, SIGXFSZ)) /* else it is this thread's, and waits for the mask */
        sigdelset(&set, SIGXFSZ);
    if (sigismember(before, SIGPIPE))
        sigdelset(&set, SIGPIPE);
    while (sigtimedwait(&set, NULL, &at_once) > 0)
        continue;
    pthread_sigmask(SIG_SETMASK, before, NULL);
    errno = error;
}
