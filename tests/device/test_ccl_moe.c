/*
 * ccl: mixture of experts. Dispatch and combine of drawn shapes, byte by byte against a serial
 * router: members with no, one or most tokens, experts that nobody or everybody chose, choices that
 * are none; two of them in turns on one ccl, dispatched or combined again, mixed with other calls.
 *
 *     test_ccl_moe [--case wrong]     experts out of range, and twice
 *
 * All members draw the same from a seed, and so each knows what all others send.
 */
#include "support/test.h"

#ifndef __CUDACC__ /* there is no kernel */
#include "support/moe_reference.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHAPES = 24, ROUNDS = 5 };

/* Memory that calls take, on the device and, the same bytes, on the host. */
struct memory {
    unsigned char *device, *host;
    size_t bytes;
};

struct run {
    struct test_env *env;
    weft_ccl *ccl;
    struct memory rows, chosen, out, counts, origin, weights, target;
    int me;
    bool apart; /* device memory is not the host's */
};

static void pass(const struct run *run)
{
    static int (*synchronize)(void);

    if (!run->apart)
        return;
    if (synchronize == NULL) {
        void *const driver = dlopen("libcuda.so.1", RTLD_NOW);
        if (driver == NULL)
            return; /* the far device, whose launches return when they are done */
        synchronize = (int (*)(void))dlsym(driver, "cuCtxSynchronize");
    }
    TEST(run->env, synchronize() == 0);
}

static void reserve(const struct run *run, struct memory *memory, size_t bytes)
{
    memory->bytes = bytes + 64; /* some behind, which nobody writes */
    memory->device = test_memory(run->env, TEST_MAPPED, memory->bytes);
    memory->host = run->apart ? malloc(memory->bytes) : memory->device;
    TEST(run->env, memory->host != NULL && ((uintptr_t)memory->device & 15) == 0);
    memset(memory->host, 0xa5, memory->bytes);
}

static void move(const struct run *run, struct memory *memory, bool to_device)
{
    if (run->apart)
        TEST_EQ(run->env,
                weft_copy(run->env->job, to_device ? memory->device : memory->host,
                          to_device ? memory->host : memory->device, memory->bytes),
                WEFT_OK);
}

/* ---- the serial router -------------------------------------------------------------------------
 */

/* Something for each row of an own expert, in their order. */
struct visit {
    struct run *run;
    const struct mixture *x;
    weft_type type;
    bool counted, with_origin;
    void (*row)(struct visit *visit, size_t place, int member, int token, int32_t e);
};

static void visit_rows(struct visit *visit)
{
    const struct mixture *const x = visit->x;
    const struct run *const run = visit->run;

    for (int i = 0; i < x->each; i++) {
        const int32_t e = run->me * x->each + i;
        int32_t rows = 0;
        for (int m = 0; m < x->members; m++)
            for (int t = 0; t < x->tokens[m]; t++)
                for (int k = 0; k < x->desc.topk; k++)
                    if (e < x->desc.experts && taken(x, m, t, k) == e)
                        visit->row(visit,
                                   (size_t)i * (size_t)(x->members * x->desc.tokens) +
                                       (size_t)rows++,
                                   m, t, e);
        if (visit->counted)
            TEST_EQ(run->env, ((const int32_t *)(const void *)run->counts.host)[i], rows);
    }
}

static void check_row(struct visit *visit, size_t place, int member, int token, int32_t e)
{
    const struct mixture *const x = visit->x;
    const size_t bytes = x->desc.row_bytes;
    const int32_t *const origin = (const int32_t *)(const void *)visit->run->origin.host;
    size_t i = 0;

    while (i < bytes && visit->run->out.host[place * bytes + i] == row_byte(x, member, token, i))
        i++;
    if (!TEST_EQ(visit->run->env, i, bytes))
        fprintf(stderr, "member %d's token %d at expert %d: byte %zu of %zu\n", member, token, e, i,
                bytes);
    if (visit->with_origin)
        TEST_EQ(visit->run->env, origin[place], member << 24 | token);
}

/* Where combine looks for it: over the rows that came. */
static void make_row(struct visit *visit, size_t place, int member, int token, int32_t e)
{
    const size_t size = ccl_size(visit->type);

    for (size_t i = 0; i < visit->x->back / size; i++) {
        const uint64_t bits = made(visit->x, visit->type, member, token, e, i);
        memcpy(visit->run->out.host + place * visit->x->back + i * size, &bits, size);
    }
}

/* ---- calls -------------------------------------------------------------------------------------
 */

static void dispatch(struct run *run, struct mixture *x)
{
    struct test_env *const env = run->env;
    const bool with_origin = (x->key >> 3 & 3) != 0;
    struct visit visit = {
        .run = run, .x = x, .counted = true, .with_origin = with_origin, .row = check_row};

    for (int t = 0; t < x->tokens[run->me]; t++) {
        for (size_t i = 0; i < x->desc.row_bytes; i++)
            run->rows.host[(size_t)t * x->desc.row_bytes + i] = row_byte(x, run->me, t, i);
        memcpy(run->chosen.host + (size_t)(t * x->desc.topk) * 4, chosen_of(x, run->me, t),
               (size_t)x->desc.topk * 4);
    }
    memset(run->out.host, 0xa5, run->out.bytes);
    memset(run->counts.host, 0xa5, run->counts.bytes);
    for (int i = 0; i < 4; i++)
        move(run, (struct memory *[]){&run->rows, &run->chosen, &run->out, &run->counts}[i], true);
    TEST_EQ(env,
            weft_ccl_dispatch(x->moe, run->rows.device, (const int32_t *)(void *)run->chosen.device,
                              x->tokens[run->me], run->out.device,
                              (int32_t *)(void *)run->counts.device,
                              with_origin ? (int32_t *)(void *)run->origin.device : NULL, NULL),
            WEFT_OK);
    pass(run);
    for (int i = 0; i < 3; i++)
        move(run, (struct memory *[]){&run->out, &run->counts, &run->origin}[i], false);
    visit_rows(&visit);
    for (size_t i = 0; i < 64; i++)
        TEST(env, run->out.host[run->out.bytes - 64 + i] == 0xa5);
}

static void combine(struct run *run, struct mixture *x, weft_type type)
{
    struct test_env *const env = run->env;
    struct visit visit = {.run = run, .x = x, .type = type, .row = make_row};
    const size_t size = ccl_size(type), elements = x->back / size;
    float *const weights = (float *)(void *)run->weights.host;
    const size_t own = (size_t)x->tokens[run->me];

    visit_rows(&visit);
    for (size_t t = 0; t < own; t++)
        for (int k = 0; k < x->desc.topk; k++)
            weights[t * (size_t)x->desc.topk + (size_t)k] = weight_of(x, run->me, (int)t, k);
    memset(run->target.host, 0xa5, run->target.bytes);
    for (int i = 0; i < 3; i++)
        move(run, (struct memory *[]){&run->out, &run->weights, &run->target}[i], true);
    TEST_EQ(env,
            weft_ccl_combine(x->moe, run->out.device, (const float *)(void *)run->weights.device,
                             type, run->target.device, NULL),
            WEFT_OK);
    pass(run);
    move(run, &run->target, false);
    for (size_t i = 0; i < own * elements && env->failures == 0; i++)
        if (!TEST_EQ(env, ccl_read(run->target.host + i * size, size),
                     summed(x, type, run->me, (int)(i / elements), i % elements)))
            fprintf(stderr, "type %d, token %zu, element %zu\n", type, i / elements, i % elements);
    for (size_t i = own * x->back; i < run->target.bytes; i++)
        TEST(env, run->target.host[i] == 0xa5 || env->failures > 0);
}

/* Another call of the same ccl. */
static void other(struct run *run, uint64_t key)
{
    uint32_t *const words = (uint32_t *)(void *)run->target.host;
    const size_t most = run->target.bytes / 4, count = 1 + key % (most < 500 ? most : 500);

    for (size_t i = 0; i < count; i++)
        words[i] = (uint32_t)(i + (size_t)run->me);
    move(run, &run->target, true);
    TEST_EQ(run->env,
            weft_ccl_allreduce(run->ccl, run->target.device, run->target.device, count, WEFT_U32,
                               WEFT_SUM, NULL),
            WEFT_OK);
    pass(run);
    move(run, &run->target, false);
    const size_t n = (size_t)weft_ccl_members(run->ccl);
    for (size_t i = 0; i < count; i++)
        TEST_EQ(run->env, words[i], n * i + n * (n - 1) / 2);
}

/* ---- shapes ------------------------------------------------------------------------------------
 */

static bool open_mixture(struct run *run, struct mixture *x, uint64_t key)
{
    static const size_t rows[] = {16, 32, 48, 128, 1040, 4096, 14336};
    const bool small = run->env->random, large = key % 12 == 0 && !run->env->brief;
    const uint64_t bits = test_mix(key), kinds = small ? 4 : large ? 5 : 7;

    x->members = weft_ccl_members(run->ccl);
    x->desc =
        (weft_ccl_moe_desc){.topk = 1 + (int)(bits % 8),
                            .experts = 1 + (int)((bits >> 8 & 0xff) % (small   ? 12
                                                                       : large ? 256
                                                                               : 40)),
                            .tokens = 1 + (int)((bits >> 16 & 0xff) % (small   ? 5
                                                                       : large ? 128
                                                                               : 24)),
                            .row_bytes = rows[(bits >> 24 & 0xff) % kinds],
                            .back_bytes = bits >> 32 & 1 ? 0 : rows[(bits >> 33 & 0xff) % kinds]};
    x->back = x->desc.back_bytes != 0 ? x->desc.back_bytes : x->desc.row_bytes;
    x->each = (x->desc.experts + x->members - 1) / x->members;
    x->chosen = calloc((size_t)(x->members * x->desc.tokens * x->desc.topk), sizeof(*x->chosen));
    return TEST(run->env, x->chosen != NULL) &&
           TEST_EQ(run->env, weft_ccl_moe_open(run->ccl, &x->desc, &x->moe), WEFT_OK);
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void reserve_all(struct run *run, const struct mixture *x, int count)
{
    struct {
        size_t row, all, chosen, target;
    } most = {0, 0, 0, 0};

    for (int i = 0; i < count; i++) {
        const size_t tokens = (size_t)x[i].desc.tokens;
        const size_t places = (size_t)(x[i].each * x[i].members) * tokens;
        most.row = larger(most.row, tokens * x[i].desc.row_bytes);
        most.all = larger(most.all, places * larger(x[i].desc.row_bytes, x[i].back));
        most.chosen = larger(most.chosen, places + tokens * 8);
        most.target = larger(most.target, tokens * x[i].back);
    }
    reserve(run, &run->rows, most.row);
    reserve(run, &run->out, most.all);
    reserve(run, &run->target, most.target);
    reserve(run, &run->chosen, most.chosen * 4);
    reserve(run, &run->counts, most.chosen * 4);
    reserve(run, &run->origin, most.chosen * 4);
    reserve(run, &run->weights, most.chosen * 4);
}

static void release_all(struct run *run)
{
    struct memory *const all[] = {&run->rows,   &run->out,    &run->target, &run->chosen,
                                  &run->counts, &run->origin, &run->weights};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (run->apart)
            free(all[i]->host);
}

/* Two mixtures in turns. Calls go on after a failure, since others wait for them. */
static void try_shapes(struct run *run, uint64_t key)
{
    static const weft_type types[] = {WEFT_BF16, WEFT_F32, WEFT_F16};
    const int rounds = run->env->random ? 2 : ROUNDS;
    struct mixture x[2] = {{.key = 0}, {.key = 0}};

    if (!open_mixture(run, &x[0], key) || !open_mixture(run, &x[1], key + 1))
        return;
    reserve_all(run, x, 2);
    for (int i = 0; i < rounds; i++) {
        const uint64_t bits = test_mix(key + 1000 + (uint64_t)i);
        struct mixture *const one = &x[bits & 1], *const two = &x[~bits & 1];
        for (uint64_t again = 0; again <= (bits >> 1 & 1); again++) {
            draw_batch(one, bits + again);
            dispatch(run, one);
        }
        if (bits & 4)
            other(run, bits);
        if (bits & 8) {
            draw_batch(two, bits + 2);
            dispatch(run, two);
        }
        for (uint64_t again = 0; again <= (bits >> 4 & 1); again++)
            combine(run, one, types[(bits >> 8) % 3]);
        if (bits & 8)
            combine(run, two, types[(bits >> 16) % 3]);
    }
    for (int k = 0; k < 2; k++) {
        TEST_EQ(run->env, weft_ccl_moe_close(&x[k].moe), WEFT_OK);
        free(x[k].chosen);
    }
    release_all(run);
}

/* A call goes on without the choices that are wrong; which they are, check says. */
static void try_wrong(struct run *run)
{
    struct test_env *const env = run->env;
    struct mixture x = {.key = 0};
    char text[64];
    bool found = false;

    if (!open_mixture(run, &x, env->seed + 5))
        return;
    reserve_all(run, &x, 1);
    x.wrong = true;
    for (uint64_t i = 0; !found; i++) { /* until this member has a wrong one: all draw alike */
        found = true;
        draw_batch(&x, env->seed + i);
        for (int m = 0; m < x.members; m++) {
            bool some = false;
            for (int t = 0; t < x.tokens[m]; t++)
                for (int k = 0; k < x.desc.topk; k++)
                    some = some || (chosen_of(&x, m, t)[k] != NONE && taken(&x, m, t, k) == NONE);
            found = found && some;
        }
    }
    dispatch(run, &x);
    combine(run, &x, WEFT_F32);
    env->expect = WEFT_ERR_ARGUMENT;
    TEST_EQ(env, weft_ccl_check(run->ccl), WEFT_ERR_ARGUMENT);
    for (int i = 0; i < 60000 && strstr(weft_error(env->job), "chose expert") == NULL; i++)
        usleep(1000); /* the processes agree on the error first */
    found = false;
    for (int t = 0; t < x.tokens[run->me]; t++)
        for (int k = 0; k < x.desc.topk; k++)
            if (taken(&x, run->me, t, k) == NONE) {
                snprintf(text, sizeof(text), "token %d chose expert %d,", t,
                         (int)chosen_of(&x, run->me, t)[k]);
                found = found || strstr(weft_error(env->job), text) != NULL;
            }
    TEST(env, found || x.members > 1); /* the job's error is the first member's */
    free(x.chosen);
    release_all(run);
}

static int body(struct test_env *env)
{
    const int shapes = env->brief ? 3 : (SHAPES + 2 * MEMBERS) / (1 + env->numbers->processes);
    struct run run = {
        .env = env, .apart = weft_process_kind(env->job, env->numbers->process) == WEFT_KIND_CUDA};
    const weft_status status = weft_ccl_open(env->job, WEFT_COMM_HOST, 0, &run.ccl);

    if (status == WEFT_ERR_UNSUPPORTED)
        return TEST_SKIPPED;
    if (!TEST_EQ(env, status, WEFT_OK))
        return TEST_FAILED;
    run.me = weft_ccl_me(run.ccl);
    if (env->only != NULL) {
        try_wrong(&run);
        return TEST_PASSED;
    }
    for (int i = 0; i < shapes * env->scale || i < 1; i++)
        try_shapes(&run, env->seed * 7919u + (uint64_t)i * 4);
    TEST_EQ(env, weft_ccl_check(run.ccl), WEFT_OK);
    TEST_EQ(env, weft_ccl_close(&run.ccl), WEFT_OK);
    return TEST_PASSED;
}

int main(int argc, char **argv)
{
    return test_main(argc, argv, body);
}

#endif
