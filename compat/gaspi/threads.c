/*
 * compat/gaspi/threads.c - a pool of the program's threads: those that threads_run starts, and
 * those that register, up to the number that was agreed.
 */
#include "internal.h"

#include <unistd.h>

enum { MOST = 1024 };

static struct {
    int total, registered, started;
    int first; /* the number that the first thread of this pool has; counts on from pool to pool */
    pthread_t started_threads[MOST];
    pthread_barrier_t barrier;
} pool;
static __thread int own = -1; /* this thread's number, of the pool where it has registered last */

#define TRY_POOL()                                                                                 \
    weftgaspi_call = __func__;                                                                     \
    NEED(pool.total != 0, GASPI_ERR_NOINIT)
SAY(threads_get_num_cores, gaspi_int, sysconf(_SC_NPROCESSORS_ONLN), (void)0)
SAY(threads_get_total, gaspi_int, pool.total, TRY_POOL())
SAY(threads_get_tid, gaspi_int, own - pool.first, NEED(own >= pool.first, GASPI_ERR_NOINIT))

API(threads_init_user, (const unsigned int number))
{
    weftgaspi_call = __func__;
    NEED(number != 0 && number <= MOST, GASPI_ERR_INV_NUM, "%u threads, at most %d", number, MOST);
    LOCKED;
    if (pool.total != 0)
        return GASPI_ERR_INITED;
    if (pthread_barrier_init(&pool.barrier, NULL, number) != 0)
        return GASPI_ERROR;
    pool.total = (int)number;
    return GASPI_SUCCESS;
}

API(threads_init, (gaspi_int *const number))
{
    gaspi_int cores;

    TRY_PLACES(number);
    TRY(pgaspi_threads_get_num_cores(&cores));
    TRY(pgaspi_threads_init_user((unsigned)cores));
    *number = cores;
    return GASPI_SUCCESS;
}

/* Gives the calling thread the next number. */
API(threads_register, (gaspi_int * thread))
{
    TRY_PLACES(thread);
    TRY_POOL();
    LOCKED;
    NEED(own < pool.first && pool.registered < pool.total, GASPI_ERR_INV_NUM,
         "%d of %d are registered", pool.registered, pool.total);
    *thread = pool.registered++;
    own = pool.first + *thread;
    return GASPI_SUCCESS;
}

API(threads_run, (void *(*function)(void *), void *argument))
{
    TRY_PLACES(function);
    TRY_POOL();
    LOCKED;
    NEED(pool.started != MOST, GASPI_ERR_INV_NUM);
    if (pthread_create(&pool.started_threads[pool.started], NULL, function, argument) != 0)
        return GASPI_ERROR;
    pool.started++;
    return GASPI_SUCCESS;
}

API_OF(void, threads_sync, (void))
{
    if (pool.total != 0)
        pthread_barrier_wait(&pool.barrier);
}

/* Meets the other ranks: one thread does; the rest wait for it. */
API(threads_sync_all, (const gaspi_group_t group, const gaspi_timeout_t timeout_ms))
{
    static gaspi_return_t code;

    TRY_POOL();
    const int chosen = pthread_barrier_wait(&pool.barrier);
    if (chosen == PTHREAD_BARRIER_SERIAL_THREAD)
        code = pgaspi_barrier(group, timeout_ms);
    pthread_barrier_wait(&pool.barrier);
    const gaspi_return_t result = code;
    pthread_barrier_wait(&pool.barrier); /* all have read it */
    return result;
}

/* Ends the pool when the threads that it started have ended. */
API(threads_term, (void))
{
    TRY_POOL();
    for (int i = 0; i < pool.started; i++)
        pthread_join(pool.started_threads[i], NULL);
    pthread_barrier_destroy(&pool.barrier);
    pool.first += pool.registered;
    pool.total = pool.registered = pool.started = 0;
    return GASPI_SUCCESS;
}
