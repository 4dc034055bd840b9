/*
 * device/cpu/exits.c - see the header. By a rank, exit would end its process in the middle of the
 * job: the other processes wait for it, and so would an MPI that a later handler finalizes.
 * pthread_exit would end a worker with all its ranks.
 */
#include "device/cpu/exits.h"

#include "base/say.h"
#include "device/cpu/team.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_key_t at_work; /* not NULL: the thread is a worker that has not ended */
static bool watched;

static void refuse(const char *call)
{
    weft_say(WEFT_SAY_ERROR, "rank %d called %s: its process ends, and so does the job",
             weft_strand_get().rank, call);
    fflush(NULL);
    _exit(EXIT_FAILURE);
}

static void at_exit(void)
{
    if (weft_strand_get().rank >= 0)
        refuse("exit");
}

static void at_thread_exit(void *ignored)
{
    (void)ignored;
    refuse("pthread_exit");
}

void weft_exits_watch(void)
{
    atexit(at_exit);
    watched = pthread_key_create(&at_work, at_thread_exit) == 0;
}

void weft_exits_begin(void)
{
    if (watched)
        pthread_setspecific(at_work, &watched);
}

void weft_exits_end(void)
{
    if (watched)
        pthread_setspecific(at_work, NULL);
}
