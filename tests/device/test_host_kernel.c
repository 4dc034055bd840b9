/*
 * The host programs serve the requests of a running kernel: every rank puts requests into the
 * window of one host program after the other, with a notification, and waits for the reply that the
 * host puts into the window of the rank's process, with a notification to the rank. In between
 * ranks and host programs update the same words, and host programs send each other messages out of
 * device memory and into it, and have a collective copy there.
 */
#include "support/test.h"

#include "runtime/job/job.h"

#include <weft/team.h>

#include <stdlib.h>

enum { REQUEST = 255, REPLY = 254, FROM = 254 /* a tag for each rank, below this */, BYTES = 100 };
enum { MESSAGE = 40000 };

/* A rank's place in every process's window; what is in it is of the request or the reply. */
struct place {
    uint64_t request, reply, filler[2];
    unsigned char data[BYTES + 28];
};

struct data {
    struct test_check check;
    weft_win win;          /* of the host programs: a struct place for every rank of the job, */
    weft_win words;        /* and of one word each */
    struct place *window;  /* this process's part of it */
    struct place *sources; /* by rank of the device: what it puts from */
    uint64_t rounds;
    unsigned char *out, *in; /* of messages: device memory */
    unsigned char *own;      /* what a process sends itself in a collective: the same */
};

WEFT_KERNEL(host_kernel_kernel, struct data, user)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), n = weft_size(self, WEFT_COMM_HOST);
    const size_t at = (size_t)me * sizeof(struct place);
    struct place *source = user->sources + weft_rank(self, WEFT_COMM_DEVICE);

    CHECK_EQ(self, &user->check, weft_rank(self, WEFT_COMM_HOST), -1);
    CHECK_EQ(self, &user->check, n, weft_processes(self));
    for (uint64_t i = 1; i <= user->rounds; i++) {
        const int to = (int)((i + (uint64_t)me) % (uint64_t)n);
        weft_for (b, BYTES)
            source->data[b] = test_byte(i * 1000 + (uint64_t)me, b);
        if (weft_thread(self) == 0)
            source->request = i;
        weft_sync(self);
        weft_put(self, user->win, to, at + offsetof(struct place, data), source->data, BYTES);
        weft_add(self, user->words, to, 0, 1);
        weft_put_notify(self, user->win, to, at, &source->request, 8, me % FROM);
        weft_notify(self, WEFT_COMM_HOST, to, REQUEST);
        weft_wait(self, REPLY, 1);
        CHECK_EQ(self, &user->check, test_peek_u64(&user->window[me].reply), 3 * i + 1);
        weft_flush(self, user->win); /* the source is used again */
        weft_sync(self);
    }
    test_done(self, &user->check);
}

#ifndef __CUDACC__
/* How many requests the ranks send to this host program in all. */
static uint64_t expected(const struct test_env *env, uint64_t rounds)
{
    const uint64_t n = (uint64_t)env->numbers->processes;
    uint64_t count = 0;

    for (uint64_t r = 0; r < (uint64_t)env->numbers->ranks; r++)
        for (uint64_t i = 1; i <= rounds; i++)
            count += (i + r) % n == (uint64_t)env->numbers->process;
    return count;
}

static int process_of(const struct test_env *env, int rank)
{
    int p = 0;

    while (rank >= weft_first_rank_of(env->job, p) + weft_ranks_of(env->job, p))
        p++;
    return p;
}

/* All that the rank put before its request is there. The reply goes to the rank's process. */
static void serve(struct test_env *env, const struct data *data, int rank, const struct place *got)
{
    const uint64_t reply = 3 * got->request + 1;
    const size_t at = (size_t)rank * sizeof(struct place) + offsetof(struct place, reply);

    for (size_t b = 0; b < BYTES; b++)
        if (!TEST_EQ(env, got->data[b], test_byte(got->request * 1000 + (uint64_t)rank, b)))
            break;
    TEST_EQ(env,
            weft_host_put_notify_rank(env->job, data->win, process_of(env, rank), at, &reply,
                                      sizeof(reply), rank, REPLY),
            WEFT_OK);
    TEST_EQ(env, weft_host_flush(env->job, data->win), WEFT_OK);
}

/* Serves every rank that has a new request; how many had. */
static uint64_t look(struct test_env *env, const struct data *data)
{
    uint64_t served = 0;

    for (int r = 0; r < env->numbers->ranks; r++) {
        struct place got;
        int there = 0;
        TEST_EQ(env, weft_host_test(env->job, r, 1, &there), WEFT_OK);
        if (!there)
            continue;
        TEST_EQ(env,
                weft_host_get(env->job, data->win, env->numbers->process, (size_t)r * sizeof(got),
                              &got, sizeof(got)),
                WEFT_OK);
        serve(env, data, r, &got);
        served++;
    }
    return served;
}

/* One notification for each request; a look may find more than were waited for, and then fewer. */
static void serve_all(struct test_env *env, const struct data *data)
{
    const uint64_t all = expected(env, data->rounds);
    uint64_t served = 0;

    for (uint64_t waited = 0; waited < all && env->failures == 0; waited++) {
        TEST_EQ(env, weft_host_wait(env->job, REQUEST, 1), WEFT_OK);
        served += look(env, data);
        TEST(env, served > waited);
    }
    TEST_EQ(env, served, all);
}

static bool updates(const struct test_env *env)
{
    const struct weft_state *state = &env->job->space.state;
    return state->copy == NULL || state->update != NULL;
}

static void check_started(struct test_env *env, weft_win win)
{
    weft_job *job = env->job;
    unsigned char byte = 0;

    TEST_EQ(env, weft_start(job, NULL, 0), WEFT_ERR_STATE);
    TEST_EQ(env, weft_copy(job, &byte, &byte, 1), WEFT_ERR_STATE);
    TEST_EQ(env, weft_host_gather(job, 0, &byte, 1, &byte), WEFT_ERR_STATE);
    TEST_EQ(env, weft_host_notify_rank(job, env->numbers->ranks, 0), WEFT_ERR_RANK);
    TEST_EQ(env, weft_host_notify_rank(job, -1, 0), WEFT_ERR_RANK);
    TEST_EQ(env, weft_host_notify_rank(job, 0, 256), WEFT_ERR_TAG);
    if (env->numbers->processes > 1)
        TEST_EQ(env, weft_host_put_notify_rank(job, win, 1, 0, &byte, 1, 0, 0), WEFT_ERR_RANK);
    env->expect = WEFT_ERR_STATE; /* of weft_close: the first that was refused */
}

/* Large and small, while the kernel waits for replies. */
static void exchange(struct test_env *env, const struct data *data)
{
    static const size_t sizes[] = {MESSAGE, 800};
    const int n = env->numbers->processes, me = env->numbers->process;

    for (size_t s = 0, at = 0; s < 2; at += sizes[s++]) {
        weft_message_op op;
        TEST_EQ(env,
                weft_host_send_begin(env->job, WEFT_COMM_HOST, (me + 1) % n, (int)s, data->out + at,
                                     sizes[s], &op),
                WEFT_OK);
        TEST_EQ(env,
                weft_host_receive(env->job, WEFT_COMM_HOST, (me + n - 1) % n, (int)s, data->in + at,
                                  sizes[s], NULL),
                WEFT_OK);
        TEST_EQ(env, weft_host_message_wait(env->job, &op, NULL), WEFT_OK);
    }
    const weft_piece out = {data->out, MESSAGE, 0}, in = {data->own, MESSAGE, 0};
    weft_team *team;
    weft_team_op *op;
    weft_comm alone;
    TEST_EQ(env, weft_message_group_take(env->job, (uint32_t)me, &me, 1, &alone), WEFT_OK);
    TEST_EQ(env, weft_team_open(env->job, alone, 1, 0, "alone", NULL, &team), WEFT_OK);
    TEST_EQ(env, weft_team_exchange(team, WEFT_TEAM_EXCHANGE, &out, 1, &in, 1, &op), WEFT_OK);
    TEST_EQ(env, weft_team_wait(&op), WEFT_OK);
    TEST_EQ(env, weft_team_close(&team), WEFT_OK);
    TEST_EQ(env, weft_message_group_give(env->job, &alone), WEFT_OK);
}

/* Before: what is sent; after: what came. */
static void check_exchange(struct test_env *env, const struct data *data, bool after)
{
    const int n = env->numbers->processes;
    const uint64_t key = (uint64_t)((env->numbers->process + (after ? n - 1 : 0)) % n);
    unsigned char *bytes = malloc(MESSAGE + 800);

    for (size_t b = 0; b < MESSAGE + 800 && !after; b++)
        bytes[b] = test_byte(key, b);
    TEST_EQ(env,
            weft_copy(env->job, after ? bytes : data->out, after ? data->in : bytes, MESSAGE + 800),
            WEFT_OK);
    for (size_t b = 0; b < MESSAGE + 800 && after; b++)
        if (!TEST_EQ(env, bytes[b], test_byte(key, b)))
            break;
    TEST_EQ(env, weft_copy(env->job, bytes, data->own, MESSAGE), WEFT_OK);
    for (size_t b = 0; b < MESSAGE && after; b++)
        if (!TEST_EQ(env, bytes[b], test_byte((uint64_t)env->numbers->process, b)))
            break;
    free(bytes);
}

static void run(struct test_env *env, struct data *data, bool first)
{
    const uint64_t n = (uint64_t)env->numbers->processes;
    uint64_t count = 0, mine = 0;

    check_exchange(env, data, false);
    if (!test_start(env, data, sizeof(*data)))
        return;
    if (first)
        check_started(env, data->win);
    exchange(env, data);
    serve_all(env, data);
    if (updates(env))
        for (uint64_t p = 0; p < n; p++)
            TEST_EQ(env, weft_host_add(env->job, data->words, (int)p, 0, 1000), WEFT_OK);
    TEST_EQ(env, weft_host_flush(env->job, data->words), WEFT_OK);
    env->expect = WEFT_OK;
    test_finish(env, data);
    TEST_EQ(env, weft_running(env->job), 0);
    check_exchange(env, data, true);
    TEST_EQ(env, weft_host_barrier(env->job), WEFT_OK);
    TEST_EQ(env, weft_host_get(env->job, data->words, env->numbers->process, 0, &count, 8),
            WEFT_OK);
    mine = expected(env, data->rounds) + (updates(env) ? 1000 * n : 0);
    TEST_EQ(env, count, first ? mine : 2 * mine);
    TEST_EQ(env, weft_host_barrier(env->job), WEFT_OK);
}

static int body(struct test_env *env)
{
    struct data data = {.rounds = env->brief ? 3 : 40 * (uint64_t)env->scale};
    struct weft_op none = {0};

    TEST_EQ(env, weft_finish(env->job, NULL), WEFT_ERR_STATE);
    TEST_EQ(env, weft_host_notify_rank(env->job, 0, 0), WEFT_ERR_STATE);
    TEST_EQ(env, weft_running(env->job), 0);
    TEST_EQ(env, weft_host_op_wait(env->job, none, WEFT_REMOTE), WEFT_OK);
    if (!test_prepare(env, &host_kernel_kernel) || !TEST(env, env->numbers->ranks < FROM))
        return TEST_FAILED;
    const size_t bytes = (size_t)env->numbers->ranks * sizeof(struct place);
    uint64_t *word = test_memory(env, TEST_MAPPED, sizeof(*word));
    data.window = test_memory(env, TEST_MAPPED, bytes);
    data.sources = test_memory(env, TEST_MAPPED, bytes);
    data.out = test_memory(env, TEST_MAPPED, MESSAGE + 800);
    data.in = test_memory(env, TEST_MAPPED, MESSAGE + 800);
    data.own = test_memory(env, TEST_MAPPED, MESSAGE);
    TEST_EQ(env, weft_host_win_create(env->job, data.window, bytes, &data.win), WEFT_OK);
    TEST_EQ(env, weft_host_win_create(env->job, word, sizeof(*word), &data.words), WEFT_OK);
    run(env, &data, true);
    struct place *clear = calloc(1, bytes);
    TEST_EQ(env, weft_copy(env->job, data.window, clear, bytes), WEFT_OK);
    free(clear);
    TEST_EQ(env, weft_host_barrier(env->job), WEFT_OK);
    run(env, &data, false);
    TEST_EQ(env, weft_host_win_free(env->job, &data.words), WEFT_OK);
    TEST_EQ(env, weft_host_win_free(env->job, &data.win), WEFT_OK);
    env->expect = WEFT_ERR_STATE;
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
