/*
 * wire/packet.h - what crosses a ring between two processes of a host: a header, then data.
 */
#ifndef WEFT_WIRE_PACKET_H
#define WEFT_WIRE_PACKET_H

#include <assert.h>
#include <stdint.h>

struct weft_packet {
    uint32_t bytes;  /* of data behind this header */
    uint32_t notice; /* to apply once the data has landed; 0: none */
    uint64_t key;    /* registered region of the target; ignored if bytes is 0 */
    uint64_t offset; /* in the region */
};

static_assert(sizeof(struct weft_packet) == 24, "the same on both sides");

#endif
