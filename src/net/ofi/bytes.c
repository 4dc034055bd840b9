/* net/ofi/bytes.c - see the header. Pure: any thread. */
#include "net/ofi/bytes.h"

#include <string.h>

bool weft_ofi_hello_fits(const struct weft_ofi_hello *mine, const struct weft_ofi_hello *theirs,
                         bool text, const char **reason)
{
    *reason = NULL;
    if (memchr(theirs->provider, 0, sizeof(theirs->provider)) == NULL ||
        strcmp(theirs->provider, mine->provider) != 0)
        *reason = "the provider";
    else if (theirs->data_bits != mine->data_bits)
        *reason = "what the provider can do";
    else if (theirs->packet < WEFT_OFI_PACKET)
        *reason = "the size of packets";
    else if (theirs->name_format != mine->name_format)
        *reason = "the format of addresses";
    else if (theirs->name_bytes == 0 || theirs->name_bytes > sizeof(theirs->name) ||
             (text ? memchr(theirs->name, 0, theirs->name_bytes) == NULL
                   : theirs->name_bytes != mine->name_bytes))
        *reason = "the length of addresses";
    return *reason == NULL;
}
