/*
 * two_model/exchange.h - the other way to program a cluster of GPUs: kernels per phase, and in
 * between the host sends messages. One interface, and one implementation for each network; the
 * two-model programs are linked with one of them each.
 *
 * Every process has an arena of the same size, in the memory where its kernels work. A message goes
 * from a place in the sender's arena to a place in the receiver's. Both name it: for the sender it
 * is one of its sends, for the receiver one of its receives; two processes list the messages
 * between them in the same order.
 *
 * What the program owes: it sends to a place only after it has received a message which the target
 * sent after its last use of that place. (Networks that put need it, the others do not care.)
 */
#ifndef TWO_MODEL_EXCHANGE_H
#define TWO_MODEL_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Slots are below the one; sends and receives of an exchange are no more than the other. */
enum { EXCHANGE_SLOTS = 256, EXCHANGE_MESSAGES = 4096 };

struct message {
    int process;     /* the other one */
    int slot;        /* tells apart what may be under way to one receiver at once */
    size_t from, to; /* in the sender's and in the receiver's arena, in bytes */
    size_t bytes;    /* the same for both; 0: a notice alone */
};

extern const char exchange_name[]; /* of the network: "mpi", "net", ... */

/* Collective. Removes from argv what is meant for the network. False: it has said why. */
bool exchange_open(int *argc, char ***argv, int *process, int *processes);
void exchange_close(bool good); /* not good: ends the other processes, too */

/* Collective, once. Zeroed memory; NULL: it has said why. Freed by exchange_close. */
void *exchange_arena(size_t bytes);

/*
 * Returns when all that is sent has been read and all that is to be received is there; or, if
 * exchange_enqueues, has put that into the machine's stream, and may be captured into a graph.
 */
bool exchange_run(const struct message *sends, int send_count, const struct message *receives,
                  int receive_count);
extern const bool exchange_enqueues;

/* Nobody leaves before all have entered: of the hosts. */
bool exchange_barrier(void);
/* Collective. The largest value of all processes, on all of them. */
bool exchange_largest(double *value);
/* Collective. Sums over all processes, on all of them the same. Not of all networks. */
bool exchange_sum(double *values, size_t count);
/* Host memory of all processes, `bytes` each, in their order at `all` on process 0. */
bool exchange_gather(const void *mine, size_t bytes, void *all);

#endif
