/*
 * support/pair.h - weft's side of the measurements between two processes: the user data of their
 * kernels, and the host program that runs a kernel once for each message size.
 */
#ifndef BENCH_PAIR_H
#define BENCH_PAIR_H

#include "support/bench.h"

#include <weft/weft.h>

struct pair_data {
    uint64_t *source, *target; /* device memory: all slots */
    uint64_t slots, bytes;     /* bytes of a message */
    uint64_t warm_up, repeats; /* repetitions before and inside the timed interval */
    uint64_t wrong;            /* result: words or messages that arrived wrong here */
};

/*
 * The whole program. The kernel runs with one rank on each of two processes, and times one
 * interval. Returns the exit status.
 */
int pair_main(int argc, char **argv, const char *about, const struct bench_pair *pair,
              const weft_kernel *kernel);

#endif
