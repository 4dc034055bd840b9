/*
 * support/bench.h - what the host side of every bench shares, weft's and its peers': options, the
 * two measurements between a pair of processes, and the lines of the result.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_WINDOW = 64 }; /* messages of a bandwidth measurement's repetition */

/* A measurement between processes 0 and 1, for one message size after the other. */
struct bench_pair {
    size_t slots;              /* messages in one repetition, each from and to a place of its own */
    bool answered;             /* the data goes back as well, as many messages again */
    const char *repeats_title; /* title of the result's column of repetitions */
    const char *value_title;   /* title of the result's column of values */
    double (*value)(size_t bytes, uint64_t repeats, double seconds); /* gives the line's value */
};

extern const struct bench_pair bench_latency; /* ping-pong: half a round trip in microseconds */
extern const struct bench_pair
    bench_bandwidth; /* windows of BENCH_WINDOW messages: 10^9 bytes a second */
extern const struct bench_pair bench_flush; /* put and flush: microseconds */

struct bench_options {
    size_t from, to;  /* bytes of a message, first and last: powers of two from 8 on, or 4 */
    uint64_t repeats; /* see bench_repeats */
    int ranks;        /* ranks of the whole job, in weft's barrier bench */
    int more;         /* ranks of each process beside its first */
    int form;         /* index into the forms that the program offers */
    enum bench_memory { BENCH_MALLOC, BENCH_REGISTERED, BENCH_PART } memory; /* host memory used */
};

/* Options that a program has besides --repeats, as bits. WORDS: sizes may be 4 bytes, too. */
enum {
    BENCH_HAS_SIZES = 1,
    BENCH_HAS_RANKS = 2,
    BENCH_HAS_WORDS = 4,
    BENCH_HAS_MORE = 8,
    BENCH_HAS_MEMORY = 16
};

/*
 * Reads the command line; a bad one ends the program with a message. about: a line for --help.
 * forms: the words that --form accepts, ended by NULL, the first being the default; NULL: there
 * is no such option.
 */
void bench_parse(struct bench_options *options, int argc, char **argv, int has, const char *about,
                 const char *const *forms);

/* How often to repeat a size in one timed interval: fewer for large ones, 1 % at least. */
uint64_t bench_repeats(const struct bench_options *options, size_t bytes);

/* Untimed repetitions before the timed interval. */
uint64_t bench_warm_up(uint64_t repeats);

/* Monotonic seconds. */
double bench_seconds(void);

/* The result on stdout: what is measured, as a header, then a line for each size. */
void bench_header(const char *size, const char *repeats, const char *value);
void bench_line(uint64_t size, uint64_t repeats, double value);

/* Says how much of the data was wrong, if any was. Returns the program's exit status. */
int bench_status(uint64_t wrong);

#endif
