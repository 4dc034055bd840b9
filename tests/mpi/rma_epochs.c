/* tests/mpi/rma_epochs.c - locks, and epochs that are posted and started. */
#include "mpi_rma.h"

static MPI_Win win;

void locks(void)
{
    int memory[N] = {0}, value;

    open_window(memory, &win);
    /* To get, add and put is undivided under an exclusive lock alone. */
    for (int i = 0; i < 10; i++) {
        const int to = i % size;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, win);
        MPI_Get(&value, 1, MPI_INT, to, 7, 1, MPI_INT, win);
        MPI_Win_flush(to, win);
        value++;
        MPI_Put(&value, 1, MPI_INT, to, 7, 1, MPI_INT, win);
        MPI_Win_unlock(to, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    int expected = 0;
    for (int i = 0; i < 10; i++)
        expected += i % size == rank ? size : 0;
    CHECK(memory[7] == expected);
    MPI_Win_unlock(rank, win);
    /* Readers together with a writer among them. */
    for (int i = 0; i < 10; i++) {
        int pair[2];
        MPI_Win_lock((i + rank) % 3 == 0 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, 0, 0, win);
        if ((i + rank) % 3 == 0) {
            value = i * size + rank + 1;
            MPI_Put(&value, 1, MPI_INT, 0, 10, 1, MPI_INT, win);
            MPI_Put(&value, 1, MPI_INT, 0, 20, 1, MPI_INT, win);
        } else {
            MPI_Get(&pair[0], 1, MPI_INT, 0, 10, 1, MPI_INT, win);
            MPI_Get(&pair[1], 1, MPI_INT, 0, 20, 1, MPI_INT, win);
            MPI_Win_flush_local(0, win);
            CHECK(pair[0] == pair[1]);
        }
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    for (int to = 0; to < size; to++) {
        value = 100 + rank;
        MPI_Put(&value, 1, MPI_INT, to, 30 + rank, 1, MPI_INT, win);
        MPI_Win_flush_all(win);
    }
    MPI_Win_flush_local_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(win);
    for (int i = 0; i < size; i++)
        CHECK(memory[30 + i] == 100 + i);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

void some_targets(void)
{
    int memory[N] = {0}, flag, from[2], right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Group all, origins, targets;

    open_window(memory, &win);
    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, 1, &left, &origins);
    MPI_Group_incl(all, 1, &right, &targets);
    for (int round = 0; round < 20; round++) {
        from[0] = round * size + rank;
        from[1] = -from[0];
        MPI_Win_post(origins, 0, win);
        MPI_Win_start(targets, 0, win);
        MPI_Put(&from[0], 1, MPI_INT, right, round, 1, MPI_INT, win);
        MPI_Accumulate(&from[1], 1, MPI_INT, right, round, 1, MPI_INT, MPI_SUM, win);
        MPI_Put(&from[1], 1, MPI_INT, right, round + 20, 1, MPI_INT, win);
        MPI_Win_complete(win);
        if (round % 2 == 0) {
            MPI_Win_wait(win);
        } else {
            do {
                MPI_Win_test(win, &flag);
            } while (!flag);
        }
        CHECK(memory[round] == 0 && memory[round + 20] == -(round * size + left));
    }
    MPI_Group_free(&origins);
    MPI_Group_free(&targets);
    /* Nobody, and all at once. */
    MPI_Win_post(MPI_GROUP_EMPTY, 0, win);
    MPI_Win_start(MPI_GROUP_EMPTY, 0, win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    MPI_Win_post(all, 0, win);
    MPI_Win_start(all, 0, win);
    for (int to = 0; to < size; to++)
        MPI_Put(&from[1], 1, MPI_INT, to, 50 + rank, 1, MPI_INT, win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    for (int i = 0; i < size; i++)
        CHECK(memory[50 + i] == -(19 * size + i));
    MPI_Group_free(&all);
    MPI_Win_free(&win);
}
