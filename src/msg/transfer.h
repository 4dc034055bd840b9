/*
 * msg/transfer.h - sends, receives and matched messages that are under way: a table whose entries
 * stay where they are. A number is a place and its generation, so that one that is no longer good
 * is recognised; it goes to programs as a weft_message_op, and to other processes in frames.
 */
#ifndef WEFT_MSG_TRANSFER_H
#define WEFT_MSG_TRANSFER_H

#include "msg/match.h"
#include "weft/message.h"

#include <stdbool.h>

struct weft_msg_context;
struct weft_unexpected;

enum weft_transfer_state {
    WEFT_TRANSFER_FREE,
    WEFT_TRANSFER_WAITS,   /* receive: no message has matched it */
    WEFT_TRANSFER_READS,   /* receive: reads the sender's bytes; send: writes the receiver's */
    WEFT_TRANSFER_GRANTED, /* receive: waits for pieces, or for the sender's copy */
    WEFT_TRANSFER_WRITTEN, /* receive: the network puts into its buffer */
    WEFT_TRANSFER_QUEUED,  /* send: its frame waits for room */
    WEFT_TRANSFER_SENT,    /* send: it has gone, and waits for the receiver's answer */
    WEFT_TRANSFER_PIECES,  /* send: goes in pieces */
    WEFT_TRANSFER_PUT,     /* send: waits for far.c to put it */
    WEFT_TRANSFER_MATCHED, /* a message that a probe has taken: no other receive finds it */
    WEFT_TRANSFER_PROBES,  /* stands for a probe that waits */
    WEFT_TRANSFER_DONE
};

/* Two lines of memory are all that a message which goes at once touches. */
struct weft_transfer {
    /* First member: matching points to it. from: a process. */
    _Alignas(64) struct weft_posted posted;
    STAILQ_ENTRY(weft_transfer) link; /* free, or in one of the engine's lists */
    uint32_t index, generation;
    enum weft_transfer_state state;
    bool sends, device; /* a send, else a receive; the buffer is device memory */
    bool recalled;      /* send: its receiver was asked to give it back */
    struct weft_msg_context *context;
    const char *call;     /* name of the call that began it */
    weft_message message; /* what its end reports; from: a process */
    unsigned char *buffer;
    size_t room;            /* bytes of the buffer; once matched, bytes to be moved */
    size_t moved;           /* bytes moved so far */
    int32_t peer;           /* the other process, unless the message goes at once */
    uint64_t theirs, offer; /* the peer's transfer number; its buffer: address or memory offer */
    uint64_t into;          /* receive: its buffer, for the sender to copy into; 0: none */
    uint64_t key, place[2]; /* network key and place of the receive's buffer, to put into it */
    unsigned char *mapped;  /* the peer's device memory, mapped here; NULL: not mapped */
    struct weft_unexpected *matched;
};

STAILQ_HEAD(weft_transfer_list, weft_transfer);

enum { WEFT_TRANSFER_BLOCK = 64 };

struct weft_transfer_table {
    struct weft_transfer **blocks;
    uint32_t count; /* of blocks */
    struct weft_transfer *idle;
    uint32_t used;
};

/* Adds a block of free transfers. False: no memory. */
bool weft_transfer_grow(struct weft_transfer_table *table);
/* Takes a free transfer and sets only its state and its flags; NULL: no memory. */
static inline struct weft_transfer *weft_transfer_take(struct weft_transfer_table *table,
                                                       enum weft_transfer_state state)
{
    if (table->idle == NULL && !weft_transfer_grow(table))
        return NULL;
    struct weft_transfer *transfer = table->idle;

    table->idle = transfer->link.stqe_next;
    table->used++;
    transfer->generation += transfer->generation == UINT32_MAX ? 2 : 1; /* never all zero */
    transfer->state = state;
    transfer->sends = transfer->device = transfer->recalled = false;
    return transfer;
}
static inline void weft_transfer_give(struct weft_transfer_table *table,
                                      struct weft_transfer *transfer)
{
    transfer->state = WEFT_TRANSFER_FREE;
    transfer->link.stqe_next = table->idle;
    table->idle = transfer;
    table->used--;
}
static inline struct weft_transfer *weft_transfer_at(const struct weft_transfer_table *table,
                                                     uint32_t index)
{
    return index / WEFT_TRANSFER_BLOCK < table->count
               ? &table->blocks[index / WEFT_TRANSFER_BLOCK][index % WEFT_TRANSFER_BLOCK]
               : NULL;
}
/* Finds the transfer with a number; NULL: there is none, or it is over. */
static inline struct weft_transfer *weft_transfer_find(const struct weft_transfer_table *table,
                                                       uint64_t number)
{
    struct weft_transfer *transfer = weft_transfer_at(table, (uint32_t)number);

    return transfer != NULL && transfer->state != WEFT_TRANSFER_FREE &&
                   transfer->generation == (uint32_t)(number >> 32)
               ? transfer
               : NULL;
}
/* Returns the transfer in use behind `transfer`, by place; from the first on if that is NULL. NULL:
 * there is none. */
struct weft_transfer *weft_transfer_next(const struct weft_transfer_table *table,
                                         const struct weft_transfer *transfer);
/* Whether a transfer in use is in that context. */
bool weft_transfer_uses(const struct weft_transfer_table *table,
                        const struct weft_msg_context *context);
void weft_transfer_table_close(struct weft_transfer_table *table);

static inline uint64_t weft_transfer_number(const struct weft_transfer *transfer)
{
    return (uint64_t)transfer->generation << 32 | transfer->index;
}

static inline weft_message_op weft_transfer_op(const struct weft_transfer *transfer)
{
    return (weft_message_op){transfer->index, transfer->generation};
}

static inline uint64_t weft_op_number(weft_message_op op)
{
    return (uint64_t)op.generation << 32 | op.index;
}

#endif
