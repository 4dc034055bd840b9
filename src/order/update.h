/*
 * order/update.h - what atomics do to a word: order/atomic.h and atomic_cuda.h do it undivided,
 * with weft_change_of where the machine has no instruction for it.
 */
#ifndef WEFT_ORDER_UPDATE_H
#define WEFT_ORDER_UPDATE_H

#include "order/inline.h"
#include "weft/types.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Beside a weft_operation. COMPARE: becomes the value if it is what is expected. */
enum { WEFT_COMPARE = WEFT_REPLACE + 1, WEFT_TYPES = WEFT_F64 + 1 };

struct weft_change {
    uint64_t value, expected; /* operands; of a type of 4 bytes: in the lower half */
    uint32_t how, type;       /* a weft_operation or WEFT_COMPARE; a weft_type */
};

WEFT_INLINE uint32_t weft_type_bytes(uint32_t type)
{
    return type == WEFT_I32 || type == WEFT_U32 || type == WEFT_F32 ? 4 : 8;
}

/* Whether there is such a change. */
WEFT_INLINE bool weft_change_exists(uint32_t how, uint32_t type)
{
    return type < WEFT_TYPES &&
           (how <= WEFT_MAX || how == WEFT_PROD || (how <= WEFT_XOR && type < WEFT_F32) ||
            how == WEFT_REPLACE || how == WEFT_COMPARE);
}

#define WEFT_CHANGE_REAL(name, real, word)                                                         \
    WEFT_INLINE uint64_t name(uint32_t how, uint64_t old, uint64_t value)                          \
    {                                                                                              \
        const word from[2] = {(word)old, (word)value};                                             \
        word result;                                                                               \
        real a, b;                                                                                 \
        memcpy(&a, &from[0], sizeof(a));                                                           \
        memcpy(&b, &from[1], sizeof(b));                                                           \
        if (how == WEFT_SUM)                                                                       \
            a += b;                                                                                \
        else if (how == WEFT_PROD)                                                                 \
            a *= b;                                                                                \
        else if ((how == WEFT_MIN ? b < a : b > a) || a != a) /* a NaN gives way to any value */   \
            a = b;                                                                                 \
        memcpy(&result, &a, sizeof(a));                                                            \
        return result;                                                                             \
    }

WEFT_CHANGE_REAL(weft_change_f32, float, uint32_t)
WEFT_CHANGE_REAL(weft_change_f64, double, uint64_t)
#undef WEFT_CHANGE_REAL

/* What the word becomes; of 4 bytes: the lower half counts. */
WEFT_INLINE uint64_t weft_change_of(uint64_t old, const struct weft_change *change)
{
    const uint64_t value = change->value;
    const bool small = weft_type_bytes(change->type) == 4;
    bool less; /* value < old */

    if (change->how == WEFT_REPLACE)
        return value;
    if (change->how == WEFT_COMPARE)
        return (small ? (uint32_t)old == (uint32_t)change->expected : old == change->expected)
                   ? value
                   : old;
    if (change->type == WEFT_F32)
        return weft_change_f32(change->how, old, value);
    if (change->type == WEFT_F64)
        return weft_change_f64(change->how, old, value);
    switch (change->type) {
    case WEFT_I32:
        less = (int32_t)value < (int32_t)old;
        break;
    case WEFT_U32:
        less = (uint32_t)value < (uint32_t)old;
        break;
    case WEFT_I64:
        less = (int64_t)value < (int64_t)old;
        break;
    default:
        less = value < old;
    }
    switch (change->how) {
    case WEFT_SUM:
        return old + value;
    case WEFT_PROD:
        return old * value;
    case WEFT_MIN:
        return less ? value : old;
    case WEFT_MAX:
        return less ? old : value;
    case WEFT_AND:
        return old & value;
    case WEFT_OR:
        return old | value;
    default:
        return old ^ value;
    }
}

#endif
