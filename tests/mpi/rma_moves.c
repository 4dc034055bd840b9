/* tests/mpi/rma_moves.c - what is put and got, under fences and with requests. */
#include "mpi_rma.h"

static MPI_Win win;

void fences(void)
{
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    int from[N], into[N], memory[N];
    MPI_Datatype column, every;

    open_window(memory, &win);
    for (int i = 0; i < N; i++) {
        from[i] = (int)mix((uint32_t)rank, (uint32_t)i, 1);
        memory[i] = -1;
    }
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    MPI_Put(from, N / 2, MPI_INT, right, 0, N / 2, MPI_INT, win);
    MPI_Put(from, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < N; i++)
        CHECK(memory[i] == (i < N / 2 ? (int)mix((uint32_t)left, (uint32_t)i, 1) : -1));
    MPI_Get(into, N, MPI_INT, left, 0, N, MPI_INT, win);
    MPI_Win_fence(0, win);
    const int far = (left + size - 1) % size;
    for (int i = 0; i < N / 2; i++)
        CHECK(into[i] == (int)mix((uint32_t)far, (uint32_t)i, 1));
    /* A row here becomes a column there, and the reverse. */
    MPI_Type_vector(8, 1, 8, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Win_fence(0, win);
    MPI_Put(from, 8, MPI_INT, right, 3, 1, column, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 8; i++)
        CHECK(memory[3 + 8 * i] == (int)mix((uint32_t)left, (uint32_t)i, 1));
    memset(into, 0, sizeof(into));
    MPI_Get(into, 1, column, right, 3, 1, column, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < N; i++)
        CHECK(into[i] == (i % 8 == 0 ? (int)mix((uint32_t)rank, (uint32_t)i / 8, 1) : 0));
    /* Two elements of a resized type, the second before the first. */
    MPI_Type_create_resized(MPI_INT, 0, -(MPI_Aint)sizeof(int), &every);
    MPI_Type_commit(&every);
    MPI_Put(from, 2, MPI_INT, right, 9, 2, every, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHECK(memory[9] == (int)mix((uint32_t)left, 0, 1) &&
          memory[8] == (int)mix((uint32_t)left, 1, 1));
    MPI_Type_free(&every);
    MPI_Type_free(&column);
    MPI_Win_free(&win);
}

void requests(void)
{
    int memory[N] = {0}, from[N], into[N], old[4], to = (rank + 1) % size;
    MPI_Request request[3];
    MPI_Datatype odd;

    open_window(memory, &win);
    for (int i = 0; i < N; i++)
        from[i] = rank * N + i;
    MPI_Type_vector(N / 4, 1, 2, MPI_INT, &odd);
    MPI_Type_commit(&odd);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    MPI_Rput(from, N / 2, MPI_INT, to, 0, N / 2, MPI_INT, win, &request[0]);
    MPI_Rput(from, 1, odd, to, N / 2, 1, odd, win, &request[1]);
    MPI_Rput(from, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win, &request[2]);
    MPI_Waitall(3, request, MPI_STATUSES_IGNORE);
    MPI_Win_flush(to, win);
    MPI_Rget(into, N / 2, MPI_INT, to, 0, N / 2, MPI_INT, win, &request[0]);
    MPI_Rget(into + N / 2, 1, odd, to, N / 2, 1, odd, win, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    for (int i = 0; i < N; i++)
        CHECK(i >= N / 2 && i % 2 == 1 ? 1 : into[i] == rank * N + (i < N / 2 ? i : i - N / 2));
    MPI_Raccumulate(from, 4, MPI_INT, to, 0, 4, MPI_INT, MPI_SUM, win, &request[0]);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    MPI_Rget_accumulate(from, 4, MPI_INT, old, 4, MPI_INT, to, 0, 4, MPI_INT, MPI_SUM, win,
                        &request[0]);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    for (int i = 0; i < 4; i++)
        CHECK(old[i] == 2 * (rank * N + i));
    MPI_Win_unlock_all(win);
    MPI_Type_free(&odd);
    MPI_Win_free(&win);
}
