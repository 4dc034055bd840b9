/*
 * weft/host.h - a part of weft.h: the host program as a member of its job. It has windows,
 * notifications, updates, groups of host programs, memory that one process announces, gather and
 * scatter. weft.h states what holds for all calls.
 *
 * The host program of each process is a member of WEFT_COMM_HOST. It does what ranks do, with the
 * same semantics (device.h), whether a kernel runs or not; a member is a process. Kernels may use
 * its windows, too. Its notifications are its own: ranks send them by weft_notify(self,
 * WEFT_COMM_HOST, process, tag). All threads of a host program are one sender: what they send to
 * one process takes effect in the order of the calls. Buffers may be any memory, host or device,
 * unless a call says otherwise. When a wait ends because the job fails, buffers may be reused.
 */
#ifndef WEFT_HOST_H
#define WEFT_HOST_H

#include <weft/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Create and free a window of WEFT_COMM_HOST. Collective, blocking. base and bytes may differ
 * between processes. base may be NULL if bytes is 0; else it is memory as weft_register takes it.
 */
WEFT_API weft_status weft_host_win_create(weft_job *job, void *base, size_t bytes, weft_win *win);
WEFT_API weft_status weft_host_win_free(weft_job *job, weft_win *win);

/*
 * Put data, notify, or both. They may wait for space, never for the target program. source may be
 * reused after a flush.
 */
WEFT_API weft_status weft_host_put(weft_job *job, weft_win win, int process, size_t offset,
                                   const void *source, size_t bytes);
WEFT_API weft_status weft_host_put_notify(weft_job *job, weft_win win, int process, size_t offset,
                                          const void *source, size_t bytes, int tag);
WEFT_API weft_status weft_host_notify(weft_job *job, int process, int tag);

/*
 * Notify a rank of a running kernel, between weft_start and weft_finish. rank: in WEFT_COMM_WORLD.
 * The put goes to `process`'s part of the window; its notification follows it, to a rank of that
 * process. Notifications that a rank has not consumed when its kernel ends are dropped.
 * Non-blocking, except to wait for space. Errors: STATE, RANK, TAG, and those of weft_host_put.
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
 * Waits as weft_host_wait, for at most `seconds`. TIMEOUT: they are not there, none was consumed,
 * the job goes on and nothing is printed. 0 or less: looks once. WEFT_TIMEOUT_S holds, too.
 */
WEFT_API weft_status weft_host_wait_for(weft_job *job, int tag, uint32_t count, double seconds);
/*
 * Looks for `count` notifications of the tag. *done is 1 if they were there and are consumed, else
 * 0. Does not block.
 */
WEFT_API weft_status weft_host_test(weft_job *job, int tag, uint32_t count, int *done);

/*
 * Blocks until earlier puts and updates on the window are visible, and earlier gets complete. Not
 * collective.
 */
WEFT_API weft_status weft_host_flush(weft_job *job, weft_win win);

/*
 * Gives the address of a process's part of the window, for loads and stores, as weft_ptr. NULL: it
 * is not mapped here. Does not block. Errors: WINDOW, RANK.
 */
WEFT_API weft_status weft_host_ptr(weft_job *job, weft_win win, int process, void **memory);
/*
 * Gives the system's number of another process, all of whose memory the kernel lets this one read
 * and write (process_vm_readv, process_vm_writev): also what is not mapped. 0: it does not, or the
 * process is reached through the host. WEFT_LOG=info says whose memory cannot be read. Does not
 * block. Any thread.
 */
WEFT_API int weft_host_pid(const weft_job *job, int process);

/*
 * Orders puts as weft_fence: each target sees earlier puts before later puts of 4 or 8 aligned
 * bytes. So does a program that polls such a word with acquire loads. Does not block.
 */
WEFT_API weft_status weft_host_fence(weft_job *job);

/* Waits until all host programs have entered. Collective, blocking. */
WEFT_API weft_status weft_host_barrier(weft_job *job);

/*
 * Put and get as weft_put_begin, weft_get and weft_get_begin. Non-blocking, except weft_host_get.
 * The program leaves the buffer alone until the operation is done LOCAL, or the window is flushed.
 */
WEFT_API weft_status weft_host_put_begin(weft_job *job, weft_win win, int process, size_t offset,
                                         const void *source, size_t bytes, weft_op *op);
WEFT_API weft_status weft_host_get(weft_job *job, weft_win win, int process, size_t offset,
                                   void *to, size_t bytes);
WEFT_API weft_status weft_host_get_begin(weft_job *job, weft_win win, int process, size_t offset,
                                         void *to, size_t bytes, weft_op *op);

/*
 * Update one aligned word. The update is atomic with all updates by ranks and host programs. *old
 * becomes the value before; old may be NULL. Blocking, except weft_host_add and the calls _begin.
 * source: host memory; it may be reused at once. Errors: ARGUMENT (not aligned, no such operation),
 * BOUNDS, RANK, WINDOW; UNSUPPORTED: device memory that this host program cannot update.
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
WEFT_API weft_status weft_host_accumulate_begin(weft_job *job, weft_win win, int process,
                                                size_t offset, const void *source, size_t count,
                                                weft_type type, weft_operation operation,
                                                weft_op *op);
/*
 * Accumulates as weft_host_accumulate_begin. The elements that were there go to `old`, which may be
 * the source; the call uses it until the operation is done LOCAL. Not for reals of 16 bits.
 */
WEFT_API weft_status weft_host_fetch_accumulate_begin(weft_job *job, weft_win win, int process,
                                                      size_t offset, const void *source, void *old,
                                                      size_t count, weft_type type,
                                                      weft_operation operation, weft_op *op);

/*
 * Test or wait for an operation of this host program. weft_host_op_wait_for blocks for at most
 * `seconds` (TIMEOUT: as weft_host_wait_for). Errors: ARGUMENT: an operation of a rank or of
 * another job.
 */
WEFT_API weft_status weft_host_op_test(weft_job *job, weft_op op, weft_progress how, int *done);
WEFT_API weft_status weft_host_op_wait(weft_job *job, weft_op op, weft_progress how);
WEFT_API weft_status weft_host_op_wait_for(weft_job *job, weft_op op, weft_progress how,
                                           double seconds);

/*
 * Begin and end a batch as weft_batch_begin and weft_batch_end. What any thread of the host program
 * begins between them may leave together. It leaves at the latest when a thread waits in a call or
 * the batch ends. Batches nest. Non-blocking. Errors: STATE: no batch was begun.
 */
WEFT_API weft_status weft_host_batch_begin(weft_job *job);
WEFT_API weft_status weft_host_batch_end(weft_job *job);

/*
 * Names the call of a library over weft that this thread is in, for reports of waits. The name
 * holds until the next such call; NULL: none. The string is not copied. Any thread; does not block.
 */
WEFT_API void weft_host_caller(const char *name);

/* ---- windows with one member ----------------------------------------------------------------- */
/*
 * One process announces memory of its own to all others, under a number of its choice. The memory
 * is a window with one member, 0. Host programs and ranks of any process put to it, get from it and
 * update it. These calls are not collective, and legal while a kernel runs.
 */

/*
 * Announces memory. Blocks until this process itself knows of it. base: as for weft_register; it
 * stays valid until weft_unexpose. Errors: STATE (the number is in use), LIMIT, MEMORY, and those
 * of weft_host_win_create.
 */
WEFT_API weft_status weft_expose(weft_job *job, void *base, size_t bytes, uint32_t number);
/*
 * Ends the announcement. Blocks until this process knows of the end. The program ensures that
 * nobody uses the window any more. A later call on it fails with WINDOW; operations under way may
 * end the job. Errors: STATE.
 */
WEFT_API weft_status weft_unexpose(weft_job *job, uint32_t number);
/*
 * Gives the window of that process and number. Blocks until it is announced, for at most `seconds`
 * (INFINITY: for ever). Ranks of this process may use it once this has returned. It is not freed.
 * Errors: RANK; TIMEOUT: it was not announced in time, and the job goes on.
 */
WEFT_API weft_status weft_exposed(weft_job *job, int process, uint32_t number, double seconds,
                                  weft_win *win);

/* ---- groups of host programs ----------------------------------------------------------------- */

/*
 * Splits WEFT_COMM_HOST, as weft_comm_split. Collective over all host programs, blocking, legal
 * while a kernel runs. A group lasts until weft_host_group_free or weft_close; it outlives runs.
 * *group is WEFT_COMM_NONE for a negative color. Errors: LIMIT.
 */
WEFT_API weft_status weft_host_split(weft_job *job, int color, int key, weft_comm *group);
/* Splits a group as weft_host_split, collective over its members. Errors: COMM, LIMIT. */
WEFT_API weft_status weft_host_group_split(weft_job *job, weft_comm parent, int color, int key,
                                           weft_comm *group);
/*
 * Free a group, wait for its members, or create a window over it. Collective over the group;
 * WEFT_COMM_HOST is one. Calls on a group's window take its member where others take a process.
 * Errors: COMM: no group of this process.
 */
WEFT_API weft_status weft_host_group_free(weft_job *job, weft_comm *group);
WEFT_API weft_status weft_host_group_barrier(weft_job *job, weft_comm group);
WEFT_API weft_status weft_host_group_win_create(weft_job *job, weft_comm group, void *base,
                                                size_t bytes, weft_win *win);

/*
 * Begin and end a region as weft_region_begin and weft_region_end, on the host program's track. A
 * job of WEFT_THREAD_MULTIPLE has no such track. Errors: STATE, and the job's own.
 */
WEFT_API weft_status weft_host_region_begin(weft_job *job, const char *name);
WEFT_API weft_status weft_host_region_end(weft_job *job);

/* ---- gather and scatter ---------------------------------------------------------------------- */

/*
 * Collective, blocking, not while a kernel runs. gather: every process's `bytes` bytes at send
 * arrive in receive at root, in process order and without gaps. scatter is the reverse: process i
 * receives its `bytes` from send at root. bytes may differ between processes. gather uses receive,
 * and scatter uses send, only at root.
 */
WEFT_API weft_status weft_host_gather(weft_job *job, int root, const void *send, size_t bytes,
                                      void *receive);
WEFT_API weft_status weft_host_scatter(weft_job *job, int root, const void *send, void *receive,
                                       size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
