/*
 * net/mpi/end.h - a process's end of the network: what mpi.c, send.c and receive.c share.
 *
 * Who touches what: "put" is the progress thread, "receive" the receive thread. "Post" is the one
 * of them that calls MPI for what is sent: the progress thread with WEFT_MPI_THREADS=multi, the
 * receive thread with single, which then makes all MPI calls of the network. What goes from one to
 * another goes through the two lists under the lock, or through a word with a label.
 */
#ifndef WEFT_NET_MPI_END_H
#define WEFT_NET_MPI_END_H

#include "base/task.h"
#include "mpi/library.h"
#include "net/arrive.h"
#include "net/mpi/message.h"
#include "net/net.h"

/* A put, or a piece of one, is a message with a number. So many may be unacknowledged per peer:
 * what a peer must be able to hold while an earlier payload is under way. A power of two. */
enum { WEFT_NET_MPI_WINDOW = 256 };

enum { WEFT_NET_MPI_TAG_MESSAGE = 1, WEFT_NET_MPI_TAG_PAYLOAD };

/* Lists of peers to look after: with puts that have not landed; messages that have not taken
 * effect; what is not acknowledged. The first is the put thread's, the others the receive thread's.
 */
enum weft_net_mpi_list {
    WEFT_NET_MPI_BUSY,
    WEFT_NET_MPI_WAITING,
    WEFT_NET_MPI_OWING,
    WEFT_NET_MPI_LISTS
};

/* A put under way. In a ring of its peer, by number: it has one message at least. */
struct weft_net_mpi_put {
    void *cookie;
    uint32_t end;    /* sequence of its last message */
    uint32_t unread; /* messages whose source MPI may still read; and 1 for what is not issued */
    bool told;       /* `sent` was called */
};

/* A message on its way out. */
struct weft_net_mpi_out {
    struct weft_net_mpi_out *next;
    struct weft_net_mpi_put *put; /* whose source a payload of its own is; else NULL */
    const void *payload;          /* sent after the header; NULL: none, or in the message */
    size_t payload_bytes;
    int process;
    bool header_done, payload_done;
    struct weft_net_mpi_message message;
    struct weft_mpi_handle header_request, payload_request;
    unsigned char wire[]; /* header and, up to the eager limit, payload */
};

/* A message that has come in. */
struct weft_net_mpi_in {
    struct weft_net_mpi_in *next;
    struct weft_mpi_handle request;
    size_t bytes;
    bool received;
    /* a put that has taken effect, until its data is on the device: */
    struct weft_net_mpi_peer *peer;
    uint32_t taken; /* so many of the peer's, with this one */
    void *bounce;   /* through which a payload of its own came, or NULL */
    unsigned char wire[];
};

struct weft_net_mpi_peer {
    int process, rank; /* in the job; in the MPI communicator */
    struct {
        struct weft_net_mpi_peer *next;
        bool in;
    } links[WEFT_NET_MPI_LISTS]; /* each of its list's thread */

    /* put */
    struct weft_net_put current;   /* accepted, not all of it in messages yet, */
    size_t done;                   /* but so many bytes; */
    bool active;                   /* there is one */
    struct weft_net_mpi_put *puts; /* ring of WEFT_NET_MPI_WINDOW */
    uint32_t first, count;         /* of puts that have not landed */
    uint32_t sequence;             /* of the last message made */

    /* receive */
    struct weft_net_mpi_in *first_in, *last_in;
    uint32_t waiting;  /* messages in that list */
    uint32_t expected; /* sequence of the next put */
    uint32_t taken;    /* puts applied, maybe not settled yet */
    void *landing;     /* a payload comes in here, */
    void *bounce;      /* or here, where the host cannot store to the window; */
    uint32_t bounces;  /* so many before it are on their way to the device */
    struct weft_mpi_handle landing_request;
    uint64_t owed_since; /* ns */
    struct weft_mpi_handle ack_request;
    unsigned char ack_wire[WEFT_NET_MPI_HEADER_BYTES];
    bool acking; /* ack_request is under way */
    bool bye;    /* nothing more will come */

    /* between them: labels ring_credit and ring_space */
    uint32_t applied; /* puts from this peer that have taken effect; by receive, for post */
    uint32_t acked;   /* puts to this peer that have, says the peer; by receive, for put */
    uint32_t made;    /* `sequence`, for receive, which checks what is acknowledged */
    uint32_t told;    /* the last `applied` that was sent; by post and receive, a hint */
};

struct weft_net_mpi_out_list {
    struct weft_net_mpi_out *first, *last; /* last: if there is a first */
};

struct weft_net {
    struct weft_net_open open;
    const struct weft_mpi_ops *ops;
    struct weft_mpi_handle comm;
    bool inside; /* tasks of one address space: no MPI */
    bool single; /* the receive thread posts */
    int rank;    /* in the communicator */
    uint32_t eager;
    struct weft_net_mpi_peer *peers;
    int *process_of; /* by rank in the communicator */
    int connected;   /* peers */
    struct weft_net_mpi_peer *lists[WEFT_NET_MPI_LISTS];
    struct weft_arrive arrive;

    /* put */
    struct weft_net_mpi_out *free_out;
    uint32_t made_out;

    /* post */
    struct weft_net_mpi_out_list posted; /* MPI has them */

    /* receive */
    struct weft_net_mpi_in *free_in;
    struct weft_net_mpi_in *taken, *last_taken; /* a FIFO: have taken effect, not concluded; */
    struct weft_net_mpi_in *last_ended;         /* the last of them in a batch; NULL: none is */
    bool closing;                               /* what comes in is dropped */

    struct weft_lock lock;
    struct weft_net_mpi_out_list made, finished; /* put to post, post to put */
    uint32_t broken; /* an error was returned: nothing more is certain */
};

/* Passes an error on, after which nothing more is certain. */
weft_status weft_net_mpi_broken(struct weft_net *net, weft_status status);

/* Says MPI's error in what went "to" a process or comes "from" it. NETWORK. */
weft_status weft_net_mpi_failed(struct weft_net *net, const char *way, int process, int error,
                                const char *what);

/* Puts a peer into a list, once. */
void weft_net_mpi_enlist(struct weft_net *net, enum weft_net_mpi_list list,
                         struct weft_net_mpi_peer *peer);
/* Serves each peer of a list once; one that is not to be kept leaves it. */
typedef weft_status weft_net_mpi_server(struct weft_net *net, struct weft_net_mpi_peer *peer,
                                        bool *keep, bool *did);
weft_status weft_net_mpi_serve(struct weft_net *net, enum weft_net_mpi_list list,
                               weft_net_mpi_server *serve, bool *did);

/* ---- send.c ---------------------------------------------------------------------------------- */

weft_status weft_net_mpi_put(struct weft_net *net, const struct weft_net_put *put);
/* The progress thread's turn: posts (not with `single`), reports, goes on with what waits. */
weft_status weft_net_mpi_send_turn(struct weft_net *net, bool *did);
/* Gives MPI what was made, and sees what it has done with. The thread that posts. */
weft_status weft_net_mpi_post_turn(struct weft_net *net, bool *did);
/* The last message to a peer. While neither thread runs. */
weft_status weft_net_mpi_say_bye(struct weft_net *net, struct weft_net_mpi_peer *peer);
void weft_net_mpi_send_close(struct weft_net *net);

/* ---- receive.c: the receive thread, as all below --------------------------------------------- */

weft_status weft_net_mpi_receive_turn(struct weft_net *net, bool *did);
void weft_net_mpi_receive_close(struct weft_net *net);
/* Up to this one their data is there: they are acknowledged. */
weft_status weft_net_mpi_conclude(struct weft_net *net, uint64_t last);

#endif
