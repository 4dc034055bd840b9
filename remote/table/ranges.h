/* remote/table/ranges.h - ranges of addresses that do not overlap, by address. */
#ifndef WEFT_REMOTE_TABLE_RANGES_H
#define WEFT_REMOTE_TABLE_RANGES_H

#include <stdbool.h>
#include <stdint.h>

/* All zero: empty. */
struct weft_ranges {
    struct weft_range {
        uint64_t at, bytes;
    } * list;
    uint32_t count, capacity;
};

/* Returns the index of the first range that ends after an address; count: none does. */
uint32_t weft_ranges_after(const struct weft_ranges *ranges, uint64_t address);
/* Adds a range, unless one begins there. False: no memory. */
bool weft_ranges_add(struct weft_ranges *ranges, uint64_t at, uint64_t bytes);
void weft_ranges_drop(struct weft_ranges *ranges, uint32_t index);
/* Returns the index of the range that begins at an address; count: none does. */
uint32_t weft_ranges_at(const struct weft_ranges *ranges, uint64_t address);
/* Returns the first address before `end` that lies in no range; end: all do. */
uint64_t weft_ranges_gap(const struct weft_ranges *ranges, uint64_t address, uint64_t end);
/* Whether all of these bytes lie in one range. */
bool weft_ranges_has(const struct weft_ranges *ranges, uint64_t address, uint64_t bytes);

#endif
