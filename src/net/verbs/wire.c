/* net/verbs/wire.c - see the header. Pure functions: any thread calls them. */
#include "net/verbs/wire.h"

#include <string.h>

bool weft_verbs_parse_address(const void *bytes, struct weft_verbs_address *out)
{
    memcpy(out, bytes, sizeof(*out));
    return out->mtu >= 1 && out->mtu <= 5;
}

const char *weft_verbs_parse_control(const void *bytes, size_t count, uint32_t processes,
                                     uint64_t token, struct weft_verbs_control *out)
{
    struct weft_verbs_control c;

    if (count != sizeof(c))
        return "its length is wrong";
    memcpy(&c, bytes, sizeof(c));
    if (c.token != token)
        return "its token is wrong";
    if (c.process >= processes)
        return "its process is not in the job";
    if (c.psn > WEFT_VERBS_QPN_MOST)
        return "its packet number cannot be";
    if (c.kind != WEFT_VERBS_REQUEST && c.kind != WEFT_VERBS_REPLY)
        return "its kind is unknown";
    if (c.qpn == 0 || c.qpn > WEFT_VERBS_QPN_MOST)
        return "its queue pair's number cannot be";
    *out = c;
    return NULL;
}
