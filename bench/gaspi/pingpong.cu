/*
 * bench/gaspi/pingpong.cu - GPUrdma's ping-pongs (Daoud, Watad, Silberstein, ROSS 2016, section 7):
 * a host program sends to the other process, which sends back. latency: notifications alone, to a
 * block of its kernel. bulk: all bytes with one notification, for which all blocks wait; each sends
 * its part back. blocks: a part and a notification for each block. host: all bytes, by the host
 * program there.
 *
 * The path is that of the job: WEFT_GDA=softnic WEFT_PATH=queue is a software NIC, no hardware.
 */
#include <GASPI_GPU_device.h>

enum { THREADS = 128, DEFAULT_BLOCKS = 30, SENT = 0, BACK = 1, FOR_ALL = 60000, IDS = 3 };
enum form { LATENCY, BULK, BLOCKS, HOST };

struct pingpong {
    void *gaspi;
    uint64_t bytes; /* of a part, with which segments begin */
    int form, blocks, rounds;
};

/* Block b answers what comes for it: in round r by the value r + 1. */
WEFT_KERNEL(worker, struct pingpong, user)
{
    const int block = weft_rank(self, WEFT_COMM_DEVICE);
    const bool shared = user->form == BULK; /* one notification a round for all blocks */
    const gaspi_queue_id_t queue = gpu_gaspi_queue(self);
    const gaspi_offset_t at = (gaspi_offset_t)block * user->bytes;
    gaspi_notification_id_t found = 0;
    gaspi_notification_t value = 0;

    gpu_gaspi_begin(self, user->gaspi);
    for (int round = 0; round < user->rounds; round++) {
        const gaspi_notification_id_t id = shared ? FOR_ALL + round % IDS : block;
        gpu_gaspi_notify_waitsome(self, SENT, id, 1, &found, GASPI_BLOCK);
        if (!shared)
            gpu_gaspi_notify_reset(self, SENT, id, &value);
        else if (block == 0) /* that of the round before, which all blocks have answered; the next
                                is free, since they may be in that round already */
            gpu_gaspi_notify_reset(self, SENT, FOR_ALL + (round + IDS - 1) % IDS, &value);
        if (user->form == LATENCY)
            gpu_gaspi_notify(self, SENT, 0, block, round + 1, queue, GASPI_BLOCK);
        else
            gpu_gaspi_write_notify(self, SENT, at, 0, BACK, at, user->bytes, block, round + 1,
                                   queue, GASPI_BLOCK);
        gpu_gaspi_wait(self, queue, GASPI_BLOCK); /* the next round overwrites the part */
    }
}

#ifndef __CUDACC__

#include "support/bench.h"

#include <GASPI_Ext.h>
#include <GASPI_GPU.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DO(call)                                                                                   \
    do {                                                                                           \
        const gaspi_return_t code = (call);                                                        \
        if (code != GASPI_SUCCESS) {                                                               \
            fprintf(stderr, "bench_gaspi_pingpong: %s: %s\n", #call, gaspi_error_str(code));       \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static const char *const forms[] = {"latency", "bulk", "blocks", "host", NULL};

/* Notification `id` of a segment; it must say `value`. */
static void await(gaspi_segment_id_t segment, gaspi_notification_id_t id,
                  gaspi_notification_t value)
{
    gaspi_notification_id_t found;
    gaspi_notification_t got;

    DO(gaspi_notify_waitsome(segment, id, 1, &found, GASPI_BLOCK));
    DO(gaspi_notify_reset(segment, found, &got));
    if (got != value) {
        fprintf(stderr, "bench_gaspi_pingpong: notification %u says %u, not %u\n", id, got, value);
        exit(1);
    }
}

/* Process 0: a round, until all is back. */
static void go_round(const struct pingpong *user, int round)
{
    const uint64_t all = user->bytes * (uint64_t)user->blocks;
    const gaspi_notification_t value = (gaspi_notification_t)round + 1;
    const int answers = user->form == HOST ? 1 : user->blocks;

    if (user->form == LATENCY)
        DO(gaspi_notify(SENT, 1, 0, value, 0, GASPI_BLOCK));
    else if (user->form == BULK || user->form == HOST)
        DO(gaspi_write_notify(SENT, 0, 1, SENT, 0, all,
                              user->form == BULK ? (gaspi_notification_id_t)(FOR_ALL + round % IDS)
                                                 : 0,
                              value, 0, GASPI_BLOCK));
    for (int b = 0; user->form == BLOCKS && b < user->blocks; b++)
        DO(gaspi_write_notify(SENT, (uint64_t)b * user->bytes, 1, SENT, (uint64_t)b * user->bytes,
                              user->bytes, (gaspi_notification_id_t)b, value, 0, GASPI_BLOCK));
    for (int b = 0; b < answers; b++)
        await(user->form == LATENCY ? SENT : BACK, (gaspi_notification_id_t)b, value);
    DO(gaspi_wait(0, GASPI_BLOCK));
}

/* Process 1 without a kernel. */
static void answer_by_host(const struct pingpong *user)
{
    for (int round = 0; round < user->rounds; round++) {
        const gaspi_notification_t value = (gaspi_notification_t)round + 1;
        await(SENT, 0, value);
        DO(gaspi_write_notify(SENT, 0, 0, BACK, 0, user->bytes * (uint64_t)user->blocks, 0, value,
                              0, GASPI_BLOCK));
        DO(gaspi_wait(0, GASPI_BLOCK));
    }
}

/* What process 0 sends, and how many bytes of it did not come back. */
static unsigned char byte_of(uint64_t i)
{
    return (unsigned char)(i * 31 + (i >> 12) + 1);
}

static uint64_t wrong(const struct pingpong *user, weft_job *job, const void *back)
{
    const uint64_t all = user->bytes * (uint64_t)user->blocks;
    unsigned char *const copy = malloc(all);
    uint64_t count = 0;

    if (copy == NULL || weft_copy(job, copy, back, all) != WEFT_OK)
        exit(1);
    for (uint64_t i = 0; i < all; i++)
        count += copy[i] != byte_of(i);
    free(copy);
    return count;
}

static void *make_segment(gaspi_segment_id_t id, uint64_t bytes)
{
    gaspi_pointer_t memory;

    DO(gaspi_segment_create(id, bytes, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_MEM_INITIALIZED));
    DO(gaspi_segment_ptr(id, &memory));
    return memory;
}

static void fill(const struct pingpong *user, weft_job *job, void *sent)
{
    const uint64_t all = user->bytes * (uint64_t)user->blocks;
    unsigned char *const copy = malloc(all);

    for (uint64_t i = 0; copy != NULL && i < all; i++)
        copy[i] = byte_of(i);
    if (copy == NULL || weft_copy(job, sent, copy, all) != WEFT_OK)
        exit(1);
    free(copy);
}

/* Both processes do all rounds; the seconds of those that are timed, of process 0. */
static double go(struct pingpong *user, weft_job *job, gaspi_rank_t rank, int untimed)
{
    struct pingpong none = *user; /* for process 0's own kernel, which does nothing */
    gaspi_notification_t value;
    double begun = 0;

    none.rounds = 0;
    if (rank == 1 && user->form == HOST)
        answer_by_host(user);
    else if (rank == 1 && weft_run(job, user, sizeof(*user), NULL) != WEFT_OK)
        exit(1);
    for (int i = 0; i < IDS && rank == 1; i++)
        DO(gaspi_notify_reset(SENT, FOR_ALL + (gaspi_notification_id_t)i, &value));
    if (rank == 1)
        return 0;
    if (user->form != HOST && weft_start(job, &none, sizeof(none)) != WEFT_OK)
        exit(1);
    for (int round = 0; round < user->rounds; round++) {
        if (round == untimed)
            begun = bench_seconds();
        go_round(user, round);
    }
    const double seconds = bench_seconds() - begun;
    if (user->form != HOST && weft_finish(job, NULL) != WEFT_OK)
        exit(1);
    return seconds;
}

int main(int argc, char **argv)
{
    struct bench_options options;
    struct pingpong user = {0};
    gaspi_rank_t rank, ranks;
    uint64_t bad = 0;

    DO(gaspi_proc_init(GASPI_BLOCK));
    DO(gaspi_proc_rank(&rank));
    DO(gaspi_proc_num(&ranks));
    bench_parse(
        &options, argc, argv, BENCH_HAS_SIZES,
        "A host program and another process's kernel send back and forth by GASPI; sizes are of "
        "all blocks together (30, or WEFT_RANKS). weftrun -n 2 bench_gaspi_pingpong",
        forms);
    if (ranks != 2) {
        fprintf(stderr, "bench_gaspi_pingpong: it wants two processes, not %d\n", ranks);
        return 1;
    }
    if (options.form == LATENCY)
        options.from = options.to = 8; /* in fact 4: notifications are all that goes */
    weft_job *const job = gaspi_gpu_job();
    user.form = options.form;
    user.blocks = user.form == LATENCY ? 1 : DEFAULT_BLOCKS;
    if (weft_prepare(job, &worker, THREADS, user.blocks) != WEFT_OK)
        return 1;
    user.blocks = weft_numbers_of(job)->ranks_here;
    void *const sent = make_segment(SENT, options.to + (uint64_t)user.blocks);
    void *const back = make_segment(BACK, options.to + (uint64_t)user.blocks);
    DO(gaspi_gpu_table(&user.gaspi));
    if (rank == 0)
        bench_header("bytes", "rounds", user.form == LATENCY ? "us_round_trip" : "gigabytes_s");
    for (size_t size = options.from; size <= options.to; size *= 2) {
        user.bytes = (size + (size_t)user.blocks - 1) / (size_t)user.blocks;
        const uint64_t rounds = bench_repeats(&options, size);
        const int untimed = (int)bench_warm_up(rounds);
        user.rounds = (int)rounds + untimed;
        if (rank == 0)
            fill(&user, job, sent);
        DO(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK));
        const double seconds = go(&user, job, rank, untimed);
        DO(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK));
        if (rank != 0)
            continue;
        if (user.form != LATENCY)
            bad += wrong(&user, job, back);
        bench_line(user.form == LATENCY ? 4 : size, rounds,
                   user.form == LATENCY ? seconds * 1e6 / (double)rounds
                                        : 2e-9 * (double)size * (double)rounds / seconds);
    }
    DO(gaspi_proc_term(GASPI_BLOCK));
    return bench_status(bad);
}
#endif
