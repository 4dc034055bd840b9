/*
 * compat/mpi/operate.c - operations of reductions: those of the standard, by classes of types, and
 * those of programs.
 */
#include "internal.h"

#include <complex.h>
#include <wchar.h>

typedef void operate(const weft_combine *combine, const void *from, void *into, size_t count);

/* Defines the smaller, or the larger, value with its index; of equal ones the smaller index. */
#define LOC(name, t, better)                                                                       \
    static void name##_##t(const weft_combine *combine, const void *from, void *into,              \
                           size_t count)                                                           \
    {                                                                                              \
        const struct weftmpi_pair_##t *a = from;                                                   \
        struct weftmpi_pair_##t *b = into;                                                         \
        (void)combine;                                                                             \
        for (size_t i = 0; i < count; i++)                                                         \
            if (a[i].value better b[i].value ||                                                    \
                (a[i].value == b[i].value && a[i].index < b[i].index))                             \
                b[i] = a[i];                                                                       \
    }
#define INDEXED(t, ...)                                                                            \
    LOC(minloc, t, <)                                                                              \
    LOC(maxloc, t, >)

ELEMENT_INTEGERS(i8, int8_t)
ELEMENT_INTEGERS(u8, uint8_t)
ELEMENT_INTEGERS(i16, int16_t)
ELEMENT_INTEGERS(u16, uint16_t)
ELEMENT_INTEGERS(i32, int32_t)
ELEMENT_INTEGERS(u32, uint32_t)
ELEMENT_INTEGERS(i64, int64_t)
ELEMENT_INTEGERS(u64, uint64_t)
ELEMENT_INTEGERS(i128, __int128)
ELEMENT_REALS(f, float)
ELEMENT_REALS(d, double)
ELEMENT_REALS(l, long double)
ELEMENT_COMPLEXES(cf, float _Complex)
ELEMENT_COMPLEXES(cd, double _Complex)
ELEMENT_COMPLEXES(cl, long double _Complex)
WEFTMPI_PAIRS(INDEXED)

/* A row for a class of types; columns by operation, of which the first have weft's numbers. */
enum { SUM, MIN, MAX, BAND, BOR, BXOR, PROD, LAND, LOR, LXOR, MINLOC, MAXLOC };
enum { REPLACE = MAXLOC + 1, NO_OP, OPERATIONS }; /* of one-sided communication alone */
#define NONE       NULL
#define REAL(t)    [SUM] = sum_##t, [MIN] = min_##t, [MAX] = max_##t, [PROD] = prod_##t
#define COMPLEX(t) [SUM] = sum_##t, [PROD] = prod_##t
#define BITS(t)    [BAND] = band_##t, [BOR] = bor_##t, [BXOR] = bxor_##t
#define LOGICAL(t) [LAND] = land_##t, [LOR] = lor_##t, [LXOR] = lxor_##t
#define INTEGER(t) REAL(t), BITS(t), LOGICAL(t)

/* By the type's number, 0x200 less. */
static operate *const table[][OPERATIONS] = {
#define TYPE(number, name, ctype, ...) [number - 0x200] = {__VA_ARGS__},
#define PAIR(number, name, t, ...)                                                                 \
    [number - 0x200] = {[MINLOC] = minloc_##t, [MAXLOC] = maxloc_##t},
#include "types.def"
};
_Static_assert(sizeof(int) == 4 && sizeof(long) == 8 && sizeof(long long) == 8 &&
                   sizeof(MPI_Aint) == 8 && (int)BAND == WEFT_AND && (int)PROD == WEFT_PROD,
               "the table's rows");

/* ---- operations ------------------------------------------------------------------------------ */

struct weftmpi_op weftmpi_ops[] = {
#define OP(place, column)                                                                          \
    [place - 0x20] = {.object = {.handle = (MPI_Op)place, .references = 1},                        \
                      .number = (column),                                                          \
                      .commutes = true}
    OP(0x21, SUM),    OP(0x22, MIN),    OP(0x23, MAX),     OP(0x24, PROD),  OP(0x28, BAND),
    OP(0x29, BOR),    OP(0x2a, BXOR),   OP(0x30, LAND),    OP(0x31, LOR),   OP(0x32, LXOR),
    OP(0x38, MINLOC), OP(0x39, MAXLOC), OP(0x3c, REPLACE), OP(0x3d, NO_OP),
#undef OP
};

/* OP_IN: the operation of a handle, in a function of MPI: declares it. */
#define OP_IN(name, handle)                                                                        \
    ENTER;                                                                                         \
    OBJECT_IN(name, op, WEFTMPI_OP, handle)

static operate *row_of(const struct weftmpi_op *op, const struct weftmpi_type *type)
{
    return type->basic ? table[type - weftmpi_types][op->number] : NULL;
}

bool weftmpi_can_operate(const struct weftmpi_op *op, const struct weftmpi_type *type)
{
    return op->function != NULL || row_of(op, type) != NULL;
}

bool weftmpi_know(const struct weftmpi_op *op, const struct weftmpi_type *type, weft_type *element,
                  weft_operation *function)
{
    static operate *const sums[] = {
        [WEFT_I32] = sum_i32, [WEFT_U32] = sum_u32, [WEFT_I64] = sum_i64, [WEFT_U64] = sum_u64,
        [WEFT_F32] = sum_f,   [WEFT_F64] = sum_d,   [WEFT_U8] = sum_u8};

    if (!type->basic || op->function != NULL || op->number > PROD)
        return false;
    *function = (weft_operation)op->number;
    for (*element = WEFT_I32; *element <= WEFT_U8; ++*element)
        if (sums[*element] != NULL && table[type - weftmpi_types][SUM] == sums[*element])
            return true;
    return false;
}

void weftmpi_operate(const struct weftmpi_op *op, const struct weftmpi_type *type, const void *from,
                     void *into, size_t count)
{
    if (op->function == NULL) {
        row_of(op, type)(NULL, from, into, count);
        return;
    }
    CALLS_BACK;
    MPI_Datatype handle = type->object.handle;
    const size_t extent = (size_t)weftmpi_extent(type);
    if (op->large) {
        ((MPI_User_function_c *)op->function)((void *)from, into, &(MPI_Count){(MPI_Count)count},
                                              &handle);
        return;
    }
    for (size_t done = 0; done < count;) {
        int some = count - done < 1 << 30 ? (int)(count - done) : 1 << 30;
        ((MPI_User_function *)op->function)((char *)from + done * extent,
                                            (char *)into + done * extent, &some, &handle);
        done += (size_t)some;
    }
}

static int make(void (*function)(void), bool large, bool commutes, MPI_Op *handle)
{
    TRY(weftmpi_is_open());
    TRY(HOLDS(function != NULL, MPI_ERR_ARG, "no function"));
    struct weftmpi_op *op = weftmpi_make(WEFTMPI_OP, sizeof(*op));
    op->function = function;
    op->large = large;
    op->commutes = commutes;
    return weftmpi_give(op, handle);
}

CALL(Op_create, (MPI_User_function * function, int commute, MPI_Op *op),
     make((void (*)(void))function, false, commute != 0, op))
CALL(Op_create_c, (MPI_User_function_c * function, int commute, MPI_Op *op),
     make((void (*)(void))function, true, commute != 0, op))

GIVE_BACK(Op_free, OP_IN, MPI_Op, MPI_OP_NULL, true,
          HOLDS(of->function != NULL, MPI_ERR_OP, "no operation of the program's"))

ASK(Op_commutative, OP_IN, MPI_Op, int, of->commutes)

static int reduce_local(const void *in, void *inout, MPI_Count count, MPI_Datatype handle,
                        MPI_Op op_handle)
{
    const struct weftmpi_op *op = weftmpi_find(WEFTMPI_OP, op_handle);
    struct weftmpi_elements e;

    TRY(weftmpi_is_open());
    TRY(weftmpi_elements_in(inout, count, handle, &e));
    TRY(LISTED(e.type->basic ? e.count : 0, inout == NULL ? NULL : in));
    TRY(HOLDS(in != MPI_IN_PLACE && inout != MPI_IN_PLACE && (in != inout || count <= 0),
              MPI_ERR_BUFFER, "one buffer, or MPI_IN_PLACE"));
    TRY(HOLDS(op != NULL && weftmpi_can_operate(op, e.type), MPI_ERR_OP, "no operation for %s",
              e.type->name));
    weftmpi_operate(op, e.type, in, inout, e.count);
    return MPI_SUCCESS;
}

CALL(Reduce_local, (const void *in, void *inout, int count, MPI_Datatype type, MPI_Op op),
     reduce_local(in, inout, count, type, op))
CALL(Reduce_local_c, (const void *in, void *inout, MPI_Count count, MPI_Datatype type, MPI_Op op),
     reduce_local(in, inout, count, type, op))
