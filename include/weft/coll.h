/*
 * weft/coll.h - collectives for the ranks of a kernel. The kernel's file includes it, instead of
 * weft/device.h or beside it. Ranks get the memory for collectives only then (WEFT_COLL_SCRATCH).
 *
 * Every member of the communicator makes the call, in the same order as its other calls on it, with
 * the same root, count, type and operation. All threads of a rank make it together; it blocks. If
 * ranks disagree, one of them reports both calls, which ends the job (MISMATCH).
 *
 * count: the elements that one rank contributes (for weft_alltoall: to each rank). Sources and
 * targets are aligned to their type. A source is device memory, as for a put (device.h). A target
 * is any memory that all ranks of the device can store to. A target may overlap a source only where
 * the prototype says so; targets of different ranks never overlap.
 *
 * On return this rank's result is there for all its threads, and its source and target may be
 * reused. Other ranks may not have returned yet. No rank returns from weft_allreduce,
 * weft_allgather or weft_alltoall, or those with sizes, before all have entered; all then see what
 * weft_barrier promises. The other calls order nothing else.
 *
 * Results do not depend on who comes first. Within a process the elements of 16 consecutive ranks
 * are combined in their order, then the results of these groups. The results of several processes
 * are combined in the order of processes. weft_scan combines all elements in the order of ranks. So
 * floating-point results are bit-equal on all ranks, and from run to run of the same communicator.
 *
 * The first call on a communicator of several processes creates a window over it (WEFT_WINDOWS).
 * weft_comm_free frees that window.
 *
 * Errors, which end the job: COMM, RANK (root), ARGUMENT (type, operation, NULL, not aligned),
 * STATE (the kernel's file does not include this header), LIMIT (WEFT_COLL_SCRATCH, WEFT_WINDOWS),
 * MISMATCH.
 */
#ifndef WEFT_COLL_H
#define WEFT_COLL_H

#include <weft/device.h>

#undef WEFT_COLLECTIVES
#define WEFT_COLLECTIVES 1 /* what WEFT_KERNEL tells the host */

#ifdef __cplusplus
extern "C" {
#endif

/* Sends count elements at data of the root to data of all others. */
WEFT_FN void weft_broadcast(weft_self *self, weft_comm comm, int root, void *data, size_t count,
                            weft_type type);

/* Combines all ranks' elements one by one. target: used at the root only. It may be source. */
WEFT_FN void weft_reduce(weft_self *self, weft_comm comm, int root, const void *source,
                         void *target, size_t count, weft_type type, weft_operation operation);
/* Reduces as weft_reduce, with the result at target of all ranks. target may be source. */
WEFT_FN void weft_allreduce(weft_self *self, weft_comm comm, const void *source, void *target,
                            size_t count, weft_type type, weft_operation operation);
/*
 * Gives rank i the combination of all ranks' elements for it. source: count elements for each rank,
 * in the order of ranks. target may be the part of source for this rank.
 */
WEFT_FN void weft_reduce_scatter(weft_self *self, weft_comm comm, const void *source, void *target,
                                 size_t count, weft_type type, weft_operation operation);
/* Gives rank i the combination of the elements of ranks 0 to i. target may be source. */
WEFT_FN void weft_scan(weft_self *self, weft_comm comm, const void *source, void *target,
                       size_t count, weft_type type, weft_operation operation);

/*
 * Gathers the ranks' elements, in the order of ranks, at target of the root. Other ranks' target is
 * not used. source may be the part of target that receives it.
 */
WEFT_FN void weft_gather(weft_self *self, weft_comm comm, int root, const void *source,
                         void *target, size_t count, weft_type type);
/* Gathers as weft_gather, at target of all ranks. */
WEFT_FN void weft_allgather(weft_self *self, weft_comm comm, const void *source, void *target,
                            size_t count, weft_type type);
/*
 * Exchanges elements. source: count elements for each rank; target: count elements from each; both
 * in the order of ranks.
 */
WEFT_FN void weft_alltoall(weft_self *self, weft_comm comm, const void *source, void *target,
                           size_t count, weft_type type);

/* ---- blocks of different sizes --------------------------------------------------------------- */

/*
 * The block of rank i has sizes[i] elements and begins at element offsets[i]; blocks that are
 * written do not overlap. These arrays have an entry for each rank of the communicator, all threads
 * give the same numbers, and the calls read them until they return. Errors and timelines name the
 * calls without _sizes. More errors: ARGUMENT (arrays that are NULL, numbers beyond 2^40), LIMIT:
 * weft_alltoall_sizes takes 32 bytes of WEFT_COLL_SCRATCH for each rank of the communicator.
 */

/*
 * Gathers the ranks' blocks at target of the root. source: this rank's block. sizes and offsets:
 * the same at all ranks, those of the blocks in target; sums of sizes that differ are a MISMATCH.
 * source may be the part of target that receives it.
 */
WEFT_FN void weft_gather_sizes(weft_self *self, weft_comm comm, int root, const void *source,
                               void *target, const size_t *sizes, const size_t *offsets,
                               weft_type type);
/* Gathers as weft_gather_sizes, at target of all ranks. They return when all have entered. */
WEFT_FN void weft_allgather_sizes(weft_self *self, weft_comm comm, const void *source, void *target,
                                  const size_t *sizes, const size_t *offsets, weft_type type);
/*
 * Exchanges blocks. Block i of source goes to rank i, and that of rank i to block i of target.
 * sends and send_offsets are of the blocks in source, receives and receive_offsets of those in
 * target. A rank that receives another size than is sent is a MISMATCH.
 */
WEFT_FN void weft_alltoall_sizes(weft_self *self, weft_comm comm, const void *source,
                                 const size_t *sends, const size_t *send_offsets, void *target,
                                 const size_t *receives, const size_t *receive_offsets,
                                 weft_type type);

#ifdef __cplusplus
}
#endif

#ifdef __CUDACC__
#ifdef WEFT_LINES
#undef WEFT_AT
#define WEFT_AT(self) self
#endif
#include "coll/api.h"
#ifdef WEFT_LINES
#define WEFT_LINES_OF_COLL
#include <weft/lines.h>
#endif
#endif
#endif
