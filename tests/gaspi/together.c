/* tests/gaspi/together.c - groups, collectives with time limits, passive communication. */
#include "gaspi_test.h"

#include <pthread.h>

#define REDUCE(type, TYPE)                                                                         \
    do {                                                                                           \
        gaspi_##type a[255], b[255];                                                               \
        for (unsigned op = GASPI_OP_MIN; op <= GASPI_OP_SUM; op++) {                               \
            for (int i = 0; i < 255; i++)                                                          \
                a[i] = (gaspi_##type)(i + rank * 2);                                               \
            GOOD(gaspi_allreduce(a, b, 255, op, GASPI_TYPE_##TYPE, GASPI_GROUP_ALL, GASPI_BLOCK)); \
            for (int i = 0; i < 255; i++) {                                                        \
                const int last = i + (ranks - 1) * 2;                                              \
                const int right = op == GASPI_OP_MIN   ? i                                         \
                                  : op == GASPI_OP_MAX ? last                                      \
                                                       : ranks * (i + last) / 2;                   \
                if (b[i] != (gaspi_##type)right)                                                   \
                    CHECK(b[i] == (gaspi_##type)right);                                            \
            }                                                                                      \
        }                                                                                          \
    } while (0)

struct pair {
    long sum;
    int most, calls;
};

static gaspi_return_t add_pairs(gaspi_pointer_t const one, gaspi_pointer_t const two,
                                gaspi_pointer_t const result, gaspi_reduce_state_t const state,
                                const gaspi_number_t number, const gaspi_size_t bytes,
                                const gaspi_timeout_t timeout_ms)
{
    const struct pair *a = one, *b = two;
    struct pair *c = result;
    gaspi_number_t segments;
    gaspi_rank_t me;

    GOOD(gaspi_proc_rank(&me)); /* an operation may ask */
    GOOD(gaspi_segment_num(&segments));
    if (bytes != sizeof(struct pair) || timeout_ms != GASPI_BLOCK || me != rank)
        return GASPI_ERROR;
    for (gaspi_number_t i = 0; i < number; i++) {
        c[i].sum = a[i].sum + b[i].sum;
        c[i].most = a[i].most > b[i].most ? a[i].most : b[i].most;
        c[i].calls = a[i].calls + b[i].calls + *(const int *)state;
    }
    return GASPI_SUCCESS;
}

static gaspi_return_t refuse(gaspi_pointer_t const one, gaspi_pointer_t const two,
                             gaspi_pointer_t const result, gaspi_reduce_state_t const state,
                             const gaspi_number_t number, const gaspi_size_t bytes,
                             const gaspi_timeout_t timeout_ms)
{
    (void)one, (void)two, (void)result, (void)number, (void)bytes, (void)timeout_ms;
    ++*(int *)state;
    return GASPI_ERR_DEVICE;
}

static void reductions(void)
{
    struct pair in[40], out[40];
    int one = 1;

    REDUCE(int, INT);
    REDUCE(uint, UINT);
    REDUCE(long, LONG);
    REDUCE(ulong, ULONG);
    REDUCE(float, FLOAT);
    REDUCE(double, DOUBLE);
    for (int i = 0; i < 40; i++)
        in[i] = (struct pair){rank + i, (int)rank * (i + 1), 0};
    if (rank == 0)
        usleep(20000); /* so the others' values are there when it begins */
    GOOD(gaspi_allreduce_user(in, out, 40, sizeof(in[0]), add_pairs, &one, GASPI_GROUP_ALL,
                              GASPI_BLOCK));
    for (int i = 0; i < 40; i++) {
        CHECK(out[i].sum == (long)ranks * i + (long)ranks * (ranks - 1) / 2);
        CHECK(out[i].most == (ranks - 1) * (i + 1) && out[i].calls == ranks - 1);
    }
    /* Who has called the operation says what it returned. */
    int calls = 0;
    const gaspi_return_t code = gaspi_allreduce_user(in, out, 1, sizeof(in[0]), refuse, &calls,
                                                     GASPI_GROUP_ALL, GASPI_BLOCK);
    CODE(calls != 0 ? GASPI_ERR_DEVICE : GASPI_SUCCESS, code);
    CHECK(calls != 0 || ranks != 2);
    CODE(GASPI_ERR_INV_NUM,
         gaspi_allreduce(in, out, 256, GASPI_OP_SUM, GASPI_TYPE_INT, GASPI_GROUP_ALL, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_NUM,
         gaspi_allreduce(in, out, 0, GASPI_OP_SUM, GASPI_TYPE_INT, GASPI_GROUP_ALL, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_NUM,
         gaspi_allreduce(in, out, 1, 3, GASPI_TYPE_INT, GASPI_GROUP_ALL, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_NUM,
         gaspi_allreduce(in, out, 1, GASPI_OP_SUM, 6, GASPI_GROUP_ALL, GASPI_BLOCK));
    CODE(GASPI_ERR_NULLPTR,
         gaspi_allreduce(NULL, out, 1, GASPI_OP_SUM, GASPI_TYPE_INT, GASPI_GROUP_ALL, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_GROUP,
         gaspi_allreduce(in, out, 1, GASPI_OP_SUM, GASPI_TYPE_INT, 9, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_SIZE,
         gaspi_allreduce_user(in, out, 255, 9, add_pairs, &one, GASPI_GROUP_ALL, GASPI_BLOCK));
    CODE(GASPI_ERR_NULLPTR,
         gaspi_allreduce_user(in, out, 1, 8, NULL, &one, GASPI_GROUP_ALL, GASPI_BLOCK));
}

void collectives(void)
{
    int in = rank, out = -1;

    CODE(GASPI_ERR_INV_GROUP, gaspi_barrier(31, GASPI_BLOCK));
    for (int i = 0; i < 50; i++)
        barrier();
    reductions();
    segment(0, 64);
    /* A limit, the partners late: the same call again completes the same barrier. */
    if (rank == 0 && ranks > 1) {
        CODE(GASPI_TIMEOUT, gaspi_barrier(GASPI_GROUP_ALL, GASPI_TEST));
        CODE(GASPI_TIMEOUT, gaspi_barrier(GASPI_GROUP_ALL, 20));
        CODE(GASPI_ERR_ACTIVE_COLL, gaspi_allreduce(&in, &out, 1, GASPI_OP_SUM, GASPI_TYPE_INT,
                                                    GASPI_GROUP_ALL, GASPI_TEST));
        CODE(GASPI_ERR_ACTIVE_COLL,
             gaspi_allreduce_user(&in, &out, 1, 4, add_pairs, NULL, GASPI_GROUP_ALL, GASPI_TEST));
        for (gaspi_rank_t late = 1; late < ranks; late++)
            GOOD(gaspi_notify(0, late, 0, 1, 0, GASPI_BLOCK));
    } else if (ranks > 1) {
        CHECK(await(0, 0) == 1);
    }
    barrier();
    GOOD(gaspi_wait(0, GASPI_BLOCK));
    drop(0);
    gaspi_return_t code;
    if (rank != 0)
        usleep(100000);
    do
        code = gaspi_allreduce(&in, &out, 1, GASPI_OP_MAX, GASPI_TYPE_INT, GASPI_GROUP_ALL, 5);
    while (code == GASPI_TIMEOUT);
    GOOD(code);
    CHECK(out == ranks - 1);
    /* A segment made with a limit. */
    if (rank == 0)
        usleep(100000);
    do
        code = gaspi_segment_create(4, 100, GASPI_GROUP_ALL, 5, GASPI_ALLOC_DEFAULT);
    while (code == GASPI_TIMEOUT);
    GOOD(code);
    drop(4);
}

/* Of the ranks with the same remainder; and one of this rank alone. */
void groups(void)
{
    gaspi_group_t group, alone, made[GROUPS];
    gaspi_number_t number, size;
    gaspi_rank_t list[256];
    int in = 1, out = 0, count = 0;

    GOOD(gaspi_group_num(&number));
    CHECK(number == 1);
    GOOD(gaspi_group_size(GASPI_GROUP_ALL, &size));
    CHECK(size == ranks);
    GOOD(gaspi_group_ranks(GASPI_GROUP_ALL, list));
    for (int i = 0; i < ranks; i++)
        CHECK(list[i] == i);
    for (int round = 0; round < 5; round++) {
        GOOD(gaspi_group_create(&group));
        GOOD(gaspi_group_size(group, &size));
        CHECK(size == 0);
        CODE(GASPI_ERR_INV_GROUP, gaspi_barrier(group, GASPI_BLOCK));
        for (int i = ranks - 1; i >= 0; i--) /* in any order */
            if (i % 2 == rank % 2)
                GOOD(gaspi_group_add(group, (gaspi_rank_t)i));
        CODE(GASPI_ERR_INV_RANK, gaspi_group_add(group, rank));
        GOOD(gaspi_group_commit(group, GASPI_BLOCK));
        GOOD(gaspi_group_commit(group, GASPI_BLOCK)); /* it is */
        CODE(GASPI_ERR_INV_GROUP, gaspi_group_add(group, rank));
        GOOD(gaspi_group_size(group, &size));
        GOOD(gaspi_group_ranks(group, list));
        for (gaspi_number_t i = 0; i < size; i++)
            CHECK(list[i] == rank % 2 + 2 * i);
        GOOD(gaspi_barrier(group, GASPI_BLOCK));
        GOOD(gaspi_allreduce(&in, &out, 1, GASPI_OP_SUM, GASPI_TYPE_INT, group, GASPI_BLOCK));
        CHECK(out == (int)size);
        GOOD(gaspi_segment_create(6, 64, group, GASPI_BLOCK, GASPI_ALLOC_DEFAULT));
        GOOD(gaspi_notify(6, list[size - 1], 1 + rank, 1, 0, GASPI_BLOCK));
        GOOD(gaspi_barrier(group, GASPI_BLOCK));
        GOOD(gaspi_wait(0, GASPI_BLOCK));
        GOOD(gaspi_barrier(group, GASPI_BLOCK));
        GOOD(gaspi_segment_delete(6));
        GOOD(gaspi_group_delete(group));
        CODE(GASPI_ERR_INV_GROUP, gaspi_group_delete(group));
    }
    GOOD(gaspi_group_create(&alone));
    CODE(GASPI_ERR_INV_GROUP, gaspi_group_commit(alone, GASPI_BLOCK)); /* empty */
    GOOD(gaspi_group_add(alone, rank));
    CODE(GASPI_ERR_INV_RANK, gaspi_group_add(alone, ranks));
    GOOD(gaspi_group_commit(alone, GASPI_TEST));
    GOOD(gaspi_barrier(alone, GASPI_TEST));
    GOOD(gaspi_group_delete(alone));
    while (gaspi_group_create(&group) == GASPI_SUCCESS)
        made[count++] = group;
    CHECK(count == GROUPS - 1);
    CODE(GASPI_ERR_MANY_GRP, gaspi_group_create(&group));
    for (gaspi_rank_t i = 0; i < ranks; i++) /* the last of them serves as any */
        GOOD(gaspi_group_add(made[count - 1], i));
    GOOD(gaspi_group_commit(made[count - 1], GASPI_BLOCK));
    GOOD(gaspi_barrier(made[count - 1], GASPI_BLOCK));
    while (count-- > 0)
        GOOD(gaspi_group_delete(made[count]));
    CODE(GASPI_ERR_INV_GROUP, gaspi_group_delete(GASPI_GROUP_ALL));
    CODE(GASPI_ERR_INV_GROUP, gaspi_group_size(5, &size));
    CODE(GASPI_ERR_INV_GROUP, gaspi_group_ranks(5, list));
    CODE(GASPI_ERR_INV_GROUP, gaspi_group_commit(5, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_GROUP, gaspi_group_add(5, 0));
    CODE(GASPI_ERR_NULLPTR, gaspi_group_create(NULL));
    CODE(GASPI_ERR_NULLPTR, gaspi_group_num(NULL));
    CODE(GASPI_ERR_NULLPTR, gaspi_group_size(0, NULL));
    CODE(GASPI_ERR_NULLPTR, gaspi_group_ranks(0, NULL));
    if (ranks < 3)
        return;
    /* Its members differ: all learn it. A late one: the limit is met, and it goes on. */
    GOOD(gaspi_group_create(&group));
    GOOD(gaspi_group_add(group, 0));
    GOOD(gaspi_group_add(group, 1));
    if (rank == 1)
        GOOD(gaspi_group_add(group, 2));
    if (rank < 2)
        CODE(GASPI_ERROR, gaspi_group_commit(group, GASPI_BLOCK));
    GOOD(gaspi_group_delete(group));
    GOOD(gaspi_group_create(&group));
    GOOD(gaspi_group_add(group, 0));
    GOOD(gaspi_group_add(group, 1));
    segment(0, 64);
    if (rank == 0) {
        CODE(GASPI_TIMEOUT, gaspi_group_commit(group, 10));
        GOOD(gaspi_notify(0, 1, 0, 1, 0, GASPI_BLOCK));
        GOOD(gaspi_wait(0, GASPI_BLOCK));
    }
    if (rank == 1)
        CHECK(await(0, 0) == 1);
    if (rank < 2) {
        GOOD(gaspi_group_commit(group, GASPI_BLOCK));
        GOOD(gaspi_barrier(group, GASPI_BLOCK));
    }
    GOOD(gaspi_group_delete(group));
    drop(0);
}

/* ---- two threads in calls of one group: the second waits for the first -------------------------
 */

static gaspi_group_t shared;
static pthread_barrier_t both;

/* Whose call meets whose of another rank does not matter: all contribute the same. */
static void *all_collectives(void *nothing)
{
    GOOD(gaspi_group_commit(shared, GASPI_BLOCK));
    for (int i = 0; i < 100; i++) {
        const struct pair one = {1, rank, 0};
        struct pair user = {0, 0, 0};
        int state = 1;

        GOOD(gaspi_barrier(shared, GASPI_BLOCK));
        pthread_barrier_wait(&both); /* calls of different kinds do not meet */
        gaspi_long in = 1, out = 0;
        GOOD(gaspi_allreduce(&in, &out, 1, GASPI_OP_SUM, GASPI_TYPE_LONG, shared, GASPI_BLOCK));
        CHECK(out == ranks);
        pthread_barrier_wait(&both);
        GOOD(gaspi_allreduce_user((gaspi_pointer_t)(uintptr_t)&one, &user, 1, sizeof(user),
                                  add_pairs, &state, shared, GASPI_BLOCK));
        CHECK(user.sum == ranks && user.most == ranks - 1);
        pthread_barrier_wait(&both);
    }
    return nothing;
}

static void *one_barrier(void *nothing)
{
    barrier();
    return nothing;
}

void two_threads(void)
{
    pthread_t thread;

    GOOD(gaspi_group_create(&shared));
    for (gaspi_rank_t i = 0; i < ranks; i++)
        GOOD(gaspi_group_add(shared, i));
    pthread_barrier_init(&both, NULL, 2);
    CHECK(pthread_create(&thread, NULL, all_collectives, NULL) == 0);
    all_collectives(NULL);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&both);
    GOOD(gaspi_group_delete(shared));
    segment(0, 64);
    /* Up to its own limit. */
    if (rank == 0 && ranks > 1) {
        CHECK(pthread_create(&thread, NULL, one_barrier, NULL) == 0);
        usleep(50000);
        CODE(GASPI_TIMEOUT, gaspi_barrier(GASPI_GROUP_ALL, GASPI_TEST));
        CODE(GASPI_TIMEOUT, gaspi_barrier(GASPI_GROUP_ALL, 30));
        GOOD(gaspi_notify(0, after(rank), 0, 1, 0, GASPI_BLOCK));
        pthread_join(thread, NULL);
    } else if (ranks > 1) {
        CHECK(await(0, 0) == 1);
        if (after(rank) != 0)
            GOOD(gaspi_notify(0, after(rank), 0, 1, 0, GASPI_BLOCK));
        barrier();
    }
    GOOD(gaspi_wait(0, GASPI_BLOCK));
    drop(0);
}

void passive(void)
{
    unsigned char *const memory = segment(0, 4 * 65536);
    gaspi_rank_t from;

    CODE(GASPI_TIMEOUT, gaspi_passive_receive(0, 0, &from, 8, GASPI_TEST));
    CODE(GASPI_TIMEOUT, gaspi_passive_receive(0, 0, &from, 8, 10));
    barrier();
    for (size_t bytes = 1; bytes <= 65535; bytes = bytes * 7 + 1) {
        memset(memory, rank + 1, bytes);
        if (rank != 0) {
            GOOD(gaspi_passive_send(0, 0, 0, bytes, GASPI_BLOCK));
        } else {
            unsigned seen = 0;
            for (int i = 1; i < ranks; i++) {
                GOOD(gaspi_passive_receive(0, 65536, &from, bytes, GASPI_BLOCK));
                CHECK(from > 0 && from < ranks && (seen & 1u << from) == 0);
                seen |= 1u << from;
                for (size_t k = 0; k < bytes; k++)
                    if (memory[65536 + k] != from + 1)
                        CHECK(memory[65536 + k] == from + 1);
            }
        }
        barrier();
    }
    /* To itself; too long a message. */
    memset(memory, 9, 65535);
    gaspi_return_t code = gaspi_passive_send(0, 0, rank, 100, GASPI_TEST);
    CHECK(code == GASPI_SUCCESS || code == GASPI_TIMEOUT);
    GOOD(gaspi_passive_receive(0, 131072, &from, 100, GASPI_BLOCK));
    CHECK(from == rank && memory[131072 + 99] == 9);
    if (code == GASPI_TIMEOUT)
        GOOD(gaspi_passive_send(0, 0, rank, 100, GASPI_BLOCK));
    code = gaspi_passive_send(0, 0, rank, 200, GASPI_TEST);
    CODE(GASPI_ERR_INV_SIZE, gaspi_passive_receive(0, 131072, &from, 100, GASPI_BLOCK));
    if (code == GASPI_TIMEOUT)
        GOOD(gaspi_passive_send(0, 0, rank, 200, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_COMMSIZE, gaspi_passive_send(0, 0, rank, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_COMMSIZE, gaspi_passive_send(0, 0, rank, 65536, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_COMMSIZE, gaspi_passive_receive(0, 0, &from, 65536, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_RANK, gaspi_passive_send(0, 0, ranks, 8, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_SEG, gaspi_passive_send(1, 0, rank, 8, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_SEG, gaspi_passive_receive(1, 0, &from, 8, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_LOC_OFF, gaspi_passive_send(0, 4 * 65536, rank, 8, GASPI_BLOCK));
    CODE(GASPI_ERR_NULLPTR, gaspi_passive_receive(0, 0, NULL, 8, GASPI_BLOCK));
    drop(0);
}
