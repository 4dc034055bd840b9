/* base/fork.c - see the header. */
#include "base/fork.h"

#include <pthread.h>

uint32_t weft_forks;

static void in_the_child(void)
{
    weft_forks++; /* it has one thread */
}

__attribute__((constructor)) static void count_from_now(void)
{
    pthread_atfork(NULL, NULL, in_the_child);
}
