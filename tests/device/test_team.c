/*
 * Collectives of host programs, many under way at once: each process completes them in an order of
 * its own, by waits and tests, after the receive task alone has driven them for a while. Messages
 * of the program go between.
 */
#ifndef __CUDACC__ /* no kernel */
#include "support/test.h"

#include "weft/team.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MANY = 12, ELEMENTS = 3000, GROUP = 5, TAG = 3 };

struct one {
    weft_team_op *op;
    uint64_t in[ELEMENTS], out[ELEMENTS];
    size_t count;
};

static void add(const weft_combine *combine, const void *from, void *into, size_t count)
{
    const uint64_t *a = from;
    uint64_t *b = into;

    (void)combine;
    for (size_t i = 0; i < count; i++)
        b[i] += a[i];
}

static uint64_t value(int round, int process, size_t i)
{
    return (uint64_t)(round * 1000 + process * 7) + i;
}

static void begin(struct test_env *env, weft_team *team, struct one *one, int i)
{
    static const size_t counts[] = {1, 40, ELEMENTS};
    const weft_combine sum = {
        .combine = add, .bytes = sizeof(uint64_t), .commutes = 1, .in_calls = i % 2};
    const int n = env->numbers->processes, me = env->numbers->process;

    one->count = counts[i / 4 % 3];
    for (size_t k = 0; k < one->count; k++)
        one->in[k] = one->out[k] = value(i, me, k);
    if (i % 4 == 3)
        TEST_EQ(env, weft_team_barrier(team, &one->op), WEFT_OK);
    else if (i % 4 == 2)
        TEST_EQ(env, weft_team_broadcast(team, i % n, one->out, one->count * 8, &one->op), WEFT_OK);
    else
        TEST_EQ(env, weft_team_allreduce(team, one->in, one->out, one->count, &sum, &one->op),
                WEFT_OK);
}

static void end(struct test_env *env, struct one *one, int i)
{
    const int n = env->numbers->processes;
    int done = 0;

    if ((i + env->numbers->process) % 2 == 0)
        TEST_EQ(env, weft_team_wait(&one->op), WEFT_OK);
    else
        while (!done)
            TEST_EQ(env, weft_team_test(&one->op, &done), WEFT_OK);
    TEST_EQ(env, one->op == NULL, 1);
    for (size_t k = 0; k < one->count && i % 4 != 3; k++) {
        uint64_t sum = 0;
        for (int p = 0; p < n; p++)
            sum += value(i, p, k);
        TEST_EQ(env, one->out[k], i % 4 == 2 ? value(i, i % n, k) : sum);
    }
}

static void together(struct test_env *env, weft_team *team, struct one *all)
{
    const int n = env->numbers->processes, me = env->numbers->process;
    int token = -1;
    weft_message_op op;

    for (int i = 0; i < MANY; i++)
        begin(env, team, &all[i], i);
    if (!env->random)
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    TEST_EQ(env,
            weft_host_send_begin(env->job, WEFT_COMM_HOST, (me + 1) % n, TAG, &me, sizeof(me), &op),
            WEFT_OK);
    TEST_EQ(env,
            weft_host_receive(env->job, WEFT_COMM_HOST, (me + n - 1) % n, TAG, &token,
                              sizeof(token), NULL),
            WEFT_OK);
    TEST_EQ(env, weft_host_message_wait(env->job, &op, NULL), WEFT_OK);
    TEST_EQ(env, token, (me + n - 1) % n);
    for (int i = 0; i < MANY; i++) {
        const int k = me % 2 == 0 ? i : MANY - 1 - i;
        end(env, &all[k], k);
    }
}

/* ---- calls that wait --------------------------------------------------------------------------
 */

/* One broadcast after the other, by roots that may be far ahead; and all the others once. */
static void waiting(struct test_env *env, weft_team *team, size_t words)
{
    enum { AHEAD = 40 };
    const weft_combine sum = {.combine = add, .bytes = sizeof(uint64_t), .commutes = 1};
    const int n = env->numbers->processes, me = env->numbers->process;
    const size_t bytes = words * sizeof(uint64_t), all = words * (size_t)n;
    uint64_t *in = calloc(2 * all, sizeof(*in)), *out = in + all, sums = 0;

    for (int i = 0; i < AHEAD; i++) {
        const int root = i / (AHEAD / 2) % n;
        for (size_t k = 0; k < words; k++)
            out[k] = me == root ? value(i, root, k) : 0;
        TEST_EQ(env, weft_team_broadcast(team, root, out, bytes, NULL), WEFT_OK);
        for (size_t k = 0; k < words; k++)
            TEST_EQ(env, out[k], value(i, root, k));
    }
    TEST_EQ(env, weft_team_barrier(team, NULL), WEFT_OK);
    for (size_t k = 0; k < all; k++)
        in[k] = value(0, me, k);
    for (int p = 0; p < n; p++)
        sums += value(0, p, 0);
    TEST_EQ(env, weft_team_allreduce(team, in, out, words, &sum, NULL), WEFT_OK);
    for (size_t k = 0; k < words; k++)
        TEST_EQ(env, out[k], sums + (uint64_t)n * k);
    memcpy(out, in, bytes);
    TEST_EQ(env, weft_team_reduce(team, n - 1, out, out, words, &sum, NULL), WEFT_OK);
    for (size_t k = 0; k < words; k++)
        TEST_EQ(env, out[k], me == n - 1 ? sums + (uint64_t)n * k : value(0, me, k));
    TEST_EQ(env, weft_team_allgather(team, in, bytes, out, NULL), WEFT_OK);
    for (size_t k = 0; k < all; k++)
        TEST_EQ(env, out[k], value(0, (int)(k / words), k % words));
    memset(out, 0, all * sizeof(*out));
    TEST_EQ(env, weft_team_gather(team, 0, in, bytes, out, NULL), WEFT_OK);
    for (size_t k = 0; k < all; k++)
        TEST_EQ(env, out[k], me == 0 ? value(0, (int)(k / words), k % words) : 0);
    TEST_EQ(env, weft_team_alltoall(team, in, out, bytes, NULL), WEFT_OK);
    for (size_t k = 0; k < all; k++)
        TEST_EQ(env, out[k], value(0, (int)(k / words), (size_t)me * words + k % words));
    free(in);
}

/*
 * Teams that come and go: one's last call is a broadcast, after which its root uses the next; and
 * more of them at once than have memory that is shared.
 */
static void many_teams(struct test_env *env, weft_team *world, const int *processes)
{
    enum { TEAMS = 40, FROM = 100 };
    const int n = env->numbers->processes, me = env->numbers->process;
    weft_comm group[TEAMS];
    weft_team *team[TEAMS];

    for (int round = 0; round < 3; round++) {
        const bool at_once = round == 1;
        TEST_EQ(env, weft_team_barrier(world, NULL), WEFT_OK); /* the groups' numbers are free */
        for (int i = 0; i < TEAMS; i++) {
            uint64_t word = me == i % n ? (uint64_t)i : 0;
            TEST_EQ(env, weft_message_group_take(env->job, FROM + i, processes, n, &group[i]),
                    WEFT_OK);
            TEST_EQ(env, weft_team_open(env->job, group[i], n, me, "many", NULL, &team[i]),
                    WEFT_OK);
            TEST_EQ(env, weft_team_broadcast(team[i], i % n, &word, sizeof(word), NULL), WEFT_OK);
            TEST_EQ(env, word, i);
            if (!at_once) {
                TEST_EQ(env, weft_team_close(&team[i]), WEFT_OK);
                TEST_EQ(env, weft_message_group_give(env->job, &group[i]), WEFT_OK);
            }
        }
        for (int i = 0; i < TEAMS && at_once; i++) {
            TEST_EQ(env, weft_team_barrier(team[i], NULL), WEFT_OK);
            TEST_EQ(env, weft_team_close(&team[i]), WEFT_OK);
            TEST_EQ(env, weft_message_group_give(env->job, &group[i]), WEFT_OK);
        }
    }
}

/* A collective that the others never call: its team cannot be closed, and goes with the job. */
static void leave_one(struct test_env *env, const int *processes)
{
    static uint64_t from = 1, into[1];
    const weft_combine sum = {.combine = add, .bytes = sizeof(from), .commutes = 1};
    const int n = env->numbers->processes, me = env->numbers->process;
    weft_comm group;
    weft_team *team;
    weft_team_op *op;

    TEST_EQ(env, weft_message_group_take(env->job, GROUP + 1, processes, n, &group), WEFT_OK);
    TEST_EQ(env, weft_team_open(env->job, group, n, me, "one", NULL, &team), WEFT_OK);
    if (me != 0 || n == 1)
        return;
    TEST_EQ(env, weft_team_allreduce(team, &from, into, 1, &sum, &op), WEFT_OK);
    TEST_EQ(env, weft_team_wait_for(&op, 0), WEFT_ERR_TIMEOUT);
    TEST_EQ(env, weft_team_close(&team), WEFT_ERR_STATE);
    env->expect = WEFT_ERR_STATE;
    TEST_EQ(env, team != NULL, 1);
}

static int body(struct test_env *env)
{
    const int n = env->numbers->processes, me = env->numbers->process;
    struct one *all = calloc(MANY, sizeof(*all));
    int processes[64];
    weft_comm group;
    weft_team *team;

    TEST_EQ(env, all != NULL && n <= 64, 1);
    for (int p = 0; p < n; p++)
        processes[p] = p;
    TEST_EQ(env, weft_message_group_take(env->job, GROUP, processes, n, &group), WEFT_OK);
    TEST_EQ(env, weft_team_open(env->job, group, n, me, "all", NULL, &team), WEFT_OK);
    for (int round = 0; round < (env->brief ? 1 : 10) * env->scale; round++)
        together(env, team, all);
    for (size_t words = 1; words <= 4000; words *= 5) /* in pieces and slices, too */
        waiting(env, team, words);
    many_teams(env, team, processes);
    TEST_EQ(env, weft_team_close(&team), WEFT_OK);
    TEST_EQ(env, weft_message_group_give(env->job, &group), WEFT_OK);
    leave_one(env, processes);
    free(all);
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
