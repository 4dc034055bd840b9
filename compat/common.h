/*
 * compat/common.h - what the libraries of several standards share: errors, memory of a block, and
 * what reductions do to elements of C's types, one loop for each operation and type, as
 * weft_combine calls it. A file makes the loops that its tables name.
 */
#ifndef WEFTCOMPAT_COMMON_H
#define WEFTCOMPAT_COMMON_H

#include <weft/team.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Returns what an expression gives from the calling function, if it is an error: of every standard
 * 0 is none. */
#define TRY(expression)                                                                            \
    do {                                                                                           \
        const __auto_type try_code = (expression);                                                 \
        if (try_code != 0)                                                                         \
            return try_code;                                                                       \
    } while (0)

/* ALL_THERE: whether none of these places, of which there may be none, is NULL. */
#define PLACES_OF(...) ((const void *const[]){"", __VA_ARGS__})
#define ALL_THERE(...)                                                                             \
    weftcompat_all_there(sizeof(PLACES_OF(__VA_ARGS__)) / sizeof(void *), PLACES_OF(__VA_ARGS__))
static inline bool weftcompat_all_there(size_t count, const void *const places[])
{
    while (count != 0)
        if (places[--count] == NULL)
            return false;
    return true;
}

/* FREED, before a pointer: frees its memory at the end of the block. */
#define FREED __attribute__((cleanup(weftcompat_free_block)))
static inline void weftcompat_free_block(const void *place)
{
    void *memory;

    memcpy(&memory, place, sizeof(memory));
    free(memory);
}

/* Defines a loop over elements: b is the element that stays, a the lower member's. */
#define ELEMENT_LOOP(name, ctype, expression)                                                      \
    static __attribute__((unused)) void name(const weft_combine *combine, const void *from,        \
                                             void *into, size_t count)                             \
    {                                                                                              \
        const ctype *const x = from;                                                               \
        ctype *const y = into;                                                                     \
        (void)combine;                                                                             \
        for (size_t i = 0; i < count; i++) {                                                       \
            const ctype a = x[i], b = y[i];                                                        \
            y[i] = (ctype)(expression);                                                            \
        }                                                                                          \
    }
#define ELEMENT_COMPLEXES(t, ctype)                                                                \
    ELEMENT_LOOP(sum_##t, ctype, a + b)                                                            \
    ELEMENT_LOOP(prod_##t, ctype, a *b)
#define ELEMENT_EXTREMES(t, ctype)                                                                 \
    ELEMENT_LOOP(min_##t, ctype, a < b ? a : b)                                                    \
    ELEMENT_LOOP(max_##t, ctype, a > b ? a : b)
#define ELEMENT_REALS(t, ctype) ELEMENT_COMPLEXES(t, ctype) ELEMENT_EXTREMES(t, ctype)
/* Defines the loops of an integer type, whose sums and products wrap. */
#define ELEMENT_INTEGERS(t, ctype)                                                                 \
    ELEMENT_LOOP(sum_##t, ctype, (unsigned __int128)a + (unsigned __int128)b)                      \
    ELEMENT_LOOP(prod_##t, ctype, (unsigned __int128)a *(unsigned __int128)b)                      \
    ELEMENT_EXTREMES(t, ctype)                                                                     \
    ELEMENT_LOOP(land_##t, ctype, a != 0 && b != 0)                                                \
    ELEMENT_LOOP(lor_##t, ctype, a != 0 || b != 0)                                                 \
    ELEMENT_LOOP(lxor_##t, ctype, (a != 0) != (b != 0))                                            \
    ELEMENT_LOOP(band_##t, ctype, a &b)                                                            \
    ELEMENT_LOOP(bor_##t, ctype, a | b)                                                            \
    ELEMENT_LOOP(bxor_##t, ctype, a ^ b)

#endif
