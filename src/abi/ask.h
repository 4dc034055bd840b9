/*
 * abi/ask.h - what one process asks of another's memory, which it does not map: to send some of
 * it, or to update words of it.
 *
 * Each process has a mailbox in host memory, which it exposes: for every other process WEFT_ASKS
 * places. An ask is a put into the place that belongs to its sender, with a notice ASK; the answer
 * is a put of what was asked for, with a notice ANSWER, to where the ask says. So asks and answers
 * travel over every network, in the order of all puts. Both notices name the place.
 */
#ifndef WEFT_ABI_ASK_H
#define WEFT_ABI_ASK_H

#include "abi/command.h"
#include "weft/types.h"

#include <assert.h>
#include <stdbool.h>

enum {
    WEFT_ASKS = 16,                   /* asks under way at once from one process to another */
    WEFT_ASK_ROOM = WEFT_INLINE_MOST, /* bytes of operands, and of an answer in a mailbox */
    WEFT_ASK_GET = 15                 /* `how` of an ask that changes nothing */
};

struct weft_ask {
    uint64_t key, offset;  /* the owner's memory: network key of the region; offset in it */
    uint64_t width, pitch; /* get: bytes of a row, and between rows; update: bytes of operands, 0 */
    uint64_t reply_key, reply_offset, reply_pitch; /* where the answer goes in the asker's memory */
    uint32_t height;                               /* rows of a get */
    uint8_t how;   /* WEFT_ASK_GET, or what an update does (weft_change) */
    uint8_t type;  /* weft_type of an update */
    uint8_t wants; /* 1: the old values of an update are the answer's data */
    uint8_t unused;
};

struct weft_post {
    struct weft_ask ask;
    unsigned char operands[WEFT_ASK_ROOM]; /* operands of the peer's ask, written by the peer */
    unsigned char answer[WEFT_ASK_ROOM];   /* answer to this process's ask, written by the peer */
};

static_assert(sizeof(struct weft_ask) == 64, "an ask is a line");

/*
 * A command that asks says in its tag how, and what about. bits 0 to 3: how; 4 to 6: the type; 7:
 * the answer goes to the rank's link; 8 to 15: the tag to notify, with WEFT_COMMAND_NOTIFY. A get
 * has where its data goes in `source` and `source_pitch`; an update has its operands within or
 * behind, and in `pitch` where the old values go (0: nowhere).
 */
enum { WEFT_ASK_TO_LINK = 128 };

WEFT_INLINE uint16_t weft_ask_tag(uint32_t how, uint32_t type, bool to_link, int tag)
{
    return (uint16_t)(how | type << 4 | (to_link ? (uint32_t)WEFT_ASK_TO_LINK : 0) |
                      (tag >= 0 ? (uint32_t)tag << 8 : 0));
}

#endif
