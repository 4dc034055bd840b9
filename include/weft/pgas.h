/*
 * weft/pgas.h - a global address space: memory of any place, on a CPU or a GPU. Host programs and
 * kernels of all places put to it, get from it and update it by global pointers (weft/gptr.h).
 * Kernels include it instead of weft/device.h; host programs include it, too.
 *
 * Each place (a process with its device) has a heap in its device's memory. Host programs allocate
 * from it together (weft_galloc). Host programs and ranks of a running kernel also allocate from it
 * alone, without the driver (weft_host_local_alloc, weft_local_alloc). Every place can use such
 * memory at once.
 *
 * Order and completion are those of windows (weft/device.h, weft/weft.h). What one rank or host
 * program sends to one place takes effect in the order sent. Its gets see what it has put there
 * before.
 */
#ifndef WEFT_PGAS_H
#define WEFT_PGAS_H

#include <weft/device.h>
#include <weft/gptr.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What kernels need of the address space: device memory, which the program passes to kernels in
 * their user data.
 */
typedef struct weft_gspace weft_gspace;

/* A segment: memory that the members of a group have allocated together, `bytes` bytes at each. */
typedef struct weft_gspan {
    weft_gptr base; /* pointer to the first member's part */
    uint64_t bytes; /* bytes of each member's part */
    weft_comm group;
    int32_t members;
} weft_gspan;

/* ---- host programs ------------------------------------------------------------------------------
 * Calls as those of weft/weft.h. Errors of all that take a global pointer: ARGUMENT (it is none),
 * RANK (no such place), WINDOW (the segment was freed, or this place is not of its group), BOUNDS.
 */

/*
 * Opens the address space with a heap of WEFT_HEAP bytes at this place. Collective, blocking, not
 * while a kernel runs. Every open that returned WEFT_OK has its close. Errors: STATE, MEMORY,
 * MISMATCH (WEFT_HEAP_LEAST_BLOCK or WEFT_SEGMENTS differ), and those of weft_host_win_create.
 */
WEFT_API weft_status weft_pgas_open(weft_job *job);
/* Frees the heaps, and so all that lies in them. Collective, not while a kernel runs. */
WEFT_API weft_status weft_pgas_close(weft_job *job);

/*
 * Gives the address space for kernels of this process; NULL: there is none. Valid until
 * weft_pgas_close.
 */
WEFT_API weft_gspace *weft_pgas_space(weft_job *job);

/*
 * Allocates a block of this place's heap, at least `bytes` bytes, not zeroed. Its offset is aligned
 * to the next power of two, up to 4096 bytes in memory. Legal while a kernel runs; does not block.
 * On a GPU, host programs and kernels each have a part of the heap (WEFT_HEAP_KERNEL_SHARE), and
 * free what they allocated themselves. Errors: MEMORY, also while others are dividing the last
 * large block: try again; STATE.
 */
WEFT_API weft_status weft_host_local_alloc(weft_job *job, size_t bytes, weft_gptr *g);
/*
 * Allocates as weft_host_local_alloc, memory of a kind. HOST: memory that this host program and
 * this place's ranks both load and store. On a GPU it is a heap of its own, in pinned host memory
 * (WEFT_HOST_HEAP); on a CPU there is one heap. HOST memory is slow for ranks of a GPU, and must
 * not hold words that both sides update.
 */
typedef enum weft_gkind { WEFT_GKIND_DEVICE, WEFT_GKIND_HOST } weft_gkind;
WEFT_API weft_status weft_host_local_alloc_kind(weft_job *job, size_t bytes, weft_gkind kind,
                                                weft_gptr *g);
/*
 * Frees a block of either kind; NULL is ignored. Errors: ARGUMENT: no block of this place begins
 * there.
 */
WEFT_API weft_status weft_host_local_free(weft_job *job, weft_gptr g);

/*
 * Bytes of this place's heap, in all and free; on a GPU of the host programs' part. They are a
 * snapshot if others use it.
 */
typedef struct weft_heap_numbers {
    uint64_t bytes, free, largest; /* largest: free bytes in a row, about what one block can have */
} weft_heap_numbers;
WEFT_API weft_status weft_host_heap_numbers(weft_job *job, weft_heap_numbers *numbers);

/*
 * Allocates a segment with `bytes` bytes of each member's heap, not zeroed; bytes may be 0.
 * Collective over the group (WEFT_COMM_HOST, or one of weft_host_split), blocking, not while a
 * kernel runs. One thread of the program at a time, weft_gfree included; STATE, at this place
 * alone: another one is in such a call. Errors, the same at all members: MISMATCH (of bytes or
 * calls), MEMORY, LIMIT (WEFT_SEGMENTS).
 */
WEFT_API weft_status weft_galloc(weft_job *job, weft_comm group, size_t bytes, weft_gspan *span);
/* Allocates as weft_galloc, but bytes may differ between members; span->bytes is the caller's. */
WEFT_API weft_status weft_galloc_v(weft_job *job, weft_comm group, size_t bytes, weft_gspan *span);
/*
 * Allocates as weft_galloc, but each member gets the largest size that one asks for, which is
 * span->bytes. Updates reach the word of 8 bytes in which the part ends.
 */
WEFT_API weft_status weft_galloc_most(weft_job *job, weft_comm group, size_t bytes,
                                      weft_gspan *span);
/*
 * Makes a segment of memory that the program has: `bytes` bytes at base, which may differ between
 * members. base: as for weft_register. span->bytes is the caller's. Collective, as weft_galloc.
 */
WEFT_API weft_status weft_gadopt(weft_job *job, weft_comm group, void *base, size_t bytes,
                                 weft_gspan *span);
/*
 * Frees a segment, before weft_host_group_free of its group. This place uses it no more, and *span
 * becomes zero. A segment of weft_gadopt: collective, and nobody uses it any more. One of
 * weft_galloc: local, does not block. When all members have freed it, its memory and number are
 * free again in the next collective call of this kind that all of them make. STATE: another thread
 * is in weft_galloc or the like; the segment stays, to be freed later.
 */
WEFT_API weft_status weft_gfree(weft_job *job, weft_gspan *span);

/* Gives the beginning of a member's part; NULL for a bad member. */
WEFT_API weft_gptr weft_gspan_member(weft_job *job, const weft_gspan *span, int member);
/*
 * Gives byte `at` of the members' parts, counted one part after the other in the order of members.
 * The parts have one size.
 */
WEFT_API weft_gptr weft_gspan_at(weft_job *job, const weft_gspan *span, uint64_t at);

/*
 * Gives the address where this process may load and store g. NULL: it is in a GPU's memory, or not
 * mapped here. HOST memory of its own place is always reached.
 */
WEFT_API void *weft_host_gaddress(weft_job *job, weft_gptr g);

/*
 * Where a pointer leads, for calls that take windows (tasks, words of 32 bits). address: if it is
 * in this place's own memory, a GPU's too; otherwise NULL. Valid until the segment is freed.
 */
typedef struct weft_gwhere {
    weft_win win;
    int32_t member;
    uint64_t offset;
    void *address;
} weft_gwhere;
WEFT_API weft_status weft_host_gwhere(weft_job *job, weft_gptr g, weft_gwhere *where);

/* Put and get as weft_host_put, weft_host_get, weft_host_put_begin, weft_host_get_begin. */
WEFT_API weft_status weft_host_gput(weft_job *job, weft_gptr g, const void *source, size_t bytes);
WEFT_API weft_status weft_host_gget(weft_job *job, weft_gptr g, void *to, size_t bytes);
WEFT_API weft_status weft_host_gput_begin(weft_job *job, weft_gptr g, const void *source,
                                          size_t bytes, weft_op *op);
WEFT_API weft_status weft_host_gget_begin(weft_job *job, weft_gptr g, void *to, size_t bytes,
                                          weft_op *op);
/*
 * Put or get `height` rows of `width` bytes, `pitch` bytes apart (at least width), as weft_put_2d.
 */
WEFT_API weft_status weft_host_gput_2d_begin(weft_job *job, weft_gptr g, size_t pitch,
                                             const void *source, size_t source_pitch, size_t width,
                                             size_t height, weft_op *op);
WEFT_API weft_status weft_host_gget_2d_begin(weft_job *job, weft_gptr g, size_t pitch, void *to,
                                             size_t to_pitch, size_t width, size_t height,
                                             weft_op *op);
/* Puts and notifies as weft_host_put_notify_rank. rank: in WEFT_COMM_WORLD, one of the place. */
WEFT_API weft_status weft_host_gput_notify(weft_job *job, weft_gptr g, const void *source,
                                           size_t bytes, int rank, int tag);
/* Flushes all segments, as weft_host_flush. */
WEFT_API weft_status weft_host_gflush(weft_job *job);

/* Update as weft_host_fetch_add and so on. */
WEFT_API weft_status weft_host_gfetch_add(weft_job *job, weft_gptr g, uint64_t value,
                                          uint64_t *old);
WEFT_API weft_status weft_host_gswap(weft_job *job, weft_gptr g, uint64_t value, uint64_t *old);
WEFT_API weft_status weft_host_gcompare_swap(weft_job *job, weft_gptr g, uint64_t expected,
                                             uint64_t desired, uint64_t *old);
WEFT_API weft_status weft_host_gaccumulate(weft_job *job, weft_gptr g, const void *source,
                                           size_t count, weft_type type, weft_operation operation,
                                           weft_op *op);

/*
 * A lock for host programs and ranks of a group's places: mutual exclusion, first come first
 * served. Whoever acquires it sees what was put and updated by global pointers before its release.
 * Not recursive. Plain data, which kernels may be given. (Mellor-Crummey and Scott, "Algorithms for
 * scalable synchronization", 1991: a waiter polls a word of its own place.)
 */
typedef struct weft_glock {
    weft_gspan memory;
} weft_glock;
/*
 * Create and free a lock. ranks: how many of a place's ranks may use it, the first ones; 0: host
 * programs alone. Collective, as weft_galloc, with its errors. When it is freed, nobody holds it or
 * waits; before weft_host_group_free of its group.
 */
WEFT_API weft_status weft_glock_create(weft_job *job, weft_comm group, int ranks, weft_glock *lock);
WEFT_API weft_status weft_glock_free(weft_job *job, weft_glock *lock);
/*
 * Acquire, try and release a lock. acquire blocks; for ever if the caller has the lock. release may
 * wait for a moment. try does not block; *taken is 1 if the caller has the lock now, else 0. One
 * thread of a host program at a time uses a lock, also from its acquire to its release. Errors:
 * also UNSUPPORTED, as weft_host_swap; STATE: nobody has it (release).
 */
WEFT_API weft_status weft_host_glock_acquire(weft_job *job, const weft_glock *lock);
WEFT_API weft_status weft_host_glock_try(weft_job *job, const weft_glock *lock, int *taken);
WEFT_API weft_status weft_host_glock_release(weft_job *job, const weft_glock *lock);

/* ---- kernels ------------------------------------------------------------------------------------
 * Calls as those of weft/device.h; a bad pointer ends the job. space: what weft_pgas_space gave.
 */

/*
 * Allocates a block of this place's heap, as weft_host_local_alloc: one for the whole rank, the
 * same pointer for all threads. Never waits for the host. Returns NULL if the heap is full, or
 * others are dividing its last large block: try again. The job goes on.
 */
WEFT_FN weft_gptr weft_local_alloc(weft_self *self, weft_gspace *space, size_t bytes);
/* Frees a block. All threads; what they did with it comes before. */
WEFT_FN void weft_local_free(weft_self *self, weft_gspace *space, weft_gptr g);

/* Returns the address where this rank may load and store g (as weft_ptr), or NULL. Any thread. */
WEFT_FN void *weft_gaddress(weft_self *self, const weft_gspace *space, weft_gptr g);

/* Put and get as weft_put, weft_get, weft_put_begin and so on. */
WEFT_FN void weft_gput(weft_self *self, const weft_gspace *space, weft_gptr g, const void *source,
                       size_t bytes);
WEFT_FN void weft_gget(weft_self *self, const weft_gspace *space, weft_gptr g, void *to,
                       size_t bytes);
WEFT_FN weft_op weft_gput_begin(weft_self *self, const weft_gspace *space, weft_gptr g,
                                const void *source, size_t bytes);
WEFT_FN weft_op weft_gget_begin(weft_self *self, const weft_gspace *space, weft_gptr g, void *to,
                                size_t bytes);
WEFT_FN weft_op weft_gput_2d_begin(weft_self *self, const weft_gspace *space, weft_gptr g,
                                   size_t pitch, const void *source, size_t source_pitch,
                                   size_t width, size_t height);
WEFT_FN weft_op weft_gget_2d_begin(weft_self *self, const weft_gspace *space, weft_gptr g,
                                   size_t pitch, void *to, size_t to_pitch, size_t width,
                                   size_t height);
/*
 * Puts data, and then adds one to the count of the tag at a rank of that place (in
 * WEFT_COMM_WORLD). Whoever consumes the notification sees the data, and all that this rank put to
 * the place before.
 */
WEFT_FN void weft_gput_notify(weft_self *self, const weft_gspace *space, weft_gptr g,
                              const void *source, size_t bytes, int rank, int tag);
/* Flushes all segments, as weft_flush. */
WEFT_FN void weft_gflush(weft_self *self, const weft_gspace *space);

/* Update as weft_fetch_add and so on. */
WEFT_FN uint64_t weft_gfetch_add(weft_self *self, const weft_gspace *space, weft_gptr g,
                                 uint64_t value);
WEFT_FN uint64_t weft_gswap(weft_self *self, const weft_gspace *space, weft_gptr g, uint64_t value);
WEFT_FN uint64_t weft_gcompare_swap(weft_self *self, const weft_gspace *space, weft_gptr g,
                                    uint64_t expected, uint64_t desired);
WEFT_FN weft_op weft_gaccumulate(weft_self *self, const weft_gspace *space, weft_gptr g,
                                 const void *source, size_t count, weft_type type,
                                 weft_operation operation);

/*
 * Use a lock as weft_host_glock_acquire and so on, for the rank, by all its threads. try returns 1
 * if it has the lock now.
 */
WEFT_FN void weft_glock_acquire(weft_self *self, const weft_gspace *space, const weft_glock *lock);
WEFT_FN int weft_glock_try(weft_self *self, const weft_gspace *space, const weft_glock *lock);
WEFT_FN void weft_glock_release(weft_self *self, const weft_gspace *space, const weft_glock *lock);

#ifdef __cplusplus
}
#endif

#ifdef __CUDACC__
#ifdef WEFT_LINES
#undef WEFT_AT
#define WEFT_AT(self) self
#endif
#include "pgas/api.h"
#ifdef WEFT_LINES
#define WEFT_LINES_OF_PGAS
#include <weft/lines.h>
#endif
#endif
#endif
