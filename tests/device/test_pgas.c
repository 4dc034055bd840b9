/*
 * The global address space: what host programs and ranks of each place put to every place by global
 * pointers is there, by any path; blocks that ranks take in a kernel are reached by all, and never
 * overlap; nothing of the heap is lost.
 */
#include "support/test.h"

#include <weft/pgas.h>

enum {
    ROOM = 4096, /* bytes that a rank sends, and gets */
    HELD = 8,    /* blocks that a rank has at once */
    WORDS = 4096
};

struct data {
    struct test_check check;
    weft_gspace *space;
    unsigned char *memory; /* ROOM bytes a rank, twice */
    weft_gptr *pointer;    /* by rank of the device: a block, as it is put to others */
    weft_gspan span, table;
    uint64_t seed;
    uint32_t rounds, refused;
};

/* ---- ranks ---------------------------------------------------------------------------------- */

WEFT_DEVICE_FN uint64_t word_of(weft_self *self, uint32_t key, uint32_t round)
{
    return test_mix((uint64_t)weft_rank(self, WEFT_COMM_WORLD) << 40 | (uint64_t)key << 32 | round);
}

/* Writes a block, or checks that it is as it was written. */
WEFT_DEVICE_FN void use_block(weft_self *self, struct data *user, weft_gptr g, size_t bytes,
                              uint64_t value, bool check)
{
    uint64_t *const word = (uint64_t *)weft_gaddress(self, user->space, g);

    CHECK(self, &user->check, word != NULL);
    if (word == NULL)
        return;
    if (check)
        test_will_read(word, bytes / 8 * 8);
    else
        test_will_write(word, bytes / 8 * 8);
    weft_for (i, bytes / 8) {
        if (check)
            CHECK_EQ(self, &user->check, word[i], value + i);
        else
            word[i] = value + i;
    }
    weft_sync(self);
}

/* Blocks of all sizes are taken and freed at random by all ranks. */
WEFT_DEVICE_FN void take_and_free(weft_self *self, struct data *user)
{
    weft_gptr held[HELD];
    size_t bytes[HELD];
    uint64_t value[HELD], state = user->seed + (uint64_t)weft_rank(self, WEFT_COMM_WORLD);

    for (int i = 0; i < HELD; i++)
        held[i] = weft_gptr_null();
    for (uint32_t round = 0; round < user->rounds + HELD; round++) {
        const uint32_t draw = test_random(&state, HELD);
        const uint32_t slot = round < user->rounds ? draw : round - user->rounds;
        if (!weft_gptr_is_null(held[slot])) {
            use_block(self, user, held[slot], bytes[slot], value[slot], true);
            weft_local_free(self, user->space, held[slot]);
            held[slot] = weft_gptr_null();
        } else if (round < user->rounds) {
            bytes[slot] = 8 + test_random(&state, 256u << test_random(&state, 7));
            value[slot] = word_of(self, slot, round);
            held[slot] = weft_local_alloc(self, user->space, bytes[slot]);
            if (!weft_gptr_is_null(held[slot]))
                use_block(self, user, held[slot], bytes[slot], value[slot], false);
            else if (weft_thread(self) == 0)
                test_add_u32(&user->refused, 1);
        }
    }
}

/*
 * Each rank takes a block and tells the next one in the job where it is, by the table; that one
 * puts to it, and its owner sees it.
 */
WEFT_DEVICE_FN void pass_blocks(weft_self *self, struct data *user)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const int next = (me + 1) % n;
    const uint64_t at = (uint64_t)next * sizeof(weft_gptr);
    weft_gptr *const mine = (weft_gptr *)test_mine(self, user->pointer, 4 * sizeof(weft_gptr));
    unsigned char *const memory = test_mine(self, user->memory, 2 * ROOM);
    const weft_gptr block = weft_local_alloc(self, user->space, 3000);
    weft_gptr table = user->table.base; /* place 0's part */

    CHECK(self, &user->check, !weft_gptr_is_null(block));
    if (weft_thread(self) == 0) {
        test_will_write(mine, sizeof(*mine));
        mine[0] = block;
    }
    test_fill(self, memory, 3000, (uint64_t)me + 5);
    weft_gput(self, user->space, weft_gptr_add(table, (int64_t)at), &mine[0], sizeof(*mine));
    weft_gflush(self, user->space);
    weft_barrier(self, WEFT_COMM_WORLD);
    table = weft_gptr_add(table, (int64_t)me * (int64_t)sizeof(weft_gptr));
    weft_gget(self, user->space, table, &mine[1], sizeof(*mine));
    test_will_read(&mine[1], sizeof(*mine));
    const weft_gptr theirs = mine[1];
    weft_sync(self);
    weft_op_wait(self, weft_gput_begin(self, user->space, theirs, memory, 3000), WEFT_REMOTE);
    weft_op_wait(
        self,
        weft_gput_2d_begin(self, user->space, weft_gptr_add(theirs, 100), 300, memory, 200, 50, 9),
        WEFT_REMOTE);
    weft_barrier(self, WEFT_COMM_WORLD);
    weft_op_wait(self, weft_gget_begin(self, user->space, block, memory + ROOM, 3000), WEFT_LOCAL);
    for (size_t i = 0; i < 3000; i++) {
        const size_t row = (i - 100) / 300, column = (i - 100) % 300;
        const bool beside = i < 100 || row >= 9 || column >= 50;
        if (i % 61 == 0 || i % 300 == 149 || i % 300 == 150)
            CHECK_EQ(self, &user->check, memory[ROOM + i],
                     test_byte((uint64_t)next + 5, beside ? i : row * 200 + column));
    }
    weft_barrier(self, WEFT_COMM_WORLD);
    weft_local_free(self, user->space, block);
}

/* Words that all ranks of the job update. */
WEFT_DEVICE_FN void update(weft_self *self, struct data *user)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const weft_gptr counter = weft_gptr_add(user->table.base, WORDS);
    uint64_t *const one = (uint64_t *)test_mine(self, user->memory, 2 * ROOM);

    weft_gfetch_add(self, user->space, counter, 1);
    if (weft_gcompare_swap(self, user->space, weft_gptr_add(counter, 8), 0, 7) == 0)
        weft_gswap(self, user->space, weft_gptr_add(counter, 16), (uint64_t)me + 1);
    weft_sync(self);
    if (weft_thread(self) == 0) {
        test_will_write(one, 16);
        one[0] = 1;
        one[1] = 2;
    }
    weft_sync(self);
    weft_op_wait(
        self,
        weft_gaccumulate(self, user->space, weft_gptr_add(counter, 24), one, 2, WEFT_U64, WEFT_SUM),
        WEFT_REMOTE);
    weft_barrier(self, WEFT_COMM_WORLD);
    CHECK_EQ(self, &user->check, weft_gfetch_add(self, user->space, counter, 0), n);
    CHECK(self, &user->check,
          weft_gfetch_add(self, user->space, weft_gptr_add(counter, 16), 0) - 1 < (uint64_t)n);
    CHECK_EQ(self, &user->check, weft_gfetch_add(self, user->space, weft_gptr_add(counter, 32), 0),
             2 * n);
}

WEFT_KERNEL(pgas, struct data, user)
{
    weft_barrier(self, WEFT_COMM_WORLD);
    take_and_free(self, user);
    pass_blocks(self, user);
    update(self, user);
    weft_barrier(self, WEFT_COMM_WORLD);
    test_done(self, &user->check);
}

#ifndef __CUDACC__

#include "pgas_places.h"

#include <stdlib.h>

static int body(struct test_env *env)
{
    struct data user = {.seed = env->seed};
    const uint64_t zero[16] = {0};

    if (!test_pgas_open(env))
        return TEST_PASSED;
    const weft_heap_numbers before = test_pgas_numbers(env);
    test_places(env, before.largest);
    user.space = weft_pgas_space(env->job);
    if (!test_prepare(env, &pgas))
        return TEST_FAILED;
    const size_t here = (size_t)env->numbers->ranks_here;
    user.rounds = env->brief ? 6 : 400 * (uint32_t)env->scale;
    user.memory = test_memory(env, TEST_MAPPED, here * 2 * ROOM);
    user.pointer = test_memory(env, TEST_MAPPED, here * 4 * sizeof(weft_gptr));
    TEST_OK(env, weft_galloc(env->job, WEFT_COMM_HOST, 64, &user.span));
    TEST_OK(env, weft_galloc(env->job, WEFT_COMM_HOST, WORDS + 128, &user.table));
    if (env->numbers->process == 0)
        TEST_OK(env, weft_host_gput(env->job, weft_gptr_add(user.table.base, WORDS), zero,
                                    sizeof(zero)));
    test_pgas_meet(env);
    test_run(env, &user, sizeof(user));
    TEST_OK(env, weft_gfree(env->job, &user.table));
    TEST_OK(env, weft_gfree(env->job, &user.span));
    test_pgas_close(env, &before);
    return TEST_PASSED;
}

int main(int argc, char **argv)
{
    setenv("WEFT_HEAP", "16M", 0);
    return test_main(argc, argv, body);
}
#endif
