/*
 * test_mpi_more.c - the rest of what programs call, each from the standard's text with its errors:
 * error codes, attributes and contents of datatypes, arrays over processes, external bytes, graphs,
 * communicators of a group, persistent collectives, requests of the program, Fortran's handles, and
 * intercommunicators.
 */
#include "mpi_test.h"

#define FAILS(error_class, call) CHECK((call) == (error_class))

/* ---- errors
 * -------------------------------------------------------------------------------------- */

static int raised, raised_by;

static void handler(MPI_Comm *comm, int *code, ...)
{
    raised = *code;
    raised_by = *comm == MPI_COMM_SELF;
}

static void error_codes(void)
{
    int class_added, code, known, length, flag, *last;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Errhandler own, got;

    MPI_Add_error_class(&class_added);
    CHECK(class_added > MPI_ERR_LASTCODE);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag);
    CHECK(flag && *last == class_added);
    MPI_Add_error_code(class_added, &code);
    MPI_Add_error_string(code, "out of paint");
    MPI_Error_string(code, text, &length);
    CHECK(strcmp(text, "out of paint") == 0 && length == (int)strlen(text));
    MPI_Error_class(code, &known);
    CHECK(known == class_added);
    MPI_Error_class(class_added, &known);
    CHECK(known == class_added);
    MPI_Error_string(class_added, text, &length);
    CHECK(length == 0);
    MPI_Add_error_code(MPI_ERR_ARG, &code);
    MPI_Error_class(code, &known);
    CHECK(known == MPI_ERR_ARG);
    MPI_Comm_create_errhandler(handler, &own);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, own);
    CHECK(MPI_Comm_call_errhandler(MPI_COMM_SELF, code) == MPI_SUCCESS);
    CHECK(raised == code && raised_by);
    MPI_Errhandler_get(MPI_COMM_SELF, &got);
    CHECK(got == own);
    MPI_Errhandler_free(&got);
    MPI_Errhandler_free(&own);
    MPI_Errhandler_set(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    FAILS(MPI_ERR_ARG, MPI_Add_error_string(MPI_ERR_ARG, "no"));
    FAILS(MPI_ERR_ARG, MPI_Error_class(code + 1, &known));
    FAILS(MPI_ERR_ARG, MPI_Error_string(-1, text, &length));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

/* ---- attributes and info
 * --------------------------------------------------------------------------- */

static int copies, deletes;

static int copy_type(MPI_Datatype type, int keyval, void *extra, void *value, void *copy, int *flag)
{
    (void)type;
    (void)keyval;
    copies++;
    *(void **)copy = (char *)value + 1;
    *flag = extra == NULL;
    return MPI_SUCCESS;
}

static int delete_type(MPI_Datatype type, int keyval, void *value, void *extra)
{
    (void)type;
    (void)keyval;
    (void)value;
    (void)extra;
    deletes++;
    return MPI_SUCCESS;
}

static void attributes(void)
{
    int key, other, flag;
    char *value, base[4];
    MPI_Datatype type, copy;
    MPI_Info info, got;
    MPI_Comm comm, again;
    char text[20];

    MPI_Type_create_keyval(copy_type, delete_type, &key, NULL);
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_set_attr(type, key, base);
    MPI_Type_dup(type, &copy);
    MPI_Type_get_attr(copy, key, &value, &flag);
    CHECK(copies == 1 && flag && value == base + 1);
    MPI_Type_free(&copy);
    CHECK(deletes == 1);
    MPI_Type_delete_attr(type, key);
    CHECK(deletes == 2);
    MPI_Type_get_attr(type, key, &value, &flag);
    CHECK(!flag);
    MPI_Type_set_attr(MPI_INT, key, base); /* also those of the standard */
    MPI_Type_get_attr(MPI_INT, key, &value, &flag);
    CHECK(flag && value == base);
    MPI_Type_delete_attr(MPI_INT, key);
    MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, &other, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    FAILS(MPI_ERR_KEYVAL, MPI_Type_set_attr(type, other, base));
    FAILS(MPI_ERR_KEYVAL, MPI_Attr_put(MPI_COMM_WORLD, key, base));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Attr_put(MPI_COMM_WORLD, other, base);
    MPI_Attr_get(MPI_COMM_WORLD, other, &value, &flag);
    CHECK(flag && value == base);
    MPI_Attr_delete(MPI_COMM_WORLD, other);
    MPI_Keyval_free(&other);
    MPI_Type_free_keyval(&key);
    CHECK(key == MPI_KEYVAL_INVALID);
    MPI_Type_free(&type);

    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
    MPI_Info_set(info, "colour", "blue"); /* which is no hint */
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
    MPI_Info_free(&info);
    MPI_Comm_dup(comm, &again);
    MPI_Comm_get_info(again, &got);
    MPI_Info_get(got, "mpi_assert_no_any_tag", 19, text, &flag);
    CHECK(flag && strcmp(text, "true") == 0);
    MPI_Info_free(&got);
    MPI_Comm_get_info(again, &got);
    MPI_Info_get(got, "colour", 19, text, &flag);
    CHECK(!flag);
    MPI_Info_free(&got);
    MPI_Comm_free(&again);
    MPI_Comm_free(&comm);
}

/* ---- datatypes
 * -------------------------------------------------------------------------------------- */

/* What a datatype was made of, against what is expected. Of large counts it is told as such. */
static void check_contents(MPI_Datatype type, int combiner, int integers, int addresses, int types)
{
    int counts[3], is, list[64];
    MPI_Count given[4], wide[64];
    MPI_Aint places[64];
    MPI_Datatype olds[64];

    MPI_Type_get_envelope_c(type, &given[0], &given[1], &given[2], &given[3], &is);
    CHECK(is == combiner && given[3] == types);
    CHECK(given[0] + given[1] + given[2] == integers + addresses);
    if (combiner == MPI_COMBINER_NAMED)
        return;
    if (given[2] == 0) {
        MPI_Type_get_envelope(type, &counts[0], &counts[1], &counts[2], &is);
        CHECK(is == combiner && counts[0] == integers && counts[1] == addresses);
        CHECK(counts[2] == types && given[0] == integers);
        MPI_Type_get_contents(type, 64, 64, 64, list, places, olds);
    } else {
        const int dims = combiner == MPI_COMBINER_SUBARRAY ? 2 : 10; /* and orders: of int */
        const int array = combiner == MPI_COMBINER_SUBARRAY || combiner == MPI_COMBINER_DARRAY;
        CHECK(given[1] == 0 && given[0] == (array ? dims : 0));
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        FAILS(MPI_ERR_TYPE, MPI_Type_get_envelope(type, &is, &is, &is, &is));
        FAILS(MPI_ERR_TYPE, MPI_Type_get_contents(type, 64, 64, 64, list, places, olds));
        FAILS(MPI_ERR_ARG,
              MPI_Type_get_contents_c(type, 64, 64, given[2] - 1, 64, list, places, wide, olds));
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
        MPI_Type_get_contents_c(type, 64, 64, 64, 64, list, places, wide, olds);
        for (int i = 0; !array && i < integers; i++)
            list[i] = (int)wide[i];
        for (int i = 0; !array && i < addresses; i++)
            places[i] = wide[integers + i];
        if (combiner == MPI_COMBINER_SUBARRAY)
            CHECK(list[0] == 2 && list[1] == MPI_ORDER_C && wide[0] == 4 && wide[5] == 2);
    }
    for (int i = 0; i < types; i++) {
        MPI_Type_get_envelope_c(olds[i], &given[0], &given[1], &given[2], &given[3], &is);
        if (is != MPI_COMBINER_NAMED)
            MPI_Type_free(&olds[i]);
    }
    if (combiner == MPI_COMBINER_INDEXED)
        CHECK(list[0] == 2 && list[1] == 1 && list[2] == 2 && list[3] == 5 && list[4] == 0);
    if (combiner == MPI_COMBINER_HINDEXED_BLOCK)
        CHECK(list[0] == 2 && list[1] == 3 && places[0] == 40 && places[1] == 4);
    if (combiner == MPI_COMBINER_HVECTOR)
        CHECK(list[0] == 3 && list[1] == 2 && places[0] == 32);
    if (combiner == MPI_COMBINER_RESIZED)
        CHECK(places[0] == -4 && places[1] == 24);
}

static void contents(void)
{
    const int int_lengths[] = {1, 2};
    const count_t lengths[] = {1, 2}, offsets[] = {5, 0}, sizes[] = {4, 6}, parts[] = {2, 3},
                  starts[] = {1, 2};
    const MPI_Aint places[] = {40, 4};
    MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE}, vector, t;
    int room[8];

    check_contents(MPI_INT, MPI_COMBINER_NAMED, 0, 0, 0);
    MPI_Type_contiguous(3, MPI_INT, &t);
    check_contents(t, MPI_COMBINER_CONTIGUOUS, 1, 0, 1);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    FAILS(sizeof(count_t) == sizeof(int) ? MPI_ERR_ARG : MPI_ERR_TYPE,
          MPI_Type_get_contents(t, 0, 0, 1, room, NULL, types));
    FAILS(MPI_ERR_TYPE, MPI_Type_get_contents(MPI_INT, 8, 0, 1, room, NULL, types));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    types[0] = MPI_INT;
    MPI_Type_free(&t);
    MPI_Type_vector(3, 2, 4, MPI_INT, &vector);
    check_contents(vector, MPI_COMBINER_VECTOR, 3, 0, 1);
    MPI_Type_hvector(3, 2, 32, vector, &t);
    MPI_Type_free(&vector); /* the other keeps it */
    check_contents(t, MPI_COMBINER_HVECTOR, 2, 1, 1);
    MPI_Type_free(&t);
    MPI_Type_indexed(2, lengths, offsets, MPI_INT, &t);
    check_contents(t, MPI_COMBINER_INDEXED, 5, 0, 1);
    MPI_Type_free(&t);
    MPI_Type_hindexed(2, (int *)int_lengths, (MPI_Aint *)places, MPI_INT, &t);
    check_contents(t, MPI_COMBINER_HINDEXED, 3, 2, 1);
    MPI_Type_free(&t);
    MPI_Type_create_indexed_block(2, 2, offsets, MPI_INT, &t);
    check_contents(t, MPI_COMBINER_INDEXED_BLOCK, 4, 0, 1);
    MPI_Type_free(&t);
    MPI_Type_create_hindexed_block(2, 3, places, MPI_INT, &t);
    check_contents(t, MPI_COMBINER_HINDEXED_BLOCK, 2, 2, 1);
    MPI_Type_free(&t);
    MPI_Type_struct(2, (int *)int_lengths, (MPI_Aint *)places, types, &t);
    check_contents(t, MPI_COMBINER_STRUCT, 3, 2, 2);
    MPI_Type_free(&t);
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &t);
    check_contents(t, MPI_COMBINER_SUBARRAY, 8, 0, 1);
    MPI_Type_free(&t);
    MPI_Type_create_resized(MPI_INT, -4, 24, &t);
    check_contents(t, MPI_COMBINER_RESIZED, 0, 2, 1);
    MPI_Aint bound;
    MPI_Type_lb(t, &bound);
    CHECK(bound == -4);
    MPI_Type_ub(t, &bound);
    CHECK(bound == 20);
    MPI_Type_extent(t, &bound);
    CHECK(bound == 24);
    MPI_Type_free(&t);
    MPI_Type_dup(MPI_INT, &t);
    check_contents(t, MPI_COMBINER_DUP, 0, 0, 1);
    MPI_Type_free(&t);
}

/* Which process has element `at` of a dimension, and the rest of it. */
static int owner(int size_of, int how, int argument, int n, int at)
{
    if (how == MPI_DISTRIBUTE_NONE)
        return 0;
    if (argument == MPI_DISTRIBUTE_DFLT_DARG)
        argument = how == MPI_DISTRIBUTE_CYCLIC ? 1 : (size_of + n - 1) / n;
    return at / argument % n;
}

/* Every element of the array is in the datatype of one process, in the array's order. */
static void arrays(void)
{
    enum { X = 7, Y = 9, PX = 2, PY = 3 };
    static const int hows[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    const count_t sizes[] = {X, Y};
    const int grid[] = {PX, PY};

    for (int which = 0; which < 24; which++) {
        const int order = which % 2 == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
        const int how[] = {hows[which / 2 % 2], hows[which / 4 % 2]};
        const int argument[] = {which / 8 == 0 ? MPI_DISTRIBUTE_DFLT_DARG : 3 + which / 8,
                                which / 8 == 1 ? 4 : MPI_DISTRIBUTE_DFLT_DARG};
        for (int process = 0; process < PX * PY; process++) {
            int array[X * Y], packed[X * Y], at = 0, bytes;
            count_t position = 0;
            MPI_Aint lower, extent;
            MPI_Datatype type;
            for (int i = 0; i < X * Y; i++)
                array[i] = i;
            CHECK(MPI_Type_create_darray(PX * PY, process, 2, sizes, how, argument, grid, order,
                                         MPI_INT, &type) == MPI_SUCCESS);
            MPI_Type_commit(&type);
            MPI_Type_get_extent(type, &lower, &extent);
            CHECK(lower == 0 && extent == sizeof(array));
            MPI_Type_size(type, &bytes);
            MPI_Pack(array, 1, type, packed, sizeof(packed), &position, MPI_COMM_SELF);
            for (int i = 0; i < X * Y; i++) {
                const int x = order == MPI_ORDER_C ? i / Y : i % X;
                const int y = order == MPI_ORDER_C ? i % Y : i / X;
                if (owner(X, how[0], argument[0], PX, x) == process / PY &&
                    owner(Y, how[1], argument[1], PY, y) == process % PY)
                    CHECK(packed[at++] == i);
            }
            CHECK(at * (int)sizeof(int) == bytes && position == bytes);
            if (process == 0)
                check_contents(type, MPI_COMBINER_DARRAY, 12, 0, 1);
            MPI_Type_free(&type);
        }
    }
    MPI_Datatype type;
    const int none[] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_NONE},
              small[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_BLOCK}, one[] = {1, 1};
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    FAILS(MPI_ERR_ARG,
          MPI_Type_create_darray(6, 0, 2, sizes, none, one, grid, MPI_ORDER_C, MPI_INT, &type));
    FAILS(MPI_ERR_ARG,
          MPI_Type_create_darray(6, 0, 2, sizes, small, one, grid, MPI_ORDER_C, MPI_INT, &type));
    FAILS(MPI_ERR_ARG,
          MPI_Type_create_darray(5, 0, 2, sizes, small, one, grid, MPI_ORDER_C, MPI_INT, &type));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void external(void)
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
static void beyond_int(void)
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

static void small_ones(void)
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

/* ---- requests of the program
 * -------------------------------------------------------------------------- */

static int queried, freed, cancelled;

static int query(void *extra, MPI_Status *status)
{
    queried++;
    MPI_Status_set_elements(status, MPI_INT, abs(*(int *)extra));
    MPI_Status_set_cancelled(status, cancelled);
    status->MPI_SOURCE = 77;
    status->MPI_TAG = 78;
    return MPI_SUCCESS;
}

static int release(void *extra)
{
    freed++;
    return *(int *)extra < 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    (void)extra;
    cancelled = !complete;
    return MPI_SUCCESS;
}

static void general(void)
{
    int extra = 3, flag, count;
    MPI_Request request, copy;
    MPI_Status status;

    MPI_Grequest_start(query, release, cancel, &extra, &request);
    MPI_Test(&request, &flag, &status);
    CHECK(!flag && queried == 0);
    copy = request;
    MPI_Cancel(&request);
    CHECK(cancelled);
    MPI_Grequest_complete(copy);
    MPI_Wait(&request, &status);
    CHECK(queried == 1 && freed == 1 && request == MPI_REQUEST_NULL);
    MPI_Get_count(&status, MPI_INT, &count);
    MPI_Test_cancelled(&status, &flag);
    CHECK(count == 3 && flag && status.MPI_SOURCE == 77 && status.MPI_TAG == 78);
    MPI_Grequest_start(query, release, cancel, &extra, &request);
    MPI_Grequest_complete(request);
    extra = -1; /* what the callbacks return is the call's error */
    FAILS(MPI_ERR_OTHER, MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(freed == 2);
}

/* ---- graphs
 * -------------------------------------------------------------------------------------------- */

/* A ring as a graph of both kinds: what neighbours send each other arrives. */
static void graphs(void)
{
    int *index = memory((size_t)size * sizeof(int)),
        *edges = memory((size_t)size * 2 * sizeof(int));
    const int left = (rank + size - 1) % size, right = (rank + 1) % size;
    int got[4] = {-1, -1, -1, -1}, near[4], nodes, count, kind, in, out, weighted, weights[2];
    MPI_Comm graph;

    for (int i = 0; i < size; i++) {
        index[i] = 2 * (i + 1);
        edges[2 * i] = (i + size - 1) % size;
        edges[2 * i + 1] = (i + 1) % size;
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &graph);
    MPI_Topo_test(graph, &kind);
    CHECK(kind == MPI_GRAPH);
    MPI_Graphdims_get(graph, &nodes, &count);
    CHECK(nodes == size && count == 2 * size);
    int *is = memory((size_t)size * sizeof(int)), *to = memory((size_t)size * 2 * sizeof(int));
    MPI_Graph_get(graph, size, 2 * size, is, to);
    CHECK(memcmp(is, index, (size_t)size * sizeof(int)) == 0);
    CHECK(memcmp(to, edges, (size_t)size * 2 * sizeof(int)) == 0);
    MPI_Graph_neighbors_count(graph, rank, &count);
    MPI_Graph_neighbors(graph, rank, 4, near);
    CHECK(count == 2 && near[0] == left && near[1] == right);
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, graph);
    CHECK(got[0] == left && got[1] == right);
    MPI_Comm_free(&graph);
    MPI_Graph_map(MPI_COMM_WORLD, size, index, edges, &nodes);
    CHECK(nodes == rank);
    MPI_Graph_map(MPI_COMM_WORLD, 0, index, edges, &nodes);
    CHECK(nodes == MPI_UNDEFINED);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    FAILS(MPI_ERR_ARG, MPI_Graph_create(MPI_COMM_WORLD, size + 1, index, edges, 0, &graph));
    edges[0] = size;
    FAILS(MPI_ERR_ARG, MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &graph));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    /* The first gives all edges, each to the next one on. */
    int n = rank == 0 ? size : 0, *sources = is, *degrees = index;
    for (int i = 0; i < size; i++) {
        sources[i] = i;
        degrees[i] = 1;
        to[i] = (i + 1) % size;
        edges[i] = 10 + i;
    }
    MPI_Dist_graph_create(MPI_COMM_WORLD, n, sources, degrees, to, edges, MPI_INFO_NULL, 0, &graph);
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    CHECK(in == 1 && out == 1 && weighted);
    MPI_Dist_graph_neighbors(graph, 1, near, weights, 1, near + 1, weights + 1);
    CHECK(near[0] == left && near[1] == right && weights[0] == 10 + left &&
          weights[1] == 10 + rank);
    MPI_Neighbor_alltoall(&rank, 1, MPI_INT, got, 1, MPI_INT, graph);
    CHECK(got[0] == left);
    MPI_Comm_free(&graph);
    const int dims[] = {size}, periods[] = {0};
    MPI_Cart_map(MPI_COMM_WORLD, 1, dims, periods, &nodes);
    CHECK(nodes == rank);
    free(index);
    free(edges);
    free(is);
    free(to);
}

/* ---- communicators of a group
 * ------------------------------------------------------------------------------ */

static void of_groups(void)
{
    MPI_Group world, some;
    MPI_Comm comm, dup;
    int n, me, sum = 0;
    int *ranks = memory((size_t)size * sizeof(int));

    /* Those of equal parity, the last first; both at once, and each with several. */
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    n = 0;
    for (int i = size - 1; i >= 0; i--)
        if (i % 2 == rank % 2)
            ranks[n++] = i;
    MPI_Group_incl(world, n, ranks, &some);
    for (int round = 0; round < 3; round++) {
        MPI_Comm_create_group(MPI_COMM_WORLD, some, round, &comm);
        MPI_Comm_rank(comm, &me);
        CHECK(ranks[me] == rank);
        MPI_Comm_dup(comm, &dup);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, dup);
        int expected = 0;
        for (int i = 0; i < n; i++)
            expected += ranks[i];
        CHECK(sum == expected);
        MPI_Comm_free(&dup);
        MPI_Comm_free(&comm);
    }
    MPI_Group_free(&some);
    MPI_Group_excl(world, 1, &rank, &some); /* without this one */
    MPI_Comm_create_group(MPI_COMM_WORLD, some, 0, &comm);
    CHECK(comm == MPI_COMM_NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    FAILS(MPI_ERR_TAG, MPI_Comm_create_group(MPI_COMM_WORLD, some, -1, &comm));
    FAILS(MPI_ERR_GROUP, MPI_Comm_create_group(MPI_COMM_WORLD, MPI_GROUP_NULL, 0, &comm));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    if (some != MPI_GROUP_EMPTY)
        MPI_Group_free(&some);
    MPI_Group_free(&world);
    free(ranks);
}

/* ---- persistent collectives
 * ---------------------------------------------------------------------------------- */

static void persistent(void)
{
    int in[8], out[8], *all = memory((size_t)size * sizeof(int)), *each;
    int *send = memory((size_t)size * sizeof(int)), sum;
    MPI_Request requests[5], twice;
    MPI_Datatype pairs;

    each = memory((size_t)size * sizeof(int));
    MPI_Type_contiguous(2, MPI_INT, &pairs);
    MPI_Type_commit(&pairs);
    MPI_Bcast_init(out, 2, pairs, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Allreduce_init(in, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    MPI_Allgather_init(in, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &requests[2]);
    MPI_Alltoall_init(send, 1, MPI_INT, each, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                      &requests[3]);
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[4]);
    MPI_Type_free(&pairs); /* the request keeps it */
    /* Arrays may go, too. */
    count_t *counts = memory((size_t)size * sizeof(*counts));
    int part = -1;
    for (int i = 0; i < size; i++)
        counts[i] = 1;
    MPI_Request scattered;
    MPI_Reduce_scatter_init(send, &part, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                            &scattered);
    memset(counts, 0xff, (size_t)size * sizeof(*counts));
    free(counts);
    for (int i = 0; i < size; i++)
        send[i] = rank + i;
    MPI_Start(&scattered);
    MPI_Wait(&scattered, MPI_STATUS_IGNORE);
    CHECK(part == size * (size - 1) / 2 + size * rank);
    MPI_Request_free(&scattered);
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 8; i++) {
            in[i] = rank + round;
            out[i] = rank == 0 ? round * 10 + i : -1;
        }
        for (int i = 0; i < size; i++)
            send[i] = rank * 100 + i + round;
        for (int i = 0; i < 5; i++) /* in another order everywhere */
            MPI_Start(&requests[(i + rank) % 5]);
        MPI_Waitall(5, requests, MPI_STATUSES_IGNORE);
        CHECK(sum == size * (size - 1) / 2 + size * round);
        for (int i = 0; i < 4; i++)
            CHECK(out[i] == round * 10 + i);
        for (int i = 0; i < size; i++)
            CHECK(all[i] == i + round && each[i] == i * 100 + rank + round);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    FAILS(MPI_ERR_COMM, MPI_Bcast_init(out, 2, MPI_INT, 0, MPI_COMM_NULL, MPI_INFO_NULL, &twice));
    MPI_Start(&requests[4]);
    FAILS(MPI_ERR_REQUEST, MPI_Start(&requests[4]));
    MPI_Wait(&requests[4], MPI_STATUS_IGNORE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    for (int i = 0; i < 5; i++)
        MPI_Request_free(&requests[i]);
    free(all);
    free(each);
    free(send);
}

/* ---- intercommunicators
 * -------------------------------------------------------------------------------------- */

/* Even and odd ranks on its two sides. */
static MPI_Comm make_inter(MPI_Comm *local)
{
    MPI_Comm inter;

    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, local);
    MPI_Intercomm_create(*local, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &inter);
    return inter;
}

/* Keeps the lower member's. */
static void keep_lower(void *in, void *inout, count_t *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < (int)*count; i++)
        ((int *)inout)[2 * i] = ((int *)in)[2 * i];
}

/* Of elements with gaps, by an operation that does not commute; in parts of one and two. */
static void check_gaps(MPI_Comm inter, int me, int n, int remote)
{
    const int first = rank % 2 == 0 ? 1 : 0; /* of the other side, in the world */
    int send[128], all[128];
    count_t counts[64];
    MPI_Datatype wide;
    MPI_Op op;

    MPI_Type_create_resized(MPI_INT, 0, 8, &wide);
    MPI_Type_commit(&wide);
    MPI_Op_create(keep_lower, 0, &op);
    for (int i = 0; i < 128; i++) {
        send[i] = rank * 1000 + i;
        all[i] = -1;
    }
    MPI_Allreduce(send, all, 3, wide, op, inter);
    for (int i = 0; i < 6; i++)
        CHECK(all[i] == (i % 2 == 0 ? first * 1000 + i : -1));
    /* Both sides give as many: n * remote. */
    for (int i = 0; i < n; i++)
        counts[i] = remote;
    MPI_Reduce_scatter(send, all, counts, wide, op, inter);
    for (int i = 0; i < 2 * remote; i++)
        CHECK(all[i] == (i % 2 == 0 ? first * 1000 + 2 * me * remote + i : -1));
    MPI_Op_free(&op);
    MPI_Type_free(&wide);
}

/* Of who is not the root on its side no argument but the root counts, whatever it is. */
static void check_no_arguments(MPI_Comm inter, int me)
{
    const MPI_Datatype none = MPI_DATATYPE_NULL;
    const int even = rank % 2 == 0, root = even ? (me == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
    int value = 1, all[64];
    count_t counts[64];
    place_t offsets[64];

    for (int i = 0; i < 64; i++) {
        all[i] = i;
        counts[i] = 1;
        offsets[i] = i;
    }
    if (root == MPI_PROC_NULL) {
        MPI_Bcast(NULL, -1, none, root, inter);
        MPI_Gather(NULL, -1, none, NULL, -1, none, root, inter);
        MPI_Gatherv(NULL, -1, none, NULL, NULL, NULL, none, root, inter);
        MPI_Scatter(NULL, -1, none, NULL, -1, none, root, inter);
        MPI_Scatterv(NULL, NULL, NULL, none, NULL, -1, none, root, inter);
        MPI_Reduce(NULL, NULL, -1, none, MPI_OP_NULL, root, inter);
        MPI_Reduce(NULL, NULL, 0, MPI_BYTE, MPI_SUM, root, inter);
    } else {
        MPI_Bcast(&value, 1, MPI_INT, root, inter);
        MPI_Gather(&value, 1, MPI_INT, all, 1, MPI_INT, root, inter);
        MPI_Gatherv(&value, 1, MPI_INT, all, counts, offsets, MPI_INT, root, inter);
        MPI_Scatter(all, 1, MPI_INT, &value, 1, MPI_INT, root, inter);
        MPI_Scatterv(all, counts, offsets, MPI_INT, &value, 1, MPI_INT, root, inter);
        MPI_Reduce(&value, all, 1, MPI_INT, MPI_SUM, root, inter);
        MPI_Reduce(&value, all, 1, MPI_INT, MPI_SUM, root, inter);
    }
}

static void check_collectives(MPI_Comm inter, int me, int n, int remote)
{
    const int even = rank % 2 == 0, first_root = even ? (me == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
    int value = even && me == 0 ? 42 : -1, all[64], send[64], sum = -1;
    count_t counts[64];
    place_t offsets[64];

    MPI_Bcast(&value, 1, MPI_INT, first_root, inter);
    CHECK(value == (even && me != 0 ? -1 : 42));
    for (int i = 0; i < 64; i++) {
        all[i] = -1;
        send[i] = rank * 64 + i;
        counts[i] = 1;
        offsets[i] = 63 - i;
    }
    MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, first_root, inter);
    for (int i = 0; i < remote && first_root == MPI_ROOT; i++)
        CHECK(all[i] == 2 * i + 1);
    MPI_Gatherv(&rank, 1, MPI_INT, all, counts, offsets, MPI_INT, first_root, inter);
    for (int i = 0; i < remote && first_root == MPI_ROOT; i++)
        CHECK(all[63 - i] == 2 * i + 1);
    MPI_Scatter(send, 1, MPI_INT, &value, 1, MPI_INT, first_root, inter);
    CHECK(even || value == me);
    MPI_Scatterv(send, counts, offsets, MPI_INT, &value, 1, MPI_INT, first_root, inter);
    CHECK(even || value == 63 - me);
    MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, inter);
    for (int i = 0; i < remote; i++)
        CHECK(all[i] == 2 * i + even);
    MPI_Allgatherv(&rank, 1, MPI_INT, all, counts, offsets, MPI_INT, inter);
    for (int i = 0; i < remote; i++)
        CHECK(all[63 - i] == 2 * i + even);
    MPI_Alltoall(send, 1, MPI_INT, all, 1, MPI_INT, inter);
    for (int i = 0; i < remote; i++)
        CHECK(all[i] == (2 * i + even) * 64 + me);
    MPI_Alltoallv(send, counts, offsets, MPI_INT, all, counts, offsets, MPI_INT, inter);
    for (int i = 0; i < remote; i++)
        CHECK(all[63 - i] == (2 * i + even) * 64 + 63 - me);
    int expected = 0;
    for (int i = 0; i < remote; i++)
        expected += 2 * i + even;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, inter);
    CHECK(sum == expected);
    sum = -1;
    MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, first_root, inter);
    CHECK(sum == (first_root == MPI_ROOT ? expected : -1));
    /* n * remote elements, of which each member of a side gets its part. */
    for (int i = 0; i < n * remote; i++)
        send[i] = rank + i;
    MPI_Reduce_scatter_block(send, all, remote, MPI_INT, MPI_SUM, inter);
    for (int i = 0; i < remote; i++)
        CHECK(all[i] == expected + remote * (me * remote + i));
    for (int i = 0; i < n; i++)
        counts[i] = remote;
    MPI_Reduce_scatter(send, all, counts, MPI_INT, MPI_SUM, inter);
    for (int i = 0; i < remote; i++)
        CHECK(all[i] == expected + remote * (me * remote + i));
    check_gaps(inter, me, n, remote);
    check_no_arguments(inter, me);
    MPI_Request request;
    MPI_Ibarrier(inter, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(inter);
}

static void intercommunicators(void)
{
    MPI_Comm local, inter, dup, merged, part;
    MPI_Group group;
    MPI_Status status;
    int me, n, remote, flag, value, result;

    if (size < 2)
        return;
    inter = make_inter(&local);
    MPI_Comm_test_inter(inter, &flag);
    CHECK(flag);
    MPI_Comm_size(inter, &n);
    MPI_Comm_rank(inter, &me);
    MPI_Comm_remote_size(inter, &remote);
    CHECK(n == (size + 1 - rank % 2) / 2 && me == rank / 2 && n + remote == size);
    MPI_Comm_remote_group(inter, &group);
    MPI_Group_size(group, &value);
    CHECK(value == remote);
    MPI_Group_rank(group, &value);
    CHECK(value == MPI_UNDEFINED);
    MPI_Group_free(&group);
    MPI_Comm_dup(inter, &dup);
    MPI_Comm_compare(inter, dup, &result);
    CHECK(result == MPI_CONGRUENT);
    MPI_Comm_compare(inter, local, &result);
    CHECK(result == MPI_UNEQUAL);
    /* Ranks of messages are those of the other group. */
    for (int to = 0; to < remote; to++) {
        MPI_Request request;
        MPI_Isend(&rank, 1, MPI_INT, to, 3, dup, &request);
        MPI_Request_free(&request);
    }
    for (int i = 0; i < remote; i++) {
        MPI_Probe(MPI_ANY_SOURCE, 3, dup, &status);
        MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, 3, dup, &status);
        CHECK(value == 2 * status.MPI_SOURCE + 1 - rank % 2);
    }
    check_collectives(inter, me, n, remote);
    check_collectives(dup, me, n, remote);
    for (int high = 0; high < 3; high++) {
        MPI_Intercomm_merge(inter, high == 2 ? 0 : high == rank % 2, &merged);
        MPI_Comm_rank(merged, &value);
        CHECK(value == (high == 0 ? (rank % 2 == 1 ? me : remote + me)
                                  : (rank % 2 == 0 ? me : remote + me)) ||
              high == 2);
        MPI_Allreduce(&rank, &value, 1, MPI_INT, MPI_SUM, merged);
        CHECK(value == size * (size - 1) / 2);
        MPI_Comm_free(&merged);
    }
    /* The first of both sides; the others have no part. */
    MPI_Comm_split(inter, me == 0 ? 1 : MPI_UNDEFINED, 0, &part);
    CHECK((part == MPI_COMM_NULL) == (me != 0));
    if (me == 0) {
        MPI_Comm_remote_size(part, &value);
        CHECK(value == 1);
        MPI_Comm_free(&part);
    }
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    FAILS(MPI_ERR_RANK, MPI_Send(&value, 1, MPI_INT, remote, 0, inter));
    FAILS(MPI_ERR_ROOT, MPI_Bcast(&value, 1, MPI_INT, remote, inter));
    FAILS(MPI_ERR_COMM, MPI_Scan(&value, &result, 1, MPI_INT, MPI_SUM, inter));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    FAILS(MPI_ERR_COMM, MPI_Intercomm_merge(MPI_COMM_WORLD, 0, &merged));
    FAILS(MPI_ERR_COMM, MPI_Comm_remote_size(MPI_COMM_WORLD, &value));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_free(&dup);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    error_codes();
    attributes();
    contents();
    arrays();
    external();
    small_ones();
    beyond_int();
    general();
    graphs();
    of_groups();
    persistent();
    intercommunicators();
    MPI_Finalize();
    return 0;
}
