/*
 * ccl/column.h - a call in one column: block b of each member. How it begins, waits and ends.
 *
 * Counters are loaded when a call begins and stored when it ends, so that graphs may be replayed,
 * and kernels and streams may take turns. In every step every member sends to every member, a head
 * or a flag at least. Who has heard a member's step knows that it has read all that came two steps
 * of words, or three of pieces, before. So there are no credits.
 *
 * On a GPU some threads move data, and one for each member tells and hears. On the CPU device one
 * thread does all, in that order.
 */
#ifndef WEFT_CCL_COLUMN_H
#define WEFT_CCL_COLUMN_H

#include "abi/ccl.h"
#include "rank/path/dispatch.h"
#include "rank/together.h"
#include "ring/lines.h"

/* What is called, for one column: blocks of `bytes`, one of each member or for each. */
struct weft_ccl_call {
    const unsigned char *source;
    unsigned char *target;
    uint64_t head;                 /* what all members must agree on */
    uint64_t bytes;                /* bytes of a block */
    uint64_t from_apart, to_apart; /* from block to block at source and target; 0: there is one */
    uint8_t what, type, operation, root;
};

struct weft_column {
    const struct weft_ccl_view *view;
    weft_self *self; /* the calling rank; NULL: a launched block */
    struct weft_ccl_counters *counters;
    struct weft_ccl_trouble *trouble;    /* by member */
    unsigned char *own;                  /* this column's part of the own room */
    uint64_t offset;                     /* where this column's part begins in each member's room */
    uint32_t column, columns;            /* this one; how many the call has, 0 where unused */
    uint64_t words, pieces, calls, head; /* the counters, as this call goes on; its head */
    int32_t members, me;
    uint32_t mover, movers; /* this thread's number among the movers of data; how many these are */
    int32_t first, apart;   /* it tells and hears members first, first + apart, ... */
    bool whole;             /* no call of the column had failed when this thread looked */
};

/* A thread that moves no data: beyond the end of all loops. */
enum { WEFT_CCL_NO_MOVER = 0x07ffffff };

/* Members that this thread tells and hears. */
#define WEFT_CCL_HEARD(c, m) for (int32_t m = (c)->first; m < (c)->members; m += (c)->apart)
/* Goes through all other members, the next one first, so that not all send to one. */
#define WEFT_CCL_OTHERS(c, m)                                                                      \
    WEFT_ROLLED                                                                                    \
    for (int32_t m##_k = 1, m = weft_column_next(c, (c)->me); m##_k < (c)->members;                \
         m##_k++, m = weft_column_next(c, m))

WEFT_INLINE int32_t weft_column_next(const struct weft_column *c, int32_t member)
{
    return member + 1 < c->members ? member + 1 : 0;
}

WEFT_INLINE unsigned char *weft_column_room(const struct weft_column *c, int32_t member)
{
    return c->view->room[member] + c->offset;
}

/* ---- waiting and ending ---------------------------------------------------------------------- */

/* Notes why a call fails. Later calls of the column do not begin, and its waits end. */
WEFT_COLD void weft_column_break(struct weft_ccl_trouble *trouble, uint32_t *broken, uint64_t call,
                                 uint64_t own, uint32_t status, uint64_t other)
{
    weft_tell_u64(&trouble->own, own);
    weft_tell_u64(&trouble->other, other);
    weft_tell_u64(&trouble->state, status | call << 8);
    weft_tell_u32(broken, 1);
}

#if defined(__CUDACC__) || defined(WEFT_CCL_BLOCK)

/* Blocks without a rank: on GPUs, and in tests that play such blocks by threads of the host. */
enum { WEFT_CCL_LOOK = 2048 }; /* polls between two looks at host memory: some ms */

/* Called now and then in a wait: notes that it waits. False: the job, or another thread of the
 * block, has failed. */
WEFT_COLD bool weft_column_look(struct weft_ccl_trouble *trouble, uint32_t *broken, uint64_t call,
                                uint64_t own, const uint32_t *stop)
{
    if (weft_load_relaxed_u32(stop) != 0)
        weft_tell_u32(broken, 1);
    const bool vain = weft_load_relaxed_u32(broken) != 0;
    weft_tell_u64(&trouble->own, own);
    weft_tell_u64(&trouble->waits, vain ? 0 : call);
    return !vain;
}

/* Does a round of a wait for a member that found nothing. False: waiting is in vain. */
WEFT_INLINE bool weft_column_wait(const struct weft_column *c, uint32_t *rounds, int32_t member)
{
#ifdef WEFT_CCL_BLOCK
    WEFT_CCL_BLOCK(); /* lets others run */
#endif
    return !WEFT_UNLIKELY(++*rounds % WEFT_CCL_LOOK == 0) ||
           weft_column_look(&c->trouble[member], &c->counters->broken, c->calls, c->head,
                            c->view->stop);
}

WEFT_INLINE void weft_column_waited(const struct weft_column *c, uint32_t rounds, int32_t member)
{
    if (WEFT_UNLIKELY(rounds >= WEFT_CCL_LOOK))
        weft_tell_u64(&c->trouble[member].waits, 0);
}

#else

static inline bool weft_column_wait(const struct weft_column *c, uint32_t *rounds, int32_t member)
{
    return weft_wait_round(c->self, rounds, WEFT_WAIT_COLUMN, c->head, (uint64_t)member, c->calls);
}

static inline void weft_column_waited(const struct weft_column *c, uint32_t rounds, int32_t member)
{
    (void)member;
    weft_wait_over(c->self, rounds);
}

#endif

#ifdef __CUDACC__

enum { WEFT_CCL_LANES = 32 };

/* Meets all threads of the block: whether all say `good`. */
WEFT_INLINE bool weft_column_all(bool good)
{
    return __syncthreads_and(good) != 0;
}

/* Returns this thread's number in its block; the last warp of several tells and hears. */
WEFT_INLINE uint32_t weft_column_thread(void)
{
    return threadIdx.x;
}

WEFT_INLINE uint32_t weft_column_threads(void)
{
    return blockDim.x;
}

#elif !defined(WEFT_CCL_BLOCK)

enum { WEFT_CCL_LANES = 1 };

static inline bool weft_column_all(bool good)
{
    return good;
}

static inline uint32_t weft_column_thread(void)
{
    return 0;
}

static inline uint32_t weft_column_threads(void)
{
    return 1;
}

#endif

/* Begins a call in a column. movers: threads of the block that move data, the first ones. Threads
 * may differ in `whole`, where one fails while another begins: all go on to the first barrier, and
 * end there. */
WEFT_INLINE void weft_column_begin(struct weft_column *c, weft_self *self,
                                   const struct weft_ccl_view *view, uint32_t column,
                                   uint32_t columns, uint64_t head, uint32_t movers)
{
    struct weft_ccl_counters *const counters = &view->counters[column];

    c->view = view;
    c->self = self;
    c->counters = counters;
    c->trouble = view->trouble + column * WEFT_CCL_MEMBERS;
    c->column = column;
    c->columns = columns;
    c->offset = column * view->part;
    c->members = view->members;
    c->me = view->me;
    c->own = weft_column_room(c, c->me);
    c->head = head;
    c->movers = movers;
    c->mover = weft_column_thread() < movers ? weft_column_thread() : (uint32_t)WEFT_CCL_NO_MOVER;
    const uint32_t warp = (weft_column_threads() - 1) / WEFT_CCL_LANES * WEFT_CCL_LANES;
    c->first = weft_column_thread() < warp ? (int32_t)WEFT_CCL_MEMBERS
                                           : (int32_t)(weft_column_thread() - warp);
    c->apart = (int32_t)(weft_column_threads() - warp);
    const struct weft_ccl_counters now = *counters; /* all loads under way at once */
    c->words = now.words;
    c->pieces = now.pieces;
    c->calls = now.calls + 1;
    c->whole = now.broken == 0;
}

/* Ends a call, after a barrier of the block: stores the counters. Returns true. */
WEFT_INLINE bool weft_column_end(const struct weft_column *c)
{
    if (c->mover == 0) {
        c->counters->words = c->words;
        c->counters->pieces = c->pieces;
        c->counters->calls = c->calls;
    }
    return true;
}

#endif
