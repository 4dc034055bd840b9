/*
 * net/mpi/message.h - the header of a message between two processes, as pure functions on bytes.
 *
 * A put is one message, header and payload, or two: the header, and the payload by itself, under
 * another MPI tag. Both ends have the same byte order (they run the same MPI job; the magic number
 * says if not). What has arrived is hostile until weft_net_mpi_message_get has passed it; key,
 * bounds and notice are checked after that, by those who know them.
 */
#ifndef WEFT_NET_MPI_MESSAGE_H
#define WEFT_NET_MPI_MESSAGE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum { WEFT_NET_MPI_HEADER_BYTES = 40 };

/* The most that a payload of its own carries: larger puts travel in pieces. A receiver that cannot
 * let MPI store to the window holds one piece for each sender. */
#define WEFT_NET_MPI_PIECE (16u << 20)

enum weft_net_mpi_kind {
    WEFT_NET_MPI_PUT = 1, /* its payload follows in the message */
    WEFT_NET_MPI_LARGE,   /* its payload follows in a message of its own */
    WEFT_NET_MPI_ACK,     /* `acked`, and nothing else */
    WEFT_NET_MPI_BYE,     /* the sender's last message */
    WEFT_NET_MPI_ROWS     /* weft_net_rows and the rows follow in the message */
};

struct weft_net_mpi_message {
    uint32_t magic;    /* set on the wire */
    uint32_t kind;     /* enum weft_net_mpi_kind */
    uint32_t sequence; /* of puts of this pair, from 1; others: 0 */
    uint32_t acked;    /* so many puts of the other direction have taken effect */
    uint64_t key, offset;
    uint32_t bytes;
    uint32_t notice; /* 0: none */
};
static_assert(sizeof(struct weft_net_mpi_message) == WEFT_NET_MPI_HEADER_BYTES, "no padding");

void weft_net_mpi_message_put(unsigned char wire[WEFT_NET_MPI_HEADER_BYTES],
                              const struct weft_net_mpi_message *message);

/* `size` bytes that arrived as one message. NULL: good; else what is wrong with them. */
const char *weft_net_mpi_message_get(struct weft_net_mpi_message *message, const void *wire,
                                     size_t size);

#endif
