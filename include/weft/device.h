/*
 * weft/device.h - all that a kernel includes. A kernel is written once, in the common subset of C17
 * and CUDA C. The C compiler compiles it for the CPU device, nvcc for GPUs.
 *
 *     WEFT_KERNEL(hello, struct hello_data, data)
 *     {
 *         weft_enter(self);
 *         weft_log(self, "rank %d of %d", weft_rank(self, WEFT_COMM_WORLD),
 *                  weft_size(self, WEFT_COMM_WORLD));
 *         weft_leave(self);
 *     }
 *
 * Every rank is one thread block. Unless a prototype says otherwise, all threads of the rank make a
 * call together, with the same arguments; the call contains block barriers.
 *
 * No call returns an error. A bad argument (a rank, tag, window, communicator or range that does
 * not exist) is reported with rank, call and numbers. It stops the run on every process, and
 * weft_run returns its status. After that, or when a process is lost, no call returns to the
 * kernel.
 */
#ifndef WEFT_DEVICE_H
#define WEFT_DEVICE_H

#include <weft/kernel.h>

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- who and where (any thread, no communication) ------------------------------------------- */

WEFT_FN int weft_size(weft_self *self, weft_comm comm);
WEFT_FN int weft_rank(weft_self *self, weft_comm comm); /* -1 if not a member */

/* Give the number of processes; this one; a process's first world rank, and its number of ranks. */
WEFT_FN int weft_processes(weft_self *self);
WEFT_FN int weft_process(weft_self *self);
WEFT_FN int weft_process_first(weft_self *self, int process);
WEFT_FN int weft_process_ranks(weft_self *self, int process);

/* ---- communicators (collective over the parent) ---------------------------------------------- */

/*
 * Barriers of WEFT_COMM_WORLD, for the beginning and the end of the kernel's communication.
 * Timelines and stall reports use these names. weft itself needs neither.
 */
WEFT_FN void weft_enter(weft_self *self);
WEFT_FN void weft_leave(weft_self *self);

/*
 * Splits a communicator. Members with the same color form a new one, ordered by key, then by rank
 * in the parent. Returns WEFT_COMM_NONE for a negative color and after a failure (weft_failure).
 */
WEFT_FN weft_comm weft_comm_split(weft_self *self, weft_comm parent, int color, int key);
/*
 * Frees a communicator; *comm becomes WEFT_COMM_NONE. Collective over it. Free its windows first.
 */
WEFT_FN void weft_comm_free(weft_self *self, weft_comm *comm);

/*
 * Waits until all ranks of comm have entered. Then all see what each has stored before, also
 * through weft_ptr. It does not order puts: flush them first.
 */
WEFT_FN void weft_barrier(weft_self *self, weft_comm comm);

/* ---- windows (collective over the communicator) -------------------------------------------- */

/*
 * Creates a window of `bytes` bytes at base (NULL if bytes is 0; otherwise memory that
 * weft_register takes, weft.h). Both may differ between members. So nothing notices members that
 * create two windows in different orders. Windows may overlap. All members get the same handle, or
 * WEFT_WIN_NONE if it failed on any of them.
 */
WEFT_FN weft_win weft_win_create(weft_self *self, weft_comm comm, void *base, size_t bytes);
/*
 * Frees a window; *win becomes WEFT_WIN_NONE. Flushes this rank's puts, and waits until all members
 * have entered.
 */
WEFT_FN void weft_win_free(weft_self *self, weft_win *win);

/*
 * Returns why the rank's last weft_win_create or weft_comm_split failed; WEFT_OK if it did not. Any
 * thread.
 */
WEFT_FN weft_status weft_failure(weft_self *self);

/*
 * Returns the address where this rank may load and store another member's window, or NULL.
 * weft_notify orders such stores. weft_fence orders them before the next weft_notify_relaxed. A GPU
 * can reach a process on a CPU in this way, but must not use atomic operations there. A CPU does
 * not reach a GPU. Any thread.
 */
WEFT_FN void *weft_ptr(weft_self *self, weft_win win, int target);

/* ---- data ---------------------------------------------------------------------------------- */
/*
 * Data calls are one-sided: the target makes no matching call. They may wait for space, and serve
 * the rank's own mailboxes meanwhile. All that one rank sends to another takes effect in the order
 * sent. target: a rank of the window's communicator. offset, bytes: in the target's window, in
 * bytes.
 *
 * source: any device memory. It may be reused after weft_flush_local or weft_flush. It may also be
 * reused when a notification is here that the target sent after it had consumed this put. On a GPU
 * a source is no local variable of a kernel and no shared memory: other threads of the rank, or the
 * host, copy it. The CPU device, where both are on the rank's stack, refuses such a source
 * (ARGUMENT).
 */

/*
 * Puts data. It arrives without any call by the target. Aligned puts of 1, 2, 4 or 8 bytes arrive
 * undivided.
 */
WEFT_FN void weft_put(weft_self *self, weft_win win, int target, size_t offset, const void *source,
                      size_t bytes);
/*
 * Puts data and notifies: adds one to the target's count of the tag. Whoever consumes the
 * notification sees the data, and all that this rank put to that target before. This rank is then
 * done with all that it loaded before. Small puts (WEFT_EAGER) between two ranks that often send
 * them may arrive late: while the target waits, tests, polls by weft_wait_until, or after its
 * kernel. Only weft_notify and weft_fence order this rank's other stores, and what others told it.
 */
WEFT_FN void weft_put_notify(weft_self *self, weft_win win, int target, size_t offset,
                             const void *source, size_t bytes, int tag);
/*
 * Makes weft_put_notify of each of `count` items, in no order among them. On a GPU, if ranks are
 * whole warps, most items to mapped memory go at once, and their releases wait together. items: the
 * same for all threads, and unchanged until all have returned. A rank that polls for a value of
 * such a put (weft_wait_until) thereby sees nothing else.
 */
WEFT_FN void weft_put_notify_many(weft_self *self, weft_win win, const weft_put_item *items,
                                  int count);
/* Puts `height` rows of `width` bytes, `pitch` bytes (at least width) apart, as one message. */
WEFT_FN void weft_put_2d(weft_self *self, weft_win win, int target, size_t offset, size_t pitch,
                         const void *source, size_t source_pitch, size_t width, size_t height);
WEFT_FN void weft_put_2d_notify(weft_self *self, weft_win win, int target, size_t offset,
                                size_t pitch, const void *source, size_t source_pitch, size_t width,
                                size_t height, int tag);
/*
 * Put a box, with one notification for all of it. Rows of one plane are at least width apart; the
 * places that two planes put to do not overlap. An empty box only notifies.
 */
WEFT_FN void weft_put_3d(weft_self *self, weft_win win, int target, weft_put_box box);
WEFT_FN void weft_put_3d_notify(weft_self *self, weft_win win, int target, weft_put_box box,
                                int tag);
/*
 * Puts `count` pieces to one target, with one notification for all of them. No piece only notifies.
 * pieces: the same for all threads, and unchanged until all have returned; they are taken in their
 * order. Errors, which end the job: ARGUMENT (count), and those of weft_put_notify.
 */
WEFT_FN void weft_put_list_notify(weft_self *self, weft_win win, int target,
                                  const weft_put_piece *pieces, int count, int tag);

/*
 * Puts data as weft_put. The operation says when the source may be reused (LOCAL), and when the
 * data is visible (REMOTE).
 */
WEFT_FN weft_op weft_put_begin(weft_self *self, weft_win win, int target, size_t offset,
                               const void *source, size_t bytes);

/*
 * Gets `bytes` bytes from offset of another member's window, without any call by it. They show all
 * that this rank put there before. On return all threads see them in `to`, which is device memory,
 * as a put's source. A word of 4 or 8 bytes, aligned at both ends, is fetched undivided, and orders
 * nothing. Blocking.
 */
WEFT_FN void weft_get(weft_self *self, weft_win win, int from, size_t offset, void *to,
                      size_t bytes);
/*
 * Begins a get as weft_get, non-blocking. The program leaves `to` alone until the operation, or a
 * flush, is done. Until then the data may or may not show what this rank puts to the same place. A
 * kernel may end before: weft_run returns when all operations are done.
 */
WEFT_FN weft_op weft_get_begin(weft_self *self, weft_win win, int from, size_t offset, void *to,
                               size_t bytes);
/*
 * Gets `height` rows of `width` bytes, `pitch` bytes apart in the window and `to_pitch` in `to`;
 * each at least width.
 */
WEFT_FN weft_op weft_get_2d_begin(weft_self *self, weft_win win, int from, size_t offset,
                                  size_t pitch, void *to, size_t to_pitch, size_t width,
                                  size_t height);
/* Gets data as weft_get_begin. When it is there, adds one to this rank's own count of the tag. */
WEFT_FN void weft_get_notify(weft_self *self, weft_win win, int from, size_t offset, void *to,
                             size_t bytes, int tag);

/*
 * Update one aligned word of a member's window, atomically with all updates by ranks and host
 * programs; not with stores and puts there. An update takes effect in the order of this rank's puts
 * to that target. Whoever updates the word next sees all that this rank did before. Unless a
 * prototype says otherwise, these calls return the old value, and block. Errors, which end the job:
 * BOUNDS, ARGUMENT (not aligned), WINDOW, RANK.
 */
WEFT_FN uint64_t weft_fetch_add(weft_self *self, weft_win win, int target, size_t offset,
                                uint64_t value);
WEFT_FN uint64_t weft_swap(weft_self *self, weft_win win, int target, size_t offset,
                           uint64_t value);
/* Sets the word to `desired` if it was `expected`. */
WEFT_FN uint64_t weft_compare_swap(weft_self *self, weft_win win, int target, size_t offset,
                                   uint64_t expected, uint64_t desired);
WEFT_FN uint32_t weft_fetch_add_u32(weft_self *self, weft_win win, int target, size_t offset,
                                    uint32_t value);
WEFT_FN uint32_t weft_swap_u32(weft_self *self, weft_win win, int target, size_t offset,
                               uint32_t value);
WEFT_FN uint32_t weft_compare_swap_u32(weft_self *self, weft_win win, int target, size_t offset,
                                       uint32_t expected, uint32_t desired);
/*
 * Update a word as weft_fetch_add and so on, without order: atomic with all updates, and in order
 * with this rank's own updates of the same word. Nothing else is ordered. All threads; they block.
 */
WEFT_FN uint64_t weft_fetch_add_relaxed(weft_self *self, weft_win win, int target, size_t offset,
                                        uint64_t value);
WEFT_FN uint64_t weft_swap_relaxed(weft_self *self, weft_win win, int target, size_t offset,
                                   uint64_t value);
WEFT_FN uint64_t weft_compare_swap_relaxed(weft_self *self, weft_win win, int target, size_t offset,
                                           uint64_t expected, uint64_t desired);
WEFT_FN uint32_t weft_fetch_add_u32_relaxed(weft_self *self, weft_win win, int target,
                                            size_t offset, uint32_t value);
WEFT_FN uint32_t weft_swap_u32_relaxed(weft_self *self, weft_win win, int target, size_t offset,
                                       uint32_t value);
WEFT_FN uint32_t weft_compare_swap_u32_relaxed(weft_self *self, weft_win win, int target,
                                               size_t offset, uint32_t expected, uint32_t desired);
/* Begins a weft_fetch_add. Non-blocking: *old (may be NULL) is written when it is done. */
WEFT_FN weft_op weft_fetch_add_begin(weft_self *self, weft_win win, int target, size_t offset,
                                     uint64_t value, uint64_t *old);
/* Adds value to a word as weft_fetch_add, non-blocking, without a result. */
WEFT_FN void weft_add(weft_self *self, weft_win win, int target, size_t offset, uint64_t value);
/*
 * Combines each of `count` elements at source with the one at its place in the window, each
 * atomically by itself. Non-blocking; the source may be reused on return.
 */
WEFT_FN weft_op weft_accumulate_begin(weft_self *self, weft_win win, int target, size_t offset,
                                      const void *source, size_t count, weft_type type,
                                      weft_operation operation);
/*
 * Accumulates as weft_accumulate_begin, reals of 16 bits: type is F16 or BF16, offset a multiple of
 * 2. Each result is rounded once, to nearest even. Others may change the other half of a word.
 */
WEFT_FN weft_op weft_accumulate_half_begin(weft_self *self, weft_win win, int target, size_t offset,
                                           const void *source, size_t count, weft_type type,
                                           weft_operation operation);

/*
 * Test or wait whether the operation has come so far. Each earlier one of the same kind to the same
 * process has then come so far, too. test returns 0 or 1 and does not block. An operation of
 * another rank or job ends the job (ARGUMENT).
 */
WEFT_FN int weft_op_test(weft_self *self, weft_op op, weft_progress how);
WEFT_FN void weft_op_wait(weft_self *self, weft_op op, weft_progress how);

/*
 * Begin and end a batch. What this rank begins in between (puts, gets, updates and notifications)
 * may leave together: the host is told once of many commands. Batches nest; the outermost counts.
 * Order and completion do not change. All of it leaves at the latest when the rank waits, finds an
 * operation or notification not there, ends its batch, or ends its kernel. On the CPU device this
 * saves a wake-up of the host, for what goes through the host. A GPU's host polls, so there a batch
 * saves nothing. Non-blocking. Error: an end without a beginning ends the job (STATE).
 */
WEFT_FN void weft_batch_begin(weft_self *self);
WEFT_FN void weft_batch_end(weft_self *self);

/*
 * Waits until the sources of all earlier puts on the window may be reused, and all gets are
 * complete.
 */
WEFT_FN void weft_flush_local(weft_self *self, weft_win win);
/*
 * Waits until all earlier puts and updates on the window are visible, their sources may be reused,
 * and all gets are complete.
 */
WEFT_FN void weft_flush(weft_self *self, weft_win win);
/*
 * Orders this rank's earlier stores and puts before its later relaxed notifications. It orders them
 * before its later puts of 4 or 8 aligned bytes, too, for which a rank may wait (weft_wait_until).
 * The order is for each target by itself. If one rank must see data before another rank is told,
 * use weft_flush.
 */
WEFT_FN void weft_fence(weft_self *self);

/* ---- notifications --------------------------------------------------------------------------- */

/*
 * Notifies: adds one to the target's count of the tag. It is a release of all that this rank's
 * threads did before, loads included. The relaxed form promises no order and is cheaper. target:
 * rank in comm.
 */
WEFT_FN void weft_notify(weft_self *self, weft_comm comm, int target, int tag);
WEFT_FN void weft_notify_relaxed(weft_self *self, weft_comm comm, int target, int tag);
/*
 * Makes weft_notify to each of `count` targets, in no order among them. On a GPU their releases
 * wait together. targets: the same numbers for all threads, and unchanged until all have returned;
 * a rank may occur several times.
 */
WEFT_FN void weft_notify_many(weft_self *self, weft_comm comm, const int *targets, int count,
                              int tag);

/*
 * Notifies with a value: stores it to an aligned word of 32 bits of the target's window, atomically
 * with updates of that word, and adds one to the target's count of the tag. Whoever consumes the
 * notification sees the value, or a later one, and what weft_notify promises. A sender that must
 * not overwrite its last value waits until the target has taken it. Non-blocking. Errors, which end
 * the job: TAG, BOUNDS, ARGUMENT (not aligned), WINDOW, RANK.
 */
WEFT_FN void weft_notify_value(weft_self *self, weft_win win, int target, size_t offset,
                               uint32_t value, int tag);

/*
 * Blocks until `count` notifications of the tag are there, and consumes them. Notifications that
 * are left when the kernel ends are dropped; each process prints their number in one line.
 */
WEFT_FN void weft_wait(weft_self *self, int tag, uint32_t count);
/*
 * Consumes `count` notifications and returns 1 if they are there; otherwise consumes none and
 * returns 0.
 */
WEFT_FN int weft_test(weft_self *self, int tag, uint32_t count);

/*
 * Blocks until the aligned value at address compares true with `value`. All threads then see what
 * the writer had fenced, flushed or notified before it wrote. It polls, yields and serves
 * mailboxes.
 */
WEFT_FN void weft_wait_until(weft_self *self, const uint64_t *address, weft_compare how,
                             uint64_t value);
WEFT_FN void weft_wait_until_u32(weft_self *self, const uint32_t *address, weft_compare how,
                                 uint32_t value);

/*
 * Blocks until at least `least` of `count` aligned words compare true with `value`. It looks at the
 * words whose status is 0, sets the status of those that compare true to 1, and returns how many
 * these are. So least is 1 for any, the number of open words for all, and 0 for a test, which does
 * not block. The program sets a status to another number, so that the word is not looked at again.
 * All threads then see what the writers of the words found had fenced, flushed or notified before.
 *
 * words: as for weft_wait_until. status: `count` bytes that all threads of the rank share, of
 * device memory or WEFT_SHARED. It polls, yields and serves mailboxes. Errors, which end the job:
 * ARGUMENT (NULL, not aligned, comparison, more words than are open).
 */
WEFT_FN int weft_wait_where(weft_self *self, const uint64_t *words, int count, int least,
                            weft_compare how, uint64_t value, unsigned char *status);

/* ---- time and text ------------------------------------------------------------------------- */

/*
 * Start and stop a timer. Collective over WEFT_COMM_DEVICE. Each stop appends an interval that
 * weft_intervals returns. More than WEFT_TIMER_INTERVALS in a run end the job (LIMIT), and so does
 * a stop without a start (STATE).
 *
 * Both are barriers of the device's ranks, after which its first rank reads a clock. On the CPU
 * device that is the host's monotonic clock, in nanoseconds. On a GPU it is the GPU's nanosecond
 * clock (%globaltimer), which follows no adjustment of the host's time and goes in steps, of 32 ns
 * on an H200. The interval includes the stop's barrier: 1.2 us there for 52 ranks. bench_gpu_dcuda
 * measures both.
 */
WEFT_FN void weft_timer_start(weft_self *self);
WEFT_FN void weft_timer_stop(weft_self *self);

/*
 * Begin and end a region of the job's timeline (WEFT_TRACE), for the rank that calls them. The name
 * keeps 15 bytes. Regions nest, and end with the kernel; an end without a beginning is dropped.
 * Non-blocking; thread 0 decides. Without a timeline each call is a load and a branch.
 */
WEFT_FN void weft_region_begin(weft_self *self, const char *name);
WEFT_FN void weft_region_end(weft_self *self);

/*
 * weft_log(self, format, ...) prints one line, by the host, while the kernel runs. It takes up to 8
 * arguments: integers, floating point, pointers, and text (%s), which is copied and may be reused
 * on return. The compiler checks them as printf's; no width or precision is an argument (*). A rank
 * prints one line a call; thread 0 decides. It waits for room only while the rank's earlier lines
 * are not printed yet. A line does not delay puts.
 */

#ifdef __cplusplus
}
#endif

#include <weft/log_args.h>
#ifdef __CUDACC__
#include "rank/api.h"
#ifdef WEFT_LINES
#define WEFT_LINES_OF_DEVICE
#include <weft/lines.h>
#endif
#endif
#endif
