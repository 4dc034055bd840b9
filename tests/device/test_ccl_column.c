/*
 * ccl_column: every rank is a column of its own and makes calls of weft/ccl.h in its kernel, on its
 * own memory, of every kind, type and operation, of sizes around each limit, in place and not; the
 * results element by element against a serial loop.
 */
#include "support/ccl_reference.h"
#include "support/test.h"

enum { CALLS = 40, MOST = 9000, RANKS = 4 };

struct data {
    struct test_check check;
    const weft_ccl_view *view;
    unsigned char *source, *target; /* `each` bytes a rank */
    uint64_t each, seed;
    uint32_t calls, most, members, me;
};

WEFT_DEVICE_FN void make(weft_self *self, const struct data *data, int column,
                         const struct ccl_call *call, const void *source, void *target)
{
    switch (call->what) {
    case ALLREDUCE:
        weft_column_allreduce(self, data->view, column, source, target, call->count, call->type,
                              call->operation);
        break;
    case REDUCE:
        weft_column_reduce(self, data->view, column, call->root, source, target, call->count,
                           call->type, call->operation);
        break;
    case SCATTER:
        weft_column_reduce_scatter(self, data->view, column, source, target, call->count,
                                   call->type, call->operation);
        break;
    case ALLGATHER:
        weft_column_allgather(self, data->view, column, source, target, call->count, call->type);
        break;
    case ALLTOALL:
        weft_column_alltoall(self, data->view, column, source, target, call->count, call->type);
        break;
    default:
        weft_column_broadcast(self, data->view, column, call->root, target, call->count,
                              call->type);
    }
}

WEFT_DEVICE_FN void check_call(weft_self *self, struct data *data, int column,
                               const struct ccl_call *call)
{
    const int me = (int)data->me;
    const size_t size = ccl_size(call->type), odd = (call->key >> 5 & 7) * size;
    unsigned char *const target = test_mine(self, data->target, data->each) + odd;
    unsigned char *source = test_mine(self, data->source, data->each) + odd;

    if (call->what == BROADCAST || ((call->key >> 9 & 1) && call->what != SCATTER))
        source = target + (call->what == BROADCAST ? 0 : ccl_source_in(call, me) * size);
    weft_for (i, ccl_gives(call)) {
        const uint64_t bits = ccl_given(call, me, i);
        if (call->what != BROADCAST || me == call->root)
            memcpy(source + i * size, &bits, size);
    }
    weft_sync(self);
    make(self, data, column, call, source, target);
    weft_for (i, ccl_gets(call, me))
        CHECK_EQ(self, &data->check, ccl_read(target + i * size, size), ccl_got(call, me, i));
    weft_sync(self);
}

WEFT_KERNEL(column_calls, struct data, data)
{
    const int column = weft_rank(self, WEFT_COMM_DEVICE);

    weft_enter(self);
    for (uint32_t i = 0; i < data->calls; i++) {
        const struct ccl_call call =
            ccl_draw(data->seed * 7919u + (uint64_t)column * 104729u + i, (int)data->members,
                     i % 8 == 7 ? data->most : data->most / 8);
        check_call(self, data, column, &call);
        if (i % 4 == 0)
            weft_column_barrier(self, data->view, column);
    }
    weft_leave(self);
    test_done(self, &data->check);
}

#ifndef __CUDACC__

static int body(struct test_env *env)
{
    struct data data = {.calls = env->random ? 4 : CALLS * (uint32_t)env->scale,
                        .most = env->random ? 400 : MOST};
    weft_ccl *ccl;
    const weft_status status = weft_ccl_open(env->job, WEFT_COMM_HOST, RANKS, &ccl);

    if (status == WEFT_ERR_UNSUPPORTED)
        return TEST_SKIPPED;
    if (!TEST_EQ(env, status, WEFT_OK))
        return TEST_FAILED;
    if (env->ranks == 0 || env->ranks > RANKS)
        env->ranks = RANKS;
    data.view = weft_ccl_kernel(ccl);
    data.members = (uint32_t)weft_ccl_members(ccl);
    data.me = (uint32_t)weft_ccl_me(ccl);
    data.seed = env->seed;
    data.each = (uint64_t)data.most * data.members + 256;
    data.source = test_memory(env, TEST_MAPPED, RANKS * data.each);
    data.target = test_memory(env, TEST_MAPPED, RANKS * data.each);
    if (test_prepare(env, &column_calls))
        test_run(env, &data, sizeof(data));
    TEST_EQ(env, weft_ccl_check(ccl), WEFT_OK);
    TEST_EQ(env, weft_ccl_close(&ccl), WEFT_OK);
    return TEST_PASSED;
}

int main(int argc, char **argv)
{
    return test_main(argc, argv, body);
}

#endif
