/*
 * abi/window.h - communicators and windows as ranks see them: tables that the host fills before
 * it answers the ranks that created them (order: reply_post, reply_seen), and that never change
 * while the handle is valid.
 *
 * Handles are index | generation << 14, and WEFT_HANDLE_COMM in those of communicators. Two index
 * spaces: what ranks of several processes share is numbered by the control channel's order, so
 * every process gets the same number without asking. What lies within one process is numbered
 * there, in the upper half of the table.
 */
#ifndef WEFT_ABI_WINDOW_H
#define WEFT_ABI_WINDOW_H

#include "order/inline.h"
#include "weft/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEFT_HANDLE_BITS = 14, WEFT_GENERATION_BITS = 16, WEFT_BARRIER_WORDS = 24 };

#define WEFT_HANDLE_COMM (1u << (WEFT_HANDLE_BITS + WEFT_GENERATION_BITS))

struct weft_member {
    int32_t process;
    uint32_t slot; /* abi/notice.h: 0 the host program, 1 + i rank i */
};

struct weft_comm_entry {
    weft_comm handle; /* WEFT_COMM_NONE: free */
    int32_t members;
    struct weft_member *member; /* members, by rank in the communicator */
    int32_t *rank_of_slot;      /* rank of each slot of this process; -1: no member */
    uint32_t slots;             /* length of rank_of_slot */
    int32_t members_here;
    uint32_t leader_slot; /* this process's lowest member */
    int32_t leaders;      /* processes that have members */
    int32_t *leader;      /* processes that have members, in ascending order */
    int32_t leader_index; /* the index of this process in `leader`; -1: none */
    int32_t *by_process;  /* ranks by process, in the order of `leader`, then by rank */
    int32_t *first;       /* by leader: begin of its process's ranks in by_process; then the end */
    int32_t least;        /* ranks that each process with members has at least */
    uint32_t generation;
};

struct weft_window_entry {
    unsigned char *address; /* where this process maps it; NULL: not mapped */
    uint64_t bytes;
    uint64_t home;       /* address in the owner's process */
    uint64_t key;        /* network key of the memory */
    uint64_t key_offset; /* offset of the memory under its key */
};

struct weft_window {
    weft_win handle; /* WEFT_WIN_NONE: free */
    uint32_t generation;
    weft_comm comm;
    int32_t members;
    struct weft_member *member; /* members of the communicator, by rank */
    struct weft_window_entry *entry;
};

WEFT_INLINE uint32_t weft_handle_index(uint32_t handle)
{
    return handle & ((1u << WEFT_HANDLE_BITS) - 1);
}

/* Words of a barrier: arrivals at the leader, releases by it, then one a round between leaders. */
enum { WEFT_BARRIER_ARRIVE, WEFT_BARRIER_RELEASE, WEFT_BARRIER_ROUND };

/* Whether `height` rows of `width` bytes, `pitch` apart, lie inside [offset, size). No overflow. */
WEFT_INLINE bool weft_inside(uint64_t offset, uint64_t pitch, uint64_t width, uint64_t height,
                             uint64_t size)
{
    if (width == 0 || height == 0)
        return offset <= size;
    if (offset > size || width > size - offset)
        return false;
    return height == 1 || pitch == 0 || height - 1 <= (size - offset - width) / pitch;
}

#endif
