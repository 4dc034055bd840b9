/*
 * order/element.h - elements put together exactly: the same bits on every device and host, whatever
 * compiler, flags and rounding modes the caller has.
 *
 * Words of 8 bytes hold 8, 4, 2 or 1 elements. Reals of 16 bits are F32 while they are put
 * together, and rounded once. Sums and products of reals round to nearest even, keep subnormals and
 * fuse nothing. On a host that is so between weft_exact_begin and weft_exact_end, in files compiled
 * with -ffp-contract=off; one operation alone, as an accumulate's, has nothing to fuse anywhere. A
 * NaN that comes out has the bits 7ff..f of its type, 7ff8 and zeros for F64.
 */
#ifndef WEFT_ORDER_ELEMENT_H
#define WEFT_ORDER_ELEMENT_H

#include "order/update.h"

#ifndef __CUDACC__
#include <fenv.h>
#endif

WEFT_INLINE uint32_t weft_element_bytes(uint32_t type)
{
    return type <= WEFT_F64 ? weft_type_bytes(type) : type == WEFT_U8 ? 1 : 2;
}

WEFT_INLINE bool weft_element_is_real(uint32_t type)
{
    return type >= WEFT_F32 && type <= WEFT_BF16;
}

WEFT_INLINE bool weft_element_is_half(uint32_t type)
{
    return type == WEFT_F16 || type == WEFT_BF16;
}

/* Whether there is such a type, and such an operation on it. */
WEFT_INLINE bool weft_element_exists(uint32_t type, uint32_t operation)
{
    return type <= WEFT_U8 && (operation <= WEFT_MAX || operation == WEFT_PROD ||
                               (operation <= WEFT_XOR && !weft_element_is_real(type)));
}

/* Whether there is such an accumulate of reals of 16 bits, and such an update of any type. */
WEFT_INLINE bool weft_half_exists(uint32_t type, uint32_t operation)
{
    return weft_element_is_half(type) && weft_element_exists(type, operation);
}

WEFT_INLINE bool weft_update_exists(uint32_t how, uint32_t type)
{
    return weft_change_exists(how, type) || weft_half_exists(type, how);
}

/* ---- the caller's floating-point mode, on a host --------------------------------------------- */

#ifdef __CUDACC__
WEFT_INLINE float weft_exact_f32(float a, float b, uint32_t how)
{
    float c;
    if (how == WEFT_SUM)
        asm("add.rn.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
    else
        asm("mul.rn.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
    return c;
}
WEFT_INLINE double weft_exact_f64(double a, double b, uint32_t how)
{
    double c;
    if (how == WEFT_SUM)
        asm("add.rn.f64 %0, %1, %2;" : "=d"(c) : "d"(a), "d"(b));
    else
        asm("mul.rn.f64 %0, %1, %2;" : "=d"(c) : "d"(a), "d"(b));
    return c;
}
#else
static inline void weft_exact_begin(fenv_t *callers)
{
    fegetenv(callers);
    fesetenv(FE_DFL_ENV);
}
static inline void weft_exact_end(const fenv_t *callers)
{
    fesetenv(callers);
}
static inline float weft_exact_f32(float a, float b, uint32_t how)
{
    return how == WEFT_SUM ? a + b : a * b;
}
static inline double weft_exact_f64(double a, double b, uint32_t how)
{
    return how == WEFT_SUM ? a + b : a * b;
}
#endif

/* ---- two elements ---------------------------------------------------------------------------- */

/* MIN and MAX compare bits: a compiler may flush subnormals where it compares reals. */
#define WEFT_ELEMENT_REAL(name, real, word, exact, infinity)                                       \
    WEFT_INLINE word name(word a, word b, uint32_t how)                                            \
    {                                                                                              \
        const word sign = (word)1 << (8 * sizeof(word) - 1);                                       \
        if (how == WEFT_SUM || how == WEFT_PROD) {                                                 \
            real x, y;                                                                             \
            memcpy(&x, &a, sizeof(x));                                                             \
            memcpy(&y, &b, sizeof(y));                                                             \
            x = exact(x, y, how);                                                                  \
            memcpy(&a, &x, sizeof(a));                                                             \
            return a;                                                                              \
        }                                                                                          \
        if ((a & ~sign) > (infinity)) /* a NaN gives way to any value */                           \
            return b;                                                                              \
        if ((b & ~sign) > (infinity) || ((a | b) & ~sign) == 0)                                    \
            return a;                                                                              \
        const word x = (a & sign) != 0 ? ~a : a | sign; /* in the order of the reals */            \
        const word y = (b & sign) != 0 ? ~b : b | sign;                                            \
        return (how == WEFT_MIN ? y < x : x < y) ? b : a;                                          \
    }

WEFT_ELEMENT_REAL(weft_element_f32, float, uint32_t, weft_exact_f32, 0x7f800000u)
WEFT_ELEMENT_REAL(weft_element_f64, double, uint64_t, weft_exact_f64, 0x7ff0000000000000u)
#undef WEFT_ELEMENT_REAL

/* A word of integers. */
WEFT_INLINE uint64_t weft_element_integers(uint64_t a, uint64_t b, uint32_t type, uint32_t how)
{
    const uint32_t bits = 8 * weft_element_bytes(type);
    const uint64_t mask = ~(uint64_t)0 >> (64 - bits);
    uint64_t all = 0;

    WEFT_UNROLL
    for (uint32_t at = 0; at < 64; at += bits) {
        const struct weft_change change = {.value = b >> at & mask,
                                           .how = how,
                                           .type = type == WEFT_U8 ? (uint32_t)WEFT_U32 : type};
        all |= (weft_change_of(a >> at & mask, &change) & mask) << at;
    }
    return all;
}

/* ---- reals of 16 bits ------------------------------------------------------------------------ */

WEFT_INLINE uint32_t weft_bits_of_f32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* Converts a real of 16 bits to F32, exactly. */
WEFT_INLINE uint32_t weft_element_widen(uint32_t bits, uint32_t type)
{
    if (type == WEFT_BF16)
        return bits << 16;
#ifdef __CUDACC__
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((uint16_t)bits));
    return weft_bits_of_f32(value);
#else
    const uint32_t sign = (bits & 0x8000) << 16, rest = bits & 0x7fff;
    if (rest >= 0x7c00)
        return sign | 0x7f800000 | (rest & 0x3ff) << 13;
    if (rest >= 0x400)
        return sign | ((rest << 13) + (112u << 23));
    return sign | weft_bits_of_f32((float)rest * 0x1p-24f);
#endif
}

/* Rounds F32 to a real of 16 bits, to nearest even. */
WEFT_INLINE uint32_t weft_element_round(uint32_t bits, uint32_t type)
{
    const uint32_t rest = bits & 0x7fffffff;

    if (rest > 0x7f800000)
        return 0x7fff;
    if (type == WEFT_BF16)
        return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
#ifdef __CUDACC__
    uint16_t half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(__uint_as_float(bits)));
    return half;
#else
    const uint32_t sign = bits >> 16 & 0x8000;
    float value;
    if (rest >= 0x477ff000) /* rounds to 2^16, or is more */
        return sign | 0x7c00;
    if (rest >= 0x38800000)
        return sign | (rest + 0xfff + (rest >> 13 & 1) - (112u << 23)) >> 13;
    memcpy(&value, &rest, sizeof(value));
    return sign | (weft_bits_of_f32(value + 0.5f) - 0x3f000000); /* F32 at 0.5: steps of 2^-24 */
#endif
}

/* Gives what an element of 16 bits becomes, in the lower half. */
WEFT_INLINE uint32_t weft_half_of(uint32_t old, const struct weft_change *change)
{
    const uint32_t type = change->type;
    const uint32_t a = weft_element_widen(old & 0xffff, type),
                   b = weft_element_widen((uint32_t)change->value & 0xffff, type);

    return weft_element_round(weft_element_f32(a, b, change->how), type);
}

/* Gives what the word of 4 bytes around the element becomes. */
WEFT_INLINE uint32_t weft_half_in_word(uint32_t word, uint64_t element,
                                       const struct weft_change *change)
{
    const uint32_t shift = (uint32_t)element % 4 * 8;

    return (word & ~(0xffffu << shift)) | weft_half_of(word >> shift, change) << shift;
}

/* ---- words of several members ---------------------------------------------------------------- */

/* A word of the first members, with which the next ones' are combined. */
struct weft_elements {
    uint64_t part[2]; /* [0]: the word; of reals of 16 bits, two as F32, the other two in [1] */
};

WEFT_INLINE uint64_t weft_element_widen_two(uint64_t bits, uint32_t type)
{
    return weft_element_widen(bits & 0xffff, type) |
           (uint64_t)weft_element_widen(bits >> 16 & 0xffff, type) << 32;
}

WEFT_INLINE uint64_t weft_element_f32_two(uint64_t a, uint64_t b, uint32_t how)
{
    return weft_element_f32((uint32_t)a, (uint32_t)b, how) |
           (uint64_t)weft_element_f32((uint32_t)(a >> 32), (uint32_t)(b >> 32), how) << 32;
}

/* Begins with the first member's word. */
WEFT_INLINE struct weft_elements weft_elements_open(uint64_t word, uint32_t type)
{
    struct weft_elements made = {{word, 0}};

    if (type == WEFT_F16 || type == WEFT_BF16) {
        made.part[0] = weft_element_widen_two(word, type);
        made.part[1] = weft_element_widen_two(word >> 32, type);
    }
    return made;
}

/* Combines with the next member's word. */
WEFT_INLINE void weft_elements_put(struct weft_elements *all, uint64_t word, uint32_t type,
                                   uint32_t how)
{
    if (type == WEFT_F32) {
        all->part[0] = weft_element_f32_two(all->part[0], word, how);
    } else if (type == WEFT_F16 || type == WEFT_BF16) {
        const struct weft_elements next = weft_elements_open(word, type);
        all->part[0] = weft_element_f32_two(all->part[0], next.part[0], how);
        all->part[1] = weft_element_f32_two(all->part[1], next.part[1], how);
    } else if (type == WEFT_F64) {
        all->part[0] = weft_element_f64(all->part[0], word, how);
    } else {
        all->part[0] = weft_element_integers(all->part[0], word, type, how);
    }
}

WEFT_INLINE uint64_t weft_element_no_nan_f32(uint32_t bits)
{
    return (bits & 0x7fffffff) > 0x7f800000 ? 0x7fffffff : bits;
}

WEFT_INLINE uint64_t weft_element_round_two(uint64_t bits, uint32_t type)
{
    return weft_element_round((uint32_t)bits, type) |
           weft_element_round((uint32_t)(bits >> 32), type) << 16;
}

/* Gives the combined word, in the elements' own type. */
WEFT_INLINE uint64_t weft_elements_close(const struct weft_elements *all, uint32_t type)
{
    const uint64_t word = all->part[0];

    if (type == WEFT_F32)
        return weft_element_no_nan_f32((uint32_t)word) |
               weft_element_no_nan_f32((uint32_t)(word >> 32)) << 32;
    if (type == WEFT_F16 || type == WEFT_BF16)
        return weft_element_round_two(word, type) | weft_element_round_two(all->part[1], type)
                                                        << 32;
    if (type == WEFT_F64)
        return (word & ~(uint64_t)0 >> 1) > 0x7ff0000000000000u ? 0x7ff8000000000000u : word;
    return word;
}

#endif
