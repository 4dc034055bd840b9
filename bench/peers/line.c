/*
 * peers/line.c - the floor: a cache line with a number in it, stored by one process and seen by
 * another on another core, back and forth. No system that notifies through memory can be faster.
 */
#include "support/bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct line {
    _Alignas(128) uint64_t number; /* two lines, as the processor may fetch them in pairs */
};

static void await(const struct line *line, uint64_t number)
{
    while (__atomic_load_n(&line->number, __ATOMIC_ACQUIRE) != number)
        ;
}

static void say(struct line *line, uint64_t number)
{
    __atomic_store_n(&line->number, number, __ATOMIC_RELEASE);
}

/* Seconds of so many round trips, numbered from `first` on. */
static double round_trips(struct line *lines, uint64_t first, uint64_t count)
{
    double start = bench_seconds();
    for (uint64_t i = first; i < first + count; i++) {
        say(&lines[0], i);
        await(&lines[1], i);
    }
    return bench_seconds() - start;
}

static void answer(struct line *lines, uint64_t count)
{
    for (uint64_t i = 1; i <= count; i++) {
        await(&lines[0], i);
        say(&lines[1], i);
    }
}

int main(int argc, char **argv)
{
    struct bench_options options;
    bench_parse(&options, argc, argv, 0,
                "Time for a cache line to go from one core to another. Run as it is.", NULL);
    struct line *lines =
        mmap(NULL, 2 * sizeof(*lines), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (lines == MAP_FAILED) {
        fprintf(stderr, "bench: mmap: %s\n", strerror(errno));
        return EXIT_FAILURE;
    }
    const uint64_t warm_up = bench_warm_up(options.repeats);
    pid_t child = fork();
    if (child < 0) {
        fprintf(stderr, "bench: fork: %s\n", strerror(errno));
        return EXIT_FAILURE;
    }
    if (child == 0) {
        answer(lines, warm_up + options.repeats);
        _exit(EXIT_SUCCESS);
    }
    round_trips(lines, 1, warm_up);
    double seconds = round_trips(lines, 1 + warm_up, options.repeats);
    bench_header("bytes", "round_trips", "one_way_us");
    bench_line(sizeof(uint64_t), options.repeats,
               bench_latency.value(sizeof(uint64_t), options.repeats, seconds));
    if (waitpid(child, NULL, 0) != child) {
        fprintf(stderr, "bench: waitpid: %s\n", strerror(errno));
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
