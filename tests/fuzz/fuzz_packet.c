/*
 * fuzz_packet.c - packets of the peer layer. What is taken is of this job, lies within what arrived
 * and, made again from what was parsed, has the same bytes, but for what nobody reads.
 */
#include "fuzz.h"

#include "net/peer/packet.h"

enum { PROCESSES = 5, MOST = 4096 };
static const uint64_t TOKEN = 0x0102030405060708;

static void check_entry(const struct weft_entry *e, const uint8_t *data, const uint8_t *at)
{
    const bool rows = e->kind == WEFT_ENTRY_ROWS;
    const struct weft_entry again = {.notice = e->notice,
                                     .bytes = e->bytes + (rows ? sizeof(e->rows) : 0),
                                     .kind = e->kind,
                                     .key = e->key,
                                     .offset = e->offset};
    const struct weft_entry_head head = weft_entry_pack(&again);
    const size_t length = head.bytes == 0 ? 8 : WEFT_ENTRY_HEAD;

    MUST(memcmp(&head, at, length) == 0);
    MUST(e->offset + e->bytes >= e->bytes);
    MUST((e->data != NULL) == (e->bytes != 0 && e->kind != WEFT_ENTRY_STAGED));
    if (e->data != NULL)
        MUST(e->data == at + length + (rows ? sizeof(e->rows) : 0) && e->data > data);
    if (rows)
        MUST(e->rows.rows > 0 && e->bytes % e->rows.rows == 0 &&
             e->rows.pitch >= e->bytes / e->rows.rows);
}

static void check(const uint8_t *data, size_t size)
{
    static struct weft_entry entries[WEFT_PACKET_ENTRIES];
    struct weft_packet packet;
    const char *reason = NULL;
    size_t at = WEFT_PACKET_HEAD;

    switch (weft_packet_parse(data, size, TOKEN, PROCESSES, &packet, entries, &reason)) {
    case WEFT_PACKET_STRANGER:
        MUST(size < WEFT_PACKET_HEAD || memcmp(data, &TOKEN, sizeof(TOKEN)) != 0);
        return;
    case WEFT_PACKET_MALFORMED:
        MUST(reason != NULL);
        return;
    case WEFT_PACKET_GOOD:
        break;
    }
    MUST(packet.process < PROCESSES && packet.bytes == size);
    MUST((packet.kind == WEFT_PACKET_PUTS) == (packet.entries > 0));
    for (uint32_t i = 0; i < packet.entries; i++) {
        const struct weft_entry *e = &entries[i];
        const size_t rows = e->kind == WEFT_ENTRY_ROWS ? sizeof(e->rows) : 0;
        check_entry(e, data, data + at);
        at += weft_entry_room(e->kind, e->bytes + rows);
        MUST(at <= size);
    }
    MUST(at == size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t ours[MOST];

    check(data, size);
    if (size < WEFT_PACKET_HEAD || size > sizeof(ours))
        return 0;
    /* The same bytes from somebody who knows the token and how many bytes there are. */
    const uint32_t bytes = (uint32_t)size;
    memcpy(ours, data, size);
    memcpy(ours, &TOKEN, sizeof(TOKEN));
    memcpy(ours + offsetof(struct weft_packet, bytes), &bytes, sizeof(bytes));
    check(ours, size);
    return 0;
}
