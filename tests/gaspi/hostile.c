/*
 * tests/gaspi/hostile.c - what no careful program does: no time at all for any call, groups, queues
 * and segments made and deleted in loops, passive messages by several threads, arguments at the
 * bounds of their types.
 */
#include <GASPI_Threads.h>

#include "gaspi_test.h"

#include <pthread.h>

/* The call again and again, with no time at all, until it is through. */
#define AT_ONCE(call)                                                                              \
    do {                                                                                           \
        gaspi_return_t again;                                                                      \
        do                                                                                         \
            again = (call);                                                                        \
        while (again == GASPI_TIMEOUT);                                                            \
        GOOD(again);                                                                               \
    } while (0)

static gaspi_group_t group_of_all(void)
{
    gaspi_group_t group;

    GOOD(gaspi_group_create(&group));
    for (gaspi_rank_t i = 0; i < ranks; i++)
        GOOD(gaspi_group_add(group, i));
    return group;
}

void no_time(void)
{
    enum { ROUNDS = 100 };
    const gaspi_rank_t to = after(rank);
    const gaspi_group_t group = group_of_all();
    gaspi_notification_id_t found;
    gaspi_atomic_value_t old;
    gaspi_return_t code;
    gaspi_rank_t from;
    char memory[64];
    int one = 1, sum;

    segment(0, 4096);
    AT_ONCE(gaspi_group_commit(group, GASPI_TEST));
    while ((code = gaspi_segment_create(1, 100, group, GASPI_TEST, GASPI_ALLOC_DEFAULT)) != 0) {
        CHECK(code == GASPI_TIMEOUT);
        CODE(GASPI_ERR_ACTIVE_COLL, gaspi_segment_delete(1));
    }
    while ((code = gaspi_segment_create(3, rank == 0 ? ~0ul >> 16 : 64, group, GASPI_TEST,
                                        GASPI_ALLOC_DEFAULT)) == GASPI_TIMEOUT)
        CODE(GASPI_ERR_ACTIVE_COLL, gaspi_segment_alloc(3, 64, GASPI_ALLOC_DEFAULT));
    CHECK(code == (rank == 0 ? GASPI_ERR_MEMALLOC : GASPI_ERROR));
    if (gaspi_barrier(group, GASPI_TEST) == GASPI_TIMEOUT) { /* which ends nothing that is made */
        CODE(GASPI_ERR_ACTIVE_COLL,
             gaspi_segment_create(3, 64, group, GASPI_TEST, GASPI_ALLOC_DEFAULT));
        AT_ONCE(gaspi_barrier(group, GASPI_TEST));
        CODE(GASPI_ERR_INV_SEG, gaspi_segment_delete(3));
    }
    /* The same segment over another group meanwhile: refused, and the first goes on. */
    code = gaspi_segment_create(3, 64, group, GASPI_TEST, GASPI_ALLOC_DEFAULT);
    CODE(code == GASPI_TIMEOUT ? GASPI_ERR_ACTIVE_COLL : GASPI_ERR_INV_SEG,
         gaspi_segment_create(3, 64, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_ALLOC_DEFAULT));
    if (code == GASPI_TIMEOUT)
        AT_ONCE(gaspi_segment_create(3, 64, group, GASPI_TEST, GASPI_ALLOC_DEFAULT));
    drop(3);
    AT_ONCE(gaspi_segment_use(2, memory, sizeof(memory), group, GASPI_TEST, GASPI_NODE_LOCAL));
    AT_ONCE(gaspi_proc_ping(to, GASPI_TEST));
    for (gaspi_notification_id_t i = 0; i < ROUNDS; i++) {
        GOOD(gaspi_write_notify(0, 0, to, 0, 64, 8, i, i + 1, 0, GASPI_TEST));
        GOOD(gaspi_read_notify(0, 128, to, 0, 64, 8, ROUNDS + i, 0, GASPI_TEST));
        AT_ONCE(gaspi_notify_waitsome(0, i, 1, &found, GASPI_TEST));
        AT_ONCE(gaspi_notify_waitsome(0, ROUNDS + i, 1, &found, GASPI_TEST));
        AT_ONCE(gaspi_wait(0, GASPI_TEST));
        GOOD(gaspi_atomic_fetch_add(0, 1024, to, 1, &old, GASPI_TEST));
        AT_ONCE(gaspi_barrier(group, GASPI_TEST));
        AT_ONCE(gaspi_allreduce(&one, &sum, 1, GASPI_OP_SUM, GASPI_TYPE_INT, group, GASPI_TEST));
        CHECK(sum == ranks);
        if (rank != 0)
            AT_ONCE(gaspi_passive_send(0, 0, 0, 8, GASPI_TEST));
        for (gaspi_rank_t k = 1; k < ranks && rank == 0; k++)
            AT_ONCE(gaspi_passive_receive(0, 512, &from, 8, GASPI_TEST));
    }
    barrier();
    GOOD(gaspi_atomic_fetch_add(0, 1024, rank, 0, &old, GASPI_TEST));
    CHECK(old == ROUNDS);
    drop(2);
    drop(1);
    GOOD(gaspi_group_delete(group));
    drop(0);
}

void made_and_deleted(void)
{
    static unsigned char memory[10000];
    gaspi_queue_id_t queue;

    for (int i = 0; i < 200; i++) {
        const gaspi_group_t group = group_of_all();
        if (i % 3 != 0)
            GOOD(gaspi_group_commit(group, GASPI_BLOCK));
        if (i % 3 == 1)
            GOOD(gaspi_barrier(group, GASPI_BLOCK));
        GOOD(gaspi_group_delete(group));
    }
    segment(0, 8192);
    for (unsigned i = 0; i < 10000; i++) {
        GOOD(gaspi_queue_create(&queue, GASPI_BLOCK));
        if (i % 16 == 0) {
            GOOD(gaspi_write_notify(0, 0, after(rank), 0, 0, 8, i % 1000, 1 + i, queue,
                                    GASPI_BLOCK));
            GOOD(gaspi_read(0, 4096, after(rank), 0, 0, 4096, queue, GASPI_BLOCK));
            CODE(GASPI_ERROR, gaspi_queue_delete(queue));
            GOOD(i % 32 == 0 ? gaspi_queue_purge(queue, GASPI_BLOCK)
                             : gaspi_wait(queue, GASPI_BLOCK));
        }
        GOOD(gaspi_queue_delete(queue));
    }
    drop(0);
    for (unsigned i = 0; i < 100; i++) { /* at any address, of any size */
        memset(memory, rank + 1, sizeof(memory));
        GOOD(gaspi_segment_use(5, memory + i % 17, 4096 + i, GASPI_GROUP_ALL, GASPI_BLOCK,
                               GASPI_PROC_LOCAL));
        GOOD(gaspi_write_notify(5, 0, after(rank), 5, 2048 + i, 2048, 1, 1, 0, GASPI_BLOCK));
        CHECK(await(5, 1) == 1);
        CHECK(memory[i % 17 + 4095 + i] == before(rank) + 1);
        GOOD(gaspi_wait(0, GASPI_BLOCK));
        drop(5);
    }
}

/* ---- passive messages by several threads ------------------------------------------------------
 */

enum { SENDERS = 4, RECEIVERS = 3, EACH = 100, LAST = 1 << 20 };
static uint32_t received, sum_of_all;

static void *receive_all(void *place)
{
    const gaspi_offset_t at = (gaspi_offset_t)(uintptr_t)place;
    gaspi_pointer_t memory;
    gaspi_rank_t from;
    int value;

    GOOD(gaspi_segment_ptr(0, &memory));
    for (;;) {
        GOOD(gaspi_passive_receive(0, at, &from, sizeof(value), GASPI_BLOCK));
        memcpy(&value, (const char *)memory + at, sizeof(value));
        if (value == LAST)
            return NULL;
        __atomic_fetch_add(&sum_of_all, (uint32_t)value, __ATOMIC_RELAXED);
        __atomic_fetch_add(&received, 1, __ATOMIC_RELEASE);
    }
}

static void *send_all(void *place)
{
    const gaspi_offset_t at = (gaspi_offset_t)(uintptr_t)place;
    gaspi_pointer_t memory;

    GOOD(gaspi_segment_ptr(0, &memory));
    for (int value = 1; value <= EACH; value++) {
        memcpy((char *)memory + at, &value, sizeof(value));
        AT_ONCE(gaspi_passive_send(0, at, after(rank), sizeof(value),
                                   value % 2 == 0 ? GASPI_BLOCK : GASPI_TEST));
    }
    return NULL;
}

void passive_threads(void)
{
    pthread_t threads[SENDERS + RECEIVERS];
    int *const memory = segment(0, 4096);

    received = sum_of_all = 0;
    for (uintptr_t i = 0; i < SENDERS + RECEIVERS; i++)
        CHECK(pthread_create(&threads[i], NULL, i < SENDERS ? send_all : receive_all,
                             (void *)(64 * (i + 1))) == 0);
    for (int i = 0; i < SENDERS; i++)
        pthread_join(threads[i], NULL);
    while (__atomic_load_n(&received, __ATOMIC_ACQUIRE) < SENDERS * EACH)
        usleep(1000);
    CHECK(__atomic_load_n(&sum_of_all, __ATOMIC_RELAXED) == SENDERS * EACH * (EACH + 1) / 2);
    *memory = LAST;
    for (int i = 0; i < RECEIVERS; i++)
        GOOD(gaspi_passive_send(0, 0, rank, sizeof(*memory), GASPI_BLOCK));
    for (int i = 0; i < RECEIVERS; i++)
        pthread_join(threads[SENDERS + i], NULL);
    drop(0);
}

/* ---- the bounds of arguments' types: an error, never a crash ----------------------------------
 */

void at_the_bounds(void)
{
    const gaspi_size_t most = ~0ul;
    gaspi_notification_id_t found;
    gaspi_atomic_value_t old;
    gaspi_segment_id_t list[1];
    unsigned long value;
    gaspi_return_t code;
    gaspi_rank_t from;
    gaspi_size_t size;
    int x = 0;

    segment(0, 4096);
    CODE(GASPI_ERR_INV_SEGSIZE, gaspi_segment_alloc(1, most, GASPI_ALLOC_DEFAULT));
    CODE(GASPI_ERR_MEMALLOC, gaspi_segment_alloc(1, most >> 16, GASPI_ALLOC_DEFAULT));
    CODE(GASPI_ERR_INV_SEGSIZE, gaspi_segment_bind(1, &x, most, 0));
    CHECK(gaspi_segment_bind(1, (gaspi_pointer_t) ~(uintptr_t)63, 1ul << 47, 0) != GASPI_SUCCESS);
    CODE(GASPI_ERR_INV_GROUP, gaspi_segment_use(1, &x, 4, 255, GASPI_BLOCK, 0));
    /* A member without memory: all are told, and none has the segment. */
    CODE(rank == 0 ? GASPI_ERR_MEMALLOC : GASPI_ERROR,
         gaspi_segment_create(1, rank == 0 ? most >> 16 : 64, GASPI_GROUP_ALL, GASPI_BLOCK,
                              GASPI_ALLOC_DEFAULT));
    CODE(GASPI_ERR_INV_SEG, gaspi_segment_delete(1));
    /* So it is where a member's own arguments are refused, at once or in several calls. */
    CODE(rank == 0 ? GASPI_ERR_INV_SEGSIZE : GASPI_ERROR,
         gaspi_segment_create(1, rank == 0 ? 0 : 64, GASPI_GROUP_ALL, GASPI_BLOCK,
                              GASPI_ALLOC_DEFAULT));
    CODE(rank == 0 ? GASPI_ERR_INV_SEG : GASPI_ERROR,
         gaspi_segment_create(rank == 0 ? 0 : 1, 64, GASPI_GROUP_ALL, GASPI_BLOCK,
                              GASPI_ALLOC_DEFAULT));
    CODE(rank == 0 ? GASPI_ERR_NULLPTR : GASPI_ERROR,
         gaspi_segment_use(1, rank == 0 ? NULL : &x, sizeof(x), GASPI_GROUP_ALL, GASPI_BLOCK, 0));
    do
        code = gaspi_segment_create(rank == 0 ? 255 : 1, 64, GASPI_GROUP_ALL, GASPI_TEST,
                                    GASPI_ALLOC_DEFAULT);
    while (code == GASPI_TIMEOUT);
    CHECK(code == (rank == 0 ? GASPI_ERR_INV_SEG : GASPI_ERROR));
    GOOD(gaspi_segment_size(0, rank, &size)); /* rank 0's own segment 0 stays */
    CODE(GASPI_ERR_INV_SEG, gaspi_segment_delete(1));
    segment(1, 64);
    drop(1);
    CODE(GASPI_ERR_INV_RANK, gaspi_segment_size(0, 65535, &size));
    CODE(GASPI_ERR_INV_NUM, gaspi_segment_list(~0u, list));
    CODE(GASPI_ERR_INV_RANK, gaspi_write(0, 0, 65535, 0, 0, 8, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_QUEUE, gaspi_write(0, 0, rank, 0, 0, 8, 255, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_COMMSIZE, gaspi_write(0, most, rank, 0, most, most, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_LOC_OFF, gaspi_read(0, most, rank, 0, 0, 8, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_REM_OFF, gaspi_read(0, 0, rank, 0, most - 3, 8, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_NUM,
         gaspi_write_list(~0u, list, &size, rank, list, &size, &size, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_NOTIF_ID, gaspi_notify(0, rank, ~0u, 1, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_NOTIF_ID, gaspi_notify_waitsome(0, ~0u, ~0u, &found, GASPI_TEST));
    CODE(GASPI_ERR_INV_NUM, gaspi_notify_waitsome(0, 1, ~0u, &found, GASPI_TEST));
    CODE(GASPI_ERR_INV_NOTIF_ID, gaspi_notify_reset(0, ~0u, NULL));
    GOOD(gaspi_notify(0, rank, IDS - 1, ~0u, 0, GASPI_BLOCK));
    CHECK(await(0, IDS - 1) == ~0u);
    CODE(GASPI_ERR_INV_REM_OFF, gaspi_atomic_fetch_add(0, most - 7, rank, 1, &old, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_RANK, gaspi_atomic_fetch_add(0, 0, 65535, 1, &old, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_COMMSIZE, gaspi_passive_send(0, 0, rank, most, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_LOC_OFF, gaspi_passive_receive(0, most, &from, 8, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_NUM,
         gaspi_allreduce(&x, &x, ~0u, GASPI_OP_SUM, GASPI_TYPE_INT, GASPI_GROUP_ALL, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_GROUP, gaspi_barrier(255, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_NUM, gaspi_statistic_counter_get(~0u, ~0u, &value));
    CODE(GASPI_ERR_INV_NUM, gaspi_threads_init_user(~0u));
    CODE(GASPI_ERR_INV_RANK, gaspi_proc_kill(65535, GASPI_BLOCK));
    CHECK(gaspi_error_str((gaspi_return_t)-2147483647) != NULL);
    GOOD(gaspi_wait(0, GASPI_BLOCK));
    drop(0);
}
