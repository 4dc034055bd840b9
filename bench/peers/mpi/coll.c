/*
 * coll.c - a collective of MPI, as the OSU benchmarks measure it: a barrier, then the call, whose
 * time is averaged over repetitions and processes. All contents are made anew for each call, and
 * all are compared. bytes: of each process, or for each other one. --form all: one after the other
 * in one job, the lines of each after a header that begins with its name. A barrier has no sizes.
 */
#include "peer.h"

#include <stdlib.h>

static const char *const forms[] = {"gather",    "allgather", "alltoall", "bcast",
                                    "allreduce", "barrier",   "all",      NULL};
enum form { GATHER, ALLGATHER, ALLTOALL, BCAST, ALLREDUCE, BARRIER, ALL };

struct call {
    enum form form;
    int me, size, words;
    uint64_t *source, *target;
};

/* Word i of what a process has for another in a repetition. */
static uint64_t word(uint64_t repetition, int from, int to, int i)
{
    return (repetition * 64 + (uint64_t)from) << 40 | (uint64_t)to << 32 | (uint64_t)i;
}

/* Which piece of the source of `from` is piece `from` of this process's target: by form. */
static int piece_for(const struct call *c, int process)
{
    return c->form == ALLTOALL ? process : 0;
}

static void fill(const struct call *c, uint64_t repetition)
{
    const int pieces = c->form == ALLTOALL ? c->size : c->form == BARRIER ? 0 : 1;

    for (int p = 0; p < pieces; p++)
        for (int i = 0; i < c->words; i++)
            c->source[p * c->words + i] = word(repetition, c->me, p, i);
    if (c->form == BCAST && c->me == 0)
        for (int i = 0; i < c->words; i++)
            c->target[i] = c->source[i];
}

static void run(const struct call *c)
{
    switch (c->form) {
    case GATHER:
        MPI_Gather(c->source, c->words, MPI_UINT64_T, c->target, c->words, MPI_UINT64_T, 0,
                   MPI_COMM_WORLD);
        break;
    case ALLGATHER:
        MPI_Allgather(c->source, c->words, MPI_UINT64_T, c->target, c->words, MPI_UINT64_T,
                      MPI_COMM_WORLD);
        break;
    case ALLTOALL:
        MPI_Alltoall(c->source, c->words, MPI_UINT64_T, c->target, c->words, MPI_UINT64_T,
                     MPI_COMM_WORLD);
        break;
    case BCAST:
        MPI_Bcast(c->target, c->words, MPI_UINT64_T, 0, MPI_COMM_WORLD);
        break;
    case ALLREDUCE:
        MPI_Allreduce(c->source, c->target, c->words, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        break;
    default:
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static uint64_t wrong_words(const struct call *c, uint64_t repetition)
{
    const bool mine = c->form != BARRIER && (c->form != GATHER || c->me == 0);
    const int pieces = !mine ? 0 : c->form == BCAST || c->form == ALLREDUCE ? 1 : c->size;
    uint64_t wrong = 0;

    for (int p = 0; p < pieces; p++)
        for (int i = 0; i < c->words; i++) {
            uint64_t want = word(repetition, p, piece_for(c, c->me), i);
            for (int other = 1; c->form == ALLREDUCE && other < c->size; other++)
                want += word(repetition, other, 0, i);
            wrong += c->target[p * c->words + i] != want;
        }
    return wrong;
}

static uint64_t measure(struct call *c, const struct bench_options *options, size_t bytes)
{
    const uint64_t repeats = bench_repeats(options, bytes), warm_up = bench_warm_up(repeats);
    uint64_t wrong = 0;
    double spent = 0, all = 0;

    c->words = (int)(bytes / sizeof(uint64_t));
    for (uint64_t i = 0; i < warm_up + repeats; i++) {
        fill(c, i);
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = bench_seconds();
        run(c);
        if (i >= warm_up)
            spent += bench_seconds() - start;
        wrong += wrong_words(c, i);
    }
    MPI_Reduce(&spent, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (c->me == 0)
        bench_line(bytes, repeats, all / c->size / (double)repeats * 1e6);
    return wrong;
}

/* All sizes of a form. */
static uint64_t measure_form(struct call *c, const struct bench_options *options, enum form form)
{
    const size_t to = form == BARRIER ? options->from : options->to;
    uint64_t wrong = 0;

    c->form = form;
    if (c->me == 0)
        bench_header(options->form == ALL ? forms[form] : "bytes", "calls", "us");
    for (size_t bytes = options->from; bytes <= to; bytes *= 2)
        wrong += measure(c, options, bytes);
    return wrong;
}

int main(int argc, char **argv)
{
    struct bench_options options;
    struct call c = {0};
    uint64_t wrong = 0;

    bench_parse(&options, argc, argv, BENCH_HAS_SIZES, "Time of a collective. Run: mpirun -n N",
                forms);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &c.me);
    MPI_Comm_size(MPI_COMM_WORLD, &c.size);
    c.source = calloc((size_t)c.size, options.to);
    c.target = calloc((size_t)c.size, options.to);
    if (!c.source || !c.target)
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    for (int form = options.form % ALL; form < (options.form == ALL ? ALL : options.form + 1);
         form++)
        wrong += measure_form(&c, &options, (enum form)form);
    free(c.source);
    free(c.target);
    return peer_close(wrong);
}
