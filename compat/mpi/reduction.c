/*
 * compat/mpi/reduction.c - reductions. Elements keep the layout that their operation expects; those
 * of a datatype with gaps are put together in memory of the request.
 */
#include "collective.h"

static void combine(const weft_combine *combine, const void *from, void *into, size_t count)
{
    const struct weftmpi_type *type = combine->type;

    weftmpi_operate(combine->operation, type, (const char *)from - type->true_lower,
                    (char *)into - type->true_lower, count);
}

/* Opens a reduction: the request's elements get a datatype, but no place yet. */
static int open_reduction(struct weftmpi_request *request, const struct weftmpi_given *given,
                          weft_combine *combination)
{
    TRY(weftmpi_elements_in(NULL, given->receive.count, given->receive.handle, &request->elements));
    struct weftmpi_op *op = weftmpi_find(WEFTMPI_OP, given->op);
    const struct weftmpi_type *of = request->elements.type;
    TRY(HOLDS(op != NULL && weftmpi_can_operate(op, of), MPI_ERR_OP, "no operation, or not for %s",
              of->name));
    TRY(HOLDS(of->true_upper - of->true_lower <= weftmpi_extent(of), MPI_ERR_TYPE,
              "elements of the datatype overlap: %td to %td, extent %td", (ptrdiff_t)of->true_lower,
              (ptrdiff_t)of->true_upper, (ptrdiff_t)weftmpi_extent(of)));
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
    combination->known = weftmpi_know(op, of, &combination->element, &combination->function);
    return MPI_SUCCESS;
}

/* Gives elements as they are in a message: the program's, or, with gaps between these, in memory of
 * the request. FILL: they arrive there. */
static int elements_at(struct weftmpi_request *request, const void *user, size_t count,
                       enum weftmpi_row how, void **at)
{
    struct weftmpi_type *type = request->elements.type;
    const struct weftmpi_elements elements = {
        .user = (void *)user, .count = count, .bytes = count * type->size, .type = type};
    const size_t bytes = count * (size_t)weftmpi_extent(type);
    void *packed;

    TRY(HOLDS(user != MPI_IN_PLACE || count == 0, MPI_ERR_BUFFER,
              "MPI_IN_PLACE does not stand for this buffer"));
    *at = (char *)user + type->true_lower;
    if (type->basic || type->dense)
        return MPI_SUCCESS;
    TRY(weftmpi_row(request, &elements, WEFTMPI_COPY, &packed));
    *at = weftmpi_request_memory(request, bytes);
    if (how == WEFTMPI_FILL)
        weftmpi_request_unpack(request, *at, &elements)->packed = packed;
    memset(*at, 0, bytes);
    weftmpi_unpack(type, elements.bytes, packed, (char *)*at - type->true_lower);
    return MPI_SUCCESS;
}

/* Gives the source and, where the result is also `here`, the target; else NULL. */
static int open_both(struct weftmpi_request *request, const struct weftmpi_given *given,
                     size_t sent, size_t received, bool here, void **source, void **target)
{
    void *const receive = given->receive.base;
    const void *const send = here && given->send.base == MPI_IN_PLACE ? receive : given->send.base;

    if (here)
        TRY(weftmpi_check_own(given->send.base, sent, receive, sent));
    TRY(elements_at(request, send, sent, WEFTMPI_TAKE, source));
    *target = NULL;
    return here ? elements_at(request, receive, received, WEFTMPI_FILL, target) : MPI_SUCCESS;
}

/* Begins Reduce, Allreduce, Scan or Exscan. */
static int reduce(struct weftmpi_request *request, const struct weftmpi_given *given)
{
    const size_t n = (size_t)given->receive.count;
    const bool rooted = given->kind == WEFT_TEAM_REDUCE;
    const bool here = !rooted || request->comm->rank == given->root;
    weft_combine combination;
    void *source, *target;

    TRY(open_reduction(request, given, &combination));
    if (rooted)
        TRY(weftmpi_check_root(request, given->root));
    TRY(open_both(request, given, n, n, here, &source, &target));
    if (rooted)
        return TEAM(reduce, given->root, source, target, n, &combination);
    if (given->kind == WEFT_TEAM_ALLREDUCE)
        return TEAM(allreduce, source, target, n, &combination);
    return TEAM(scan, given->kind == WEFT_TEAM_SCAN_BEFORE, source, target, n, &combination);
}

/* Counts how many elements each member gets, and all of them. */
static int counts_of(struct weftmpi_request *request, const struct weftmpi_given *given,
                     size_t **each, size_t *all)
{
    const int n = request->comm->size;

    *each = weftmpi_request_memory(request, (size_t)n * sizeof(**each));
    *all = 0;
    for (int i = 0; i < n; i++) {
        MPI_Count count;
        TRY(weftmpi_count_of(&given->receive, i, &count));
        (*each)[i] = (size_t)count;
        *all += (size_t)count;
    }
    return MPI_SUCCESS;
}

static int reduce_scatter(struct weftmpi_request *request, const struct weftmpi_given *given)
{
    weft_combine combination;
    void *source, *target;
    size_t *each, all;

    TRY(open_reduction(request, given, &combination));
    TRY(counts_of(request, given, &each, &all));
    TRY(open_both(request, given, all, each[request->comm->rank], true, &source, &target));
    return TEAM(reduce_scatter, source, target, each, &combination);
}

/* ---- between two groups ---------------------------------------------------------------------- */

/* Contributions of a remote group, in rows; `take` elements of each from `skip` on are reduced. */
struct fold {
    weft_combine combination;
    size_t n, row_bytes, skip, take;
    void *target;
    _Alignas(max_align_t) char rows[];
};

static void fold(struct weftmpi_request *request)
{
    struct fold *f = request->state;
    char *const last = f->rows + (f->n - 1) * f->row_bytes + f->skip * f->combination.bytes;

    for (size_t i = 1; i < f->n; i++)
        combine(&f->combination, last - i * f->row_bytes, last, f->take);
    memcpy(f->target, last, f->take * f->combination.bytes);
}

int weftmpi_reduce_between(struct weftmpi_request *request, const struct weftmpi_given *given,
                           struct weftmpi_peers to, struct weftmpi_peers from)
{
    weft_combine combination;
    size_t skip = 0, *each;

    TRY(open_reduction(request, given, &combination));
    size_t all = request->elements.count, take = all;
    if (given->kind == WEFT_TEAM_REDUCE_SCATTER) {
        TRY(counts_of(request, given, &each, &all));
        take = each[request->comm->rank];
        for (int i = 0; i < request->comm->rank; i++)
            skip += each[i];
    }
    const size_t sends = (size_t)to.count, receives = (size_t)from.count;
    const size_t bytes = all * combination.bytes;
    weft_piece *pieces = weftmpi_request_memory(request, (sends + receives) * sizeof(*pieces));
    struct fold *f = weftmpi_request_memory(request, sizeof(*f) + receives * bytes);
    *f = (struct fold){
        .combination = combination, .n = receives, .row_bytes = bytes, .skip = skip, .take = take};
    void *row = NULL;
    if (sends != 0)
        TRY(elements_at(request, given->send.base, all, WEFTMPI_TAKE, &row));
    for (size_t i = 0; i < sends; i++)
        pieces[i] = (weft_piece){row, bytes, to.first + (int)i};
    for (size_t i = 0; i < receives; i++)
        pieces[sends + i] = (weft_piece){f->rows + i * bytes, bytes, from.first + (int)i};
    if (receives != 0) {
        TRY(elements_at(request, given->receive.base, take, WEFTMPI_FILL, &f->target));
        request->state = f;
        request->finish = fold;
    }
    return TEAM(exchange, given->kind, pieces, sends, pieces + sends, receives);
}

/* ---- what programs call ---------------------------------------------------------------------- */

#define ELEMENTS(N, A)                                                                             \
    const void *send, void *receive, N count, MPI_Datatype type, MPI_Op op, MPI_Comm comm
#define ELEMENTS_TO(N, A)                                                                          \
    const void *send, void *receive, N count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm
#define ELEMENTS_EACH(N, A)                                                                        \
    const void *send, void *receive, const N counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm
#define REDUCED(team_kind, ...)                                                                    \
    (.kind = WEFT_TEAM_##team_kind, .send.base = (void *)send, .op = op,                           \
     .receive = {.base = receive, .handle = type, __VA_ARGS__})

COLLECTIVES(Reduce, Ireduce, reduce,
            (.kind = WEFT_TEAM_REDUCE, .send.base = (void *)send, .op = op, .root = root,
             .receive = {.base = receive, .handle = type, .count = count}),
            ELEMENTS_TO)
COLLECTIVES(Allreduce, Iallreduce, reduce, REDUCED(ALLREDUCE, .count = count), ELEMENTS)
COLLECTIVES(Scan, Iscan, reduce, REDUCED(SCAN, .count = count), ELEMENTS)
COLLECTIVES(Exscan, Iexscan, reduce, REDUCED(SCAN_BEFORE, .count = count), ELEMENTS)
COLLECTIVES(Reduce_scatter_block, Ireduce_scatter_block, reduce_scatter,
            REDUCED(REDUCE_SCATTER, .count = count), ELEMENTS)
COLLECTIVES(Reduce_scatter, Ireduce_scatter, reduce_scatter,
            REDUCED(REDUCE_SCATTER, .unlike = true, .counts = NUMBERS(counts)), ELEMENTS_EACH)
