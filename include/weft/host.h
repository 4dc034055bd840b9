/*
 * weft/host.h - a part of weft.h: the host program as a member of its job. Windows, notifications,
 * updates and groups of host programs, memory that one of them announces, gather and scatter.
 * Contracts of calls as weft.h has them.
 *
 * The host program of each process is a member of WEFT_COMM_HOST and does what ranks do, while a
 * kernel runs or not: same semantics (device.h), member = process. Its windows may be used by
 * kernels, too, and its notifications are its own: ranks send them by weft_notify(self,
 * WEFT_COMM_HOST, process, tag). A thread of it is no other sender: what one process's host program
 * sends to one process takes effect in the order of the calls. Buffers of the program may be any
 * memory, host or device, unless a call says otherwise. After a wait that ends with the job,
 * buffers may be reused.
 */
#ifndef WEFT_HOST_H
#define WEFT_HOST_H

#include <weft/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Collective, blocking. base may be NULL if bytes is 0; both may differ between processes. base: as
 * for weft_register.
 */
WEFT_API weft_status weft_host_win_create(weft_job *job, void *base, size_t bytes, weft_win *win);
WEFT_API weft_status weft_host_win_free(weft_job *job, weft_win *win);

/* May wait for space, never for the target program. source may be reused after a flush. */
WEFT_API weft_status weft_host_put(weft_job *job, weft_win win, int process, size_t offset,
                                   const void *source, size_t bytes);
WEFT_API weft_status weft_host_put_notify(weft_job *job, weft_win win, int process, size_t offset,
                                          const void *source, size_t bytes, int tag);
WEFT_API weft_status weft_host_notify(weft_job *job, int process, int tag);

/*
 * One more of a rank's count, between weft_start and weft_finish. rank: in WEFT_COMM_WORLD. put:
 * the data goes to a process's part of the window, and the notification, behind it, to a rank of
 * that same process. What a rank has not consumed when its kernel ends is dropped. Non-blocking,
 * but for space. Errors: STATE, RANK, TAG, and those of weft_host_put.
 */
WEFT_API weft_status weft_host_notify_rank(weft_job *job, int rank, int tag);
WEFT_API weft_status weft_host_put_notify_rank(weft_job *job, weft_win win, int process,
                                               size_t offset, const void *source, size_t bytes,
                                               int rank, int tag);

/*
 * Blocks until `count` notifications of the tag are there, and consumes them. Processes in
 * weft_close send nothing. A wait for what only they could send, here or in a collective call,
 * fails the job with MISMATCH after two seconds.
 */
WEFT_API weft_status weft_host_wait(weft_job *job, int tag, uint32_t count);
/*
 * The same for so many seconds at most: TIMEOUT: they are not there, nothing was consumed, and the
 * job goes on. No error is said. 0 or less: looks once. WEFT_TIMEOUT_S holds for this wait, too.
 */
WEFT_API weft_status weft_host_wait_for(weft_job *job, int tag, uint32_t count, double seconds);
/* If they are there, consumes them and sets *done to 1; else sets *done to 0. Does not block. */
WEFT_API weft_status weft_host_test(weft_job *job, int tag, uint32_t count, int *done);

/* All earlier puts and updates on the window are visible, gets there. Blocking, not collective. */
WEFT_API weft_status weft_host_flush(weft_job *job, weft_win win);

/*
 * Where the host program may load and store a process's part of the window itself, as weft_ptr;
 * NULL: it is not mapped here. Does not block. Errors: WINDOW, RANK.
 */
WEFT_API weft_status weft_host_ptr(weft_job *job, weft_win win, int process, void **memory);

/*
 * As weft_fence: each target sees earlier puts before later ones of 4 or 8 aligned bytes. So does a
 * program that polls such a word with acquire loads. Does not block.
 */
WEFT_API weft_status weft_host_fence(weft_job *job);

/* Collective: nobody leaves before all have entered. */
WEFT_API weft_status weft_host_barrier(weft_job *job);

/*
 * As weft_put_begin, weft_get and weft_get_begin. Non-blocking but for weft_host_get. The buffer is
 * the call's until the operation is done LOCAL, or the window flushed.
 */
WEFT_API weft_status weft_host_put_begin(weft_job *job, weft_win win, int process, size_t offset,
                                         const void *source, size_t bytes, weft_op *op);
WEFT_API weft_status weft_host_get(weft_job *job, weft_win win, int process, size_t offset,
                                   void *to, size_t bytes);
WEFT_API weft_status weft_host_get_begin(weft_job *job, weft_win win, int process, size_t offset,
                                         void *to, size_t bytes, weft_op *op);

/*
 * Updates of one aligned word, undivided among all that ranks and host programs make by these
 * calls. *old (may be NULL) becomes the value before. Blocking, but for weft_host_add and _begin.
 * source: host memory, which may be reused at once. Errors: ARGUMENT (not aligned, no such
 * operation), BOUNDS, RANK, WINDOW; UNSUPPORTED: device memory that this host program cannot
 * update.
 */
WEFT_API weft_status weft_host_fetch_add(weft_job *job, weft_win win, int process, size_t offset,
                                         uint64_t value, uint64_t *old);
WEFT_API weft_status weft_host_swap(weft_job *job, weft_win win, int process, size_t offset,
                                    uint64_t value, uint64_t *old);
WEFT_API weft_status weft_host_compare_swap(weft_job *job, weft_win win, int process, size_t offset,
                                            uint64_t expected, uint64_t desired, uint64_t *old);
WEFT_API weft_status weft_host_fetch_add_u32(weft_job *job, weft_win win, int process,
                                             size_t offset, uint32_t value, uint32_t *old);
WEFT_API weft_status weft_host_swap_u32(weft_job *job, weft_win win, int process, size_t offset,
                                        uint32_t value, uint32_t *old);
WEFT_API weft_status weft_host_compare_swap_u32(weft_job *job, weft_win win, int process,
                                                size_t offset, uint32_t expected, uint32_t desired,
                                                uint32_t *old);
WEFT_API weft_status weft_host_add(weft_job *job, weft_win win, int process, size_t offset,
                                   uint64_t value);
/* The two of compare and swap, begun: *old, not NULL, is the call's until it is done LOCAL. */
WEFT_API weft_status weft_host_compare_swap_begin(weft_job *job, weft_win win, int process,
                                                  size_t offset, uint64_t expected,
                                                  uint64_t desired, uint64_t *old, weft_op *op);
WEFT_API weft_status weft_host_compare_swap_u32_begin(weft_job *job, weft_win win, int process,
                                                      size_t offset, uint32_t expected,
                                                      uint32_t desired, uint32_t *old, weft_op *op);
WEFT_API weft_status weft_host_accumulate_begin(weft_job *job, weft_win win, int process,
                                                size_t offset, const void *source, size_t count,
                                                weft_type type, weft_operation operation,
                                                weft_op *op);

/*
 * Whether an operation of this host program is done; waits until it is; the same for so many
 * seconds at most (TIMEOUT: as weft_host_wait_for). Errors: ARGUMENT: it is one of a rank or
 * another job.
 */
WEFT_API weft_status weft_host_op_test(weft_job *job, weft_op op, weft_progress how, int *done);
WEFT_API weft_status weft_host_op_wait(weft_job *job, weft_op op, weft_progress how);
WEFT_API weft_status weft_host_op_wait_for(weft_job *job, weft_op op, weft_progress how,
                                           double seconds);

/*
 * As weft_batch_begin and weft_batch_end: what any thread of the host program begins between them
 * may leave together, at the latest when a thread waits in a call or the batch ends. Batches may
 * lie within each other. Non-blocking. Errors: STATE: no batch was begun.
 */
WEFT_API weft_status weft_host_batch_begin(weft_job *job);
WEFT_API weft_status weft_host_batch_end(weft_job *job);

/*
 * For libraries over weft: the call of theirs that this thread is in, which reports of its waits
 * name. It stays until the next call, and is not copied; NULL: none. Any thread; does not block.
 */
WEFT_API void weft_host_caller(const char *name);

/* ---- windows with one member ----------------------------------------------------------------- */
/*
 * Memory of one process, announced to all under a number of its choice. It is a window with one
 * member, 0. Host programs and ranks of any process put to it, get from it and update it. Not
 * collective; legal while a kernel runs.
 */

/*
 * Announces it. Blocks until this process itself has heard of it. base: as for weft_register; it
 * stays as it is until weft_unexpose. Errors: STATE (the number is in use), LIMIT, MEMORY, and
 * those of weft_host_win_create.
 */
WEFT_API weft_status weft_expose(weft_job *job, void *base, size_t bytes, uint32_t number);
/*
 * Ends it. The program has seen to it that nobody uses it any more: who does meets WINDOW, or, with
 * what is under way, ends the job. Blocks until this process has heard of it. Errors: STATE.
 */
WEFT_API weft_status weft_unexpose(weft_job *job, uint32_t number);
/*
 * The window of that process and number. Blocks until it is announced, so many seconds at most
 * (INFINITY: for ever). Ranks of this process may use it as soon as this has returned. It is not
 * freed. Errors: RANK; TIMEOUT: nobody has announced it by then, and the job goes on.
 */
WEFT_API weft_status weft_exposed(weft_job *job, int process, uint32_t number, double seconds,
                                  weft_win *win);

/* ---- groups of host programs ----------------------------------------------------------------- */

/*
 * Collective over all host programs, blocking, legal while a kernel runs: as weft_comm_split of
 * WEFT_COMM_HOST. A group outlives runs, and goes with weft_host_group_free or the job. *group is
 * WEFT_COMM_NONE for a negative color. Errors: LIMIT.
 */
WEFT_API weft_status weft_host_split(weft_job *job, int color, int key, weft_comm *group);
/* The same, collective over the members of `parent`, which is such a group. Errors: COMM. */
WEFT_API weft_status weft_host_group_split(weft_job *job, weft_comm parent, int color, int key,
                                           weft_comm *group);
/*
 * Collective over the group; WEFT_COMM_HOST is one. Where other calls take a process, those on a
 * window of a group take the member. Errors: COMM: no group of this process.
 */
WEFT_API weft_status weft_host_group_free(weft_job *job, weft_comm *group);
WEFT_API weft_status weft_host_group_barrier(weft_job *job, weft_comm group);
WEFT_API weft_status weft_host_group_win_create(weft_job *job, weft_comm group, void *base,
                                                size_t bytes, weft_win *win);

/*
 * As weft_region_begin and weft_region_end, on the host program's track; not in a job of
 * WEFT_THREAD_MULTIPLE, whose timeline has no such track. Errors: STATE, and the job's own.
 */
WEFT_API weft_status weft_host_region_begin(weft_job *job, const char *name);
WEFT_API weft_status weft_host_region_end(weft_job *job);

/* ---- gather and scatter ---------------------------------------------------------------------- */

/*
 * Collective. gather: the `bytes` bytes at send of every process (they may differ) arrive in
 * process order, without gaps, in receive at root; receive is used only there. scatter: the
 * reverse; process i receives its `bytes`, taken in process order from send at root. Not while a
 * kernel runs: they allocate device memory.
 */
WEFT_API weft_status weft_host_gather(weft_job *job, int root, const void *send, size_t bytes,
                                      void *receive);
WEFT_API weft_status weft_host_scatter(weft_job *job, int root, const void *send, void *receive,
                                       size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
