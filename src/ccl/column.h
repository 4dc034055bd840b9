/*
 * ccl/column.h - a call in one column: block b of each member. How it begins, waits and ends, and
 * how memory of any alignment is loaded and stored.
 *
 * Counters are loaded when a call begins and stored when it ends, so that graphs may be replayed,
 * and kernels and streams may take turns. In every step every member sends to every member, a head
 * or a flag at least; who has heard a member's step knows that it has read all that came two steps
 * of words, or three of pieces, before. So there are no credits.
 *
 * On a GPU some threads move data, and one for each member tells and hears. On the CPU device one
 * thread does all, in that order.
 */
#ifndef WEFT_CCL_COLUMN_H
#define WEFT_CCL_COLUMN_H

#include "abi/ccl.h"
#include "order/element.h"
#include "rank/parts.h"
#include "ring/lines.h"

/* What is called, for one column: blocks of `bytes`, one of each member or for each. */
struct weft_ccl_call {
    const unsigned char *source;
    unsigned char *target;
    uint64_t head;                 /* what all members must agree on */
    uint64_t bytes;                /* of a block */
    uint64_t from_apart, to_apart; /* from block to block; 0: there is one */
    uint8_t what, type, operation, root;
};

struct weft_column {
    const struct weft_ccl_view *view;
    weft_self *self; /* NULL: there is none */
    struct weft_ccl_counters *counters;
    struct weft_ccl_trouble *trouble; /* by member */
    unsigned char *own;               /* this column's part of the own room */
    uint64_t offset;                  /* of the part */
    uint64_t words, pieces, calls, head;
    int32_t members, me;
    uint32_t mover, movers; /* this thread among those that move data */
    int32_t first, apart;   /* the members that it tells and hears */
};

/* A thread that moves no data: beyond the end of all loops. */
enum { WEFT_CCL_NO_MOVER = 0x07ffffff };

/* Members that this thread tells and hears. */
#define WEFT_CCL_HEARD(c, m) for (int32_t m = (c)->first; m < (c)->members; m += (c)->apart)
/* All others, the next one first, so that not all send to one. */
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

/* ---- waiting and ending ------------------------------------------------------------------------
 */

/* Notes why the call fails. Later calls of the column do not begin, and its waits end. */
WEFT_COLD void weft_column_break(struct weft_ccl_trouble *trouble, uint32_t *broken, uint64_t call,
                                 uint64_t own, uint32_t status, uint64_t other)
{
    weft_tell_u64(&trouble->own, own);
    weft_tell_u64(&trouble->other, other);
    weft_tell_u64(&trouble->state, status | call << 8);
    weft_tell_u32(broken, 1);
}

#ifdef __CUDACC__

/* Now and then: notes that it waits; false: the job, or another thread of the block, has failed. */
WEFT_COLD bool weft_column_look(struct weft_ccl_trouble *trouble, uint32_t *broken, uint64_t call,
                                uint64_t own, const uint32_t *stop)
{
    if (weft_load_relaxed_u32(stop) != 0)
        weft_tell_u32(broken, 1);
    weft_tell_u64(&trouble->own, own);
    weft_tell_u64(&trouble->state, WEFT_CCL_WAITS | call << 8);
    return weft_load_relaxed_u32(broken) == 0;
}

/* A round of a wait for a member that found nothing. False: it is in vain. */
WEFT_INLINE bool weft_column_wait(const struct weft_column *c, uint32_t *rounds, int32_t member)
{
    return !WEFT_UNLIKELY(++*rounds % WEFT_LOOK_ROUNDS == 0) ||
           weft_column_look(&c->trouble[member], &c->counters->broken, c->calls, c->head,
                            c->view->stop);
}

WEFT_INLINE void weft_column_waited(const struct weft_column *c, uint32_t rounds, int32_t member)
{
    if (WEFT_UNLIKELY(rounds >= WEFT_LOOK_ROUNDS))
        weft_tell_u64(&c->trouble[member].state, 0);
}

/* Whether all threads of the block say so; a barrier. */
WEFT_INLINE bool weft_column_all(bool good)
{
    return __syncthreads_and(good) != 0;
}

/* This thread of its block; the last warp of several threads tells and hears. */
WEFT_INLINE uint32_t weft_column_thread(void)
{
    return threadIdx.x;
}

WEFT_INLINE uint32_t weft_column_threads(void)
{
    return blockDim.x;
}

enum { WEFT_CCL_LANES = 32 };

#elif !defined(WEFT_CCL_BLOCK) /* a test that defines it plays a block of several threads */

static inline bool weft_column_wait(const struct weft_column *c, uint32_t *rounds, int32_t member)
{
    return weft_wait_round(c->self, rounds, WEFT_WAIT_COLUMN, c->head, (uint64_t)member, c->calls);
}

static inline void weft_column_waited(const struct weft_column *c, uint32_t rounds, int32_t member)
{
    (void)member;
    weft_wait_over(c->self, rounds);
}

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

enum { WEFT_CCL_LANES = 1 };

#endif

/* False: a call has failed before. movers: threads of the block that move data, the first ones. */
WEFT_INLINE bool weft_column_begin(struct weft_column *c, weft_self *self,
                                   const struct weft_ccl_view *view, uint32_t column, uint64_t head,
                                   uint32_t movers)
{
    struct weft_ccl_counters *const counters = &view->counters[column];

    c->view = view;
    c->self = self;
    c->counters = counters;
    c->trouble = view->trouble + column * WEFT_CCL_MEMBERS;
    c->offset = column * view->part;
    c->members = view->members;
    c->me = view->me;
    c->own = view->room[c->me] + c->offset;
    c->head = head;
    c->movers = movers;
    c->mover = weft_column_thread() < movers ? weft_column_thread() : (uint32_t)WEFT_CCL_NO_MOVER;
    const uint32_t warp = (weft_column_threads() - 1) / WEFT_CCL_LANES * WEFT_CCL_LANES;
    c->first = weft_column_thread() < warp ? (int32_t)WEFT_CCL_MEMBERS
                                           : (int32_t)(weft_column_thread() - warp);
    c->apart = (int32_t)(weft_column_threads() - warp);
#ifdef __CUDACC__
    const ulonglong2 steps = *(const ulonglong2 *)counters; /* both loads under way at once */
    const ulonglong2 rest = *((const ulonglong2 *)counters + 1);
    c->words = steps.x;
    c->pieces = steps.y;
    c->calls = rest.x + 1;
    return (uint32_t)rest.y == 0;
#else
    c->words = counters->words;
    c->pieces = counters->pieces;
    c->calls = counters->calls + 1;
    return counters->broken == 0;
#endif
}

/* After a barrier of the block. */
WEFT_INLINE bool weft_column_end(const struct weft_column *c)
{
    if (c->mover == 0) {
        c->counters->words = c->words;
        c->counters->pieces = c->pieces;
        c->counters->calls = c->calls;
    }
    return true;
}

/* ---- memory ------------------------------------------------------------------------------------
 */

struct weft_wide {
    uint64_t word[2];
};

/*
 * Vectors of `bytes` that begin anywhere; behind their ends are zeros. Up to 16 at a time, byte by
 * byte: apart, since they are rare, and many places load and store.
 */
WEFT_COLD struct weft_wide weft_ccl_load_odd(const unsigned char *from, uint64_t at, uint64_t bytes)
{
    struct weft_wide wide = {{0, 0}};

    for (uint32_t i = 0; i < 8; i++) {
        if (at + i < bytes)
            wide.word[0] |= (uint64_t)from[at + i] << 8 * i;
        if (at + 8 + i < bytes)
            wide.word[1] |= (uint64_t)from[at + 8 + i] << 8 * i;
    }
    return wide;
}

WEFT_COLD void weft_ccl_store_odd(unsigned char *to, uint64_t at, uint64_t bytes,
                                  struct weft_wide wide)
{
    for (uint32_t i = 0; i < 8; i++) {
        if (at + i < bytes)
            to[at + i] = (unsigned char)(wide.word[0] >> 8 * i);
        if (at + 8 + i < bytes)
            to[at + 8 + i] = (unsigned char)(wide.word[1] >> 8 * i);
    }
}

/* The 8 bytes at `at`. */
WEFT_INLINE uint64_t weft_ccl_load(const unsigned char *from, uint64_t at, uint64_t bytes)
{
    if (at + 8 <= bytes && ((uintptr_t)from & 7) == 0)
        return *(const uint64_t *)(const void *)(from + at);
    return weft_ccl_load_odd(from, at, at + 8 < bytes ? at + 8 : bytes).word[0];
}

WEFT_INLINE void weft_ccl_store(unsigned char *to, uint64_t at, uint64_t bytes, uint64_t word)
{
    const struct weft_wide wide = {{word, 0}};

    if (at + 8 <= bytes && ((uintptr_t)to & 7) == 0)
        *(uint64_t *)(void *)(to + at) = word;
    else
        weft_ccl_store_odd(to, at, at + 8 < bytes ? at + 8 : bytes, wide);
}

/* How many wides of a vector can be loaded and stored at once; those behind are odd ones. */
WEFT_INLINE uint32_t weft_ccl_whole(const unsigned char *vector, uint32_t bytes)
{
    return ((uintptr_t)vector & 15) == 0 ? bytes / 16 : 0;
}

WEFT_INLINE struct weft_wide weft_ccl_load_wide(const unsigned char *from)
{
    struct weft_wide wide;
#ifdef __CUDACC__
    const ulonglong2 both = *(const ulonglong2 *)from;
    wide.word[0] = both.x;
    wide.word[1] = both.y;
#else
    memcpy(&wide, from, sizeof(wide));
#endif
    return wide;
}

WEFT_INLINE void weft_ccl_store_wide(unsigned char *to, struct weft_wide wide)
{
#ifdef __CUDACC__
    *(ulonglong2 *)to = make_ulonglong2(wide.word[0], wide.word[1]);
#else
    memcpy(to, &wide, sizeof(wide));
#endif
}

/* Into a room, and out of the own one. */
WEFT_INLINE void weft_ccl_send_wide(unsigned char *to, struct weft_wide wide)
{
#ifdef __CUDACC__
    weft_ccl_store_wide(to, wide);
#else
    weft_write_shared(to, &wide, sizeof(wide));
#endif
}

WEFT_INLINE struct weft_wide weft_ccl_take_wide(const unsigned char *from)
{
#ifdef __CUDACC__
    return weft_ccl_load_wide(from);
#else
    struct weft_wide wide;
    weft_read_shared(&wide, from, sizeof(wide));
    return wide;
#endif
}

/* ---- elements ----------------------------------------------------------------------------------
 */

/* How elements are put together. sum: by WEFT_SUM, known where this is compiled, as the type is. */
struct weft_ccl_how {
    uint32_t type, operation;
    bool sum;
};

/* For operations that are not compiled apart for a type. By value: what has an address is no
 * register of a GPU. */
WEFT_COLD struct weft_elements weft_ccl_put_any(struct weft_elements all, uint64_t word,
                                                uint32_t type, uint32_t operation)
{
    weft_elements_put(&all, word, type, operation);
    return all;
}

/* The words of all members, in their order. */
WEFT_INLINE uint64_t weft_ccl_put(const uint64_t word[], int32_t members, const int32_t most,
                                  struct weft_ccl_how how)
{
    struct weft_elements all = weft_elements_open(word[0], how.type);

    WEFT_UNROLL
    for (int32_t m = 1; m < most; m++)
        if (m < members && how.sum)
            weft_elements_put(&all, word[m], how.type, WEFT_SUM);
        else if (m < members)
            all = weft_ccl_put_any(all, word[m], how.type, how.operation);
    return weft_elements_close(&all, how.type);
}

/* Does something with `how` as a constant, where that is worth code of its own. */
#define WEFT_CCL_WITH_HOW(call, how, something)                                                    \
    do {                                                                                           \
        const bool how##_sum = (call)->operation == WEFT_SUM;                                      \
        if (how##_sum && (call)->type == WEFT_F32) {                                               \
            const struct weft_ccl_how how = {WEFT_F32, WEFT_SUM, true};                            \
            something;                                                                             \
        } else if (how##_sum && (call)->type == WEFT_BF16) {                                       \
            const struct weft_ccl_how how = {WEFT_BF16, WEFT_SUM, true};                           \
            something;                                                                             \
        } else if (how##_sum && (call)->type == WEFT_F16) {                                        \
            const struct weft_ccl_how how = {WEFT_F16, WEFT_SUM, true};                            \
            something;                                                                             \
        } else {                                                                                   \
            const struct weft_ccl_how how = {(call)->type, (call)->operation, false};              \
            something;                                                                             \
        }                                                                                          \
    } while (0)

/* Who sends to whom, and what becomes of what is received. */
WEFT_INLINE bool weft_ccl_gives(const struct weft_ccl_call *call, int32_t from, int32_t to)
{
    return call->what == WEFT_CCL_BROADCAST ? from == call->root
           : call->what == WEFT_CCL_REDUCE  ? to == call->root
                                            : true;
}

enum weft_ccl_takes {
    WEFT_CCL_TAKES_NONE,
    WEFT_CCL_FOLDS,
    WEFT_CCL_TAKES_EACH,
    WEFT_CCL_TAKES_ROOT
};

WEFT_INLINE enum weft_ccl_takes weft_ccl_takes(const struct weft_ccl_call *call, int32_t me)
{
    switch (call->what) {
    case WEFT_CCL_ALLREDUCE:
    case WEFT_CCL_REDUCE_SCATTER:
        return WEFT_CCL_FOLDS;
    case WEFT_CCL_REDUCE:
        return me == call->root ? WEFT_CCL_FOLDS : WEFT_CCL_TAKES_NONE;
    case WEFT_CCL_ALLGATHER:
    case WEFT_CCL_ALLTOALL:
        return WEFT_CCL_TAKES_EACH;
    case WEFT_CCL_BROADCAST:
        return me == call->root ? WEFT_CCL_TAKES_NONE : WEFT_CCL_TAKES_ROOT;
    default:
        return WEFT_CCL_TAKES_NONE;
    }
}

#endif
