/*
 * ccl/memory.h - what threads load and store, at any alignment, how members' elements are put
 * together, and who sends to whom.
 */
#ifndef WEFT_CCL_MEMORY_H
#define WEFT_CCL_MEMORY_H

#include "ccl/column.h"
#include "order/element.h"

/* ---- memory ---------------------------------------------------------------------------------- */

/* 16 bytes, which a GPU loads and stores at once. */
struct weft_wide {
    uint64_t word[2];
} __attribute__((aligned(16)));

/* Load and store up to 16 bytes of a vector of `bytes`, byte by byte; behind its end are zeros.
 * They are apart, since they are rare, and many places load and store. */
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

/* Loads the 8 bytes at `at`; behind the end of the vector are zeros. */
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

/* Returns how many wides of a vector can be loaded and stored at once; those behind are odd
 * ones. */
WEFT_INLINE uint32_t weft_ccl_whole(const unsigned char *vector, uint32_t bytes)
{
    return ((uintptr_t)vector & 15) == 0 ? bytes / 16 : 0;
}

WEFT_INLINE struct weft_wide weft_ccl_load_wide(const unsigned char *from)
{
    return *(const struct weft_wide *)(const void *)from;
}

WEFT_INLINE void weft_ccl_store_wide(unsigned char *to, struct weft_wide wide)
{
    *(struct weft_wide *)(void *)to = wide;
}

/* _send stores into a room, which is others' memory; _take loads out of the own one. */
WEFT_INLINE void weft_ccl_send_i32(int32_t *to, int32_t word)
{
#ifdef __CUDACC__
    *to = word;
#else
    weft_write_shared(to, &word, sizeof(word));
#endif
}

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
    weft_used_shared(from, sizeof(struct weft_wide));
    return weft_ccl_load_wide(from);
}

/* ---- elements -------------------------------------------------------------------------------- */

/* How elements are put together. sum: by WEFT_SUM, known where this is compiled, as the type is. */
struct weft_ccl_how {
    uint32_t type, operation;
    bool sum;
};

/* Puts a word's elements to others, by an operation that is not compiled apart for a type. By
 * value: what has an address is no register of a GPU. */
WEFT_COLD struct weft_elements weft_ccl_put_any(struct weft_elements all, uint64_t word,
                                                uint32_t type, uint32_t operation)
{
    weft_elements_put(&all, word, type, operation);
    return all;
}

/* Puts the words of all members together, in their order. */
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
        WEFT_CCL_IF_SUM(call, how, WEFT_F32, something)                                            \
        WEFT_CCL_IF_SUM(call, how, WEFT_BF16, something)                                           \
        WEFT_CCL_IF_SUM(call, how, WEFT_F16, something)                                            \
        {                                                                                          \
            const struct weft_ccl_how how = {.type = (call)->type,                                 \
                                             .operation = (call)->operation};                      \
            something;                                                                             \
        }                                                                                          \
    } while (0)
#define WEFT_CCL_IF_SUM(call, how, of, something)                                                  \
    if ((call)->operation == WEFT_SUM && (call)->type == (of)) {                                   \
        const struct weft_ccl_how how = {.type = of, .operation = WEFT_SUM, .sum = true};          \
        something;                                                                                 \
    } else

/* Does something in which elements are put together, with exact arithmetic, and nothing waits. */
#ifdef __CUDACC__
#define WEFT_CCL_EXACTLY(something) something
#else
#define WEFT_CCL_EXACTLY(something)                                                                \
    do {                                                                                           \
        fenv_t callers;                                                                            \
        weft_exact_begin(&callers);                                                                \
        something;                                                                                 \
        weft_exact_end(&callers);                                                                  \
    } while (0)
#endif

/* weft_ccl_gives: whether `from` sends to `to`. weft_ccl_takes: what becomes of what is
 * received. */
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
