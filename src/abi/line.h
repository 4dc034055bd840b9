/*
 * abi/line.h - a line of a ring: two words, each of which says by its top byte whether it is there.
 */
#ifndef WEFT_ABI_LINE_H
#define WEFT_ABI_LINE_H

#include <assert.h>
#include <stdint.h>

struct weft_ring_line {
    uint64_t word[2];
};

static_assert(sizeof(struct weft_ring_line) == 16, "a line is one store of a GPU");

#endif
