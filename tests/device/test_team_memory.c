/*
 * Collectives of host programs on memory of the device: each with its source, its target or both
 * there, in place and not, byte by byte against what one process computes. What a member does not
 * receive stays as it was. Then the same in a team that declares its memory, whose reductions are
 * launched. Where the device is the CPU all memory is the host's;
 * test_far_team_memory has the stand-in for a GPU.
 */
#ifndef __CUDACC__ /* no kernel */
#include "ccl/ccl.h"
#include "coll/host/plan.h"
#include "support/test.h"

#include "weft/team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MEMBERS = 8, PIECE = 41011, GAP = 13, GROUP = 9 };
enum { MOST = MOST_MEMBERS * (PIECE + GAP) + 64 };

/* One collective: what it is called with, and what must be at the target of this process then. */
struct round {
    weft_team *team;
    int n, me, root;
    size_t piece; /* bytes */
    unsigned char *source, *target, *want;
    bool in_place;
    const weft_combine *operation;
    size_t sizes[MOST_MEMBERS], offsets[MOST_MEMBERS];
    weft_team_op *op;
};

static unsigned char given(int member, size_t i)
{
    return test_byte((uint64_t)member * 977 + 5, i);
}

/* ---- operations ------------------------------------------------------------------------------ */

/* Maps x -> a x + b, put together: the order of members matters. */
static void chain(const weft_combine *combine, const void *from, void *into, size_t count)
{
    const unsigned char *low = from;
    unsigned char *high = into;

    (void)combine;
    for (size_t i = 0; i < count; i++, low += 2, high += 2) {
        high[1] = (unsigned char)(low[0] * high[1] + low[1]);
        high[0] = (unsigned char)(low[0] * high[0]);
    }
}

static void add(const weft_combine *combine, const void *from, void *into, size_t count)
{
    const unsigned char *a = from;
    unsigned char *b = into;

    for (size_t i = 0; i < count * combine->bytes; i++)
        b[i] = (unsigned char)(b[i] + a[i]);
}

static const weft_combine operations[] = {{.combine = add,
                                           .bytes = 1,
                                           .commutes = 1,
                                           .known = 1,
                                           .element = WEFT_U8,
                                           .function = WEFT_SUM},
                                          {.combine = chain, .bytes = 2}};

/* What members `first` to `last` give from `at` on, put together. */
static void expect_sum(const struct round *r, int first, int last, size_t at, size_t count)
{
    unsigned char *const next = malloc(count * r->operation->bytes + 1);

    for (int m = first; m <= last; m++) {
        for (size_t i = 0; i < count * r->operation->bytes; i++)
            next[i] = given(m, at + i);
        if (m > first)
            r->operation->combine(r->operation, r->want, next, count);
        memcpy(r->want, next, count * r->operation->bytes);
    }
    free(next);
}

static void expect_piece(const struct round *r, size_t at, int member, size_t from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        r->want[at + i] = given(member, from + i);
}

static size_t elements(const struct round *r)
{
    return r->piece / r->operation->bytes;
}

/* ---- collectives: each begins, and says what is wanted --------------------------------------- */

static weft_status reduce(struct round *r)
{
    if (r->me == r->root)
        expect_sum(r, 0, r->n - 1, 0, elements(r));
    return weft_team_reduce(r->team, r->root, r->source, r->target, elements(r), r->operation,
                            &r->op);
}

static weft_status allreduce(struct round *r)
{
    expect_sum(r, 0, r->n - 1, 0, elements(r));
    return weft_team_allreduce(r->team, r->source, r->target, elements(r), r->operation, &r->op);
}

static weft_status reduce_scatter(struct round *r)
{
    size_t counts[MOST_MEMBERS], at = 0;

    for (int m = 0; m < r->n; m++) {
        counts[m] = r->sizes[m] / r->operation->bytes;
        at += m < r->me ? counts[m] * r->operation->bytes : 0;
    }
    expect_sum(r, 0, r->n - 1, at, counts[r->me]);
    return weft_team_reduce_scatter(r->team, r->source, r->target, counts, r->operation, &r->op);
}

static weft_status scan(struct round *r)
{
    expect_sum(r, 0, r->me, 0, elements(r));
    return weft_team_scan(r->team, 0, r->source, r->target, elements(r), r->operation, &r->op);
}

static weft_status scan_before(struct round *r)
{
    expect_sum(r, 0, r->me - 1, 0, elements(r));
    return weft_team_scan(r->team, 1, r->source, r->target, elements(r), r->operation, &r->op);
}

static weft_status broadcast(struct round *r)
{
    if (r->me != r->root)
        expect_piece(r, 0, r->root, 0, r->piece);
    return weft_team_broadcast(r->team, r->root, r->me == r->root ? r->source : r->target, r->piece,
                               &r->op);
}

/* What a member gives to a gather; in place its piece is where the root's are. */
static const unsigned char *own(const struct round *r, size_t at)
{
    return !r->in_place ? r->source : r->me == r->root ? NULL : r->source + at;
}

static weft_status gather(struct round *r)
{
    for (int m = 0; m < r->n && r->me == r->root; m++)
        expect_piece(r, r->piece * (size_t)m, m, r->in_place ? r->piece * (size_t)m : 0, r->piece);
    return weft_team_gather(r->team, r->root, own(r, r->piece * (size_t)r->me), r->piece, r->target,
                            &r->op);
}

static weft_status gather_sizes(struct round *r)
{
    for (int m = 0; m < r->n && r->me == r->root; m++)
        expect_piece(r, r->offsets[m], m, r->in_place ? r->offsets[m] : 0, r->sizes[m]);
    return weft_team_gather_sizes(r->team, r->root, own(r, r->offsets[r->me]), r->sizes[r->me],
                                  r->target, r->sizes, r->offsets, &r->op);
}

static weft_status scatter(struct round *r)
{
    const bool own = r->in_place && r->me == r->root;

    if (!own)
        expect_piece(r, 0, r->root, r->piece * (size_t)r->me, r->piece);
    return weft_team_scatter(r->team, r->root, r->source, own ? NULL : r->target, r->piece, &r->op);
}

static weft_status scatter_sizes(struct round *r)
{
    const bool own = r->in_place && r->me == r->root;

    if (!own)
        expect_piece(r, 0, r->root, r->offsets[r->me], r->sizes[r->me]);
    return weft_team_scatter_sizes(r->team, r->root, r->source, r->sizes, r->offsets,
                                   own ? NULL : r->target, r->sizes[r->me], &r->op);
}

static weft_status allgather(struct round *r)
{
    for (int m = 0; m < r->n; m++)
        expect_piece(r, r->piece * (size_t)m, m, r->in_place ? r->piece * (size_t)m : 0, r->piece);
    return weft_team_allgather(r->team, r->in_place ? NULL : r->source, r->piece, r->target,
                               &r->op);
}

static weft_status allgather_sizes(struct round *r)
{
    for (int m = 0; m < r->n; m++)
        expect_piece(r, r->offsets[m], m, r->in_place ? r->offsets[m] : 0, r->sizes[m]);
    return weft_team_allgather_sizes(r->team, r->in_place ? NULL : r->source, r->target, r->sizes,
                                     r->offsets, &r->op);
}

static weft_status alltoall(struct round *r)
{
    for (int m = 0; m < r->n; m++)
        expect_piece(r, r->piece * (size_t)m, m, r->piece * (size_t)r->me, r->piece);
    return weft_team_alltoall(r->team, r->source, r->target, r->piece, &r->op);
}

/* Member i sends as many bytes to each other as its own piece has. */
static weft_status exchange(struct round *r)
{
    weft_piece sends[MOST_MEMBERS], receives[MOST_MEMBERS];

    for (int m = 0; m < r->n; m++) {
        sends[m] = (weft_piece){r->source + r->offsets[m], r->sizes[r->me], m};
        receives[m] = (weft_piece){r->target + r->offsets[m], r->sizes[m], m};
        expect_piece(r, r->offsets[m], m, r->offsets[r->me], r->sizes[m]);
    }
    return weft_team_exchange(r->team, WEFT_TEAM_EXCHANGE, sends, (size_t)r->n, receives,
                              (size_t)r->n, &r->op);
}

static const struct {
    const char *name;
    weft_status (*begin)(struct round *r);
    bool in_place, reduces;
} collectives[] = {
    {"reduce", reduce, true, true},
    {"allreduce", allreduce, true, true},
    {"reduce_scatter", reduce_scatter, true, true},
    {"scan", scan, true, true},
    {"scan_before", scan_before, false, true},
    {"broadcast", broadcast, false, false},
    {"gather", gather, true, false},
    {"gather_sizes", gather_sizes, true, false},
    {"scatter", scatter, true, false},
    {"scatter_sizes", scatter_sizes, true, false},
    {"allgather", allgather, true, false},
    {"allgather_sizes", allgather_sizes, true, false},
    {"alltoall", alltoall, false, false},
    {"exchange", exchange, false, false},
};
enum { COLLECTIVES = sizeof(collectives) / sizeof(*collectives) };

/* ---- one of them, in one way ----------------------------------------------------------------- */

/* Memory of the host, and of the device. */
struct places {
    unsigned char *source[2], *target[2];
};

static void make(struct round *r, size_t piece)
{
    size_t at = 3;

    r->piece = piece;
    for (int m = 0; m < r->n; m++) {
        r->sizes[m] = (piece + (size_t)m * 7) % (piece + GAP);
        r->offsets[m] = at;
        at += r->sizes[m] + (size_t)m % 3;
    }
}

static void check(struct test_env *env, struct round *r, const struct places *places, int which,
                  int ends)
{
    const size_t all = (size_t)r->n * (r->piece + GAP) + 64;
    unsigned char *const image = malloc(3 * MOST), *const got = image + MOST;
    unsigned char *const want = r->want = got + MOST;

    for (size_t i = 0; i < all; i++) {
        image[i] = given(r->me, i);
        want[i] = r->in_place ? image[i] : (unsigned char)~test_byte(77, i);
    }
    r->target = places->target[ends >> 1];
    r->source = r->in_place ? r->target : places->source[ends & 1];
    TEST_OK(env, weft_copy(env->job, r->source, image, all));
    TEST_OK(env, weft_copy(env->job, r->target, want, all));
    TEST_OK(env, collectives[which].begin(r));
    TEST_OK(env, weft_team_wait(&r->op));
    TEST_OK(env, weft_copy(env->job, got, r->target, all));
    bool good = memcmp(got, want, all) == 0;
    TEST_OK(env, weft_copy(env->job, got, r->source, all));
    good &= r->in_place || memcmp(got, image, all) == 0;
    if (!TEST(env, good))
        fprintf(stderr, "%s of %zu bytes, ends %d%s, root %d\n", collectives[which].name, r->piece,
                ends, r->in_place ? ", in place" : "", r->root);
    free(image);
}

static void one(struct test_env *env, struct round *r, const struct places *places, int which,
                bool far_alone)
{
    for (int ends = far_alone ? 2 : 0; ends < 4; ends++) {
        r->in_place = false;
        if (!far_alone || ends == 3)
            check(env, r, places, which, ends);
        if (!collectives[which].in_place || ends % 2 != 0)
            continue;
        r->in_place = true;
        check(env, r, places, which, ends);
    }
}

static void all_of(struct test_env *env, struct round *r, const struct places *places,
                   bool far_alone)
{
    static const size_t pieces[] = {0, 2, 23, 254, 1001, 2051, 13003, PIECE};

    for (size_t p = 0; p < sizeof(pieces) / sizeof(*pieces); p += env->brief ? 3 : 1)
        for (int which = 0; which < COLLECTIVES; which++) {
            make(r, pieces[p]);
            r->root = (int)(p + (size_t)which) % r->n;
            r->operation = &operations[1];
            one(env, r, places, which, far_alone);
            r->operation = &operations[0];
            if (collectives[which].reduces)
                one(env, r, places, which, far_alone);
        }
}

/* Whether all members are on devices that are given calls, and map each other's memory. */
static bool can_launch(const struct test_env *env)
{
    const struct weft_process *const processes = env->job->processes;
    bool can = env->job->device_ops->launch != NULL;

    for (int p = 0; p < env->numbers->processes; p++)
        can = can && processes[p].kind == processes[0].kind &&
              (p == env->numbers->process || processes[p].mapped);
    return can;
}

static void declare(struct test_env *env, weft_team *team, int own, int want)
{
    int taken = 2;

    TEST_OK(env, weft_team_device(team, own, &taken));
    TEST_EQ(env, taken, want);
}

/* All members declare that their memory is the devices': reductions are launched. */
static void declared(struct test_env *env, struct round *r, const struct places *places)
{
    weft_team *other;

    declare(env, r->team, r->me != r->n - 1, 0);
    declare(env, r->team, 1, can_launch(env));
    all_of(env, r, places, true);
    if (!can_launch(env))
        return;
    unsigned char *const want = r->want = malloc(MOST);
    r->source = places->source[1];
    r->target = places->target[1];
    r->operation = &operations[0];
    make(r, 100);
    TEST_OK(env, allreduce(r));
    TEST_EQ(env, r->op->launched, 1);
    TEST_OK(env, weft_team_wait(&r->op));
    r->source = places->source[0];
    TEST_EQ(env, allreduce(r), WEFT_ERR_ARGUMENT);
    r->source = places->source[1];
    r->target = places->target[0];
    TEST_EQ(env, allreduce(r), WEFT_ERR_ARGUMENT);
    env->expect = WEFT_ERR_ARGUMENT; /* of weft_close */
    TEST_OK(env, weft_team_open(env->job, WEFT_COMM_HOST, r->n, r->me, "other", NULL, &other));
    declare(env, other, 1, 0);
    declare(env, r->team, 0, 0);
    declare(env, other, 1, 1);
    TEST_OK(env, weft_team_close(&other));
    all_of(env, r, places, false);
    free(want);
}

static int body(struct test_env *env)
{
    const int n = env->numbers->processes;
    struct round r = {.n = n, .me = env->numbers->process};
    static const int processes[MOST_MEMBERS] = {0, 1, 2, 3, 4, 5, 6, 7};
    static const enum test_memory kinds[] = {TEST_HOST, TEST_MAPPED};
    struct places places;
    weft_comm group;

    if (n > MOST_MEMBERS)
        return TEST_SKIPPED;
    for (int far = 0; far < 2; far++) { /* at odd addresses */
        places.source[far] = 1 + (unsigned char *)test_memory(env, kinds[far], MOST);
        places.target[far] = 1 + (unsigned char *)test_memory(env, kinds[far], MOST);
    }
    TEST_OK(env, weft_message_group_take(env->job, GROUP, processes, n, &group));
    TEST_OK(env, weft_team_open(env->job, group, n, r.me, "all", NULL, &r.team));
    all_of(env, &r, &places, false);
    declared(env, &r, &places);
    TEST_OK(env, weft_team_close(&r.team));
    TEST_OK(env, weft_message_group_give(env->job, &group));
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
