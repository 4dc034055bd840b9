/*
 * weft/ccl.h - collectives of GPUs: one contribution per GPU. A ccl has the processes of a group as
 * members, each with its device. Calls take any memory of the device, and go on a stream, into a
 * CUDA graph, or, as columns, into a kernel. On the CPU device the same calls return when they are
 * done.
 *
 *     weft_ccl_open(job, WEFT_COMM_HOST, 0, &ccl);
 *     weft_ccl_allreduce(ccl, x, x, n, WEFT_F32, WEFT_SUM, stream);
 *     cudaStreamSynchronize(stream);
 *     status = weft_ccl_check(ccl);
 *
 * Every member makes the same calls in the same order (of sends and receives, the two members), on
 * one stream at a time, or on streams that the program orders; one thread at a time for one ccl. A
 * call gives the stream one kernel, may be captured, and does not block. Its memory is the call's
 * until the stream has passed it; then the target is complete, and visible to later work of the
 * stream. stream: a cudaStream_t, or NULL for CUDA's default one; not used on the CPU device.
 *
 * Memory is this device's (on the CPU device: any) and aligned to the type. A source may be its
 * target, or where that part of the target lies that it becomes; else they do not overlap. A count
 * of 0 is legal. Types: weft_type, all of them.
 *
 * The bits of a result depend on the inputs and the number of members alone. Elements are put
 * together in the order of members: ((x0 op x1) op x2) and so on. F16 and BF16 become F32 and are
 * rounded once, at the end. Sums and products of reals round to nearest even, keep subnormals, fuse
 * nothing, whatever mode the caller has. A NaN that comes out is 7fff (F16, BF16), 7fffffff or
 * 7ff8000000000000. MIN, MAX and integers: weft/types.h.
 *
 * Errors of a call: ARGUMENT (NULL, alignment, type, operation, root, memory that is none of the
 * device's): nothing was given to the stream; the job's. What goes wrong in a kernel,
 * weft_ccl_check says.
 */
#ifndef WEFT_CCL_H
#define WEFT_CCL_H

#include <weft/device.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_ccl weft_ccl;
typedef struct weft_ccl_view weft_ccl_view; /* the same for kernels, in device memory */

enum { WEFT_CCL_COLUMNS = 64 }; /* at most */

/*
 * Opens a ccl over a group of host programs: WEFT_COMM_HOST or one of weft_host_split's.
 * Collective over it, blocking, while no kernel of the job runs. columns: most thread blocks that a
 * call takes, so that it leaves multiprocessors free; 0: WEFT_CCL_COLUMNS. Each member gives device
 * memory for it: some 20 MiB for 2 members, 70 for 4, 140 for 8, all columns. Freed by
 * weft_ccl_close. Errors: ARGUMENT, COMM, STATE, MEMORY (any member's), LIMIT (WEFT_WINDOWS),
 * MISMATCH (of columns), UNSUPPORTED: more than 8 members, or one does not map another's memory.
 */
WEFT_API weft_status weft_ccl_open(weft_job *job, weft_comm group, int columns, weft_ccl **ccl);
/*
 * Frees all. Collective, blocking, while no kernel of the job runs; the program has waited for its
 * streams, and graphs with calls of it are not launched again. *ccl becomes NULL. Returns what
 * weft_ccl_check would.
 */
WEFT_API weft_status weft_ccl_close(weft_ccl **ccl);

/* Without a ccl: -1, -1 and NULL. */
WEFT_API int weft_ccl_members(const weft_ccl *ccl);
WEFT_API int weft_ccl_me(const weft_ccl *ccl); /* which of them this process is */
/* For kernels: valid until weft_ccl_close. */
WEFT_API const weft_ccl_view *weft_ccl_kernel(const weft_ccl *ccl);

/*
 * Says what has gone wrong so far in calls that streams were given, or kernels have made; it fails
 * the job. Waits for no call; after a failure for the error that all processes agree on, which
 * weft_error then tells. Errors: MISMATCH (members make different calls), ARGUMENT (a column
 * that does not exist), and the job's: PEER_LOST, and so on. A call that waits for what never comes
 * ends when the job fails; what it has written to its target is then undefined.
 */
WEFT_API weft_status weft_ccl_check(weft_ccl *ccl);

/* All members' elements, put together one by one, at target of all. */
WEFT_API weft_status weft_ccl_allreduce(weft_ccl *ccl, const void *source, void *target,
                                        size_t count, weft_type type, weft_operation operation,
                                        void *stream);
/* The same at target of the root, which is not used elsewhere. */
WEFT_API weft_status weft_ccl_reduce(weft_ccl *ccl, int root, const void *source, void *target,
                                     size_t count, weft_type type, weft_operation operation,
                                     void *stream);
/* source: count elements for each member, in their order. Member i gets those for i. */
WEFT_API weft_status weft_ccl_reduce_scatter(weft_ccl *ccl, const void *source, void *target,
                                             size_t count, weft_type type, weft_operation operation,
                                             void *stream);
/* count elements of each member, one member's behind the other's, at target of all. */
WEFT_API weft_status weft_ccl_allgather(weft_ccl *ccl, const void *source, void *target,
                                        size_t count, weft_type type, void *stream);
/* source: count elements for each member; target: those of each for this one; in their order. */
WEFT_API weft_status weft_ccl_alltoall(weft_ccl *ccl, const void *source, void *target,
                                       size_t count, weft_type type, void *stream);
/*
 * The same with blocks of any sizes, one behind the other: source_counts[i] elements for member i,
 * target_counts[i] of member i. Both are read before the call returns. MISMATCH: two members give
 * one block different sizes.
 */
WEFT_API weft_status weft_ccl_alltoall_sizes(weft_ccl *ccl, const void *source,
                                             const size_t source_counts[], void *target,
                                             const size_t target_counts[], weft_type type,
                                             void *stream);
/* count elements at data of the root arrive at data of all others. */
WEFT_API weft_status weft_ccl_broadcast(weft_ccl *ccl, int root, void *data, size_t count,
                                        weft_type type, void *stream);
/*
 * Of two members alone, no other takes part: count elements from one to the other. They may lie in
 * buffers of the receiver's before it asks for them, some MiB at most; beyond that a send waits for
 * its receive. What two members give the other at once, or what goes round a ring, is therefore one
 * call: weft_ccl_exchange sends to one member (-1: to none) and receives from one. Between two
 * members, sends and receives meet in their order. MISMATCH: counts or types differ.
 */
WEFT_API weft_status weft_ccl_send(weft_ccl *ccl, int to, const void *source, size_t count,
                                   weft_type type, void *stream);
WEFT_API weft_status weft_ccl_receive(weft_ccl *ccl, int from, void *target, size_t count,
                                      weft_type type, void *stream);
WEFT_API weft_status weft_ccl_exchange(weft_ccl *ccl, int to, const void *source,
                                       size_t source_count, int from, void *target,
                                       size_t target_count, weft_type type, void *stream);
/* The stream goes on when all members' streams have come here, and sees what these did before. */
WEFT_API weft_status weft_ccl_barrier(weft_ccl *ccl, void *stream);

/* ---- mixture of experts ---------------------------------------------------------------------- */
/*
 * A layer whose experts are spread over the members: each member has a batch of tokens, each of
 * which chose up to topk experts. Dispatch brings the row of each token to its experts; the program
 * computes there; combine brings the rows back and sums them with weights. The host needs no count.
 *
 * Of `experts`, each member has E = (experts + members - 1) / members: member m those from m * E on
 * (the last members may have fewer, or none). A member's rows are E blocks of members * tokens
 * rows, where `tokens` is that of the desc: a block for each expert, its rows packed from the
 * front, in order of member and token. All pointers to rows are aligned to 16 bytes.
 */
typedef struct weft_ccl_moe weft_ccl_moe;

typedef struct weft_ccl_moe_desc {
    int experts;       /* of all members: 1 to 2048 */
    int topk;          /* experts of a token, at most: 1 to 8 */
    int tokens;        /* of a member in a call, at most: 1 to 1024 */
    size_t row_bytes;  /* that dispatch moves for a token: a multiple of 16 up to 65536 */
    size_t back_bytes; /* that an expert gives back for it; 0: row_bytes (fp8 may go, BF16 come) */
} weft_ccl_moe_desc;

/*
 * Opens one on a ccl, which may have several. Collective, blocking, while no kernel of the job
 * runs; the same desc at all members. Each gives device memory for the rows of two calls: some
 * 2 * tokens * the larger of members * (row_bytes + 32 * columns) and topk * back_bytes, where
 * columns are the ccl's, at most. Freed by weft_ccl_moe_close, before its ccl is closed. Errors:
 * ARGUMENT, STATE, MEMORY, LIMIT, UNSUPPORTED as of weft_ccl_open; MISMATCH (of descs, here or in
 * calls).
 */
WEFT_API weft_status weft_ccl_moe_open(weft_ccl *ccl, const weft_ccl_moe_desc *desc,
                                       weft_ccl_moe **moe);
/* Frees all, as weft_ccl_close does, and returns the same. *moe becomes NULL. */
WEFT_API weft_status weft_ccl_moe_close(weft_ccl_moe **moe);

/*
 * Sends each of `tokens` rows (0 to the desc's; members may differ) to the experts that it chose:
 * once to each member that has some. chosen: topk of each token, -1 for none. An expert that is out
 * of range or there twice is taken for -1; weft_ccl_check then says ARGUMENT, with token and number
 * of one that was.
 *
 * out: E * members * tokens rows, as above; other rows of it are left as they are. counts[E]: how
 * many rows each own expert has. origin: NULL, or for each row of out member << 24 | token. All in
 * device memory; none overlaps another.
 */
WEFT_API weft_status weft_ccl_dispatch(weft_ccl_moe *moe, const void *rows, const int32_t *chosen,
                                       int tokens, void *out, int32_t *counts, int32_t *origin,
                                       void *stream);
/*
 * Of the latest dispatch: target[t] = the sum over k of weights[t * topk + k] * the row that
 * token t's k-th expert gives. in: rows of back_bytes, where dispatch has put theirs. target: a row
 * of back_bytes for each own token. type: F32, F16 or BF16. Products and sums are F32, each
 * rounded, in order of k beginning with +0, and rounded once to the type: the bits depend on
 * neither the number of members nor which has an expert. A token without experts gets zeros.
 */
WEFT_API weft_status weft_ccl_combine(weft_ccl_moe *moe, const void *in, const float *weights,
                                      weft_type type, void *target, void *stream);

/* ---- in kernels ------------------------------------------------------------------------------ */
/*
 * The same by one thread block of each member, which makes the call with all its threads: a column.
 * column: 0 to one less than the columns of weft_ccl_open, the same at all members, one block's at
 * a time, and no launched call's meanwhile. Columns are independent, and order nothing among each
 * other. Blocking, without a barrier of other blocks. A source is what this block wrote or
 * acquired: who needs what other blocks wrote makes weft_barrier(self, WEFT_COMM_DEVICE) first. On
 * return the target is there for all threads of the block.
 *
 * self may be NULL in a kernel that is no WEFT_KERNEL (on a GPU). Then a call returns 0 when the
 * job or a call of the ccl has failed, and the kernel should end. Else it returns 1, and after a
 * failure it does not return.
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
/* Orders what this block did or acquired before it for the same column's blocks after it. */
WEFT_FN int weft_column_barrier(weft_self *self, const weft_ccl_view *view, int column);

/* Of count elements, those of a column of `columns`: *n from *first on. Even slices, cut at 16
 * bytes. Any thread. */
WEFT_FN void weft_column_slice(int column, int columns, size_t count, weft_type type, size_t *first,
                               size_t *n);

#ifdef __cplusplus
}
#endif

#ifdef __CUDACC__
#include "ccl/api.h"
#endif
#endif
