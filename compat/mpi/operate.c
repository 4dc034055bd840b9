/*
 * compat/mpi/operate.c - operations of reductions: those of the standard, by classes of types, and
 * those of programs.
 */
#include "internal.h"

#include <complex.h>
#include <stdlib.h>
#include <wchar.h>

typedef void operate(const void *from, void *into, size_t count);

/* One loop: b is the element that stays, a the lower member's. */
#define LOOP(name, ctype, expression)                                                              \
    static void name(const void *from, void *into, size_t count)                                   \
    {                                                                                              \
        const ctype *x = from;                                                                     \
        ctype *y = into;                                                                           \
        for (size_t i = 0; i < count; i++) {                                                       \
            const ctype a = x[i], b = y[i];                                                        \
            y[i] = (ctype)(expression);                                                            \
        }                                                                                          \
    }

#define REALS(t, ctype)                                                                            \
    LOOP(sum_##t, ctype, a + b)                                                                    \
    LOOP(prod_##t, ctype, a *b)                                                                    \
    LOOP(min_##t, ctype, a < b ? a : b)                                                            \
    LOOP(max_##t, ctype, a > b ? a : b)
/* Sums and products of signed integers wrap: through the unsigned type. */
#define INTEGERS(t, ctype, utype)                                                                  \
    LOOP(sum_##t, ctype, (utype)a + (utype)b)                                                      \
    LOOP(prod_##t, ctype, (utype)((uint64_t)(utype)a * (utype)b))                                  \
    LOOP(min_##t, ctype, a < b ? a : b)                                                            \
    LOOP(max_##t, ctype, a > b ? a : b)                                                            \
    LOOP(land_##t, ctype, a != 0 && b != 0)                                                        \
    LOOP(lor_##t, ctype, a != 0 || b != 0)                                                         \
    LOOP(lxor_##t, ctype, (a != 0) != (b != 0))                                                    \
    LOOP(band_##t, ctype, a &b)                                                                    \
    LOOP(bor_##t, ctype, a | b)                                                                    \
    LOOP(bxor_##t, ctype, a ^ b)
#define COMPLEXES(t, ctype)                                                                        \
    LOOP(sum_##t, ctype, a + b)                                                                    \
    LOOP(prod_##t, ctype, a *b)
/* The smaller, the larger value with its index; of equal ones the smaller index. */
#define INDEXED(t, ctype)                                                                          \
    struct pair_##t {                                                                              \
        ctype value;                                                                               \
        int index;                                                                                 \
    };                                                                                             \
    static void minloc_##t(const void *from, void *into, size_t count)                             \
    {                                                                                              \
        const struct pair_##t *a = from;                                                           \
        struct pair_##t *b = into;                                                                 \
        for (size_t i = 0; i < count; i++)                                                         \
            if (a[i].value < b[i].value || (a[i].value == b[i].value && a[i].index < b[i].index))  \
                b[i] = a[i];                                                                       \
    }                                                                                              \
    static void maxloc_##t(const void *from, void *into, size_t count)                             \
    {                                                                                              \
        const struct pair_##t *a = from;                                                           \
        struct pair_##t *b = into;                                                                 \
        for (size_t i = 0; i < count; i++)                                                         \
            if (a[i].value > b[i].value || (a[i].value == b[i].value && a[i].index < b[i].index))  \
                b[i] = a[i];                                                                       \
    }

INTEGERS(i8, int8_t, uint8_t)
INTEGERS(u8, uint8_t, uint8_t)
INTEGERS(i16, int16_t, uint16_t)
INTEGERS(u16, uint16_t, uint16_t)
INTEGERS(i32, int32_t, uint32_t)
INTEGERS(u32, uint32_t, uint32_t)
INTEGERS(i64, int64_t, uint64_t)
INTEGERS(u64, uint64_t, uint64_t)
REALS(f, float)
REALS(d, double)
REALS(l, long double)
COMPLEXES(cf, float _Complex)
COMPLEXES(cd, double _Complex)
COMPLEXES(cl, long double _Complex)
INDEXED(f, float)
INDEXED(d, double)
INDEXED(long, long)
INDEXED(int, int)
INDEXED(short, short)
INDEXED(l, long double)

/* A row for a class of types; columns by operation. */
enum { SUM, MIN, MAX, PROD, BAND, BOR, BXOR, LAND, LOR, LXOR, MINLOC, MAXLOC, OPERATIONS };
#define ROW_INTEGER(t)                                                                             \
    {                                                                                              \
        sum_##t, min_##t, max_##t, prod_##t, band_##t, bor_##t, bxor_##t, land_##t, lor_##t,       \
            lxor_##t                                                                               \
    }
#define ROW_LOGICAL(t)                                                                             \
    {                                                                                              \
        [LAND] = land_##t, [LOR] = lor_##t, [LXOR] = lxor_##t                                      \
    }
#define ROW_BITS(t)                                                                                \
    {                                                                                              \
        [BAND] = band_##t, [BOR] = bor_##t, [BXOR] = bxor_##t                                      \
    }
#define ROW_REAL(t)                                                                                \
    {                                                                                              \
        [SUM] = sum_##t, [MIN] = min_##t, [MAX] = max_##t, [PROD] = prod_##t                       \
    }
#define ROW_COMPLEX(t)                                                                             \
    {                                                                                              \
        [SUM] = sum_##t, [PROD] = prod_##t                                                         \
    }
#define ROW_PAIR(t)                                                                                \
    {                                                                                              \
        [MINLOC] = minloc_##t, [MAXLOC] = maxloc_##t                                               \
    }

/* Types by the last two digits of their numbers, 0x200 less; what is not here has no operations. */
static operate *const table[0x60][OPERATIONS] = {
    [0x01] = ROW_INTEGER(i64), [0x02] = ROW_INTEGER(i64), [0x03] = ROW_INTEGER(i64),
    [0x08] = ROW_INTEGER(i16), [0x09] = ROW_INTEGER(i32), [0x0a] = ROW_INTEGER(i64),
    [0x0b] = ROW_INTEGER(i64), [0x0c] = ROW_INTEGER(u16), [0x0d] = ROW_INTEGER(u32),
    [0x0e] = ROW_INTEGER(u64), [0x0f] = ROW_INTEGER(u64), [0x10] = ROW_REAL(f),
    [0x12] = ROW_COMPLEX(cf),  [0x13] = ROW_COMPLEX(cf),  [0x14] = ROW_REAL(d),
    [0x16] = ROW_COMPLEX(cd),  [0x17] = ROW_COMPLEX(cd),  [0x20] = ROW_REAL(l),
    [0x24] = ROW_COMPLEX(cl),  [0x25] = ROW_COMPLEX(cl),  [0x28] = ROW_PAIR(f),
    [0x29] = ROW_PAIR(d),      [0x2a] = ROW_PAIR(long),   [0x2b] = ROW_PAIR(int),
    [0x2c] = ROW_PAIR(short),  [0x2d] = ROW_PAIR(l),      [0x38] = ROW_LOGICAL(u8),
    [0x39] = ROW_LOGICAL(u8),  [0x40] = ROW_INTEGER(i8),  [0x41] = ROW_INTEGER(u8),
    [0x43] = ROW_INTEGER(i8),  [0x44] = ROW_INTEGER(i8),  [0x45] = ROW_INTEGER(u8),
    [0x47] = ROW_BITS(u8),     [0x48] = ROW_INTEGER(i16), [0x49] = ROW_INTEGER(u16),
    [0x50] = ROW_INTEGER(i32), [0x51] = ROW_INTEGER(u32), [0x58] = ROW_INTEGER(i64),
    [0x59] = ROW_INTEGER(u64),
};
_Static_assert(sizeof(int) == 4 && sizeof(long) == 8 && sizeof(long long) == 8 &&
                   sizeof(MPI_Aint) == 8,
               "the table's rows");

/* ---- operations ------------------------------------------------------------------------------ */

enum { FIRST_OP = 0x21, LAST_OP = 0x3d };

static struct weftmpi_op standard[LAST_OP - FIRST_OP + 1] = {
#define OP(handle, column) [handle - FIRST_OP] = {(MPI_Op)handle, NULL, column, true, 1}
    OP(0x21, SUM),  OP(0x22, MIN),  OP(0x23, MAX),    OP(0x24, PROD),
    OP(0x28, BAND), OP(0x29, BOR),  OP(0x2a, BXOR),   OP(0x30, LAND),
    OP(0x31, LOR),  OP(0x32, LXOR), OP(0x38, MINLOC), OP(0x39, MAXLOC),
#undef OP
};

struct weftmpi_op *weftmpi_op_of(MPI_Op handle)
{
    const uint64_t number = WEFTMPI_NUMBER(handle);

    if (number > LAST_OP)
        return weftmpi_handle_find(WEFTMPI_OP, number);
    return number >= FIRST_OP && standard[number - FIRST_OP].references != 0
               ? &standard[number - FIRST_OP]
               : NULL;
}

void weftmpi_op_leave(struct weftmpi_op *op)
{
    if (op->function != NULL && weftmpi_let_go(&op->references))
        free(op);
}

static operate *row_of(const struct weftmpi_op *op, const struct weftmpi_type *type)
{
    return type->basic ? table[WEFTMPI_NUMBER(type->handle) - 0x200][op->number] : NULL;
}

bool weftmpi_can_operate(const struct weftmpi_op *op, const struct weftmpi_type *type)
{
    return op->function != NULL || row_of(op, type) != NULL;
}

void weftmpi_operate(const struct weftmpi_op *op, const struct weftmpi_type *type, const void *from,
                     void *into, size_t count)
{
    if (op->function == NULL) {
        row_of(op, type)(from, into, count);
        return;
    }
    /* A program's takes an int. */
    MPI_Datatype handle = type->handle;
    const size_t extent = (size_t)weftmpi_extent(type);
    for (size_t done = 0; done < count;) {
        int some = count - done < 1 << 30 ? (int)(count - done) : 1 << 30;
        op->function((char *)from + done * extent, (char *)into + done * extent, &some, &handle);
        done += (size_t)some;
    }
}

API(Op_create, (MPI_User_function * function, int commute, MPI_Op *handle))
{
    TRY(weftmpi_is_open(__func__));
    struct weftmpi_op *op = calloc(1, sizeof(*op));
    const uint64_t number = op == NULL ? 0 : weftmpi_handle_make(WEFTMPI_OP, op);
    if (number == 0) {
        free(op);
        return weftmpi_fail(NULL, __func__, MPI_ERR_NO_MEM, "no memory");
    }
    *op = (struct weftmpi_op){(MPI_Op)(uintptr_t)number, function, 0, commute != 0, 1};
    *handle = op->handle;
    return MPI_SUCCESS;
}

API(Op_free, (MPI_Op * handle))
{
    struct weftmpi_op *op = weftmpi_op_of(*handle);

    if (op == NULL || op->function == NULL)
        return weftmpi_fail(NULL, __func__, MPI_ERR_OP, "no operation of the program's");
    weftmpi_handle_drop(WEFTMPI_NUMBER(*handle));
    weftmpi_op_leave(op);
    *handle = MPI_OP_NULL;
    return MPI_SUCCESS;
}

API(Op_commutative, (MPI_Op handle, int *commute))
{
    const struct weftmpi_op *op = weftmpi_op_of(handle);

    if (op == NULL)
        return weftmpi_fail(NULL, __func__, MPI_ERR_OP, "no operation");
    *commute = op->commutes;
    return MPI_SUCCESS;
}

API(Reduce_local, (const void *in, void *inout, int count, MPI_Datatype handle, MPI_Op op_handle))
{
    const struct weftmpi_op *op = weftmpi_op_of(op_handle);
    struct weftmpi_type *type;

    TRY(weftmpi_is_open(__func__));
    TRY(weftmpi_type_in(NULL, __func__, handle, count, &type));
    if (op == NULL || !weftmpi_can_operate(op, type))
        return weftmpi_fail(NULL, __func__, MPI_ERR_OP, "no operation for %s", type->name);
    weftmpi_operate(op, type, in, inout, (size_t)count);
    return MPI_SUCCESS;
}
