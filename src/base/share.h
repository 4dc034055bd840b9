/*
 * base/share.h - memory that other processes of this host can map, with no name in any file
 * system: an anonymous memory file, reached through /proc/PID/fd. Nothing is left behind when the
 * processes end, however they end.
 */
#ifndef WEFT_BASE_SHARE_H
#define WEFT_BASE_SHARE_H

#include "weft/types.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

/* How another process reaches the memory. Travels as bytes: hostile until checked by map. */
struct weft_share {
    uint64_t bytes;        /* as allocated: a multiple of the page size */
    uint64_t address;      /* in the owner's address space */
    uint64_t device, file; /* which file it is: pid and fd may mean another, later or elsewhere;
                              file 0: memory of a GPU */
    int32_t pid;
    int32_t fd;                     /* negative: memory of a GPU, whose handle travels as bytes */
    unsigned char bytes_passed[64]; /* that handle (device/cuda/memory.c) */
};
static_assert(sizeof(struct weft_share) == 104, "a share travels as its bytes: no padding");

/* Zeroed, page-aligned memory of at least `bytes` bytes. Errors: MEMORY, SYSTEM. */
weft_status weft_share_create(uint64_t bytes, void **memory, struct weft_share *share);
void weft_share_destroy(void *memory, const struct weft_share *share);

/*
 * Maps another process's memory. In one address space it is simply there. On failure returns NULL
 * and says why in *reason (a static text or strerror's), silently: the caller may have another way.
 */
void *weft_share_map(const struct weft_share *share, bool one_address_space, const char **reason);
void weft_share_unmap(void *memory, const struct weft_share *share, bool one_address_space);

#endif
