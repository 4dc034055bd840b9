/*
 * tests/mpi/rma_private.c - windows over memory that the program allocated itself, which no other
 * process maps: rows, many stretches, and elements that all update at once, by every way of an
 * update.
 */
#include "mpi_rma.h"

enum { WORDS = 3000, ROUNDS = 6 };

/* More stretches than are moved at once, there and back. */
static void stretches(MPI_Win w, const int *base)
{
    enum { COLUMNS = WORDS / 3 };
    static int from[COLUMNS], into[COLUMNS];
    const int to = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Datatype column;

    MPI_Type_vector(COLUMNS, 1, 3, MPI_INT, &column);
    MPI_Type_commit(&column);
    for (int i = 0; i < COLUMNS; i++)
        from[i] = (int)mix((uint32_t)rank, (uint32_t)i, 7);
    MPI_Win_fence(0, w);
    MPI_Put(from, COLUMNS, MPI_INT, to, 1, 1, column, w);
    MPI_Win_fence(0, w);
    for (int i = 0; i < WORDS; i++)
        CHECK(base[i] == (i % 3 == 1 ? (int)mix((uint32_t)left, (uint32_t)i / 3, 7) : 0));
    MPI_Get(into, COLUMNS, MPI_INT, to, 1, 1, column, w);
    MPI_Win_fence(0, w);
    CHECK(memcmp(from, into, sizeof(from)) == 0);
    memset(from, 0, sizeof(from));
    MPI_Put(from, COLUMNS, MPI_INT, to, 1, 1, column, w);
    MPI_Win_fence(0, w);
    MPI_Type_free(&column);
}

/* All count in many words of all: each number of each word is got once. */
static void count_all(MPI_Win w, MPI_Aint place, const int *base, int words)
{
    static int one[WORDS], old[WORDS], sum[WORDS], all[WORDS];
    const int n = ROUNDS * size;

    memset(sum, 0, sizeof(sum));
    for (int i = 0; i < words; i++)
        one[i] = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, w);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Get_accumulate(one, words, MPI_INT, old, words, MPI_INT, 0, place, words, MPI_INT,
                           MPI_SUM, w);
        MPI_Win_flush(0, w);
        for (int i = 0; i < words; i++)
            sum[i] += old[i];
    }
    MPI_Accumulate(one, words, MPI_INT, 0, place, words, MPI_INT, MPI_SUM, w);
    MPI_Fetch_and_op(one, &old[0], MPI_INT, 0, place, MPI_SUM, w);
    MPI_Win_unlock_all(w);
    MPI_Reduce(sum, all, words, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    for (int i = 0; i < words && rank == 0; i++) /* the last two may be among the fetched ones */
        CHECK(base[i] == n + size * (i == 0 ? 2 : 1) && all[i] >= n * (n - 1) / 2);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Words, bytes, pairs and elements that are not aligned; swaps, of which one of all wins. */
static void collide(MPI_Win w, const char *base)
{
    const short small = 3;
    const double real = 0.5;
    const int one = 1, yes = rank == size - 1;
    const struct {
        float value;
        int at;
    } pair = {(float)rank, rank};
    long mark = rank + 1, none = 0, was, won, all, at_last;
    float value;

    MPI_Win_fence(0, w);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Accumulate(&small, 1, MPI_SHORT, 0, 0, 1, MPI_SHORT, MPI_SUM, w);
        MPI_Accumulate(&real, 1, MPI_DOUBLE, 0, 8, 1, MPI_DOUBLE, MPI_SUM, w);
        MPI_Accumulate(&one, 1, MPI_INT, 0, 17, 1, MPI_INT, MPI_SUM, w);
        MPI_Accumulate(&yes, 1, MPI_INT, 0, 24, 1, MPI_INT, MPI_LOR, w);
        MPI_Accumulate(&pair, 1, MPI_FLOAT_INT, 0, 32, 1, MPI_FLOAT_INT, MPI_MAXLOC, w);
    }
    MPI_Compare_and_swap(&mark, &none, &was, MPI_LONG, 0, 40, w);
    MPI_Win_fence(0, w);
    won = was == 0;
    MPI_Allreduce(&won, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all == 1);
    MPI_Fetch_and_op(NULL, &at_last, MPI_LONG, 0, 40, MPI_NO_OP, w);
    MPI_Win_fence(0, w);
    CHECK(won ? at_last == mark : at_last != 0);
    if (rank == 0) {
        int odd, logical, at;
        double sum;
        short shorts;
        memcpy(&shorts, base, sizeof(shorts));
        memcpy(&sum, base + 8, sizeof(sum));
        memcpy(&odd, base + 17, sizeof(odd));
        memcpy(&logical, base + 24, sizeof(logical));
        memcpy(&value, base + 32, sizeof(value));
        memcpy(&at, base + 36, sizeof(at));
        CHECK(shorts == small * ROUNDS * size && sum == real * ROUNDS * size);
        CHECK(odd == ROUNDS * size && logical == 1);
        CHECK(value == (float)(size - 1) && at == size - 1);
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, w);
}

void private_memory(void)
{
    int *base = calloc(WORDS, sizeof(*base)), *aside = calloc(WORDS, sizeof(*aside));
    MPI_Aint place;
    MPI_Win w;

    CHECK(base != NULL && aside != NULL);
    MPI_Win_create(base, WORDS * sizeof(*base), sizeof(*base), MPI_INFO_NULL, MPI_COMM_WORLD, &w);
    stretches(w, base);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, w);
    count_all(w, 0, base, WORDS);
    MPI_Win_free(&w);
    memset(base, 0, WORDS * sizeof(*base));
    MPI_Win_create(base, WORDS * sizeof(*base), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
    collide(w, (const char *)base);
    MPI_Win_free(&w);
    /* Attached; what is counted first begins in one region and ends in the next. */
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &w);
    MPI_Win_attach(w, aside, WORDS / 2 * sizeof(*aside));
    MPI_Win_attach(w, aside + WORDS / 2, WORDS / 2 * sizeof(*aside));
    MPI_Get_address(aside, &place);
    MPI_Bcast(&place, 1, MPI_AINT, 0, MPI_COMM_WORLD);
    count_all(w, place, aside, WORDS);
    MPI_Win_free(&w);
    /* One member's memory is mapped, the others' is not: all update each in one way. */
    void *mapped = NULL;
    if (rank == 0) {
        MPI_Alloc_mem(WORDS * sizeof(*base), MPI_INFO_NULL, &mapped);
        memset(mapped, 0, WORDS * sizeof(*base));
    }
    MPI_Win_create(rank == 0 ? mapped : base, WORDS * sizeof(*base), sizeof(*base), MPI_INFO_NULL,
                   MPI_COMM_WORLD, &w);
    count_all(w, 0, mapped, WORDS);
    MPI_Win_free(&w);
    if (rank == 0)
        MPI_Free_mem(mapped);
    free(aside);
    free(base);
}
