/*
 * compat/mpi/external.c - packing into the bytes that all machines share ("external32"): basic
 * elements one after the other, the highest byte first. A long has 4 bytes there.
 */
#include "internal.h"

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

/* Of a complex number, which has a sum but no least, each half is turned by itself. */
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

/* One element: both places move on. */
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

static int open(const char *datarep, const void *user, MPI_Count count, MPI_Datatype handle,
                struct weftmpi_elements *elements)
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
    TRY(open(datarep, user, count, handle, &e));
    const size_t all = e.count * external_bytes(e.type);
    TRY(weftmpi_check_packed(&e, buffer, bytes, *position, all));
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

/* N: the type of counts, A: of bytes. */
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
        TRY(open(datarep, NULL, count, type, &e));                                                 \
        *bytes = (A)(e.count * external_bytes(e.type));                                            \
        return MPI_SUCCESS;                                                                        \
    }
TWINS(EXTERNAL)
