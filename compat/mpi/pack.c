/* compat/mpi/pack.c - elements of a datatype, and their bytes in a row. */
#include "internal.h"

#include <limits.h>
#include <string.h>

/*
 * Memory of a GPU is copied stretch by stretch: what lies between is not the message's. So it takes
 * some microseconds for each.
 */
static bool is_far(const void *user, const void *packed)
{
    return weftmpi.job != NULL &&
           (!weft_host_reaches(weftmpi.job, user) || !weft_host_reaches(weftmpi.job, packed));
}

static void move(void *into, const void *from, size_t bytes, bool far)
{
    if (!far && bytes != 0)
        memcpy(into, from, bytes);
    else if (far)
        weftmpi_failed(NULL, "a datatype in memory of a GPU",
                       weft_copy(weftmpi.job, into, from, bytes));
}

/* Both ways: stretches of equal size, those of the short ones without a call. */
#define COPY_STRETCHES(into, into_step, from, from_step)                                           \
    for (size_t i = 0; i < repeat; i++) {                                                          \
        if (far)                                                                                   \
            move(into, from, bytes, far);                                                          \
        else if (bytes == 8)                                                                       \
            memcpy(into, from, 8);                                                                 \
        else if (bytes == 4)                                                                       \
            memcpy(into, from, 4);                                                                 \
        else                                                                                       \
            memcpy(into, from, bytes);                                                             \
        (into) += (into_step);                                                                     \
        (from) += (from_step);                                                                     \
    }

void weftmpi_pack(const struct weftmpi_type *type, size_t count, const void *user, void *packed)
{
    const bool far = is_far(user, packed);
    char *into = packed;

    if (type->dense) {
        move(into, (const char *)user + type->true_lower, count * type->size, far);
        return;
    }
    for (size_t k = 0; k < count; k++) {
        const char *element = (const char *)user + (MPI_Aint)k * weftmpi_extent(type);
        for (size_t r = 0; r < type->runs_count; r++) {
            const size_t bytes = type->runs[r].bytes, repeat = type->runs[r].repeat;
            const char *from = element + type->runs[r].offset;
            COPY_STRETCHES(into, bytes, from, type->runs[r].stride)
        }
    }
}

/* The last element, of which only some bytes are there. */
static void unpack_part(const struct weftmpi_type *type, size_t left, const char *packed,
                        char *element, bool far)
{
    for (size_t r = 0; r < type->runs_count; r++) {
        for (size_t i = 0; i < type->runs[r].repeat && left != 0; i++) {
            const size_t bytes = left < type->runs[r].bytes ? left : type->runs[r].bytes;
            move(element + type->runs[r].offset + (MPI_Aint)i * type->runs[r].stride, packed, bytes,
                 far);
            packed += bytes;
            left -= bytes;
        }
    }
}

void weftmpi_unpack(const struct weftmpi_type *type, size_t all, const void *packed, void *user)
{
    const bool far = is_far(user, packed);
    const char *from = packed;

    if (type->dense || type->size == 0) {
        move((char *)user + type->true_lower, from, all, far);
        return;
    }
    const size_t count = all / type->size;
    for (size_t k = 0; k < count; k++) {
        char *element = (char *)user + (MPI_Aint)k * weftmpi_extent(type);
        for (size_t r = 0; r < type->runs_count; r++) {
            const size_t bytes = type->runs[r].bytes, repeat = type->runs[r].repeat;
            char *into = element + type->runs[r].offset;
            COPY_STRETCHES(into, type->runs[r].stride, from, bytes)
        }
    }
    unpack_part(type, all % type->size, from, (char *)user + (MPI_Aint)count * weftmpi_extent(type),
                far);
}

/* How many basic elements so many bytes are; -1: they end within one. */
static MPI_Count elements_in(const struct weftmpi_pattern *pattern, size_t bytes)
{
    if (pattern->bytes == 0)
        return 0;
    MPI_Count elements = (MPI_Count)(bytes / pattern->bytes * pattern->elements);
    bytes %= pattern->bytes;
    if (pattern->count == 0 && bytes != 0)
        return -1;
    for (const struct weftmpi_part *part = pattern->parts; bytes != 0; part++) {
        const size_t whole = part->of->bytes * part->times, some = bytes < whole ? bytes : whole;
        const MPI_Count more = elements_in(part->of, some);
        if (more < 0)
            return -1;
        elements += more;
        bytes -= some;
    }
    return elements;
}

/* ---- rows ------------------------------------------------------------------------------------ */

int weftmpi_row_in(struct weftmpi_request *request, const void *user, size_t count,
                   const struct weftmpi_type *type, const void **row)
{
    if (type->dense) {
        *row = (const char *)user + type->true_lower;
        return MPI_SUCCESS;
    }
    void *packed = weftmpi_request_memory(request, count * type->size);
    if (packed == NULL)
        return weftmpi_no_memory(request->comm, request->call);
    weftmpi_pack(type, count, user, packed);
    *row = packed;
    return MPI_SUCCESS;
}

int weftmpi_row_out(struct weftmpi_request *request, void *user, size_t count,
                    struct weftmpi_type *type, void **row)
{
    const size_t bytes = count * type->size;

    if (type->dense) {
        *row = (char *)user + type->true_lower;
        return MPI_SUCCESS;
    }
    *row = weftmpi_request_memory(request, bytes);
    return *row != NULL && weftmpi_request_unpack(request, *row, user, type, bytes)
               ? MPI_SUCCESS
               : weftmpi_no_memory(request->comm, request->call);
}

/* ---- what programs call ---------------------------------------------------------------------- */

/* The datatype, and the bytes that `count` elements take in the packed buffer. */
static int packed_in(const char *call, MPI_Comm comm_handle, MPI_Datatype handle, int count,
                     int bytes, int position, struct weftmpi_type **type, size_t *size)
{
    struct weftmpi_comm *comm;

    TRY(weftmpi_comm_in(call, comm_handle, &comm));
    TRY(weftmpi_type_in(comm, call, handle, count, type));
    *size = (*type)->size * (size_t)count;
    if (position < 0 || position > bytes || *size > (size_t)(bytes - position))
        return weftmpi_fail(comm, call, MPI_ERR_TRUNCATE, "%zu bytes at %d of a buffer of %d",
                            *size, position, bytes);
    return MPI_SUCCESS;
}

API(Pack, (const void *in, int count, MPI_Datatype handle, void *out, int bytes, int *position,
           MPI_Comm comm))
{
    struct weftmpi_type *type;
    size_t size;

    TRY(packed_in(__func__, comm, handle, count, bytes, *position, &type, &size));
    weftmpi_pack(type, (size_t)count, in, (char *)out + *position);
    *position += (int)size;
    return MPI_SUCCESS;
}

API(Unpack, (const void *in, int bytes, int *position, void *out, int count, MPI_Datatype handle,
             MPI_Comm comm))
{
    struct weftmpi_type *type;
    size_t size;

    TRY(packed_in(__func__, comm, handle, count, bytes, *position, &type, &size));
    weftmpi_unpack(type, size, (const char *)in + *position, out);
    *position += (int)size;
    return MPI_SUCCESS;
}

API(Pack_size, (int count, MPI_Datatype handle, MPI_Comm comm_handle, int *bytes))
{
    struct weftmpi_type *type;
    COMM_IN(comm, comm_handle);
    TRY(weftmpi_type_in(comm, __func__, handle, count, &type));
    if (type->size * (size_t)count > INT_MAX)
        return weftmpi_fail(comm, __func__, MPI_ERR_COUNT, "%d elements of %zu bytes", count,
                            type->size);
    *bytes = (int)(type->size * (size_t)count);
    return MPI_SUCCESS;
}

API(Get_count, (const MPI_Status *status, MPI_Datatype handle, int *count))
{
    const size_t bytes = weftmpi_status_bytes(status);
    TYPE_IN(type, handle);
    if (type->size == 0)
        *count = bytes == 0 ? 0 : MPI_UNDEFINED;
    else if (bytes % type->size != 0 || bytes / type->size > INT_MAX)
        *count = MPI_UNDEFINED;
    else
        *count = (int)(bytes / type->size);
    return MPI_SUCCESS;
}

API(Get_elements, (const MPI_Status *status, MPI_Datatype handle, int *count))
{
    TYPE_IN(type, handle);
    const MPI_Count elements = elements_in(type->pattern, weftmpi_status_bytes(status));
    *count = elements < 0 || elements > INT_MAX ? MPI_UNDEFINED : (int)elements;
    return MPI_SUCCESS;
}
