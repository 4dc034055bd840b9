/* tests/gaspi/threads.c - pools of threads. */
#include "gaspi_test.h"

#include <GASPI_Threads.h>
#include <pthread.h>

enum { TEAM = 4, ROUNDS = 20 };

/* Threads post and wait at once; each has notifications and a queue of its own. */
static void *work(void *nothing)
{
    gaspi_int thread, total;

    GOOD(gaspi_threads_register(&thread));
    gaspi_int own;
    GOOD(gaspi_threads_get_tid(&own));
    GOOD(gaspi_threads_get_total(&total));
    CHECK(own == thread && total == TEAM);
    gaspi_threads_sync();
    for (int i = 0; i < ROUNDS; i++) {
        const gaspi_offset_t place = (gaspi_offset_t)thread * 64;
        GOOD(gaspi_write_notify(1, place, after(rank), 1, 1024 + place, 64,
                                (gaspi_notification_id_t)thread, (gaspi_notification_t)i + 1,
                                (gaspi_queue_id_t)thread, GASPI_BLOCK));
        CHECK(await(1, (gaspi_notification_id_t)thread) == (gaspi_notification_t)i + 1);
        GOOD(gaspi_wait((gaspi_queue_id_t)thread, GASPI_BLOCK));
        GOOD(gaspi_threads_sync_all(GASPI_GROUP_ALL, GASPI_BLOCK));
    }
    return nothing;
}

static void *end_pool(void *nothing)
{
    GOOD(gaspi_threads_term());
    return nothing;
}

void threads(void)
{
    gaspi_int cores, number;
    pthread_t other;

    GOOD(gaspi_threads_get_num_cores(&cores));
    CHECK(cores >= 1);
    CODE(GASPI_ERR_NULLPTR, gaspi_threads_get_num_cores(NULL));
    CODE(GASPI_ERR_NOINIT, gaspi_threads_get_total(&number));
    CODE(GASPI_ERR_NOINIT, gaspi_threads_get_tid(&number));
    CODE(GASPI_ERR_NOINIT, gaspi_threads_register(&number));
    CODE(GASPI_ERR_NOINIT, gaspi_threads_run(work, NULL));
    CODE(GASPI_ERR_NOINIT, gaspi_threads_sync_all(GASPI_GROUP_ALL, GASPI_BLOCK));
    CODE(GASPI_ERR_NOINIT, gaspi_threads_term());
    CODE(GASPI_ERR_INV_NUM, gaspi_threads_init_user(0));
    CODE(GASPI_ERR_NULLPTR, gaspi_threads_init(NULL));
    GOOD(gaspi_threads_init(&number));
    CHECK(number == cores);
    GOOD(gaspi_threads_term());
    segment(1, 4096);
    GOOD(gaspi_threads_init_user(TEAM));
    CODE(GASPI_ERR_INITED, gaspi_threads_init_user(TEAM));
    CODE(GASPI_ERR_NULLPTR, gaspi_threads_run(NULL, NULL));
    for (int i = 0; i < TEAM; i++)
        GOOD(gaspi_threads_run(work, NULL));
    GOOD(gaspi_threads_term());
    drop(1);
    /* A thread that was in a pool before has no number in the next one, until it registers again.
     */
    for (int i = 0; i < 2; i++) {
        GOOD(gaspi_threads_init_user(1));
        CODE(GASPI_ERR_NOINIT, gaspi_threads_get_tid(&number));
        GOOD(gaspi_threads_register(&number));
        CODE(GASPI_ERR_INV_NUM, gaspi_threads_register(&number));
        GOOD(gaspi_threads_get_tid(&number));
        CHECK(number == 0);
        CHECK(pthread_create(&other, NULL, end_pool, NULL) == 0 && pthread_join(other, NULL) == 0);
    }
}
