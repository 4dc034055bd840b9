/*
 * tests/mpi/test_mpi_coll.c - every collective against what one process computes, blocking and not,
 * in place and not, on several communicators, with sizes on both sides of every algorithm's limit.
 */
#include "mpi_test.h"

static MPI_Comm comm; /* that is tested */
static int me, n;
static int nonblocking; /* whether the I-forms are called */

#define CALL(name, ...)                                                                            \
    do {                                                                                           \
        if (nonblocking) {                                                                         \
            MPI_Request request;                                                                   \
            CHECK(MPI_I##name(__VA_ARGS__, comm, &request) == MPI_SUCCESS);                        \
            MPI_Wait(&request, MPI_STATUS_IGNORE);                                                 \
        } else {                                                                                   \
            CHECK(MPI_##name(__VA_ARGS__, comm) == MPI_SUCCESS);                                   \
        }                                                                                          \
    } while (0)
/* The names of both forms differ in a letter's case. */
#define MPI_IBcast                MPI_Ibcast
#define MPI_IReduce               MPI_Ireduce
#define MPI_IAllreduce            MPI_Iallreduce
#define MPI_IReduce_scatter       MPI_Ireduce_scatter
#define MPI_IReduce_scatter_block MPI_Ireduce_scatter_block
#define MPI_IScan                 MPI_Iscan
#define MPI_IExscan               MPI_Iexscan
#define MPI_IGather               MPI_Igather
#define MPI_IGatherv              MPI_Igatherv
#define MPI_IScatter              MPI_Iscatter
#define MPI_IScatterv             MPI_Iscatterv
#define MPI_IAllgather            MPI_Iallgather
#define MPI_IAllgatherv           MPI_Iallgatherv
#define MPI_IAlltoall             MPI_Ialltoall
#define MPI_IAlltoallv            MPI_Ialltoallv
#define MPI_IAlltoallw            MPI_Ialltoallw

static int value(int who, int i)
{
    return (int)(mix((uint32_t)who, (uint32_t)i, 99) % 1000);
}

static int *filled(int count, int who)
{
    int *data = memory((size_t)count * sizeof(int));

    for (int i = 0; i < count; i++)
        data[i] = value(who, i);
    return data;
}

static void moves(int count, int root)
{
    int *mine = filled(count * n, me), *all = memory((size_t)(count * n) * sizeof(int));

    memcpy(all, mine, (size_t)count * sizeof(int));
    CALL(Bcast, all, count, MPI_INT, root);
    for (int i = 0; i < count; i++)
        CHECK(all[i] == value(root, i));
    for (int in_place = 0; in_place < 2; in_place++) {
        memset(all, 0xff, (size_t)(count * n) * sizeof(int));
        if (in_place && me == root)
            memcpy(all + me * count, mine, (size_t)count * sizeof(int));
        CALL(Gather, in_place && me == root ? MPI_IN_PLACE : mine, count, MPI_INT, all, count,
             MPI_INT, root);
        for (int i = 0; me == root && i < n * count; i++)
            CHECK(all[i] == value(i / count, i % count));
        int *part = me == root && in_place ? MPI_IN_PLACE : memory((size_t)count * sizeof(int));
        CALL(Scatter, mine, count, MPI_INT, part, count, MPI_INT, root);
        for (int i = 0; part != MPI_IN_PLACE && i < count; i++)
            CHECK(part[i] == value(root, me * count + i));
        if (part != MPI_IN_PLACE)
            free(part);
        memset(all, 0xff, (size_t)(count * n) * sizeof(int));
        memcpy(all + me * count, mine, (size_t)count * sizeof(int));
        CALL(Allgather, in_place ? MPI_IN_PLACE : mine, count, MPI_INT, all, count, MPI_INT);
        for (int i = 0; i < n * count; i++)
            CHECK(all[i] == value(i / count, i % count));
        memcpy(all, mine, (size_t)(count * n) * sizeof(int));
        CALL(Alltoall, in_place ? MPI_IN_PLACE : mine, count, MPI_INT, all, count, MPI_INT);
        for (int i = 0; i < n * count; i++)
            CHECK(all[i] == value(i / count, me * count + i % count));
    }
    free(mine);
    free(all);
}

/* Pieces of unlike sizes, with gaps and in reverse order: member i gives (i + shift) % 4 * unit. */
static void unlike(int unit, int root)
{
    int *counts = memory((size_t)n * sizeof(int)), *offsets = memory((size_t)n * sizeof(int));
    int *sends = memory((size_t)n * sizeof(int)), *places = memory((size_t)n * sizeof(int));
    int *bytes[2] = {memory((size_t)n * sizeof(int)), memory((size_t)n * sizeof(int))};
    MPI_Datatype *types = memory((size_t)n * sizeof(*types));
    int at = 0, placed = 0;

    for (int i = n - 1; i >= 0; i--) {
        counts[i] = i % 4 * unit;
        offsets[i] = at;
        at += counts[i] + 3;
        sends[i] = (i + me) % 3 * unit;
        places[i] = placed;
        placed += sends[i] + 1;
    }
    int *mine = filled(placed + at, me), *all = memory((size_t)(at + n * 3 * unit) * sizeof(int));
    CALL(Gatherv, mine, counts[me], MPI_INT, all, counts, offsets, MPI_INT, root);
    for (int k = 0; me == root && k < n; k++)
        for (int i = 0; i < counts[k]; i++)
            CHECK(all[offsets[k] + i] == value(k, i));
    CALL(Allgatherv, mine, counts[me], MPI_INT, all, counts, offsets, MPI_INT);
    for (int k = 0; k < n; k++)
        for (int i = 0; i < counts[k]; i++)
            CHECK(all[offsets[k] + i] == value(k, i));
    memset(all, 0xff, (size_t)at * sizeof(int));
    memcpy(all + offsets[me], mine, (size_t)counts[me] * sizeof(int));
    CALL(Allgatherv, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, counts, offsets, MPI_INT);
    for (int k = 0; k < n; k++)
        for (int i = 0; i < counts[k]; i++)
            CHECK(all[offsets[k] + i] == value(k, i));
    CALL(Scatterv, mine, counts, offsets, MPI_INT, all, counts[me], MPI_INT, root);
    for (int i = 0; i < counts[me]; i++)
        CHECK(all[i] == value(root, offsets[me] + i));
    for (int w = 0; w < 2; w++) {
        int *receives = memory((size_t)n * sizeof(int)), *into = memory((size_t)n * sizeof(int));
        for (int k = 0, to = 0; k < n; k++) {
            receives[k] = (me + k) % 3 * unit;
            into[k] = to;
            to += receives[k] + 2;
            types[k] = MPI_INT;
            bytes[0][k] = places[k] * 4;
            bytes[1][k] = into[k] * 4;
        }
        if (w)
            CALL(Alltoallw, mine, sends, bytes[0], types, all, receives, bytes[1], types);
        else
            CALL(Alltoallv, mine, sends, places, MPI_INT, all, receives, into, MPI_INT);
        for (int k = 0; k < n; k++) {
            int from = 0; /* where member k put what it sent to this one */
            for (int i = n - 1; i > me; i--)
                from += (i + k) % 3 * unit + 1;
            for (int i = 0; i < receives[k]; i++)
                CHECK(all[into[k] + i] == value(k, from + i));
        }
        free(receives);
        free(into);
    }
    void *const blocks[] = {counts, offsets, sends, places, bytes[0], bytes[1], types, mine, all};
    for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++)
        free(blocks[i]);
}

/* 2 x 2 matrices modulo a prime: associative, not commutative. */
typedef struct matrix {
    unsigned a, b, c, d;
} matrix;

static matrix times(matrix x, matrix y)
{
    const unsigned p = 9973;

    return (matrix){(x.a * y.a + x.b * y.c) % p, (x.a * y.b + x.b * y.d) % p,
                    (x.c * y.a + x.d * y.c) % p, (x.c * y.b + x.d * y.d) % p};
}

static void multiply(void *in, void *inout, int *count, MPI_Datatype *type)
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
    return (matrix){
        mix((uint32_t)who, (uint32_t)i, 1) % 9973, mix((uint32_t)who, (uint32_t)i, 2) % 9973,
        mix((uint32_t)who, (uint32_t)i, 3) % 9973, mix((uint32_t)who, (uint32_t)i, 4) % 9973};
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
    int *counts = memory((size_t)n * sizeof(int)), before = 0;

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

/* Columns of a matrix, which are no row of memory. */
static void columns(int root)
{
    MPI_Datatype column, narrow;
    int *mine = filled(4 * n, me), *all = memory((size_t)(4 * n) * sizeof(int));

    MPI_Type_vector(4, 1, n, MPI_INT, &column);
    MPI_Type_create_resized(column, 0, sizeof(int), &narrow);
    MPI_Type_commit(&narrow);
    memset(all, 0xff, (size_t)(4 * n) * sizeof(int));
    CALL(Gather, mine, 4, MPI_INT, all, 1, narrow, root);
    for (int i = 0; me == root && i < 4 * n; i++)
        CHECK(all[i] == value(i % n, i / n));
    CALL(Scatter, mine, 1, narrow, all, 4, MPI_INT, root);
    for (int i = 0; i < 4; i++)
        CHECK(all[i] == value(root, i * n + me));
    CALL(Allgather, mine, 4, MPI_INT, all, 1, narrow);
    for (int i = 0; i < 4 * n; i++)
        CHECK(all[i] == value(i % n, i / n));
    CALL(Alltoall, mine, 1, narrow, all, 1, narrow);
    for (int i = 0; i < 4 * n; i++)
        CHECK(all[i] == value(i % n, i / n * n + me));
    MPI_Type_free(&narrow);
    MPI_Type_free(&column);
    free(mine);
    free(all);
}

/* Many at once, whose waits come in another order than their calls. */
static void at_once(void)
{
    enum { MANY = 24 };
    MPI_Request requests[MANY];
    int in[MANY], out[MANY];

    for (int i = 0; i < MANY; i++) {
        out[i] = me * MANY + i;
        in[i] = out[i];
        if (i % 3 == 0)
            MPI_Iallreduce(&out[i], &in[i], 1, MPI_INT, MPI_SUM, comm, &requests[i]);
        else if (i % 3 == 1)
            MPI_Ibcast(&in[i], 1, MPI_INT, i % n, comm, &requests[i]);
        else
            MPI_Ibarrier(comm, &requests[i]);
    }
    /* Meanwhile a message that others wait for before they wait for the collectives. */
    int token = me;
    MPI_Sendrecv_replace(&token, 1, MPI_INT, (me + 1) % n, 0, (me + n - 1) % n, 0, comm,
                         MPI_STATUS_IGNORE);
    CHECK(token == (me + n - 1) % n);
    for (int i = MANY - 1; i >= 0; i--) {
        const int k = me % 2 == 0 ? i : MANY - 1 - i;
        MPI_Wait(&requests[k], MPI_STATUS_IGNORE);
        if (k % 3 == 0)
            CHECK(in[k] == n * (n - 1) / 2 * MANY + n * k);
        else if (k % 3 == 1)
            CHECK(in[k] == (k % n) * MANY + k);
    }
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

static void all_of(MPI_Comm tested)
{
    static const int counts[] = {1, 3, 60, 130, 300, 1000, 2500, 9000};

    comm = tested;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    for (nonblocking = 0; nonblocking < 2; nonblocking++) {
        MPI_Barrier(comm);
        for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
            const int root = (int)c % n;
            moves(counts[c], root);
            sums(counts[c], root);
            if (counts[c] < 1000)
                ordered(counts[c], root, (int)c % 2);
        }
        for (int root = 0; root < n; root++) {
            columns(root);
            moves(2, root);
            ordered(2, root, 0);
            unlike(5, root);
        }
        unlike(3000, n - 1);
        indexes();
    }
    at_once();
    freed();
}

int main(int argc, char **argv)
{
    MPI_Comm part;

    begin(&argc, &argv);
    all_of(MPI_COMM_WORLD);
    alone(1);
    alone(100000);
    all_of(MPI_COMM_SELF);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part);
    all_of(part);
    MPI_Comm_free(&part);
    MPI_Finalize();
    return 0;
}
