/* tests/mpi/more_packing.c - external bytes, counts beyond int, and small calls of the rest. */
#include "mpi_more.h"

void external(void)
{
    struct {
        int i;
        double d[2];
        short s;
        long l;
    } in = {0x01020304, {1.0, -2.5}, 0x0506, -7}, out;
    const count_t lengths[] = {1, 2, 1, 1};
    const MPI_Aint offsets[] = {0, 8, 24, 32};
    const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_SHORT, MPI_LONG};
    unsigned char bytes[64] = {0};
    MPI_Aint size_of, position = 0;
    MPI_Datatype type;

    MPI_Type_create_struct(4, lengths, offsets, types, &type);
    MPI_Type_commit(&type);
    MPI_Pack_external_size("external32", 1, type, &size_of);
    CHECK(size_of == 4 + 16 + 2 + 4);
    MPI_Pack_external("external32", &in, 1, type, bytes, sizeof(bytes), &position);
    CHECK(position == size_of);
    CHECK(bytes[0] == 1 && bytes[3] == 4 && bytes[4] == 0x3f && bytes[5] == 0xf0 &&
          bytes[20] == 5 && bytes[21] == 6 && bytes[22] == 0xff && bytes[25] == 0xf9);
    position = 0;
    memset(&out, 0, sizeof(out));
    MPI_Unpack_external("external32", bytes, size_of, &position, &out, 1, type);
    CHECK(position == size_of && out.i == in.i && out.d[0] == 1.0 && out.d[1] == -2.5 &&
          out.s == in.s && out.l == -7);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    FAILS(MPI_ERR_ARG, MPI_Pack_external_size("internal", 1, type, &size_of));
    position = 60;
    FAILS(MPI_ERR_TRUNCATE,
          MPI_Pack_external("external32", &in, 1, type, bytes, sizeof(bytes), &position));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Type_free(&type);
}

/* Counts that no int holds, and where the forms with int say so. */
void beyond_int(void)
{
    const MPI_Count many = (MPI_Count)3 << 30, sizes[2] = {many, 4}, parts[2] = {2, 2},
                    starts[2] = {many - 2, 1}, lengths[1] = {many};
    MPI_Datatype empty, large, column, part;
    MPI_Count count, lower, extent;
    MPI_Status status;
    int number, value = rank;
    MPI_Request request;

    MPI_Type_contiguous_c(many, MPI_INT, &large);
    MPI_Type_size(large, &number);
    CHECK(number == MPI_UNDEFINED);
    MPI_Type_size_c(large, &count);
    CHECK(count == 4 * many);
    MPI_Type_vector_c(2, 1, many, MPI_CHAR, &column);
    MPI_Type_get_extent_c(column, &lower, &extent);
    CHECK(lower == 0 && extent == many + 1);
    MPI_Type_free(&column);
    MPI_Type_indexed_c(1, lengths, &many, MPI_SHORT, &column);
    MPI_Type_get_extent_c(column, &lower, &extent);
    CHECK(lower == 2 * many && extent == 2 * many);
    MPI_Type_free(&column);
    MPI_Type_create_subarray_c(2, sizes, parts, starts, MPI_ORDER_C, MPI_CHAR, &part);
    MPI_Type_get_extent_c(part, &lower, &extent);
    MPI_Type_size_c(part, &count);
    CHECK(lower == 0 && extent == 4 * many && count == 4);
    MPI_Type_get_true_extent_c(part, &lower, &extent);
    CHECK(lower == 4 * (many - 2) + 1 && extent == 6);
    MPI_Type_free(&part);
    MPI_Pack_size_c(many, MPI_INT, MPI_COMM_SELF, &count);
    CHECK(count == 4 * many);
    MPI_Pack_external_size_c("external32", many, MPI_LONG, &count);
    CHECK(count == 4 * many);
    MPI_Status_set_elements_c(&status, MPI_INT, many);
    MPI_Get_count_c(&status, MPI_INT, &count);
    MPI_Get_count(&status, MPI_INT, &number);
    CHECK(count == many && number == MPI_UNDEFINED);
    MPI_Get_elements_c(&status, large, &count);
    MPI_Get_elements(&status, large, &number);
    CHECK(count == many && number == MPI_UNDEFINED);
    MPI_Type_free(&large);
    /* Of elements without bytes there may be many. */
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    MPI_Bcast_c(&value, many, empty, 0, MPI_COMM_WORLD);
    MPI_Ibcast_c(&value, many, empty, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Sendrecv_c(&value, many, empty, rank, 0, &value, many, empty, rank, 0, MPI_COMM_WORLD,
                   &status);
    CHECK(value == rank);
    MPI_Type_free(&empty);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    FAILS(MPI_ERR_COUNT, MPI_Bcast_c(&value, -many, MPI_INT, 0, MPI_COMM_SELF));
    FAILS(MPI_ERR_COUNT, MPI_Bcast_c(&value, -1, MPI_INT, 0, MPI_COMM_SELF));
    FAILS(MPI_ERR_COUNT, MPI_Gather_c(&value, -1, MPI_INT, &number, 1, MPI_INT, 0, MPI_COMM_SELF));
    FAILS(MPI_ERR_COUNT, MPI_Reduce_c(&value, &number, -1, MPI_INT, MPI_SUM, 0, MPI_COMM_SELF));
    FAILS(MPI_ERR_COUNT, MPI_Ireduce_scatter_c(&value, &number, &(MPI_Count){-1}, MPI_INT, MPI_SUM,
                                               MPI_COMM_SELF, &request));
    FAILS(MPI_ERR_COUNT, PMPI_Pack_size((int)((many >> 1) - 1), MPI_INT, MPI_COMM_SELF, &number));
    FAILS(MPI_ERR_COUNT,
          MPI_Sendrecv_replace_c(&value, -1, MPI_INT, 0, 0, 0, 0, MPI_COMM_SELF, &status));
    FAILS(MPI_ERR_TRUNCATE,
          MPI_Pack_c(&value, 1, MPI_INT, &number, 3, &(MPI_Count){0}, MPI_COMM_SELF));
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    FAILS(MPI_ERR_COUNT, MPI_Type_contiguous_c(-many, MPI_INT, &large));
    FAILS(MPI_ERR_ARG, MPI_Type_vector_c(1, -many, 1, MPI_INT, &large));
    FAILS(MPI_ERR_ARG,
          MPI_Type_create_subarray_c(2, sizes, parts, sizes, MPI_ORDER_C, MPI_CHAR, &part));
    FAILS(MPI_ERR_COUNT, MPI_Status_set_elements_c(&status, MPI_INT, -1));
    FAILS(MPI_ERR_BUFFER, MPI_Buffer_attach_c(&value, -1));
    FAILS(MPI_ERR_ARG, MPI_Op_create_c(NULL, 1, &(MPI_Op){MPI_OP_NULL}));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

void small_ones(void)
{
    MPI_Status status, back;
    MPI_Fint fortran[MPI_F_STATUS_SIZE];
    MPI_Datatype type, pairs;
    MPI_Count many, lower, extent;
    int count, flag;

    MPI_Type_contiguous(2, MPI_INT, &pairs);
    MPI_Type_commit(&pairs);
    MPI_Status_set_elements(&status, pairs, 5);
    MPI_Get_elements(&status, pairs, &count);
    CHECK(count == 5);
    MPI_Get_count(&status, pairs, &count);
    CHECK(count == MPI_UNDEFINED);
    MPI_Status_set_elements_x(&status, pairs, (MPI_Count)1 << 33);
    MPI_Get_elements_x(&status, pairs, &many);
    CHECK(many == (MPI_Count)1 << 33);
    MPI_Get_elements(&status, pairs, &count);
    CHECK(count == MPI_UNDEFINED);
    MPI_Status_set_cancelled(&status, 1);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
    status.MPI_SOURCE = 3;
    status.MPI_TAG = 4;
    status.MPI_ERROR = 5;
    MPI_Status_c2f(&status, fortran);
    CHECK(fortran[MPI_F_SOURCE] == 3 && fortran[MPI_F_TAG] == 4 && fortran[MPI_F_ERROR] == 5);
    MPI_Status_f2c(fortran, &back);
    CHECK(memcmp(&status, &back, sizeof(status)) == 0);
    MPI_Type_size_x(pairs, &many);
    MPI_Type_get_extent_x(pairs, &lower, &extent);
    CHECK(many == 8 && lower == 0 && extent == 8);
    MPI_Type_get_true_extent_x(pairs, &lower, &extent);
    CHECK(lower == 0 && extent == 8);
    MPI_Type_size_c(pairs, &many);
    CHECK(many == 8);
    MPI_Type_get_extent_c(pairs, &lower, &extent);
    CHECK(lower == 0 && extent == 8);
    int sent[4] = {1, 2, 3, 4}, got[4] = {0};
    MPI_Request request;
    MPI_Isend_c(sent, (MPI_Count)2, pairs, 0, 1, MPI_COMM_SELF, &request);
    MPI_Recv_c(got, (MPI_Count)2, pairs, 0, 1, MPI_COMM_SELF, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Get_count_c(&status, pairs, &many);
    CHECK(many == 2 && memcmp(sent, got, sizeof(got)) == 0);
    MPI_Get_elements_c(&status, pairs, &many);
    CHECK(many == 4);
    MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &type);
    CHECK(type == MPI_REAL8);
    MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 2, &type);
    CHECK(type == MPI_INTEGER2);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    FAILS(MPI_ERR_ARG, MPI_Type_match_size(MPI_TYPECLASS_REAL, 3, &type));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    /* Fortran's numbers of handles, also of those that were made. */
    CHECK(MPI_Type_f2c(MPI_Type_c2f(pairs)) == pairs);
    CHECK(MPI_Type_f2c(MPI_Type_c2f(MPI_DOUBLE)) == MPI_DOUBLE);
    CHECK(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)) == MPI_COMM_WORLD);
    CHECK(MPI_Request_f2c(MPI_Request_c2f(MPI_REQUEST_NULL)) == MPI_REQUEST_NULL);
    CHECK(MPI_Op_f2c(MPI_Op_c2f(MPI_SUM)) == MPI_SUM);
    MPI_Type_free(&pairs);
}
