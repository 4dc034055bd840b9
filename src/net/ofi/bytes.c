/* net/ofi/bytes.c - see the header. Pure: any thread. */
#include "net/ofi/bytes.h"

#include "abi/notice.h"

#include <string.h>

static const char *wrong_with(const struct weft_ofi_message *m, int processes)
{
    const struct weft_ofi_header *h = &m->header;

    if (h->process >= processes)
        return "no such sender";
    if ((h->flags & ~WEFT_OFI_NOW) != 0)
        return "unknown flags";
    switch (h->kind) {
    case WEFT_OFI_PUT:
        return h->offset > UINT64_MAX - m->bytes ? "an offset that wraps" : NULL;
    case WEFT_OFI_ROWS:
        return weft_net_rows_wrong(&m->rows, m->bytes, h->offset);
    case WEFT_OFI_RECEIPT:
    case WEFT_OFI_ASK:
        return m->bytes != 0 ? "data where none belongs" : NULL;
    case WEFT_OFI_REGION:
        if (m->bytes != sizeof(m->place))
            return "a region of another size";
        return m->place.address > UINT64_MAX - m->place.bytes ? "a region that wraps" : NULL;
    default:
        return "unknown kind";
    }
}

enum weft_ofi_parse weft_ofi_parse(const void *bytes, size_t count, uint64_t token, int processes,
                                   struct weft_ofi_message *message, const char **reason)
{
    struct weft_ofi_message m;

    memset(&m.rows, 0, sizeof(m.rows));
    memset(&m.place, 0, sizeof(m.place));
    if (count < sizeof(m.header))
        return WEFT_OFI_STRANGER;
    memcpy(&m.header, bytes, sizeof(m.header));
    if (m.header.token != token)
        return WEFT_OFI_STRANGER;
    m.data = (const unsigned char *)bytes + sizeof(m.header);
    m.bytes = count - sizeof(m.header);
    if (m.header.kind == WEFT_OFI_REGION && m.bytes == sizeof(m.place))
        memcpy(&m.place, m.data, sizeof(m.place));
    if (m.header.kind == WEFT_OFI_ROWS && m.bytes >= sizeof(m.rows)) {
        memcpy(&m.rows, m.data, sizeof(m.rows));
        m.data += sizeof(m.rows);
        m.bytes -= sizeof(m.rows);
    }
    *reason = wrong_with(&m, processes);
    if (*reason != NULL)
        return WEFT_OFI_MALFORMED;
    *message = m;
    return WEFT_OFI_GOOD;
}

bool weft_ofi_parse_berth(const void *bytes, size_t most, uint64_t token,
                          const struct weft_ofi_arrival *arrival, struct weft_ofi_message *message,
                          const char **reason)
{
    struct weft_ofi_berth berth;

    memcpy(&berth, bytes, sizeof(berth));
    const struct weft_ofi_header *h = &berth.header;
    *reason = NULL;
    if (h->token != token || h->kind != WEFT_OFI_DOCKED || h->process != arrival->process ||
        h->event != arrival->event)
        *reason = "it was not written";
    else if ((h->flags & ~WEFT_OFI_NOW) != 0)
        *reason = "unknown flags";
    else if (berth.bytes == 0 || berth.bytes > most)
        *reason = "more or less data than a berth holds";
    else if (h->offset > UINT64_MAX - berth.bytes)
        *reason = "an offset that wraps";
    if (*reason != NULL)
        return false;
    *message = (struct weft_ofi_message){
        .header = *h, .data = (const unsigned char *)bytes + sizeof(berth), .bytes = berth.bytes};
    return true;
}

/*
 * NARROW, from above: 8 bits of tag; 12 of the slot, all of them set for no notice; the event's
 * number; the sender, with as many bits as the job needs. The last slots do not fit.
 */
enum { SLOT_BITS = 12, NO_SLOT = (1 << SLOT_BITS) - 1, LEFT_BITS = 32 - 8 - SLOT_BITS };

/* WIDE has them in full. */
enum { WIDE_BITS = 16 };

static int sender_bits(int processes)
{
    int bits = 1;

    while (bits < 31 && 1 << bits < processes)
        bits++;
    return bits;
}

uint32_t weft_ofi_data_spread(enum weft_ofi_data form, int processes)
{
    const int bits = sender_bits(processes);

    if (form == WEFT_OFI_WIDE)
        return bits <= 16 ? 1u << WIDE_BITS : 0;
    return form == WEFT_OFI_NARROW && bits <= LEFT_BITS ? 1u << (LEFT_BITS - bits) : 0;
}

static bool pack_narrow(int bits, const struct weft_ofi_arrival *arrival, uint64_t *data)
{
    const uint32_t notice = arrival->notice;
    uint32_t slot = NO_SLOT, tag = 0;

    if (notice != 0) {
        slot = weft_notice_slot(notice);
        tag = weft_notice_tag(notice);
        if (weft_notice_kind_of(notice) != WEFT_NOTICE_COUNT || slot >= NO_SLOT)
            return false;
    }
    *data = tag << (SLOT_BITS + LEFT_BITS) | slot << LEFT_BITS |
            ((arrival->event << bits) & ((1u << LEFT_BITS) - 1)) | (uint32_t)arrival->process;
    return true;
}

bool weft_ofi_data_pack(enum weft_ofi_data form, int processes,
                        const struct weft_ofi_arrival *arrival, uint64_t *data)
{
    if (weft_ofi_data_spread(form, processes) == 0)
        return false;
    if (form == WEFT_OFI_NARROW)
        return pack_narrow(sender_bits(processes), arrival, data);
    *data = arrival->notice | (uint64_t)(uint16_t)arrival->process << 32 |
            (uint64_t)(uint16_t)arrival->event << 48;
    return true;
}

bool weft_ofi_data_parse(enum weft_ofi_data form, int processes, uint64_t data,
                         struct weft_ofi_arrival *arrival)
{
    const uint32_t spread = weft_ofi_data_spread(form, processes);
    struct weft_ofi_arrival a = {0};

    if (spread == 0 || (form == WEFT_OFI_NARROW && data > UINT32_MAX))
        return false;
    if (form == WEFT_OFI_WIDE) {
        a.notice = (uint32_t)data;
        a.process = (int)(data >> 32 & 0xffff);
        a.event = (uint32_t)(data >> 48);
    } else {
        const int bits = sender_bits(processes);
        const uint32_t slot = (uint32_t)(data >> LEFT_BITS & NO_SLOT);
        const uint32_t tag = (uint32_t)(data >> (SLOT_BITS + LEFT_BITS));
        a.process = (int)(data & ((1u << bits) - 1));
        a.event = (uint32_t)(data >> bits) & (spread - 1);
        if (slot != NO_SLOT)
            a.notice = weft_notice(WEFT_NOTICE_COUNT, tag, slot);
        else if (tag != 0)
            return false;
    }
    if (a.process >= processes)
        return false;
    *arrival = a;
    return true;
}

bool weft_ofi_hello_fits(const struct weft_ofi_hello *mine, const struct weft_ofi_hello *theirs,
                         bool text, const char **reason)
{
    *reason = NULL;
    if (memchr(theirs->provider, 0, sizeof(theirs->provider)) == NULL ||
        strcmp(theirs->provider, mine->provider) != 0)
        *reason = "the provider";
    else if (theirs->form != mine->form)
        *reason = "what the provider can do";
    else if (theirs->message_bytes != mine->message_bytes)
        *reason = "the size of messages";
    else if (theirs->name_format != mine->name_format)
        *reason = "the format of addresses";
    else if (theirs->name_bytes == 0 || theirs->name_bytes > sizeof(theirs->name) ||
             (text ? memchr(theirs->name, 0, theirs->name_bytes) == NULL
                   : theirs->name_bytes != mine->name_bytes))
        *reason = "the length of addresses";
    return *reason == NULL;
}
