/*
 * order/atomic_cuda.h - order/atomic.h for GPUs, as PTX, with order and scope in each instruction.
 *
 * Scope: system, unless the name says `device`, which is for words that only ranks of this GPU and
 * process touch. Words lie in global memory or in pinned host memory, never in shared memory. The
 * labels are those of order/order.h; only random mode on the CPU device uses them.
 *
 * A release by one thread covers what the other threads of its block did before the block's
 * barrier that precedes it, and an acquire reaches them through the barrier that follows: PTX
 * causality order is cumulative over barriers of the block (PTX ISA, memory consistency model).
 *
 * A part of order/atomic.h, which alone includes it.
 */
#ifndef WEFT_ORDER_ATOMIC_CUDA_H
#define WEFT_ORDER_ATOMIC_CUDA_H

#include <stddef.h>
#include <stdint.h>

#define WEFT_GLOBAL(p) __cvta_generic_to_global(p)

/* Accesses to global memory: `code` says operation, order, scope and type; `reg` the register. */
#define WEFT_LOAD(code, type, reg, p)                                                              \
    ({                                                                                             \
        type value_;                                                                               \
        asm volatile(code " %0, [%1];" : "=" reg(value_) : "l"(WEFT_GLOBAL(p)) : "memory");        \
        value_;                                                                                    \
    })
#define WEFT_LOAD_FOUR(code, p)                                                                    \
    ({                                                                                             \
        uint4 value_;                                                                              \
        asm volatile(code "v4.u32 {%0, %1, %2, %3}, [%4];"                                         \
                     : "=r"(value_.x), "=r"(value_.y), "=r"(value_.z), "=r"(value_.w)              \
                     : "l"(WEFT_GLOBAL(p))                                                         \
                     : "memory");                                                                  \
        value_;                                                                                    \
    })
#define WEFT_STORE(code, reg, p, value)                                                            \
    asm volatile(code " [%0], %1;" ::"l"(WEFT_GLOBAL(p)), reg(value) : "memory")
/* Returns the old value. */
#define WEFT_ATOM(code, type, reg, p, value)                                                       \
    ({                                                                                             \
        type old_;                                                                                 \
        asm volatile(code " %0, [%1], %2;"                                                         \
                     : "=" reg(old_)                                                               \
                     : "l"(WEFT_GLOBAL(p)), reg((type)(value))                                     \
                     : "memory");                                                                  \
        old_;                                                                                      \
    })
#define WEFT_ATOM_SWAP(code, type, reg, p, expected, value)                                        \
    ({                                                                                             \
        type old_;                                                                                 \
        asm volatile(code " %0, [%1], %2, %3;"                                                     \
                     : "=" reg(old_)                                                               \
                     : "l"(WEFT_GLOBAL(p)), reg((type)(expected)), reg((type)(value))              \
                     : "memory");                                                                  \
        old_;                                                                                      \
    })

#define WEFT_ATOMIC_DEFINE(bits, reg)                                                              \
    WEFT_INLINE uint##bits##_t weft_load_relaxed_u##bits(const uint##bits##_t *p)                  \
    {                                                                                              \
        return WEFT_LOAD("ld.relaxed.sys.global.u" #bits, uint##bits##_t, reg, p);                 \
    }                                                                                              \
    WEFT_INLINE uint##bits##_t weft_load_acquire_u##bits(const uint##bits##_t *p, enum weft_order) \
    {                                                                                              \
        return WEFT_LOAD("ld.acquire.sys.global.u" #bits, uint##bits##_t, reg, p);                 \
    }                                                                                              \
    WEFT_INLINE void weft_store_relaxed_u##bits(uint##bits##_t *p, uint##bits##_t value)           \
    {                                                                                              \
        WEFT_STORE("st.relaxed.sys.global.u" #bits, reg, p, value);                                \
    }                                                                                              \
    WEFT_INLINE void weft_store_release_u##bits(uint##bits##_t *p, uint##bits##_t value,           \
                                                enum weft_order)                                   \
    {                                                                                              \
        WEFT_STORE("st.release.sys.global.u" #bits, reg, p, value);                                \
    }                                                                                              \
    WEFT_INLINE void weft_add_relaxed_u##bits(uint##bits##_t *p, uint##bits##_t value)             \
    {                                                                                              \
        WEFT_STORE("red.relaxed.sys.global.add.u" #bits, reg, p, value);                           \
    }                                                                                              \
    WEFT_INLINE void weft_add_release_u##bits(uint##bits##_t *p, uint##bits##_t value,             \
                                              enum weft_order)                                     \
    {                                                                                              \
        WEFT_STORE("red.release.sys.global.add.u" #bits, reg, p, value);                           \
    }

WEFT_ATOMIC_DEFINE(32, "r")
WEFT_ATOMIC_DEFINE(64, "l")
#undef WEFT_ATOMIC_DEFINE

/* Loads the word, if it is wanted, else gives 0; without a branch, so that loads of several are
 * under way at once. */
WEFT_INLINE uint64_t weft_load_relaxed_if_u64(const uint64_t *p, bool wanted)
{
    uint64_t value;
    asm volatile("{\n\t.reg .pred wanted;\n\t"
                 "setp.ne.u32 wanted, %2, 0;\n\t"
                 "mov.u64 %0, 0;\n\t"
                 "@wanted ld.relaxed.sys.global.u64 %0, [%1];\n\t}"
                 : "=&l"(value)
                 : "l"(WEFT_GLOBAL(p)), "r"((uint32_t)wanted)
                 : "memory");
    return value;
}

WEFT_INLINE void weft_add_relaxed_device_u32(uint32_t *p, uint32_t value)
{
    WEFT_STORE("red.relaxed.gpu.global.add.u32", "r", p, value);
}

WEFT_INLINE void weft_add_release_device_u32(uint32_t *p, uint32_t value, enum weft_order)
{
    WEFT_STORE("red.release.gpu.global.add.u32", "r", p, value);
}

WEFT_INLINE void weft_add_block_u32(uint32_t *p, uint32_t value)
{
    asm volatile(
        "red.relaxed.cta.shared.add.u32 [%0], %1;" ::"r"((uint32_t)__cvta_generic_to_shared(p)),
        "r"(value)
        : "memory");
}

/* Returns the old value; orders nothing. */
WEFT_INLINE uint32_t weft_add_returning_u32(uint32_t *p, uint32_t value)
{
    return WEFT_ATOM("atom.relaxed.sys.global.add.u32", uint32_t, "r", p, value);
}

/* Adds for ranks of one device; returns the old value, and orders nothing. */
WEFT_INLINE uint64_t weft_add_returning_device_u64(uint64_t *p, uint64_t value)
{
    return WEFT_ATOM("atom.relaxed.gpu.global.add.u64", uint64_t, "l", p, value);
}

/* Returns the old value; an acquire and a release. */
WEFT_INLINE uint32_t weft_add_both_u32(uint32_t *p, uint32_t value, enum weft_order,
                                       enum weft_order)
{
    return WEFT_ATOM("atom.acq_rel.sys.global.add.u32", uint32_t, "r", p, value);
}

/* Returns the old value; an acquire as well. */
WEFT_INLINE uint32_t weft_add_both_device_u32(uint32_t *p, uint32_t value)
{
    return WEFT_ATOM("atom.acq_rel.gpu.global.add.u32", uint32_t, "r", p, value);
}

/*
 * Polling: loads, and weft_polled() once they have seen what was waited for; together they are
 * acquires. A poll that acquires by itself empties the L1 cache in every round, which makes rounds
 * 0.1 us longer on an H200. So where there is an acquire fence (PTX 8.6, sm_90) polls are relaxed.
 */
#if __CUDA_ARCH__ >= 900 && 100 * __CUDACC_VER_MAJOR__ + __CUDACC_VER_MINOR__ >= 1208
#define WEFT_POLL    "ld.relaxed.sys.global."
#define WEFT_POLLED  WEFT_ACQUIRE
#define WEFT_ACQUIRE "fence.acquire.sys;"
#else
#define WEFT_POLL    "ld.acquire.sys.global."
#define WEFT_POLLED  ""
#define WEFT_ACQUIRE "fence.acq_rel.sys;"
#endif

WEFT_INLINE void weft_polled(void)
{
    asm volatile(WEFT_POLLED ::: "memory");
}

/*
 * This thread's later loads find nothing older than what it has seen: the L1 cache is emptied. On
 * sm_90 it waits for no store, as a fence that is also a release does, for 0.6 us on an H200.
 */
WEFT_INLINE void weft_fence_acquire(void)
{
    asm volatile(WEFT_ACQUIRE ::: "memory");
}

WEFT_INLINE uint32_t weft_poll_u32(const uint32_t *p, enum weft_order)
{
    return WEFT_LOAD(WEFT_POLL "u32", uint32_t, "r", p);
}

WEFT_INLINE uint64_t weft_poll_u64(const uint64_t *p, enum weft_order)
{
    return WEFT_LOAD(WEFT_POLL "u64", uint64_t, "l", p);
}

/*
 * Four words, aligned to 16 bytes, in one load. PTX takes it for four loads without order among
 * them, each of its own word: as good as four, in one crossing.
 */
WEFT_INLINE uint4 weft_poll_four(const uint32_t *p)
{
    return WEFT_LOAD_FOUR(WEFT_POLL, p);
}

/* Loads an item without order, and without the L1 cache. */
WEFT_INLINE uint4 weft_load_relaxed(const uint4 *p)
{
    return WEFT_LOAD_FOUR("ld.relaxed.sys.global.", p);
}
WEFT_INLINE uint64_t weft_load_relaxed(const uint64_t *p)
{
    return weft_load_relaxed_u64(p);
}
WEFT_INLINE uint32_t weft_load_relaxed(const uint32_t *p)
{
    return weft_load_relaxed_u32(p);
}

WEFT_INLINE void weft_tell_u32(uint32_t *p, uint32_t value)
{
    weft_store_relaxed_u32(p, value);
}
WEFT_INLINE void weft_tell_u64(uint64_t *p, uint64_t value)
{
    weft_store_relaxed_u64(p, value);
}

/* Random mode's; it is not here. */
WEFT_INLINE void weft_used_shared(const void *, size_t)
{
}
WEFT_INLINE void weft_sent_shared(const void *, const void *, size_t)
{
}

/* Copies words out of memory that the host wrote, after an acquire; past the L1 cache. */
WEFT_INLINE void weft_read_shared(void *target, const void *source, size_t bytes)
{
    for (size_t i = 0; i < bytes / 4; i++)
        ((uint32_t *)target)[i] = weft_load_relaxed_u32((const uint32_t *)source + i);
}

WEFT_INLINE uint64_t weft_compare_swap_word(void *word, bool small, uint64_t expected,
                                            uint64_t value)
{
    uint32_t old32;
    uint64_t old;

    if (small)
        old32 =
            WEFT_ATOM_SWAP("atom.relaxed.sys.global.cas.b32", uint32_t, "r", word, expected, value);
    else
        old =
            WEFT_ATOM_SWAP("atom.relaxed.sys.global.cas.b64", uint64_t, "l", word, expected, value);
    return small ? old32 : old;
}

/* Updates as weft_update, without order. */
WEFT_INLINE uint64_t weft_update_relaxed(void *word, const struct weft_change *change)
{
    const bool small = weft_type_bytes(change->type) == 4;

    if (change->how == WEFT_SUM && (change->type == WEFT_I32 || change->type == WEFT_U32))
        return WEFT_ATOM("atom.relaxed.sys.global.add.u32", uint32_t, "r", word, change->value);
    if (change->how == WEFT_SUM && (change->type == WEFT_I64 || change->type == WEFT_U64))
        return WEFT_ATOM("atom.relaxed.sys.global.add.u64", uint64_t, "l", word, change->value);
    if (change->how == WEFT_REPLACE && small)
        return WEFT_ATOM("atom.relaxed.sys.global.exch.b32", uint32_t, "r", word, change->value);
    if (change->how == WEFT_REPLACE)
        return WEFT_ATOM("atom.relaxed.sys.global.exch.b64", uint64_t, "l", word, change->value);
    if (change->how == WEFT_COMPARE)
        return weft_compare_swap_word(word, small, change->expected, change->value);
    uint64_t was = small ? weft_load_relaxed_u32((const uint32_t *)word)
                         : weft_load_relaxed_u64((const uint64_t *)word);
    for (;;) {
        const uint64_t old = weft_compare_swap_word(word, small, was, weft_change_of(was, change));
        if (old == was)
            return old;
        was = old;
    }
}

/* Updates a real of 16 bits by the word around it, without order. The other half may change. */
WEFT_INLINE void weft_update_half(void *element, const struct weft_change *change)
{
    void *const word = (void *)((uintptr_t)element & ~(uintptr_t)3);
    uint32_t was = weft_load_relaxed_u32((const uint32_t *)word);

    for (;;) {
        const uint32_t next = weft_half_in_word(was, (uintptr_t)element, change);
        const uint32_t old = (uint32_t)weft_compare_swap_word(word, true, was, next);
        if (old == was)
            return;
        was = old;
    }
}

/* Updates as weft_update_relaxed, on memory of the device or of the block. */
WEFT_INLINE uint64_t weft_update_anywhere(void *word, const struct weft_change *change)
{
    typedef unsigned long long wide;
    const bool small = weft_type_bytes(change->type) == 4;
    const uint64_t value = change->value;

    if (change->how == WEFT_SUM && change->type == WEFT_F32)
        return __float_as_uint(atomicAdd_system((float *)word, __uint_as_float((uint32_t)value)));
    if (change->how == WEFT_SUM && change->type == WEFT_F64)
        return __double_as_longlong(
            atomicAdd_system((double *)word, __longlong_as_double((long long)value)));
    if (change->how == WEFT_SUM)
        return small ? atomicAdd_system((unsigned *)word, (uint32_t)value)
                     : atomicAdd_system((wide *)word, value);
    for (uint64_t was = small ? *(volatile uint32_t *)word : *(volatile uint64_t *)word, old;;
         was = old) {
        const uint64_t next = weft_change_of(was, change);
        old = small ? atomicCAS_system((unsigned *)word, (uint32_t)was, (uint32_t)next)
                    : atomicCAS_system((wide *)word, was, next);
        if (old == was)
            return old;
    }
}

/* An acquire and a release; returns the old value. The word is aligned. */
WEFT_INLINE uint64_t weft_update(void *word, const struct weft_change *change)
{
    asm volatile("fence.acq_rel.sys;" ::: "memory");
    const uint64_t old = weft_update_relaxed(word, change);
    weft_fence_acquire();
    return old;
}

/* Updates for ranks of one device: an acquire and a release. */
WEFT_INLINE uint64_t weft_update_device(void *word, const struct weft_change *change)
{
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    const uint64_t old = weft_update_relaxed(word, change);
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    return old;
}

WEFT_INLINE void weft_store_release_device_u64(uint64_t *p, uint64_t value, enum weft_order)
{
    WEFT_STORE("st.release.gpu.global.u64", "l", p, value);
}

/* Compares and swaps; returns the old value. An acquire and a release. */
WEFT_INLINE uint64_t weft_swap_both_device_u64(uint64_t *p, uint64_t expected, uint64_t value,
                                               enum weft_order, enum weft_order)
{
    return WEFT_ATOM_SWAP("atom.acq_rel.gpu.global.cas.b64", uint64_t, "l", p, expected, value);
}

/* Orders all that this thread did or acquired before its later relaxed stores and adds. */
WEFT_INLINE void weft_fence_release(enum weft_order)
{
    asm volatile("fence.acq_rel.sys;" ::: "memory");
}

/* Orders as weft_fence_release, for ranks of one device. */
WEFT_INLINE void weft_fence_release_device(enum weft_order)
{
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

#endif
