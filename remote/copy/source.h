/*
 * remote/copy/source.h - the sending side of a copy between processes: memory cut into pieces, each
 * put straight into the target's region; the copy's owner hears when all are delivered.
 *
 * A program sends its host memory as it lies. A session fetches pieces of device memory into the
 * network's staging memory (net/staging.h) first, several at once, so that fetching, the network
 * and what happens at the target overlap. One thread.
 */
#ifndef WEFT_REMOTE_COPY_SOURCE_H
#define WEFT_REMOTE_COPY_SOURCE_H

#include "net/staging.h"
#include "remote/copy/plan.h"
#include "remote/link/links.h"

enum { WEFT_COPIES = 4096 /* numbers of copies under way */ };

/* What a copy is to its source. Travels as its bytes. */
struct weft_send {
    uint32_t number;
    int32_t owner, process; /* who hears of its end; who gets the bytes */
    int32_t device;       /* -1: host memory; else a device of the session, which finds it itself */
    uint64_t from, bytes; /* address at the source; how many bytes */
    uint64_t key, offset; /* key of the target's region; offset there */
    struct weft_plan plan;
};

struct weft_piece {
    struct weft_link_completion completion;
    struct weft_sending *sending;
    uint64_t at; /* offset in the copy */
    size_t bytes;
    unsigned char *memory; /* what is put from */
    uint64_t key;          /* network key of `memory`, where it is the piece's own */
    enum {
        WEFT_PIECE_FREE,
        WEFT_PIECE_FETCHED,
        WEFT_PIECE_FAILED,
        WEFT_PIECE_READY,
        WEFT_PIECE_PUT,
        WEFT_PIECE_DELIVERED
    } state;
};

struct weft_sending {
    struct weft_sources *sources;
    struct weft_sending *next;
    struct weft_send send;
    uint64_t begun, put, delivered; /* bytes of the copy that are so far */
    size_t piece;                   /* bytes of a piece, at most */
    uint32_t depth;                 /* pieces under way at once */
    bool told;                      /* its owner was told of its end */
    void (*over)(uint32_t number);  /* called at its end; NULL: nobody waits */
    struct weft_piece pieces[WEFT_PLAN_DEPTH];
};

struct weft_sources {
    struct weft_record_links *links;
    struct weft_stage *stage; /* staging memory; NULL: only host memory is sent */
    /* How a session fetches device memory: begins a copy to a piece's memory, which is READY, or
     * FAILED, when that is over. Errors: NET_FULL: not now; DEVICE. */
    void *context;
    weft_status (*fetch)(void *context, struct weft_piece *piece, uint64_t from);
    struct weft_sending *first;
    uint64_t sent; /* bytes put so far */
    uint64_t own;  /* bytes of memory that pieces have for themselves */
};

/* Begins a copy. Its owner is told when all is delivered; where that is the target, when all was
 * put: what is put later arrives later. Errors: MEMORY. */
weft_status weft_sources_add(struct weft_sources *sources, const struct weft_send *send);
/* Finds the copy of that number that is under way; NULL: none. */
struct weft_sending *weft_sources_find(struct weft_sources *sources, uint32_t number);
/* Drives all copies; non-blocking. *did: something moved. Errors: DEVICE, the network's. */
weft_status weft_sources_pump(struct weft_sources *sources, bool *did);
/* Forgets all copies that are under way, when the network is closed. */
void weft_sources_close(struct weft_sources *sources);

#endif
