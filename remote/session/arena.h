/*
 * remote/session/arena.h - a device's memory for one program: a range of addresses that program
 * and session agree on, backed where something lies. Addresses are unique over all servers of the
 * program, so that none has to be translated. Session's thread only.
 */
#ifndef WEFT_REMOTE_SESSION_ARENA_H
#define WEFT_REMOTE_SESSION_ARENA_H

#include "remote/table/ranges.h"
#include "remote/table/table.h"

struct weft_session_arena {
    const struct weft_cuda_table *table;
    int device;                /* the driver's number */
    int passes;                /* its memory can be mapped by other processes */
    uint64_t base, span;       /* reserved; base 0: not yet */
    uint64_t share, used;      /* bytes that the program may have; that it has */
    size_t granule;            /* unit of backing memory, in bytes */
    struct weft_ranges blocks; /* what is allocated */
    struct weft_ranges slabs;  /* what is backed */
};

/* Reserves `span` bytes at `base`, and nowhere else. Errors: the driver's. */
CUresult weft_arena_open(struct weft_session_arena *arena, const struct weft_cuda_table *table,
                         int device, uint64_t base, uint64_t span, uint64_t share);
/* Gives back all of an arena; the device is idle. */
void weft_arena_close(struct weft_session_arena *arena);

/* Allocates. Errors: OUT_OF_MEMORY; *over: because of the program's share. */
CUresult weft_arena_alloc(struct weft_session_arena *arena, uint64_t bytes, uint64_t *address,
                          bool *over);
/* Returns an access for a device of the driver: all (on) or nothing. */
CUmemAccessDesc weft_arena_access(int device, bool on);
/* Exports the slab that begins there as a descriptor, which the caller closes: other processes may
 * map it. Errors: NOT_SUPPORTED, the driver's. */
CUresult weft_arena_export(const struct weft_session_arena *arena, uint64_t slab, int *fd);
/* Frees a block; what uses it has ended. Errors: INVALID_VALUE: nothing begins there. */
CUresult weft_arena_free(struct weft_session_arena *arena, uint64_t address);

#endif
