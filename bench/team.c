/*
 * team.c - collectives of host programs on memory of their devices: a block of so many bytes of
 * each member, gathered by process 0, or by all, or each member's block for each other.
 *
 *     weftrun -n 4 bench_team --form gather
 */
#include "support/bench.h"

#include <weft/team.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const forms[] = {"gather", "allgather", "alltoall", NULL};
enum form { GATHER, ALLGATHER, ALLTOALL };

struct side {
    weft_job *job;
    weft_team *team;
    enum form form;
    int me;
    size_t members;
    unsigned char *source, *target; /* of the device: a block for each member */
    unsigned char *here;            /* as many, of the host */
};

static void must(weft_status status)
{
    if (status == WEFT_OK)
        return;
    fprintf(stderr, "bench: %s\n", weft_status_text(status));
    exit(EXIT_FAILURE);
}

/* What a member sends to another in byte i. */
static unsigned char byte_of(const struct side *s, size_t from, size_t to, size_t i)
{
    return (unsigned char)(31 * from + (s->form == ALLTOALL ? 7 * to : 0) + i + i / 251);
}

static void call(const struct side *s, size_t bytes)
{
    must(s->form == GATHER      ? weft_team_gather(s->team, 0, s->source, bytes, s->target, NULL)
         : s->form == ALLGATHER ? weft_team_allgather(s->team, s->source, bytes, s->target, NULL)
                                : weft_team_alltoall(s->team, s->source, s->target, bytes, NULL));
}

static uint64_t measure(const struct side *s, const struct bench_options *options, size_t bytes)
{
    const uint64_t repeats = bench_repeats(options, bytes), warm_up = bench_warm_up(repeats);
    const size_t all = s->members * bytes, me = (size_t)s->me;
    uint64_t wrong = 0;
    double start = 0;

    for (size_t at = 0; at < all; at++)
        s->here[at] = byte_of(s, me, at / bytes, at % bytes);
    must(weft_copy(s->job, s->source, s->here, all));
    memset(s->here, 0, all);
    must(weft_copy(s->job, s->target, s->here, all));
    must(weft_host_barrier(s->job));
    for (uint64_t i = 0; i < warm_up + repeats; i++) {
        if (i == warm_up)
            start = bench_seconds();
        call(s, bytes);
    }
    must(weft_host_barrier(s->job)); /* a gather's senders may be ahead */
    const double seconds = bench_seconds() - start;
    must(weft_copy(s->job, s->here, s->target, all));
    for (size_t at = 0; (s->form != GATHER || me == 0) && at < all; at++)
        wrong += s->here[at] != byte_of(s, at / bytes, me, at % bytes);
    if (me == 0)
        bench_line(bytes, repeats, seconds / (double)repeats * 1e6);
    return wrong;
}

int main(int argc, char **argv)
{
    struct bench_options options;
    struct side s = {0};
    uint64_t wrong = 0;

    must(weft_open(&s.job, &argc, argv));
    bench_parse(&options, argc, argv, BENCH_HAS_SIZES,
                "Collectives of host programs on memory of their devices. Run: weftrun -n 4 "
                "bench_team",
                forms);
    s.form = (enum form)options.form;
    s.me = weft_numbers_of(s.job)->process;
    s.members = (size_t)weft_numbers_of(s.job)->processes;
    s.source = weft_malloc(s.job, s.members * options.to);
    s.target = weft_malloc(s.job, s.members * options.to);
    s.here = malloc(s.members * options.to);
    if (s.source == NULL || s.target == NULL || s.here == NULL)
        must(WEFT_ERR_MEMORY);
    must(weft_team_open(s.job, WEFT_COMM_HOST, (int)s.members, s.me, "bench", NULL, &s.team));
    if (s.me == 0)
        bench_header("bytes", "calls", "us");
    for (size_t bytes = options.from; bytes <= options.to; bytes *= 2)
        wrong += measure(&s, &options, bytes);
    must(weft_team_close(&s.team));
    const weft_status closed = weft_close(s.job);
    free(s.here);
    return closed == WEFT_OK ? bench_status(wrong) : EXIT_FAILURE;
}
