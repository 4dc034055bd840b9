/* tests/mpi/types_operations.c - how many elements came, and operations on every datatype. */
#include "mpi_types.h"

#include <complex.h>
#include <limits.h>
#include <stdbool.h>

void elements(void)
{
    struct {
        int a;
        double b;
    } out[3] = {{1, 2}, {3, 4}, {5, 6}}, in[3];
    count_t lengths[2] = {1, 1};
    int count, bytes;
    MPI_Aint places[2] = {0, 8}, lower, extent;
    MPI_Datatype kinds[2] = {MPI_INT, MPI_DOUBLE}, type;
    MPI_Request request;
    MPI_Status status;

    MPI_Type_create_struct(2, lengths, places, kinds, &type);
    MPI_Type_commit(&type);
    MPI_Type_size(type, &bytes);
    MPI_Type_get_extent(type, &lower, &extent);
    CHECK(bytes == 12 && extent == 16);
    MPI_Irecv(in, 3, type, 0, 0, MPI_COMM_SELF, &request);
    MPI_Send(out, 2, type, 0, 0, MPI_COMM_SELF);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, type, &count);
    CHECK(count == 2 && in[1].a == 3 && in[1].b == 4);
    MPI_Get_elements(&status, type, &count);
    CHECK(count == 4);
    MPI_Irecv(in, 3, type, 0, 0, MPI_COMM_SELF, &request);
    MPI_Send(out, 4, MPI_INT, 0, 0, MPI_COMM_SELF); /* an int, a double, an int */
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, type, &count);
    CHECK(count == MPI_UNDEFINED);
    MPI_Get_elements(&status, type, &count);
    CHECK(count == 3);
    MPI_Type_free(&type);
    CHECK(type == MPI_DATATYPE_NULL);
}

#define ALL_OPS(handle, ctype, x, y)                                                               \
    do {                                                                                           \
        const ctype a = (ctype)(x), b = (ctype)(y);                                                \
        ctype got;                                                                                 \
        TRY_OP(MPI_SUM, handle, (ctype)(a + b));                                                   \
        TRY_OP(MPI_PROD, handle, (ctype)(a * b));                                                  \
        TRY_OP(MPI_MIN, handle, a < b ? a : b);                                                    \
        TRY_OP(MPI_MAX, handle, a < b ? b : a);                                                    \
    } while (0)
#define BIT_OPS(handle, ctype, x, y)                                                               \
    do {                                                                                           \
        const ctype a = (ctype)(x), b = (ctype)(y);                                                \
        ctype got;                                                                                 \
        TRY_OP(MPI_BAND, handle, (ctype)(a & b));                                                  \
        TRY_OP(MPI_BOR, handle, (ctype)(a | b));                                                   \
        TRY_OP(MPI_BXOR, handle, (ctype)(a ^ b));                                                  \
        TRY_OP(MPI_LAND, handle, (ctype)(a && b));                                                 \
        TRY_OP(MPI_LOR, handle, (ctype)(a || b));                                                  \
        TRY_OP(MPI_LXOR, handle, (ctype)(!a != !b));                                               \
    } while (0)
#define TRY_OP(op, handle, expected)                                                               \
    do {                                                                                           \
        got = b;                                                                                   \
        CHECK(MPI_Reduce_local(&a, &got, 1, handle, op) == MPI_SUCCESS);                           \
        CHECK(got == (expected));                                                                  \
    } while (0)
#define INTEGER(handle, ctype)                                                                     \
    ALL_OPS(handle, ctype, 5, 3);                                                                  \
    ALL_OPS(handle, ctype, 2, 7);                                                                  \
    BIT_OPS(handle, ctype, 12, 10);                                                                \
    BIT_OPS(handle, ctype, 0, 6)

void operations(void)
{
    int yes;

    INTEGER(MPI_INT, int);
    INTEGER(MPI_SHORT, short);
    INTEGER(MPI_LONG, long);
    INTEGER(MPI_LONG_LONG, long long);
    INTEGER(MPI_UNSIGNED, unsigned);
    INTEGER(MPI_UNSIGNED_SHORT, unsigned short);
    INTEGER(MPI_UNSIGNED_LONG, unsigned long);
    INTEGER(MPI_UNSIGNED_LONG_LONG, unsigned long long);
    INTEGER(MPI_SIGNED_CHAR, signed char);
    INTEGER(MPI_UNSIGNED_CHAR, unsigned char);
    INTEGER(MPI_INT8_T, int8_t);
    INTEGER(MPI_INT16_T, int16_t);
    INTEGER(MPI_INT32_T, int32_t);
    INTEGER(MPI_INT64_T, int64_t);
    INTEGER(MPI_UINT8_T, uint8_t);
    INTEGER(MPI_UINT16_T, uint16_t);
    INTEGER(MPI_UINT32_T, uint32_t);
    INTEGER(MPI_UINT64_T, uint64_t);
    INTEGER(MPI_AINT, MPI_Aint);
    INTEGER(MPI_OFFSET, MPI_Offset);
    INTEGER(MPI_COUNT, MPI_Count);
    INTEGER(MPI_INTEGER16, __int128);
    ALL_OPS(MPI_INTEGER16, __int128, (__int128)5 << 90, (__int128)-3 * (1 << 20));
    ALL_OPS(MPI_FLOAT, float, 1.5, -2);
    ALL_OPS(MPI_DOUBLE, double, 1.5, -2);
    ALL_OPS(MPI_LONG_DOUBLE, long double, 1.5, -2);
    double complex x = 1 + 2 * I, y = 3 - I;
    CHECK(MPI_Reduce_local(&x, &y, 1, MPI_C_DOUBLE_COMPLEX, MPI_PROD) == MPI_SUCCESS);
    CHECK(y == (1 + 2 * I) * (3 - I));
    MPI_Op_commutative(MPI_SUM, &yes);
    CHECK(yes);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(MPI_Reduce_local(&x, &y, 1, MPI_DOUBLE, MPI_BAND) == MPI_ERR_OP);
    CHECK(MPI_Reduce_local(&x, &y, 1, MPI_C_DOUBLE_COMPLEX, MPI_MIN) == MPI_ERR_OP);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}
