/*
 * net/conformance_suite.c - what ends that mean well may rely on: data, notices, their order,
 * words, and that nothing is dropped.
 */
#include "conformance.h"

#include <string.h>

static unsigned char byte_of(int sender, int number, size_t i)
{
    return (unsigned char)((unsigned)sender * 101 + (unsigned)number * 37 + i * 7 + 1);
}

/* Where a sender's share of everybody's memory begins. */
static size_t share_of(int sender)
{
    return (size_t)sender * END_SHARE;
}

void check_notices(struct end *end, int sender, uint32_t count)
{
    uint32_t wrong = 0;

    CHECK(end->all, end_await(end, sender, count));
    for (uint32_t i = 0; i < count; i++)
        wrong += end->notices[sender][i] != notice_of(i);
    CHECK(end->all, wrong == 0);
}

/* Every size, from nothing to many rings, to misaligned places: the notice after its own data. */
static void part_sizes(struct end *end)
{
    static const size_t sizes[] = {0,  1,  2,  3,   4,    7,    8,    9,    15,
                                   16, 63, 64, 500, 2007, 2008, 2009, 4096, 50001};
    enum { SIZES = sizeof(sizes) / sizeof(sizes[0]), MOST = 50001 };
    unsigned char *sources = end_sources(end, (size_t)SIZES * (MOST + 1));

    for (int i = 0; i < SIZES; i++) {
        unsigned char *source = sources + (size_t)i * (MOST + 1) + i % 2;
        for (size_t b = 0; b < sizes[i]; b++)
            source[b] = byte_of(end->me, i, b);
    }
    for (int to = 0; to < end->all->count; to++) {
        size_t offset = share_of(end->me) + 1;
        for (int i = 0; i < SIZES; i++) {
            CHECK(end->all, end_put(end, to, offset, sources + (size_t)i * (MOST + 1) + i % 2,
                                    sizes[i], notice_of((uint32_t)i), END_KEEP) == WEFT_OK);
            offset += sizes[i] + 1;
        }
    }
    for (int from = 0; from < end->all->count; from++) {
        size_t offset = share_of(from) + 1, wrong = 0;
        check_notices(end, from, SIZES);
        for (int i = 0; i < SIZES; i++) {
            for (size_t b = 0; b < sizes[i]; b++)
                wrong += end->memory[offset + b] != byte_of(from, i, b);
            offset += sizes[i];
            wrong += end->memory[offset++] != 0; /* between them nothing was written */
        }
        CHECK(end->all, wrong == 0);
    }
    end_settle(end);
    end_sources_free(end, sources);
}

/* More than fits, while nobody receives: refused, not dropped; of one word the newest value stays.
 */
static void part_pressure(struct end *end)
{
    enum { PUTS = 4000 };
    const int to = (end->me + 1) % end->all->count,
              from = end->me == 0 ? end->all->count - 1 : end->me - 1;
    uint64_t *values = end_sources(end, PUTS * sizeof(*values)), last;
    struct weft_net_put put = {
        .process = to, .key = end->all->end[to].key, .offset = share_of(end->me), .bytes = 8};
    weft_status status = WEFT_OK;
    int i = 0;

    __atomic_store_n(&end->hold, 1, __ATOMIC_RELEASE);
    end_meet(end);
    for (int n = 0; n < PUTS; n++)
        values[n] = (uint64_t)n + 1;
    for (; i < PUTS && status == WEFT_OK; i += status == WEFT_OK) {
        put.source = &values[i];
        put.notice = notice_of((uint32_t)i);
        status = end_try(end, &put, END_SPOIL);
    }
    CHECK(end->all, status == WEFT_OK || status == WEFT_NET_FULL);
    end_meet(end);
    __atomic_store_n(&end->hold, 0, __ATOMIC_RELEASE);
    for (; i < PUTS; i++)
        CHECK(end->all, end_put(end, to, share_of(end->me), &values[i], 8, notice_of((uint32_t)i),
                                END_SPOIL) == WEFT_OK);
    check_notices(end, from, PUTS);
    memcpy(&last, end->memory + share_of(from), sizeof(last));
    CHECK(end->all, last == PUTS);
    end_settle(end);
    end_sources_free(end, values);
}

/* The puts of part_turns: many short ones, then long and short ones by turns. */
enum { TURNS_SHORT = 600, TURNS = 900, TURNS_AHEAD = 50, TURN_BYTES = 2000 };

static struct weft_net_put turn_put(const struct end *end, const unsigned char *sources, int i)
{
    const int to = (end->me + 1) % end->all->count;
    const bool is_short = i < TURNS_SHORT || i % 2 != 0;

    return (struct weft_net_put){.process = to,
                                 .key = end->all->end[to].key,
                                 .offset = share_of(end->me) + (is_short ? 0 : 64),
                                 .source = sources + (size_t)i * TURN_BYTES,
                                 .bytes = is_short ? 8 : TURN_BYTES,
                                 .notice = notice_of((uint32_t)i)};
}

/* While nobody receives: what a network sends in another way does not overtake. */
static void part_turns(struct end *end)
{
    const int from = (end->me + end->all->count - 1) % end->all->count;
    const int all = TURNS + 2 * TURNS_AHEAD; /* every second one of those ahead: long ones */
    unsigned char *sources = end_sources(end, (size_t)all * TURN_BYTES);
    weft_status status = WEFT_OK;
    uint32_t wrong = 0;
    int i, tries = 0;

    for (i = 0; i < all; i++)
        memset(sources + (size_t)i * TURN_BYTES, i % 255 + 1, TURN_BYTES);
    for (i = 0; i < TURNS_AHEAD; i++) { /* until both ways are known */
        const struct weft_net_put put = turn_put(end, sources, TURNS + 2 * i);
        CHECK(end->all, end_insist(end, &put, END_SPOIL) == WEFT_OK);
        end_move(end);
    }
    end_settle(end);
    __atomic_store_n(&end->hold, 1, __ATOMIC_RELEASE);
    end_meet(end);
    for (i = 0; i < TURNS && tries < 500; i += status == WEFT_OK) {
        const struct weft_net_put put = turn_put(end, sources, i);
        status = end_try(end, &put, END_SPOIL);
        CHECK(end->all, status == WEFT_OK || status == WEFT_NET_FULL);
        tries += status == WEFT_NET_FULL;
        end_move(end);
    }
    end_meet(end);
    __atomic_store_n(&end->hold, 0, __ATOMIC_RELEASE);
    for (status = WEFT_OK; i < TURNS && status == WEFT_OK; i++) {
        const struct weft_net_put put = turn_put(end, sources, i);
        status = end_insist(end, &put, END_SPOIL);
    }
    CHECK(end->all, status == WEFT_OK);
    check_notices(end, from, TURNS);
    for (i = 0; i < TURN_BYTES; i++)
        wrong += end->memory[share_of(from) + 64 + (size_t)i] != (TURNS - 2) % 255 + 1;
    CHECK(end->all, wrong == 0);
    end_settle(end);
    end_sources_free(end, sources);
}

/* What came in one packet is said to have arrived once, behind all of its notices. */
static void part_together(struct end *end)
{
    enum { NOTICES = 60 };
    const int to = (end->me + 1) % end->all->count,
              from = (end->me + end->all->count - 1) % end->all->count;
    const uint32_t before = end->brought;
    struct weft_net_caps caps;
    uint32_t brought;
    int tried = 0;

    weft_net_caps(end->net, &caps);
    __atomic_store_n(&end->hold, 1, __ATOMIC_RELEASE);
    end_meet(end);
    for (; tried < NOTICES; tried++) { /* as many as go */
        const struct weft_net_put put = {.process = to, .notice = notice_of((uint32_t)tried)};
        if (end_try(end, &put, END_KEEP) != WEFT_OK)
            break;
    }
    end_meet(end);
    __atomic_store_n(&end->hold, 0, __ATOMIC_RELEASE);
    for (; tried < NOTICES; tried++)
        CHECK(end->all,
              end_put(end, to, 0, NULL, 0, notice_of((uint32_t)tried), END_KEEP) == WEFT_OK);
    check_notices(end, from, NOTICES);
    end_settle(end);
    brought = __atomic_load_n(&end->brought, __ATOMIC_ACQUIRE) - before;
    CHECK(end->all, brought > 0 && brought <= NOTICES);
    CHECK(end->all, caps.tells_when_asked || brought < NOTICES / 2); /* few packets were let go */
}

/* Data without a notice, nothing, then a notice without data: all that was put before is there. */
static void part_apart(struct end *end)
{
    enum { ROUNDS = 40, BYTES = 3000 };
    unsigned char *sources = end_sources(end, (size_t)ENDS_MOST * ROUNDS * BYTES);

    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (int to = 0; to < end->all->count; to++) {
            unsigned char *source = sources + ((size_t)to * ROUNDS + round) * BYTES;
            memset(source, (int)round + 1, BYTES);
            CHECK(end->all,
                  end_put(end, to, share_of(end->me) + 77, source, BYTES, 0, END_SPOIL) == WEFT_OK);
            CHECK(end->all, end_put(end, to, 0, NULL, 0, 0, END_KEEP) == WEFT_OK);
            CHECK(end->all, end_put(end, to, 0, NULL, 0, notice_of(round), END_KEEP) == WEFT_OK);
        }
        for (int from = 0; from < end->all->count; from++) {
            const unsigned char *there = end->memory + share_of(from) + 77;
            CHECK(end->all, end_await(end, from, round + 1));
            CHECK(end->all, there[0] == round + 1 && there[BYTES - 1] == round + 1);
        }
        end_meet(end); /* before the next round changes it */
    }
    end_settle(end);
    end_sources_free(end, sources);
}

/* Several rows as one put, between puts into the gaps and onto a row that it brought. */
static void part_rows(struct end *end)
{
    enum { ROUNDS = 40, ROWS = 5, WIDTH = 250, PITCH = 300, FROM_PITCH = 270, AREA = ROWS * PITCH };
    struct weft_net_caps caps;

    weft_net_caps(end->net, &caps);
    if (caps.rows_bytes < ROWS * WIDTH)
        return;
    unsigned char *sources = end_sources(end, (size_t)ENDS_MOST * ROUNDS * 3 * AREA);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (int to = 0; to < end->all->count; to++) {
            unsigned char *source = sources + ((size_t)to * ROUNDS + round) * 3 * AREA;
            const size_t offset = share_of(end->me) + 64;
            struct weft_net_put put = {.process = to,
                                       .key = end->all->end[to].key,
                                       .offset = offset,
                                       .source = source + AREA,
                                       .bytes = WIDTH,
                                       .rows = ROWS,
                                       .pitch = PITCH,
                                       .source_pitch = FROM_PITCH};
            memset(source, 200, AREA);
            memset(source + 2 * AREA, 200, WIDTH / 2);
            for (int row = 0; row < ROWS; row++)
                memset(source + AREA + row * FROM_PITCH, (int)round + row + 1, WIDTH);
            CHECK(end->all, end_put(end, to, offset, source, AREA, 0, END_SPOIL) == WEFT_OK);
            CHECK(end->all, end_insist(end, &put, END_SPOIL) == WEFT_OK);
            CHECK(end->all, end_put(end, to, offset + 2 * PITCH, source + 2 * AREA, WIDTH / 2,
                                    notice_of(round), END_SPOIL) == WEFT_OK);
        }
        for (int from = 0; from < end->all->count; from++) {
            const unsigned char *there = end->memory + share_of(from) + 64;
            size_t wrong = 0;
            CHECK(end->all, end_await(end, from, round + 1));
            for (size_t i = 0; i < AREA; i++) {
                const bool gap = i % PITCH >= WIDTH,
                           after = i / PITCH == 2 && i % PITCH < WIDTH / 2;
                wrong += there[i] != (gap || after ? 200 : round + i / PITCH + 1);
            }
            CHECK(end->all, wrong == 0);
        }
        end_meet(end); /* before the next round changes it */
    }
    end_settle(end);
    end_sources_free(end, sources);
}

/* The generator of the overlapping puts: both sides draw the same. */
struct rewrite {
    size_t offset, bytes;
    unsigned char value;
};

static struct rewrite next_rewrite(uint32_t *state, size_t area)
{
    struct rewrite r;

    *state = *state * 1664525u + 1013904223u;
    r.bytes = (*state >> 8) % 300 + 1;
    *state = *state * 1664525u + 1013904223u;
    r.offset = (*state >> 8) % (area - r.bytes);
    r.value = (unsigned char)(*state >> 3 | 1);
    return r;
}

/* Puts that overlap earlier ones at random: the newest wins, byte by byte. */
static void part_rewrites(struct end *end)
{
    enum { PUTS = 800, AREA = 1000 };
    unsigned char *sources = end_sources(end, (size_t)ENDS_MOST * PUTS * 300), want[AREA];

    memset(end->memory, 0, END_MEMORY);
    end_meet(end);
    for (int to = 0; to < end->all->count; to++) {
        uint32_t state = (uint32_t)(end->me * 7 + to);
        for (int i = 0; i < PUTS; i++) {
            const struct rewrite r = next_rewrite(&state, AREA);
            unsigned char *source = sources + ((size_t)to * PUTS + (size_t)i) * 300;
            memset(source, r.value, r.bytes);
            CHECK(end->all, end_put(end, to, share_of(end->me) + r.offset, source, r.bytes,
                                    i == PUTS - 1 ? notice_of(0) : 0, END_SPOIL) == WEFT_OK);
        }
    }
    for (int from = 0; from < end->all->count; from++) {
        uint32_t state = (uint32_t)(from * 7 + end->me);
        memset(want, 0, sizeof(want));
        for (int i = 0; i < PUTS; i++) {
            const struct rewrite r = next_rewrite(&state, AREA);
            memset(want + r.offset, r.value, r.bytes);
        }
        check_notices(end, from, 1);
        CHECK(end->all, memcmp(end->memory + share_of(from), want, AREA) == 0);
    }
    end_settle(end);
    end_sources_free(end, sources);
}

static uint64_t peek(const unsigned char *address, int bytes)
{
    switch (bytes) {
    case 2:
        return __atomic_load_n((const uint16_t *)(const void *)address, __ATOMIC_ACQUIRE);
    case 4:
        return __atomic_load_n((const uint32_t *)(const void *)address, __ATOMIC_ACQUIRE);
    default:
        return __atomic_load_n((const uint64_t *)(const void *)address, __ATOMIC_ACQUIRE);
    }
}

/* Aligned words that are polled while they are put arrive undivided. */
static void part_words(struct end *end)
{
    enum { PUTS = 1500 };
    const int count = end->all->count, to = (end->me + 1) % count,
              from = (end->me + count - 1) % count;
    uint64_t *values = end_sources(end, PUTS * sizeof(*values));
    uint32_t divided = 0;

    memset(end->memory, 0, END_MEMORY);
    end_meet(end);
    for (int i = 0; i < PUTS; i++) {
        const int width = i % 3 + 1; /* 2, 4 and 8 bytes, each in a line of its own */
        memset(&values[i], i % 255 + 1, sizeof(values[i]));
        CHECK(end->all, end_put(end, to, share_of(end->me) + (size_t)width * 64, &values[i],
                                (size_t)1 << width, 0, END_SPOIL) == WEFT_OK);
        for (int w = 1; w <= 3; w++) {
            const uint64_t seen = peek(end->memory + share_of(from) + w * 64, 1 << w);
            uint64_t all = 0;
            memset(&all, (int)(seen & 0xff), (size_t)1 << w);
            divided += seen != all;
        }
    }
    CHECK(end->all, divided == 0);
    CHECK(end->all, end_put(end, to, 0, NULL, 0, notice_of(0), END_KEEP) == WEFT_OK);
    check_notices(end, from, 1);
    CHECK(end->all, end->memory[share_of(from) + 3 * 64 + 7] == (PUTS - 1) % 255 + 1);
    end_settle(end);
    end_sources_free(end, values);
}

void suite(struct end *end, int unused)
{
    (void)unused;
    part_sizes(end);
    part_pressure(end);
    part_turns(end);
    part_together(end);
    part_apart(end);
    part_rows(end);
    part_rewrites(end);
    part_words(end);
    uint32_t beyond = 0;
    for (size_t i = END_MEMORY; i < END_SPACE; i++)
        beyond += end->memory[i] != 0;
    CHECK(end->all, beyond == 0);
}
