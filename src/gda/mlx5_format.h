/*
 * gda/mlx5_format.h - the bytes between a rank and a NIC of the mlx5 family: work requests (WQE),
 * completions (CQE), the doorbell record and the doorbell. Written after the published format;
 * tests/unit/gda/test_queue_format.c compares it with rdma-core's where that is installed.
 *
 * All fields are big-endian. A queue is a ring of slots of 64 bytes. A request begins at a slot and
 * is made of units of 16 bytes: control, then as the opcode wants a remote address, an atomic's
 * operands, and data by key or in the request itself ("inline").
 */
#ifndef WEFT_GDA_MLX5_FORMAT_H
#define WEFT_GDA_MLX5_FORMAT_H

#include "order/inline.h"

#include <assert.h>
#include <stdint.h>

enum weft_mlx5_opcode {
    WEFT_MLX5_NOP = 0x00,
    WEFT_MLX5_WRITE = 0x08,
    WEFT_MLX5_READ = 0x10,
    WEFT_MLX5_COMPARE_SWAP = 0x11,
    WEFT_MLX5_FETCH_ADD = 0x12
};

enum {
    WEFT_MLX5_SLOT = 64,
    WEFT_MLX5_UNIT = 16,
    WEFT_MLX5_SLOTS_MOST = 2, /* slots of a request here, at most */
    WEFT_MLX5_WORDS = WEFT_MLX5_SLOTS_MOST * WEFT_MLX5_SLOT / 8,
    WEFT_MLX5_INLINE_SLOT = 28, /* bytes that fit into a request of one slot */
    WEFT_MLX5_INLINE_MOST = 92, /* bytes that fit into one of two slots */
    WEFT_MLX5_COMPLETE = 2 << 2 /* control, byte 11: always a completion */
};

#define WEFT_MLX5_INLINE (1u << 31) /* in the bytes of a data unit */
#define WEFT_MLX5_BYTES  (1u << 30) /* the most that one request moves here */

/* ---- completions ----------------------------------------------------------------------------- */

/*
 * The last word of a CQE: the request's index (16 bits), signature, opcode (4 bits) and owner (1).
 * Before it, at 52, what went wrong: 2 bytes of nothing, the vendor's syndrome, the syndrome.
 */
enum { WEFT_MLX5_CQE_BYTES = 64, WEFT_MLX5_CQE_SYNDROME = 52, WEFT_MLX5_CQE_LAST = 60 };
enum weft_mlx5_cqe_kind {
    WEFT_MLX5_CQE_REQUEST = 0,
    WEFT_MLX5_CQE_ERROR = 13,
    WEFT_MLX5_CQE_RESPONSE_ERROR = 14,
    WEFT_MLX5_CQE_INVALID = 15
};
enum weft_mlx5_syndrome {
    WEFT_MLX5_LOCAL_LENGTH = 0x01,
    WEFT_MLX5_LOCAL_OPERATION = 0x02, /* the request itself is wrong */
    WEFT_MLX5_LOCAL_PROTECTION = 0x04,
    WEFT_MLX5_REMOTE_REQUEST = 0x12,
    WEFT_MLX5_REMOTE_ACCESS = 0x13,
    WEFT_MLX5_REMOTE_OPERATION = 0x14,
    WEFT_MLX5_RETRIES = 0x15 /* nobody answers */
};

/* ---- numbers --------------------------------------------------------------------------------- */

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the words below are put together so");

WEFT_INLINE uint32_t weft_be32(uint32_t x)
{
    return x >> 24 | (x >> 8 & 0xff00) | (x << 8 & 0xff0000) | x << 24;
}
WEFT_INLINE uint64_t weft_be64(uint64_t x)
{
    return (uint64_t)weft_be32((uint32_t)x) << 32 | weft_be32((uint32_t)(x >> 32));
}
/* Returns two fields of 4 bytes, as the word that has them in memory. */
WEFT_INLINE uint64_t weft_be_pair(uint32_t first, uint32_t second)
{
    return (uint64_t)weft_be32(second) << 32 | weft_be32(first);
}

/* Returns the last word of a CQE. index: of the request's first slot. */
WEFT_INLINE uint32_t weft_mlx5_cqe_last(uint32_t index, uint32_t kind)
{
    return weft_be32(index << 16 | kind << 4);
}

/* Returns the doorbell's word: where the next request will begin, and whose it is. */
WEFT_INLINE uint64_t weft_mlx5_doorbell(uint64_t next, uint32_t qpn)
{
    return weft_be_pair((uint32_t)(next & 0xffff) << 8, qpn << 8);
}

#endif
