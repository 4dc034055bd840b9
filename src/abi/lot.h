/*
 * abi/lot.h - what has arrived for ranks of a device that the host does not reach: small pieces and
 * words, which a warp of the device stores at once (device/cuda/block). In host memory that both
 * reach.
 *
 * Pieces are stored first, in no order: no two of them overlap. Words follow in their order, each
 * behind all before it, as a stream would store them: who acquires a word sees every piece. But
 * words with groups that follow each other are stored at once, each behind those of its group. A
 * word may lie within a piece of its lot that came before it, not of one that came after.
 *
 * Lots have numbers, from 1 on, and are delivered in order.
 */
#ifndef WEFT_ABI_LOT_H
#define WEFT_ABI_LOT_H

#include <assert.h>
#include <stdint.h>

enum {
    WEFT_LOT_PIECES = 512,  /* pieces of a lot, at most */
    WEFT_LOT_WORDS = 256,   /* words of a lot, at most */
    WEFT_LOT_PIECE = 256,   /* bytes of a piece, at most */
    WEFT_LOT_BYTES = 65536, /* bytes of all pieces of a lot, at most */
    WEFT_LOT_GROUP = 8      /* bits of an entry of `size` below its group */
};

struct weft_lot_piece {
    uint64_t to; /* address of the target */
    uint32_t at; /* offset in `bytes` of the lot; as far from a multiple of 8 as `to` */
    uint32_t bytes;
};

struct weft_lot_word {
    uint64_t to; /* address of the target, aligned */
    uint64_t value;
};

static_assert(sizeof(struct weft_lot_piece) == 16 && sizeof(struct weft_lot_word) == 16,
              "read by a lane each");

/* The bytes of a word, by its entry in `size`. */
static inline uint32_t weft_lot_bytes(uint32_t size)
{
    return size % (1u << WEFT_LOT_GROUP);
}

struct weft_lot {
    struct weft_lot_piece piece[WEFT_LOT_PIECES];
    struct weft_lot_word word[WEFT_LOT_WORDS];
    uint32_t size[WEFT_LOT_WORDS]; /* bytes of each word, 4 or 8; from bit 8 on its group, or 0 */
    unsigned char bytes[WEFT_LOT_BYTES];
};

#endif
