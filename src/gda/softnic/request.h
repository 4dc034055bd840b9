/*
 * gda/softnic/request.h - a work request taken apart. Whoever wrote the bytes is not trusted:
 * nothing of a request that is not right in every bit is executed.
 */
#ifndef WEFT_GDA_SOFTNIC_REQUEST_H
#define WEFT_GDA_SOFTNIC_REQUEST_H

#include "gda/mlx5_format.h"

#include <stdbool.h>

struct weft_softnic_request {
    uint32_t opcode, slots;
    bool complete;
    uint64_t remote;
    uint32_t rkey;
    uint64_t value, compare;     /* of an atomic */
    const unsigned char *inside; /* a WRITE's inline data; NULL: it is at */
    uint64_t address;            /* this address, by this key. Where what is fetched goes, too */
    uint32_t bytes, lkey;
};

/* How many slots the request takes that begins so; 0: no request does. */
uint32_t weft_softnic_slots(const unsigned char *first);

/*
 * Takes apart the request in `bytes`, all slots of it, which the queue qpn expects at this index.
 * `inside` points into bytes. Returns 0, or the syndrome (LOCAL_OPERATION or LOCAL_LENGTH).
 */
uint32_t weft_softnic_parse(const unsigned char *bytes, uint32_t qpn, uint64_t index,
                            struct weft_softnic_request *request);

#endif
