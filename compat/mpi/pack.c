/* compat/mpi/pack.c - elements of a datatype, and their bytes in a row. */
#include "request.h"

/* Whether memory of a GPU takes part. It is copied stretch by stretch: what lies between is not the
 * message's. So each takes some microseconds. */
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
        weftmpi_failed(weft_copy(weftmpi.job, into, from, bytes));
}

/* Copies stretches of equal size, the short ones without a call. */
static inline void stretches(char *restrict into, MPI_Aint into_step, const char *restrict from,
                             MPI_Aint from_step, size_t bytes, size_t repeat, bool far)
{
    for (; repeat != 0; repeat--, into += into_step, from += from_step) {
        if (far)
            move(into, from, bytes, far);
        else if (bytes == 8)
            memcpy(into, from, 8);
        else if (bytes == 4)
            memcpy(into, from, 4);
        else
            memcpy(into, from, bytes);
    }
}

/* Unpacks the last element, of which only some bytes are there. */
static void unpack_part(const struct weftmpi_type *type, size_t left, const char *packed,
                        char *user, bool far)
{
    for (const struct weftmpi_run *run = type->runs; left != 0; run++) {
        const size_t all = run->bytes * run->repeat, some = left < all ? left : all;
        const size_t whole = some / run->bytes, used = whole * run->bytes;
        char *at = user + run->offset;
        stretches(at, run->stride, packed, (MPI_Aint)run->bytes, run->bytes, whole, far);
        move(at + (MPI_Aint)whole * run->stride, packed + used, some - used, far);
        packed += some;
        left -= some;
    }
}

/* Copies both ways (packs): between `bytes` bytes in a row and elements at user. */
static void copy(const struct weftmpi_type *type, size_t all, char *packed, char *user, bool packs)
{
    const bool far = is_far(user, packed);

    if (type->dense || type->size == 0) {
        user += type->true_lower;
        move(packs ? packed : user, packs ? user : packed, all, far);
        return;
    }
    for (size_t left = all / type->size; left != 0; left--, user += weftmpi_extent(type)) {
        for (size_t r = 0; r < type->runs_count; r++) {
            const struct weftmpi_run run = type->runs[r];
            if (packs)
                stretches(packed, (MPI_Aint)run.bytes, user + run.offset, run.stride, run.bytes,
                          run.repeat, far);
            else
                stretches(user + run.offset, run.stride, packed, (MPI_Aint)run.bytes, run.bytes,
                          run.repeat, far);
            packed += run.repeat * run.bytes;
        }
    }
    unpack_part(type, all % type->size, packed, user, far);
}

void weftmpi_pack(const struct weftmpi_type *type, size_t count, const void *user, void *packed)
{
    copy(type, count * type->size, packed, (char *)user, true);
}

void weftmpi_unpack(const struct weftmpi_type *type, size_t bytes, const void *packed, void *user)
{
    copy(type, bytes, (char *)packed, user, false);
}

int weftmpi_row(struct weftmpi_request *request, const struct weftmpi_elements *elements,
                enum weftmpi_row how, void **row)
{
    const struct weftmpi_type *type = elements->type;

    TRY(HOLDS(weftmpi_is_there(elements), MPI_ERR_BUFFER, "%zu bytes at NULL", elements->bytes));
    *row = (char *)elements->user + type->true_lower;
    if (type->dense && how != WEFTMPI_COPY)
        return MPI_SUCCESS;
    *row = weftmpi_request_memory(request, elements->bytes);
    if (how == WEFTMPI_FILL)
        weftmpi_request_unpack(request, *row, elements);
    else
        weftmpi_pack(type, elements->count, elements->user, *row);
    return MPI_SUCCESS;
}

/* ---- what programs call ---------------------------------------------------------------------- */

/* Checks that there is memory for elements, and for so many packed bytes at a position of a
 * buffer. */
static int check_packed(const struct weftmpi_elements *elements, const void *buffer,
                        MPI_Count buffer_bytes, MPI_Count position, size_t packed)
{
    TRY(HOLDS(position >= 0 && position <= buffer_bytes &&
                  packed <= (size_t)(buffer_bytes - position),
              MPI_ERR_TRUNCATE, "%zu bytes at %lld of a buffer of %lld", packed,
              (long long)position, (long long)buffer_bytes));
    return HOLDS(packed == 0 || (buffer != NULL && weftmpi_is_there(elements)), MPI_ERR_BUFFER,
                 "%zu bytes at NULL", packed);
}

/* Copies both ways: elements, and their bytes at a position of a packed buffer; *used: how many. */
static int packed(MPI_Comm comm_handle, MPI_Datatype handle, const void *user, MPI_Count count,
                  const void *buffer, MPI_Count bytes, MPI_Count position, bool packs, size_t *used)
{
    struct weftmpi_elements e;
    COMM_OF(comm, comm_handle);

    TRY(weftmpi_elements_in(user, count, handle, &e));
    TRY(check_packed(&e, buffer, bytes, position, e.bytes));
    copy(e.type, e.bytes, (char *)buffer + position, (char *)user, packs);
    *used = e.bytes;
    return MPI_SUCCESS;
}

/* Defines a call that packs or unpacks. N: the type of counts. */
#define MOVING(name, N, user, buffer, packs, ...)                                                  \
    API(name, (__VA_ARGS__, MPI_Comm comm))                                                        \
    {                                                                                              \
        size_t used;                                                                               \
        OUT(position);                                                                             \
        TRY(packed(comm, type, user, count, buffer, bytes, *position, packs, &used));              \
        *position += (N)used;                                                                      \
        return MPI_SUCCESS;                                                                        \
    }
#define PACKING(c, N, A)                                                                           \
    MOVING(Pack##c, N, in, out, true, const void *in, N count, MPI_Datatype type, void *out,       \
           N bytes, N *position)                                                                   \
    MOVING(Unpack##c, N, out, in, false, const void *in, N bytes, N *position, void *out, N count, \
           MPI_Datatype type)                                                                      \
    API(Pack_size##c, (N count, MPI_Datatype type, MPI_Comm handle, N * bytes))                    \
    {                                                                                              \
        struct weftmpi_elements elements;                                                          \
        OUT(bytes);                                                                                \
        COMM_IN(comm, handle);                                                                     \
        TRY(weftmpi_elements_in(NULL, count, type, &elements));                                    \
        *bytes = (N)elements.bytes;                                                                \
        if ((size_t)*bytes != elements.bytes)                                                      \
            return weftmpi_fail(MPI_ERR_COUNT, "%zu bytes are no int", elements.bytes);            \
        return MPI_SUCCESS;                                                                        \
    }
TWINS(PACKING)

/* Returns the whole elements in so many bytes; -1: they end within one. */
static MPI_Count whole_of(const struct weftmpi_type *type, size_t bytes)
{
    const size_t whole = type->size == 0 ? 0 : bytes / type->size;

    return whole * type->size == bytes ? (MPI_Count)whole : -1;
}

/* What may still be walked over: bytes, and basic elements. */
struct left {
    size_t bytes, elements;
};

/* Walks over `times` elements of the datatype, as far as it may. True: over all. */
static bool walk(const struct weftmpi_type *type, size_t times, struct left *left)
{
    const struct weftmpi_type *part;
    size_t whole = times, of_part;

    if (type->size == 0)
        return true;
    if (whole > left->bytes / type->size)
        whole = left->bytes / type->size;
    if (whole > left->elements / type->elements)
        whole = left->elements / type->elements;
    left->bytes -= whole * type->size;
    left->elements -= whole * type->elements;
    for (MPI_Count i = 0; whole != times && (part = weftmpi_part(type, i, &of_part)) != NULL; i++)
        if (!walk(part, of_part, left))
            return false;
    return whole == times;
}

/* Returns how many basic elements so many bytes are; -1: they end within one. */
static MPI_Count elements_of(const struct weftmpi_type *type, size_t bytes)
{
    struct left left = {bytes, SIZE_MAX};

    walk(type, SIZE_MAX, &left);
    return left.bytes != 0 && type->size != 0 ? -1 : (MPI_Count)(SIZE_MAX - left.elements);
}

/* Defines a call that tells what a status has: `count` is an expression of the type and the
 * bytes. */
#define TOLD(name, N, count)                                                                       \
    API(name, (const MPI_Status *status, MPI_Datatype handle, N *told))                            \
    {                                                                                              \
        OUT(told, status);                                                                         \
        TYPE_IN(type, handle);                                                                     \
        const size_t bytes = weftmpi_status_bytes(status);                                         \
        const MPI_Count all = count;                                                               \
        *told = all < 0 || (N)all != all ? MPI_UNDEFINED : (N)all;                                 \
        return MPI_SUCCESS;                                                                        \
    }
TOLD(Get_count, int, whole_of(type, bytes))
TOLD(Get_count_c, MPI_Count, whole_of(type, bytes))
TOLD(Get_elements, int, elements_of(type, bytes))
TOLD(Get_elements_c, MPI_Count, elements_of(type, bytes))
SAME(Get_elements_x, Get_elements_c)

API(Status_set_elements_c, (MPI_Status * status, MPI_Datatype handle, MPI_Count count))
{
    OUT(status);
    TYPE_IN(type, handle);
    TRY(HOLDS(count >= 0, MPI_ERR_COUNT, "count %lld", (long long)count));
    struct left left = {SIZE_MAX, (size_t)count};
    walk(type, SIZE_MAX, &left);
    const size_t bytes = SIZE_MAX - left.bytes;
    memcpy(&status->MPI_internal[0], &bytes, sizeof(bytes));
    return MPI_SUCCESS;
}

CALL(Status_set_elements, (MPI_Status * status, MPI_Datatype type, int count),
     PMPI_Status_set_elements_c(status, type, count))
SAME(Status_set_elements_x, Status_set_elements_c)

/*
 * ---- "external32": the bytes that all machines share ------------------------------------------
 * Basic elements one after the other, the highest byte first. A long has 4 bytes there.
 */

static size_t external_bytes(const struct weftmpi_type *type)
{
    const MPI_Datatype handle = type->object.handle;
    const struct weftmpi_type *part;
    size_t times, bytes = 0;

    if (type->contents == NULL)
        return handle == MPI_LONG || handle == MPI_UNSIGNED_LONG ? 4 : type->size;
    for (MPI_Count i = 0; (part = weftmpi_part(type, i, &times)) != NULL; i++)
        bytes += external_bytes(part) * times;
    return bytes;
}

/* Returns the bytes that are turned at once: of a complex number, which has a sum but no least,
 * each half is turned by itself. */
static size_t unit_of(const struct weftmpi_type *type)
{
    const bool is_complex = weftmpi_can_operate(weftmpi_find(WEFTMPI_OP, MPI_SUM), type) &&
                            !weftmpi_can_operate(weftmpi_find(WEFTMPI_OP, MPI_MIN), type);

    return is_complex ? type->size / 2 : type->size;
}

static void turn(char *into, const char *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        into[i] = from[bytes - 1 - i];
}

struct place {
    char *native, *external;
};

/* Converts one element: both places move on. */
static void convert_one(const struct weftmpi_type *type, struct place *at, bool packs)
{
    const size_t bytes = type->size, external = external_bytes(type), unit = unit_of(type);

    if (external != bytes && packs) { /* the lower half, which on this machine comes first */
        turn(at->external, at->native, external);
    } else if (external != bytes) {
        const bool negative = type->object.handle == MPI_LONG && (*at->external & 0x80);
        memset(at->native, negative ? 0xff : 0, bytes);
        turn(at->native, at->external, external);
    } else {
        for (size_t i = 0; i < bytes; i += unit)
            turn((packs ? at->external : at->native) + i, (packs ? at->native : at->external) + i,
                 unit);
    }
    at->native += bytes;
    at->external += external;
}

static void convert(const struct weftmpi_type *type, size_t times, struct place *at, bool packs)
{
    const struct weftmpi_type *part;
    size_t of_part;

    for (; times != 0 && type->size != 0; times--) {
        if (type->contents == NULL)
            convert_one(type, at, packs);
        for (MPI_Count i = 0; (part = weftmpi_part(type, i, &of_part)) != NULL; i++)
            convert(part, of_part, at, packs);
    }
}

static int open_external(const char *datarep, const void *user, MPI_Count count,
                         MPI_Datatype handle, struct weftmpi_elements *elements)
{
    TRY(weftmpi_is_open());
    TRY(PLACES(datarep));
    TRY(HOLDS(strcmp(datarep, "external32") == 0, MPI_ERR_ARG, "the representation '%s'", datarep));
    return weftmpi_elements_in(user, count, handle, elements);
}

static int external(const char *datarep, const void *user, MPI_Count count, MPI_Datatype handle,
                    const void *buffer, MPI_Count bytes, MPI_Count *position, bool packs)
{
    struct weftmpi_elements e;

    TRY(PLACES(position));
    TRY(open_external(datarep, user, count, handle, &e));
    const size_t all = e.count * external_bytes(e.type);
    TRY(check_packed(&e, buffer, bytes, *position, all));
    FREED char *native = weftmpi_room(NULL, e.bytes);
    struct place at = {native, (char *)buffer + *position};
    if (packs)
        weftmpi_pack(e.type, e.count, user, native);
    convert(e.type, e.count, &at, packs);
    if (!packs)
        weftmpi_unpack(e.type, e.bytes, native, (void *)user);
    *position += (MPI_Aint)all;
    return MPI_SUCCESS;
}

/* Defines the calls for external32. N: the type of counts, A: of bytes. */
#define EXTERNAL(c, N, A)                                                                          \
    CALL(Pack_external##c,                                                                         \
         (const char datarep[], const void *in, N count, MPI_Datatype type, void *out, A bytes,    \
          A *position),                                                                            \
         external(datarep, in, count, type, out, bytes, position, true))                           \
    CALL(Unpack_external##c,                                                                       \
         (const char datarep[], const void *in, A bytes, A *position, void *out, N count,          \
          MPI_Datatype type),                                                                      \
         external(datarep, out, count, type, in, bytes, position, false))                          \
    API(Pack_external_size##c, (const char datarep[], N count, MPI_Datatype type, A *bytes))       \
    {                                                                                              \
        struct weftmpi_elements e;                                                                 \
        OUT(bytes);                                                                                \
        TRY(open_external(datarep, NULL, count, type, &e));                                        \
        *bytes = (A)(e.count * external_bytes(e.type));                                            \
        return MPI_SUCCESS;                                                                        \
    }
TWINS(EXTERNAL)
