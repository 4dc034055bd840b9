/*
 * tests/gaspi/test_gaspi_kernel.c - the procedures of GASPI in a kernel, with their errors: between
 * the blocks of all processes, and between blocks and host programs, while the kernel runs.
 */
#include <GASPI_GPU_device.h>

#ifndef __CUDACC__
#include "gaspi_test.h"

#include <GASPI_GPU.h>
#endif

enum {
    BLOCKS = 3,
    WORDS = 300, /* of a block: sent, and room for as many that come */
    ROUNDS = 40,
    SEGMENT = 4,
    HOST = 1000, /* notifications of host programs, by block, from here on */
    ANSWER = 2000
};

struct data {
    void *gaspi;
    uint32_t *wrong; /* by block: the first line that was not true, or 0 */
};

#define NEED(condition)                                                                            \
    do {                                                                                           \
        if (!(condition) && weft_thread(self) == 0 && user->wrong[block] == 0)                     \
            user->wrong[block] = __LINE__;                                                         \
    } while (0)

WEFT_DEVICE_FN gaspi_offset_t place_of(int block, int part)
{
    return (gaspi_offset_t)(2 * block + part) * WORDS * 8;
}

/* What is wrong is said so, and nothing happens. */
WEFT_DEVICE_FN void check_errors(weft_self *self, struct data *user, int block)
{
    const gaspi_queue_id_t queue = gpu_gaspi_queue(self);
    const gaspi_segment_id_t s = SEGMENT, none = 9;
    gaspi_notification_id_t id = 0;
    gaspi_notification_t value = 0;
    gaspi_atomic_value_t old = 0;
    gaspi_rank_t own = 0, many = 0;
    gaspi_pointer_t pointer;
    const gaspi_offset_t end = place_of(BLOCKS, 0) + 64, at = 0;
    const gaspi_size_t size = 8;

    gpu_gaspi_proc_rank(self, &own);
    gpu_gaspi_proc_num(self, &many);
    NEED(own == weft_process(self) && many == weft_processes(self));
    NEED(gpu_gaspi_segment_ptr(self, none, &pointer) == GASPI_ERR_INV_SEG);
    NEED(gpu_gaspi_write(self, s, 0, many, s, 0, 8, queue, 0) == GASPI_ERR_INV_RANK);
    NEED(gpu_gaspi_write(self, none, 0, own, s, 0, 8, queue, 0) == GASPI_ERR_INV_SEG);
    NEED(gpu_gaspi_write(self, s, 0, own, none, 0, 8, queue, 0) == GASPI_ERR_INV_SEG);
    NEED(gpu_gaspi_write(self, s, 0, own, s, 0, 0, queue, 0) == GASPI_SUCCESS);
    NEED(gpu_gaspi_read(self, s, end, own, s, end, 0, queue, 0) == GASPI_SUCCESS);
    NEED(gpu_gaspi_write(self, s, end + 1, own, s, 0, 0, queue, 0) == GASPI_ERR_INV_LOC_OFF);
    NEED(gpu_gaspi_notify_waitsome(self, s, 0, 0, &id, GASPI_BLOCK) == GASPI_SUCCESS);
    NEED(gpu_gaspi_notify_reset(self, s, 60000, NULL) == GASPI_SUCCESS);
    NEED(gpu_gaspi_write(self, s, end, own, s, 0, 8, queue, 0) == GASPI_ERR_INV_LOC_OFF);
    NEED(gpu_gaspi_read(self, s, 0, own, s, end, 8, queue, 0) == GASPI_ERR_INV_REM_OFF);
    NEED(gpu_gaspi_write(self, s, 0, own, s, 0, 8, queue + 1, 0) == GASPI_ERR_INV_QUEUE);
    NEED(gpu_gaspi_wait(self, queue + 1, 0) == GASPI_ERR_INV_QUEUE);
    NEED(gpu_gaspi_notify(self, s, own, 65536, 1, queue, 0) == GASPI_ERR_INV_NOTIF_ID);
    NEED(gpu_gaspi_notify(self, s, own, 1, 0, queue, 0) == GASPI_ERR_INV_NOTIF_VAL);
    NEED(gpu_gaspi_notify(self, none, own, 1, 1, queue, 0) == GASPI_ERR_INV_SEG);
    NEED(gpu_gaspi_write_list_notify(self, 33, &s, &at, own, &s, &at, &size, s, 0, 1, queue, 0) ==
         GASPI_ERR_INV_NUM);
    NEED(gpu_gaspi_write_list_notify(self, 1, &s, &end, own, &s, &at, &size, s, 0, 1, queue, 0) ==
         GASPI_ERR_INV_LOC_OFF);
    NEED(gpu_gaspi_notify_waitsome(self, none, 0, 1, &id, 0) == GASPI_ERR_INV_SEG);
    NEED(gpu_gaspi_notify_waitsome(self, s, 65536, 1, &id, 0) == GASPI_ERR_INV_NOTIF_ID);
    NEED(gpu_gaspi_notify_waitsome(self, s, 65535, 2, &id, 0) == GASPI_ERR_INV_NUM);
    NEED(gpu_gaspi_notify_waitsome(self, s, 50000, 100, &id, GASPI_TEST) == GASPI_TIMEOUT);
    NEED(gpu_gaspi_notify_waitsome(self, s, 50000, 100, &id, 3) == GASPI_TIMEOUT);
    NEED(gpu_gaspi_notify_reset(self, s, 65536, &value) == GASPI_ERR_INV_NOTIF_ID);
    NEED(gpu_gaspi_atomic_fetch_add(self, s, 4, own, 1, &old, 0) == GASPI_ERR_UNALIGN_OFF);
    NEED(gpu_gaspi_atomic_fetch_add(self, s, end, own, 1, &old, 0) == GASPI_ERR_INV_REM_OFF);
    NEED(gpu_gaspi_atomic_compare_swap(self, s, 0, many, 1, 1, &old, 0) == GASPI_ERR_INV_RANK);
}

/* Each block writes to the next one of the ring of all blocks, by turns in each of four ways. */
WEFT_DEVICE_FN void check_ring(weft_self *self, struct data *user, int block, uint64_t *words)
{
    const gaspi_queue_id_t queue = gpu_gaspi_queue(self);
    const int all = weft_processes(self) * BLOCKS, me = weft_process(self) * BLOCKS + block;
    const int to = (me + 1) % all, from = (me + all - 1) % all;
    const gaspi_rank_t target = (gaspi_rank_t)(to / BLOCKS);
    const gaspi_offset_t own = place_of(block, 0), there = place_of(to % BLOCKS, 1);
    const gaspi_segment_id_t s[2] = {SEGMENT, SEGMENT};
    uint64_t *const sent = words + own / 8, *const came = words + place_of(block, 1) / 8;
    gaspi_notification_id_t id = 0;
    gaspi_notification_t value = 0;

    for (uint32_t round = 1; round <= ROUNDS; round++) {
        const size_t count = round % 2 == 0 ? WORDS : 1 + round % 7;
        const gaspi_size_t half = count / 2 * 8, sizes[2] = {half, count * 8 - half};
        const gaspi_offset_t here[2] = {own, own + half}, far[2] = {there, there + half};
        weft_for (i, count)
            sent[i] = (uint64_t)round << 32 | (uint64_t)me;
        weft_sync(self);
        if (round % 3 == 0 && half != 0) {
            NEED(gpu_gaspi_write_list_notify(self, 2, s, here, target, s, far, sizes, SEGMENT,
                                             (gaspi_notification_id_t)(to % BLOCKS), round, queue,
                                             GASPI_BLOCK) == GASPI_SUCCESS);
        } else if (round % 3 == 1) {
            NEED(gpu_gaspi_write(self, SEGMENT, own, target, SEGMENT, there, count * 8, queue,
                                 GASPI_BLOCK) == GASPI_SUCCESS);
            NEED(gpu_gaspi_notify(self, SEGMENT, target, (gaspi_notification_id_t)(to % BLOCKS),
                                  round, queue, GASPI_BLOCK) == GASPI_SUCCESS);
        } else {
            NEED(gpu_gaspi_write_notify(self, SEGMENT, own, target, SEGMENT, there, count * 8,
                                        (gaspi_notification_id_t)(to % BLOCKS), round, queue,
                                        GASPI_BLOCK) == GASPI_SUCCESS);
        }
        NEED(gpu_gaspi_notify_waitsome(self, SEGMENT, (gaspi_notification_id_t)block, 1, &id,
                                       GASPI_BLOCK) == GASPI_SUCCESS);
        NEED(gpu_gaspi_notify_reset(self, SEGMENT, id, &value) == GASPI_SUCCESS);
        NEED(id == (gaspi_notification_id_t)block && value == round);
        weft_for (i, count)
            if (came[i] != ((uint64_t)round << 32 | (uint64_t)from))
                user->wrong[block] = __LINE__;
        NEED(gpu_gaspi_wait(self, queue, GASPI_BLOCK) == GASPI_SUCCESS);
        weft_barrier(self, WEFT_COMM_WORLD);
    }
}

/* Reads what the next block sent last, over what came. */
WEFT_DEVICE_FN void check_read(weft_self *self, struct data *user, int block, uint64_t *words)
{
    const int all = weft_processes(self) * BLOCKS, me = weft_process(self) * BLOCKS + block;
    const int from = (me + 1) % all;
    uint64_t *const came = words + place_of(block, 1) / 8;

    NEED(gpu_gaspi_read(self, SEGMENT, place_of(block, 1), (gaspi_rank_t)(from / BLOCKS), SEGMENT,
                        place_of(from % BLOCKS, 0), WORDS * 8, gpu_gaspi_queue(self),
                        GASPI_BLOCK) == GASPI_SUCCESS);
    NEED(gpu_gaspi_wait(self, gpu_gaspi_queue(self), 20000) == GASPI_SUCCESS);
    weft_for (i, WORDS)
        if (came[i] != ((uint64_t)ROUNDS << 32 | (uint64_t)from))
            user->wrong[block] = __LINE__;
    weft_barrier(self, WEFT_COMM_WORLD);
}

/* All blocks count at rank 0; one of them gets the lock. */
WEFT_DEVICE_FN void check_atomics(weft_self *self, struct data *user, int block)
{
    const gaspi_offset_t at = place_of(BLOCKS, 0);
    gaspi_atomic_value_t old = 0, last = 0;

    for (int i = 0; i < 10; i++) {
        NEED(gpu_gaspi_atomic_fetch_add(self, SEGMENT, at, 0, 2, &old, GASPI_BLOCK) ==
             GASPI_SUCCESS);
        NEED(i == 0 || old > last);
        last = old;
    }
    NEED(gpu_gaspi_atomic_compare_swap(self, SEGMENT, at + 8, 0, 0, 1 + (uint64_t)block, &old,
                                       GASPI_BLOCK) == GASPI_SUCCESS);
    NEED(old <= BLOCKS);
    weft_barrier(self, WEFT_COMM_WORLD);
    NEED(gpu_gaspi_atomic_fetch_add(self, SEGMENT, at, 0, 0, &old, GASPI_BLOCK) == GASPI_SUCCESS);
    NEED(old == 20u * BLOCKS * (uint64_t)weft_processes(self));
}

/* The host program of the next process answers each question, a hundred in all. */
WEFT_DEVICE_FN void check_host(weft_self *self, struct data *user, int block)
{
    const gaspi_rank_t to = (gaspi_rank_t)((weft_process(self) + 1) % weft_processes(self));
    gaspi_notification_id_t id = 0;
    gaspi_notification_t value = 0;

    for (uint32_t i = 1; i <= 100; i++) {
        NEED(gpu_gaspi_notify(self, SEGMENT, to, (gaspi_notification_id_t)(HOST + block), i,
                              gpu_gaspi_queue(self), GASPI_BLOCK) == GASPI_SUCCESS);
        NEED(gpu_gaspi_notify_waitsome(self, SEGMENT, (gaspi_notification_id_t)(ANSWER + block), 1,
                                       &id, GASPI_BLOCK) == GASPI_SUCCESS);
        NEED(gpu_gaspi_notify_reset(self, SEGMENT, id, &value) == GASPI_SUCCESS);
        NEED(value == i + 7);
    }
    NEED(gpu_gaspi_wait(self, gpu_gaspi_queue(self), GASPI_BLOCK) == GASPI_SUCCESS);
}

WEFT_KERNEL(gaspi_kernel, struct data, user)
{
    const int block = weft_rank(self, WEFT_COMM_DEVICE);
    gaspi_pointer_t memory = NULL;

    gpu_gaspi_begin(self, user->gaspi);
    NEED(gpu_gaspi_segment_ptr(self, SEGMENT, &memory) == GASPI_SUCCESS);
    check_errors(self, user, block);
    weft_barrier(self, WEFT_COMM_WORLD);
    check_ring(self, user, block, (uint64_t *)memory);
    check_read(self, user, block, (uint64_t *)memory);
    check_atomics(self, user, block);
    check_host(self, user, block);
}

#ifndef __CUDACC__

gaspi_rank_t rank, ranks = 1;
unsigned checks;

static void answer(void)
{
    gaspi_notification_id_t found;
    gaspi_notification_t value;

    for (int i = 0; i < 100 * BLOCKS; i++) {
        GOOD(gaspi_notify_waitsome(SEGMENT, HOST, BLOCKS, &found, GASPI_BLOCK));
        GOOD(gaspi_notify_reset(SEGMENT, found, &value));
        GOOD(gaspi_notify(SEGMENT, before(rank), found - HOST + ANSWER, value + 7, 0, GASPI_BLOCK));
    }
    GOOD(gaspi_wait(0, GASPI_BLOCK));
}

static void run(void)
{
    weft_job *const job = gaspi_gpu_job();
    uint32_t wrong[BLOCKS];
    struct data data;

    CHECK(weft_prepare(job, &gaspi_kernel, 64, BLOCKS) == WEFT_OK);
    GOOD(gaspi_segment_create(SEGMENT, BLOCKS * 2 * WORDS * 8 + 64, GASPI_GROUP_ALL, GASPI_BLOCK,
                              GASPI_MEM_INITIALIZED));
    GOOD(gaspi_gpu_table(&data.gaspi));
    GOOD(gaspi_gpu_table(&data.gaspi)); /* again */
    data.wrong = weft_malloc(job, sizeof(wrong));
    CHECK(data.wrong != NULL);
    for (int times = 0; times < 2; times++) { /* operations of a kernel are none of the next */
        barrier();
        CHECK(weft_start(job, &data, sizeof(data)) == WEFT_OK);
        answer();
        CHECK(weft_finish(job, NULL) == WEFT_OK);
        CHECK(weft_copy(job, wrong, data.wrong, sizeof(wrong)) == WEFT_OK);
        for (int i = 0; i < BLOCKS; i++)
            if (wrong[i] != 0) {
                fprintf(stderr, "%s:%u: rank %d: not true in block %d\n", __FILE__, wrong[i], rank,
                        i);
                _exit(1);
            }
        if (times == 0 && rank == 0) { /* the counter begins anew */
            const uint64_t zeros[2] = {0, 0};
            gaspi_pointer_t memory;
            GOOD(gaspi_segment_ptr(SEGMENT, &memory));
            CHECK(weft_copy(job, (char *)memory + BLOCKS * 2 * WORDS * 8, zeros, 16) == WEFT_OK);
        }
    }
}

int main(void)
{
    const uint64_t *const none = NULL;
    gaspi_gpu_num number;
    gaspi_gpu_t id;

    CODE(GASPI_ERR_NOINIT, gaspi_gpu_table((void *)(uintptr_t)none));
    CODE(GASPI_ERR_NOINIT, gaspi_init_GPUs());
    GOOD(gaspi_proc_init(GASPI_BLOCK));
    GOOD(gaspi_proc_rank(&rank));
    GOOD(gaspi_proc_num(&ranks));
    CODE(GASPI_ERR_NULLPTR, gaspi_gpu_table(NULL));
    GOOD(gaspi_number_of_GPUs(&number));
    CODE(number == 1 ? GASPI_SUCCESS : GASPI_ERROR, gaspi_init_GPUs());
    CODE(number == 1 ? GASPI_SUCCESS : GASPI_ERROR, gaspi_GPU_ids(&id));
    CODE(GASPI_ERR_INV_SEG, gaspi_gpu_write(SEGMENT, 0, 0, SEGMENT, 0, 8, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_SEG,
         gaspi_gpu_write_notify(SEGMENT, 0, 0, SEGMENT, 0, 8, 0, 1, 0, GASPI_BLOCK));
    run();
    GOOD(gaspi_proc_term(GASPI_BLOCK));
    if (rank == 0)
        printf("GASPI on %d processes: %u checks in each passed\n", ranks, checks);
    return 0;
}

#endif
