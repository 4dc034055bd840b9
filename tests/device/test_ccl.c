/*
 * ccl: calls of host programs on streams, and right away on the CPU device: every call, type and
 * operation, of sizes around each limit, in place and not, at odd addresses, on two ccl in turns,
 * byte by byte against a serial loop; nothing is written beside targets.
 *
 * All members draw the same sequence of calls from a seed: how many is the work.
 */
#include "support/ccl_reference.h"
#include "support/test.h"

#ifndef __CUDACC__ /* there is no kernel */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { CALLS = 1200, MOST = 40000, GUARD = 64 };

struct place {
    struct test_env *env;
    unsigned char *device,
        *host; /* the same bytes; `half` for the source, the rest for the target */
    size_t half;
    bool apart; /* device memory is not the host's */
};

/* All that streams were given has passed. (Without a driver this is the far device, whose launches
 * return when they are done.) */
static void pass(const struct place *place)
{
    static int (*synchronize)(void);

    if (!place->apart)
        return;
    if (synchronize == NULL) {
        void *const driver = dlopen("libcuda.so.1", RTLD_NOW);
        if (driver == NULL)
            return;
        synchronize = (int (*)(void))dlsym(driver, "cuCtxSynchronize");
    }
    TEST(place->env, synchronize() == 0);
}

static weft_status make(weft_ccl *ccl, const struct ccl_call *call, const void *source,
                        void *target)
{
    switch (call->what) {
    case ALLREDUCE:
        return weft_ccl_allreduce(ccl, source, target, call->count, call->type, call->operation,
                                  NULL);
    case REDUCE:
        return weft_ccl_reduce(ccl, call->root, source, target, call->count, call->type,
                               call->operation, NULL);
    case SCATTER:
        return weft_ccl_reduce_scatter(ccl, source, target, call->count, call->type,
                                       call->operation, NULL);
    case ALLGATHER:
        return weft_ccl_allgather(ccl, source, target, call->count, call->type, NULL);
    case ALLTOALL:
        return weft_ccl_alltoall(ccl, source, target, call->count, call->type, NULL);
    default:
        return weft_ccl_broadcast(ccl, call->root, target, call->count, call->type, NULL);
    }
}

/* Where the call's source and target begin, in bytes of a place. */
struct layout {
    size_t source, target;
};

static struct layout lay_out(const struct place *place, const struct ccl_call *call, int me)
{
    const size_t size = ccl_size(call->type),
                 odd = call->key >> 5 & 1 ? size * (call->key >> 6 & 15) : 0;
    struct layout at = {GUARD + odd, place->half + GUARD + (call->key >> 10 & 1 ? 0 : odd + size)};

    if (call->what == BROADCAST)
        at.source = at.target;
    else if (call->key >> 11 & 1) { /* in place */
        at.source = at.target + ccl_source_in(call, me) * size;
        if (call->what == SCATTER) {
            at.source = at.target;
            at.target += ccl_target_in(call, me) * size;
        }
    }
    return at;
}

/* One call, and what has come of it. */
static void check_call(struct place *place, weft_ccl *ccl, const struct ccl_call *call)
{
    struct test_env *const env = place->env;
    const int me = weft_ccl_me(ccl);
    const size_t size = ccl_size(call->type), gives = ccl_gives(call), gets = ccl_gets(call, me);
    const struct layout at = lay_out(place, call, me);
    const int before = env->failures;

    memset(place->host, 0xa5, 2 * place->half);
    for (size_t i = 0; i < gives && (call->what != BROADCAST || me == call->root); i++) {
        const uint64_t bits = ccl_given(call, me, i);
        memcpy(place->host + at.source + i * size, &bits, size);
    }
    if (place->apart)
        TEST_EQ(env, weft_copy(env->job, place->device, place->host, 2 * place->half), WEFT_OK);
    TEST_EQ(env, make(ccl, call, place->device + at.source, place->device + at.target), WEFT_OK);
    pass(place);
    if (place->apart)
        TEST_EQ(env, weft_copy(env->job, place->host, place->device, 2 * place->half), WEFT_OK);
    for (size_t i = 0; i < gets && env->failures == before; i++)
        if (!TEST_EQ(env, ccl_read(place->host + at.target + i * size, size), ccl_got(call, me, i)))
            fprintf(stderr,
                    "call %d of %zu elements, type %d, operation %d, root %d, source at %zu, "
                    "target at %zu, element %zu\n",
                    call->what, call->count, call->type, call->operation, call->root, at.source,
                    at.target, i);
    const size_t end = at.target + gets * size;
    for (size_t i = 0; i < GUARD && env->failures == before; i++) {
        TEST(env, place->host[end + i] == 0xa5 || at.source + gives * size > end + i);
        TEST(env, place->host[at.target - 1 - i] == 0xa5 || at.source < at.target);
    }
}

/* Elements that member `from` has for member `to`, as all know it; now and then none. */
static size_t block_of(uint64_t key, int from, int to, size_t most)
{
    const uint64_t bits = test_mix(key + (uint64_t)from * 31u + (uint64_t)to * 977u);
    return bits & 3 ? (bits >> 8) % most : 0;
}

static uint32_t number_of(uint64_t key, int from, int to, size_t i)
{
    return (uint32_t)test_mix(key * 3u + (uint64_t)from * 7001u + (uint64_t)to * 104729u + i);
}

/* Fills the source, makes the call, fetches the target. */
static void move(struct place *place, bool to_device)
{
    if (!place->apart)
        return;
    if (to_device)
        TEST_EQ(place->env, weft_copy(place->env->job, place->device, place->host, 2 * place->half),
                WEFT_OK);
    pass(place);
    if (!to_device)
        TEST_EQ(place->env, weft_copy(place->env->job, place->host, place->device, 2 * place->half),
                WEFT_OK);
}

/* All to all with blocks of any sizes, then the same blocks by pairs: round a ring, and one way. */
static void check_sizes(struct place *place, weft_ccl *ccl, uint64_t key, size_t most)
{
    struct test_env *const env = place->env;
    const int n = weft_ccl_members(ccl), me = weft_ccl_me(ccl);
    const int next = (me + 1) % n, before = (me + n - 1) % n;
    uint32_t *const source = (uint32_t *)(void *)place->host;
    uint32_t *const target = (uint32_t *)(void *)(place->host + place->half);
    unsigned char *const from = place->device, *const to = place->device + place->half;
    const size_t none[8] = {0}, first[8] = {1};
    size_t give[8], get[8], last[8] = {0}, at = 0, next_at = 0;

    last[n - 1] = 1;
    for (int m = 0; m < n; m++) {
        give[m] = block_of(key, me, m, most);
        get[m] = block_of(key, m, me, most);
        next_at = m == next ? at : next_at;
        for (size_t i = 0; i < give[m]; i++)
            source[at + i] = number_of(key, me, m, i);
        at += give[m];
    }
    move(place, true);
    TEST_EQ(env, weft_ccl_alltoall_sizes(ccl, from, give, to, get, WEFT_U32, NULL), WEFT_OK);
    move(place, false);
    at = 0;
    for (int m = 0; m < n; at += get[m], m++)
        for (size_t i = 0; i < get[m] && env->failures == 0; i++)
            TEST_EQ(env, target[at + i], number_of(key, m, me, i));
    TEST_EQ(env, /* who sends nothing has no source, and who receives nothing no target */
            weft_ccl_alltoall_sizes(ccl, me == 0 ? from : NULL, me == 0 ? last : none,
                                    me == n - 1 ? to : NULL, me == n - 1 ? first : none, WEFT_U32,
                                    NULL),
            WEFT_OK);
    if (n == 1)
        return;
    TEST_EQ(env,
            weft_ccl_exchange(ccl, next, from + 4 * next_at, give[next], before, to, get[before],
                              WEFT_U32, NULL),
            WEFT_OK);
    move(place, false);
    for (size_t i = 0; i < get[before] && env->failures == 0; i++)
        TEST_EQ(env, target[i], number_of(key, before, me, i));
    if (me == 0)
        TEST_EQ(env, weft_ccl_send(ccl, next, from + 4 * next_at, give[next], WEFT_U32, NULL),
                WEFT_OK);
    if (me == 1)
        TEST_EQ(env, weft_ccl_receive(ccl, before, to + 4, get[before], WEFT_U32, NULL), WEFT_OK);
    move(place, false);
    for (size_t i = 0; me == 1 && i < get[before] && env->failures == 0; i++)
        TEST_EQ(env, target[i + 1], number_of(key, before, me, i));
    for (size_t count = 1; me == 0 && count <= 3; count++) /* calls ahead of the receiver's */
        TEST_EQ(env, weft_ccl_send(ccl, next, from, count, WEFT_U32, NULL), WEFT_OK);
    for (size_t count = 1; me == 1 && count <= 3; count++)
        TEST_EQ(env, weft_ccl_receive(ccl, before, to, count, WEFT_U32, NULL), WEFT_OK);
    pass(place); /* the next call fills the target by another way */
}

static int body(struct test_env *env)
{
    const int calls = env->random ? 12 : CALLS / (1 + env->numbers->processes) * env->scale;
    const size_t most = env->random ? 900 : MOST;
    struct place place = {.env = env,
                          .half = most * 8 + 8 * GUARD,
                          .apart =
                              weft_process_kind(env->job, env->numbers->process) == WEFT_KIND_CUDA};
    weft_ccl *ccl[2];

    for (int k = 0; k < 2; k++) {
        const weft_status status = weft_ccl_open(env->job, WEFT_COMM_HOST, 8 - 5 * k, &ccl[k]);
        if (status == WEFT_ERR_UNSUPPORTED)
            return TEST_SKIPPED;
        if (!TEST_EQ(env, status, WEFT_OK))
            return TEST_FAILED;
    }
    TEST_EQ(env, weft_ccl_members(ccl[0]), env->numbers->processes);
    TEST_EQ(env, weft_ccl_me(ccl[0]), env->numbers->process);
    place.host = malloc(2 * place.half);
    place.device = place.apart ? weft_malloc(env->job, 2 * place.half) : place.host;
    if (!TEST(env, place.host != NULL && place.device != NULL))
        return TEST_FAILED;
    for (int i = 0; i < calls; i++) { /* after a failure, too: others wait for the calls */
        const struct ccl_call call = ccl_draw(
            env->seed * 7919u + (uint64_t)i, env->numbers->processes, i % 8 == 7 ? most : most / 8);
        check_call(&place, ccl[i % 3 == 2], &call);
        if (i % 5 == 0)
            TEST_EQ(env, weft_ccl_barrier(ccl[0], NULL), WEFT_OK);
        if (i % 7 == 3)
            check_sizes(&place, ccl[i & 1], env->seed + (uint64_t)i, most / (i & 2 ? 64 : 5));
    }
    pass(&place);
    for (int k = 0; k < 2; k++) {
        TEST_EQ(env, weft_ccl_check(ccl[k]), WEFT_OK);
        TEST_EQ(env, weft_ccl_close(&ccl[k]), WEFT_OK);
    }
    if (place.apart)
        weft_free(env->job, place.device);
    free(place.host);
    return TEST_PASSED;
}

int main(int argc, char **argv)
{
    return test_main(argc, argv, body);
}

#endif
