/*
 * gda/softnic/request.h - a work request taken apart, and what it may do. Whoever wrote the bytes
 * is not trusted: nothing of a request that is not right in every bit is executed.
 *
 * C17 and CUDA C at once: a NIC of the host and one on the device itself use it alike.
 */
#ifndef WEFT_GDA_SOFTNIC_REQUEST_H
#define WEFT_GDA_SOFTNIC_REQUEST_H

#include "gda/queue.h"

struct weft_softnic_request {
    uint32_t opcode, slots;
    bool complete;
    uint64_t remote;
    uint32_t rkey;
    uint64_t value, compare;     /* of an atomic */
    const unsigned char *inside; /* a WRITE's inline data; NULL: it is at `address` */
    uint64_t address;            /* by `lkey`: a WRITE's data; where what is fetched goes */
    uint32_t bytes, lkey;
};

WEFT_INLINE uint32_t weft_softnic_first(uint64_t word)
{
    return weft_be32((uint32_t)word);
}
WEFT_INLINE uint32_t weft_softnic_second(uint64_t word)
{
    return weft_be32((uint32_t)(word >> 32));
}

/* Returns how many slots the request takes that begins with this word; 0: no request does. */
WEFT_INLINE uint32_t weft_softnic_slots(uint64_t word)
{
    const uint32_t slots = ((weft_softnic_second(word) & 0x3f) + 3) / 4;

    return slots <= WEFT_MLX5_SLOTS_MOST ? slots : 0;
}

/* Takes a data unit apart: by key, or, where `inside` is allowed, inline. Returns 0 or a
 * syndrome. */
WEFT_INLINE uint32_t weft_softnic_data(const uint64_t *unit, uint32_t units_left, bool inside,
                                       struct weft_softnic_request *request)
{
    const uint32_t field = weft_softnic_first(unit[0]);

    request->bytes = field & ~WEFT_MLX5_INLINE;
    if ((field & WEFT_MLX5_INLINE) != 0) {
        if (!inside || request->bytes == 0 || request->bytes > WEFT_MLX5_INLINE_MOST)
            return WEFT_MLX5_LOCAL_LENGTH;
        request->inside = (const unsigned char *)unit + 4;
        return (4 + request->bytes + WEFT_MLX5_UNIT - 1) / WEFT_MLX5_UNIT == units_left
                   ? 0
                   : (uint32_t)WEFT_MLX5_LOCAL_OPERATION;
    }
    request->lkey = weft_softnic_second(unit[0]);
    request->address = weft_be64(unit[1]);
    if (units_left != 1)
        return WEFT_MLX5_LOCAL_OPERATION;
    return request->bytes == 0 || request->bytes > WEFT_MLX5_BYTES
               ? (uint32_t)WEFT_MLX5_LOCAL_LENGTH
               : 0;
}

/* Takes FETCH_ADD and COMPARE_SWAP apart. Returns 0, or the syndrome. */
WEFT_INLINE uint32_t weft_softnic_atomic(const uint64_t *words, uint32_t units,
                                         struct weft_softnic_request *request)
{
    request->value = weft_be64(words[4]);
    request->compare = weft_be64(words[5]);
    if (units != 4)
        return WEFT_MLX5_LOCAL_OPERATION;
    const uint32_t status = weft_softnic_data(words + 6, 1, false, request);
    if (status != 0)
        return status;
    return request->bytes != 8        ? (uint32_t)WEFT_MLX5_LOCAL_LENGTH
           : request->remote % 8 != 0 ? (uint32_t)WEFT_MLX5_REMOTE_REQUEST
                                      : 0;
}

/* Takes apart the request in `words`, all slots of it, which the queue qpn expects at this index.
 * request->inside points into words. Returns 0, or the syndrome (LOCAL_OPERATION or
 * LOCAL_LENGTH). */
WEFT_INLINE uint32_t weft_softnic_parse(const uint64_t *words, uint32_t qpn, uint64_t index,
                                        struct weft_softnic_request *request)
{
    const uint32_t first = weft_softnic_first(words[0]), second = weft_softnic_second(words[0]);
    const uint32_t units = second & 0xff, flags = (uint32_t)(words[1] >> 24 & 0xff);

    request->opcode = first & 0xff;
    request->slots = weft_softnic_slots(words[0]);
    request->complete = flags == WEFT_MLX5_COMPLETE;
    request->inside = NULL;
    request->bytes = request->lkey = request->rkey = 0;
    request->remote = request->address = request->value = request->compare = 0;
    if (first >> 24 != 0 || (first >> 8 & 0xffff) != (index & 0xffff) || second >> 8 != qpn ||
        units == 0 || units > 4 * WEFT_MLX5_SLOTS_MOST || (words[1] & 0xffffff) != 0 ||
        (flags != 0 && !request->complete) || words[1] >> 32 != 0)
        return WEFT_MLX5_LOCAL_OPERATION;
    if (request->opcode == WEFT_MLX5_NOP)
        return units == 1 ? 0 : (uint32_t)WEFT_MLX5_LOCAL_OPERATION;
    request->remote = weft_be64(words[2]);
    request->rkey = weft_softnic_first(words[3]);
    if (words[3] >> 32 != 0)
        return WEFT_MLX5_LOCAL_OPERATION;
    switch (request->opcode) {
    case WEFT_MLX5_WRITE:
    case WEFT_MLX5_READ:
        return units < 3 ? (uint32_t)WEFT_MLX5_LOCAL_OPERATION
                         : weft_softnic_data(words + 4, units - 2,
                                             request->opcode != WEFT_MLX5_READ, request);
    case WEFT_MLX5_FETCH_ADD:
    case WEFT_MLX5_COMPARE_SWAP:
        return weft_softnic_atomic(words, units, request);
    default:
        return WEFT_MLX5_LOCAL_OPERATION;
    }
}

/* Whether a doorbell is of the queue qpn, and no further than the record, which says `next`. */
WEFT_INLINE bool weft_softnic_rung_right(uint32_t qpn, uint64_t rung, uint32_t next)
{
    const uint32_t to = weft_softnic_first(rung), whose = weft_softnic_second(rung);

    return whose == qpn << 8 && (to & 0xff0000ff) == 0 &&
           (int16_t)(uint16_t)((to >> 8) - next) <= 0;
}

/* Checks that a request reaches memory of this process only by a key that the NIC knows. Returns 0,
 * or the syndrome. */
WEFT_INLINE uint32_t weft_softnic_check(const struct weft_gda_keys *keys,
                                        const struct weft_softnic_request *request)
{
    if (request->opcode == WEFT_MLX5_NOP || request->inside != NULL)
        return 0;
    return request->lkey != 0 &&
                   weft_gda_key_of(keys, request->address, request->bytes) == request->lkey
               ? 0
               : (uint32_t)WEFT_MLX5_LOCAL_PROTECTION;
}

/* Checks that a target in this process is memory that the NIC knows by the request's key. Returns
 * 0, or the syndrome. */
WEFT_INLINE uint32_t weft_softnic_check_here(const struct weft_gda_keys *keys,
                                             const struct weft_softnic_request *request)
{
    return request->rkey != 0 &&
                   weft_gda_key_of(keys, request->remote, request->bytes) == request->rkey
               ? 0
               : (uint32_t)WEFT_MLX5_REMOTE_ACCESS;
}

/* Returns what an atomic does to its word. */
WEFT_INLINE struct weft_change weft_softnic_change(const struct weft_softnic_request *request)
{
    struct weft_change change;

    change.value = request->value;
    change.expected = request->compare;
    change.how = request->opcode == WEFT_MLX5_FETCH_ADD ? WEFT_SUM : WEFT_COMPARE;
    change.type = WEFT_U64;
    return change;
}

#endif
