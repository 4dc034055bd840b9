/*
 * pgas/buddy.h - a lock-free buddy allocator, for host threads and for kernels: it calls no driver
 * and no system.
 *
 * Memory is cut by 32 at each level: a word of level 0 says of 32 units of `least` bytes which are
 * taken, and where a block ends; all 32 together are one unit of level 1, and so on. A block is a
 * run of up to 32 units of one level, aligned to the next power of two; a larger one ends with a
 * tail of the level below, so that little is wasted. One compare and swap takes a run, one gives it
 * back: buddies that are free are one at once.
 *
 * A word is closed while its memory is one unit of the level above, and seems full to all who look
 * for units. Who has taken that unit opens the word by a store. Who gives back its last unit closes
 * it in the same swap, and gives the unit above back. So a word's value is all its state.
 *
 * Each lane takes from a word of its own, as long as there are words, so that ranks do not swap one
 * word against each other. It stays open when it becomes empty: who takes and gives blocks in turns
 * would open and close a word of each level every time. When nothing else is found, and before
 * anybody counts, such words are closed.
 *
 * All users of one allocator are threads of one process, or ranks of one device.
 */
#ifndef WEFT_PGAS_BUDDY_H
#define WEFT_PGAS_BUDDY_H

#include "order/atomic.h"

enum { WEFT_BUDDY_LEVELS = 8, WEFT_BUDDY_LANES = 512, WEFT_BUDDY_UNITS = 32 };
#define WEFT_BUDDY_NONE   UINT64_MAX
#define WEFT_BUDDY_CLOSED ((uint64_t)UINT32_MAX) /* word: all units are taken, no block ends */

struct weft_buddy {
    uint64_t bytes;              /* bytes that it lends, from offset 0 on */
    uint32_t least_log2, levels; /* a unit of level l has 2^(least_log2 + 5 l) bytes */
    uint32_t words[WEFT_BUDDY_LEVELS];
    uint64_t *word[WEFT_BUDDY_LEVELS]; /* lower half: taken; upper half: the last unit of a block */
    uint32_t hint[WEFT_BUDDY_LANES][WEFT_BUDDY_LEVELS]; /* word last taken from + 1; 0: none */
};

WEFT_INLINE uint64_t weft_buddy_unit(const struct weft_buddy *b, uint32_t level)
{
    return (uint64_t)1 << (b->least_log2 + 5 * level);
}

/* ---- words ----------------------------------------------------------------------------------- */

/* Gives what a run of units adds to a word. */
WEFT_INLINE uint64_t weft_buddy_run(uint32_t first, uint32_t units)
{
    return (((uint64_t)1 << units) - 1) << first | (uint64_t)1 << (32 + first + units - 1);
}

WEFT_INLINE bool weft_buddy_taken(uint64_t word, uint32_t unit)
{
    return (word >> unit & 1) != 0;
}
WEFT_INLINE bool weft_buddy_ends(uint64_t word, uint32_t unit)
{
    return (word >> (32 + unit) & 1) != 0;
}
WEFT_INLINE bool weft_buddy_begins(uint64_t word, uint32_t unit)
{
    return weft_buddy_taken(word, unit) &&
           (unit == 0 || weft_buddy_ends(word, unit - 1) || !weft_buddy_taken(word, unit - 1));
}
/* Units of the block that begins there. */
WEFT_INLINE uint32_t weft_buddy_length(uint64_t word, uint32_t first)
{
    uint32_t units = 1;

    while (first + units < WEFT_BUDDY_UNITS && !weft_buddy_ends(word, first + units - 1))
        units++;
    return units;
}

WEFT_INLINE uint64_t weft_buddy_swap(uint64_t *word, uint64_t was, uint64_t value)
{
    return weft_swap_both_device_u64(word, was, value, ORDER_heap_take, ORDER_heap_give);
}

/* Takes a run of a word; its first unit, or UNITS: there is none. *alone: nobody else did, or gave
 * back, meanwhile. */
WEFT_INLINE uint32_t weft_buddy_take_of(uint64_t *word, uint32_t units, bool *alone)
{
    uint64_t was = weft_load_relaxed_u64(word);
    uint32_t step = 1;

    *alone = true;
    while (step < units)
        step *= 2;
    for (;; *alone = false) {
        const uint64_t mask = ((uint64_t)1 << units) - 1;
        uint32_t first = (uint32_t)was == UINT32_MAX ? WEFT_BUDDY_UNITS : 0; /* most are closed */
        while (first < WEFT_BUDDY_UNITS && (was & mask << first) != 0)
            first += step;
        if (first >= WEFT_BUDDY_UNITS)
            return WEFT_BUDDY_UNITS;
        const uint64_t now = weft_buddy_swap(word, was, was | weft_buddy_run(first, units));
        if (now == was)
            return first;
        was = now;
    }
}

/* Gives the word without a run that is given back; keep: it stays open. */
WEFT_INLINE uint64_t weft_buddy_without(const struct weft_buddy *b, uint32_t level, uint64_t word,
                                        uint64_t run, bool keep)
{
    const uint64_t rest = word & ~run;

    return (uint32_t)rest == 0 && level + 1 < b->levels && !keep ? WEFT_BUDDY_CLOSED : rest;
}

WEFT_INLINE bool weft_buddy_keeps(const struct weft_buddy *b, uint32_t level, uint64_t index,
                                  uint32_t lane)
{
    return lane < WEFT_BUDDY_LANES && weft_load_relaxed_u32(&b->hint[lane][level]) == index + 1;
}

/* Gives a run back, and what it leaves empty. */
WEFT_INLINE void weft_buddy_give_run(struct weft_buddy *b, uint32_t level, uint64_t index,
                                     uint64_t run, uint32_t lane)
{
    for (;;) {
        uint64_t *const word = &b->word[level][index];
        const bool keep = weft_buddy_keeps(b, level, index, lane);
        uint64_t was = weft_load_relaxed_u64(word), value, now;
        for (;; was = now) {
            value = weft_buddy_without(b, level, was, run, keep);
            now = weft_buddy_swap(word, was, value);
            if (now == was)
                break;
        }
        if (value != WEFT_BUDDY_CLOSED)
            return;
        run = weft_buddy_run(index % WEFT_BUDDY_UNITS, 1);
        index /= WEFT_BUDDY_UNITS;
        level++;
    }
}

/* Gives those of a group of words that may be open: the unit above is taken and ends a block. */
WEFT_INLINE uint32_t weft_buddy_open(const struct weft_buddy *b, uint32_t level, uint64_t group)
{
    if (level + 1 == b->levels)
        return UINT32_MAX;
    const uint64_t above = weft_load_relaxed_u64(&b->word[level + 1][group]);
    return (uint32_t)above & (uint32_t)(above >> 32);
}

/* Closes the words that are open and empty. */
WEFT_INLINE void weft_buddy_tidy(struct weft_buddy *b)
{
    for (uint32_t l = 0; l + 1 < b->levels; l++)
        for (uint64_t group = 0; group < b->words[l + 1]; group++) {
            const uint32_t open = weft_buddy_open(b, l, group);
            for (uint32_t i = 0; open != 0 && i < WEFT_BUDDY_UNITS; i++) {
                const uint64_t w = group * WEFT_BUDDY_UNITS + i;
                if ((open >> i & 1) != 0 && w < b->words[l] &&
                    weft_load_relaxed_u64(&b->word[l][w]) == 0 &&
                    weft_buddy_swap(&b->word[l][w], 0, WEFT_BUDDY_CLOSED) == 0)
                    weft_buddy_give_run(b, l + 1, group, weft_buddy_run(i, 1), WEFT_BUDDY_LANES);
            }
        }
}

/* ---- taking ---------------------------------------------------------------------------------- */

/* Takes a run of one word, which the lane then remembers, unless others use it: next time it opens
 * one. Returns the number of the run's first unit, or NONE. */
WEFT_INLINE uint64_t weft_buddy_try(struct weft_buddy *b, uint32_t level, uint32_t units,
                                    uint32_t lane, uint64_t w)
{
    uint32_t *const hint = &b->hint[lane][level];
    bool alone;
    const uint32_t first = weft_buddy_take_of(&b->word[level][w], units, &alone);
    const uint32_t keep = alone ? (uint32_t)w + 1 : 0;

    if (first == WEFT_BUDDY_UNITS)
        return WEFT_BUDDY_NONE;
    if (weft_load_relaxed_u32(hint) != keep)
        weft_store_relaxed_u32(hint, keep);
    return w * WEFT_BUDDY_UNITS + first;
}

enum weft_buddy_where { WEFT_BUDDY_OWN, WEFT_BUDDY_GROUP, WEFT_BUDDY_ALL };

/* Takes a run of the lane's word, of one of its group that is open, or of any that is. */
WEFT_INLINE uint64_t weft_buddy_find(struct weft_buddy *b, uint32_t level, uint32_t units,
                                     uint32_t lane, enum weft_buddy_where where)
{
    const uint32_t hint = weft_load_relaxed_u32(&b->hint[lane][level]);
    const uint32_t from = hint == 0 ? 0 : hint - 1;
    const uint32_t groups = (b->words[level] + WEFT_BUDDY_UNITS - 1) / WEFT_BUDDY_UNITS;
    const uint32_t most = where == WEFT_BUDDY_ALL ? groups : (uint32_t)where;
    uint64_t unit = WEFT_BUDDY_NONE;

    if (where != WEFT_BUDDY_ALL && hint != 0)
        unit = weft_buddy_try(b, level, units, lane, from);
    for (uint32_t g = 0; g < most && unit == WEFT_BUDDY_NONE; g++) {
        const uint64_t group = (from / WEFT_BUDDY_UNITS + g) % groups;
        const uint32_t open = weft_buddy_open(b, level, group);
        for (uint32_t k = 0; k < WEFT_BUDDY_UNITS && open != 0 && unit == WEFT_BUDDY_NONE; k++) {
            const uint32_t i = (from + k) % WEFT_BUDDY_UNITS;
            const uint64_t w = group * WEFT_BUDDY_UNITS + i;
            if ((open >> i & 1) != 0 && w < b->words[level])
                unit = weft_buddy_try(b, level, units, lane, w);
        }
    }
    return unit;
}

/* Takes a run of any word, which is opened if need be. */
WEFT_INLINE uint64_t weft_buddy_take_run(struct weft_buddy *b, uint32_t level, uint32_t units,
                                         uint32_t lane)
{
    uint64_t unit = WEFT_BUDDY_NONE;
    uint32_t up = level;

    for (int round = 0; round < 3 && unit == WEFT_BUDDY_NONE; round++) {
        if (round == 2)
            weft_buddy_tidy(b);
        for (up = level; up < b->levels; up++) {
            unit = weft_buddy_find(b, up, up == level ? units : 1, lane,
                                   round != 0                             ? WEFT_BUDDY_ALL
                                   : up == level && level + 1 < b->levels ? WEFT_BUDDY_OWN
                                                                          : WEFT_BUDDY_GROUP);
            if (unit != WEFT_BUDDY_NONE)
                break;
        }
    }
    if (unit == WEFT_BUDDY_NONE)
        return unit;
    while (up-- > level) {
        weft_store_release_device_u64(&b->word[up][unit],
                                      weft_buddy_run(0, up == level ? units : 1), ORDER_heap_give);
        weft_store_relaxed_u32(&b->hint[lane][up], (uint32_t)unit + 1);
        unit *= WEFT_BUDDY_UNITS;
    }
    return unit;
}

/*
 * Takes a block; returns its offset, or NONE: there is none as large, or others were about to free
 * or to cut the last one. lane: callers of different ones meet less. Any thread; does not block.
 */
WEFT_INLINE uint64_t weft_buddy_take(struct weft_buddy *b, uint64_t bytes, uint32_t lane)
{
    const uint64_t units =
        bytes == 0 ? 1 : (bytes - 1) / weft_buddy_unit(b, 0) + 1; /* of level 0 */
    uint32_t level = 0;

    if (bytes > b->bytes)
        return WEFT_BUDDY_NONE;
    while (units >> (5 * level) >= WEFT_BUDDY_UNITS && level + 1 < b->levels)
        level++;
    uint64_t whole = units >> (5 * level), tail = 0;
    if (level != 0) {
        const uint64_t rest = units - (whole << (5 * level)),
                       part = (uint64_t)1 << (5 * (level - 1));
        tail = (rest + part - 1) / part;
    }
    if (tail == WEFT_BUDDY_UNITS) {
        tail = 0;
        whole++;
    }
    const uint64_t taken = whole + (tail != 0);
    if (taken > WEFT_BUDDY_UNITS)
        return WEFT_BUDDY_NONE;
    const uint64_t unit = weft_buddy_take_run(b, level, (uint32_t)taken, lane % WEFT_BUDDY_LANES);
    if (unit == WEFT_BUDDY_NONE)
        return unit;
    if (tail != 0)
        weft_store_release_device_u64(&b->word[level - 1][unit + whole],
                                      weft_buddy_run(0, (uint32_t)tail), ORDER_heap_give);
    return unit * weft_buddy_unit(b, level);
}

/* ---- giving ---------------------------------------------------------------------------------- */

/* Finds the level of the block that begins at offset; UINT32_MAX: none does. */
WEFT_INLINE uint32_t weft_buddy_level(const struct weft_buddy *b, uint64_t offset)
{
    if (offset >= b->bytes)
        return UINT32_MAX;
    for (uint32_t l = 0; l < b->levels && offset % weft_buddy_unit(b, l) == 0; l++) {
        const uint64_t unit = offset / weft_buddy_unit(b, l), index = unit / WEFT_BUDDY_UNITS;
        const uint64_t word = weft_load_acquire_u64(&b->word[l][index], ORDER_heap_take);
        if (word == WEFT_BUDDY_CLOSED)
            continue;
        if (!weft_buddy_begins(word, unit % WEFT_BUDDY_UNITS))
            return UINT32_MAX;
        if (unit % WEFT_BUDDY_UNITS != 0 || l + 1 == b->levels)
            return l;
        /* A tail is part of a block that begins before. */
        const uint64_t above =
            weft_load_acquire_u64(&b->word[l + 1][index / WEFT_BUDDY_UNITS], ORDER_heap_take);
        return weft_buddy_begins(above, index % WEFT_BUDDY_UNITS) ? l : UINT32_MAX;
    }
    return UINT32_MAX;
}

/*
 * Gives a block back; false: no block begins there. Of several who free one at once, one is told
 * true. lane: as for taking. Any thread; does not block.
 */
WEFT_INLINE bool weft_buddy_give(struct weft_buddy *b, uint64_t offset, uint32_t lane)
{
    const uint32_t level = weft_buddy_level(b, offset);

    if (level == UINT32_MAX)
        return false;
    const uint64_t unit = offset / weft_buddy_unit(b, level), index = unit / WEFT_BUDDY_UNITS;
    const uint32_t first = unit % WEFT_BUDDY_UNITS;
    const bool keep = weft_buddy_keeps(b, level, index, lane %= WEFT_BUDDY_LANES);
    uint64_t *const word = &b->word[level][index];
    uint64_t was = weft_load_acquire_u64(word, ORDER_heap_take), value, tail;
    for (;;) {
        if (was == WEFT_BUDDY_CLOSED || !weft_buddy_begins(was, first))
            return false;
        uint32_t units = weft_buddy_length(was, first);
        tail = WEFT_BUDDY_CLOSED;
        if (units > 1 && level > 0)
            tail = weft_load_acquire_u64(&b->word[level - 1][unit + units - 1], ORDER_heap_take);
        if (tail != WEFT_BUDDY_CLOSED)
            units--; /* the unit of the tail stays, until the word below is empty */
        value = weft_buddy_without(b, level, was, weft_buddy_run(first, units), keep);
        const uint64_t now = weft_buddy_swap(word, was, value);
        if (now == was) {
            if (value == WEFT_BUDDY_CLOSED)
                weft_buddy_give_run(b, level + 1, index / WEFT_BUDDY_UNITS,
                                    weft_buddy_run(index % WEFT_BUDDY_UNITS, 1), lane);
            if (tail != WEFT_BUDDY_CLOSED)
                weft_buddy_give_run(b, level - 1, unit + units,
                                    weft_buddy_run(0, weft_buddy_length(tail, 0)), lane);
            return true;
        }
        was = now;
    }
}

#endif
