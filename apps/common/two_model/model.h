/*
 * two_model/model.h - the main program of every two-model variant: open, repeat, measure, compare.
 */
#ifndef TWO_MODEL_MODEL_H
#define TWO_MODEL_MODEL_H

#include "exchange.h"
#include "machine.h"
#include "report.h"

/* What an application supplies. `problem` is its own. Every function says itself why it failed. */
struct model {
    const struct program *program;
    size_t problem_bytes; /* of its state, which starts as zeros */

    /* Sizes, host memory, and how much of an arena it needs. */
    bool (*plan)(void *problem, const struct settings *settings, int process, int processes,
                 size_t *arena_bytes);
    bool (*place)(void *problem, char *arena); /* once, when the arena is there */
    bool (*begin)(void *problem);              /* the initial conditions, before each repetition */
    /* One step: launches and model_exchange. Its launches depend only on whether k is even. */
    bool (*step)(void *problem, uint64_t k);
    bool (*finish)(void *problem); /* after each repetition: did all go well? May be NULL */
    bool (*verify)(void *problem, const struct settings *settings); /* collective */
    void (*end)(void *problem);
};

/* exchange_run, timed: where the host takes part, that counts as communication. */
bool model_exchange(const struct message *sends, int send_count, const struct message *receives,
                    int receive_count);

/* Returns the program's exit status. */
int model_main(const struct model *model, int argc, char **argv);

/* Collective: the arena's bytes at `device` from all processes, in new host memory on process 0. */
bool model_gather(const void *device, size_t bytes, int process, int processes, void *all);

#endif
