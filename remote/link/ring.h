/*
 * remote/link/ring.h - records from one process to another, through a ring in the receiver's memory
 * and a mirror of it in the sender's, from which the network puts.
 *
 * Counters are free-running numbers of bytes. A record lies in one piece; where it does not fit
 * before the end of the ring, a SKIP record fills the rest. One thread at a time uses a ring. All
 * that a receiver reads is hostile: lengths are checked before a record is handed out.
 */
#ifndef WEFT_REMOTE_LINK_RING_H
#define WEFT_REMOTE_LINK_RING_H

#include "weft/types.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    WEFT_RECORD_UNIT = 16,
    WEFT_RING_BYTES = 1 << 20,
    WEFT_RECORD_MOST = 128 << 10, /* bytes of a record, at most */
    WEFT_RECORD_SKIP = 0          /* a call: the rest of the ring is empty */
};

/* What a record begins with. */
struct weft_record {
    uint16_t call;  /* wire/calls.h */
    uint8_t lane;   /* of the thread that waits for the answer; 0: none does */
    uint8_t device; /* number on the server */
    uint32_t bytes; /* bytes of all of it: a multiple of WEFT_RECORD_UNIT */
    uint32_t extra; /* bytes of what follows the words */
    uint32_t words; /* words of 8 bytes, right behind this header */
};
_Static_assert(sizeof(struct weft_record) == WEFT_RECORD_UNIT, "a record's header is one unit");

static inline uint64_t *weft_record_words(struct weft_record *record)
{
    return (uint64_t *)(void *)(record + 1);
}
static inline unsigned char *weft_record_extra(struct weft_record *record)
{
    return (unsigned char *)(weft_record_words(record) + record->words);
}

struct weft_ring_out {
    unsigned char *mirror;
    uint64_t head;  /* records are complete up to here */
    uint64_t put;   /* records were given to the network up to here */
    uint64_t taken; /* the receiver has used them up to here */
};

struct weft_ring_in {
    unsigned char *memory;
    uint64_t head; /* records have come up to here */
    uint64_t tail; /* records were used up to here */
    uint64_t told; /* the sender knows of use up to here */
};

/* Takes room for a record with so many words and bytes behind them: its header is filled in, and it
 * counts from weft_ring_out_end on. NULL: no room now. */
struct weft_record *weft_ring_out_begin(struct weft_ring_out *ring, uint16_t call, uint32_t words,
                                        uint32_t extra);
void weft_ring_out_end(struct weft_ring_out *ring, const struct weft_record *record);
/* Gives the next stretch to put: its place in the ring. Returns its bytes, 0: there is none. */
uint32_t weft_ring_out_stretch(const struct weft_ring_out *ring, uint64_t *place);
/* Notes how far the receiver says that it is. False: it cannot be that far. */
bool weft_ring_out_taken(struct weft_ring_out *ring, uint64_t taken);

/* Notes that so many more bytes have come. False: there was no room for them. */
bool weft_ring_in_came(struct weft_ring_in *ring, uint64_t bytes);
/* Gives the next record; NULL: none has come. Errors: PROTOCOL, in silence: it is malformed. */
weft_status weft_ring_in_next(struct weft_ring_in *ring, struct weft_record **record);
void weft_ring_in_done(struct weft_ring_in *ring, const struct weft_record *record);

#endif
