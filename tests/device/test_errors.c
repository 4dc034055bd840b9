/*
 * What a rank does wrong ends the run on every process with the status that says what it was, is
 * said in one line with rank, call and numbers, and leaves a job that can be closed. No rank's
 * call returns to the kernel any more, whatever it was waiting in.
 */
#include "support/error_cases.h"

#ifndef __CUDACC__
#include <pthread.h>
#include <time.h>
#endif

enum { BYTES = 64, EACH = 4 * BYTES };

/* X(name, status, the call in the message, a number or word in it) */
#define CASES(X)                                                                                   \
    X(put_beyond, ERR_BOUNDS, "weft_put:", "61")                                                   \
    X(put_wraps, ERR_BOUNDS, "weft_put:", "18446744073709551615")                                  \
    X(put_notify_beyond, ERR_BOUNDS, "weft_put_notify:", "65")                                     \
    X(put_2d_beyond, ERR_BOUNDS, "weft_put_2d:", "4611686018427387904")                            \
    X(put_2d_rows_overlap, ERR_ARGUMENT, "weft_put_2d:", "7")                                      \
    X(put_to_empty, ERR_BOUNDS, "weft_put:", "0")                                                  \
    X(put_null, ERR_ARGUMENT, "weft_put:", "the memory is NULL")                                   \
    X(put_rank, ERR_RANK, "weft_put:", "1000000")                                                  \
    X(put_rank_negative, ERR_RANK, "weft_put_notify:", "-1")                                       \
    X(put_device_window, ERR_RANK, "weft_put:", "ranks")                                           \
    X(put_no_window, ERR_WINDOW, "weft_put:", "0x0")                                               \
    X(put_bad_window, ERR_WINDOW, "weft_put:", "0xdeadbeef")                                       \
    X(put_freed_window, ERR_WINDOW, "weft_put:", "0x")                                             \
    X(put_host_window, ERR_BOUNDS, "weft_put:", "of 0 bytes")                                      \
    X(free_host_window, ERR_COMM, "weft_win_free", "WEFT_COMM_HOST")                               \
    X(flush_freed_window, ERR_WINDOW, "weft_flush:", "0x")                                         \
    X(flush_local_freed_window, ERR_WINDOW, "weft_flush_local:", "0x")                             \
    X(ptr_freed_window, ERR_WINDOW, "weft_ptr:", "0x")                                             \
    X(ptr_rank, ERR_RANK, "weft_ptr:", "-5")                                                       \
    X(free_twice, ERR_WINDOW, "weft_win_free:", "0x")                                              \
    X(put_tag, ERR_TAG, "weft_put_notify:", "256")                                                 \
    X(put_2d_tag, ERR_TAG, "weft_put_2d_notify:", "-1")                                            \
    X(notify_tag, ERR_TAG, "weft_notify:", "256")                                                  \
    X(notify_rank, ERR_RANK, "weft_notify_relaxed:", "-2 is not one of the")                       \
    X(notify_freed_comm, ERR_COMM, "weft_notify:", "0x")                                           \
    X(notify_host, ERR_RANK, "weft_notify:", "-3 is not one of the")                               \
    X(notify_swapped, ERR_COMM, "weft_notify:", "0x1 ")                                            \
    X(put_swapped, ERR_WINDOW, "weft_put:", "0x1 ")                                                \
    X(barrier_window, ERR_COMM, "weft_barrier:", "0x")                                             \
    X(notify_many_count, ERR_ARGUMENT, "weft_notify_many:", "-1 targets")                          \
    X(notify_many_rank, ERR_RANK, "weft_notify_many:", "1000000")                                  \
    X(put_many_bounds, ERR_BOUNDS, "weft_put_notify_many:", "4294967296")                          \
    X(put_many_null, ERR_ARGUMENT, "weft_put_notify_many:", "3 puts")                              \
    X(wait_tag, ERR_TAG, "weft_wait:", "-1")                                                       \
    X(test_tag, ERR_TAG, "weft_test:", "300")                                                      \
    X(wait_until_misaligned, ERR_ARGUMENT, "weft_wait_until:", "8")                                \
    X(barrier_freed_comm, ERR_COMM, "weft_barrier:", "0x")                                         \
    X(size_no_comm, ERR_COMM, "weft_size:", "0x0")                                                 \
    X(host_comm, ERR_COMM, "weft_barrier:", "WEFT_COMM_HOST lacks")                                \
    X(split_no_comm, ERR_COMM, "weft_comm_split:", "0x0")                                          \
    X(free_world, ERR_COMM, "weft_comm_free:", "WEFT_COMM_WORLD is built in")                      \
    X(create_no_comm, ERR_COMM, "weft_win_create:", "0x7777")                                      \
    X(process_number, ERR_RANK, "weft_process_first:", "99999")                                    \
    X(timer_not_started, ERR_STATE, "weft_timer_stop:", "")                                        \
    X(mismatch, ERR_MISMATCH, "weft_win_create", "WEFT_COMM_WORLD")                                \
    X(timeout, ERR_TIMEOUT, "tag 77", "")                                                          \
    X(deadlock, ERR_DEADLOCK, "", "")                                                              \
    X(aborted, ERR_USER, "a reason of its own", "")

enum error_case { CASES(ERROR_ENUM) CASE_COUNT };

struct data {
    struct test_check check;
    unsigned char *memory; /* EACH bytes a rank */
    uint32_t returned;     /* calls that came back although they must not */
    uint32_t number;       /* an error_case */
    weft_win host;         /* a window of the host program */
};

/* The first half: errors of data movement. */
WEFT_DEVICE_FN void err_data(weft_self *self, struct data *user, weft_win win, weft_win device,
                             weft_win freed)
{
    unsigned char *source = test_mine(self, user->memory, EACH) + BYTES;
    const weft_put_item item = {source, 8, (size_t)1 << 32, 0, 0};

    switch ((enum error_case)user->number) {
    case CASE_put_beyond:
        weft_put(self, win, 0, 61, source, 4);
        break;
    case CASE_put_wraps:
        weft_put(self, win, 0, SIZE_MAX, source, 2);
        break;
    case CASE_put_notify_beyond:
        weft_put_notify(self, win, 0, 65, source, 0, 1);
        break;
    case CASE_put_2d_beyond: /* the product of height and pitch is 0 in 64 bits */
        weft_put_2d(self, win, 0, 0, (size_t)1 << 62, source, 1, 1, 5);
        break;
    case CASE_put_2d_rows_overlap:
        weft_put_2d(self, win, 0, 0, 7, source, 8, 8, 2);
        break;
    case CASE_put_to_empty:
        weft_put(self, device, 0, 0, source, 1);
        break;
    case CASE_put_null:
        weft_put(self, win, 0, 0, NULL, 1);
        break;
    case CASE_put_rank:
        weft_put(self, win, 1000000, 0, source, 1);
        break;
    case CASE_put_rank_negative:
        weft_put_notify(self, win, -1, 0, source, 1, 0);
        break;
    case CASE_put_device_window: /* the rank behind the last one of this device */
        weft_put(self, device, weft_size(self, WEFT_COMM_DEVICE), 0, source, 1);
        break;
    case CASE_put_swapped: /* the target and the window */
        weft_put(self, 1, (int)win, 0, source, 1);
        break;
    case CASE_barrier_window:
        weft_barrier(self, win);
        break;
    case CASE_put_no_window:
        weft_put(self, WEFT_WIN_NONE, 0, 0, source, 1);
        break;
    case CASE_put_bad_window:
        weft_put(self, 0xdeadbeefu, 0, 0, source, 1);
        break;
    case CASE_put_freed_window:
        weft_put(self, freed, 0, 0, source, 1);
        break;
    case CASE_put_host_window:
        weft_put(self, user->host, 0, 0, source, 1);
        break;
    case CASE_free_host_window:
        weft_win_free(self, &user->host);
        break;
    case CASE_flush_freed_window:
        weft_flush(self, freed);
        break;
    case CASE_flush_local_freed_window:
        weft_flush_local(self, freed);
        break;
    case CASE_ptr_freed_window:
        weft_ptr(self, freed, 0);
        break;
    case CASE_ptr_rank:
        weft_ptr(self, win, -5);
        break;
    case CASE_free_twice:
        weft_win_free(self, &freed);
        break;
    case CASE_put_tag:
        weft_put_notify(self, win, 0, 0, source, 1, 256);
        break;
    case CASE_put_2d_tag:
        weft_put_2d_notify(self, win, 0, 0, 1, source, 1, 1, 1, -1);
        break;
    case CASE_put_many_bounds:
        weft_put_notify_many(self, win, &item, 1);
        break;
    case CASE_put_many_null:
        weft_put_notify_many(self, win, NULL, 3);
        break;
    default:
        break;
    }
}

/* The second: of notifications, communicators and time. */
WEFT_DEVICE_FN void err_calls(weft_self *self, struct data *user, weft_comm freed)
{
    unsigned char *memory = test_mine(self, user->memory, EACH);
    weft_comm world = WEFT_COMM_WORLD;
    const int ranks[2] = {0, 1000000};

    switch ((enum error_case)user->number) {
    case CASE_notify_tag:
        weft_notify(self, WEFT_COMM_WORLD, 0, 256);
        break;
    case CASE_notify_rank:
        weft_notify_relaxed(self, WEFT_COMM_WORLD, -2, 0);
        break;
    case CASE_notify_freed_comm:
        weft_notify(self, freed, 0, 0);
        break;
    case CASE_notify_host:
        weft_notify(self, WEFT_COMM_HOST, -3, 0);
        break;
    case CASE_notify_swapped: /* the target and the communicator */
        weft_notify(self, 1, (int)WEFT_COMM_WORLD, 0);
        break;
    case CASE_notify_many_count:
        weft_notify_many(self, WEFT_COMM_WORLD, ranks, -1, 0);
        break;
    case CASE_notify_many_rank:
        weft_notify_many(self, WEFT_COMM_WORLD, ranks, 2, 0);
        break;
    case CASE_wait_tag:
        weft_wait(self, -1, 1);
        break;
    case CASE_test_tag:
        weft_test(self, 300, 1);
        break;
    case CASE_wait_until_misaligned:
        weft_wait_until(self, (const uint64_t *)(memory + 4), WEFT_EQ, 0);
        break;
    case CASE_barrier_freed_comm:
        weft_barrier(self, freed);
        break;
    case CASE_size_no_comm:
        weft_size(self, WEFT_COMM_NONE);
        break;
    case CASE_host_comm:
        weft_barrier(self, WEFT_COMM_HOST);
        break;
    case CASE_split_no_comm:
        weft_comm_split(self, WEFT_COMM_NONE, 0, 0);
        break;
    case CASE_free_world:
        weft_comm_free(self, &world);
        break;
    case CASE_create_no_comm:
        weft_win_create(self, 0x7777, memory, 8);
        break;
    case CASE_process_number:
        weft_process_first(self, 99999);
        break;
    case CASE_timer_not_started:
        weft_timer_stop(self);
        weft_wait(self, 77, 5);
        break;
    case CASE_mismatch:
        weft_comm_split(self, WEFT_COMM_WORLD, 0, 0);
        break;
    case CASE_timeout:
    case CASE_deadlock:
        weft_wait(self, 77, 5);
        break;
    case CASE_aborted:
        for (;;)
            weft_notify(self, WEFT_COMM_WORLD, 0, 3);
    default:
        break;
    }
}

/* The others are in any of the waits when it happens; none of these may return. */
WEFT_DEVICE_FN void wait_for_ever(weft_self *self, struct data *user, weft_win win)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), at_fault = weft_processes(self) - 1;
    unsigned char *memory = test_mine(self, user->memory, EACH);

    if (user->number == CASE_timer_not_started && weft_process(self) == at_fault)
        weft_timer_stop(self); /* collective on the device; its first rank finds the error */
    if (user->number == CASE_mismatch)
        weft_win_create(self, WEFT_COMM_WORLD, memory, 8);
    else if (user->number == CASE_timeout || user->number == CASE_deadlock || me % 5 == 0)
        weft_wait(self, 77, 5);
    else if (me % 5 == 1)
        weft_barrier(self, WEFT_COMM_WORLD);
    else if (me % 5 == 2)
        weft_wait_until(self, (const uint64_t *)memory, WEFT_EQ, 42);
    else if (me % 5 == 3)
        for (;;)
            weft_test(self, 77, 5);
    else
        for (;;) { /* the test lets others run */
            weft_put_notify(self, win, 0, 0, memory + BYTES, BYTES, 78);
            weft_test(self, 77, 5);
        }
}

WEFT_KERNEL(errors_kernel, struct data, user)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    unsigned char *memory = test_mine(self, user->memory, EACH);

    weft_enter(self);
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, memory, BYTES);
    weft_win device = weft_win_create(self, WEFT_COMM_DEVICE, NULL, 0);
    weft_win window = weft_win_create(self, WEFT_COMM_WORLD, memory, BYTES);
    weft_comm comm = weft_comm_split(self, WEFT_COMM_WORLD, 0, 0);
    const weft_win freed = window;
    const weft_comm freed_comm = comm;
    weft_win_free(self, &window);
    weft_comm_free(self, &comm);
    weft_barrier(self, WEFT_COMM_WORLD);
    if (me == n - 1) {
        err_data(self, user, win, device, freed);
        err_calls(self, user, freed_comm);
    } else {
        wait_for_ever(self, user, win);
    }
    test_add_u32(&user->returned, 1);
}

#ifndef __CUDACC__
static const struct error_row errors[CASE_COUNT] = {CASES(ERROR_ROW)};

static void *abort_soon(void *argument)
{
    const struct timespec pause = {0, 50000000};

    nanosleep(&pause, NULL);
    weft_abort(argument, "a reason of its own");
    return NULL;
}

static int body(struct test_env *env)
{
    struct data data = {.number = (uint32_t)error_case_find(env, errors, CASE_COUNT)};
    pthread_t thread;

    if (data.number == CASE_COUNT)
        return TEST_FAILED;
    const bool aborts = data.number == CASE_aborted;
    /* Deadlocks are found by random schedules, which have no real time. */
    if ((data.number == CASE_deadlock && !env->random) ||
        ((data.number == CASE_timeout || aborts) && env->random))
        return TEST_SKIPPED;
    if (!test_prepare(env, &errors_kernel))
        return TEST_FAILED;
    const weft_numbers *n = env->numbers;
    if (n->ranks < 2 && data.number == CASE_mismatch)
        return TEST_SKIPPED;
    data.memory = test_memory(env, TEST_MAPPED, (size_t)n->ranks_here * EACH);
    if (!TEST(env, weft_host_win_create(env->job, NULL, 0, &data.host) == WEFT_OK))
        return TEST_FAILED;
    error_case_expect(env, &errors[data.number]);
    if (aborts && n->process == 0 && pthread_create(&thread, NULL, abort_soon, env->job) != 0)
        return TEST_FAILED;
    test_run(env, &data, sizeof(data));
    if (aborts && n->process == 0)
        pthread_join(thread, NULL);
    TEST_EQ(env, data.returned, 0);
    /* The job has ended: what follows says so, and does not hang. */
    TEST(env, weft_run(env->job, &data, sizeof(data), NULL) != WEFT_OK);
    TEST(env, weft_host_barrier(env->job) != WEFT_OK);
    return TEST_PASSED;
}

int main(int argc, char **argv)
{
    return error_cases_main(argc, argv, errors, CASE_COUNT, body);
}
#endif
