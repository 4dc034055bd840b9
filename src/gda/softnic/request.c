/* gda/softnic/request.c - see the header. */
#include "gda/softnic/request.h"

#include <stddef.h>
#include <string.h>

static uint32_t be32_at(const unsigned char *bytes)
{
    uint32_t word;
    memcpy(&word, bytes, sizeof(word));
    return weft_be32(word);
}

static uint64_t be64_at(const unsigned char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof(word));
    return weft_be64(word);
}

uint32_t weft_softnic_slots(const unsigned char *first)
{
    const uint32_t units = first[7] & 0x3f, slots = (units + 3) / 4;

    return slots <= WEFT_MLX5_SLOTS_MOST ? slots : 0;
}

/* A data unit: by key, or, where `inside` is allowed, inline. Returns as weft_softnic_parse. */
static uint32_t parse_data(const unsigned char *unit, uint32_t units_left, bool inside,
                           struct weft_softnic_request *request)
{
    const uint32_t field = be32_at(unit);

    request->bytes = field & ~WEFT_MLX5_INLINE;
    if ((field & WEFT_MLX5_INLINE) != 0) {
        if (!inside || request->bytes == 0 || request->bytes > WEFT_MLX5_INLINE_MOST)
            return WEFT_MLX5_LOCAL_LENGTH;
        request->inside = unit + 4;
        return (4 + request->bytes + WEFT_MLX5_UNIT - 1) / WEFT_MLX5_UNIT == units_left
                   ? 0
                   : WEFT_MLX5_LOCAL_OPERATION;
    }
    request->lkey = be32_at(unit + 4);
    request->address = be64_at(unit + 8);
    if (units_left != 1)
        return WEFT_MLX5_LOCAL_OPERATION;
    return request->bytes == 0 || request->bytes > WEFT_MLX5_BYTES ? WEFT_MLX5_LOCAL_LENGTH : 0;
}

uint32_t weft_softnic_parse(const unsigned char *bytes, uint32_t qpn, uint64_t index,
                            struct weft_softnic_request *request)
{
    const uint32_t first = be32_at(bytes), second = be32_at(bytes + 4), units = second & 0xff;
    uint32_t status;

    *request = (struct weft_softnic_request){.opcode = first & 0xff,
                                             .slots = weft_softnic_slots(bytes),
                                             .complete = bytes[11] == WEFT_MLX5_COMPLETE};
    if (first >> 24 != 0 || (first >> 8 & 0xffff) != (index & 0xffff) || second >> 8 != qpn ||
        units == 0 || units > 4 * WEFT_MLX5_SLOTS_MOST || bytes[8] != 0 || bytes[9] != 0 ||
        bytes[10] != 0 || (bytes[11] != 0 && !request->complete) || be32_at(bytes + 12) != 0)
        return WEFT_MLX5_LOCAL_OPERATION;
    if (request->opcode == WEFT_MLX5_NOP)
        return units == 1 ? 0 : WEFT_MLX5_LOCAL_OPERATION;
    request->remote = be64_at(bytes + 16);
    request->rkey = be32_at(bytes + 24);
    if (be32_at(bytes + 28) != 0)
        return WEFT_MLX5_LOCAL_OPERATION;
    switch (request->opcode) {
    case WEFT_MLX5_WRITE:
    case WEFT_MLX5_READ:
        return units < 3
                   ? (uint32_t)WEFT_MLX5_LOCAL_OPERATION
                   : parse_data(bytes + 32, units - 2, request->opcode == WEFT_MLX5_WRITE, request);
    case WEFT_MLX5_FETCH_ADD:
    case WEFT_MLX5_COMPARE_SWAP:
        request->value = be64_at(bytes + 32);
        request->compare = be64_at(bytes + 40);
        status = units != 4 ? (uint32_t)WEFT_MLX5_LOCAL_OPERATION
                            : parse_data(bytes + 48, 1, false, request);
        if (status == 0 && request->bytes != 8)
            status = WEFT_MLX5_LOCAL_LENGTH;
        return status == 0 && request->remote % 8 != 0 ? (uint32_t)WEFT_MLX5_REMOTE_REQUEST
                                                       : status;
    default:
        return WEFT_MLX5_LOCAL_OPERATION;
    }
}
