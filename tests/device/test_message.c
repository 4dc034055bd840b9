/*
 * Messages between host programs: every size and kind of send to every process, itself included,
 * in memory of the host and of the device; the order of mixed sizes; wildcards.
 */
#ifndef __CUDACC__ /* no kernel */
#include "abi/errand.h"
#include "msg/msg.h"
#include "support/messages.h"

enum { MOST = MESSAGE_MOST, BATCH = 24 };

/* How long a message is for one of so many bytes. Through a ring of a few lines each line waits for
 * other threads, and long messages go round it often enough when they are shorter. */
static size_t length(const struct test_env *env, size_t bytes)
{
    return env->job->config.msg_ring < 4096 && bytes > 32768 ? bytes / 8 : bytes;
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
            const size_t bytes = length(env, sizes[s]);
            weft_message_op op;
            fill(out, bytes, key_of(me, to, tag));
            TEST_EQ(env,
                    synchronous
                        ? weft_host_send_synchronous_begin(env->job, WEFT_COMM_HOST, to, tag, out,
                                                           bytes, &op)
                        : weft_host_send_begin(env->job, WEFT_COMM_HOST, to, tag, out, bytes, &op),
                    WEFT_OK);
            receive_and_check(env, from, tag, bytes, in);
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

static int next_of(const struct test_env *env)
{
    return (env->numbers->process + 1) % env->numbers->processes;
}

/* Whether the next process maps this one's memory of the device, and its host does not reach it. */
static bool copies(const struct test_env *env)
{
    const struct weft_process *const next = &env->job->processes[next_of(env)];

    return next->kind == env->job->processes[env->numbers->process].kind && next->mapped &&
           !env->job->device_ops->host_access;
}

/*
 * To the next process and from the one before: out of memory of the device if ends & 1, into such
 * if ends & 2. False: it went another way than such a message has, since the tables were locked.
 */
static bool goes_its_way(struct test_env *env, unsigned char *host, unsigned char *out,
                         unsigned char *in, size_t bytes, int tag, int ends)
{
    const int n = env->numbers->processes, me = env->numbers->process;
    const int to = next_of(env), from = (me + n - 1) % n;
    const struct weft_messages *const m = env->job->messages;
    const unsigned long long offers = m->offers, copied = m->copied;
    unsigned char *const far = (ends & 2) != 0 ? in : buffer(MOST);
    bool right = true;
    weft_message_op op;
    weft_message message;

    fill(host, bytes, key_of(me, to, tag));
    TEST_EQ(env, weft_copy(env->job, out, host, bytes), WEFT_OK);
    TEST_EQ(env,
            weft_host_send_begin(env->job, WEFT_COMM_HOST, to, tag, (ends & 1) != 0 ? out : host,
                                 bytes, &op),
            WEFT_OK);
    /* Who maps device memory copies what is more than an errand holds. */
    if (copies(env) && (ends & 1) != 0) {
        right = m->offers - offers == (bytes > WEFT_ERRAND_BYTES);
        TEST(env, right || bytes > WEFT_ERRAND_BYTES);
    }
    TEST_EQ(env, weft_host_receive(env->job, WEFT_COMM_HOST, from, tag, far, bytes, &message),
            WEFT_OK);
    TEST_EQ(env, weft_host_message_wait(env->job, &op, NULL), WEFT_OK);
    TEST_EQ(env, weft_copy(env->job, host, far, bytes), WEFT_OK);
    TEST_EQ(env, message.bytes, bytes);
    TEST_EQ(env, wrong(host, bytes, key_of(from, me, tag)), 0);
    if (far != in)
        free(far);
    /* Those out of the program's memory that do not go at once are copied by who sends them. */
    if (ends == 2 && bytes == length(env, MOST) &&
        (copies(env) || (to == me && !env->job->device_ops->host_access)))
        right = m->copied != copied;
    return right;
}

static bool everywhere(struct test_env *env, bool so)
{
    const int n = env->numbers->processes, me = env->numbers->process;
    bool all = so;

    for (int p = 0; p < n; p++)
        if (p != me)
            TEST_EQ(env, weft_host_send(env->job, WEFT_COMM_HOST, p, 499, &so, sizeof(so)),
                    WEFT_OK);
    for (int p = 0; p < n; p++)
        if (p != me) {
            bool theirs = false;
            TEST_EQ(
                env,
                weft_host_receive(env->job, WEFT_COMM_HOST, p, 499, &theirs, sizeof(theirs), NULL),
                WEFT_OK);
            all = all && theirs;
        }
    return all;
}

/* The same in memory of the device, at either end or both; nearly every buffer is less aligned. */
static void check_device(struct test_env *env)
{
    enum { TRIES = 100 };
    static const size_t sizes[] = {8,    48, 1000, 8192, 100,  50000, MOST,
                                   8191, 1,  33,   4100, 8185, 7000};
    unsigned char *host = buffer(MOST);
    unsigned char *out = test_memory(env, TEST_MAPPED, MOST + 16);
    unsigned char *in = test_memory(env, TEST_MAPPED, MOST + 16);
    weft_win win;

    TEST_EQ(env, weft_host_win_create(env->job, in, MOST + 16, &win), WEFT_OK); /* all map it now */
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++, in += s / 4, out += s / 4)
        for (int ends = 1; ends < 4; ends++) {
            bool right = false;
            for (int i = 0; i < TRIES && !right; i++)
                right = everywhere(env, goes_its_way(env, host, out, in, length(env, sizes[s]),
                                                     500 + (int)s * 4 + ends, ends));
            TEST(env, right);
        }
    const bool alone = env->numbers->processes == 1 && !env->job->device_ops->host_access;
    TEST_EQ(env, env->job->messages->copied != 0, copies(env) || alone);
    TEST_EQ(env, weft_host_win_free(env->job, &win), WEFT_OK);
    free(host);
}

/* Several at once into memory of the device, whose pieces come in turns. */
static void check_device_pieces(struct test_env *env)
{
    enum { COUNT = 3 };
    const int n = env->numbers->processes, me = env->numbers->process;
    const size_t each = length(env, MOST) / COUNT;
    const int to = (me + 1) % n, from = (me + n - 1) % n;
    unsigned char *host = buffer(MOST), *in = test_memory(env, TEST_MAPPED, MOST);
    weft_message_op ops[2 * COUNT];

    for (int i = 0; i < COUNT; i++) {
        fill(host + (size_t)i * each, each, key_of(me, to, i));
        TEST_EQ(env,
                weft_host_receive_begin(env->job, WEFT_COMM_HOST, from, i, in + (size_t)i * each,
                                        each, &ops[i]),
                WEFT_OK);
        TEST_EQ(env,
                weft_host_send_begin(env->job, WEFT_COMM_HOST, to, i, host + (size_t)i * each, each,
                                     &ops[COUNT + i]),
                WEFT_OK);
    }
    TEST_EQ(env, weft_host_message_wait_all(env->job, ops, 2 * COUNT, NULL), WEFT_OK);
    TEST_EQ(env, weft_copy(env->job, host, in, COUNT * each), WEFT_OK);
    for (int i = 0; i < COUNT; i++)
        TEST_EQ(env, wrong(host + (size_t)i * each, each, key_of(from, me, i)), 0);
    free(host);
}

/*
 * All others offer several to process 0 at once, one of which is longer than its receive. It reads
 * some, and has senders that wait copy others; every second time process 1 cannot, and sends
 * pieces.
 */
static void check_shared(struct test_env *env)
{
    enum { COUNT = 6, ROUNDS = 1000 };
    const int n = env->numbers->processes, me = env->numbers->process;
    struct weft_messages *const m = env->job->messages;
    struct weft_msg_peer *const to = &m->peers[me == 0 ? 1 % n : 0];
    const bool near = n > 1 && to->out.ring != NULL && to->box != NULL && to->reads;
    const size_t each = env->random ? 9000 : length(env, 70001), all = each * COUNT;
    const int sends = me == 0 ? 0 : COUNT, takes = me == 0 ? (n - 1) * COUNT : 0;
    unsigned char *data = buffer(all * (size_t)n);
    weft_message_op *ops = calloc((size_t)(n * COUNT), sizeof(*ops));
    bool done = !near;

    for (int round = 0; round < 2 || (!env->random && !done && round < ROUNDS); round++) {
        to->reads = near && !(me == 1 && round % 2 != 0);
        for (int i = 0; i < sends; i++) {
            fill(data + (size_t)i * each, each, key_of(me, 0, i));
            TEST_EQ(env,
                    weft_host_send_begin(env->job, WEFT_COMM_HOST, 0, i, data + (size_t)i * each,
                                         each, &ops[i]),
                    WEFT_OK);
        }
        TEST_EQ(env, weft_host_barrier(env->job), WEFT_OK);
        for (int i = 0; i < takes; i++) {
            const int from = i / COUNT + 1, tag = i % COUNT;
            TEST_EQ(env,
                    weft_host_receive_begin(env->job, WEFT_COMM_HOST, from, tag,
                                            data + (size_t)i * each, each, &ops[i]),
                    WEFT_OK);
        }
        TEST_EQ(env, weft_host_message_wait_all(env->job, ops, (size_t)(sends + takes), NULL),
                WEFT_OK);
        for (int i = 0; i < takes; i++)
            TEST_EQ(env, wrong(data + (size_t)i * each, each, key_of(i / COUNT + 1, 0, i % COUNT)),
                    0);
        done = !near || m->shared != 0;
        for (int p = 1; p < n && me == 0; p++)
            TEST_EQ(env, weft_host_send(env->job, WEFT_COMM_HOST, p, COUNT, &done, sizeof(done)),
                    WEFT_OK);
        if (me != 0)
            TEST_EQ(
                env,
                weft_host_receive(env->job, WEFT_COMM_HOST, 0, COUNT, &done, sizeof(done), NULL),
                WEFT_OK);
    }
    TEST(env, done || env->random);
    to->reads = near;
    free(ops);
    free(data);
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

static int body(struct test_env *env)
{
    check_sizes(env);
    check_device(env);
    check_device_pieces(env);
    check_shared(env);
    check_turns(env);
    check_order(env);
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
