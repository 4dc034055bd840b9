/* remote/table/ranges.c - see the header. The owner of a list guards it. */
#include "remote/table/ranges.h"

#include <stdlib.h>
#include <string.h>

uint32_t weft_ranges_after(const struct weft_ranges *ranges, uint64_t address)
{
    uint32_t low = 0, high = ranges->count;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (ranges->list[middle].at + ranges->list[middle].bytes > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

bool weft_ranges_add(struct weft_ranges *ranges, uint64_t at, uint64_t bytes)
{
    const uint32_t i = weft_ranges_after(ranges, at);

    if (i < ranges->count && ranges->list[i].at == at)
        return true;
    if (ranges->count == ranges->capacity) {
        const uint32_t more = ranges->capacity == 0 ? 64 : ranges->capacity * 2;
        struct weft_range *list = realloc(ranges->list, more * sizeof(*list));
        if (list == NULL)
            return false;
        ranges->list = list;
        ranges->capacity = more;
    }
    memmove(ranges->list + i + 1, ranges->list + i, (ranges->count++ - i) * sizeof(*ranges->list));
    ranges->list[i] = (struct weft_range){at, bytes};
    return true;
}

void weft_ranges_drop(struct weft_ranges *ranges, uint32_t index)
{
    struct weft_range *gone = ranges->list + index;

    memmove(gone, gone + 1, (--ranges->count - index) * sizeof(*gone));
}

uint32_t weft_ranges_at(const struct weft_ranges *ranges, uint64_t address)
{
    const uint32_t i = weft_ranges_after(ranges, address);

    return i < ranges->count && ranges->list[i].at == address ? i : ranges->count;
}

uint64_t weft_ranges_gap(const struct weft_ranges *ranges, uint64_t address, uint64_t end)
{
    for (uint32_t i = weft_ranges_after(ranges, address);
         address < end && i < ranges->count && ranges->list[i].at <= address; i++)
        address = ranges->list[i].at + ranges->list[i].bytes;
    return address < end ? address : end;
}

bool weft_ranges_has(const struct weft_ranges *ranges, uint64_t address, uint64_t bytes)
{
    const uint32_t i = weft_ranges_after(ranges, address);

    return i < ranges->count && ranges->list[i].at <= address &&
           bytes <= ranges->list[i].bytes - (address - ranges->list[i].at);
}
