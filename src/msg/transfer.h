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
    WEFT_TRANSFER_WAITS,   /* a receive that no message has matched */
    WEFT_TRANSFER_READS,   /* a receive that reads what was offered (a send that writes it), */
    WEFT_TRANSFER_GRANTED, /* or waits for its pieces, */
    WEFT_TRANSFER_WRITTEN, /* or is put into */
    WEFT_TRANSFER_QUEUED,  /* a send whose frame waits for room, */
    WEFT_TRANSFER_SENT,    /* or is with the receiver, whose word it waits for */
    WEFT_TRANSFER_PIECES,  /* a send in pieces, */
    WEFT_TRANSFER_PUT,     /* or that the network puts */
    WEFT_TRANSFER_MATCHED, /* a message that no other receive finds */
    WEFT_TRANSFER_PROBES,  /* stands for a probe that waits */
    WEFT_TRANSFER_DONE
};

/* Two lines of memory are all that a message which goes at once touches. */
struct weft_transfer {
    /* First: matching knows a receive by that. from is a process. */
    _Alignas(64) struct weft_posted posted;
    STAILQ_ENTRY(weft_transfer) link; /* free, or in one of the engine's lists */
    uint32_t index, generation;
    enum weft_transfer_state state;
    bool sends, device; /* device: the buffer is its memory */
    bool recalled;      /* a send is wanted back */
    struct weft_msg_context *context;
    const char *call;     /* that began it */
    weft_message message; /* from: a process */
    unsigned char *buffer;
    size_t room;            /* of the buffer; then of what is moved */
    size_t moved;           /* so far */
    int32_t peer;           /* the other process, of what does not go at once */
    uint64_t theirs, offer; /* the transfer over there; where its bytes lie, or go to */
    uint64_t into;          /* a receive's buffer, into which its sender copies; 0: it does not */
    uint64_t key, place[2]; /* of the receive's buffer, to the network that puts into it */
    unsigned char *mapped;  /* the other side's device memory, where this process maps it */
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

/* False: no memory. */
bool weft_transfer_grow(struct weft_transfer_table *table);
/* A new one, of which only the state and the flags are set; NULL: no memory. */
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
/* NULL: no such transfer. */
static inline struct weft_transfer *weft_transfer_find(const struct weft_transfer_table *table,
                                                       uint64_t number)
{
    struct weft_transfer *transfer = weft_transfer_at(table, (uint32_t)number);

    return transfer != NULL && transfer->state != WEFT_TRANSFER_FREE &&
                   transfer->generation == (uint32_t)(number >> 32)
               ? transfer
               : NULL;
}
/* The one behind it, in the order of places; NULL before the first. NULL: there is none. */
struct weft_transfer *weft_transfer_next(const struct weft_transfer_table *table,
                                         const struct weft_transfer *transfer);
/* Whether one of them is in that context. */
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
