/*
 * coll/host/pieces.c - pieces of members, each of which goes straight to where it belongs: all at
 * once, or, where they are large, in n - 1 rounds, in each of which a member sends to one and
 * receives from one.
 *
 * At once: Shi et al., HiPC 2014. Rounds: Thakur, Rabenseifner, Gropp (2005), sections 4.4 and 5.1.
 */
#include "coll/host/ways.h"

enum { AT_ONCE = 32 << 10 /* bytes of a piece, up to which all go at once */ };

enum { ONCE = 1 }; /* of WEFT_COLL_EXCHANGE, of which 0 is auto */

/* Returns the bytes of a member's piece; *at: where it is. */
static size_t piece_of(const struct weft_pieces *pieces, int member, void **at)
{
    const size_t begin = pieces->apart * (size_t)member, all = pieces->all;

    if (pieces->sizes != NULL) {
        *at = weft_at(pieces->base, pieces->offsets[member]);
        return pieces->sizes[member];
    }
    *at = weft_at(pieces->base, begin < all ? begin : all);
    return begin >= all ? 0 : all - begin < pieces->bytes ? all - begin : pieces->bytes;
}

/* Plans pieces between this member and each other. out, in NULL: none go, none come. */
static void exchange(weft_team_op *op, const struct weft_pieces *out, const struct weft_pieces *in,
                     bool at_once)
{
    const int n = op->team->members, me = op->team->me;
    void *at;

    for (int i = 1; i < n; i++) {
        const int to = (me + i) % n, from = (me - i + n) % n;
        if (in != NULL) {
            const size_t bytes = piece_of(in, from, &at);
            weft_plan_receive(op, from, at, bytes);
        }
        if (out != NULL) {
            const size_t bytes = piece_of(out, to, &at);
            weft_plan_send(op, to, at, bytes);
        }
        if (!at_once)
            weft_plan_next(op);
    }
}

static bool goes_at_once(const weft_team_op *op, const struct weft_pieces *in)
{
    const int set = op->team->job->config.coll_exchange;

    return set != 0 ? set == ONCE : in->sizes == NULL && in->bytes <= AT_ONCE;
}

void weft_pieces_root(weft_team_op *op, int root, bool gathers, void *own, size_t bytes,
                      const struct weft_pieces *all)
{
    void *at;

    if (op->team->me != root && gathers) {
        weft_plan_send(op, root, own, bytes);
    } else if (op->team->me != root) {
        weft_plan_receive(op, root, own, bytes);
    } else {
        const size_t of_root = piece_of(all, root, &at);
        exchange(op, gathers ? NULL : all, gathers ? all : NULL, true);
        if (own != NULL)
            weft_plan_copy(op, gathers ? at : own, gathers ? own : at, gathers ? bytes : of_root);
    }
}

void weft_pieces_allgather(weft_team_op *op, const void *source, const struct weft_pieces *in)
{
    void *own;
    const size_t bytes = piece_of(in, op->team->me, &own);
    const struct weft_pieces out = {.base = source != NULL ? (void *)source : own,
                                    .bytes = bytes,
                                    .all = bytes}; /* one for all: 0 apart */

    exchange(op, &out, in, goes_at_once(op, in));
    weft_plan_copy(op, own, out.base, bytes);
}

void weft_pieces_alltoall(weft_team_op *op, const struct weft_pieces *out,
                          const struct weft_pieces *in)
{
    void *from, *into;
    const size_t bytes = piece_of(out, op->team->me, &from);

    piece_of(in, op->team->me, &into);
    exchange(op, out, in, goes_at_once(op, in));
    weft_plan_copy(op, into, from, bytes);
}

/* Plans a broadcast by van de Geijn's algorithm: scatter, then allgather. */
void weft_pieces_broadcast(weft_team_op *op, int root, void *data, size_t bytes)
{
    const size_t n = (size_t)op->team->members, piece = ((bytes + n - 1) / n + 63) & ~(size_t)63;
    const struct weft_pieces all = {.base = data, .bytes = piece, .apart = piece, .all = bytes};
    void *own;
    const size_t mine = piece_of(&all, op->team->me, &own);

    weft_pieces_root(op, root, false, own, mine, &all);
    weft_plan_next(op);
    weft_pieces_allgather(op, NULL, &all);
}

void weft_pieces_reduce_scatter(weft_team_op *op, const struct weft_pieces *parts, void *target)
{
    const int n = op->team->members, me = op->team->me;
    void *own;
    const size_t bytes = piece_of(parts, me, &own), count = bytes / op->combine.bytes;
    void *const came = weft_plan_scratch(op, bytes * (size_t)n);
    const struct weft_pieces in = weft_pieces_even(came, bytes, n);
    void *const sum = weft_at(came, bytes * (size_t)(n - 1));

    exchange(op, parts, &in, true);
    if (me == n - 1)
        weft_plan_copy(op, sum, own, bytes);
    for (int i = n - 2; i >= 0; i--) /* lower members' are the left operands */
        weft_plan_combine(op, i == me ? own : weft_at(came, bytes * (size_t)i), sum, count);
    weft_plan_copy(op, target, sum, bytes);
}

void weft_pieces_allreduce(weft_team_op *op, const void *source, void *target, size_t count)
{
    const size_t n = (size_t)op->team->members, each = op->combine.bytes;
    const size_t piece = (count + n - 1) / n * each, all = count * each;
    const struct weft_pieces in = {.base = target, .bytes = piece, .apart = piece, .all = all};
    struct weft_pieces parts = in;
    void *own;

    piece_of(&in, op->team->me, &own);
    parts.base = (void *)source;
    weft_pieces_reduce_scatter(op, &parts, own);
    weft_plan_next(op);
    weft_pieces_allgather(op, NULL, &in);
}

void weft_pieces_exchange(weft_team_op *op, const weft_piece *sends, size_t sends_count,
                          const weft_piece *receives, size_t receives_count)
{
    const int me = op->team->me;
    size_t own = 0; /* of the sends, the next to this member itself */

    for (size_t i = 0; i < receives_count; i++)
        if (receives[i].member != me)
            weft_plan_receive(op, receives[i].member, receives[i].data, receives[i].bytes);
    for (size_t i = 0; i < sends_count; i++)
        if (sends[i].member != me)
            weft_plan_send(op, sends[i].member, sends[i].data, sends[i].bytes);
    for (size_t i = 0; i < receives_count; i++) {
        if (receives[i].member != me)
            continue;
        while (own < sends_count && sends[own].member != me)
            own++;
        if (own == sends_count || sends[own].bytes != receives[i].bytes) {
            weft_plan_fail(op, WEFT_ERR_MISMATCH, "what this process sends itself differs in size");
            return;
        }
        weft_plan_copy(op, receives[i].data, sends[own++].data, receives[i].bytes);
    }
}
