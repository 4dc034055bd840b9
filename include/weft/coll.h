/*
 * weft/coll.h - collectives for the ranks of a kernel. Included by the file of the kernel, instead
 * of weft/device.h or beside it; ranks get the memory for them only then (WEFT_COLL_SCRATCH).
 *
 * Every member of the communicator makes the call, in the same order as its other calls on it, with
 * the same root, count, type and operation. All threads of a rank together; blocking. Where ranks
 * disagree, one of them reports both sides' calls, which ends the job (MISMATCH).
 *
 * count: elements that one rank gives (of weft_alltoall: to each). Sources and targets are aligned
 * to their type; a source is device memory, as for a put (device.h), a target any memory that
 * all ranks of the device can store to. They may not overlap but where the prototype says so, and
 * targets of different ranks never. On return this rank's result is there for all its threads, and
 * its source and target may be reused; other ranks may not have returned yet. From
 * weft_allreduce, weft_allgather and weft_alltoall nobody returns before all have entered, and all
 * then see what weft_barrier promises; the other calls order nothing else.
 *
 * Results do not depend on who comes first. Within a process the elements of 16 ranks that follow
 * each other are put together in their order, then these groups are; of several processes, each
 * puts its own ranks' together, and then these are, in the order of processes. (weft_scan: in the
 * order of ranks throughout.) So floating-point results are bit-equal on all ranks, and from run to
 * run of the same communicator.
 *
 * The first call on a communicator of several processes creates a window over it (WEFT_WINDOWS),
 * which weft_comm_free frees.
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

/* count elements at data of the root's arrive at data of all others. */
WEFT_FN void weft_broadcast(weft_self *self, weft_comm comm, int root, void *data, size_t count,
                            weft_type type);

/* All ranks' elements, put together one by one. target: used at the root only. May be source. */
WEFT_FN void weft_reduce(weft_self *self, weft_comm comm, int root, const void *source,
                         void *target, size_t count, weft_type type, weft_operation operation);
/* The same for all ranks. target may be source. */
WEFT_FN void weft_allreduce(weft_self *self, weft_comm comm, const void *source, void *target,
                            size_t count, weft_type type, weft_operation operation);
/*
 * source: count elements for each rank, in their order. Rank i gets those for i, put together.
 * target may be where these lie in source.
 */
WEFT_FN void weft_reduce_scatter(weft_self *self, weft_comm comm, const void *source, void *target,
                                 size_t count, weft_type type, weft_operation operation);
/* Rank i gets the elements of ranks 0 to i, put together. target may be source. */
WEFT_FN void weft_scan(weft_self *self, weft_comm comm, const void *source, void *target,
                       size_t count, weft_type type, weft_operation operation);

/*
 * The ranks' elements, one rank's after the other, at target of the root, which is not used
 * elsewhere. source may be where they go.
 */
WEFT_FN void weft_gather(weft_self *self, weft_comm comm, int root, const void *source,
                         void *target, size_t count, weft_type type);
/* The same at all ranks. */
WEFT_FN void weft_allgather(weft_self *self, weft_comm comm, const void *source, void *target,
                            size_t count, weft_type type);
/* source: count elements for each rank; target: those of each rank for this one; in their order. */
WEFT_FN void weft_alltoall(weft_self *self, weft_comm comm, const void *source, void *target,
                           size_t count, weft_type type);

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
