/*
 * Windows: of no bytes, of different sizes, overlapping on one device, of the device and of
 * sub-communicators, nested in time; a put onto the very same address copies nothing; handles are
 * equal on all members, new after a free, and there is a limit.
 */
#include "support/test.h"

enum { EACH = 8192, TAG = 3, TAG_FREE = 4, MOST = 4096 };

struct data {
    struct test_check check;
    unsigned char *memory; /* EACH bytes a rank */
    uint32_t full, handles;
};

/* Ranks of one device expose the same bytes; then shifted ranges. Each writes its own part. */
WEFT_DEVICE_FN void check_overlap(weft_self *self, struct data *user)
{
    const int n = weft_size(self, WEFT_COMM_DEVICE), me = weft_rank(self, WEFT_COMM_DEVICE);
    const size_t part = EACH / 8;
    unsigned char *source = test_mine(self, user->memory, EACH) + EACH - part;

    if (n > 7 || n < 2)
        return;
    test_fill(self, source, part, 500 + (uint64_t)me);
    weft_win same = weft_win_create(self, WEFT_COMM_DEVICE, user->memory, EACH);
    weft_win shifted =
        weft_win_create(self, WEFT_COMM_DEVICE, user->memory + (size_t)me * part, 2 * part);
    CHECK(self, &user->check, same != WEFT_WIN_NONE && shifted != WEFT_WIN_NONE);
    CHECK(self, &user->check, same != shifted);
    /* Through the window of another rank, to the part that belongs to the caller. */
    weft_put(self, same, (me + 1) % n, (size_t)me * part, source, part);
    weft_flush(self, same);
    weft_barrier(self, WEFT_COMM_DEVICE);
    for (int r = 0; r < n; r++)
        CHECK_EQ(self, &user->check,
                 test_differs(self, user->memory + (size_t)r * part, part, 500 + (uint64_t)r), 0);
    weft_barrier(self, WEFT_COMM_DEVICE);
    /* My part is the second half of my left neighbour's shifted window. */
    test_fill(self, source, part, 600 + (uint64_t)me);
    if (me > 0)
        weft_put(self, shifted, me - 1, part, source, part);
    weft_flush(self, shifted);
    weft_barrier(self, WEFT_COMM_DEVICE);
    if (me > 0)
        CHECK_EQ(self, &user->check,
                 test_differs(self, user->memory + (size_t)me * part, part, 600 + (uint64_t)me), 0);
    weft_win_free(self, &shifted);
    weft_win_free(self, &same);
}

/* Source and destination are the same address: the notification is all that travels. */
WEFT_DEVICE_FN void check_same_address(weft_self *self, struct data *user)
{
    const int n = weft_size(self, WEFT_COMM_DEVICE), me = weft_rank(self, WEFT_COMM_DEVICE);
    const int to = (me + 1) % n, from = (me + n - 1) % n;
    weft_win win =
        weft_win_create(self, WEFT_COMM_DEVICE, test_mine(self, user->memory, EACH), EACH);

    weft_notify(self, WEFT_COMM_DEVICE, from, TAG_FREE);
    weft_wait(self, TAG_FREE, 1); /* the next rank's memory is mine until it hears from me */
    unsigned char *theirs = user->memory + (size_t)to * EACH;
    test_fill(self, theirs, EACH, 700 + (uint64_t)me);
    weft_put_notify(self, win, to, 0, theirs, EACH, TAG);
    weft_wait(self, TAG, 1);
    CHECK_EQ(self, &user->check,
             test_differs(self, test_mine(self, user->memory, EACH), EACH, 700 + (uint64_t)from),
             0);
    weft_win_free(self, &win);
}

/* Every second rank, in reverse order: targets are ranks of the sub-communicator. */
WEFT_DEVICE_FN void check_sub(weft_self *self, struct data *user)
{
    const int world = weft_rank(self, WEFT_COMM_WORLD);
    weft_comm comm = weft_comm_split(self, WEFT_COMM_WORLD, world % 2, -world);
    const int n = weft_size(self, comm), me = weft_rank(self, comm);
    unsigned char *memory = test_mine(self, user->memory, EACH);

    weft_barrier(self, WEFT_COMM_WORLD);
    test_clear(self, memory, EACH);
    test_fill(self, memory + EACH / 2, 300, 800 + (uint64_t)world);
    weft_win win = weft_win_create(self, comm, memory, EACH / 2);
    CHECK(self, &user->check, win != WEFT_WIN_NONE);
    weft_put_notify(self, win, (me + 1) % n, 10, memory + EACH / 2, 300, TAG);
    weft_wait(self, TAG, 1);
    const int from = (me + n - 1) % n; /* reversed: a lower rank in comm is a higher one in world */
    const int from_world = world + 2 * (me - from);
    CHECK_EQ(self, &user->check, test_differs(self, memory + 10, 300, 800 + (uint64_t)from_world),
             0);
    weft_win_free(self, &win);
    weft_comm_free(self, &comm);
}

/* The same handle everywhere, a new one each time, and no more than the limit at once. */
WEFT_DEVICE_FN void check_handles(weft_self *self, struct data *user)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    uint32_t *memory = (uint32_t *)test_mine(self, user->memory, EACH);
    uint32_t *source = memory + 1, last = WEFT_WIN_NONE;
    weft_win wins[MOST];
    int made = 0;

    for (uint32_t i = 0; i < user->handles; i++) {
        weft_win win = weft_win_create(self, WEFT_COMM_WORLD, memory, EACH);
        CHECK(self, &user->check, win != WEFT_WIN_NONE && win != last);
        last = win;
        weft_sync(self);
        if (weft_thread(self) == 0)
            *source = win;
        weft_sync(self);
        weft_put_notify(self, win, (me + 1) % n, 0, source, sizeof(win), TAG);
        weft_wait(self, TAG, 1);
        CHECK_EQ(self, &user->check, *memory, win);
        weft_win_free(self, &win);
    }
    while (user->full && made < MOST) {
        wins[made] = weft_win_create(self, WEFT_COMM_WORLD, memory, EACH);
        if (wins[made] == WEFT_WIN_NONE)
            break;
        made++;
    }
    if (user->full) {
        CHECK(self, &user->check, made > 0 && made < MOST);
        CHECK_EQ(self, &user->check, weft_failure(self), WEFT_ERR_LIMIT);
    }
    while (made > 0)
        weft_win_free(self, &wins[--made]);
}

WEFT_KERNEL(window_kernel, struct data, user)
{
    weft_enter(self);
    test_exchange(self, &user->check, test_mine(self, user->memory, EACH), EACH, TAG);
    weft_barrier(self, WEFT_COMM_WORLD);
    check_overlap(self, user);
    weft_barrier(self, WEFT_COMM_WORLD);
    check_same_address(self, user);
    weft_barrier(self, WEFT_COMM_WORLD);
    check_sub(self, user);
    check_handles(self, user);
    weft_leave(self);
    test_done(self, &user->check);
}

#ifndef __CUDACC__
static int body(struct test_env *env)
{
    static const enum test_memory kinds[] = {TEST_MAPPED, TEST_PLAIN};

    if (!test_prepare(env, &window_kernel))
        return TEST_FAILED;
    for (size_t i = 0; i < 2; i++) {
        struct data data = {
            .memory = test_memory(env, kinds[i], (size_t)env->numbers->ranks_here * EACH),
            .full = !env->random && i == 0,
            .handles = env->brief ? 3 : 150,
        };
        test_run(env, &data, sizeof(data));
    }
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
