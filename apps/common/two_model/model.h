/*
 * two_model/model.h - the main program of every two-model variant: open, repeat, measure, compare.
 */
#ifndef TWO_MODEL_MODEL_H
#define TWO_MODEL_MODEL_H

#include "exchange.h"
#include "machine.h"
#include "report.h"

/* What is common to all of them: the first member of an application's state. */
struct model_run {
    const struct settings *settings;
    int process, processes;
    uint32_t threads; /* of a block */
    char *arena;      /* once it is there */
    char *start;      /* see model_start */
    size_t start_bytes;
};

/*
 * What an application supplies, as the table `two_model` at the end of its file; `state` is its
 * own, a structure that begins with a struct model_run. Every function says itself why it failed.
 */
struct model {
    const struct program *program;
    size_t state_bytes; /* it starts as zeros, but for what `run` holds from the start */
    uint32_t threads;   /* of a block, where the command line does not say; 1 on the processor */

    /* Sizes, host memory, and how much of an arena it needs. */
    bool (*plan)(void *state, size_t *arena_bytes);
    bool (*place)(void *state); /* once, when the arena is there */
    /* The initial conditions, before each repetition. NULL: model_start's are copied. */
    bool (*begin)(void *state);
    /* One step: launches and model_exchange. Its launches depend only on whether k is even. */
    bool (*step)(void *state, uint64_t k);
    bool (*finish)(void *state); /* after each repetition: did all go well? May be NULL */
    /* What is verified: so many bytes of the arena of each process, and, on process 0, all of them,
     * in the order of processes. */
    const void *(*result)(const void *state, size_t *bytes);
    bool (*check)(const void *state, const void *all);
    void (*end)(void *state); /* frees its own; may be NULL */
};
extern const struct model two_model;

/* exchange_run, timed: where the host takes part, that counts as communication. */
bool model_exchange(const struct message *sends, int send_count, const struct message *receives,
                    int receive_count);

/* exchange_sum, timed in the same way. */
bool model_sum(double *values, size_t count);

/*
 * Zeroed host memory for the first bytes of the arena, as each repetition begins with them; freed
 * at the end. NULL: it has said why.
 */
void *model_start(struct model_run *run, size_t bytes);

#endif
