/*
 * net/shm/packet.h - what crosses a ring between two processes of a host: a header, then data.
 */
#ifndef WEFT_NET_SHM_PACKET_H
#define WEFT_NET_SHM_PACKET_H

#include <assert.h>
#include <stdint.h>

struct weft_packet {
    uint32_t bytes;  /* of data behind this header; with WEFT_PACKET_REFERS: see there */
    uint32_t notice; /* to apply once the data has landed; 0: none */
    uint64_t key;    /* registered region of the target; ignored if bytes is 0 */
    uint64_t offset; /* in the region */
};

static_assert(sizeof(struct weft_packet) == 24, "the same on both sides");

/*
 * In `bytes`: so many lie in the sender's staging memory. Behind the header: where, a uint64_t. The
 * sender leaves them there until the packet has landed.
 */
#define WEFT_PACKET_REFERS ((uint32_t)1 << 31)

#endif
