/*
 * weft/ccl.h - collectives of GPUs: one contribution per GPU. The members of a ccl are the
 * processes of a group, each with its device. Calls take any memory of the device. They run on a
 * stream, in a CUDA graph or, as columns, inside a kernel. On the CPU device the same calls return
 * when they are complete.
 *
 *     weft_ccl_open(job, WEFT_COMM_HOST, 0, &ccl);
 *     weft_ccl_allreduce(ccl, x, x, n, WEFT_F32, WEFT_SUM, stream);
 *     cudaStreamSynchronize(stream);
 *     status = weft_ccl_check(ccl);
 *
 * Every member makes the same calls in the same order; only the two members make a send and its
 * receive. Calls go on one stream at a time, or on streams that the program orders. One thread at a
 * time uses a ccl. stream: a cudaStream_t, or NULL for CUDA's default stream; unused on the CPU
 * device.
 *
 * A call adds one kernel to the stream, may be captured, and does not block. The program leaves the
 * call's memory alone until the stream has passed the call. Then the target is complete, and
 * visible to later work of the stream.
 *
 * Memory belongs to this device (on the CPU device: any memory) and is aligned to the type. A
 * source may be its target, or the part of the target that receives it; otherwise they do not
 * overlap. A count of 0 is legal. Types: every weft_type.
 *
 * The bits of a result depend only on the inputs and the number of members. Elements are combined
 * in the order of members: ((x0 op x1) op x2) and so on. F16 and BF16 are computed in F32 and
 * rounded once, at the end. Sums and products of reals round to nearest even, keep subnormals and
 * use no fused multiply-add, whatever mode the caller has set. A NaN in a result is 7fff (F16,
 * BF16), 7fffffff or 7ff8000000000000. MIN, MAX and integers: weft/types.h.
 *
 * Errors of a call: ARGUMENT (NULL, alignment, type, operation, root, memory that is not the
 * device's), after which nothing was added to the stream; and the job's error. weft_ccl_check
 * reports what goes wrong in a kernel.
 */
#ifndef WEFT_CCL_H
#define WEFT_CCL_H

#include <weft/device.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_ccl weft_ccl;
typedef struct weft_ccl_view weft_ccl_view; /* a ccl as kernels see it, in device memory */

enum { WEFT_CCL_COLUMNS = 64 }; /* columns of a ccl, at most */

/*
 * Opens a ccl over a group of host programs: WEFT_COMM_HOST or a group of weft_host_split.
 * Collective over the group, blocking, while no kernel of the job runs. columns: the most thread
 * blocks that a call uses, so that other multiprocessors stay free; 0: WEFT_CCL_COLUMNS. Each
 * member allocates device memory: with all columns some 20 MiB for 2 members, 70 for 4, 140 for 8.
 * Freed by weft_ccl_close. Errors: ARGUMENT, COMM, STATE, MEMORY (of any member), LIMIT
 * (WEFT_WINDOWS), MISMATCH (of columns), UNSUPPORTED: more than 8 members, or a member that does
 * not map another's memory.
 */
WEFT_API weft_status weft_ccl_open(weft_job *job, weft_comm group, int columns, weft_ccl **ccl);
/*
 * Closes a ccl and frees its memory; *ccl becomes NULL. Collective, blocking, while no kernel of
 * the job runs. Before it, the program waits for its streams; graphs with calls of the ccl are not
 * launched again. Returns what weft_ccl_check would.
 */
WEFT_API weft_status weft_ccl_close(weft_ccl **ccl);

/* Give the number of members, and which of them this process is; -1 if ccl is NULL. */
WEFT_API int weft_ccl_members(const weft_ccl *ccl);
WEFT_API int weft_ccl_me(const weft_ccl *ccl);
/* Gives the ccl for weft_column calls of kernels, until weft_ccl_close; NULL if ccl is NULL. */
WEFT_API const weft_ccl_view *weft_ccl_kernel(const weft_ccl *ccl);

/*
 * Returns what has gone wrong so far in calls on streams and in kernels; such an error fails the
 * job. It does not wait for calls. After a failure it waits until all processes agree on the error,
 * which weft_error then tells. Errors: MISMATCH (members make different calls), ARGUMENT (a column
 * that does not exist), and the job's: PEER_LOST, and so on. When the job fails, calls that wait
 * end; what they have written to their targets is undefined.
 */
WEFT_API weft_status weft_ccl_check(weft_ccl *ccl);

/* Combines all members' elements one by one; the result is at target of all. */
WEFT_API weft_status weft_ccl_allreduce(weft_ccl *ccl, const void *source, void *target,
                                        size_t count, weft_type type, weft_operation operation,
                                        void *stream);
/*
 * Combines as weft_ccl_allreduce; the result is at target of the root. Other members' target is not
 * used.
 */
WEFT_API weft_status weft_ccl_reduce(weft_ccl *ccl, int root, const void *source, void *target,
                                     size_t count, weft_type type, weft_operation operation,
                                     void *stream);
/*
 * Combines all members' elements for member i at target of member i. source: count elements for
 * each member, in the order of members.
 */
WEFT_API weft_status weft_ccl_reduce_scatter(weft_ccl *ccl, const void *source, void *target,
                                             size_t count, weft_type type, weft_operation operation,
                                             void *stream);
/* Gathers count elements of each member, in the order of members, at target of all. */
WEFT_API weft_status weft_ccl_allgather(weft_ccl *ccl, const void *source, void *target,
                                        size_t count, weft_type type, void *stream);
/*
 * Exchanges elements among all members. source: count elements for each member; target: count
 * elements from each; both in the order of members.
 */
WEFT_API weft_status weft_ccl_alltoall(weft_ccl *ccl, const void *source, void *target,
                                       size_t count, weft_type type, void *stream);
/*
 * Exchanges blocks of any sizes, one after the other: source_counts[i] elements for member i,
 * target_counts[i] from member i. Both arrays are read before the call returns. source may be NULL
 * where nothing is sent, target where nothing is received. MISMATCH: two members give different
 * sizes for one block.
 */
WEFT_API weft_status weft_ccl_alltoall_sizes(weft_ccl *ccl, const void *source,
                                             const size_t source_counts[], void *target,
                                             const size_t target_counts[], weft_type type,
                                             void *stream);
/* Sends count elements at data of the root to data of all others. */
WEFT_API weft_status weft_ccl_broadcast(weft_ccl *ccl, int root, void *data, size_t count,
                                        weft_type type, void *stream);
/*
 * Move count elements from one member to another; no other member takes part. Between two members,
 * sends and receives match in their order. A send of some MiB may complete before its receive is
 * called; a larger one waits for it. So members that send to each other at once, or round a ring,
 * use weft_ccl_exchange. It sends to one member and receives from one (-1: none). MISMATCH: counts
 * or types differ.
 */
WEFT_API weft_status weft_ccl_send(weft_ccl *ccl, int to, const void *source, size_t count,
                                   weft_type type, void *stream);
WEFT_API weft_status weft_ccl_receive(weft_ccl *ccl, int from, void *target, size_t count,
                                      weft_type type, void *stream);
WEFT_API weft_status weft_ccl_exchange(weft_ccl *ccl, int to, const void *source,
                                       size_t source_count, int from, void *target,
                                       size_t target_count, weft_type type, void *stream);
/*
 * Waits on the stream until all members' streams have come here; then the stream sees what they did
 * before.
 */
WEFT_API weft_status weft_ccl_barrier(weft_ccl *ccl, void *stream);

/* ---- mixture of experts ---------------------------------------------------------------------- */
/*
 * A layer whose experts are spread over the members. Each member has a batch of tokens, each of
 * which chose up to topk experts. Dispatch brings each token's row to its experts. The program
 * computes there. Combine brings the rows back and sums them with weights. The host needs no count.
 *
 * Each member has E = (experts + members - 1) / members experts: member m has those from m * E on.
 * The last members may have fewer, or none. Each member has rows for E experts: one block of
 * members * tokens rows for each, `tokens` as in the desc. A block's rows are packed from the
 * front, in order of member and token. All pointers to rows are aligned to 16 bytes.
 */
typedef struct weft_ccl_moe weft_ccl_moe;

typedef struct weft_ccl_moe_desc {
    int experts;       /* experts of all members together: 1 to 2048 */
    int topk;          /* experts of a token, at most: 1 to 8 */
    int tokens;        /* tokens of a member in a call, at most: 1 to 1024 */
    size_t row_bytes;  /* bytes of a row that dispatch moves: a multiple of 16 up to 65536 */
    size_t back_bytes; /* bytes of a row that combine moves; 0: row_bytes (fp8 may go, BF16 come) */
} weft_ccl_moe_desc;

/*
 * Opens a mixture of experts on a ccl, which may have several. Collective, blocking, while no
 * kernel of the job runs; all members give the same desc. Each member allocates device memory for
 * the rows of two calls, some 2 * tokens * M bytes. M is the larger of members * (row_bytes + 32 *
 * columns) and topk * back_bytes; columns is at most the ccl's. Freed by weft_ccl_moe_close, before
 * its ccl is closed. Errors: ARGUMENT, STATE, MEMORY, LIMIT, UNSUPPORTED as of weft_ccl_open;
 * MISMATCH (of descs, here or in calls).
 */
WEFT_API weft_status weft_ccl_moe_open(weft_ccl *ccl, const weft_ccl_moe_desc *desc,
                                       weft_ccl_moe **moe);
/*
 * Closes a mixture of experts and frees its memory; *moe becomes NULL. Conditions and status as of
 * weft_ccl_close.
 */
WEFT_API weft_status weft_ccl_moe_close(weft_ccl_moe **moe);

/*
 * Sends each of `tokens` rows to the experts that it chose, once to each member that has any of
 * them. tokens: 0 to the desc's; members may differ. chosen: topk experts of each token, -1 for
 * none. An expert that is out of range, or named twice by a token, counts as -1. weft_ccl_check
 * then returns ARGUMENT and names the token and the number of one such expert.
 *
 * out: E * members * tokens rows, in the blocks described above; unused rows keep their contents.
 * counts[E]: the number of rows of each own expert. origin: NULL, or for each row of out: member <<
 * 24 | token. All of them are device memory, without overlap.
 */
WEFT_API weft_status weft_ccl_dispatch(weft_ccl_moe *moe, const void *rows, const int32_t *chosen,
                                       int tokens, void *out, int32_t *counts, int32_t *origin,
                                       void *stream);
/*
 * Combines the rows of the latest dispatch: target[t] = the sum over k of weights[t * topk + k] *
 * the row that token t's k-th expert returns. in: rows of back_bytes, at the indexes where dispatch
 * put the tokens' rows. target: one row of back_bytes for each own token. type: F32, F16 or BF16.
 * Products and sums are F32, each rounded; they are added in order of k, starting at +0. The sum is
 * rounded once to the type. So the bits do not depend on the number of members or on which member
 * has an expert. A token without experts gets zeros.
 */
WEFT_API weft_status weft_ccl_combine(weft_ccl_moe *moe, const void *in, const float *weights,
                                      weft_type type, void *target, void *stream);

/* ---- in kernels ------------------------------------------------------------------------------ */
/*
 * Each is the weft_ccl call of its name inside a kernel, made by all threads of one thread block of
 * each member: a column. column: 0 to one less than the columns of weft_ccl_open, the same at all
 * members. One block at a time uses a column, and not while a launched call runs. Calls in
 * different columns are independent and unordered. Calls block, without a barrier of other blocks.
 * A source holds what this block wrote or acquired. If other blocks wrote it, call
 * weft_barrier(self, WEFT_COMM_DEVICE) first. On return the target is complete for all threads of
 * the block.
 *
 * self may be NULL in a GPU kernel that is no WEFT_KERNEL. There a call returns 1, or 0 when the
 * job or a call of the ccl has failed; then the kernel should end. With self a call returns 1, and
 * does not return after a failure.
 */
WEFT_FN int weft_column_allreduce(weft_self *self, const weft_ccl_view *view, int column,
                                  const void *source, void *target, size_t count, weft_type type,
                                  weft_operation operation);
WEFT_FN int weft_column_reduce(weft_self *self, const weft_ccl_view *view, int column, int root,
                               const void *source, void *target, size_t count, weft_type type,
                               weft_operation operation);
WEFT_FN int weft_column_reduce_scatter(weft_self *self, const weft_ccl_view *view, int column,
                                       const void *source, void *target, size_t count,
                                       weft_type type, weft_operation operation);
WEFT_FN int weft_column_allgather(weft_self *self, const weft_ccl_view *view, int column,
                                  const void *source, void *target, size_t count, weft_type type);
WEFT_FN int weft_column_alltoall(weft_self *self, const weft_ccl_view *view, int column,
                                 const void *source, void *target, size_t count, weft_type type);
WEFT_FN int weft_column_broadcast(weft_self *self, const weft_ccl_view *view, int column, int root,
                                  void *data, size_t count, weft_type type);
/*
 * Waits for the column's blocks of all members. What this block did or acquired before the barrier
 * is visible to the others after it.
 */
WEFT_FN int weft_column_barrier(weft_self *self, const weft_ccl_view *view, int column);

/*
 * Gives a column's part of count elements among `columns`: *n elements from *first on. Parts are
 * even, with bounds at multiples of 16 bytes. Any thread.
 */
WEFT_FN void weft_column_slice(int column, int columns, size_t count, weft_type type, size_t *first,
                               size_t *n);

#ifdef __cplusplus
}
#endif

#ifdef __CUDACC__
#include "ccl/api.h"
#endif
#endif
