/* tests/gaspi/queues.c - queues: how many, how full, and what a wait stands for. */
#include "gaspi_test.h"

void queues(void)
{
    gaspi_queue_id_t queue, made[16];
    gaspi_number_t number, most;
    int more = 0;

    segment(0, 4096);
    GOOD(gaspi_queue_size_max(&most));
    for (gaspi_number_t i = 0; i < most; i++)
        GOOD(gaspi_write(0, 0, after(rank), 0, 64, 8, 3, GASPI_BLOCK));
    GOOD(gaspi_queue_size(3, &number));
    CHECK(number == most);
    CODE(GASPI_QUEUE_FULL, gaspi_write(0, 0, after(rank), 0, 64, 8, 3, GASPI_BLOCK));
    CODE(GASPI_QUEUE_FULL, gaspi_notify(0, after(rank), 0, 1, 3, GASPI_BLOCK));
    CODE(GASPI_QUEUE_FULL, gaspi_read(0, 0, after(rank), 0, 64, 8, 3, GASPI_BLOCK));
    GOOD(gaspi_write(0, 0, after(rank), 0, 64, 8, 4, GASPI_BLOCK)); /* the others have room */
    CODE(GASPI_ERROR, gaspi_queue_delete(3));
    GOOD(gaspi_wait(3, GASPI_BLOCK));
    GOOD(gaspi_queue_size(3, &number));
    CHECK(number == 0);
    GOOD(gaspi_write_notify(0, 0, after(rank), 0, 64, 8, 1, 1, 3, GASPI_BLOCK));
    GOOD(gaspi_queue_size(3, &number));
    CHECK(number == 2);
    GOOD(gaspi_wait(3, 5000));
    GOOD(gaspi_wait(4, 5000));
    CHECK(await(0, 1) == 1);
    GOOD(gaspi_write(0, 0, after(rank), 0, 64, 8, 2, GASPI_BLOCK));
    GOOD(gaspi_queue_purge(2, GASPI_BLOCK));
    GOOD(gaspi_queue_size(2, &number));
    CHECK(number == 0);
    CODE(GASPI_ERR_INV_QUEUE, gaspi_queue_purge(16, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_QUEUE, gaspi_queue_size(16, &number));
    CODE(GASPI_ERR_NULLPTR, gaspi_queue_size(0, NULL));
    CODE(GASPI_ERR_NULLPTR, gaspi_queue_create(NULL, GASPI_BLOCK));
    /* A queue that is purged and deleted: what was posted to it still arrives, as it was. */
    GOOD(gaspi_queue_create(&queue, GASPI_BLOCK));
    for (unsigned i = 0; i < 64; i++)
        GOOD(gaspi_write_notify(0, 0, after(rank), 0, 1024, 1024, 100 + i, 1000 + i, queue,
                                GASPI_BLOCK));
    GOOD(gaspi_queue_purge(queue, GASPI_BLOCK));
    GOOD(gaspi_queue_delete(queue));
    GOOD(gaspi_queue_create(&queue, GASPI_BLOCK));
    for (unsigned i = 0; i < 64; i++)
        CHECK(await(0, 100 + i) == 1000 + i);
    GOOD(gaspi_queue_delete(queue));
    while (gaspi_queue_create(&queue, GASPI_BLOCK) == GASPI_SUCCESS)
        made[more++] = queue;
    CHECK(more == 10 && queue == 15);
    GOOD(gaspi_queue_num(&number));
    CHECK(number == 16);
    GOOD(gaspi_write(0, 0, after(rank), 0, 64, 8, 15, GASPI_BLOCK));
    GOOD(gaspi_wait(15, GASPI_BLOCK));
    while (more-- > 0)
        GOOD(gaspi_queue_delete(made[more]));
    CODE(GASPI_ERR_INV_QUEUE, gaspi_queue_delete(15));
    CODE(GASPI_ERR_INV_QUEUE, gaspi_write(0, 0, after(rank), 0, 64, 8, 15, GASPI_BLOCK));
    drop(0);
}

/* Queues of one request: an empty one takes any call. */
void small_queues(void)
{
    gaspi_segment_id_t here[3] = {0}, there[3] = {0};
    gaspi_offset_t from[3] = {0, 8, 16}, to[3] = {64, 72, 80};
    gaspi_size_t sizes[3] = {8, 8, 8};

    segment(0, 4096);
    GOOD(gaspi_write_notify(0, 0, after(rank), 0, 64, 8, 1, 1, 0, GASPI_BLOCK));
    CODE(GASPI_QUEUE_FULL, gaspi_write(0, 0, after(rank), 0, 64, 8, 0, GASPI_BLOCK));
    GOOD(gaspi_wait(0, GASPI_BLOCK));
    CHECK(await(0, 1) == 1);
    GOOD(
        gaspi_read_list_notify(3, here, to, after(rank), there, from, sizes, 0, 2, 0, GASPI_BLOCK));
    CHECK(await(0, 2) == 1);
    GOOD(gaspi_wait(0, GASPI_BLOCK));
    drop(0);
}

/* What was written and waited for is there behind a barrier, also in memory of the program. */
void behind_a_barrier(void)
{
    static int memory[2];

    GOOD(gaspi_segment_use(0, memory, sizeof(memory), GASPI_GROUP_ALL, GASPI_BLOCK,
                           GASPI_PROC_LOCAL));
    for (int i = 1; i <= 100; i++) {
        memory[0] = i + rank;
        GOOD(gaspi_write(0, 0, after(rank), 0, sizeof(int), sizeof(int), 0, GASPI_BLOCK));
        GOOD(gaspi_wait(0, GASPI_BLOCK));
        barrier();
        CHECK(*(volatile int *)&memory[1] == i + before(rank));
        barrier();
    }
    drop(0);
}
