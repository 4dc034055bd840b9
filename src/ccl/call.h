/*
 * ccl/call.h - does one call in one column: by words or by pieces, with code for 2, 4 or 8 members.
 */
#ifndef WEFT_CCL_CALL_H
#define WEFT_CCL_CALL_H

#include "ccl/moe.h"
#include "ccl/pairs.h"
#include "ccl/sizes.h"
#include "ccl/words.h"

/*
 * The calls that move blocks of one size, as weft/ccl.h declares them: weft_ccl_name on a stream,
 * and weft_column_name in a kernel. X(name, number, parameters, their names, then what they say:
 * source, target, count, type, operation, root).
 */
#define WEFT_CCL_CALLS(X)                                                                          \
    X(allreduce, ALLREDUCE, (, WEFT_CCL_BLOCKS, weft_operation operation),                         \
      (, WEFT_CCL_GIVEN, operation), WEFT_CCL_GIVEN, operation, 0)                                 \
    X(reduce, REDUCE, (, int root, WEFT_CCL_BLOCKS, weft_operation operation),                     \
      (, root, WEFT_CCL_GIVEN, operation), WEFT_CCL_GIVEN, operation, root)                        \
    X(reduce_scatter, REDUCE_SCATTER, (, WEFT_CCL_BLOCKS, weft_operation operation),               \
      (, WEFT_CCL_GIVEN, operation), WEFT_CCL_GIVEN, operation, 0)                                 \
    X(allgather, ALLGATHER, (, WEFT_CCL_BLOCKS), (, WEFT_CCL_GIVEN), WEFT_CCL_GIVEN, WEFT_SUM, 0)  \
    X(alltoall, ALLTOALL, (, WEFT_CCL_BLOCKS), (, WEFT_CCL_GIVEN), WEFT_CCL_GIVEN, WEFT_SUM, 0)    \
    X(broadcast, BROADCAST, (, int root, void *data, size_t count, weft_type type),                \
      (, root, data, count, type), data, data, count, type, WEFT_SUM, root)                        \
    X(barrier, BARRIER, (), (), NULL, NULL, 0, WEFT_U8, WEFT_SUM, 0)
#define WEFT_CCL_BLOCKS    const void *source, void *target, size_t count, weft_type type
#define WEFT_CCL_GIVEN     source, target, count, type
#define WEFT_CCL_LIST(...) __VA_ARGS__

/* Returns why the arguments of a call are wrong; NULL: they are right. */
WEFT_INLINE const char *weft_ccl_wrong(uint32_t what, int32_t members, const void *source,
                                       const void *target, uint64_t count, int type, int operation,
                                       int root)
{
    const bool taken = what != WEFT_CCL_BARRIER;

    if (type < 0 || operation < 0 || !weft_element_exists((uint32_t)type, (uint32_t)operation))
        return "there is no such type, or operation of it";
    if (root < 0 || root >= members)
        return "the root is no member";
    if (count >> 46 != 0)
        return "there are too many elements";
    if (taken && count != 0 && (source == NULL || target == NULL))
        return "there is no memory";
    if ((((uintptr_t)source | (uintptr_t)target) & (weft_element_bytes((uint32_t)type) - 1)) != 0)
        return "memory is not aligned to the type";
    return NULL;
}

/* Whether a call goes by words: bytes that a member sends in a column decide it. One of two members
 * counts as two: with more, pieces take a second trip. */
WEFT_INLINE bool weft_ccl_is_few(const struct weft_ccl_view *view, uint64_t bytes)
{
    return bytes * (uint64_t)(view->members > 2 ? view->members - 1 : 2) <= view->few;
}

/* Sets how a call's blocks lie: one at the source, or the target, or one for each member. */
WEFT_INLINE void weft_ccl_spread(struct weft_ccl_call *call, uint64_t block)
{
    call->from_apart =
        call->what == WEFT_CCL_REDUCE_SCATTER || call->what == WEFT_CCL_ALLTOALL ? block : 0;
    call->to_apart =
        call->what == WEFT_CCL_ALLGATHER || call->what == WEFT_CCL_ALLTOALL ? block : 0;
}

WEFT_INLINE struct weft_ccl_call weft_ccl_call_of(uint32_t what, const void *source, void *target,
                                                  uint64_t count, uint32_t type, uint32_t operation,
                                                  uint32_t root)
{
    struct weft_ccl_call call;

    call.source = (const unsigned char *)source;
    call.target = (unsigned char *)target;
    call.head = weft_ccl_head(what, type, operation, root, count);
    call.bytes = count * weft_element_bytes(type);
    call.what = (uint8_t)what;
    call.type = (uint8_t)type;
    call.operation = (uint8_t)operation;
    call.root = (uint8_t)root;
    weft_ccl_spread(&call, call.bytes);
    return call;
}

/* Reduces a call to one column, of those which have `each` bytes of every block. */
WEFT_INLINE void weft_ccl_cut(struct weft_ccl_call *call, uint64_t each, uint32_t column)
{
    const struct weft_slice slice = weft_ccl_slice(call->bytes, each, column);

    call->source += slice.first;
    call->target += slice.first;
    call->bytes = slice.bytes;
}

/* What a launched kernel is given. */
struct weft_ccl_launch {
    struct weft_ccl_view view;
    struct weft_ccl_call call; /* the whole call */
    uint64_t each;             /* bytes of a block that a column has, at most */
    union {
        struct weft_ccl_sizes sizes;       /* of ALLTOALL_SIZES */
        struct weft_ccl_exchange exchange; /* of EXCHANGE */
        struct weft_moe_own moe;           /* of DISPATCH and COMBINE */
    } more;
};

/* Runs a call in a column. most: no fewer than members, known where this is compiled, as `few` is.
 * All threads of a block call it. False: it has failed. */
WEFT_INLINE bool weft_ccl_run(weft_self *self, const struct weft_ccl_view *view, uint32_t column,
                              const struct weft_ccl_call *call, uint32_t movers, const int32_t most,
                              const bool few)
{
    struct weft_column c;

    weft_column_begin(&c, self, view, column, 0, call->head, movers);
    const bool good = few ? weft_words_call(&c, call, most) : weft_pieces_call(&c, call, most);

    return good && weft_column_end(&c);
}

/* Runs any other call, from ALLTOALL_SIZES on, in one of so many columns. what: the launch's, known
 * where this is compiled. False: it has failed. */
WEFT_INLINE bool weft_ccl_run_more(weft_self *self, const struct weft_ccl_launch *launch,
                                   uint32_t column, uint32_t columns, uint32_t movers,
                                   const uint32_t what)
{
    const struct weft_ccl_call *const call = &launch->call;
    struct weft_column c;

    weft_column_begin(&c, self, &launch->view, column, columns, call->head, movers);
    const bool good =
        what == WEFT_CCL_ALLTOALL_SIZES ? weft_sizes_call(&c, call, &launch->more.sizes)
        : what == WEFT_CCL_EXCHANGE     ? weft_pair_call(&c, call, &launch->more.exchange)
                                        : weft_moe_call(&c, call, &launch->more.moe, what);

    return good && weft_column_end(&c);
}

/*
 * weft_ccl_run_any: runs a call in a kernel, by the ways of its size and number of members. Words
 * of few members are compiled into the caller. The time of a call is that of all its instructions,
 * which each warp of the block issues; what the caller knows of the arguments leaves few. The rest
 * is apart: a GPU has registers for the words of all members, and one way must not pay for another.
 */
#define WEFT_CCL_APART(name, most, few)                                                            \
    WEFT_COLD bool weft_ccl_run_##name(weft_self *self, const struct weft_ccl_view *view,          \
                                       uint32_t column, struct weft_ccl_call call,                 \
                                       uint32_t movers)                                            \
    {                                                                                              \
        return weft_ccl_run(self, view, column, &call, movers, most, few);                         \
    }
WEFT_CCL_APART(words, 8, true)
WEFT_CCL_APART(pieces, 8, false)
#ifdef __CUDACC__
WEFT_CCL_APART(pieces_4, 4, false)
WEFT_CCL_APART(pieces_2, 2, false)
#endif
#undef WEFT_CCL_APART

WEFT_INLINE bool weft_ccl_run_any(weft_self *self, const struct weft_ccl_view *view,
                                  uint32_t column, const struct weft_ccl_call *call,
                                  uint32_t movers)
{
    const bool few = weft_ccl_is_few(view, call->bytes);
#ifdef __CUDACC__
    if (few && view->members <= 2)
        return weft_ccl_run(self, view, column, call, movers, 2, true);
    if (few && view->members <= 4)
        return weft_ccl_run(self, view, column, call, movers, 4, true);
    if (!few && view->members <= 2)
        return weft_ccl_run_pieces_2(self, view, column, *call, movers);
    if (!few && view->members <= 4)
        return weft_ccl_run_pieces_4(self, view, column, *call, movers);
#endif
    return few ? weft_ccl_run_words(self, view, column, *call, movers)
               : weft_ccl_run_pieces(self, view, column, *call, movers);
}

#endif
