/*
 * A program that uses MPI itself, before, during and after two jobs of weft in the same processes:
 * neither takes the other's messages, and MPI is the program's to finalize.
 *
 *     mpirun -n N mpi_program LEVEL      MPI_Init_thread's: multiple, serialized, single; or
 *                                        none: MPI is weft's alone, until the program exits
 *
 * Exit status: 0, or that of weft_open.
 */
#include <weft/device.h>

#include <mpi.h>

#include <stdio.h>
#include <string.h>

enum { RANKS = 3, ROUNDS = 20, BYTES = 40000 }; /* bytes: beyond the eager limit */

struct data {
    unsigned char *window, *source; /* BYTES for each rank */
    unsigned wrong;
};

WEFT_KERNEL(ring, struct data, user)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), n = weft_size(self, WEFT_COMM_WORLD);
    const size_t at = (size_t)weft_rank(self, WEFT_COMM_DEVICE) * BYTES;
    const int to = (me + 1) % n, from = (me + n - 1) % n;

    weft_enter(self);
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, user->window + at, BYTES);
    weft_notify(self, WEFT_COMM_WORLD, from, 1);
    for (int round = 0; round < ROUNDS; round++) {
        weft_flush_local(self, win);
        memset(user->source + at, me + round, BYTES);
        weft_wait(self, 1, 1);
        weft_put_notify(self, win, to, 0, user->source + at, BYTES, 0);
        weft_wait(self, 0, 1);
        for (size_t i = 0; i < BYTES; i++)
            if (user->window[at + i] != (unsigned char)(from + round))
                user->wrong = 1;
        weft_notify(self, WEFT_COMM_WORLD, from, 1);
    }
    weft_wait(self, 1, 1);
    weft_win_free(self, &win);
    weft_leave(self);
}

/* One job, and messages of the program's own while it is open, where more threads than one may
 * call MPI. */
static int use_weft(int size, int rank, int own, int during)
{
    struct data data = {0};
    weft_job *job;
    int token = rank, sum = size * (size - 1) / 2;
    weft_status status = weft_open(&job, NULL, NULL);

    if (status != WEFT_OK)
        return (int)status;
    const weft_numbers *numbers = weft_numbers_of(job);
    if (own && (numbers->process != rank || numbers->processes != size)) {
        fprintf(stderr, "process %d of %d, but rank %d of %d\n", numbers->process,
                numbers->processes, rank, size);
        return 1;
    }
    data.window = weft_malloc(job, RANKS * BYTES);
    data.source = weft_malloc(job, RANKS * BYTES);
    if (during)
        MPI_Sendrecv_replace(&token, 1, MPI_INT, (rank + 1) % size, 1, (rank + size - 1) % size, 1,
                             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (weft_prepare(job, &ring, 1, RANKS) == WEFT_OK)
        weft_run(job, &data, sizeof(data), NULL);
    if (during)
        MPI_Allreduce(&token, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    status = weft_close(job);
    if (status == WEFT_OK && (data.wrong || sum != size * (size - 1) / 2)) {
        fprintf(stderr, "wrong data: weft %u, MPI's sum %d\n", data.wrong, sum);
        return 1;
    }
    return (int)status;
}

int main(int argc, char **argv)
{
    const char *level = argc > 1 ? argv[1] : "multiple";
    const int own = strcmp(level, "none") != 0;
    const int during = strcmp(level, "multiple") == 0;
    int given, rank = 0, size = 1;

    if (own) {
        MPI_Init_thread(NULL, NULL,
                        during                             ? MPI_THREAD_MULTIPLE
                        : strcmp(level, "serialized") == 0 ? MPI_THREAD_SERIALIZED
                                                           : MPI_THREAD_SINGLE,
                        &given);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
    }
    int status = use_weft(size, rank, own, during);
    if (status == 0)
        status = use_weft(size, rank, own, during);
    if (own) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Finalize();
    }
    if (status == 0 && rank == 0)
        printf("good\n");
    return status;
}
