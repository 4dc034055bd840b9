/*
 * tests/mpi/test_mpi_reduce.c - every collective that computes, as mpi_coll.h says: operations that
 * do not commute, in the order of the members; sums; places of the least and greatest.
 */
#include "mpi_coll.h"

/* 2 x 2 matrices modulo a prime: associative, not commutative. */
typedef struct matrix {
    unsigned a, b, c, d;
} matrix;

static matrix times(matrix x, matrix y)
{
    const unsigned p = 9973;

    return (matrix){.a = (x.a * y.a + x.b * y.c) % p,
                    .b = (x.a * y.b + x.b * y.d) % p,
                    .c = (x.c * y.a + x.d * y.c) % p,
                    .d = (x.c * y.b + x.d * y.d) % p};
}

static void multiply(void *in, void *inout, count_t *count, MPI_Datatype *type)
{
    MPI_Aint lower, extent;

    MPI_Type_get_extent(*type, &lower, &extent);
    for (int i = 0; i < *count; i++) {
        matrix *x = (matrix *)((char *)in + i * extent),
               *y = (matrix *)((char *)inout + i * extent);
        *y = times(*x, *y);
    }
}

static matrix matrix_of(int who, int i)
{
    return (matrix){.a = mix((uint32_t)who, (uint32_t)i, 1) % 9973,
                    .b = mix((uint32_t)who, (uint32_t)i, 2) % 9973,
                    .c = mix((uint32_t)who, (uint32_t)i, 3) % 9973,
                    .d = mix((uint32_t)who, (uint32_t)i, 4) % 9973};
}

/* Elements i of members first to last, put together. */
static matrix product(int first, int last, int i)
{
    matrix x = matrix_of(first, i);

    for (int k = first + 1; k <= last; k++)
        x = times(x, matrix_of(k, i));
    return x;
}

static int same(matrix x, matrix y)
{
    return memcmp(&x, &y, sizeof(x)) == 0;
}

/* `gap` unused matrices behind each, in the datatype. */
static void ordered(int count, int root, int gap)
{
    MPI_Datatype four, type;
    MPI_Op op;
    const int step = 1 + gap;
    matrix *mine = memory((size_t)(count * n * step) * sizeof(matrix));
    matrix *all = memory((size_t)(count * n * step) * sizeof(matrix));

    MPI_Type_contiguous(4, MPI_UNSIGNED, &four);
    MPI_Type_create_resized(four, 0, (MPI_Aint)sizeof(matrix) * step, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(multiply, 0, &op);
    for (int in_place = 0; in_place < 2; in_place++) {
        for (int i = 0; i < count * n; i++)
            mine[i * step] = matrix_of(me, i);
#define RESET()                                                                                    \
    memset(all, 0x11, (size_t)(count * n * step) * sizeof(matrix));                                \
    if (in_place)                                                                                  \
    memcpy(all, mine, (size_t)(count * n * step) * sizeof(matrix))
        RESET();
        CALL(Reduce, in_place && me == root ? MPI_IN_PLACE : mine, all, count, type, op, root);
        for (int i = 0; me == root && i < count; i++)
            CHECK(same(all[i * step], product(0, n - 1, i)));
        RESET();
        CALL(Allreduce, in_place ? MPI_IN_PLACE : mine, all, count, type, op);
        for (int i = 0; i < count; i++)
            CHECK(same(all[i * step], product(0, n - 1, i)));
        RESET();
        CALL(Scan, in_place ? MPI_IN_PLACE : mine, all, count, type, op);
        for (int i = 0; i < count; i++)
            CHECK(same(all[i * step], product(0, me, i)));
        RESET();
        CALL(Exscan, in_place ? MPI_IN_PLACE : mine, all, count, type, op);
        for (int i = 0; me > 0 && i < count; i++)
            CHECK(same(all[i * step], product(0, me - 1, i)));
        RESET();
        CALL(Reduce_scatter_block, in_place ? MPI_IN_PLACE : mine, all, count, type, op);
        for (int i = 0; i < count; i++)
            CHECK(same(all[i * step], product(0, n - 1, me * count + i)));
    }
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    MPI_Type_free(&four);
    free(mine);
    free(all);
}

/* The standard's operations, on numbers whose sums are exact. */
static void sums(int count, int root)
{
    int *mine = filled(count * n, me), *all = memory((size_t)(count * n) * sizeof(int));
    count_t *counts = memory((size_t)n * sizeof(*counts));
    int before = 0;

    for (int in_place = 0; in_place < 2; in_place++) {
#define EXPECT_SUM(got, i)                                                                         \
    do {                                                                                           \
        int sum = 0;                                                                               \
        for (int k = 0; k < n; k++)                                                                \
            sum += value(k, i);                                                                    \
        CHECK((got) == sum);                                                                       \
    } while (0)
        memcpy(all, mine, (size_t)(count * n) * sizeof(int));
        CALL(Reduce, in_place && me == root ? MPI_IN_PLACE : mine, all, count, MPI_INT, MPI_SUM,
             root);
        for (int i = 0; me == root && i < count; i++)
            EXPECT_SUM(all[i], i);
        memcpy(all, mine, (size_t)(count * n) * sizeof(int));
        CALL(Allreduce, in_place ? MPI_IN_PLACE : mine, all, count, MPI_INT, MPI_SUM);
        for (int i = 0; i < count; i++)
            EXPECT_SUM(all[i], i);
        before = 0;
        for (int k = 0, left = count * n; k < n; k++) {
            counts[k] =
                k == n - 1 ? left : (int)(mix((uint32_t)k, 3, 3) % (uint32_t)(left / 2 + 1));
            left -= counts[k];
            before += k < me ? counts[k] : 0;
        }
        memcpy(all, mine, (size_t)(count * n) * sizeof(int));
        CALL(Reduce_scatter, in_place ? MPI_IN_PLACE : mine, all, counts, MPI_INT, MPI_SUM);
        for (int i = 0; i < counts[me]; i++)
            EXPECT_SUM(all[i], before + i);
    }
    free(mine);
    free(all);
    free(counts);
}

static void indexes(void)
{
    struct pair {
        double value;
        int index;
    } mine = {me % 3 == 1 ? -5 : me, me}, all;

    CALL(Allreduce, &mine, &all, 1, MPI_DOUBLE_INT, MPI_MINLOC);
    CHECK(n > 1 ? all.value == -5 && all.index == 1 : all.index == 0);
    CALL(Allreduce, &mine, &all, 1, MPI_DOUBLE_INT, MPI_MAXLOC);
    int best = 0;
    for (int k = 0; k < n; k++)
        best = k % 3 != 1 && k > best ? k : best;
    CHECK(all.index == best && all.value == best);
}

/* The operation and the datatype are freed while a reduction is under way that uses both. */
static void freed(void)
{
    const matrix mine = matrix_of(me, 0);
    matrix all;
    MPI_Datatype four;
    MPI_Op op;
    MPI_Request request;

    MPI_Type_contiguous(4, MPI_UNSIGNED, &four);
    MPI_Type_commit(&four);
    MPI_Op_create(multiply, 0, &op);
    MPI_Iallreduce(&mine, &all, 1, four, op, comm, &request);
    MPI_Op_free(&op);
    MPI_Type_free(&four);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(same(all, product(0, n - 1, 0)));
}

static void keep_first(void *in, void *inout, count_t *count, MPI_Datatype *type)
{
    MPI_Aint lower, extent;

    MPI_Type_get_extent(*type, &lower, &extent);
    for (int i = 0; i < *count; i++)
        *(int *)((char *)inout + i * extent) = *(int *)((char *)in + i * extent);
}

/* Elements that lie outside of their type's bounds. */
static void shifted(void)
{
    enum { COUNT = 5 };
    int mine[2 * COUNT], all[2 * COUNT];
    MPI_Datatype type;
    MPI_Op op;

    MPI_Type_create_resized(MPI_INT, 4, 8, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(keep_first, 0, &op);
    for (int i = 0; i < 2 * COUNT; i++) {
        mine[i] = value(me, i);
        all[i] = -1;
    }
    CALL(Allreduce, mine, all, COUNT, type, op);
    for (int i = 0; i < 2 * COUNT; i++)
        CHECK(all[i] == (i % 2 == 0 ? value(0, i) : -1));
    MPI_Op_free(&op);
    MPI_Type_free(&type);
}

static void add_threes(void *in, void *inout, count_t *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < 3 * *count; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

/* Elements of which no power of two is a multiple; so many bytes that they go in pieces. */
static void threes(void)
{
    enum { COUNT = 4000 };
    int *mine = filled(3 * COUNT, me), *all = memory(3 * COUNT * sizeof(int));
    MPI_Datatype type;
    MPI_Op op;

    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(add_threes, 1, &op);
    for (int rooted = 0; rooted < 2; rooted++) {
        if (rooted)
            CALL(Reduce, mine, all, COUNT, type, op, n - 1);
        else
            CALL(Allreduce, mine, all, COUNT, type, op);
        for (int i = 0; (!rooted || me == n - 1) && i < 3 * COUNT; i++)
            EXPECT_SUM(all[i], i);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    free(mine);
    free(all);
}

/* No counts, or no displacements of a piece that has bytes. */
static void no_arrays(void)
{
    int b[1] = {7}, got[1] = {-1};
    const count_t one[1] = {1};
    const place_t at[1] = {0};
    const MPI_Datatype types[1] = {MPI_INT};
    MPI_Comm self;

    MPI_Comm_split(comm, me, 0, &self);
    MPI_Comm_set_errhandler(self, MPI_ERRORS_RETURN);
#define NOTHING(call) CHECK((call) == MPI_ERR_ARG)
    NOTHING(MPI_Gatherv(b, 1, MPI_INT, got, NULL, at, MPI_INT, 0, self));
    NOTHING(MPI_Gatherv(b, 1, MPI_INT, got, one, NULL, MPI_INT, 0, self));
    NOTHING(MPI_Scatterv(b, NULL, at, MPI_INT, got, 1, MPI_INT, 0, self));
    NOTHING(MPI_Allgatherv(b, 1, MPI_INT, got, NULL, at, MPI_INT, self));
    NOTHING(MPI_Alltoallv(b, one, at, MPI_INT, got, NULL, at, MPI_INT, self));
    NOTHING(MPI_Alltoallv(b, one, NULL, MPI_INT, got, one, at, MPI_INT, self));
    NOTHING(MPI_Alltoallw(b, NULL, at, types, got, one, at, types, self));
    NOTHING(MPI_Reduce_scatter(b, got, NULL, MPI_INT, MPI_SUM, self));
    CHECK(got[0] == -1);
    MPI_Comm_free(&self);
}

/* One buffer to send from and to receive into is refused, before anything is sent. */
static void aliases(void)
{
    int *b = filled(2 * n, me);
    count_t *ones = memory((size_t)n * sizeof(*ones));
    place_t *places = memory((size_t)n * sizeof(*places));
    place_t *offsets = memory((size_t)n * sizeof(*offsets));
    MPI_Datatype *types = memory((size_t)n * sizeof(MPI_Datatype));
    MPI_Errhandler before;

    for (int i = 0; i < n; i++) {
        ones[i] = 1;
        places[i] = i;
        offsets[i] = 4 * i;
        types[i] = MPI_INT;
    }
    MPI_Comm_get_errhandler(comm, &before);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
#define REFUSED(call) CHECK((call) == MPI_ERR_BUFFER)
    REFUSED(MPI_Allreduce(b, b, 1, MPI_INT, MPI_SUM, comm));
    REFUSED(MPI_Scan(b, b, 1, MPI_INT, MPI_SUM, comm));
    REFUSED(MPI_Exscan(b, b, 1, MPI_INT, MPI_SUM, comm));
    REFUSED(MPI_Reduce_scatter(b, b, ones, MPI_INT, MPI_SUM, comm));
    REFUSED(MPI_Reduce_scatter_block(b, b, 1, MPI_INT, MPI_SUM, comm));
    REFUSED(MPI_Allgather(b + me, 1, MPI_INT, b, 1, MPI_INT, comm));
    REFUSED(MPI_Allgatherv(b + me, 1, MPI_INT, b, ones, places, MPI_INT, comm));
    REFUSED(MPI_Alltoall(b, 1, MPI_INT, b, 1, MPI_INT, comm));
    REFUSED(MPI_Alltoallv(b, ones, places, MPI_INT, b, ones, places, MPI_INT, comm));
    REFUSED(MPI_Alltoallw(b, ones, offsets, types, b, ones, offsets, types, comm));
    if (me == 0) {
        REFUSED(MPI_Reduce(b, b, 1, MPI_INT, MPI_SUM, 0, comm));
        REFUSED(MPI_Gather(b, 1, MPI_INT, b, 1, MPI_INT, 0, comm));
        REFUSED(MPI_Scatter(b, 1, MPI_INT, b, 1, MPI_INT, 0, comm));
        REFUSED(MPI_Gatherv(b, 1, MPI_INT, b, ones, places, MPI_INT, 0, comm));
        REFUSED(MPI_Scatterv(b, ones, places, MPI_INT, b, 1, MPI_INT, 0, comm));
    }
    /* More for this process itself than it gets: nothing is written behind its buffer. */
    int got[1] = {-1};
    MPI_Comm self;
    MPI_Comm_split(comm, me, 0, &self);
    MPI_Comm_set_errhandler(self, MPI_ERRORS_RETURN);
#define UNEQUAL(call) CHECK((call) == MPI_ERR_COUNT)
    UNEQUAL(MPI_Gather(b, 2, MPI_INT, got, 1, MPI_INT, 0, self));
    UNEQUAL(MPI_Gatherv(b, 2, MPI_INT, got, ones, (place_t[]){0}, MPI_INT, 0, self));
    UNEQUAL(MPI_Scatter(b, 2, MPI_INT, got, 1, MPI_INT, 0, self));
    UNEQUAL(MPI_Scatter(b, 0, MPI_INT, got, 1, MPI_INT, 0, self));
    UNEQUAL(MPI_Allgather(b, 2, MPI_INT, got, 1, MPI_INT, self));
    UNEQUAL(MPI_Alltoall(b, 2, MPI_INT, got, 1, MPI_INT, self));
    UNEQUAL(MPI_Alltoallv(b, (count_t[]){2}, (place_t[]){0}, MPI_INT, got, ones, (place_t[]){0},
                          MPI_INT, self));
    CHECK(got[0] == -1);
    MPI_Comm_free(&self);
    MPI_Comm_set_errhandler(comm, before);
    MPI_Errhandler_free(&before);
    CHECK(MPI_Allreduce(b, b, 0, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    /* Two places that are both told by MPI_BOTTOM. */
    MPI_Datatype from, into;
    MPI_Aint at;
    MPI_Get_address(b, &at);
    MPI_Type_create_hindexed(1, ones, &at, MPI_INT, &from);
    MPI_Get_address(b + n, &at);
    MPI_Type_create_hindexed(1, ones, &at, MPI_INT, &into);
    MPI_Type_create_resized(into, 0, 4, &into);
    MPI_Type_commit(&from);
    MPI_Type_commit(&into);
    MPI_Allgather(MPI_BOTTOM, 1, from, MPI_BOTTOM, 1, into, comm);
    for (int i = 0; i < n; i++)
        CHECK(b[n + i] == value(i, 0));
    MPI_Scatter(me == 0 ? b + n : NULL, 1, MPI_INT, MPI_BOTTOM, 1, from, 0, comm);
    CHECK(b[0] == value(me, 0));
    MPI_Type_free(&from);
    MPI_Type_free(&into);
    free(b);
    free(ones);
    free(places);
    free(offsets);
    free(types);
}

/* A collective of several rounds goes on while its members compute and call nothing. */
static void alone(int count)
{
    volatile double *out = memory((size_t)count * sizeof(double));
    double *in = memory((size_t)count * sizeof(double));
    MPI_Request request;

    for (int i = 0; i < count; i++) {
        in[i] = me + 1;
        out[i] = -1;
    }
    MPI_Barrier(comm);
    MPI_Iallreduce(in, (void *)(uintptr_t)out, count, MPI_DOUBLE, MPI_SUM, comm, &request);
    const double end = MPI_Wtime() + 20;
    while (out[0] != n * (n + 1) / 2 || out[count - 1] != n * (n + 1) / 2)
        CHECK(MPI_Wtime() < end);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    free(in);
    free((void *)(uintptr_t)out);
}

static void all_reductions(void)
{
    for (int c = 0; c < SIZES; c++) {
        sums(sizes[c], c % n);
        if (sizes[c] < 1000)
            ordered(sizes[c], c % n, c % 2);
    }
    for (int root = 0; root < n; root++)
        ordered(2, root, 0);
    indexes();
    shifted();
    threes();
    if (nonblocking)
        freed();
    else
        aliases();
    no_arrays();
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    on_communicators(all_reductions);
    use(MPI_COMM_WORLD);
    alone(1);
    alone(100000);
    MPI_Finalize();
    return 0;
}
