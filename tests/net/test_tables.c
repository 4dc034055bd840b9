/*
 * net/test_tables.c - the tables of ranks that the host does not share memory with hold as many
 * windows as WEFT_WINDOWS says, to the last place, and take again what was freed, also for entries
 * of other sizes and in the next run. Two processes, as threads of this one, on a device that the
 * host cannot reach (support/far_device.h).
 */
#include "support/test.h"

#include <stdlib.h>

/* AT_ONCE: of the world; later half of them, and as many on each half of it: 36. */
enum { EACH = 64, AT_ONCE = 24, TURNS = 100, RUNS = 3, TAG = 2 };

struct data {
    struct test_check check;
    unsigned char *memory; /* EACH bytes a rank */
};

/* What is put through the window arrives at the right-hand neighbour. */
WEFT_DEVICE_FN void use(weft_self *self, struct data *user, weft_comm comm, weft_win win,
                        uint32_t i)
{
    const int n = weft_size(self, comm), me = weft_rank(self, comm);
    uint32_t *memory = (uint32_t *)test_mine(self, user->memory, EACH);

    CHECK(self, &user->check, win != WEFT_WIN_NONE);
    memory[1] = i;
    weft_put_notify(self, win, (me + 1) % n, 0, memory + 1, sizeof(i), TAG);
    weft_wait(self, TAG, 1);
    CHECK_EQ(self, &user->check, memory[0], i);
    weft_barrier(self, WEFT_COMM_WORLD); /* the next one comes from another */
}

/* Windows of the world; then every other one makes place for smaller ones, some of no bytes. */
WEFT_KERNEL(tables_kernel, struct data, user)
{
    weft_win wins[AT_ONCE];
    const uint32_t n = AT_ONCE;
    unsigned char *memory = test_mine(self, user->memory, EACH);

    weft_enter(self);
    for (uint32_t i = 0; i < n; i++)
        wins[i] = weft_win_create(self, WEFT_COMM_WORLD, memory, EACH);
    for (uint32_t i = 0; i < n; i++)
        use(self, user, WEFT_COMM_WORLD, wins[i], i);
    for (uint32_t i = 0; i < n; i += 2)
        weft_win_free(self, &wins[i]);
    weft_comm half =
        weft_comm_split(self, WEFT_COMM_WORLD, weft_rank(self, WEFT_COMM_WORLD) % 2, 0);
    for (uint32_t i = 0; i < n; i += 2)
        wins[i] = weft_win_create(self, half, i % 4 == 0 ? memory : NULL, i % 4 == 0 ? EACH : 0);
    for (uint32_t i = 0; i < n; i++)
        if (i % 4 != 2)
            use(self, user, i % 2 == 0 ? half : WEFT_COMM_WORLD, wins[i], TURNS + i);
    for (uint32_t i = n; i-- > 0;)
        weft_win_free(self, &wins[i]);
    weft_comm_free(self, &half);
    for (uint32_t i = 0; i < TURNS; i++) {
        weft_win win = weft_win_create(self, WEFT_COMM_WORLD, memory, EACH);
        use(self, user, WEFT_COMM_WORLD, win, i);
        weft_win_free(self, &win);
    }
    weft_leave(self);
    test_done(self, &user->check);
}

static int body(struct test_env *env)
{
    if (!test_prepare(env, &tables_kernel))
        return TEST_FAILED;
    struct data data = {.memory =
                            test_memory(env, TEST_MAPPED, (size_t)env->numbers->ranks_here * EACH)};
    for (int i = 0; i < RUNS; i++)
        test_run(env, &data, sizeof(data));
    return TEST_PASSED;
}

int main(void)
{
    char *argv[] = {"test_tables", "--local", "2", "--path", "proxy", "--ranks", "48", NULL};

    setenv("WEFT_WINDOWS", "36", 1);
    return test_main(7, argv, body);
}
