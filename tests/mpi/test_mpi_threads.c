/*
 * tests/mpi/test_mpi_threads.c - several threads of each process call MPI at once: messages of
 * their own tags, and collectives on communicators of their own.
 */
#include "mpi_test.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 200 };

static MPI_Comm comms[THREADS];

static void *run(void *argument)
{
    const int t = (int)(intptr_t)argument, right = (rank + 1) % size,
              left = (rank + size - 1) % size;

    for (int i = 0; i < ROUNDS; i++) {
        int out = rank * 1000 + i, in = -1, sum, one = 1;
        MPI_Request request;
        MPI_Status status;
        MPI_Isend(&out, 1, MPI_INT, right, t, MPI_COMM_WORLD, &request);
        MPI_Recv(&in, 1, MPI_INT, left, t, MPI_COMM_WORLD, &status);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(in == left * 1000 + i && status.MPI_TAG == t);
        if (i % 2 == 0) {
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comms[t]);
        } else {
            MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comms[t], &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        CHECK(sum == size);
        if (i % 50 == 0) { /* communicators of several threads at once */
            MPI_Comm copy;
            MPI_Comm_dup(comms[t], &copy);
            MPI_Bcast(&out, 1, MPI_INT, 0, copy);
            CHECK(out == i);
            MPI_Comm_free(&copy);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int provided, flag;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Query_thread(&provided);
    MPI_Is_thread_main(&flag);
    CHECK(provided == MPI_THREAD_MULTIPLE && flag);
    for (int t = 0; t < THREADS; t++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
    for (intptr_t t = 0; t < THREADS; t++)
        CHECK(pthread_create(&threads[t], NULL, run, (void *)t) == 0);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    for (int t = 0; t < THREADS; t++)
        MPI_Comm_free(&comms[t]);
    MPI_Finalize();
    return 0;
}
