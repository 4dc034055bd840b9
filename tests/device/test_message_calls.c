/*
 * The calls of messages between host programs, beside plain sends and receives: operations that are
 * completed in any order and taken back, probes, groups, a team.
 */
#ifndef __CUDACC__ /* no kernel */
#include "support/messages.h"

#include "weft/team.h"

/* Receives begun before anything is sent, completed by wait_any, test and look. */
static void check_operations(struct test_env *env)
{
    enum { COUNT = 6 };
    const int n = env->numbers->processes, me = env->numbers->process;
    const int to = (me + 1) % n, from = (me + n - 1) % n;
    unsigned char in[COUNT][100], out[COUNT][100];
    weft_message_op ops[COUNT], sends[COUNT], copy, late;
    weft_message message;
    bool seen[COUNT] = {false};
    int index, done;

    for (int i = 0; i < COUNT; i++)
        TEST_EQ(env,
                weft_host_receive_begin(env->job, WEFT_COMM_HOST, from, 200 + i, in[i],
                                        sizeof(in[i]), &ops[i]),
                WEFT_OK);
    TEST_EQ(env, weft_host_receive_begin(env->job, WEFT_COMM_HOST, from, 300, NULL, 0, &late),
            WEFT_OK);
    copy = late;
    TEST_EQ(env, weft_host_message_wait_for(env->job, &late, 0, NULL), WEFT_ERR_TIMEOUT);
    TEST_EQ(env, weft_host_barrier(env->job), WEFT_OK);
    for (int i = COUNT; i-- > 0;) {
        fill(out[i], sizeof(out[i]), key_of(me, to, 200 + i));
        TEST_EQ(env,
                weft_host_send_begin(env->job, WEFT_COMM_HOST, to, 200 + i, out[i], sizeof(out[i]),
                                     &sends[i]),
                WEFT_OK);
    }
    for (int i = 0; i < COUNT; i++) {
        TEST_EQ(env, weft_host_message_wait_any(env->job, ops, COUNT, &index, &message), WEFT_OK);
        if (!TEST(env, index >= 0 && index < COUNT && !seen[index]))
            break;
        seen[index] = true;
        TEST_EQ(env, message.tag, 200 + index);
        TEST_EQ(env, wrong(in[index], sizeof(in[index]), key_of(from, me, 200 + index)), 0);
    }
    TEST_EQ(env, weft_host_message_wait_any(env->job, ops, COUNT, &index, &message), WEFT_OK);
    TEST_EQ(env, index, -1);
    TEST_EQ(env, weft_host_message_wait_all(env->job, sends, COUNT, NULL), WEFT_OK);
    TEST_EQ(env, weft_host_message_test(env->job, &late, &done, NULL), WEFT_OK);
    TEST_EQ(env, done, 0);
    TEST_EQ(env, weft_host_message_cancel(env->job, &late, &done), WEFT_OK);
    TEST_EQ(env, done, 1);
    env->expect = WEFT_ERR_ARGUMENT; /* of weft_close */
    TEST_EQ(env, weft_host_message_wait(env->job, &copy, NULL), WEFT_ERR_ARGUMENT);
    TEST_EQ(env, weft_host_message_wait(env->job, &late, &message), WEFT_OK);
    TEST_EQ(env, message.from, WEFT_ANY);
}

/* Probes, and a matched message that no other receive finds. */
static void check_probes(struct test_env *env)
{
    const int n = env->numbers->processes, me = env->numbers->process;
    const int to = (me + 1) % n, from = (me + n - 1) % n;
    int first = 11, second = 22, got = 0, there;
    weft_message_op matched, op, sends[2];
    weft_message message;

    TEST_EQ(env, weft_host_probe(env->job, WEFT_COMM_HOST, from, 400, &there, &message), WEFT_OK);
    TEST_EQ(env, there, 0);
    TEST_EQ(env, weft_host_barrier(env->job), WEFT_OK);
    TEST_EQ(
        env,
        weft_host_send_begin(env->job, WEFT_COMM_HOST, to, 400, &first, sizeof(first), &sends[0]),
        WEFT_OK);
    TEST_EQ(
        env,
        weft_host_send_begin(env->job, WEFT_COMM_HOST, to, 400, &second, sizeof(second), &sends[1]),
        WEFT_OK);
    TEST_EQ(env, weft_host_probe_wait(env->job, WEFT_COMM_HOST, WEFT_ANY, 400, &message), WEFT_OK);
    TEST_EQ(env, message.from, from);
    TEST_EQ(env, message.bytes, sizeof(first));
    do
        TEST_EQ(env,
                weft_host_probe_match(env->job, WEFT_COMM_HOST, from, WEFT_ANY, &there, &matched,
                                      &message),
                WEFT_OK);
    while (!there);
    TEST_EQ(env, weft_host_receive(env->job, WEFT_COMM_HOST, from, 400, &got, sizeof(got), NULL),
            WEFT_OK);
    TEST_EQ(env, got, second);
    TEST_EQ(env, weft_host_receive_matched_begin(env->job, &matched, &got, sizeof(got), &op),
            WEFT_OK);
    TEST_EQ(env, weft_host_message_wait(env->job, &op, &message), WEFT_OK);
    TEST_EQ(env, got, first);
    TEST_EQ(env, message.tag, 400);
    TEST_EQ(env, weft_host_message_wait_all(env->job, sends, 2, NULL), WEFT_OK);
}

/*
 * Sends that no receive has met are taken back, by whatever way their messages went. What could not
 * be is there.
 */
static void check_cancel(struct test_env *env)
{
    static const size_t sizes[] = {0, 8, 500, 20000, MESSAGE_MOST};
    const int n = env->numbers->processes, me = env->numbers->process;
    const int to = (me + 1) % n, from = (me + n - 1) % n;
    unsigned char *out = buffer(MESSAGE_MOST), *in = buffer(MESSAGE_MOST);
    weft_message message;
    weft_message_op op;
    int cancelled, back[2], there, tag = 500;

    for (int i = 0; i < 10; i++, tag++) {
        const size_t bytes = sizes[i / 2];
        const bool synchronous = i % 2 == 1;
        fill(out, bytes, key_of(me, to, tag));
        TEST_EQ(env,
                synchronous
                    ? weft_host_send_synchronous_begin(env->job, WEFT_COMM_HOST, to, tag, out,
                                                       bytes, &op)
                    : weft_host_send_begin(env->job, WEFT_COMM_HOST, to, tag, out, bytes, &op),
                WEFT_OK);
        message.tag = 0;
        TEST_EQ(env, weft_host_message_cancel(env->job, &op, &cancelled), WEFT_OK);
        if (!cancelled && op.generation != 0)
            TEST_EQ(env, weft_host_message_wait(env->job, &op, &message), WEFT_OK);
        back[0] = cancelled || message.tag == WEFT_ANY;
        if (synchronous)
            TEST_EQ(env, back[0], 1);
        TEST_EQ(env,
                weft_host_send_begin(env->job, WEFT_COMM_HOST, to, 499, back, sizeof(back[0]), &op),
                WEFT_OK);
        TEST_EQ(
            env,
            weft_host_receive(env->job, WEFT_COMM_HOST, from, 499, &back[1], sizeof(back[1]), NULL),
            WEFT_OK);
        TEST_EQ(env, weft_host_message_wait(env->job, &op, NULL), WEFT_OK);
        if (!back[1])
            receive_and_check(env, from, tag, bytes, in);
        TEST_EQ(env, weft_host_probe(env->job, WEFT_COMM_HOST, from, tag, &there, NULL), WEFT_OK);
        TEST_EQ(env, there, 0);
    }
    free(out);
    free(in);
}

/* In a group members are counted in it, and its messages are its own. */
static void check_groups(struct test_env *env)
{
    const int n = env->numbers->processes, me = env->numbers->process;
    int *processes = calloc((size_t)n, sizeof(*processes));
    weft_comm split = WEFT_COMM_NONE, numbered = WEFT_COMM_NONE;
    weft_comm groups[2];
    weft_message message;

    if (processes == NULL)
        abort();
    for (int i = 0; i < n; i++)
        processes[i] = n - 1 - i;
    TEST_EQ(env, weft_host_split(env->job, 0, -me, &split), WEFT_OK);
    TEST_EQ(env, weft_message_group_take(env->job, 7, processes, n, &numbered), WEFT_OK);
    groups[0] = split;
    groups[1] = numbered;
    for (int g = 0; g < 2; g++) {
        const int mine = n - 1 - me, to = (mine + 1) % n, from = (mine + n - 1) % n;
        int other = -1, sent = mine + 100 * g, world = -5, back;
        weft_message_op ops[2];
        TEST_EQ(
            env,
            weft_host_send_begin(env->job, WEFT_COMM_HOST, me, 9, &world, sizeof(world), &ops[0]),
            WEFT_OK);
        TEST_EQ(env, weft_host_send_begin(env->job, groups[g], to, 9, &sent, sizeof(sent), &ops[1]),
                WEFT_OK);
        TEST_EQ(
            env,
            weft_host_receive(env->job, groups[g], WEFT_ANY, 9, &other, sizeof(other), &message),
            WEFT_OK);
        TEST_EQ(env, message.from, from);
        TEST_EQ(env, other, from + 100 * g);
        TEST_EQ(env, weft_host_receive(env->job, WEFT_COMM_HOST, me, 9, &back, sizeof(back), NULL),
                WEFT_OK);
        TEST_EQ(env, back, world);
        TEST_EQ(env, weft_host_message_wait_all(env->job, ops, 2, NULL), WEFT_OK);
    }
    TEST_EQ(env, weft_host_barrier(env->job), WEFT_OK);
    TEST_EQ(env, weft_message_group_give(env->job, &numbered), WEFT_OK);
    TEST_EQ(env, weft_host_group_free(env->job, &split), WEFT_OK);
    free(processes);
}

static void add_up(const struct weft_combine *combine, const void *from, void *into, size_t count)
{
    (void)combine;
    for (size_t i = 0; i < count; i++)
        ((uint64_t *)into)[i] += ((const uint64_t *)from)[i];
}

/* A team on the host programs' own communicator. */
static void check_team(struct test_env *env)
{
    const struct weft_combine sum = {.combine = add_up, .bytes = 8, .commutes = 1};
    const int n = env->numbers->processes, me = env->numbers->process;
    uint64_t own = (uint64_t)me, all = 0;
    weft_team *team;
    weft_team_op *op;

    TEST_EQ(env, weft_host_barrier(env->job), WEFT_OK); /* the team's messages are the only ones */
    TEST_EQ(env, weft_team_open(env->job, WEFT_COMM_HOST, n, me, "all", NULL, &team), WEFT_OK);
    TEST_EQ(env, weft_team_allreduce(team, &own, &all, 1, &sum, &op), WEFT_OK);
    TEST_EQ(env, weft_team_wait(&op), WEFT_OK);
    TEST_EQ(env, all, (uint64_t)(n * (n - 1) / 2));
    TEST_EQ(env, weft_host_barrier(env->job), WEFT_OK);
    TEST_EQ(env, weft_team_close(&team), WEFT_OK);
}

static int body(struct test_env *env)
{
    check_probes(env);
    check_cancel(env);
    check_groups(env);
    check_operations(env);
    check_team(env);
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
