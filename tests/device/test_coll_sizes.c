/*
 * coll with sizes: gathers and alltoall of blocks of different sizes, many of them empty, some in
 * several pieces, with gaps between them and in any order, in place too, on built-in and split
 * communicators: every element, and that nothing else is written. Calls follow each other, and some
 * of equal blocks come between.
 */
#include "support/test.h"

#include <weft/coll.h>

#include <string.h>

enum { CALLS = 3, KINDS = 4, ARRAYS = 4 };

enum call { GATHER, ALLGATHER, ALLTOALL };

struct data {
    struct test_check check;
    unsigned char *source, *target; /* `each` bytes a rank */
    size_t *arrays;                 /* ARRAYS of `ranks` numbers, for each rank */
    uint64_t each, seed;
    uint32_t calls, most, ranks;
};

/* One call, as all ranks know it. */
struct job {
    weft_comm comm;
    enum call call;
    weft_type type;
    int members, me, root;
    uint32_t most;
    uint64_t key;
};

/* Elements of the block that rank i gives to rank j; of gathers for all j alike. */
WEFT_DEVICE_FN size_t size_of_block(const struct job *job, int i, int j)
{
    const int to = job->call == ALLTOALL ? j : 0;
    const uint64_t mixed = test_mix(job->key + (uint64_t)i * 4099u + (uint64_t)to * 65537u);
    const uint32_t which = (uint32_t)(mixed % 8);

    if (job->key % 5 == 0) /* all are empty, or all but one are */
        return job->key % 10 == 0 || i != job->root ? 0 : job->most;
    return which < 3 ? 0 : which < 6 ? mixed / 8 % 9 + 1 : mixed / 8 % job->most + 1;
}

WEFT_DEVICE_FN uint64_t element(const struct job *job, int i, int j, size_t k)
{
    const uint64_t bits = test_mix(job->key * 31 + (uint64_t)i * 1009u +
                                   (job->call == ALLTOALL ? (uint64_t)j * 7u : 0) + k);

    return job->type == WEFT_U32 ? (uint32_t)bits : bits;
}

/* Sizes and offsets of the blocks that this rank gives (or gets), in rising or falling order, with
 * gaps; returns the elements up to the end. */
WEFT_DEVICE_FN size_t lay_out(const struct job *job, bool gives, size_t *sizes, size_t *offsets)
{
    const bool falling = (job->key >> 20) % 2 != 0;
    size_t at = job->key % 3;

    for (int n = 0; n < job->members; n++) {
        const int i = falling ? job->members - 1 - n : n;
        sizes[i] = gives ? size_of_block(job, job->me, i) : size_of_block(job, i, job->me);
        offsets[i] = at;
        at += sizes[i] + (job->key + (uint64_t)i) % 2;
    }
    return at;
}

WEFT_DEVICE_FN void fill(const struct job *job, unsigned char *memory, int i, int j, size_t size)
{
    const size_t count = size_of_block(job, i, j);

    weft_for (k, count) {
        const uint64_t bits = element(job, i, j, k);
        memcpy(memory + k * size, &bits, size);
    }
}

/* The block of rank i; all else of the target has been counted off by the caller. */
WEFT_DEVICE_FN void check_block(weft_self *self, struct data *user, const struct job *job,
                                const unsigned char *memory, int i, size_t size)
{
    const size_t count = size_of_block(job, i, job->me);

    weft_for (k, count) {
        uint64_t bits = 0;
        memcpy(&bits, memory + k * size, size);
        CHECK_EQ(self, &user->check, bits, element(job, i, job->me, k));
    }
}

WEFT_DEVICE_FN void check_call(weft_self *self, struct data *user, const struct job *job)
{
    const bool all = job->call == ALLTOALL, gets = job->call != GATHER || job->me == job->root;
    const bool in_place = !all && gets && (job->key >> 30) % 2 != 0;
    const size_t size = job->type == WEFT_U32 ? 4 : 8;
    size_t *const arrays =
        user->arrays + (size_t)weft_rank(self, WEFT_COMM_DEVICE) * ARRAYS * user->ranks;
    size_t *const sizes = arrays, *const offsets = arrays + user->ranks;
    size_t *const sends = arrays + 2 * user->ranks, *const from = arrays + 3 * user->ranks;
    unsigned char *const target = test_mine(self, user->target, (size_t)user->each);
    unsigned char *source = test_mine(self, user->source, (size_t)user->each);

    weft_sync(self);
    if (weft_thread(self) == 0) {
        lay_out(job, false, sizes, offsets);
        lay_out(job, true, sends, from);
    }
    weft_for (i, user->each)
        target[i] = 0xa5;
    weft_sync(self);
    if (in_place)
        source = target + offsets[job->me] * size;
    if (all)
        for (int j = 0; j < job->members; j++)
            fill(job, source + from[j] * size, job->me, j, size);
    else
        fill(job, source, job->me, 0, size);
    if (job->call == GATHER)
        weft_gather_sizes(self, job->comm, job->root, sizes[job->me] != 0 ? source : NULL,
                          gets ? target : NULL, sizes, offsets, job->type);
    else if (job->call == ALLGATHER)
        weft_allgather_sizes(self, job->comm, source, target, sizes, offsets, job->type);
    else
        weft_alltoall_sizes(self, job->comm, source, sends, from, target, sizes, offsets,
                            job->type);
    uint64_t written = 0, wanted = 0;
    for (int i = 0; gets && i < job->members; i++)
        check_block(self, user, job, target + offsets[i] * size, i, size);
    for (int i = 0; gets && i < job->members; i++)
        for (size_t k = 0; k < sizes[i] * size; k++)
            wanted += target[offsets[i] * size + k] != 0xa5;
    for (size_t i = 0; i < user->each; i++)
        written += target[i] != 0xa5;
    CHECK_EQ(self, &user->check, written, wanted); /* nothing beside the blocks */
    weft_sync(self);
}

WEFT_DEVICE_FN void draw_call(weft_self *self, struct data *user, const weft_comm *comms,
                              uint64_t number)
{
    uint64_t state = test_mix(user->seed + number);
    struct job job;

    job.key = state;
    job.comm = comms[test_random(&state, KINDS)];
    job.call = (enum call)test_random(&state, CALLS);
    job.type = test_random(&state, 2) == 0 ? WEFT_U32 : WEFT_F64;
    const uint32_t root = test_random(&state, 1u << 20);
    if (job.comm == WEFT_COMM_NONE)
        return;
    job.members = weft_size(self, job.comm);
    job.me = weft_rank(self, job.comm);
    job.root = (int)(root % (uint32_t)job.members);
    job.most = user->most;
    check_call(self, user, &job);
    if (number % 7 == 0) {
        uint64_t *const source = (uint64_t *)(void *)test_mine(self, user->source, user->each);
        if (weft_thread(self) == 0)
            *source = (uint64_t)job.me;
        weft_allreduce(self, job.comm, source, source, 1, WEFT_U64, WEFT_SUM);
        CHECK_EQ(self, &user->check, *source, job.members * (job.members - 1) / 2);
        weft_sync(self);
    }
}

WEFT_KERNEL(coll_sizes_kernel, struct data, user)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), n = weft_size(self, WEFT_COMM_WORLD);
    weft_comm comms[KINDS];

    weft_enter(self);
    comms[0] = WEFT_COMM_WORLD;
    comms[1] = WEFT_COMM_DEVICE;
    comms[2] = weft_comm_split(self, WEFT_COMM_WORLD, 0, -me);
    comms[3] = weft_comm_split(self, WEFT_COMM_WORLD, n > 1 && me == 0 ? -1 : 0, me);
    for (uint64_t i = 0; i < user->calls; i++)
        draw_call(self, user, comms, i);
    for (int kind = 2; kind < KINDS; kind++)
        if (comms[kind] != WEFT_COMM_NONE)
            weft_comm_free(self, &comms[kind]);
    weft_leave(self);
    test_done(self, &user->check);
}

#ifndef __CUDACC__
static int body(struct test_env *env)
{
    if (!test_prepare(env, &coll_sizes_kernel))
        return TEST_FAILED;
    const uint32_t ranks = (uint32_t)env->numbers->ranks;
    const size_t here = (size_t)env->numbers->ranks_here;
    struct data data = {
        .calls = (env->brief ? 16 : 200) * (uint32_t)env->scale,
        .most = ranks > 32   ? 20
                : env->brief ? 60
                             : 700,
        .ranks = ranks,
    };
    data.each = ((uint64_t)(data.most > 9 ? data.most : 9) + 1) * 8 * ranks + 64;
    data.source = test_memory(env, TEST_PLAIN, here * data.each);
    data.target = test_memory(env, TEST_PLAIN, here * data.each);
    data.arrays = test_memory(env, TEST_PLAIN, here * ARRAYS * ranks * sizeof(size_t));
    if (ranks > 32)
        data.calls /= 16;
    for (uint64_t run = 0; run < 2; run++) { /* first the same calls on all schedules */
        data.seed = run == 0 ? 1 : env->seed;
        test_run(env, &data, sizeof(data));
    }
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
