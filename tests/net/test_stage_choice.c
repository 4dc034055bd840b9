/*
 * net/test_stage_choice.c - which puts are staged where the network reads some device memory
 * itself: below WEFT_STAGE_FROM it is asked first, what it refuses goes through host memory, and so
 * does all above. The network is shm, which says so here. Two processes, as threads of this one, on
 * a device that the host cannot reach (support/far_device.h).
 */
#include "base/task.h"
#include "net/net.h"
#include "support/far_device.h"
#include "support/test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 64 << 10, MEMORY = 512 << 10, DEPTH = 3, LARGE = 40 * PIECE, SMALL = 4 * PIECE };
enum { ROUNDS = 5, BUSY_NS = 50000000 };

struct data {
    struct test_check check;
    unsigned char *window, *source; /* of the device */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned char *device_source; /* of process 0; under the lock, as all below */
static int wrong;                    /* puts that do not say where they lie */

static bool is_source(const void *source)
{
    const unsigned char *at = source;
    return device_source != NULL && at >= device_source && at < device_source + 2 * LARGE;
}

static struct {
    uint32_t asked, refused, staged; /* puts: from device memory; of these; from host memory */
} direct;

void __real_weft_net_caps(const struct weft_net *net, struct weft_net_caps *caps);
void __wrap_weft_net_caps(const struct weft_net *net, struct weft_net_caps *caps);
void __wrap_weft_net_caps(const struct weft_net *net, struct weft_net_caps *caps)
{
    __real_weft_net_caps(net, caps);
    caps->reads_device = true;
}

static uint64_t busy_until; /* until then the network takes nothing from device memory */

/* Refuses what does not begin at a multiple of eight pieces. */
weft_status __real_weft_net_put(struct weft_net *net, const struct weft_net_put *put);
weft_status __wrap_weft_net_put(struct weft_net *net, const struct weft_net_put *put);
weft_status __wrap_weft_net_put(struct weft_net *net, const struct weft_net_put *put)
{
    pthread_mutex_lock(&lock);
    if (put->device && weft_now_ns() < busy_until) {
        pthread_mutex_unlock(&lock);
        return WEFT_NET_FULL;
    }
    const bool ours = is_source(put->source);
    const bool refuse = put->device && put->offset % (8 * PIECE) != 0;
    pthread_mutex_unlock(&lock);
    struct weft_net_put readable = *put; /* the stand-in's memory is the host's */
    readable.device = false;
    const weft_status status =
        refuse ? (weft_status)WEFT_NET_STAGE : __real_weft_net_put(net, &readable);
    if (status == (weft_status)WEFT_NET_FULL) /* it comes again */
        return status;
    pthread_mutex_lock(&lock);
    direct.asked += put->device && ours;
    direct.refused += refuse;
    direct.staged += !put->device && put->bytes != 0 && !ours;
    if (put->bytes != 0 && put->device != ours)
        wrong++;
    pthread_mutex_unlock(&lock);
    return status;
}

/* Rows of which the network takes the first from the device, and refuses the second. */
WEFT_KERNEL(rows_kernel, struct data, user)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD);

    test_fill(self, user->source, SMALL, 5);
    weft_enter(self);
    const weft_win win = weft_win_create(self, WEFT_COMM_WORLD, user->window, LARGE);
    if (me == 0) {
        weft_put_2d_notify(self, win, 1, 0, 2 * PIECE, user->source, PIECE, PIECE, 4, 1);
        weft_flush(self, win);
        weft_put_notify(self, win, 1, 16 * PIECE, user->source, SMALL, 1);
        weft_flush(self, win);
    } else {
        weft_wait(self, 1, 2);
        for (size_t r = 0; r < 4; r++)
            for (size_t i = 0; i < PIECE; i++)
                CHECK_EQ(self, &user->check, user->window[r * 2 * PIECE + i],
                         test_byte(5, r * PIECE + i));
        CHECK_EQ(self, &user->check, test_differs(self, user->window + 16 * PIECE, SMALL, 5), 0);
    }
    weft_leave(self);
    test_done(self, &user->check);
}

/* Behind a put that the network has no room for comes one that it will refuse, and behind that
 * more than there is memory to stage: they must leave the refused one some. */
WEFT_KERNEL(behind_kernel, struct data, user)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD);

    test_fill(self, user->source, LARGE, 5);
    weft_enter(self);
    const weft_win win = weft_win_create(self, WEFT_COMM_WORLD, user->window, LARGE);
    if (me == 0) {
        weft_put(self, win, 1, 0, user->source, PIECE);
        weft_put(self, win, 1, PIECE, user->source + PIECE, PIECE / 16);
        for (size_t i = 2; i < 20; i += 3)
            weft_put(self, win, 1, i * PIECE, user->source + i * PIECE, 3 * (size_t)PIECE);
        weft_flush(self, win);
        weft_notify(self, WEFT_COMM_WORLD, 1, 1);
    } else {
        weft_wait(self, 1, 1);
        CHECK_EQ(self, &user->check, test_differs(self, user->window, PIECE + PIECE / 16, 5), 0);
        for (size_t i = 2 * PIECE; i < 20 * PIECE; i++)
            CHECK_EQ(self, &user->check, user->window[i], test_byte(5, i));
    }
    weft_leave(self);
    test_done(self, &user->check);
}

static const weft_kernel *kernel;

static int rows_body(struct test_env *env)
{
    if (!test_prepare(env, kernel))
        return TEST_FAILED;
    struct data data = {.window = test_memory(env, TEST_MAPPED, LARGE),
                        .source = test_memory(env, TEST_MAPPED, 2 * LARGE)};
    if (env->numbers->process == 0) {
        pthread_mutex_lock(&lock);
        device_source = data.source;
        busy_until = kernel == &behind_kernel ? weft_now_ns() + BUSY_NS : 0;
        pthread_mutex_unlock(&lock);
    }
    test_run(env, &data, sizeof(data));
    return TEST_PASSED;
}

static int run(const weft_kernel *which)
{
    kernel = which;
    char *argv[] = {"test_stage_choice", "--local", "2", "--path", "proxy", "--ranks", "1", NULL};
    return test_main(7, argv, rows_body);
}

static int expect(bool good, const char *what, long long number)
{
    if (!good)
        fprintf(stderr, "FAILED: %s: %lld\n", what, number);
    return good ? 0 : 1;
}

/* Below WEFT_STAGE_FROM the network is asked first; what it refuses, and all above, is staged. */
static int reads_device(void)
{
    setenv("WEFT_STAGE_FROM", "1M", 1);
    int result = run(&rows_kernel);
    result |= expect(direct.asked == 3, "puts from device memory", direct.asked);
    result |= expect(direct.refused == 1, "of them refused", direct.refused);
    result |= expect(direct.staged == 3, "puts from host memory", direct.staged);
    direct.asked = 0;
    setenv("WEFT_STAGE_FROM", "0", 1);
    result |= run(&rows_kernel);
    result |=
        expect(direct.asked == 0, "puts from device memory above the threshold", direct.asked);
    setenv("WEFT_STAGE_FROM", "128K", 1); /* above it is staged at once */
    for (int i = 0; i < ROUNDS; i++)
        result |= run(&behind_kernel);
    return result | expect(wrong == 0, "puts that did not say where they lie", wrong);
}

int main(void)
{
    char piece[16], memory[16], depth[16];

    snprintf(piece, sizeof(piece), "%d", PIECE);
    snprintf(memory, sizeof(memory), "%d", MEMORY);
    snprintf(depth, sizeof(depth), "%d", DEPTH);
    setenv("WEFT_STAGE_PIECE", piece, 1);
    setenv("WEFT_STAGE_MEMORY", memory, 1);
    setenv("WEFT_STAGE_DEPTH", depth, 1);
    const int result = reads_device();
    printf("%s\n", result == 0 ? "all good" : "FAILED");
    return result;
}
