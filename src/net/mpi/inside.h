/*
 * net/mpi/inside.h - the state of the transport, and what its two files offer each other.
 */
#ifndef WEFT_NET_MPI_INSIDE_H
#define WEFT_NET_MPI_INSIDE_H

#include "mpi/library.h"
#include "net/transport.h"

enum {
    WEFT_MPI_PACKET = 64 << 10,
    WEFT_MPI_BUFFERS = 64 /* for packets that go, and as many for those that come */
};

/* Buffers, in the order in which MPI was given them. */
struct weft_mpi_fifo {
    uint8_t ring[WEFT_MPI_BUFFERS];
    uint32_t first, count;
};

/*
 * What stands for an MPI where processes are tasks of one address space: its own communicator is
 * what the others know an end by. Tests have one (tests/support/mpi_inside.c), and nobody else.
 */
struct weft_mpi_stand_in {
    const struct weft_mpi_ops *ops;
    weft_status (*open)(struct weft_mpi_handle *comm, int process, int processes);
    void (*connect)(struct weft_mpi_handle *comm, int process, uint64_t end);
};
extern const struct weft_mpi_stand_in weft_mpi_stand_in __attribute__((weak));

/* What the others need to find a process. */
struct weft_mpi_address {
    uint64_t end; /* of a stand-in; 0: none */
    int64_t rank; /* in the communicator */
};

struct weft_mpi_peer {
    int rank; /* in the communicator */
    bool bye; /* nothing more will come from it */
};

struct weft_transport {
    struct weft_net_open open;
    const struct weft_mpi_ops *ops;
    struct weft_mpi_handle comm;
    bool single;                     /* one thread makes all calls */
    struct weft_mpi_address address; /* this process's */
    int connected;
    struct weft_mpi_peer *peers;
    int *process_of; /* by rank in the communicator */

    struct { /* who has the send lock */
        unsigned char (*buffers)[WEFT_MPI_PACKET];
        struct weft_mpi_handle requests[WEFT_MPI_BUFFERS];
        int process[WEFT_MPI_BUFFERS];
        struct weft_mpi_fifo sent;
        int error, lost; /* error code of MPI, 0: none; the process of the first one */
        bool said;       /* the error was reported as LOST */
        char text[128];
    } out;
    struct { /* the receive task */
        unsigned char (*buffers)[WEFT_MPI_PACKET];
        struct weft_mpi_handle requests[WEFT_MPI_BUFFERS];
        struct weft_mpi_fifo posted;
        weft_status status; /* not OK: MPI failed */
    } in;
};

static inline void weft_mpi_add(struct weft_mpi_fifo *fifo, uint32_t buffer)
{
    fifo->ring[(fifo->first + fifo->count++) % WEFT_MPI_BUFFERS] = (uint8_t)buffer;
}
static inline uint32_t weft_mpi_take(struct weft_mpi_fifo *fifo)
{
    fifo->count--;
    return fifo->ring[fifo->first++ % WEFT_MPI_BUFFERS];
}

/* Gives MPI a buffer to receive the next message, behind all others. The next poll tells errors. */
void weft_mpi_post(struct weft_transport *t, uint32_t buffer);

/* Functions of transport.h. A packet of 0 bytes is the last one to a process. */
weft_status weft_mpi_commit(struct weft_transport *t, int process, unsigned char *packet,
                            size_t bytes);
int weft_mpi_poll_send(struct weft_transport *t, struct weft_transport_event *events, int most);
int weft_mpi_poll_receive(struct weft_transport *t, struct weft_transport_event *events, int most);

#endif
