/*
 * abi/errand.h - a few bytes of device memory that the host has the device itself load, store or
 * update, where the host does not reach them. An errand fills a line (ring/command.h), and so does
 * what comes back: the same errand, with what was there before in `data`.
 */
#ifndef WEFT_ABI_ERRAND_H
#define WEFT_ABI_ERRAND_H

#include "abi/command.h"

#include <assert.h>
#include <stdint.h>

enum weft_errand_kind {
    WEFT_ERRAND_FETCH = 1, /* loads; words of 4 or 8 bytes are undivided where all is aligned so */
    WEFT_ERRAND_STORE,     /* stores; words are undivided as in a FETCH */
    WEFT_ERRAND_UPDATE,    /* each element by itself undivided; with COMPARE there is one */
    WEFT_ERRAND_COPY, /* copies data[1] bytes from data[0] to `address`, in memory that ranks reach,
                         of any kind; nothing comes back */
    /* Lots (abi/lot.h). No answer comes back: data[4], the lot's number, says that all is there. */
    WEFT_ERRAND_DELIVER, /* the lot at `address`: data[0] pieces, data[1] words */
    WEFT_ERRAND_FEW /* a lot that fits here: `bytes` (0, 4, 8 or 16) of data[0] to `address`; then
                       `count` to data[2], if that is not 0 */
};

enum { WEFT_ERRAND_BYTES = 40 };

struct weft_errand {
    uint8_t kind;
    uint8_t how, type; /* change of an UPDATE, as in weft_change */
    uint8_t bytes;     /* bytes of data, at most WEFT_ERRAND_BYTES */
    uint32_t count;    /* FEW: new value of a notification counter */
    uint64_t address;
    uint64_t data[WEFT_ERRAND_BYTES / 8]; /* COMPARE: the value, and in data[1] what is expected */
};

static_assert(sizeof(struct weft_errand) == WEFT_LINE_BYTES, "an errand fills a line");

#endif
