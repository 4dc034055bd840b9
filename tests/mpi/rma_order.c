/* tests/mpi/rma_order.c - attacks on the order of puts, updates, flushes and epochs. */
#include "mpi_rma.h"

/*
 * Bytes, a flush, and a flag that says that they are there; the reader polls it without a call of
 * the writer's, and must find the bytes: by a get, and by loads after its window is locked.
 */
void flag_behind_data(void)
{
    enum { ROUNDS = 30, MOST = 5000 };
    const size_t room = MOST + 16;
    unsigned char *base, *data = memory(MOST), *got = memory(MOST);
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;
    long long one = 1, flag, seen = 0;
    MPI_Win w;

    MPI_Win_allocate((MPI_Aint)room, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &w);
    memset(base, 0, room);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, w);
    for (int round = 0; round < ROUNDS; round++) {
        const int bytes = 1 + (int)(mix((uint32_t)round, 7, 7) % MOST), put = round % 3;
        for (int i = 0; i < bytes; i++)
            data[i] = (unsigned char)mix((uint32_t)rank, (uint32_t)round, (uint32_t)i);
        if (put == 0)
            MPI_Put(data, bytes, MPI_BYTE, to, 16, bytes, MPI_BYTE, w);
        else if (put == 1)
            MPI_Accumulate(data, bytes, MPI_BYTE, to, 16, bytes, MPI_BYTE, MPI_REPLACE, w);
        else
            for (int i = 0; i < bytes; i += 512)
                MPI_Put(data + i, bytes - i < 512 ? bytes - i : 512, MPI_BYTE, to, 16 + i,
                        bytes - i < 512 ? bytes - i : 512, MPI_BYTE, w);
        MPI_Win_flush(to, w);
        if (round % 2 == 0) /* the flag without, and with an answer */
            MPI_Accumulate(&one, 1, MPI_LONG_LONG, to, 0, 1, MPI_LONG_LONG, MPI_SUM, w);
        else
            MPI_Fetch_and_op(&one, &flag, MPI_LONG_LONG, to, 0, MPI_SUM, w);
        MPI_Win_flush(to, w);
        for (seen = 0; seen <= round;)
            MPI_Fetch_and_op(NULL, &seen, MPI_LONG_LONG, rank, 0, MPI_NO_OP, w);
        MPI_Get(got, bytes, MPI_BYTE, rank, 16, bytes, MPI_BYTE, w);
        MPI_Win_flush(rank, w);
        MPI_Win_sync(w);
        for (int i = 0; i < bytes; i++) {
            const unsigned char is =
                (unsigned char)mix((uint32_t)from, (uint32_t)round, (uint32_t)i);
            CHECK(got[i] == is && base[16 + i] == is);
        }
        MPI_Barrier(MPI_COMM_WORLD); /* the reader has read */
    }
    MPI_Win_unlock_all(w);
    MPI_Win_free(&w);
    free(data);
    free(got);
}

/* Short over long over short: what is put after a flush stays, and a get sees its own process's
 * put. */
void rewrites(void)
{
    enum { ROUNDS = 20, LONG = 20000 };
    unsigned char *base, *data = memory(LONG), *got = memory(LONG);
    const int to = (rank + 1) % size;
    MPI_Win w;

    MPI_Win_allocate(LONG, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &w);
    MPI_Win_fence(0, w);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, w);
    for (int round = 0; round < ROUNDS; round++) {
        const unsigned char small = (unsigned char)(100 + round);
        const int at = (int)(mix((uint32_t)round, 3, (uint32_t)rank) % LONG);
        memset(data, round, LONG);
        MPI_Put(data, LONG, MPI_BYTE, to, 0, LONG, MPI_BYTE, w);
        MPI_Win_flush(to, w);
        MPI_Put(&small, 1, MPI_BYTE, to, at, 1, MPI_BYTE, w);
        MPI_Win_flush(to, w);
        MPI_Get(got, LONG, MPI_BYTE, to, 0, LONG, MPI_BYTE, w);
        MPI_Win_flush(to, w);
        for (int i = 0; i < LONG; i++)
            CHECK(got[i] == (i == at ? small : round));
    }
    MPI_Win_unlock(to, w);
    MPI_Win_free(&w);
    free(data);
    free(got);
}

/* What one process updates in one element takes effect in its order, also with what fetches. */
void updates_in_order(void)
{
    long long *base, value, old;
    const int to = (rank + 1) % size;
    MPI_Win w;

    MPI_Win_allocate(sizeof(*base), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &w);
    *base = 0;
    MPI_Win_fence(0, w);
    for (int round = 1; round <= 50; round++) {
        value = round;
        MPI_Accumulate(&value, 1, MPI_LONG_LONG, to, 0, 1, MPI_LONG_LONG, MPI_REPLACE, w);
        value = 1000;
        MPI_Accumulate(&value, 1, MPI_LONG_LONG, to, 0, 1, MPI_LONG_LONG, MPI_SUM, w);
        MPI_Fetch_and_op(NULL, &old, MPI_LONG_LONG, to, 0, MPI_NO_OP, w);
        CHECK(old == round + 1000);
        MPI_Win_fence(0, w);
    }
    MPI_Win_free(&w);
}

/*
 * Epoch behind epoch, whose target stores into the same bytes between them: nothing of an epoch
 * comes before its post or behind its wait.
 */
void epochs_in_order(void)
{
    enum { ROUNDS = 21, MOST = 20000 };
    unsigned char *base, *data = memory(MOST), *got = memory(MOST);
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Group all, origins, targets;
    MPI_Win w;

    MPI_Win_allocate(MOST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &w);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &left, &origins);
    MPI_Group_incl(all, 1, &right, &targets);
    for (int round = 0; round < ROUNDS; round++) {
        const int bytes = 1 + (int)(mix((uint32_t)round, 5, 5) % MOST), how = round % 3;
        memset(base, 200 + round, MOST);
        for (int i = 0; i < bytes; i++)
            data[i] = (unsigned char)mix((uint32_t)rank, (uint32_t)round, (uint32_t)i);
        MPI_Win_post(origins, 0, w);
        MPI_Win_start(targets, 0, w);
        if (how == 0)
            MPI_Put(data, bytes, MPI_BYTE, right, 0, bytes, MPI_BYTE, w);
        else if (how == 1)
            MPI_Accumulate(data, bytes, MPI_BYTE, right, 0, bytes, MPI_BYTE, MPI_REPLACE, w);
        else
            MPI_Get(got, bytes, MPI_BYTE, right, 0, bytes, MPI_BYTE, w);
        MPI_Win_complete(w);
        for (int i = 0; i < bytes && how == 2; i++)
            CHECK(got[i] == 200 + round);
        MPI_Win_wait(w);
        for (int i = 0; i < MOST; i++)
            CHECK(base[i] == (how != 2 && i < bytes
                                  ? (unsigned char)mix((uint32_t)left, (uint32_t)round, (uint32_t)i)
                                  : 200 + round));
    }
    MPI_Group_free(&targets);
    MPI_Group_free(&origins);
    MPI_Group_free(&all);
    MPI_Win_free(&w);
    free(data);
    free(got);
}
