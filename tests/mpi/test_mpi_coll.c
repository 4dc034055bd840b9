/*
 * tests/mpi/test_mpi_coll.c - every collective that moves data, as mpi_coll.h says; pieces of
 * unlike sizes, and columns.
 *
 * usage: test_mpi_coll [refused PROCESS]: all once more, and the kernel gives that process no
 * other's memory any more.
 */
#include "mpi_coll.h"
#include "mpi_refuse.h"

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
    const size_t each = (size_t)n * sizeof(place_t);
    count_t *counts = memory(each), *sends = memory(each);
    place_t *offsets = memory(each), *places = memory(each);
    place_t *bytes[2] = {memory(each), memory(each)};
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
        CHECK(all[i] == value(root, (int)offsets[me] + i));
    for (int w = 0; w < 2; w++) {
        count_t *receives = memory(each);
        place_t *into = memory(each);
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

static void all_moves(void)
{
    for (int c = 0; c < SIZES; c++)
        moves(sizes[c], c % n);
    for (int root = 0; root < n; root++) {
        columns(root);
        moves(2, root);
        unlike(5, root);
    }
    unlike(3000, n - 1);
    if (nonblocking)
        at_once();
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    on_communicators(all_moves);
    if (argc > 2 && strcmp(argv[1], "refused") == 0) {
        use(MPI_COMM_WORLD);
        nonblocking = 0;
        moves(9000, 0); /* straight from member to member */
        if (rank == atoi(argv[2]))
            refuse_memory(true);
        for (int i = 0; i < 2; i++)
            moves(9000, 0);
        on_communicators(all_moves);
    }
    MPI_Finalize();
    return 0;
}
