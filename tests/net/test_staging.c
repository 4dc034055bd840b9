/*
 * net/test_staging.c - puts that go through host memory, on a device that the host cannot reach
 * (support/far_device.h) and that this test holds up: the stages overlap, pieces and memory stay
 * within their bounds, a large put does not keep others waiting, and a copy that fails ends the
 * job with a clear line. Two processes, as threads of this one.
 */
#include "net/transport.h"
#include "support/far_device.h"
#include "support/test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    PIECE = 64 << 10,
    MEMORY = 512 << 10,
    DEPTH = 3,
    LARGE = 40 * PIECE,
    SMALL = 4 * PIECE,
    WAIT_S = 20 /* for what must come; on a machine that is busy with other things, too */
};

struct data {
    struct test_check check;
    unsigned char *window, *source; /* of the device; each rank has a LARGE part */
    uint32_t ranks, *posted;
};

/* What the device has seen; under the lock. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned char *source;           /* of process 0 */
    int begun[2], done[2];           /* from the device, by rank of process 0 */
    int most;                        /* under way at once, of rank 0 */
    int delivering, delivered;       /* to the device, of more than a few bytes */
    unsigned char *lowest, *highest; /* host memory */
    int between;                     /* rank 0 began while rank 1 had some to begin */
    int fail_at, late;
    bool fail_marks; /* of copies from the device */
    int from_device; /* copies by a caller that read the source */
    uint32_t posted; /* rank 1 has posted its put */
    bool wait_posted;
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Waits until a number is there; lock held. */
static void await(const int *number, int least)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_S;
    while (seen.late == 0 && __atomic_load_n(number, __ATOMIC_RELAXED) < least)
        if (pthread_cond_timedwait(&seen.changed, &seen.lock, &until) != 0) {
            seen.late++;
            return;
        }
}

/* Whose memory a copy reads: a rank of process 0, or -1. */
static int rank_of(const void *source)
{
    const unsigned char *at = source;
    return seen.source == NULL || at < seen.source || at >= seen.source + 2 * LARGE
               ? -1
               : (int)((at - seen.source) / LARGE);
}

static bool on_marked(enum weft_device_stream stream)
{
    pthread_mutex_lock(&seen.lock);
    const bool good = stream != WEFT_STREAM_SEND || !seen.fail_marks;
    pthread_mutex_unlock(&seen.lock);
    return good;
}

static bool on_begun(const struct far_copy *copy)
{
    bool good = true;

    pthread_mutex_lock(&seen.lock);
    const int rank = rank_of(copy->source);
    if (copy->stream == WEFT_STREAM_SEND && rank >= 0) {
        unsigned char *target = copy->target;
        const int under_way = ++seen.begun[rank] - seen.done[rank];
        if (rank == 0 && under_way > seen.most)
            seen.most = under_way;
        if (rank == 0 && seen.begun[1] > 0 && seen.begun[1] < SMALL / PIECE)
            seen.between++;
        if (seen.lowest == NULL || target < seen.lowest)
            seen.lowest = target;
        if (target + copy->bytes > seen.highest)
            seen.highest = target + copy->bytes;
        good = seen.begun[rank] != seen.fail_at;
    } else if (copy->stream == WEFT_STREAM_RECEIVE && copy->bytes >= 1024) {
        seen.delivering++;
    } else if (copy->stream == WEFT_STREAM_CALLER && rank >= 0) {
        seen.from_device++;
    }
    pthread_cond_broadcast(&seen.changed);
    pthread_mutex_unlock(&seen.lock);
    return good;
}

/*
 * The first copy from the device is not done before as many have begun as may be, and no later one
 * before the next (two that began together are there together, and where the receiver reads a piece
 * it keeps its place until it is delivered); and the first that is delivered there is not before
 * another has, and another piece has come from the device. A pipeline goes through; one step at a
 * time is found out.
 */
static void on_ready(const struct far_copy *copy)
{
    pthread_mutex_lock(&seen.lock);
    const int rank = rank_of(copy->source);
    if (copy->stream == WEFT_STREAM_SEND && rank == 0) {
        const int want = seen.done[0] == 0 ? DEPTH : seen.done[0] + 2;
        if (seen.fail_at == 0 && !seen.fail_marks)
            await(&seen.begun[0], want < LARGE / PIECE ? want : LARGE / PIECE);
        if (seen.wait_posted && seen.done[0] == 4)
            await((int *)&seen.posted, 1);
    } else if (copy->stream == WEFT_STREAM_RECEIVE && copy->bytes >= 1024 && seen.delivered == 0) {
        await(&seen.delivering, 2);
        await(&seen.done[0], 2);
    }
    pthread_mutex_unlock(&seen.lock);
}

static void on_done(const struct far_copy *copy)
{
    pthread_mutex_lock(&seen.lock);
    const int rank = rank_of(copy->source);
    if (copy->stream == WEFT_STREAM_SEND && rank >= 0)
        seen.done[rank]++;
    else if (copy->stream == WEFT_STREAM_RECEIVE && copy->bytes >= 1024)
        seen.delivered++;
    pthread_cond_broadcast(&seen.changed);
    pthread_mutex_unlock(&seen.lock);
}

static void forget(void)
{
    pthread_mutex_lock(&seen.lock);
    seen.source = NULL;
    memset(seen.begun, 0, sizeof(seen.begun));
    memset(seen.done, 0, sizeof(seen.done));
    seen.most = seen.delivering = seen.delivered = seen.between = seen.fail_at = seen.late = 0;
    seen.from_device = 0;
    seen.posted = 0;
    seen.wait_posted = seen.fail_marks = false;
    seen.lowest = seen.highest = NULL;
    pthread_mutex_unlock(&seen.lock);
}

/* Rank 0 of process 0 puts much, rank 1 a little, each into the window of its like. */
WEFT_KERNEL(staging_kernel, struct data, user)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    unsigned char *window = test_mine(self, user->window, LARGE);
    unsigned char *source = test_mine(self, user->source, LARGE);
    const bool small = n > 2 && me % 2 == 1;
    const size_t bytes = small ? SMALL : LARGE;

    test_fill(self, source, bytes, 5);
    weft_enter(self);
    const weft_win win = weft_win_create(self, WEFT_COMM_WORLD, window, LARGE);
    if (me < n / 2) {
        if (small)
            weft_wait(self, 2, 1);
        weft_put_notify(self, win, me + n / 2, 0, source, bytes, 1);
        if (me == 0 && n > 2)
            weft_notify(self, WEFT_COMM_DEVICE, 1, 2);
        else if (small)
            __atomic_store_n(user->posted, 1, __ATOMIC_RELEASE);
        weft_flush_local(self, win);
        test_clear(self, source, bytes);
        weft_flush(self, win);
    } else {
        weft_wait(self, 1, 1);
        CHECK_EQ(self, &user->check, test_differs(self, window, bytes, 5), 0);
    }
    weft_leave(self);
    test_done(self, &user->check);
}

static int body(struct test_env *env)
{
    if (!test_prepare(env, &staging_kernel))
        return TEST_FAILED;
    const size_t here = (size_t)env->numbers->ranks_here;
    struct data data = {.window = test_memory(env, TEST_MAPPED, here * LARGE),
                        .source = test_memory(env, TEST_MAPPED, here * LARGE),
                        .posted = &seen.posted};
    if (env->numbers->process == 0) {
        pthread_mutex_lock(&seen.lock);
        seen.source = data.source;
        pthread_mutex_unlock(&seen.lock);
    }
    test_run(env, &data, sizeof(data));
    return TEST_PASSED;
}

/* The host programs: a few bytes from the device's memory, which a processor could not read. */
static int host_body(struct test_env *env)
{
    unsigned char *source = test_memory(env, TEST_MAPPED, 2 * LARGE);
    unsigned char *window = test_memory(env, TEST_MAPPED, LARGE);
    const uint64_t value = 0x1122334455667788;
    weft_win win = WEFT_WIN_NONE;
    uint64_t got = 0;

    if (env->numbers->process == 0) {
        pthread_mutex_lock(&seen.lock);
        seen.source = source;
        pthread_mutex_unlock(&seen.lock);
    }
    TEST_EQ(env, weft_copy(env->job, source, &value, sizeof(value)), WEFT_OK);
    TEST_EQ(env, weft_host_win_create(env->job, window, LARGE, &win), WEFT_OK);
    const int other = 1 - env->numbers->process;
    TEST_EQ(env, weft_host_put_notify(env->job, win, other, 0, source, sizeof(value), 3), WEFT_OK);
    TEST_EQ(env, weft_host_wait(env->job, 3, 1), WEFT_OK);
    TEST_EQ(env, weft_copy(env->job, &got, window, sizeof(got)), WEFT_OK);
    TEST_EQ(env, got, value);
    TEST_EQ(env, weft_host_win_free(env->job, &win), WEFT_OK);
    return TEST_PASSED;
}

static int failing_body(struct test_env *env)
{
    env->expect = WEFT_ERR_DEVICE;
    return body(env);
}

static int run(int (*this_body)(struct test_env *env), const char *ranks)
{
    char *argv[] = {"test_staging", "--local", "2",           "--path",
                    "proxy",        "--ranks", (char *)ranks, NULL};
    return test_main(7, argv, this_body);
}

static int run_failing(int argc, char **argv)
{
    (void)argc, (void)argv;
    return run(failing_body, "1");
}

static int expect(bool good, const char *what, long long number)
{
    if (!good)
        fprintf(stderr, "FAILED: %s: %lld\n", what, number);
    return good ? 0 : 1;
}

static int overlap(void)
{
    forget();
    int result = run(body, "1");
    result |= expect(seen.late == 0, "stages that waited for one another", seen.late);
    result |= expect(seen.begun[0] == LARGE / PIECE, "pieces", seen.begun[0]);
    result |= expect(seen.most == DEPTH, "pieces under way at once", seen.most);
    return result | expect(seen.highest - seen.lowest <= MEMORY, "bytes of host memory",
                           seen.highest - seen.lowest);
}

/* The same over a network whose receiver must not wait for each piece to be delivered, either. */
static int overlap_over(const char *net)
{
    if (weft_transport_find(net) == NULL) {
        printf("%s: not in this build\n", net);
        return 0;
    }
    setenv("WEFT_NET", net, 1);
    const int result = overlap();
    unsetenv("WEFT_NET");
    return expect(result == 0, net, result);
}

static int fairness(void)
{
    forget();
    seen.wait_posted = true;
    int result = run(body, "2");
    result |= expect(seen.begun[1] == SMALL / PIECE, "pieces of the small put", seen.begun[1]);
    result |= expect(seen.late == 0, "times that something waited in vain", seen.late);
    return result | expect(seen.between <= 4 * SMALL / PIECE,
                           "pieces of the large put between those of the small one", seen.between);
}

static int failure(void)
{
    const char *words[] = {"process 0 cannot fetch", "bytes from its device", NULL};
    char *text;

    forget();
    seen.fail_at = 5;
    const int code = test_capture(run_failing, 0, NULL, &text);
    int result = expect(code == 0, "exit code of a job whose copy fails", code);
    result |= expect(test_lines_with(text, words) > 0, "lines that say what failed", 0);
    if (result != 0)
        fprintf(stderr, "%s", text);
    free(text);
    return result;
}

/* What nobody knows to have come from the device is not sent. */
static int failing_marks(void)
{
    int result = 0;

    for (int i = 0; i < 10; i++) {
        forget();
        seen.fail_marks = true;
        result |= run(failing_body, "1");
        result |= expect(seen.delivering == 0, "pieces that were sent", seen.delivering);
    }
    return result;
}

static int host_puts(void)
{
    forget();
    int result = run(host_body, "1");
    return result | expect(seen.from_device > 0, "sources fetched by the device", seen.from_device);
}

int main(void)
{
    char piece[16], memory[16], depth[16];

    far_watch = (struct far_watch){
        .begun = on_begun, .marked = on_marked, .ready = on_ready, .done = on_done};
    snprintf(piece, sizeof(piece), "%d", PIECE);
    snprintf(memory, sizeof(memory), "%d", MEMORY);
    snprintf(depth, sizeof(depth), "%d", DEPTH);
    setenv("WEFT_STAGE_PIECE", piece, 1);
    setenv("WEFT_STAGE_MEMORY", memory, 1);
    setenv("WEFT_STAGE_DEPTH", depth, 1);
    const int failed = failure(); /* first: it forks */
    const int result =
        overlap() | overlap_over("mpi") | fairness() | failed | failing_marks() | host_puts();
    printf("%s\n", result == 0 ? "all good" : "FAILED");
    return result;
}
