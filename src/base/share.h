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
    uint64_t bytes;        /* bytes allocated: a multiple of the page size */
    uint64_t address;      /* address of the memory in its owner's address space */
    uint64_t device, file; /* the file: pid and fd may mean another one; file 0: a GPU's memory */
    int32_t pid;           /* process that owns the memory */
    int32_t fd;            /* open file in the owner; negative: memory of a GPU */
    unsigned char bytes_passed[64]; /* handle of a GPU's memory (device/cuda/memory.c) */
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
