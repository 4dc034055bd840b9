/*
 * compat/dart/transfer.c - puts and gets. What two types lay out becomes runs of bytes; runs of one
 * length at equal distances go as rows of one operation.
 */
#include "internal.h"

struct dart_handle_struct {
    weft_op op; /* the newest of a call */
};

/* ---- runs ------------------------------------------------------------------------------------ */

/* Where one is among the elements of a type. */
struct cursor {
    const struct weftdart_type *type;
    size_t period, block, used; /* used: elements of the block */
};

static size_t run_at(const struct cursor *c) /* in elements */
{
    const struct weftdart_block *const block = &c->type->block[c->block];

    return c->period * c->type->extent + block->offset + c->used;
}

/* Returns how many elements follow in a row from here on. */
static size_t run_length(const struct cursor *c)
{
    return weftdart_is_plain(c->type) ? SIZE_MAX : c->type->block[c->block].length - c->used;
}

static void advance(struct cursor *c, size_t elements)
{
    c->used += elements;
    if (weftdart_is_plain(c->type) || c->used < c->type->block[c->block].length)
        return;
    c->used = 0;
    if (++c->block == c->type->count) {
        c->block = 0;
        c->period++;
    }
}

/* Rows that wait to be begun, in bytes: where the first is there, and where here. */
struct rows {
    size_t at, own;
    size_t width, height, pitch, own_pitch;
};

struct move {
    weft_gptr pointer;
    unsigned char *memory; /* of a put, it is only read */
    bool put;
    weft_op newest; /* newest operation under way: all are of one kind, to one unit */
    struct rows rows;
};

static dart_ret_t begin_rows(struct move *m)
{
    const struct rows r = m->rows;
    weft_op op = {0, 0, 0};

    m->rows.height = 0;
    if (r.height == 0)
        return DART_OK;
    const weft_gptr first = weft_gptr_add(m->pointer, (int64_t)r.at);
    unsigned char *const memory = m->memory + r.own;
    if (r.height > 1 && m->put)
        TRY_WEFT(weft_host_gput_2d_begin(weftdart.job, first, r.pitch, memory, r.own_pitch, r.width,
                                         r.height, &op));
    else if (r.height > 1)
        TRY_WEFT(weft_host_gget_2d_begin(weftdart.job, first, r.pitch, memory, r.own_pitch, r.width,
                                         r.height, &op));
    else if (m->put)
        TRY_WEFT(weft_host_gput_begin(weftdart.job, first, memory, r.width, &op));
    else
        TRY_WEFT(weft_host_gget_begin(weftdart.job, first, memory, r.width, &op));
    if (op.sequence != 0)
        m->newest = op;
    return DART_OK;
}

/* Adds one more run: a row of those that wait, or the first of others. */
static dart_ret_t add_run(struct move *m, size_t at, size_t own, size_t bytes)
{
    struct rows *const r = &m->rows;

    if (r->height > 0 && bytes == r->width && at > r->at && own > r->own) {
        const size_t pitch = at - r->at, own_pitch = own - r->own;
        if (r->height == 1 && pitch >= bytes && own_pitch >= bytes) {
            r->pitch = pitch;
            r->own_pitch = own_pitch;
        }
        if (r->pitch != 0 && pitch == r->height * r->pitch &&
            own_pitch == r->height * r->own_pitch && r->height < UINT32_MAX) {
            r->height++;
            return DART_OK;
        }
    }
    TRY(begin_rows(m));
    *r = (struct rows){.at = at, .own = own, .width = bytes, .height = 1};
    return DART_OK;
}

/* Whether offsets of so many elements, and of one period more, fit in a number of bytes. */
static bool has_offsets(const struct weftdart_type *type, size_t nelem)
{
    size_t bytes;

    return !__builtin_mul_overflow(nelem / type->elements + 1, type->extent, &bytes) &&
           !__builtin_add_overflow(bytes, type->block->offset, &bytes) &&
           !__builtin_mul_overflow(bytes, type->size, &bytes) && bytes <= INT64_MAX;
}

static dart_ret_t check_types(const struct weftdart_type *local, const struct weftdart_type *remote,
                              size_t nelem)
{
    if (local->base != remote->base)
        return INVALID("types of different elements");
    if (nelem % local->elements != 0 || nelem % remote->elements != 0 ||
        !has_offsets(local, nelem) || !has_offsets(remote, nelem))
        return INVALID("%zu elements, of types with %zu here and %zu there", nelem, local->elements,
                       remote->elements);
    return DART_OK;
}

static dart_ret_t move_all(struct move *m, dart_gptr_t gptr, size_t nelem, dart_datatype_t local,
                           dart_datatype_t remote)
{
    struct cursor here = {.used = 0}, there = {.used = 0};

    TRY(weftdart_open());
    TRY(weftdart_type_of(local, &here.type));
    TRY(weftdart_type_of(remote, &there.type));
    TRY(check_types(here.type, there.type, nelem));
    if (m->memory == NULL && nelem > 0)
        return INVALID("%zu elements at NULL", nelem);
    TRY(weftdart_pointer(gptr, &m->pointer));
    const size_t size = here.type->size;
    for (size_t left = nelem; left > 0;) {
        size_t run = left;
        run = run_length(&here) < run ? run_length(&here) : run;
        run = run_length(&there) < run ? run_length(&there) : run;
        TRY(add_run(m, run_at(&there) * size, run_at(&here) * size, run * size));
        advance(&here, run);
        advance(&there, run);
        left -= run;
    }
    return begin_rows(m);
}

/* Begins a whole transfer. Whatever was begun before an error is waited for. */
static dart_ret_t move(struct move *m, dart_gptr_t gptr, size_t nelem, dart_datatype_t local,
                       dart_datatype_t remote)
{
    const dart_ret_t code = move_all(m, gptr, nelem, local, remote);

    if (code != DART_OK && m->newest.sequence != 0)
        weft_host_op_wait(weftdart.job, m->newest, WEFT_LOCAL);
    return code;
}

/* ---- completion ------------------------------------------------------------------------------ */

dart_ret_t dart_handle_free(dart_handle_t *handle)
{
    TRY_PLACES(handle);
    free(*handle);
    *handle = DART_HANDLE_NULL;
    return DART_OK;
}

static dart_ret_t wait_all(dart_handle_t *handles, size_t n, weft_progress how)
{
    TRY(weftdart_open());
    if (handles == NULL && n > 0)
        return INVALID("%zu handles at NULL", n);
    for (size_t i = 0; i < n; i++) {
        if (handles[i] != NULL)
            TRY_WEFT(weft_host_op_wait(weftdart.job, handles[i]->op, how));
        free(handles[i]);
        handles[i] = DART_HANDLE_NULL;
    }
    return DART_OK;
}

dart_ret_t weftdart_test(dart_handle_t *handles, size_t n, weft_progress how, bool frees,
                         int32_t *finished)
{
    int done = 1;

    TRY(weftdart_open());
    if (finished == NULL || (handles == NULL && n > 0))
        return INVALID("%zu handles, or finished, at NULL", n);
    for (size_t i = 0; i < n && done; i++)
        if (handles[i] != NULL)
            TRY_WEFT(weft_host_op_test(weftdart.job, handles[i]->op, how, &done));
    for (size_t i = 0; i < n && done && frees; i++) {
        free(handles[i]);
        handles[i] = DART_HANDLE_NULL;
    }
    *finished = done;
    return DART_OK;
}

#define COMPLETION(suffix, how)                                                                    \
    CALL(dart_wait##suffix, (dart_handle_t * handle), wait_all(handle, 1, how))                    \
    CALL(dart_waitall##suffix, (dart_handle_t handles[], size_t n), wait_all(handles, n, how))     \
    CALL(dart_test##suffix, (dart_handle_t * handle, int32_t * finished),                          \
         weftdart_test(handle, 1, how, true, finished))                                            \
    CALL(dart_testall##suffix, (dart_handle_t handles[], size_t n, int32_t * finished),            \
         weftdart_test(handles, n, how, true, finished))
COMPLETION(, WEFT_REMOTE)
COMPLETION(_local, WEFT_LOCAL)

static dart_ret_t flush(dart_gptr_t gptr)
{
    weft_gwhere where;

    gptr.addr_or_offs.offset = 0;
    TRY(weftdart_where(gptr, 0, &where));
    return weftdart_result(weft_host_flush(weftdart.job, where.win));
}

CALL(dart_flush, (dart_gptr_t gptr), flush(gptr))
CALL(dart_flush_all, (dart_gptr_t gptr), flush(gptr))
CALL(dart_flush_local, (dart_gptr_t gptr), flush(gptr))
CALL(dart_flush_local_all, (dart_gptr_t gptr), flush(gptr))

/* ---- the calls ------------------------------------------------------------------------------- */

static dart_ret_t move_with(struct move *m, dart_gptr_t gptr, size_t nelem, dart_datatype_t local,
                            dart_datatype_t remote, dart_handle_t *handle)
{
    TRY_THERE(handle);
    TRY(move(m, gptr, nelem, local, remote));
    dart_handle_t const made = malloc(sizeof(*made));
    if (made == NULL) {
        weft_host_op_wait(weftdart.job, m->newest, WEFT_LOCAL);
        return weftdart_no_memory();
    }
    made->op = m->newest;
    *handle = made;
    return DART_OK;
}

static dart_ret_t move_now(struct move *m, dart_gptr_t gptr, size_t nelem, dart_datatype_t local,
                           dart_datatype_t remote, weft_progress how)
{
    TRY(move(m, gptr, nelem, local, remote));
    return weftdart_result(weft_host_op_wait(weftdart.job, m->newest, how));
}

#define A_GET (&(struct move){.memory = dest})
#define A_PUT (&(struct move){.memory = (unsigned char *)(uintptr_t)src, .put = true})

CALL(dart_get,
     (void *dest, dart_gptr_t gptr, size_t nelem, dart_datatype_t src_type,
      dart_datatype_t dst_type),
     move(A_GET, gptr, nelem, dst_type, src_type))

CALL(dart_put,
     (dart_gptr_t gptr, const void *src, size_t nelem, dart_datatype_t src_type,
      dart_datatype_t dst_type),
     move(A_PUT, gptr, nelem, src_type, dst_type))

CALL(dart_get_handle,
     (void *dest, dart_gptr_t gptr, size_t nelem, dart_datatype_t src_type,
      dart_datatype_t dst_type, dart_handle_t *handle),
     move_with(A_GET, gptr, nelem, dst_type, src_type, handle))

CALL(dart_put_handle,
     (dart_gptr_t gptr, const void *src, size_t nelem, dart_datatype_t src_type,
      dart_datatype_t dst_type, dart_handle_t *handle),
     move_with(A_PUT, gptr, nelem, src_type, dst_type, handle))

CALL(dart_get_blocking,
     (void *dest, dart_gptr_t gptr, size_t nelem, dart_datatype_t src_type,
      dart_datatype_t dst_type),
     move_now(A_GET, gptr, nelem, dst_type, src_type, WEFT_LOCAL))

CALL(dart_put_blocking,
     (dart_gptr_t gptr, const void *src, size_t nelem, dart_datatype_t src_type,
      dart_datatype_t dst_type),
     move_now(A_PUT, gptr, nelem, src_type, dst_type, WEFT_REMOTE))
