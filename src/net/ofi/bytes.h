/*
 * net/ofi/bytes.h - what crosses the fabric besides packets: the remote data of writes, and what
 * processes tell each other at the start. Pure functions.
 */
#ifndef WEFT_NET_OFI_BYTES_H
#define WEFT_NET_OFI_BYTES_H

#include "net/net.h"

#include <assert.h>

/* The remote data of a write: its sender, and above it the immediate of the peer layer. */
enum { WEFT_OFI_PROCESS_BITS = 16 };

static inline uint64_t weft_ofi_data(int process, uint64_t immediate)
{
    return immediate << WEFT_OFI_PROCESS_BITS | (uint64_t)process;
}
static inline int weft_ofi_data_process(uint64_t data)
{
    return (int)(data & ((1u << WEFT_OFI_PROCESS_BITS) - 1));
}
static inline uint64_t weft_ofi_data_immediate(uint64_t data)
{
    return data >> WEFT_OFI_PROCESS_BITS;
}

enum {
    WEFT_OFI_NAME_BYTES = 160,
    WEFT_OFI_PACKET = 16384 /* every process takes such packets; ofi_rxm sends them eagerly */
};

struct weft_ofi_hello {
    char provider[40];
    uint32_t packet;      /* the longest that it takes */
    uint32_t data_bits;   /* of the remote data of writes; 0: no writes */
    uint32_t writes;      /* WEFT_OFI_WRITES is on */
    uint32_t name_format; /* of libfabric's address of its endpoint: FI_SOCKADDR_IN, ... */
    uint32_t name_bytes;
    unsigned char name[WEFT_OFI_NAME_BYTES];
};

/*
 * Whether endpoints with these greetings can talk; if not, *reason says why. `text`: addresses are
 * texts (FI_ADDR_STR), whose lengths may differ (they hold a process's number, for one) and which
 * end within the name. All others of one format have one length.
 */
bool weft_ofi_hello_fits(const struct weft_ofi_hello *mine, const struct weft_ofi_hello *theirs,
                         bool text, const char **reason);

#endif
