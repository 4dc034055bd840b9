/*
 * tests/mpi/more_contents.c - attributes of datatypes, what they were made of, and arrays over
 * processes.
 */
#include "mpi_more.h"

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

void attributes(void)
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

void contents(void)
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
void arrays(void)
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
