/* tests/mpi/rma_updates.c - what is updated, by all at once. */
#include "mpi_rma.h"

#include <complex.h>

/* Every process adds to every one, so that all collide. */
#define SUMS(ctype, type)                                                                          \
    do {                                                                                           \
        ctype *base, from[5], old[5];                                                              \
        MPI_Win w;                                                                                 \
        MPI_Win_allocate(5 * sizeof(ctype), sizeof(ctype), MPI_INFO_NULL, MPI_COMM_WORLD, &base,   \
                         &w);                                                                      \
        for (int i = 0; i < 5; i++) {                                                              \
            base[i] = 1;                                                                           \
            from[i] = (ctype)(i + 1);                                                              \
        }                                                                                          \
        MPI_Win_fence(0, w);                                                                       \
        for (int round = 0; round < 3; round++)                                                    \
            for (int to = 0; to < size; to++) {                                                    \
                MPI_Accumulate(from, 5, type, to, 0, 5, type, MPI_SUM, w);                         \
                MPI_Get_accumulate(from, 5, type, old, 5, type, to, 0, 5, type, MPI_SUM, w);       \
            }                                                                                      \
        MPI_Win_fence(0, w);                                                                       \
        for (int i = 0; i < 5; i++)                                                                \
            CHECK(base[i] == (ctype)(1 + 6 * size * (i + 1)));                                     \
        MPI_Win_fence(0, w);                                                                       \
        MPI_Get_accumulate(NULL, 0, type, old, 5, type, (rank + 1) % size, 0, 5, type, MPI_NO_OP,  \
                           w);                                                                     \
        for (int i = 0; i < 5; i++)                                                                \
            CHECK(old[i] == (ctype)(1 + 6 * size * (i + 1)));                                      \
        MPI_Win_fence(0, w);                                                                       \
        MPI_Accumulate(from, 5, type, (rank + 1) % size, 0, 5, type, MPI_REPLACE, w);              \
        MPI_Win_fence(0, w);                                                                       \
        for (int i = 0; i < 5; i++)                                                                \
            CHECK(base[i] == from[i]);                                                             \
        MPI_Win_free(&w);                                                                          \
    } while (0)

struct place {
    double value;
    int at;
};

void updates(void)
{
    SUMS(signed char, MPI_SIGNED_CHAR);
    SUMS(short, MPI_SHORT);
    SUMS(int, MPI_INT);
    SUMS(unsigned, MPI_UNSIGNED);
    SUMS(long, MPI_LONG);
    SUMS(float, MPI_FLOAT);
    SUMS(double, MPI_DOUBLE);
    SUMS(long double, MPI_LONG_DOUBLE);
    SUMS(float _Complex, MPI_C_FLOAT_COMPLEX);
    SUMS(double _Complex, MPI_C_DOUBLE_COMPLEX);

    /* Other operations, in an order that does not matter. */
    static const struct {
        MPI_Op op;
        int start, from, every; /* every: more per rank */
    } cases[] = {{MPI_MAX, 5, 0, 3},  {MPI_MIN, 5, 0, 3},     {MPI_BOR, 0, 1, 1},
                 {MPI_BXOR, 1, 5, 2}, {MPI_LAND, 1, 0, 1},    {MPI_LOR, 0, 0, 0},
                 {MPI_LXOR, 0, 1, 0}, {MPI_BAND, 255, 15, 1}, {MPI_PROD, 1, 2, 1}};
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        int memory[2], expected = cases[c].start, from = cases[c].from + rank * cases[c].every;
        MPI_Win w;
        memory[0] = memory[1] = expected;
        MPI_Win_create(memory, sizeof(memory), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &w);
        MPI_Win_fence(0, w);
        for (int to = 0; to < size; to++)
            MPI_Accumulate(&from, 1, MPI_INT, to, 1, 1, MPI_INT, cases[c].op, w);
        MPI_Win_fence(0, w);
        for (int r = 0; r < size; r++) {
            int other = cases[c].from + r * cases[c].every;
            MPI_Reduce_local(&other, &expected, 1, MPI_INT, cases[c].op);
        }
        CHECK(memory[1] == expected && memory[0] == cases[c].start);
        MPI_Win_free(&w);
    }
    /* Pairs, with a gap in them. */
    struct place best = {-1, -1}, own = {(double)(rank % 2), rank};
    MPI_Win w;
    MPI_Win_create(&best, sizeof(best), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
    MPI_Win_fence(0, w);
    for (int to = 0; to < size; to++)
        MPI_Accumulate(&own, 1, MPI_DOUBLE_INT, to, 0, 1, MPI_DOUBLE_INT, MPI_MAXLOC, w);
    MPI_Win_fence(0, w);
    CHECK(best.value == (size > 1) && best.at == (size > 1));
    MPI_Win_free(&w);
    /* Elements that are not aligned: 3 bytes from the window's begin. */
    char odd[3 + 2 * sizeof(int)] = {0};
    int one = 1, sum;
    MPI_Win_create(odd, sizeof(odd), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
    MPI_Win_fence(0, w);
    for (int to = 0; to < size; to++)
        MPI_Accumulate(&one, 1, MPI_INT, to, 3, 1, MPI_INT, MPI_SUM, w);
    MPI_Win_fence(0, w);
    memcpy(&sum, odd + 3, sizeof(sum));
    CHECK(sum == size);
    MPI_Win_free(&w);
}

void single_elements(void)
{
    long *base, one = 1, old, sum = 0, all = 0;
    MPI_Win w;

    MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &w);
    base[0] = base[1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, w);
    for (int i = 0; i < 20; i++) {
        MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 0, MPI_SUM, w);
        MPI_Win_flush(0, w);
        sum += old;
    }
    MPI_Win_unlock_all(w);
    MPI_Reduce(&sum, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    const long n = 20L * size;
    CHECK(rank != 0 || all == n * (n - 1) / 2); /* each number was got once */
    /* One of all wins. */
    long mark = rank + 1, none = 0, won = 0;
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w);
    MPI_Compare_and_swap(&mark, &none, &old, MPI_LONG, 0, 1, w);
    MPI_Win_unlock(0, w);
    won = old == 0;
    MPI_Allreduce(&won, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all == 1);
    MPI_Win_free(&w);
    /* A byte. */
    unsigned char bytes[3] = {0}, is = (unsigned char)(rank + 1), zero = 0, was;
    MPI_Win_create(bytes, sizeof(bytes), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
    MPI_Win_fence(0, w);
    MPI_Compare_and_swap(&is, &zero, &was, MPI_BYTE, 0, 1, w);
    won = was == 0;
    MPI_Win_fence(0, w);
    MPI_Allreduce(&won, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all == 1 && bytes[0] == 0 && bytes[2] == 0 && (rank != 0 || bytes[1] != 0));
    MPI_Win_free(&w);
}

/*
 * All count in many words at once: each number of each is got once. Where the memory is mapped they
 * meet often.
 */
void many_counters(void)
{
    enum { COUNTERS = 33 };
    int *base, one[COUNTERS], old[COUNTERS], sum[COUNTERS] = {0}, all[COUNTERS];
    const MPI_Aint bytes = sizeof(one);
    MPI_Win w;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const int mapped = MPI_Win_allocate_shared(bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                                               &base, &w) == MPI_SUCCESS;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    if (!mapped)
        MPI_Win_allocate(bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &w);
    const int rounds = mapped ? 2000 : 10, n = rounds * size;
    for (int i = 0; i < COUNTERS; i++) {
        base[i] = 0;
        one[i] = 1;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, w);
    for (int round = 0; round < rounds; round++) {
        MPI_Get_accumulate(one, COUNTERS, MPI_INT, old, COUNTERS, MPI_INT, 0, 0, COUNTERS, MPI_INT,
                           MPI_SUM, w);
        MPI_Win_flush(0, w);
        for (int i = 0; i < COUNTERS; i++)
            sum[i] += old[i];
    }
    MPI_Win_unlock_all(w);
    MPI_Reduce(sum, all, COUNTERS, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    for (int i = 0; i < COUNTERS && rank == 0; i++)
        CHECK(all[i] == n * (n - 1) / 2 && base[i] == n);
    MPI_Win_free(&w);
}
