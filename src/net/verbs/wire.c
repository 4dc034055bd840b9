/* net/verbs/wire.c - see the header. Pure: any thread. */
#include "net/verbs/wire.h"

#include <string.h>

static bool qpn_good(uint32_t qpn)
{
    return qpn != 0 && qpn <= WEFT_VERBS_QPN_MOST;
}

const char *weft_verbs_parse_address(const void *bytes, size_t count,
                                     struct weft_verbs_address *out)
{
    struct weft_verbs_address a;

    if (count < sizeof(a))
        return "it is too short";
    memcpy(&a, bytes, sizeof(a));
    if (a.magic != WEFT_VERBS_MAGIC)
        return "it is no address of this network";
    if (a.transport != WEFT_VERBS_RC && a.transport != WEFT_VERBS_DC)
        return "its transport is unknown";
    if (a.transport == WEFT_VERBS_DC && (!qpn_good(a.dct_data) || !qpn_good(a.dct_control)))
        return "a target's number cannot be";
    if (!qpn_good(a.control))
        return "its queue pair's number cannot be";
    if (a.mtu < 1 || a.mtu > 5)
        return "its path unit cannot be";
    if (a.ethernet > 1 || a.words_atomically > 1 || (!a.ethernet && a.lid == 0))
        return "its port cannot be";
    if (a.buffer <= sizeof(struct weft_verbs_message) || a.receives < 2)
        return "its receives are too small";
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
    switch (c.kind) {
    case WEFT_VERBS_REPLY:
        if (!qpn_good(c.to_qpn))
            return "the queue pair that it answers cannot be";
        /* fall through */
    case WEFT_VERBS_REQUEST:
        if (!qpn_good(c.qpn))
            return "its queue pair's number cannot be";
        break;
    case WEFT_VERBS_REFUSED:
        break;
    default:
        return "its kind is unknown";
    }
    *out = c;
    return NULL;
}

const char *weft_verbs_parse_message(const void *bytes, size_t count, uint32_t processes,
                                     struct weft_verbs_message *out)
{
    struct weft_verbs_message m;

    if (count < sizeof(m))
        return "it is shorter than its head";
    memcpy(&m, bytes, sizeof(m));
    if (m.kind != WEFT_VERBS_PUT && m.kind != WEFT_VERBS_MARKER)
        return "its kind is unknown";
    if (m.process >= processes)
        return "its process is not in the job";
    if (m.bytes != count - sizeof(m))
        return "it announces another length than it has";
    if (m.kind == WEFT_VERBS_MARKER && m.bytes != 0)
        return "a marker carries no data";
    *out = m;
    return NULL;
}
