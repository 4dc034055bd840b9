/*
 * Messages between host programs: every size and kind of send to every process, itself included;
 * the order of mixed sizes; wildcards; probes; operations completed in any order; groups.
 */
#ifndef __CUDACC__ /* no kernel */
#include "msg/msg.h"
#include "support/test.h"

#include "weft/message.h"
#include "weft/team.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 300000, BATCH = 24 };

static unsigned char *buffer(size_t bytes)
{
    unsigned char *memory = malloc(bytes + 1);

    if (memory == NULL)
        abort();
    return memory;
}

static void fill(unsigned char *data, size_t bytes, uint64_t key)
{
    for (size_t i = 0; i < bytes; i++)
        data[i] = test_byte(key, i);
}

static size_t wrong(const unsigned char *data, size_t bytes, uint64_t key)
{
    size_t count = 0;

    for (size_t i = 0; i < bytes; i++)
        count += data[i] != test_byte(key, i);
    return count;
}

static uint64_t key_of(int from, int to, int tag)
{
    return (uint64_t)from * 1000003 + (uint64_t)to * 1009 + (uint64_t)tag;
}

static void receive_and_check(struct test_env *env, int from, int tag, size_t bytes,
                              unsigned char *memory)
{
    weft_message message = {.from = -2};

    TEST_EQ(env, weft_host_receive(env->job, WEFT_COMM_HOST, from, tag, memory, bytes, &message),
            WEFT_OK);
    TEST_EQ(env, message.from, from);
    TEST_EQ(env, message.tag, tag);
    TEST_EQ(env, message.bytes, bytes);
    TEST_EQ(env, message.status, WEFT_OK);
    TEST_EQ(env, wrong(memory, bytes, key_of(from, env->numbers->process, tag)), 0);
}

/* Each size, plain and synchronous, to the next process and from the one before: alone, itself. */
static void check_sizes(struct test_env *env)
{
    static const size_t sizes[] = {0,    1,    8,    31,    32,    33,    64,
                                   1000, 8192, 8193, 16385, 65536, 70001, MOST};
    const int n = env->numbers->processes, me = env->numbers->process;
    const int to = (me + 1) % n, from = (me + n - 1) % n;
    unsigned char *out = buffer(MOST), *in = buffer(MOST);

    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
        for (int synchronous = 0; synchronous < 2; synchronous++) {
            const int tag = (int)s * 2 + synchronous;
            weft_message_op op;
            fill(out, sizes[s], key_of(me, to, tag));
            TEST_EQ(env,
                    synchronous ? weft_host_send_synchronous_begin(env->job, WEFT_COMM_HOST, to,
                                                                   tag, out, sizes[s], &op)
                                : weft_host_send_begin(env->job, WEFT_COMM_HOST, to, tag, out,
                                                       sizes[s], &op),
                    WEFT_OK);
            receive_and_check(env, from, tag, sizes[s], in);
            TEST_EQ(env, weft_host_message_wait(env->job, &op, NULL), WEFT_OK);
            TEST(env, op.index == 0 && op.generation == 0);
        }
    /* Over a network large ones are put from memory of the host to it, whatever the device. */
    const struct weft_messages *const m = env->job->messages;
    const bool far = n > 1 && m->peers[from].out.ring == NULL;
    TEST_EQ(env, m->put != 0, far && env->job->config.msg_put != 0);
    free(out);
    free(in);
}

/* The same in memory of the device, at either end or both; nearly every buffer is less aligned. */
static void check_device(struct test_env *env)
{
    static const size_t sizes[] = {8, 100, 8192, 50000, MOST, 1, 8191, 33, 4100, 8185, 7000};
    const int n = env->numbers->processes, me = env->numbers->process;
    const int to = (me + 1) % n, from = (me + n - 1) % n;
    unsigned char *host = buffer(MOST);
    unsigned char *out = test_memory(env, TEST_MAPPED, MOST + 16);
    unsigned char *in = test_memory(env, TEST_MAPPED, MOST + 16);
    weft_win win;

    TEST_EQ(env, weft_host_win_create(env->job, in, MOST + 16, &win), WEFT_OK); /* all map it now */
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++, in++, out++)
        for (int ends = 1; ends < 4; ends++) {
            const int tag = 500 + (int)s * 4 + ends;
            unsigned char *const far = (ends & 2) != 0 ? in : buffer(MOST);
            weft_message_op op;
            weft_message message;
            fill(host, sizes[s], key_of(me, to, tag));
            TEST_EQ(env, weft_copy(env->job, out, host, sizes[s]), WEFT_OK);
            TEST_EQ(env,
                    weft_host_send_begin(env->job, WEFT_COMM_HOST, to, tag,
                                         (ends & 1) != 0 ? out : host, sizes[s], &op),
                    WEFT_OK);
            TEST_EQ(env,
                    weft_host_receive(env->job, WEFT_COMM_HOST, from, tag, far, sizes[s], &message),
                    WEFT_OK);
            TEST_EQ(env, weft_host_message_wait(env->job, &op, NULL), WEFT_OK);
            TEST_EQ(env, weft_copy(env->job, host, far, sizes[s]), WEFT_OK);
            TEST_EQ(env, message.bytes, sizes[s]);
            TEST_EQ(env, wrong(host, sizes[s], key_of(from, me, tag)), 0);
            if (far != in)
                free(far);
        }
    /* Large ones out of the program's memory are copied by who sends them, if both map the other's
     * device. */
    const struct weft_process *const next = &env->job->processes[to];
    const bool both = next->kind == env->job->processes[me].kind && next->mapped && to != me;
    TEST_EQ(env, env->job->messages->copied != 0, both && !env->job->device_ops->host_access);
    TEST_EQ(env, weft_host_win_free(env->job, &win), WEFT_OK);
    free(host);
}

/* Blocking sends by turns; receives posted before their messages and after. */
static void check_turns(struct test_env *env)
{
    const int n = env->numbers->processes, me = env->numbers->process;
    unsigned char out[64], in[64];

    for (int i = 0; n > 1 && i < 20 * env->scale; i++) {
        const int partner = me ^ 1, tag = 1000 + i;
        if (partner >= n)
            break;
        fill(out, sizeof(out), key_of(me, partner, tag));
        if (me % 2 == 0)
            TEST_EQ(env, weft_host_send(env->job, WEFT_COMM_HOST, partner, tag, out, sizeof(out)),
                    WEFT_OK);
        receive_and_check(env, partner, tag, sizeof(in), in);
        if (me % 2 != 0)
            TEST_EQ(env, weft_host_send(env->job, WEFT_COMM_HOST, partner, tag, out, sizeof(out)),
                    WEFT_OK);
    }
}

static uint64_t draw(uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return *random >> 33;
}

static size_t size_of(uint64_t number)
{
    static const size_t most[] = {33, 200, 9000, 20000};
    return (size_t)(number / 4 % most[number % 4]);
}

/*
 * Everybody sends a batch of mixed sizes to everybody, with one tag: they must come in order from
 * each, whatever their way, to receives of the same tag or any, from that process or any.
 */
static void check_order(struct test_env *env)
{
    const int n = env->numbers->processes, me = env->numbers->process;
    const int count = env->brief ? 8 : BATCH;
    const size_t most = 20000;
    weft_message_op *ops = calloc((size_t)(n * count), sizeof(*ops));
    unsigned char **data = calloc((size_t)(n * count), sizeof(*data));
    int *next = calloc((size_t)n, sizeof(*next));
    unsigned char *in = buffer(most);
    uint64_t random = env->seed + 7;

    if (ops == NULL || data == NULL || next == NULL)
        abort();
    for (int i = 0; i < n * count; i++) {
        const int to = i % n, number = i / n;
        const uint64_t key = key_of(me, to, number);
        const size_t bytes = size_of(key);
        data[i] = buffer(most);
        fill(data[i], bytes, key);
        TEST_EQ(
            env,
            draw(&random) % 4 == 0
                ? weft_host_send_synchronous_begin(env->job, WEFT_COMM_HOST, to, 5, data[i], bytes,
                                                   &ops[i])
                : weft_host_send_begin(env->job, WEFT_COMM_HOST, to, 5, data[i], bytes, &ops[i]),
            WEFT_OK);
    }
    for (int i = 0; i < n * count; i++) {
        weft_message message;
        const bool any = draw(&random) % 2 == 0;
        int from = (int)(draw(&random) % (uint64_t)n);
        while (next[from] == count)
            from = (from + 1) % n;
        TEST_EQ(env,
                weft_host_receive(env->job, WEFT_COMM_HOST, any ? WEFT_ANY : from,
                                  draw(&random) % 2 == 0 ? WEFT_ANY : 5, in, most, &message),
                WEFT_OK);
        if (!any)
            TEST_EQ(env, message.from, from);
        if (message.from < 0 || message.from >= n)
            break;
        const uint64_t key = key_of(message.from, me, next[message.from]++);
        TEST_EQ(env, message.bytes, size_of(key));
        TEST_EQ(env, wrong(in, message.bytes, key), 0);
    }
    TEST_EQ(env, weft_host_message_wait_all(env->job, ops, (size_t)(n * count), NULL), WEFT_OK);
    for (int i = 0; i < n * count; i++)
        free(data[i]);
    free(data);
    free(ops);
    free(next);
    free(in);
}

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
    static const size_t sizes[] = {0, 8, 500, 20000, MOST};
    const int n = env->numbers->processes, me = env->numbers->process;
    const int to = (me + 1) % n, from = (me + n - 1) % n;
    unsigned char *out = buffer(MOST), *in = buffer(MOST);
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
    check_sizes(env);
    check_device(env);
    check_turns(env);
    check_order(env);
    check_probes(env);
    check_cancel(env);
    check_groups(env);
    check_operations(env);
    check_team(env);
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
