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
    WEFT_ERRAND_FETCH = 1, /* words of 4 or 8 bytes are undivided where all of it is aligned so */
    WEFT_ERRAND_STORE,     /* the same */
    WEFT_ERRAND_UPDATE,    /* each element by itself undivided; with COMPARE there is one */
    WEFT_ERRAND_COPY,      /* to `address`: data[1] bytes from data[0], in memory of any kind that
                              ranks reach; nothing comes back */
    WEFT_ERRAND_LAND,      /* a lot (abi/lot.h) at `address`: data[0] pieces, data[1] words; data[2]
                              becomes its `landed`, and nothing comes back */
    WEFT_ERRAND_FEW        /* one that is all here: `bytes` (0, 4, 8 or 16) from data[0] to `address`,
                              then `count` to data[2]; data[3] becomes `landed` of the lot data[4] */
};

enum { WEFT_ERRAND_BYTES = 40 };

struct weft_errand {
    uint8_t kind;
    uint8_t how, type; /* of an update: as in weft_change */
    uint8_t bytes;     /* at most WEFT_ERRAND_BYTES */
    uint32_t count;    /* of FEW */
    uint64_t address;
    uint64_t data[WEFT_ERRAND_BYTES / 8]; /* COMPARE: the value, and in data[1] what is expected */
};

static_assert(sizeof(struct weft_errand) == WEFT_LINE_BYTES, "an errand fills a line");

#endif
