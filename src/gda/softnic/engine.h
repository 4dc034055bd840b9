/*
 * gda/softnic/engine.h - a NIC in software: it takes the bytes that an mlx5 NIC takes, in the same
 * ways, and completes them. How a request reaches its target is a wire's.
 *
 * It fetches what the doorbell record says is there, or the doorbell, where slots are far. It
 * checks each request in every bit, and begins requests of a queue in their order. Completions come
 * in that order, too. The first request that fails has an error completion, and ends the queue;
 * what is behind it is not executed.
 *
 * One thread at a time does rounds. A wire may finish a request from another.
 */
#ifndef WEFT_GDA_SOFTNIC_ENGINE_H
#define WEFT_GDA_SOFTNIC_ENGINE_H

#include "gda/queue.h"
#include "gda/softnic/request.h"

struct weft_softnic_queue;

/* A request under way. */
struct weft_softnic_work {
    uint64_t bytes[WEFT_MLX5_WORDS]; /* as fetched */
    struct weft_softnic_request request;
    uint32_t index;    /* of its first slot, 16 bits */
    uint32_t syndrome; /* what went wrong; set before `finished` */
    uint32_t finished;
};

struct weft_softnic_wire {
    /* Begins a request; the wire, or `begin` itself, finishes it (weft_softnic_finish). Requests of
     * a queue take effect in the order in which they are begun. False: no room, try again later. */
    bool (*begin)(struct weft_softnic_queue *queue, struct weft_softnic_work *work);
    /* Goes on with what was begun, since completions are waited for. True: it did anything. */
    bool (*proceed)(struct weft_softnic_queue *queue);
};

/*
 * Memory that this process does not load and store itself: `copy` between any memories, done on
 * return; `store` a word behind all that was copied; `update` a word, returning what was there.
 */
struct weft_softnic_far {
    bool (*copy)(void *context, void *target, const void *source, size_t bytes);
    bool (*store)(void *context, uint32_t *word, uint32_t value);
    bool (*update)(void *context, void *word, const struct weft_change *change, uint64_t *old);
    void *context;
};

struct weft_softnic {
    const struct weft_gda_keys *keys;   /* memory of this process */
    const struct weft_softnic_far *far; /* NULL: all memory is the host's */
    struct weft_bell *bell;             /* of ranks that wait for completions */
};

struct weft_softnic_queue {
    struct weft_softnic *nic;
    const struct weft_softnic_wire *wire;
    void *context; /* the wire's */
    int32_t process;
    uint32_t slot;

    /* As the rank's end (gda/queue.h). far: which of them the host does not load and store. */
    unsigned char *wqe, *cqe;
    uint32_t *record;
    const uint64_t *doorbell;
    uint32_t qpn, slots;
    bool wqe_far, cqe_far;

    uint64_t fetched;  /* slots fetched so far */
    uint64_t rung;     /* the last doorbell seen */
    uint64_t quiet_at; /* the doorbell up to which all is complete; any thread may read it */
    struct weft_softnic_work *works; /* a ring of as many as there are slots */
    uint64_t first, next, end; /* in works: the oldest; the next to begin; the next to fetch */
    bool stopped;              /* a request failed before it was begun */
    uint32_t broken;           /* syndrome that ended the queue; 0: none did */
    uint32_t failed;           /* index of the request that failed */
};

/* Makes the NIC's end of a queue whose next slot is `start`. False: no memory. */
bool weft_softnic_open(struct weft_softnic_queue *queue, uint64_t start);
void weft_softnic_close(struct weft_softnic_queue *queue);

/* Does a round of one queue. True: it did anything, or will have to. */
bool weft_softnic_round(struct weft_softnic_queue *queue);

/* Notes that a request is executed, or failed with a syndrome (0: it did not). Any thread. */
void weft_softnic_finish(struct weft_softnic_work *work, uint32_t syndrome);

/* ---- wire_loop.c ---- */

/* The wire to this process itself: its targets are memory of weft_softnic.keys. */
extern const struct weft_softnic_wire weft_softnic_loop;

#endif
