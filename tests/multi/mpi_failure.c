/*
 * A program that uses MPI itself, and whose jobs fail while large puts are under way: its own MPI
 * calls after them drive MPI, which must not find anything unmapped that it reads or writes.
 *
 *     mpirun -n N mpi_failure together   all close the job at once: what is under way ends there,
 *                                        and the next job uses MPI again
 *     mpirun -n N mpi_failure late       the last process closes it much later: what is under way
 *                                        to it and from it ends in MPI calls of the program
 *
 * The last line is "good" if all went on.
 */
#include <weft/device.h>

#include <mpi.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    RANKS = 2,
    ROUNDS = 8, /* before one rank makes a mistake */
    BYTES = 4 << 20,
    ON_STACK = 64 << 10, /* more than a packet */
    JOBS = 4,
    LATE_S = 4 /* longer than those who close wait for the others */
};

struct data {
    unsigned char *window, *source; /* BYTES for each rank */
};

/* Every rank puts to every other process without end, from memory and from its stack. */
WEFT_KERNEL(flood, struct data, user)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), n = weft_size(self, WEFT_COMM_WORLD);
    const size_t at = (size_t)weft_rank(self, WEFT_COMM_DEVICE) * BYTES;
    unsigned char mine[ON_STACK];

    memset(mine, me + 1, sizeof(mine));
    weft_enter(self);
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, user->window + at, BYTES);
    for (int round = 0;; round++) {
        for (int to = (me + RANKS) % n; to != me; to = (to + RANKS) % n) {
            weft_put(self, win, to, 0, user->source + at, BYTES);
            weft_put(self, win, to, 0, mine, sizeof(mine));
        }
        if (me == 0 && round == ROUNDS)
            weft_notify(self, WEFT_COMM_WORLD, n, 0); /* there is no such rank */
    }
}

/* Whether the job failed as it should. */
static int fail_once(int late)
{
    struct data data;
    weft_job *job;

    if (weft_open(&job, NULL, NULL) != WEFT_OK)
        return 0;
    data.window = weft_malloc(job, RANKS * BYTES);
    data.source = weft_malloc(job, RANKS * BYTES);
    if (data.window == NULL || data.source == NULL ||
        weft_prepare(job, &flood, 1, RANKS) != WEFT_OK) {
        weft_close(job);
        return 0;
    }
    const weft_status status = weft_run(job, &data, sizeof(data), NULL);
    if (late)
        sleep(LATE_S);
    weft_close(job);
    return status != WEFT_OK;
}

/* Messages of the program's own, which MPI's progress carries, and that of others with them. */
static int talk(int rank, int size)
{
    static unsigned char out[1 << 20], in[1 << 20];
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;

    memset(out, rank, sizeof(out));
    for (int i = 0; i < 20; i++) {
        MPI_Sendrecv(out, sizeof(out), MPI_BYTE, next, i, in, sizeof(in), MPI_BYTE, before, i,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (in[0] != (unsigned char)before || in[sizeof(in) - 1] != (unsigned char)before)
            return 0;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return 1;
}

int main(int argc, char **argv)
{
    const int late = argc > 1 && strcmp(argv[1], "late") == 0;
    int given, rank, size, good = 1, all = 0;

    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < (late ? 1 : JOBS); i++) {
        good &= fail_once(late && rank == size - 1);
        good &= talk(rank, size);
    }
    MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s\n", all ? "good" : "bad");
    fflush(stdout);
    MPI_Finalize();
    return !all;
}
