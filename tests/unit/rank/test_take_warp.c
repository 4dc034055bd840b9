/*
 * How the first warp of a rank on a GPU takes what several channels bring (rank/wait/take_cuda.h),
 * without a GPU: an emulated warp, and senders that write the lines of their messages in any order.
 */
#include "rank/path/dispatch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/warp.h"

static void subtract(uint32_t *from, uint32_t value)
{
    *from -= value;
}

static void look_deep(weft_self *self, uint32_t hot, uint32_t bytes)
{
    self->hot = hot;
    self->deep = weft_message_lines(bytes) - 1;
}

/* What nvcc has, and look_cuda.h. */
#define atomicSub(from, value)          subtract(from, value)
#define weft_look_deep(self, hot, size) look_deep(self, hot, size)
#define WEFT_RANK_WAIT_LOOK_CUDA_H
#include "rank/wait/take_cuda.h"

/* ---- senders -------------------------------------------------------------------------------- */

enum { MESSAGES = 12, ROOM = WEFT_EAGER_MOST + 16, TAGS = 4 };

struct message {
    struct weft_head head;
    uint32_t begin, written; /* lines that are there */
    bool line[(WEFT_EAGER_MOST + 4) / 8 + 2];
    unsigned char data[WEFT_EAGER_MOST];
};

static struct sender {
    struct weft_channel channel;
    struct weft_ring_line *ring;
    struct message message[MESSAGES];
    uint32_t taken;
    unsigned char *target, *expected; /* of MESSAGES * ROOM */
} senders[WEFT_CHANNELS_IN];

static weft_self rank;
static struct weft_want want;

static uint32_t any_bytes(void)
{
    const uint32_t most[] = {5, 13, 70, 300, WEFT_EAGER_MOST + 1};
    return any_below(most[any_below(5)]);
}

static void make_messages(struct sender *s, uint32_t begin)
{
    for (int i = 0; i < MESSAGES; i++) {
        struct message *m = &s->message[i];
        const uint32_t offset = (uint32_t)i * ROOM + (any_below(3) ? 0 : any_below(9));
        memset(m, 0, sizeof(*m));
        m->head.bytes = any_bytes();
        m->head.tag = any_below(TAGS);
        m->head.notice = m->head.bytes == 0 || any_below(4) != 0;
        m->head.release = any_below(3) == 0;
        m->head.address = (uint64_t)(uintptr_t)(s->target + offset);
        m->begin = begin;
        begin += weft_message_lines(m->head.bytes);
        for (uint32_t b = 0; b < m->head.bytes; b++)
            s->expected[offset + b] = m->data[b] = (unsigned char)any_below(256);
    }
}

/* Some lines, or all, of the messages that have room: in any order. */
static void write_lines(struct sender *s, bool all)
{
    struct weft_out out = {.ring = s->ring};
    for (int i = 0; i < MESSAGES; i++) {
        struct message *m = &s->message[i];
        for (uint32_t at = 0; at < weft_message_lines(m->head.bytes); at++) {
            uint32_t pair[2];
            if (m->line[at] || (!all && any_below(3) != 0))
                continue;
            weft_line_load(pair, m->data, m->head.bytes, at);
            weft_line_store(&out, m->begin, at, &m->head, pair);
            m->line[at] = true;
            m->written++;
        }
    }
}

static void make_sender(struct sender *s, struct weft_in *in)
{
    uint32_t begin = any_below(2) ? any_below(1u << 31) : UINT32_MAX - any_below(3000);
    if (any_below(2)) /* about the end of a lap */
        begin = begin / WEFT_RING_LINES * WEFT_RING_LINES - any_below(200);
    s->ring = calloc(WEFT_RING_LINES, sizeof(*s->ring));
    s->target = calloc(MESSAGES, ROOM);
    s->expected = calloc(MESSAGES, ROOM);
    assert_true(s->ring != NULL && s->target != NULL && s->expected != NULL);
    s->taken = 0;
    for (uint32_t i = 0; i < WEFT_RING_LINES; i++) { /* what the lap before left */
        const uint32_t position = begin + i;
        const uint64_t old = (uint64_t)weft_lap_flag(position - WEFT_RING_LINES) << 56;
        s->ring[position % WEFT_RING_LINES] = (struct weft_ring_line){{old | i, old | ~i >> 8}};
    }
    make_messages(s, begin);
    *in = (struct weft_in){.ring = s->ring, .channel = &s->channel, .tail = begin, .given = begin};
}

static void free_sender(struct sender *s)
{
    free(s->ring);
    free(s->target);
    free(s->expected);
}

/* ---- taking --------------------------------------------------------------------------------- */

/* A lane's part of a look, and of what follows. */
static void look_and_take(void)
{
    struct weft_ring_line line = {{0, 0}};
    bool there = false;
    if (threadIdx.x < rank.ins) {
        const struct weft_in *in = &rank.in[threadIdx.x];
        line = weft_lap_read(weft_lap_at(in, in->tail));
        there = weft_lap_there(line.word[0], line.word[1], weft_lap_flag(in->tail));
    }
    const unsigned heads = ballot(there);
    if (heads != 0)
        weft_take_some(&rank, line, heads, want);
}

/* Whole messages were taken, which were there, and their notices counted; of each channel no more
 * than one longer one, if nothing was wanted. Whether all were. */
static bool check_taken(uint32_t counted[TAGS])
{
    bool all = true;
    for (uint32_t c = 0; c < rank.ins; c++) {
        struct sender *s = &senders[c];
        int longer = 0;
        for (; s->taken < MESSAGES; s->taken++) {
            const struct message *m = &s->message[s->taken];
            const uint32_t lines = weft_message_lines(m->head.bytes);
            if (rank.in[c].tail == m->begin)
                break;
            assert_int_equal(m->written, lines);
            assert_memory_equal((void *)(uintptr_t)m->head.address, m->data, m->head.bytes);
            counted[m->head.tag] -= m->head.notice;
            longer += lines > 2;
        }
        assert_true(want.need != 0 || longer <= 1);
        all &= s->taken == MESSAGES;
    }
    assert_memory_equal(rank.consumed, counted, TAGS * sizeof(*counted));
    return all;
}

static void one_run(uint32_t channels)
{
    uint32_t counted[TAGS] = {0};
    bool all = false;
    memset(&rank, 0, sizeof(rank));
    memset(rank.in, 0xee, sizeof(rank.in)); /* nobody looks at channels that are none */
    rank.ins = channels;
    for (uint32_t c = 0; c < channels; c++)
        make_sender(&senders[c], &rank.in[c]);
    for (int round = 0; !all; round++) {
        assert_true(round < 100);
        for (uint32_t c = 0; c < channels; c++)
            write_lines(&senders[c], round > 20);
        want = (struct weft_want){any_below(TAGS), 0, any_below(2) ? any_below(3) : 1u << 30};
        run_warp(look_and_take);
        all = check_taken(counted);
    }
    for (uint32_t c = 0; c < channels; c++) {
        assert_memory_equal(senders[c].target, senders[c].expected, MESSAGES * ROOM);
        free_sender(&senders[c]);
    }
}

static void test_messages(void **unused)
{
    (void)unused;
    open_warp();
    for (uint32_t run = 0; run < 20 * WEFT_CHANNELS_IN; run++) {
        state = run;
        one_run(1 + run % WEFT_CHANNELS_IN);
    }
    close_warp();
}

/* Each channel has one team, all of the same size, one beside the other. */
static void test_teams(void **unused)
{
    (void)unused;
    for (unsigned heads = 1; heads < 1u << WEFT_CHANNELS_IN; heads++) {
        unsigned lanes[WEFT_CHANNELS_IN] = {0};
        struct weft_warp_team team;
        for (threadIdx.x = 0; threadIdx.x < LANES; threadIdx.x++) {
            team = weft_team_of(heads);
            assert_true(heads >> team.channel & 1);
            assert_int_equal(team.lane, threadIdx.x % team.lanes);
            if (team.some)
                lanes[team.channel] |= 1u << threadIdx.x;
        }
        uint32_t number = 0;
        for (uint32_t c = 0; c < WEFT_CHANNELS_IN; c++) {
            if ((heads >> c & 1) == 0)
                continue;
            assert_int_equal(__popc(lanes[c]), team.lanes);
            assert_true(weft_team_all(lanes[c], team, number));
            assert_false(weft_team_all(lanes[c] & (lanes[c] - 1), team, number));
            number++;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_teams),
        cmocka_unit_test(test_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
