/*
 * order/atomic.h - the only atomics: here those of the host and of the CPU device, for GPUs those
 * of order/atomic_cuda.h under the same names.
 *
 * Names say order; every acquire and release takes a label of order/order.h. (Words that only steer
 * the host's tasks use the compiler's builtins themselves: order.h says which.) Words are 32 or 64
 * bits and lie in memory that several threads, or processes, share.
 *
 * Thread mode: GCC's __atomic builtins, no bare fences, so that ThreadSanitizer sees every edge.
 * That is why stores and adds that a fence may stand before are at least releases there.
 * Random mode: the model (order/model.h) takes each call, with exactly the order that is named.
 */
#ifndef WEFT_ORDER_ATOMIC_H
#define WEFT_ORDER_ATOMIC_H

#include "order/element.h"
#include "order/inline.h"
#include "order/order.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* True for what must arrive undivided: 1, 2, 4 or 8 bytes, aligned at the target. */
WEFT_HOT bool weft_is_small(const void *target, size_t bytes)
{
    return (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8) &&
           ((uintptr_t)target & (bytes - 1)) == 0;
}

#ifdef __CUDACC__
#include "order/atomic_cuda.h"
#else

#include "order/model.h"

static inline uint64_t weft_model_add(void *word, int bytes, uint64_t value, bool acquire,
                                      bool release)
{
    const struct weft_change change = {
        .value = value, .how = WEFT_SUM, .type = bytes == 4 ? WEFT_U32 : WEFT_U64};

    return weft_model->update(word, &change, acquire, release);
}

#define WEFT_ATOMIC_DEFINE(bits)                                                                   \
    WEFT_HOT uint##bits##_t weft_load_relaxed_u##bits(const uint##bits##_t *p)                     \
    {                                                                                              \
        if (WEFT_UNLIKELY(weft_model != NULL))                                                     \
            return (uint##bits##_t)weft_model->load(p, (bits) / 8, false);                         \
        return __atomic_load_n(p, __ATOMIC_RELAXED);                                               \
    }                                                                                              \
    WEFT_HOT uint##bits##_t weft_load_acquire_u##bits(const uint##bits##_t *p,                     \
                                                      enum weft_order label)                       \
    {                                                                                              \
        if (WEFT_UNLIKELY(weft_model != NULL))                                                     \
            return (uint##bits##_t)weft_model->load(p, (bits) / 8, label != weft_mutation);        \
        return __atomic_load_n(p, __ATOMIC_ACQUIRE);                                               \
    }                                                                                              \
    /* Relaxed, but carries what an earlier weft_fence_release ordered before it. */               \
    WEFT_HOT void weft_store_relaxed_u##bits(uint##bits##_t *p, uint##bits##_t value)              \
    {                                                                                              \
        if (WEFT_UNLIKELY(weft_model != NULL))                                                     \
            weft_model->store(p, &(uint##bits##_t){value}, (bits) / 8, false, false);              \
        else                                                                                       \
            __atomic_store_n(p, value, __ATOMIC_RELEASE);                                          \
    }                                                                                              \
    WEFT_HOT void weft_store_release_u##bits(uint##bits##_t *p, uint##bits##_t value,              \
                                             enum weft_order label)                                \
    {                                                                                              \
        if (WEFT_UNLIKELY(weft_model != NULL))                                                     \
            weft_model->store(p, &(uint##bits##_t){value}, (bits) / 8, label != weft_mutation,     \
                              false);                                                              \
        else                                                                                       \
            __atomic_store_n(p, value, __ATOMIC_RELEASE);                                          \
    }                                                                                              \
    WEFT_HOT uint##bits##_t weft_add_relaxed_u##bits(uint##bits##_t *p, uint##bits##_t value)      \
    {                                                                                              \
        if (WEFT_UNLIKELY(weft_model != NULL))                                                     \
            return (uint##bits##_t)weft_model_add(p, (bits) / 8, value, false, false);             \
        return __atomic_fetch_add(p, value, __ATOMIC_RELEASE);                                     \
    }                                                                                              \
    WEFT_HOT uint##bits##_t weft_add_release_u##bits(uint##bits##_t *p, uint##bits##_t value,      \
                                                     enum weft_order label)                        \
    {                                                                                              \
        if (WEFT_UNLIKELY(weft_model != NULL))                                                     \
            return (uint##bits##_t)weft_model_add(p, (bits) / 8, value, false,                     \
                                                  label != weft_mutation);                         \
        return __atomic_fetch_add(p, value, __ATOMIC_RELEASE);                                     \
    }

WEFT_ATOMIC_DEFINE(32)
WEFT_ATOMIC_DEFINE(64)
#undef WEFT_ATOMIC_DEFINE

static inline uint64_t weft_load_relaxed_if_u64(const uint64_t *p, bool wanted)
{
    return wanted ? weft_load_relaxed_u64(p) : 0;
}

/* Polls, and weft_polled() after them: acquires (atomic_cuda.h). Here each poll is one by itself.
 */
static inline uint32_t weft_poll_u32(const uint32_t *p, enum weft_order label)
{
    return weft_load_acquire_u32(p, label);
}
static inline uint64_t weft_poll_u64(const uint64_t *p, enum weft_order label)
{
    return weft_load_acquire_u64(p, label);
}
static inline void weft_polled(void)
{
}

/* Returns the old value; orders nothing. */
static inline uint32_t weft_add_returning_u32(uint32_t *p, uint32_t value)
{
    if (WEFT_UNLIKELY(weft_model != NULL))
        return (uint32_t)weft_model_add(p, 4, value, false, false);
    return __atomic_fetch_add(p, value, __ATOMIC_ACQ_REL);
}

/* Adds for ranks of one device; returns the old value, and orders nothing. */
static inline uint64_t weft_add_returning_device_u64(uint64_t *p, uint64_t value)
{
    if (WEFT_UNLIKELY(weft_model != NULL))
        return weft_model_add(p, 8, value, false, false);
    return __atomic_fetch_add(p, value, __ATOMIC_ACQ_REL);
}

/* Returns the old value. An acquire and a release, each with its own label. */
static inline uint32_t weft_add_both_u32(uint32_t *p, uint32_t value, enum weft_order acquire,
                                         enum weft_order release)
{
    if (WEFT_UNLIKELY(weft_model != NULL))
        return (uint32_t)weft_model_add(p, 4, value, acquire != weft_mutation,
                                        release != weft_mutation);
    return __atomic_fetch_add(p, value, __ATOMIC_ACQ_REL);
}

/* Sets the word to `next`, which follows from its old value `was`; returns that. */
#define WEFT_SWAP_UNTIL(type, next)                                                                \
    do {                                                                                           \
        type was = __atomic_load_n((type *)word, __ATOMIC_RELAXED);                                \
        while (!__atomic_compare_exchange_n((type *)word, &was, next, true, __ATOMIC_ACQ_REL,      \
                                            __ATOMIC_RELAXED))                                     \
            continue;                                                                              \
        return was;                                                                                \
    } while (0)

/* An acquire and a release; returns the old value. The word is aligned; it may be of 16 bits. */
static inline uint64_t weft_update(void *word, const struct weft_change *change)
{
    if (WEFT_UNLIKELY(weft_model != NULL))
        return weft_model->update(word, change, ORDER_update_seen != weft_mutation,
                                  ORDER_update != weft_mutation);
    if (weft_type_bytes(change->type) == 4)
        WEFT_SWAP_UNTIL(uint32_t, (uint32_t)weft_change_of(was, change));
    if (weft_element_is_half(change->type))
        WEFT_SWAP_UNTIL(uint16_t, (uint16_t)weft_half_of(was, change));
    if (change->how == WEFT_SUM && change->type != WEFT_F64)
        return __atomic_fetch_add((uint64_t *)word, change->value, __ATOMIC_ACQ_REL);
    WEFT_SWAP_UNTIL(uint64_t, weft_change_of(was, change));
}

/* Updates without order. Only random mode makes the difference: here order costs nothing. */
static inline uint64_t weft_update_relaxed(void *word, const struct weft_change *change)
{
    if (WEFT_UNLIKELY(weft_model != NULL))
        return weft_model->update(word, change, false, false);
    return weft_update(word, change);
}

/* Updates without order, on any memory of the process. */
static inline uint64_t weft_update_anywhere(void *word, const struct weft_change *change)
{
    return weft_update_relaxed(word, change);
}

/* Updates as weft_update, for ranks of one device. */
static inline uint64_t weft_update_device(void *word, const struct weft_change *change)
{
    return weft_update(word, change);
}

/* On GPUs the following two order ranks of one device only. */
static inline void weft_store_release_device_u64(uint64_t *p, uint64_t value, enum weft_order label)
{
    weft_store_release_u64(p, value, label);
}

/* Compares and swaps; returns the old value. An acquire and a release, each with its own label. */
static inline uint64_t weft_swap_both_device_u64(uint64_t *p, uint64_t expected, uint64_t value,
                                                 enum weft_order acquire, enum weft_order release)
{
    if (WEFT_UNLIKELY(weft_model != NULL)) {
        const struct weft_change change = {
            .value = value, .expected = expected, .how = WEFT_COMPARE, .type = WEFT_U64};
        return weft_model->update(p, &change, acquire != weft_mutation, release != weft_mutation);
    }
    __atomic_compare_exchange_n(p, &expected, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    return expected;
}

/* A word for anybody who looks on: undivided, orders nothing, not seen by random mode. */
static inline void weft_tell_u32(uint32_t *p, uint32_t value)
{
    __atomic_store_n(p, value, __ATOMIC_RELAXED);
}
static inline void weft_tell_u64(uint64_t *p, uint64_t value)
{
    __atomic_store_n(p, value, __ATOMIC_RELAXED);
}

/* Among threads of a block, to a word of its own (on GPUs: in shared memory); orders nothing, and
 * is not seen by random mode. */
static inline void weft_add_block_u32(uint32_t *p, uint32_t value)
{
    __atomic_fetch_add(p, value, __ATOMIC_RELAXED);
}

/* Orders all this task did before its later relaxed stores and adds. */
static inline void weft_fence_release(enum weft_order label)
{
    if (WEFT_UNLIKELY(weft_model != NULL) && label != weft_mutation)
        weft_model->fence();
    /* Thread mode: every store and add above is a release already. */
}

/* Copies data into memory that others read; plain stores, ordered by a later release. */
static inline void weft_write_shared(void *target, const void *source, size_t bytes)
{
    if (WEFT_UNLIKELY(weft_model != NULL))
        weft_model->write(target, source, bytes, false);
    else
        memmove(target, source, bytes); /* windows of one device may overlap */
}

/* The sources of this task's puts into a range may be reused: random mode reads them now. */
static inline void weft_reuse(const void *target, size_t bytes)
{
    if (WEFT_UNLIKELY(weft_model != NULL) && weft_mutation != DRAIN_sources)
        weft_model->reuse(target, bytes);
}

/* Copies data out of memory that others write, after an acquire. */
static inline void weft_read_shared(void *target, const void *source, size_t bytes)
{
    if (WEFT_UNLIKELY(weft_model != NULL))
        weft_model->read(source, bytes);
    memcpy(target, source, bytes);
}

/*
 * For the race check of random mode, where data travels in atomic words: the reader has used the
 * words of a slot, and a writer is about to reuse them.
 */
static inline void weft_used_shared(const void *source, size_t bytes)
{
    if (WEFT_UNLIKELY(weft_model != NULL))
        weft_model->read(source, bytes);
}
/* The source of a put was read. With a target, and until the next one: by the message that the
 * caller stores. Who takes it knows that, and what else its sender has loaded. */
static inline void weft_sent_shared(const void *target, const void *source, size_t bytes)
{
    if (WEFT_UNLIKELY(weft_model != NULL))
        weft_model->send(target, source, bytes);
}
static inline void weft_claim_shared(const void *target, size_t bytes)
{
    if (WEFT_UNLIKELY(weft_model != NULL))
        weft_model->claim(target, bytes);
}

/*
 * Stores a small value undivided. label: released with it; ORDER_none: relaxed, carrying an
 * earlier weft_fence_release. (Values of 1 and 2 bytes cannot be waited for; in random mode they
 * are data like any other.)
 */
WEFT_HOT void weft_store_small(void *target, const void *source, size_t bytes,
                               enum weft_order label)
{
    if (bytes == 8) {
        uint64_t value;
        memcpy(&value, source, 8);
        if (label == ORDER_none)
            weft_store_relaxed_u64((uint64_t *)target, value);
        else
            weft_store_release_u64((uint64_t *)target, value, label);
    } else if (bytes == 4) {
        uint32_t value;
        memcpy(&value, source, 4);
        if (label == ORDER_none)
            weft_store_relaxed_u32((uint32_t *)target, value);
        else
            weft_store_release_u32((uint32_t *)target, value, label);
    } else if (WEFT_UNLIKELY(weft_model != NULL)) {
        weft_model->write(target, source, bytes, false);
    } else if (bytes == 2) {
        uint16_t value;
        memcpy(&value, source, 2);
        __atomic_store_n((uint16_t *)target, value, __ATOMIC_RELEASE);
    } else {
        __atomic_store_n((unsigned char *)target, *(const unsigned char *)source, __ATOMIC_RELEASE);
    }
}

/* Writes for a put: the source is the program's, which reuses it after weft_reuse. */
static inline void weft_put_shared(void *target, const void *source, size_t bytes)
{
    if (WEFT_UNLIKELY(weft_model != NULL))
        weft_model->write(target, source, bytes, true);
    else
        memmove(target, source, bytes); /* windows of one device may overlap */
}
WEFT_HOT void weft_put_small(void *target, const void *source, size_t bytes)
{
    if (!WEFT_UNLIKELY(weft_model != NULL))
        weft_store_small(target, source, bytes, ORDER_none);
    else if (bytes >= 4)
        weft_model->store(target, source, (int)bytes, false, true);
    else
        weft_model->write(target, source, bytes, true);
}

/* Delivers received data: small values undivided and released, the rest as plain stores. */
static inline void weft_deliver(void *target, const void *source, size_t bytes)
{
    if (weft_is_small(target, bytes))
        weft_store_small(target, source, bytes, ORDER_deliver_small);
    else
        weft_write_shared(target, source, bytes);
}

#endif
#endif
