/*
 * rma.c - gets and puts of MPI's windows, one way with their completion (MPI_Win_flush), between
 * processes 0 and 1.
 */
#include "peer.h"

#include <stdlib.h>
#include <string.h>

enum { GET, PUT };
static const char *const forms[] = {"get", "put", NULL};

static unsigned char byte_of(size_t i)
{
    return (unsigned char)(i * 31 + 7);
}

/* Seconds for so many of a size. */
static double transfers(MPI_Win win, int form, unsigned char *here, int bytes, uint64_t repeats)
{
    const double begun = bench_seconds();

    for (uint64_t i = 0; i < repeats; i++) {
        if (form == GET)
            MPI_Get(here, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, win);
        else
            MPI_Put(here, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, win);
        MPI_Win_flush(1, win);
    }
    return bench_seconds() - begun;
}

/* What has come is right; how many bytes are not. */
static uint64_t measure(MPI_Win win, const struct bench_options *options, unsigned char *here,
                        unsigned char *window, size_t bytes)
{
    int me;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    unsigned char *const source = options->form == GET ? window : here;
    unsigned char *const target = options->form == GET ? here : window;
    const uint64_t repeats = bench_repeats(options, bytes);
    uint64_t wrong = 0;

    memset(target, 0, bytes);
    for (size_t i = 0; i < bytes; i++)
        source[i] = byte_of(i);
    MPI_Win_sync(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        transfers(win, options->form, here, (int)bytes, bench_warm_up(repeats));
        const double seconds = transfers(win, options->form, here, (int)bytes, repeats);
        bench_line(bytes, repeats, seconds / (double)repeats * 1e6);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(win);
    for (size_t i = 0; me == (options->form == GET ? 0 : 1) && i < bytes; i++)
        wrong += target[i] != byte_of(i);
    return wrong;
}

int main(int argc, char **argv)
{
    struct bench_options options;
    unsigned char *window;
    uint64_t wrong = 0;
    MPI_Win win;
    int me, n;

    MPI_Init(&argc, &argv);
    bench_parse(&options, argc, argv, BENCH_HAS_SIZES,
                "Time of MPI_Get or MPI_Put and MPI_Win_flush. Run: mpirun -n 2", forms);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    unsigned char *const here = malloc(options.to);
    if (n != 2 || here == NULL || options.to > INT32_MAX)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Win_allocate((MPI_Aint)options.to, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    if (me == 0)
        bench_header("bytes", "repeats", "us");
    for (size_t bytes = options.from; bytes <= options.to; bytes *= 2)
        wrong += measure(win, &options, here, window, bytes);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    free(here);
    return peer_close(wrong);
}
