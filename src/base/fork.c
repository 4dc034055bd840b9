/* base/fork.c - see the header. */
#include "base/fork.h"

#include <pthread.h>

uint32_t weft_forks_counted;

static void in_the_child(void)
{
    weft_forks_counted++; /* it has one thread */
}

static void count_from_now(void)
{
    pthread_atfork(NULL, NULL, in_the_child);
}

uint32_t weft_forks(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, count_from_now);
    return weft_forks_counted;
}
