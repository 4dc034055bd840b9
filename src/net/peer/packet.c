/* net/peer/packet.c - see the header. */
#include "net/peer/packet.h"

#include <string.h>

/* Checks that so many bytes of data are these rows, from `offset` on. NULL: they are; else what is
 * wrong. */
static const char *rows_wrong(const struct weft_entry_rows *r, uint64_t bytes, uint64_t offset)
{
    if (r->rows == 0 || r->rows > bytes || bytes % r->rows != 0)
        return "rows that are not its data";
    if (r->pitch < bytes / r->rows || r->pitch > UINT64_MAX / r->rows)
        return "rows that overlap, or wrap";
    return offset > UINT64_MAX - r->rows * r->pitch ? "an offset that wraps" : NULL;
}

/* Takes apart what follows the head of 24 bytes, all of which is there. Returns what is wrong, or
 * NULL. */
static const char *parse_behind(const unsigned char *behind, struct weft_entry *entry)
{
    const bool staged = entry->kind == WEFT_ENTRY_STAGED;

    if (entry->bytes == 0 || entry->kind > WEFT_ENTRY_STAGED)
        return "an entry of no kind";
    if (entry->offset > UINT64_MAX - entry->bytes)
        return "an offset that wraps";
    entry->data = staged ? NULL : behind;
    if (staged)
        memcpy(&entry->staged, behind, sizeof(entry->staged));
    if (entry->kind != WEFT_ENTRY_ROWS)
        return NULL;
    if (entry->bytes < sizeof(entry->rows))
        return "no rows";
    memcpy(&entry->rows, behind, sizeof(entry->rows));
    entry->data += sizeof(entry->rows);
    entry->bytes -= (uint32_t)sizeof(entry->rows);
    return rows_wrong(&entry->rows, entry->bytes, entry->offset);
}

/* Takes apart the entry at the start of `left` bytes; *room: what it takes of them. Returns what is
 * wrong, or NULL. */
static const char *parse_entry(const unsigned char *at, size_t left, struct weft_entry *entry,
                               size_t *room)
{
    struct weft_entry_head h = {0};

    *room = 8;
    if (left < *room)
        return "fewer entries than announced";
    memcpy(&h, at, *room);
    entry->notice = h.notice;
    entry->bytes = h.bytes & WEFT_ENTRY_MOST;
    entry->kind = (enum weft_entry_kind)(h.bytes >> WEFT_ENTRY_KIND_SHIFT);
    entry->key = entry->offset = 0;
    entry->data = NULL;
    if (h.bytes == 0)
        return NULL; /* a put of nothing, without a notice, is acknowledged, too */
    if (left < WEFT_ENTRY_HEAD)
        return "an entry without all of its head";
    memcpy(&entry->key, at + offsetof(struct weft_entry_head, key), sizeof(entry->key));
    memcpy(&entry->offset, at + offsetof(struct weft_entry_head, offset), sizeof(entry->offset));
    *room = weft_entry_room(entry->kind, entry->bytes);
    return left < *room ? "an entry that is longer than its packet"
                        : parse_behind(at + WEFT_ENTRY_HEAD, entry);
}

static const char *parse_entries(const unsigned char *bytes, const struct weft_packet *packet,
                                 struct weft_entry *entries)
{
    const char *wrong = NULL;
    size_t at = WEFT_PACKET_HEAD, room = 0;

    for (uint32_t i = 0; i < packet->entries && wrong == NULL; i++, at += room)
        wrong = parse_entry(bytes + at, packet->bytes - at, &entries[i], &room);
    return wrong == NULL && at != packet->bytes ? "more than its entries" : wrong;
}

static const char *check_head(const struct weft_packet *p, size_t count, int processes)
{
    if (p->process >= processes)
        return "a process that the job has not";
    if (p->bytes != count)
        return "another length than it announces";
    if (p->kind == WEFT_PACKET_PUTS)
        return p->entries == 0 || p->entries > WEFT_PACKET_ENTRIES ? "so many entries" : NULL;
    if (p->kind != WEFT_PACKET_ACK)
        return "no kind that there is";
    return p->entries != 0 || count != WEFT_PACKET_HEAD ? "an acknowledgement with more" : NULL;
}

enum weft_packet_parse weft_packet_parse(const unsigned char *bytes, size_t count, uint64_t token,
                                         int processes, struct weft_packet *packet,
                                         struct weft_entry *entries, const char **reason)
{
    if (count < WEFT_PACKET_HEAD)
        return WEFT_PACKET_STRANGER;
    memcpy(packet, bytes, WEFT_PACKET_HEAD);
    if (packet->token != token)
        return WEFT_PACKET_STRANGER;
    *reason = check_head(packet, count, processes);
    if (*reason == NULL)
        *reason = parse_entries(bytes, packet, entries);
    return *reason == NULL ? WEFT_PACKET_GOOD : WEFT_PACKET_MALFORMED;
}
