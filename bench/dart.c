/*
 * bench/dart.c - DART's own calls, size by size: unit 0 gets from the last unit's part, or puts
 * there, blocking, so that all is complete when the call returns. Alone, at its own part.
 */
#include "support/bench.h"

#include <dash/dart/if/dart.h>

#include <stdio.h>
#include <stdlib.h>

enum { GET, PUT };

static const char *const forms[] = {"get", "put", NULL};

#define TRY(call)                                                                                  \
    do {                                                                                           \
        if ((call) != DART_OK)                                                                     \
            return false;                                                                          \
    } while (0)

static unsigned char byte_of(int form, size_t i)
{
    return (unsigned char)(i * 31 + (form == PUT ? 7 : 101));
}

/* Seconds for all repetitions of one size. */
static bool time_of(int form, dart_gptr_t there, unsigned char *here, size_t bytes,
                    uint64_t repeats, double *seconds)
{
    const uint64_t warm_up = bench_warm_up(repeats);
    double begun = 0;

    for (uint64_t i = 0; i < warm_up + repeats; i++) {
        if (i == warm_up)
            begun = bench_seconds();
        if (form == GET)
            TRY(dart_get_blocking(here, there, bytes, DART_TYPE_BYTE, DART_TYPE_BYTE));
        else
            TRY(dart_put_blocking(there, here, bytes, DART_TYPE_BYTE, DART_TYPE_BYTE));
    }
    *seconds = bench_seconds() - begun;
    return true;
}

/* By unit 0: all sizes, and how many bytes were wrong. */
static bool measure(const struct bench_options *options, dart_gptr_t there, uint64_t *wrong)
{
    unsigned char *const here = malloc(options->to), *const seen = malloc(options->to);
    bool good = here != NULL && seen != NULL;

    for (size_t i = 0; good && i < options->to; i++)
        here[i] = byte_of(options->form, i);
    if (good && options->form == GET) {
        good =
            dart_put_blocking(there, here, options->to, DART_TYPE_BYTE, DART_TYPE_BYTE) == DART_OK;
        for (size_t i = 0; i < options->to; i++)
            here[i] = 0;
    }
    bench_header("bytes", "repeats", "us");
    for (size_t bytes = options->from; good && bytes <= options->to; bytes *= 2) {
        const uint64_t repeats = bench_repeats(options, bytes);
        double seconds;
        good = time_of(options->form, there, here, bytes, repeats, &seconds);
        if (good)
            bench_line(bytes, repeats, seconds / (double)repeats * 1e6);
    }
    good = good &&
           dart_get_blocking(seen, there, options->to, DART_TYPE_BYTE, DART_TYPE_BYTE) == DART_OK;
    for (size_t i = 0; good && i < options->to; i++)
        *wrong += (options->form == GET ? here : seen)[i] != byte_of(options->form, i);
    free(here);
    free(seen);
    return good;
}

static bool run(const struct bench_options *options, uint64_t *wrong)
{
    dart_gptr_t memory;
    dart_global_unit_t unit;
    size_t units;

    TRY(dart_myid(&unit));
    TRY(dart_size(&units));
    TRY(dart_team_memalloc_aligned(DART_TEAM_ALL, options->to, DART_TYPE_BYTE, &memory));
    dart_gptr_t there = memory;
    TRY(dart_gptr_setunit(&there, DART_TEAM_UNIT_ID((int)units - 1)));
    TRY(dart_barrier(DART_TEAM_ALL));
    if (unit.id == 0 && !measure(options, there, wrong))
        return false;
    TRY(dart_barrier(DART_TEAM_ALL));
    TRY(dart_team_memfree(memory));
    return true;
}

int main(int argc, char **argv)
{
    struct bench_options options;
    uint64_t wrong = 0;

    if (dart_init(&argc, &argv) != DART_OK)
        return 1;
    bench_parse(&options, argc, argv, BENCH_HAS_SIZES, "Time of DART's blocking gets and puts.",
                forms);
    const bool good = run(&options, &wrong);
    return dart_exit() != DART_OK || !good ? 1 : bench_status(wrong);
}
