/*
 * weft/warp.h - calls that one warp of a rank makes, or one thread: one warp sends while the others
 * compute. A kernel's file includes it instead of weft/device.h, or before it. A file that also
 * has queues (weft/queue.h) defines WEFT_QUEUES as 1 before it.
 *
 * _warp: all 32 threads of one warp make the call together, with the same arguments. Any number of
 * warps may do so at the same time. A warp is 32 threads that follow one another: those whose
 * weft_thread / 32 is the same. A rank of fewer threads, and the last warp of a rank, is all that
 * there is of it. _thread: any thread makes the call, alone.
 *
 * The other side is a rank as ever: its windows, tags and counts. Windows, communicators, barriers,
 * flushes and collectives stay with all threads (weft/device.h).
 *
 * Order. The calls of a warp among each other are ordered as a rank's. What a rank's notification
 * covers of the rank (weft/device.h), a warp's covers of the warp: what it did before, and what it
 * learned from others (weft_sync, weft_wait_warp). Between two warps, and between a warp and the
 * calls of all threads, only weft_sync and a call of all threads order.
 *
 * What does not go straight to mapped memory is done by one thread of the warp, and by one warp of
 * a rank at a time: through the host, by a queue, or by a channel. On a GPU each call of all
 * threads in such a file begins and ends with a block barrier more. A timeline (WEFT_TRACE) shows
 * the calls of warps in the place of their rank's, and no waits of warps.
 *
 * Errors end the job, as those of the rank's calls. That some threads of a warp make a call, and
 * others another one, is undefined on a GPU. The CPU device with WEFT_CPU_THREADS reports it
 * (MISMATCH); with one thread, a rank is one warp.
 */
#ifndef WEFT_WARP_H
#define WEFT_WARP_H

#if defined(__CUDACC__) && defined(WEFT_DEVICE_H)
#error "include weft/warp.h before weft/device.h"
#endif
#undef WEFT_WARPS
#define WEFT_WARPS 1
#include <weft/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Puts data as weft_put. The source may be reused as there. Non-blocking. */
WEFT_FN void weft_put_warp(weft_self *self, weft_win win, int target, size_t offset,
                           const void *source, size_t bytes);
/* Puts data and notifies, as weft_put_notify, in the order of the warp. Non-blocking. */
WEFT_FN void weft_put_notify_warp(weft_self *self, weft_win win, int target, size_t offset,
                                  const void *source, size_t bytes, int tag);
/* Notifies as weft_notify. target: rank in comm. Non-blocking. */
WEFT_FN void weft_notify_warp(weft_self *self, weft_comm comm, int target, int tag);
/* Gets `bytes` bytes as weft_get. On return the threads of the warp see them. Blocking. */
WEFT_FN void weft_get_warp(weft_self *self, weft_win win, int from, size_t offset, void *to,
                           size_t bytes);

/*
 * Blocks until `count` notifications of the tag are there, and consumes them: the threads of the
 * warp then see what the senders released. If several warps wait for one tag, each notification
 * goes to one of them, any of them. Other warps go on meanwhile.
 */
WEFT_FN void weft_wait_warp(weft_self *self, int tag, uint32_t count);
/* Consumes `count` notifications and returns 1 if they are there; otherwise returns 0. */
WEFT_FN int weft_test_warp(weft_self *self, int tag, uint32_t count);

/*
 * Update one aligned word of 64 bits of a member's window as weft_fetch_add_relaxed and the like:
 * atomically with all updates, in order with this thread's own updates of the same word. Nothing
 * else is ordered. They return the old value, and block. A loop that waits for another thread of
 * its rank by these calls may not end on the CPU device, where threads take turns.
 */
WEFT_FN uint64_t weft_fetch_add_thread(weft_self *self, weft_win win, int target, size_t offset,
                                       uint64_t value);
WEFT_FN uint64_t weft_swap_thread(weft_self *self, weft_win win, int target, size_t offset,
                                  uint64_t value);
/* Sets the word to `desired` if it was `expected`. */
WEFT_FN uint64_t weft_compare_swap_thread(weft_self *self, weft_win win, int target, size_t offset,
                                          uint64_t expected, uint64_t desired);

#ifdef __cplusplus
}
#endif

#ifdef __CUDACC__
#ifdef WEFT_LINES
#undef WEFT_AT
#define WEFT_AT(self) self
#endif
#include "rank/thread.h"
#ifdef WEFT_LINES
#define WEFT_LINES_OF_WARP
#include <weft/lines.h>
#endif
#endif
#endif
