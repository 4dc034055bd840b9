/*
 * peer.h - what the MPI programs share: start and end, the measurement between two processes, and
 * a notified put made of MPI-3's parts.
 *
 * Errors of MPI end the program (MPI_ERRORS_ARE_FATAL, its default): no result is looked at.
 */
#ifndef BENCH_PEERS_MPI_PEER_H
#define BENCH_PEERS_MPI_PEER_H

#include "support/bench.h"

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* Sums up what all processes found wrong, and ends MPI. Returns the exit status. */
int peer_close(uint64_t wrong);

/*
 * A window on each of two processes, and how the owner learns that data is there:
 *   put         the sender puts its count into a word of the window, which the owner polls
 *   accumulate  the same by MPI_Accumulate with MPI_REPLACE, which MPI promises to be undivided
 *   send        an empty message, which the owner receives
 * Each of them after MPI_Win_flush: nothing else in MPI orders a put before a notification.
 */
enum peer_form { PEER_PUT, PEER_ACCUMULATE, PEER_SEND };

struct peer_window {
    MPI_Win win;
    MPI_Aint flag; /* where the polled word lies in either window */
    enum peer_form form;
    uint64_t sent, received; /* notifications */
};

/* A measurement under way. */
struct peer_pair {
    int rank;            /* in the pair: 0 or 1 */
    int other;           /* the other one's rank in MPI_COMM_WORLD */
    size_t slots, bytes; /* as in struct bench_pair */
    uint64_t *source;    /* all slots */
    uint64_t *target;    /* all slots, in the window if there is one */
    struct peer_window *window;
};

/* Of programs that put; those that only send have none. */
struct peer_windows {
    const char *const *forms;
    void (*open)(struct peer_pair *pair, struct peer_window *window, size_t bytes); /* collective */
    void (*close)(struct peer_window *window);
};
extern const struct peer_windows peer_windows;

/* Completes all puts at the other process, then tells it. */
void peer_notify(struct peer_pair *pair);
/* Waits for the next notification; the data put before it can then be read. */
void peer_wait(struct peer_pair *pair);

/*
 * The whole program. step: one repetition with messages that carry this number; returns how many
 * arrived wrong. windows: &peer_windows: with a window, and the option --form; NULL: without.
 * Messages that are not answered and need no window also go between several pairs at once: each
 * process of the first half and the one that is half of them further. The value is that of all
 * pairs in the time of the slowest. Returns the exit status.
 */
int peer_main(int argc, char **argv, const char *about, const struct bench_pair *measured,
              const struct peer_windows *windows,
              uint64_t (*step)(struct peer_pair *pair, uint64_t number));

#endif
