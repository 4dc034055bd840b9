/*
 * Long parts of collectives that wait (coll/host/shared.h): members copy straight between each
 * other's memory, and no message carries them. All calls, in place and not, in sizes around those
 * at which a call goes another way; operands keep their order.
 */
#include "coll/host/shared.h"

#include "weft/weft.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MEMBERS = 3, WORDS = 8192 + 8 };

static uint64_t word(int turn, int from, size_t i)
{
    return (uint64_t)turn << 48 ^ (uint64_t)(from + 1) << 32 ^ i;
}

/* x -> m x + c, with m in the upper half: one after the other, which does not commute. */
static uint64_t compose(uint64_t outer, uint64_t inner)
{
    const uint32_t m = (uint32_t)(outer >> 32);

    return (uint64_t)(m * (uint32_t)(inner >> 32)) << 32 |
           (uint32_t)(m * (uint32_t)inner + (uint32_t)outer);
}

static void put_behind(const weft_combine *combine, const void *from, void *into, size_t count)
{
    const uint64_t *a = from;
    uint64_t *b = into;

    (void)combine;
    for (size_t i = 0; i < count; i++)
        b[i] = compose(a[i], b[i]);
}

static const weft_combine behind = {.combine = put_behind, .bytes = sizeof(uint64_t)};

static uint64_t reduced(int turn, size_t i)
{
    uint64_t sum = word(turn, MEMBERS - 1, i);

    for (int from = MEMBERS - 2; from >= 0; from--)
        sum = compose(word(turn, from, i), sum);
    return sum;
}

struct side {
    weft_team *team;
    int me, turn;
    uint64_t *out, *in; /* a block of each member */
};

static void fill(struct side *s, size_t n)
{
    s->turn++;
    for (size_t i = 0; i < n * MEMBERS; i++) {
        s->out[i] = word(s->turn, s->me, i);
        s->in[i] = 0;
    }
}

/* Blocks of n words; those of member i begin at word i * each of what it has. */
static bool blocks_are(const struct side *s, size_t n, size_t each, size_t at)
{
    for (int from = 0; from < MEMBERS; from++)
        for (size_t i = 0; i < n; i++)
            if (s->in[(size_t)from * n + i] != word(s->turn, from, (size_t)from * each + at + i))
                return false;
    return true;
}

static bool sums_are(const struct side *s, const uint64_t *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (at[i] != reduced(s->turn, i))
            return false;
    return true;
}

static bool moves(struct side *s, size_t n)
{
    const size_t bytes = n * sizeof(uint64_t);
    const int root = (int)(n % MEMBERS);
    bool good = true;

    fill(s, n);
    uint64_t *data = s->me == root ? s->out : s->in;
    good &= weft_team_broadcast(s->team, root, data, bytes, NULL) == WEFT_OK;
    for (size_t i = 0; i < n; i++)
        good &= data[i] == word(s->turn, root, i);
    good &= n == 0 || s->me == root || data[n] == 0; /* nothing behind it */
    fill(s, n);
    good &= weft_team_gather(s->team, root, s->out, bytes, s->in, NULL) == WEFT_OK &&
            (s->me != root || blocks_are(s, n, 0, 0));
    fill(s, n);
    good &= weft_team_allgather(s->team, s->out, bytes, s->in, NULL) == WEFT_OK &&
            blocks_are(s, n, 0, 0);
    fill(s, n);
    memcpy(s->in + (size_t)s->me * n, s->out + (size_t)s->me * n, bytes);
    good &=
        weft_team_allgather(s->team, NULL, bytes, s->in, NULL) == WEFT_OK && blocks_are(s, n, n, 0);
    fill(s, n);
    good &= weft_team_alltoall(s->team, s->out, s->in, bytes, NULL) == WEFT_OK &&
            blocks_are(s, n, 0, (size_t)s->me * n);
    return good;
}

static bool reduces(struct side *s, size_t n)
{
    const int root = (int)(n % MEMBERS);
    bool good = true;

    for (int in_place = 0; in_place < 2; in_place++) {
        fill(s, n);
        uint64_t *into = in_place ? s->out : s->in;
        good &= weft_team_allreduce(s->team, s->out, into, n, &behind, NULL) == WEFT_OK &&
                sums_are(s, into, n);
        fill(s, n);
        good &= weft_team_reduce(s->team, root, s->out, s->me == root ? into : NULL, n, &behind,
                                 NULL) == WEFT_OK &&
                (s->me != root || sums_are(s, into, n));
    }
    return good;
}

static int member(void *argument)
{
    static const size_t sizes[] = {0, 1, 2048, 2049, 2730, 2731, 4096, 5000, 8191, 8192};
    weft_job *job;
    struct side s = {.turn = 0};

    (void)argument;
    if (weft_open(&job, NULL, NULL) != WEFT_OK)
        return 1;
    s.me = weft_numbers_of(job)->process;
    s.out = malloc(MEMBERS * WORDS * sizeof(uint64_t));
    s.in = malloc(MEMBERS * WORDS * sizeof(uint64_t));
    if (s.out == NULL || s.in == NULL ||
        weft_team_open(job, WEFT_COMM_HOST, MEMBERS, s.me, "all", NULL, &s.team) != WEFT_OK ||
        weft_team_barrier(s.team, NULL) != WEFT_OK || s.team->parts == NULL)
        return 1;
    const struct weft_messages *m = s.team->of->messages;
    const unsigned long long messages = m->eager + m->offers;
    bool good = true;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
        good = moves(&s, sizes[i]) && good;
    good = good && m->eager + m->offers == messages;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
        good = reduces(&s, sizes[i]) && good;
    good = weft_team_close(&s.team) == WEFT_OK && good;
    free(s.out);
    free(s.in);
    return weft_close(job) != WEFT_OK || !good;
}

static void straight(void **state)
{
    (void)state;
    assert_int_equal(weft_local_job(MEMBERS, member, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(straight)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
