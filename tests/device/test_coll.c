/*
 * coll: every collective, type and operation, on the built-in and on split communicators, of sizes
 * that take each of the ways, in place too, against a serial reference in the order that
 * weft/coll.h promises: bit by bit, so that on random schedules all runs give the same. Calls
 * follow each other with no barrier between them.
 *
 * Every call is one of a sequence that all ranks draw alike from a seed: how many is the work.
 */
#include "support/test.h"

#include <weft/coll.h>

#include <string.h>

enum { CALLS = 8, KINDS = 6, MOST = 1200, GUARD = 2 };

enum call { BROADCAST, REDUCE, ALLREDUCE, SCATTER, SCAN, GATHER, ALLGATHER, ALLTOALL };

/* Which ranks of the world a communicator has. */
enum kind { WORLD, DEVICE, PARITY, REVERSED, BUT_FIRST, ALONE };

struct data {
    struct test_check check;
    unsigned char *source, *target; /* `each` bytes a rank */
    uint64_t each, seed;
    uint32_t calls, most;
};

/* One call, as all ranks know it. */
struct job {
    weft_comm comm;
    enum kind kind;
    enum call call;
    weft_type type;
    weft_operation operation;
    size_t count;
    int members, me, root, in_place;
    uint64_t key;
};

WEFT_DEVICE_FN size_t size_of(weft_type type)
{
    return type == WEFT_I32 || type == WEFT_U32 || type == WEFT_F32 ? 4 : 8;
}

WEFT_DEVICE_FN int is_real(weft_type type)
{
    return type == WEFT_F32 || type == WEFT_F64;
}

/* The rank in the world of a member, as the caller sees its communicator. */
WEFT_DEVICE_FN int world_rank(weft_self *self, enum kind kind, int member)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);

    switch (kind) {
    case DEVICE:
        return weft_process_first(self, weft_process(self)) + member;
    case PARITY:
        return 2 * member + me % 2;
    case REVERSED:
        return n - 1 - member;
    case BUT_FIRST:
        return n > 1 ? member + (me != 0) : 0;
    case ALONE:
        return me;
    default:
        return member;
    }
}

/* Element i of a rank's source; sums of reals are not exact, products do not overflow. */
WEFT_DEVICE_FN uint64_t element(const struct job *job, int rank, size_t i)
{
    const uint64_t mixed = test_mix(job->key * 1000003u + (uint64_t)rank * 4099u + i);
    uint64_t bits = 0;

    if (job->type == WEFT_F32) {
        const float value = job->operation == WEFT_PROD ? (float)(mixed % 5 + 3) / 5.0f
                                                        : 1.0f / (float)(mixed % 97 + 1);
        memcpy(&bits, &value, sizeof(value));
    } else if (job->type == WEFT_F64) {
        const double value = job->operation == WEFT_PROD ? (double)(mixed % 5 + 3) / 5.0
                                                         : -1.0 / (double)(mixed % 97 + 1);
        memcpy(&bits, &value, sizeof(value));
    } else {
        bits = size_of(job->type) == 4 ? (uint32_t)mixed : mixed;
    }
    return bits;
}

#define REFERENCE(name, real)                                                                      \
    WEFT_DEVICE_FN uint64_t name(weft_operation operation, uint64_t a, uint64_t b)                 \
    {                                                                                              \
        real x, y, z;                                                                              \
        uint64_t bits = 0;                                                                         \
        memcpy(&x, &a, sizeof(x));                                                                 \
        memcpy(&y, &b, sizeof(y));                                                                 \
        if (operation == WEFT_SUM)                                                                 \
            z = x + y;                                                                             \
        else if (operation == WEFT_PROD)                                                           \
            z = x * y;                                                                             \
        else if (operation == WEFT_MIN)                                                            \
            z = x < y ? x : y;                                                                     \
        else                                                                                       \
            z = x > y ? x : y;                                                                     \
        memcpy(&bits, &z, sizeof(z));                                                              \
        return bits;                                                                               \
    }
REFERENCE(reference_f32, float)
REFERENCE(reference_f64, double)
REFERENCE(reference_i64, int64_t)
REFERENCE(reference_u64, uint64_t)

WEFT_DEVICE_FN uint64_t reference(const struct job *job, uint64_t a, uint64_t b)
{
    if (job->operation == WEFT_AND)
        return a & b;
    if (job->operation == WEFT_OR)
        return a | b;
    if (job->operation == WEFT_XOR)
        return a ^ b;
    switch (job->type) {
    case WEFT_F32:
        return reference_f32(job->operation, a, b);
    case WEFT_F64:
        return reference_f64(job->operation, a, b);
    case WEFT_I32:
        if (job->operation == WEFT_SUM || job->operation == WEFT_PROD)
            return (uint32_t)reference_u64(job->operation, a, b);
        return (uint32_t)reference_i64(job->operation, (uint64_t)(int64_t)(int32_t)a,
                                       (uint64_t)(int64_t)(int32_t)b);
    case WEFT_I64:
        if (job->operation == WEFT_SUM || job->operation == WEFT_PROD)
            return reference_u64(job->operation, a, b);
        return reference_i64(job->operation, a, b);
    case WEFT_U32:
        return (uint32_t)reference_u64(job->operation, a, b);
    default:
        return reference_u64(job->operation, a, b);
    }
}

enum { GROUP = 16 }; /* ranks of a process that are put together before their groups are */

/* Element i of the first `members` members, put together process by process; a scan's: at once. */
WEFT_DEVICE_FN uint64_t together(weft_self *self, const struct job *job, int members, size_t i)
{
    uint64_t all = 0;
    int some = 0;

    for (int p = 0; p < (job->call == SCAN ? 1 : weft_processes(self)); p++) {
        const int first = weft_process_first(self, p), end = first + weft_process_ranks(self, p);
        uint64_t part = 0, group = 0;
        int here = 0; /* members of the process so far */
        for (int m = 0; m < members; m++) {
            const int rank = world_rank(self, job->kind, m);
            const bool begins = here == 0 || (job->call != SCAN && here % GROUP == 0);
            if (job->call != SCAN && (rank < first || rank >= end))
                continue;
            if (begins && here != 0)
                part = here == GROUP ? group : reference(job, part, group);
            group = begins ? element(job, m, i) : reference(job, group, element(job, m, i));
            here++;
        }
        part = here <= GROUP || job->call == SCAN ? group : reference(job, part, group);
        if (here != 0)
            all = some++ == 0 ? part : reference(job, all, part);
    }
    return all;
}

/* How many elements this rank gets, and which: 0 where it gets none. */
WEFT_DEVICE_FN size_t expected_count(const struct job *job)
{
    const size_t all = job->count * (size_t)job->members;

    switch (job->call) {
    case REDUCE:
        return job->me == job->root ? job->count : 0;
    case GATHER:
        return job->me == job->root ? all : 0;
    case ALLGATHER:
    case ALLTOALL:
        return all;
    default:
        return job->count;
    }
}

WEFT_DEVICE_FN uint64_t expected(weft_self *self, const struct job *job, size_t i)
{
    const int block = (int)(i / job->count);

    switch (job->call) {
    case BROADCAST:
        return element(job, job->root, i);
    case SCATTER:
        return together(self, job, job->members, i + (size_t)job->me * job->count);
    case SCAN:
        return together(self, job, job->me + 1, i);
    case GATHER:
    case ALLGATHER:
        return element(job, block, i % job->count);
    case ALLTOALL:
        return element(job, block, (size_t)job->me * job->count + i % job->count);
    default:
        return together(self, job, job->members, i);
    }
}

WEFT_DEVICE_FN void make_call(weft_self *self, const struct job *job, const void *source,
                              void *target)
{
    switch (job->call) {
    case BROADCAST:
        weft_broadcast(self, job->comm, job->root, target, job->count, job->type);
        break;
    case REDUCE:
        weft_reduce(self, job->comm, job->root, source, target, job->count, job->type,
                    job->operation);
        break;
    case ALLREDUCE:
        weft_allreduce(self, job->comm, source, target, job->count, job->type, job->operation);
        break;
    case SCATTER:
        weft_reduce_scatter(self, job->comm, source, target, job->count, job->type, job->operation);
        break;
    case SCAN:
        weft_scan(self, job->comm, source, target, job->count, job->type, job->operation);
        break;
    case GATHER:
        weft_gather(self, job->comm, job->root, source, target, job->count, job->type);
        break;
    case ALLGATHER:
        weft_allgather(self, job->comm, source, target, job->count, job->type);
        break;
    case ALLTOALL:
        weft_alltoall(self, job->comm, source, target, job->count, job->type);
        break;
    }
}

WEFT_DEVICE_FN uint64_t load(const unsigned char *memory, size_t i, size_t size)
{
    uint64_t bits = 0;
    memcpy(&bits, memory + i * size, size);
    return bits;
}

/* Fills the source, makes the call, checks all of the target and what lies behind it. */
WEFT_DEVICE_FN void check_call(weft_self *self, struct data *user, const struct job *job)
{
    unsigned char *const given = test_mine(self, user->source, (size_t)user->each);
    unsigned char *const target = test_mine(self, user->target, (size_t)user->each);
    const size_t size = size_of(job->type), count = expected_count(job);
    const int blocks = job->call == SCATTER || job->call == ALLTOALL ? job->members : 1;
    const size_t gives = job->count * (size_t)blocks;
    const int gathers = job->call == ALLGATHER || (job->call == GATHER && job->me == job->root);
    unsigned char *source = given;

    if (job->in_place && job->call != ALLTOALL && job->call != SCATTER)
        source = target + (gathers ? (size_t)job->me * job->count * size : 0);
    if (job->call == BROADCAST)
        source = target;
    weft_sync(self);
    weft_for (i, (count + GUARD) * size)
        target[i] = 0xa5;
    weft_sync(self);
    weft_for (i, job->call == BROADCAST && job->me != job->root ? 0 : gives) {
        const uint64_t bits = element(job, job->me, i);
        memcpy(source + i * size, &bits, size);
    }
    unsigned char *to = target;
    if (job->in_place && job->call == SCATTER)
        to = given + (size_t)job->me * job->count * size;
    make_call(self, job, source, to);
    weft_for (i, count)
        CHECK_EQ(self, &user->check, load(to, i, size), expected(self, job, i));
    if (to == target && source != target)
        weft_for (i, GUARD * size)
            CHECK_EQ(self, &user->check, target[count * size + i], 0xa5);
    weft_sync(self);
}

/* Counts by which a call takes its ways: none, some, a cell's, more, several pieces. */
WEFT_DEVICE_FN size_t draw_count(uint64_t *state, uint32_t most)
{
    const uint32_t drawn = test_random(state, 8);

    if (drawn < 2)
        return drawn;
    if (drawn < 6)
        return test_random(state, 9 * drawn) + 1;
    return test_random(state, most) + 1;
}

WEFT_DEVICE_FN void draw_call(weft_self *self, struct data *user, const weft_comm *comms,
                              uint64_t number)
{
    uint64_t state = test_mix(user->seed + number);
    struct job job;

    job.key = state;
    job.kind = (enum kind)test_random(&state, KINDS);
    job.call = (enum call)test_random(&state, CALLS);
    job.type = (weft_type)test_random(&state, 6);
    job.operation = (weft_operation)test_random(&state, 7);
    if (is_real(job.type) && job.operation >= WEFT_AND && job.operation <= WEFT_XOR)
        job.operation = WEFT_SUM;
    job.count = draw_count(&state, user->most);
    job.in_place = (int)test_random(&state, 2);
    job.comm = comms[job.kind];
    const uint32_t root = test_random(&state, 1u << 20);
    if (job.comm == WEFT_COMM_NONE)
        return;
    job.members = weft_size(self, job.comm);
    job.me = weft_rank(self, job.comm);
    job.root = (int)(root % (uint32_t)job.members);
    check_call(self, user, &job);
}

enum { CONSTANTS = 100 };
#ifdef __CUDACC__
__device__
#endif
    static const uint64_t constants[CONSTANTS] = {3, 5, 7};

/* The root of a broadcast may give what nobody can store to. */
WEFT_DEVICE_FN void check_constant(weft_self *self, struct data *user, int root)
{
    const bool gives = weft_rank(self, WEFT_COMM_WORLD) == root;
    unsigned char *const target = test_mine(self, user->target, (size_t)user->each);

    weft_broadcast(self, WEFT_COMM_WORLD, root, gives ? (void *)(uintptr_t)constants : target,
                   CONSTANTS, WEFT_U64);
    weft_for (i, gives ? 0 : CONSTANTS)
        CHECK_EQ(self, &user->check, load(target, i, sizeof(uint64_t)), constants[i]);
}

WEFT_KERNEL(coll_kernel, struct data, user)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), n = weft_size(self, WEFT_COMM_WORLD);
    weft_comm comms[KINDS];

    weft_enter(self);
    comms[WORLD] = WEFT_COMM_WORLD;
    comms[DEVICE] = WEFT_COMM_DEVICE;
    comms[PARITY] = weft_comm_split(self, WEFT_COMM_WORLD, me % 2, me);
    comms[REVERSED] = weft_comm_split(self, WEFT_COMM_WORLD, 0, -me);
    comms[BUT_FIRST] = weft_comm_split(self, WEFT_COMM_WORLD, n > 1 && me == 0, me);
    comms[ALONE] = weft_comm_split(self, WEFT_COMM_WORLD, me == n - 1 ? 0 : -1, 0);
    for (uint64_t i = 0; i < user->calls; i++) {
        if (i % 64 == 63) { /* made anew */
            weft_comm_free(self, &comms[PARITY]);
            comms[PARITY] = weft_comm_split(self, WEFT_COMM_WORLD, me % 2, me);
        }
        draw_call(self, user, comms, i);
    }
    check_constant(self, user, 0);
    check_constant(self, user, n - 1);
    for (int kind = PARITY; kind < KINDS; kind++)
        if (comms[kind] != WEFT_COMM_NONE)
            weft_comm_free(self, &comms[kind]);
    weft_leave(self);
    test_done(self, &user->check);
}

#ifndef __CUDACC__
static int body(struct test_env *env)
{
    if (!test_prepare(env, &coll_kernel))
        return TEST_FAILED;
    const uint32_t ranks = (uint32_t)env->numbers->ranks;
    struct data data = {
        .calls = (env->brief ? 16 : 400) * (uint32_t)env->scale,
        .most = ranks > 32   ? 60
                : env->brief ? 100
                             : MOST,
    };
    data.each = ((uint64_t)data.most * ranks + 64 * ranks + GUARD) * 8;
    data.source = test_memory(env, TEST_PLAIN, (size_t)env->numbers->ranks_here * data.each);
    data.target = test_memory(env, TEST_PLAIN, (size_t)env->numbers->ranks_here * data.each);
    if (ranks > 32)
        data.calls /= 8;
    for (uint64_t run = 0; run < 2; run++) { /* first the same calls on all schedules */
        data.seed = run == 0 ? 1 : env->seed;
        test_run(env, &data, sizeof(data));
    }
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
