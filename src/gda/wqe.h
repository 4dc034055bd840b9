/*
 * gda/wqe.h - builds one work request, as the words that go into a queue's slots.
 */
#ifndef WEFT_GDA_WQE_H
#define WEFT_GDA_WQE_H

#include "gda/mlx5_format.h"

#include <stdbool.h>

struct weft_wqe {
    uint64_t word[WEFT_MLX5_WORDS];
    uint32_t slots;
};

/* Memory of this process, by its key; of another. */
struct weft_gda_local {
    uint64_t address;
    uint32_t bytes, lkey;
};
struct weft_gda_remote {
    uint64_t address;
    uint32_t rkey;
};

/* Writes the control unit of a request of so many units. index: of its first slot. */
WEFT_INLINE void weft_wqe_control(struct weft_wqe *wqe, uint32_t opcode, uint64_t index,
                                  uint32_t qpn, uint32_t units, bool complete)
{
    wqe->slots = (units + 3) / 4;
    wqe->word[0] = weft_be_pair((uint32_t)(index & 0xffff) << 8 | opcode, qpn << 8 | units);
    wqe->word[1] = complete ? (uint64_t)WEFT_MLX5_COMPLETE << 24 : 0;
    WEFT_UNROLL
    for (int i = 2; i < WEFT_MLX5_WORDS; i++)
        wqe->word[i] = 0;
}

/* Gives a request that was put together another index, and a completion, if it has none. */
WEFT_INLINE void weft_wqe_number(struct weft_wqe *wqe, uint64_t index, bool complete)
{
    const uint64_t mask = 0xffff00;

    wqe->word[0] =
        (wqe->word[0] & ~mask) | ((uint64_t)weft_be32((uint32_t)(index & 0xffff) << 8) & mask);
    wqe->word[1] |= complete ? (uint64_t)WEFT_MLX5_COMPLETE << 24 : 0;
}

WEFT_INLINE void weft_wqe_remote(struct weft_wqe *wqe, struct weft_gda_remote to)
{
    wqe->word[2] = weft_be64(to.address);
    wqe->word[3] = weft_be32(to.rkey);
}

/* Writes a data unit by key. at: the word where the unit begins. */
WEFT_INLINE void weft_wqe_data(struct weft_wqe *wqe, int at, struct weft_gda_local data)
{
    wqe->word[at] = weft_be_pair(data.bytes, data.lkey);
    wqe->word[at + 1] = weft_be64(data.address);
}

/* Builds a WRITE or a READ, by key. */
WEFT_INLINE void weft_wqe_move(struct weft_wqe *wqe, uint32_t opcode, uint64_t index, uint32_t qpn,
                               struct weft_gda_remote to, struct weft_gda_local data, bool complete)
{
    weft_wqe_control(wqe, opcode, index, qpn, 3, complete);
    weft_wqe_remote(wqe, to);
    weft_wqe_data(wqe, 4, data);
}

/* Returns the units of a WRITE with so many bytes inline. */
WEFT_INLINE uint32_t weft_wqe_inline_units(uint32_t bytes)
{
    return 2 + (4 + bytes + WEFT_MLX5_UNIT - 1) / WEFT_MLX5_UNIT;
}

/* Builds a WRITE with its data inline, 1 to WEFT_MLX5_INLINE_MOST bytes. */
WEFT_INLINE void weft_wqe_inline(struct weft_wqe *wqe, uint64_t index, uint32_t qpn,
                                 struct weft_gda_remote to, const unsigned char *data,
                                 uint32_t bytes, bool complete)
{
    weft_wqe_control(wqe, WEFT_MLX5_WRITE, index, qpn, weft_wqe_inline_units(bytes), complete);
    weft_wqe_remote(wqe, to);
    wqe->word[4] = weft_be32(bytes | WEFT_MLX5_INLINE);
    for (uint32_t i = 0; i < bytes; i++)
        wqe->word[(36 + i) / 8] |= (uint64_t)data[i] << (36 + i) % 8 * 8;
}

/* Builds an atomic. FETCH_ADD: value is added. COMPARE_SWAP: the word becomes value if it is
 * `compare`. The old value comes to `old`, in this machine's byte order. */
WEFT_INLINE void weft_wqe_atomic(struct weft_wqe *wqe, uint32_t opcode, uint64_t index,
                                 uint32_t qpn, struct weft_gda_remote to, uint64_t value,
                                 uint64_t compare, struct weft_gda_local old, bool complete)
{
    weft_wqe_control(wqe, opcode, index, qpn, 4, complete);
    weft_wqe_remote(wqe, to);
    wqe->word[4] = weft_be64(value);
    wqe->word[5] = weft_be64(compare);
    weft_wqe_data(wqe, 6, old);
}

#endif
