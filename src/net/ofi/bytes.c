/* net/ofi/bytes.c - see the header. */
#include "net/ofi/bytes.h"

#include "wire/notice.h"

#include <string.h>

static const char *wrong_with(const struct ofi_message *m, int processes)
{
    const struct ofi_header *h = &m->header;

    if (h->process >= processes)
        return "no such sender";
    if ((h->flags & ~OFI_NOW) != 0)
        return "unknown flags";
    switch (h->kind) {
    case OFI_PUT:
        return h->offset > UINT64_MAX - m->bytes ? "an offset that wraps" : NULL;
    case OFI_RECEIPT:
    case OFI_ASK:
        return m->bytes != 0 ? "data where none belongs" : NULL;
    case OFI_REGION:
        if (m->bytes != sizeof(m->place))
            return "a region of another size";
        return m->place.address > UINT64_MAX - m->place.bytes ? "a region that wraps" : NULL;
    default:
        return "unknown kind";
    }
}

enum ofi_parse ofi_parse(const void *bytes, size_t count, uint64_t token, int processes,
                         struct ofi_message *message, const char **reason)
{
    struct ofi_message m;

    memset(&m.place, 0, sizeof(m.place));
    if (count < sizeof(m.header))
        return OFI_STRANGER;
    memcpy(&m.header, bytes, sizeof(m.header));
    if (m.header.token != token)
        return OFI_STRANGER;
    m.data = (const unsigned char *)bytes + sizeof(m.header);
    m.bytes = count - sizeof(m.header);
    if (m.header.kind == OFI_REGION && m.bytes == sizeof(m.place))
        memcpy(&m.place, m.data, sizeof(m.place));
    *reason = wrong_with(&m, processes);
    if (*reason != NULL)
        return OFI_MALFORMED;
    *message = m;
    return OFI_GOOD;
}

/* NARROW: 1 bit: a notice; 8: its tag; 13: its slot; 10: the sender. */
enum { SLOT_BITS = 13, SENDER_BITS = 10 };
static_assert(WEFT_SLOTS <= 1 << SLOT_BITS, "every slot fits");
static_assert(1 + 8 + SLOT_BITS + SENDER_BITS == 32, "all of it in four bytes");

static bool pack_narrow(const struct ofi_arrival *arrival, uint64_t *data)
{
    const uint32_t notice = arrival->notice, slot = weft_notice_slot(notice);
    uint32_t value = 0;

    if (arrival->process >= 1 << SENDER_BITS)
        return false;
    if (notice != 0) {
        if (weft_notice_kind_of(notice) != WEFT_NOTICE_COUNT || slot >= 1u << SLOT_BITS)
            return false;
        value =
            1u << 31 | weft_notice_tag(notice) << (SLOT_BITS + SENDER_BITS) | slot << SENDER_BITS;
    }
    *data = value | (uint32_t)arrival->process;
    return true;
}

bool ofi_data_pack(enum ofi_data form, const struct ofi_arrival *arrival, uint64_t *data)
{
    if (form == OFI_NARROW)
        return pack_narrow(arrival, data);
    *data = arrival->notice | (uint64_t)(uint16_t)arrival->process << 32 |
            (uint64_t)arrival->event << 48;
    return form == OFI_WIDE;
}

bool ofi_data_parse(enum ofi_data form, uint64_t data, int processes, struct ofi_arrival *arrival)
{
    struct ofi_arrival a = {0};

    if (form == OFI_WIDE) {
        a.notice = (uint32_t)data;
        a.process = (int)(data >> 32 & 0xffff);
        a.event = (uint16_t)(data >> 48);
    } else if (form == OFI_NARROW && data <= UINT32_MAX) {
        const uint32_t value = (uint32_t)data;
        a.process = (int)(value & ((1u << SENDER_BITS) - 1));
        if (value >> 31 != 0)
            a.notice = weft_notice(WEFT_NOTICE_COUNT, value >> (SLOT_BITS + SENDER_BITS) & 0xff,
                                   value >> SENDER_BITS & ((1u << SLOT_BITS) - 1));
        else if (value >> SENDER_BITS != 0)
            return false;
    } else {
        return false;
    }
    if (a.process >= processes)
        return false;
    *arrival = a;
    return true;
}

bool ofi_hello_fits(const struct ofi_hello *mine, const struct ofi_hello *theirs, bool text,
                    const char **reason)
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
