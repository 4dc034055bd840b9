/*
 * ccl/pairs.h - what one member sends to another, and what it receives from one, at once; no other
 * member takes part. Pieces go into buffers that pairs have for themselves. A sender waits until
 * the piece that lay in a buffer before was read: the receiver tells it so.
 */
#ifndef WEFT_CCL_PAIRS_H
#define WEFT_CCL_PAIRS_H

#include "ccl/pieces.h"

/* peer -1: there is none. head: both must agree on it. Columns from `columns` on have no part. */
struct weft_ccl_side {
    int32_t peer;
    uint32_t columns;
    uint64_t bytes, head;
};

struct weft_ccl_exchange {
    struct weft_ccl_side send, receive;
};

struct weft_pair_slice {
    uint64_t first, end, pieces;
};

/* Returns a column's part of a member's room for pairs. */
WEFT_INLINE unsigned char *weft_pair_room(const struct weft_column *c, int32_t member)
{
    return c->view->room[member] + c->view->pairs + c->column * c->view->pair_part;
}

/* Returns a line of a room: of what a sender has sent there, or (read) what a receiver has read. */
WEFT_INLINE struct weft_ccl_pair_line *
weft_pair_line(const struct weft_column *c, unsigned char *room, bool read, int32_t member)
{
    return (struct weft_ccl_pair_line *)(void *)room + (read ? c->members : 0) + member;
}

WEFT_INLINE unsigned char *weft_pair_buffer(const struct weft_column *c, unsigned char *room,
                                            int32_t sender, uint64_t piece)
{
    const uint64_t lines = 2 * (uint64_t)c->members * sizeof(struct weft_ccl_pair_line);
    const uint64_t place = piece % WEFT_CCL_DEPTH * (uint64_t)c->members + (uint64_t)sender;
    return room + lines + place * WEFT_CCL_PIECE;
}

/* Waits for a number in a line. One thread calls it. False: waiting is in vain. */
WEFT_INLINE bool weft_pair_await(const struct weft_column *c, const struct weft_ccl_pair_line *line,
                                 uint64_t piece, int32_t member)
{
    uint32_t rounds = 0;

    while ((int64_t)(weft_poll_u64(&line->piece, ORDER_piece_seen) - piece) < 0)
        if (!weft_column_wait(c, &rounds, member))
            return false;
    weft_polled();
    weft_column_waited(c, rounds, member);
    return true;
}

/* Sends one piece to the peer. All threads call it. False: waiting is in vain. */
WEFT_INLINE bool weft_pair_send(const struct weft_column *c, const struct weft_ccl_side *side,
                                const unsigned char *source, struct weft_span span, uint64_t piece)
{
    unsigned char *const there = weft_pair_room(c, side->peer);
    struct weft_ccl_pair_line *const line = weft_pair_line(c, there, false, c->me);
    const struct weft_ccl_pair_line *const read =
        weft_pair_line(c, weft_pair_room(c, c->me), true, side->peer);
    bool good = c->whole;

    if (good && c->first == 0)
        good = weft_pair_await(c, read, piece - WEFT_CCL_DEPTH, side->peer);
    if (!weft_column_all(good))
        return false;
    weft_pieces_fill(c, weft_pair_buffer(c, there, c->me, piece), source, span);
    weft_column_all(true);
    if (c->first == 0) {
        weft_store_relaxed_u64(&line->head[piece % WEFT_CCL_DEPTH], side->head);
        weft_store_release_u64(&line->piece, piece, ORDER_piece_post);
    }
    return true;
}

/* Receives one piece from the peer. All threads call it. False: waiting is in vain, or calls
 * differ. */
WEFT_INLINE bool weft_pair_receive(const struct weft_column *c, const struct weft_ccl_side *side,
                                   unsigned char *target, struct weft_span span, uint64_t piece)
{
    unsigned char *const here = weft_pair_room(c, c->me);
    const struct weft_ccl_pair_line *const line = weft_pair_line(c, here, false, side->peer);
    const uint64_t *const head = &line->head[piece % WEFT_CCL_DEPTH];
    bool good = c->whole;

    if (good && c->first == 0 && (good = weft_pair_await(c, line, piece, side->peer)) &&
        weft_load_relaxed_u64(head) != side->head) {
        weft_column_break(&c->trouble[side->peer], &c->counters->broken, c->calls, side->head,
                          WEFT_ERR_MISMATCH, weft_load_relaxed_u64(head));
        good = false;
    }
    if (!weft_column_all(good))
        return false;
    weft_pieces_empty(c, target, weft_pair_buffer(c, here, side->peer, piece), span);
    weft_column_all(true);
    if (c->first == 0)
        weft_store_release_u64(
            &weft_pair_line(c, weft_pair_room(c, side->peer), true, c->me)->piece, piece,
            ORDER_piece_post);
    return true;
}

/* Returns a column's slice, and the pieces that it has: one at least, which says that the call is
 * made. */
WEFT_INLINE struct weft_pair_slice weft_pair_slice(const struct weft_column *c,
                                                   const struct weft_ccl_side *side)
{
    struct weft_pair_slice slice = {.first = 0};

    if (side->peer >= 0 && c->column < side->columns) {
        const uint64_t each = weft_ccl_each(side->bytes, side->columns), first = each * c->column;
        slice.first = first < side->bytes ? first : side->bytes;
        slice.end = side->bytes - slice.first < each ? side->bytes : slice.first + each;
        slice.pieces = (slice.end - slice.first + c->view->piece - 1) / c->view->piece;
        slice.pieces += slice.pieces == 0;
    }
    return slice;
}

WEFT_INLINE struct weft_span weft_pair_span(const struct weft_column *c,
                                            struct weft_pair_slice slice, uint64_t step)
{
    const uint64_t at = slice.first + step * c->view->piece, left = slice.end - at;
    const struct weft_span span = {at, (uint32_t)(left < c->view->piece ? left : c->view->piece)};
    return span;
}

/* Does an exchange. A piece is sent before one is waited for. False: it has failed. */
WEFT_INLINE bool weft_pair_call(const struct weft_column *c, const struct weft_ccl_call *call,
                                const struct weft_ccl_exchange *exchange)
{
    const struct weft_ccl_side *const send = &exchange->send, *const receive = &exchange->receive;
    struct weft_ccl_pair *const pair = c->view->pair + c->column * WEFT_CCL_MEMBERS;
    const struct weft_pair_slice out = weft_pair_slice(c, send), in = weft_pair_slice(c, receive);
    const uint64_t sent = out.pieces != 0 ? pair[send->peer].sent : 0;
    const uint64_t received = in.pieces != 0 ? pair[receive->peer].received : 0;

    weft_column_all(true); /* all have read how many there were */
    for (uint64_t step = 0; step < out.pieces || step < in.pieces; step++) {
        if (step < out.pieces &&
            !weft_pair_send(c, send, call->source, weft_pair_span(c, out, step), sent + step + 1))
            return false;
        if (step < in.pieces &&
            !weft_pair_receive(c, receive, call->target, weft_pair_span(c, in, step),
                               received + step + 1))
            return false;
    }
    if (c->mover == 0 && out.pieces != 0)
        pair[send->peer].sent = sent + out.pieces;
    if (c->mover == 0 && in.pieces != 0)
        pair[receive->peer].received = received + in.pieces;
    return weft_column_all(true);
}

#endif
