/*
 * compat/mpi/reduction.c - reductions. Elements keep the layout that their operation expects; those
 * of a datatype with gaps are put together in memory of the request.
 */
#include "collective.h"

#include <stdlib.h>
#include <string.h>

static void combine(const weft_combine *combine, const void *from, void *into, size_t count)
{
    const struct weftmpi_type *type = combine->type;

    weftmpi_operate(combine->operation, type, (const char *)from - type->true_lower,
                    (char *)into - type->true_lower, count);
}

/* Whether elements in the program's buffer are as those in a message. */
static bool is_plain(const struct weftmpi_type *type)
{
    return type->basic || type->dense;
}

/* Opens the request of a reduction; its elements have a datatype, and no place yet. */
static int open_reduction(struct weftmpi_request *request, const char *call, MPI_Comm comm,
                          int count, MPI_Datatype type, MPI_Op handle, weft_combine *combination)
{
    TRY(weftmpi_open(request, call, comm));
    TRY(weftmpi_elements_in(request->comm, call, NULL, count, type, &request->elements));
    struct weftmpi_op *op = weftmpi_find(WEFTMPI_OP, handle);
    const struct weftmpi_type *of = request->elements.type;
    if (op == NULL || !weftmpi_can_operate(op, of))
        return weftmpi_fail(request->comm, call, MPI_ERR_OP, "no operation, or not for %s",
                            of->name);
    if (of->true_upper - of->true_lower > weftmpi_extent(of))
        return weftmpi_fail(request->comm, call, MPI_ERR_TYPE,
                            "elements of the datatype overlap: %td to %td, extent %td",
                            (ptrdiff_t)of->true_lower, (ptrdiff_t)of->true_upper,
                            (ptrdiff_t)weftmpi_extent(of));
    request->operation = op->function != NULL ? op : NULL;
    *combination = (weft_combine){
        .combine = combine,
        .bytes = (size_t)weftmpi_extent(of),
        .commutes = op->commutes,
        .in_calls = op->function != NULL,
        .check = op->function != NULL ? 0 : (uint32_t)(op->number + 1) << 8 | (of->size & 0xff),
        .type = of,
        .operation = op,
    };
    return MPI_SUCCESS;
}

/*
 * Elements as they are in a message: the program's, or, with gaps between these, in memory of the
 * request. FILL: they arrive there.
 */
static int elements_at(struct weftmpi_request *request, const void *user, size_t count,
                       enum weftmpi_row how, void **at)
{
    struct weftmpi_type *type = request->elements.type;
    const struct weftmpi_elements elements = {(void *)user, count, count * type->size, type};
    const size_t bytes = count * (size_t)weftmpi_extent(type);
    void *packed;

    *at = (char *)user + type->true_lower;
    if (is_plain(type))
        return MPI_SUCCESS;
    TRY(weftmpi_row(request, &elements, WEFTMPI_COPY, &packed));
    *at = weftmpi_request_memory(request, bytes);
    struct weftmpi_unpack *unpack =
        how == WEFTMPI_FILL ? weftmpi_request_unpack(request, *at, &elements) : NULL;
    if (*at == NULL || (how == WEFTMPI_FILL && unpack == NULL))
        return weftmpi_no_memory(request->comm, request->call);
    if (unpack != NULL)
        unpack->packed = packed;
    memset(*at, 0, bytes);
    weftmpi_unpack(type, elements.bytes, packed, (char *)*at - type->true_lower);
    return MPI_SUCCESS;
}

static int reduce(struct weftmpi_request *request, const char *call, const void *send,
                  void *receive, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
{
    const size_t n = (size_t)count;
    weft_combine combination;
    void *source, *target = NULL;

    TRY(open_reduction(request, call, comm, count, type, op, &combination));
    TRY(weftmpi_check_root(request, root));
    const bool here = request->comm->rank == root;
    if (here) {
        TRY(weftmpi_check_apart(request, send, receive, n));
        TRY(elements_at(request, receive, n, WEFTMPI_FILL, &target));
    }
    TRY(elements_at(request, here && send == MPI_IN_PLACE ? receive : send, n, WEFTMPI_TAKE,
                    &source));
    return TEAM(reduce, root, source, target, n, &combination);
}

/* Source and target of the reductions that have both everywhere. */
static int open_both(struct weftmpi_request *request, const void *send, void *receive, size_t sent,
                     size_t received, void **source, void **target)
{
    TRY(weftmpi_check_apart(request, send, receive, sent));
    TRY(elements_at(request, send == MPI_IN_PLACE ? receive : send, sent, WEFTMPI_TAKE, source));
    return elements_at(request, receive, received, WEFTMPI_FILL, target);
}

/* Allreduce, Scan and Exscan. */
static int everywhere(enum weft_team_kind kind, struct weftmpi_request *request, const char *call,
                      const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
                      MPI_Comm comm)
{
    const size_t n = (size_t)count;
    weft_combine combination;
    void *source, *target;

    TRY(open_reduction(request, call, comm, count, type, op, &combination));
    TRY(open_both(request, send, receive, n, n, &source, &target));
    if (kind == WEFT_TEAM_ALLREDUCE)
        return TEAM(allreduce, source, target, n, &combination);
    return TEAM(scan, kind == WEFT_TEAM_SCAN_BEFORE, source, target, n, &combination);
}

/* counts NULL: `count` for each. */
static int reduce_scatter(struct weftmpi_request *request, const char *call, const void *send,
                          void *receive, const int counts[], int count, MPI_Datatype type,
                          MPI_Op op, MPI_Comm comm)
{
    weft_combine combination;
    void *source, *target;
    size_t all = 0;

    TRY(open_reduction(request, call, comm, count, type, op, &combination));
    const int n = request->comm->size;
    size_t *each = weftmpi_request_memory(request, (size_t)n * sizeof(*each));
    if (each == NULL)
        return weftmpi_no_memory(request->comm, call);
    for (int i = 0; i < n; i++) {
        if (counts != NULL && counts[i] < 0)
            return weftmpi_fail(request->comm, call, MPI_ERR_COUNT, "count %d for rank %d",
                                counts[i], i);
        each[i] = (size_t)(counts != NULL ? counts[i] : count);
        all += each[i];
    }
    TRY(open_both(request, send, receive, all, each[request->comm->rank], &source, &target));
    return TEAM(reduce_scatter, source, target, each, &combination);
}

#define ELEMENTS const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op

BOTH(Reduce, Ireduce, reduce(&begun, __func__, send, receive, count, type, op, root, comm),
     ELEMENTS, int root, MPI_Comm comm)
BOTH(Allreduce, Iallreduce,
     everywhere(WEFT_TEAM_ALLREDUCE, &begun, __func__, send, receive, count, type, op, comm),
     ELEMENTS, MPI_Comm comm)
BOTH(Scan, Iscan,
     everywhere(WEFT_TEAM_SCAN, &begun, __func__, send, receive, count, type, op, comm), ELEMENTS,
     MPI_Comm comm)
BOTH(Exscan, Iexscan,
     everywhere(WEFT_TEAM_SCAN_BEFORE, &begun, __func__, send, receive, count, type, op, comm),
     ELEMENTS, MPI_Comm comm)
BOTH(Reduce_scatter_block, Ireduce_scatter_block,
     reduce_scatter(&begun, __func__, send, receive, NULL, count, type, op, comm), ELEMENTS,
     MPI_Comm comm)
BOTH(Reduce_scatter, Ireduce_scatter,
     reduce_scatter(&begun, __func__, send, receive, counts, 0, type, op, comm), const void *send,
     void *receive, const int counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm)
