/*
 * tests/mpi/types_bounds.c - bounds and paddings of datatypes, parts of arrays, and what is
 * refused.
 */
#include "mpi_types.h"

static void check_bounds(MPI_Datatype type, MPI_Aint lower, MPI_Aint extent, MPI_Aint true_lower,
                         MPI_Aint true_extent)
{
    MPI_Aint got[4];

    MPI_Type_get_extent(type, &got[0], &got[1]);
    MPI_Type_get_true_extent(type, &got[2], &got[3]);
    CHECK(got[0] == lower && got[1] == extent && got[2] == true_lower && got[3] == true_extent);
    MPI_Type_free(&type);
}

/* Bounds of each constructor, by the rules of MPI 3.1, 4.1.6: of ints that end before they begin.
 */
void negative_extents(void)
{
    const count_t lengths[3] = {2, 0, 1}, offsets[3] = {4, -20, -2}, pair[2] = {4, -2};
    const count_t sizes[2] = {4, 5}, parts[2] = {2, 3}, starts[2] = {1, 1};
    const MPI_Aint places[3] = {5, -21, -3};
    MPI_Datatype back, type, types[2];

    MPI_Type_create_resized(MPI_INT, 6, -9, &back);
    MPI_Type_dup(back, &type);
    check_bounds(type, 6, -9, 0, 4);
    MPI_Type_contiguous(3, back, &type);
    check_bounds(type, -12, 9, -18, 22);
    MPI_Type_vector(3, 2, 5, back, &type);
    check_bounds(type, -93, 90, -99, 103);
    MPI_Type_vector(3, 2, -5, back, &type);
    check_bounds(type, -3, 90, -9, 103);
    MPI_Type_vector(2, 1, -1, back, &type);
    check_bounds(type, 6, 0, 0, 13);
    MPI_Type_create_hvector(3, 2, -7, back, &type);
    check_bounds(type, -17, 14, -23, 27);
    MPI_Type_indexed(3, lengths, offsets, back, &type);
    check_bounds(type, -39, 54, -45, 67);
    MPI_Type_create_hindexed(3, lengths, places, back, &type);
    check_bounds(type, 2, 0, -4, 13);
    MPI_Type_create_indexed_block(2, 2, pair, back, &type);
    check_bounds(type, -39, 54, -45, 67);
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, back, &type);
    check_bounds(type, 0, -180, -117, 67);
    MPI_Type_create_struct(1, (count_t[]){3}, (MPI_Aint[]){-7}, &back, &type);
    check_bounds(type, -19, 9, -25, 22);
    types[0] = back;
    types[1] = MPI_CHAR;
    MPI_Type_create_struct(2, (count_t[]){1, 1}, (MPI_Aint[]){0, 16}, types, &type);
    check_bounds(type, 6, -9, 0, 17);
    MPI_Type_create_resized(back, 2, 6, &type);
    check_bounds(type, 2, 6, 0, 4);
    MPI_Type_free(&back);
}

/* A type is padded to the alignment of what is in it, unless it has bounds of a resized type. */
void paddings(void)
{
    MPI_Datatype tight, type, inner, types[2] = {MPI_INT, MPI_CHAR};
    const count_t ones[2] = {1, 1};

    MPI_Type_create_resized(MPI_DOUBLE, 0, 12, &tight);
    MPI_Type_create_struct(1, ones, (MPI_Aint[]){3}, &tight, &type);
    check_bounds(type, 3, 12, 3, 8);
    types[0] = tight;
    MPI_Type_create_struct(2, ones, (MPI_Aint[]){0, -5}, types, &type);
    check_bounds(type, 0, 12, -5, 13);
    MPI_Type_create_struct(2, ones, (MPI_Aint[]){16, 0}, types, &type);
    check_bounds(type, 16, 12, 0, 24);
    MPI_Type_create_struct(2, (count_t[]){0, 1}, (MPI_Aint[]){16, 1}, types, &type);
    check_bounds(type, 1, 1, 1, 1);
    MPI_Type_create_hvector(3, 2, 33, MPI_INT, &type);
    check_bounds(type, 0, 76, 0, 74);
    types[0] = MPI_INT;
    MPI_Type_create_struct(2, ones, (MPI_Aint[]){0, 4}, types, &inner);
    MPI_Type_dup(inner, &type);
    types[1] = type;
    MPI_Type_create_struct(2, ones, (MPI_Aint[]){0, 17}, types, &inner);
    check_bounds(inner, 0, 28, 0, 22);
    check_bounds(type, 0, 8, 0, 5);
    MPI_Type_contiguous(0, MPI_INT, &inner);
    check_bounds(inner, 0, 0, 0, 0);
    MPI_Type_free(&tight);
}

/* What is not there, or no type can have; a place for the result that is NULL. */
void refused_types(void)
{
    const count_t one = 1, less = -1, four = 4, zero = 0;
    const MPI_Aint place = 0;
    const MPI_Datatype old = MPI_INT;
    MPI_Datatype type;
    MPI_Aint aint;
    int number;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(MPI_Type_contiguous(-1, old, &type) == MPI_ERR_COUNT);
    CHECK(MPI_Type_create_struct(-1, &one, &place, &old, &type) == MPI_ERR_COUNT);
    CHECK(MPI_Type_create_struct(1, &less, &place, &old, &type) == MPI_ERR_COUNT);
    CHECK(MPI_Type_vector(1, -1, 1, old, &type) == MPI_ERR_ARG);
    CHECK(MPI_Type_create_subarray(1, &four, &one, &zero, 99, old, &type) == MPI_ERR_ARG);
    CHECK(MPI_Type_contiguous(1, old, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Type_vector(1, 1, 1, old, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Type_create_struct(1, &one, &place, &old, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Type_dup(old, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Type_size(old, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Type_get_extent(old, NULL, &aint) == MPI_ERR_ARG);
    CHECK(MPI_Type_get_true_extent(old, &aint, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Pack_size(1, old, MPI_COMM_SELF, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Op_create(NULL, 1, &(MPI_Op){MPI_OP_NULL}) == MPI_ERR_ARG);
    CHECK(MPI_Info_create(NULL) == MPI_ERR_ARG);
    CHECK(MPI_Reduce_local(&one, &number, 1, MPI_INT, MPI_SUM) == MPI_SUCCESS);
    CHECK(MPI_Reduce_local(&number, &number, 1, MPI_INT, MPI_SUM) == MPI_ERR_BUFFER);
    CHECK(MPI_Reduce_local(MPI_IN_PLACE, &number, 1, MPI_INT, MPI_SUM) == MPI_ERR_BUFFER);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

void subarrays(void)
{
    const count_t sizes[3] = {4, 5, 6}, sub[3] = {2, 3, 2}, starts[3] = {1, 1, 3};
    int whole[120], part[12];
    MPI_Datatype type;
    MPI_Aint lower, extent;

    for (int i = 0; i < 120; i++)
        whole[i] = i;
    for (int fortran = 0; fortran < 2; fortran++) {
        count_t position = 0;
        MPI_Type_create_subarray(3, sizes, sub, starts, fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C,
                                 MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Type_get_extent(type, &lower, &extent);
        CHECK(lower == 0 && extent == 480);
        MPI_Pack(whole, 1, type, part, sizeof(part), &position, MPI_COMM_SELF);
        for (int i = 0; i < 12; i++)
            if (fortran)
                CHECK(part[i] == 1 + i % 2 + 4 * (1 + i / 2 % 3) + 20 * (3 + i / 6));
            else
                CHECK(part[i] == 30 * (1 + i / 6) + 6 * (1 + i / 2 % 3) + 3 + i % 2);
        MPI_Type_free(&type);
    }
}
