/*
 * remote/table/fake/range.h - the pieces of memory that the fake driver knows. All under fake.lock.
 */
#ifndef WEFT_REMOTE_TABLE_FAKE_RANGE_H
#define WEFT_REMOTE_TABLE_FAKE_RANGE_H

#include "remote/table/fake/inside.h"

struct fake_range {
    struct fake_range *next;
    unsigned char *base;
    size_t bytes;
    enum fake_memory kind;
    struct fake_device *device; /* of device memory */
    unsigned flags;             /* of pinned memory */
    bool ours;                  /* mapped here */
    uint32_t access;            /* bit a device: of what cuMemMap has mapped */
};

extern struct fake_range *fake_ranges;

/* The one in which an address lies; the one of that kind that begins there. NULL: none. */
struct fake_range *fake_range_at(const void *address);
struct fake_range *fake_range_exactly(const void *address, enum fake_memory kind);
/*
 * Whether a device reaches all of that memory itself: mapped memory where cuMemSetAccess says so;
 * what alloc gave from any device, but with a kernel only where the peer is enabled.
 */
bool fake_range_reaches(const struct fake_device *device, const void *address, size_t bytes,
                        bool kernel);
/* Adds a copy; the caller has set all but next. MEMORY. */
CUresult fake_range_add(const struct fake_range *range);
/* The same with new memory, which nobody may take for zeros. */
CUresult fake_range_map(struct fake_range *range);
void fake_range_drop(struct fake_range *range);

#endif
