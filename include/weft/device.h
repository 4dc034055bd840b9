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
 * Every rank is one thread block. Unless a prototype says otherwise, a call is made by all
 * threads of the rank together (it contains block barriers), with the same arguments.
 *
 * No call returns an error: a bad argument (a rank, tag, window, communicator or range that does
 * not exist) is reported with rank, call and numbers, stops the run on every process and comes
 * back as weft_run's status. After that, or when a process is lost, no call returns to the kernel.
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

/* The number of processes, this process, and the first world rank and number of ranks of each. */
WEFT_FN int weft_processes(weft_self *self);
WEFT_FN int weft_process(weft_self *self);
WEFT_FN int weft_process_first(weft_self *self, int process);
WEFT_FN int weft_process_ranks(weft_self *self, int process);

/* ---- communicators (collective over the parent) ---------------------------------------------- */

/*
 * Barriers of WEFT_COMM_WORLD at the beginning and the end of the kernel's communication, which
 * timelines and stall reports call by these names. weft itself needs neither.
 */
WEFT_FN void weft_enter(weft_self *self);
WEFT_FN void weft_leave(weft_self *self);

/*
 * Members with the same color form a new communicator, ordered by key, then by rank in the parent.
 * A negative color gives WEFT_COMM_NONE, as does a failure (see weft_failure).
 */
WEFT_FN weft_comm weft_comm_split(weft_self *self, weft_comm parent, int color, int key);
/* Collective over *comm; sets it to WEFT_COMM_NONE. Its windows must have been freed. */
WEFT_FN void weft_comm_free(weft_self *self, weft_comm *comm);

/*
 * Nobody leaves before all have entered. Then all see what each has stored before, also through
 * weft_ptr. Orders no puts by itself: flush them first.
 */
WEFT_FN void weft_barrier(weft_self *self, weft_comm comm);

/* ---- windows (collective over the communicator) -------------------------------------------- */

/*
 * Exposes `bytes` bytes at base (NULL if bytes is 0). Both may differ between members, so members
 * that create two windows in different orders mix them up unnoticed. Windows may overlap. base:
 * what weft_register takes (weft.h). All members get the same handle, or WEFT_WIN_NONE when it
 * failed on any of them.
 */
WEFT_FN weft_win weft_win_create(weft_self *self, weft_comm comm, void *base, size_t bytes);
/* Flushes this rank's puts; waits until all members have entered. *win becomes WEFT_WIN_NONE. */
WEFT_FN void weft_win_free(weft_self *self, weft_win *win);

/* Why the rank's last win_create or comm_split failed; WEFT_OK if it did not. Any thread. */
WEFT_FN weft_status weft_failure(weft_self *self);

/*
 * Where this rank may load and store another member's window directly, or NULL. Such stores are the
 * program's own: weft_fence orders them before the next weft_notify_relaxed, weft_notify orders
 * them by itself. A GPU reaches a process on a CPU in this way, and must use no atomic operations
 * of its own there. A CPU does not reach a GPU. Any thread.
 */
WEFT_FN void *weft_ptr(weft_self *self, weft_win win, int target);

/* ---- data ---------------------------------------------------------------------------------- */
/*
 * One-sided: no matching call at the target. A call may wait for space, and serves the rank's own
 * mailboxes meanwhile. All that one rank sends to another takes effect in the order sent. target:
 * the rank in the window's communicator. offset, bytes: in the target's window, in bytes. The
 * source may be any device memory. It may be reused after flush_local (or flush). So it may when
 * the target has consumed this put, and a notification that it sent afterwards is here. On a GPU
 * that is no local variable of a kernel, nor shared memory: other threads of the rank, or the host,
 * copy it. The CPU device, where both are on the rank's stack, refuses it (ARGUMENT).
 */

/* Lands without any call by the target. Aligned puts of 1, 2, 4 or 8 bytes arrive undivided. */
WEFT_FN void weft_put(weft_self *self, weft_win win, int target, size_t offset, const void *source,
                      size_t bytes);
/*
 * Puts, and adds one to the target's count of the tag, as one message. Who consumes it sees the
 * data, and all that this rank put to that target before. This rank is then done with all that it
 * loaded before. Small ones (WEFT_EAGER) between two ranks that often send them may be delivered
 * late: while the target waits, tests, polls by weft_wait_until, or after its kernel. Other stores
 * of this rank, and what it was told by others, are ordered by weft_notify and weft_fence only.
 */
WEFT_FN void weft_put_notify(weft_self *self, weft_win win, int target, size_t offset,
                             const void *source, size_t bytes, int tag);
/*
 * weft_put_notify of each of `count` items, in no order among them. On a GPU, by ranks of whole
 * warps, most of those to mapped memory go at once, and their releases wait together. items: the
 * same for all threads, and unchanged until all have returned. A rank that polls for a value of
 * such a put (weft_wait_until) sees nothing else by that.
 */
WEFT_FN void weft_put_notify_many(weft_self *self, weft_win win, const weft_put_item *items,
                                  int count);
/* height rows of `width` bytes, `pitch` bytes (at least width) apart, as one message. */
WEFT_FN void weft_put_2d(weft_self *self, weft_win win, int target, size_t offset, size_t pitch,
                         const void *source, size_t source_pitch, size_t width, size_t height);
WEFT_FN void weft_put_2d_notify(weft_self *self, weft_win win, int target, size_t offset,
                                size_t pitch, const void *source, size_t source_pitch, size_t width,
                                size_t height, int tag);

/* weft_put; the operation says when its source may be reused (LOCAL), and when it is visible. */
WEFT_FN weft_op weft_put_begin(weft_self *self, weft_win win, int target, size_t offset,
                               const void *source, size_t bytes);

/*
 * Fetches `bytes` bytes from offset of another member's window, without any call by it. They show
 * all that this rank put there before. On return all threads see them in `to`, which is device
 * memory, as for a put's source. A word of 4 or 8 bytes, aligned at both ends, is fetched
 * undivided, and orders nothing. Blocking.
 */
WEFT_FN void weft_get(weft_self *self, weft_win win, int from, size_t offset, void *to,
                      size_t bytes);
/*
 * The same, non-blocking: `to` is this call's until the operation, or a flush, is done. Until then
 * what this rank puts to the same place may show, or not. A kernel may end before: weft_run returns
 * when all operations are done.
 */
WEFT_FN weft_op weft_get_begin(weft_self *self, weft_win win, int from, size_t offset, void *to,
                               size_t bytes);
/* height rows of `width` bytes, pitch apart in the window, to_pitch in `to`; each at least width.
 */
WEFT_FN weft_op weft_get_2d_begin(weft_self *self, weft_win win, int from, size_t offset,
                                  size_t pitch, void *to, size_t to_pitch, size_t width,
                                  size_t height);
/* weft_get_begin, and one more of this rank's own count of the tag when the data is there. */
WEFT_FN void weft_get_notify(weft_self *self, weft_win win, int from, size_t offset, void *to,
                             size_t bytes, int tag);

/*
 * Updates of one aligned word of a member's window, undivided among all that ranks and host
 * programs make by these calls; they do not mix with stores and puts there. They take effect in the
 * order of this rank's puts to that target. Who updates the word next sees all that this rank did
 * before. They return the old value, and block, but for those that say otherwise. Errors, which end
 * the job: BOUNDS, ARGUMENT (not aligned), WINDOW, RANK.
 */
WEFT_FN uint64_t weft_fetch_add(weft_self *self, weft_win win, int target, size_t offset,
                                uint64_t value);
WEFT_FN uint64_t weft_swap(weft_self *self, weft_win win, int target, size_t offset,
                           uint64_t value);
/* The word becomes `desired` if it was `expected`. */
WEFT_FN uint64_t weft_compare_swap(weft_self *self, weft_win win, int target, size_t offset,
                                   uint64_t expected, uint64_t desired);
WEFT_FN uint32_t weft_fetch_add_u32(weft_self *self, weft_win win, int target, size_t offset,
                                    uint32_t value);
WEFT_FN uint32_t weft_swap_u32(weft_self *self, weft_win win, int target, size_t offset,
                               uint32_t value);
WEFT_FN uint32_t weft_compare_swap_u32(weft_self *self, weft_win win, int target, size_t offset,
                                       uint32_t expected, uint32_t desired);
/*
 * The same without order: undivided among all updates, and in order with this rank's own of the
 * same word; nothing else comes before or after. All threads; they block.
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
/* Non-blocking: *old (may be NULL) is written when the operation is done. */
WEFT_FN weft_op weft_fetch_add_begin(weft_self *self, weft_win win, int target, size_t offset,
                                     uint64_t value, uint64_t *old);
/* Non-blocking, without a result. */
WEFT_FN void weft_add(weft_self *self, weft_win win, int target, size_t offset, uint64_t value);
/*
 * Each of `count` elements at source is put together with the one at its place in the window, each
 * by itself undivided. Non-blocking; the source may be reused on return.
 */
WEFT_FN weft_op weft_accumulate_begin(weft_self *self, weft_win win, int target, size_t offset,
                                      const void *source, size_t count, weft_type type,
                                      weft_operation operation);

/*
 * Whether the operation has come so far; so has each before it of the same kind to the same process
 * then. test returns 0 or 1 and does not block. An operation of another rank or job ends the job
 * (ARGUMENT).
 */
WEFT_FN int weft_op_test(weft_self *self, weft_op op, weft_progress how);
WEFT_FN void weft_op_wait(weft_self *self, weft_op op, weft_progress how);

/*
 * What this rank begins between the two (puts, gets, updates and notifications) may leave together:
 * the host is told once of many commands. Batches may lie within each other; the outermost counts.
 * Nothing else changes: order, and when an operation is done. What has begun leaves at the latest
 * when the rank waits, finds an operation or notification not there, ends its batch, or ends its
 * kernel. This saves a wake-up of the host on the CPU device, for what goes through the host. The
 * host of a GPU polls: there a batch saves nothing. Non-blocking. Error: an end without a beginning
 * ends the job (STATE).
 */
WEFT_FN void weft_batch_begin(weft_self *self);
WEFT_FN void weft_batch_end(weft_self *self);

/* The sources of all earlier puts on the window may be reused; all that was fetched is there. */
WEFT_FN void weft_flush_local(weft_self *self, weft_win win);
/* All earlier puts and updates of the window are visible, their sources free, and fetches done. */
WEFT_FN void weft_flush(weft_self *self, weft_win win);
/*
 * Orders this rank's earlier stores and puts before its later relaxed notifies. It orders them
 * before its later puts of 4 or 8 aligned bytes, too, for which a rank may wait (weft_wait_until).
 * Puts are ordered for each target by itself: what must be seen by one rank before another is told
 * needs weft_flush.
 */
WEFT_FN void weft_fence(weft_self *self);

/* ---- notifications --------------------------------------------------------------------------- */

/*
 * Adds one to the target's count of the tag, as a release of all that this rank's threads did
 * before, loads included. The relaxed form promises no order and is cheaper. target: rank in comm.
 */
WEFT_FN void weft_notify(weft_self *self, weft_comm comm, int target, int tag);
WEFT_FN void weft_notify_relaxed(weft_self *self, weft_comm comm, int target, int tag);
/*
 * weft_notify to each of `count` targets, in no order among them; on a GPU their releases wait
 * together. targets: the same numbers for all threads, and unchanged until all have returned; a
 * rank may occur several times.
 */
WEFT_FN void weft_notify_many(weft_self *self, weft_comm comm, const int *targets, int count,
                              int tag);

/*
 * Blocks until `count` notifications of the tag are there, and consumes them. Those that are left
 * when the kernel ends are dropped: one line of a process says how many.
 */
WEFT_FN void weft_wait(weft_self *self, int tag, uint32_t count);
/* Consumes them and returns 1 only if they are there; else returns 0 and consumes none. */
WEFT_FN int weft_test(weft_self *self, int tag, uint32_t count);

/*
 * Blocks until the aligned value at address compares true with `value`. All threads then see what
 * the writer had fenced, flushed or notified before it wrote. Polls, yields, serves mailboxes.
 */
WEFT_FN void weft_wait_until(weft_self *self, const uint64_t *address, weft_compare how,
                             uint64_t value);
WEFT_FN void weft_wait_until_u32(weft_self *self, const uint32_t *address, weft_compare how,
                                 uint32_t value);

/* ---- time and text ------------------------------------------------------------------------- */

/*
 * Collective over WEFT_COMM_DEVICE. Each stop appends an interval that weft_intervals returns. More
 * than WEFT_TIMER_INTERVALS in a run end the job (LIMIT), and so does a stop without a start
 * (STATE).
 *
 * Both are barriers of the device's ranks, after which its first rank reads a clock. That is the
 * host's monotonic clock on the CPU device, to the nanosecond. On a GPU it is the GPU's own
 * nanosecond clock (%globaltimer), which no adjustment of the host's time moves; it goes in steps,
 * of 32 ns on an H200. The barrier of the stop is in the interval: 1.2 us there for 52 ranks.
 * bench_gpu_dcuda prints the step, what a pair takes, and that by the host's clock.
 */
WEFT_FN void weft_timer_start(weft_self *self);
WEFT_FN void weft_timer_stop(weft_self *self);

/*
 * Between the two the job's timeline (WEFT_TRACE) has a region of this name, for the rank that
 * calls them: of the name 15 bytes are kept. Regions lie one inside of the other, outside of weft's
 * calls, and end with the kernel; an end without a beginning is dropped. Non-blocking; thread 0
 * speaks. Without a timeline each is a load and a branch.
 */
WEFT_FN void weft_region_begin(weft_self *self, const char *name);
WEFT_FN void weft_region_end(weft_self *self);

/*
 * weft_log(self, format, ...): printed by the host at once, as one line, while the kernel runs. Up
 * to 8 arguments: integers, floating point, pointers, and text (%s), which is copied and may be
 * reused on return. The compiler checks them as printf's; no width or precision is an argument (*).
 * One call a rank (thread 0 speaks). Waits for room only where the rank's earlier lines are not
 * printed yet; a line holds up no put.
 */
typedef struct weft_log_arg {
    uint64_t bits;
    uint32_t kind; /* a weft_log_kind */
    uint32_t unused;
} weft_log_arg;

typedef enum weft_log_kind {
    WEFT_LOG_INT,
    WEFT_LOG_UINT,
    WEFT_LOG_REAL,
    WEFT_LOG_PTR,
    WEFT_LOG_COMM,  /* weft's own: a communicator, by its name for %s */
    WEFT_LOG_STRING /* bits: its address; on the way to the host, how many bytes it has */
} weft_log_kind;

#define WEFT_LOG_ARGS 8
#define WEFT_LOG_TEXT 320 /* longest format together with its text arguments; more is cut */

WEFT_FN void weft_log_values(weft_self *self, const char *format, int count,
                             const weft_log_arg *args);

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
