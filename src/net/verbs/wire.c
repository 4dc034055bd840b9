/* net/verbs/wire.c - see the header. Pure: any thread. */
#include "net/verbs/wire.h"

#include <string.h>

static bool qpn_good(uint32_t qpn)
{
    return qpn != 0 && qpn <= WEFT_VERBS_QPN_MOST;
}

const char *weft_verbs_parse_address(const void *bytes, bool dc, bool ethernet,
                                     struct weft_verbs_address *out)
{
    struct weft_verbs_address a;

    memcpy(&a, bytes, sizeof(a));
    if (dc && !qpn_good(a.target))
        return "its target's number cannot be";
    if (!qpn_good(a.control))
        return "its queue pair's number cannot be";
    if (a.mtu < 1 || a.mtu > 5)
        return "its path unit cannot be";
    if (!ethernet && a.lid == 0)
        return "its port cannot be";
    *out = a;
    return NULL;
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
    if (!qpn_good(c.qpn))
        return "its queue pair's number cannot be";
    *out = c;
    return NULL;
}
