/*
 * net/peer/append.c - the next part of a put becomes an entry of the packet that is being built.
 */
#include "net/peer/inside.h"

enum { LINE = 64 };

static void store_source(const struct weft_net *net, unsigned char *to, const unsigned char *from,
                         size_t bytes)
{
    if (net->caps.shared) {
        weft_used_shared(from, bytes); /* before it is published: an answer's source is free then */
        weft_write_shared(to, from, bytes);
    } else {
        weft_read_shared(to, from, bytes);
    }
}

/* Returns how many of `left` bytes go into `room`: all; or, if the packet is empty, a part, so that
 * no short one is left over. 0: none, the packet is full. Words are not parted: LEAST has room. */
static size_t cut(size_t left, size_t room, bool empty)
{
    if (left <= room || !empty)
        return left <= room ? left : 0;
    const size_t parts = (left + room - 1) / room;
    const size_t bytes = ((left + parts - 1) / parts + LINE - 1) / LINE * LINE;

    return bytes < room ? bytes : room;
}

/* Returns how many rows that a put has left fit as rows: 0, or at least two. */
static uint32_t whole_rows(const struct weft_net_put *put, size_t done, size_t room)
{
    const size_t left = done % put->bytes == 0 ? put->rows - done / put->bytes : 0;
    const size_t fit = room > sizeof(struct weft_entry_rows)
                           ? (room - sizeof(struct weft_entry_rows)) / put->bytes
                           : 0;
    const size_t rows = left < fit ? left : fit;

    return rows > 1 ? (uint32_t)rows : 0;
}

static void store_rows(const struct weft_net *net, unsigned char *to, const unsigned char *from,
                       const struct weft_net_put *put, uint32_t rows)
{
    const struct weft_entry_rows head = {put->pitch, rows};

    weft_peer_store(net, to, &head, sizeof(head));
    for (uint32_t i = 0; i < rows; i++)
        store_source(net, to + sizeof(head) + i * put->bytes, from + i * put->source_pitch,
                     put->bytes);
}

static void store_entry(const struct weft_net *net, unsigned char *at,
                        const struct weft_entry *entry, const unsigned char *source,
                        const struct weft_net_put *put, uint32_t rows)
{
    const struct weft_entry_head head = weft_entry_pack(entry);
    unsigned char *behind = at + WEFT_ENTRY_HEAD;

    if (entry->bytes == 0) {
        weft_peer_store(net, at, &head, 8);
        return;
    }
    weft_peer_store(net, at, &head, sizeof(head));
    if (entry->kind == WEFT_ENTRY_STAGED) {
        const uint64_t staged = (uint64_t)(source - (const unsigned char *)net->caps.net.stage);
        weft_peer_store(net, behind, &staged, sizeof(staged));
    } else if (entry->kind == WEFT_ENTRY_ROWS) {
        store_rows(net, behind, source, put, rows);
    } else {
        store_source(net, behind, source, entry->bytes);
    }
}

size_t weft_peer_gather(const struct weft_net *net, struct weft_peer *peer,
                        const struct weft_net_put *put, size_t done)
{
    const size_t used = peer->open.used + WEFT_ENTRY_HEAD, least = net->caps.gather_from;

    if (least == 0 || put->rows > 1 || put->device || put->bytes - done < least ||
        peer->takes < used + least || peer->open.room < used ||
        peer->open.entries == WEFT_PACKET_ENTRIES)
        return 0;
    const size_t bytes = cut(put->bytes - done, peer->takes - used, true) & ~(size_t)7;
    const struct weft_entry entry = {.notice = done + bytes == put->bytes ? put->notice : 0,
                                     .bytes = (uint32_t)bytes,
                                     .key = put->key,
                                     .offset = put->offset + done};
    const struct weft_entry_head head = weft_entry_pack(&entry);
    memcpy(peer->open.at + peer->open.used, &head, sizeof(head));
    peer->open.entries++;
    peer->open.used = used;
    peer->open.data = (const unsigned char *)put->source + done;
    peer->open.data_bytes = bytes;
    return bytes;
}

size_t weft_peer_append(const struct weft_net *net, struct weft_peer *peer,
                        const struct weft_net_put *put, size_t done, size_t all, bool staged,
                        bool *full)
{
    const size_t row = put->rows > 1 ? done / put->bytes : 0;
    const size_t inside = done - row * put->bytes, left = peer->open.room - peer->open.used;
    const size_t room = left > WEFT_ENTRY_HEAD ? left - WEFT_ENTRY_HEAD : 0;
    const unsigned char *source =
        (const unsigned char *)put->source + row * put->source_pitch + inside;
    const uint32_t rows = put->rows > 1 ? whole_rows(put, done, room) : 0;
    struct weft_entry entry = {.kind = staged     ? WEFT_ENTRY_STAGED
                                       : rows > 0 ? WEFT_ENTRY_ROWS
                                                  : WEFT_ENTRY_DATA,
                               .key = put->key,
                               .offset = put->offset + row * put->pitch + inside};
    size_t bytes = put->bytes - inside;

    if (rows > 0)
        bytes = rows * put->bytes;
    else if (!staged)
        bytes = cut(bytes, room, peer->open.entries == 0);
    else if (bytes > WEFT_ENTRY_MOST)
        bytes = WEFT_ENTRY_MOST / LINE * LINE;
    entry.bytes = (uint32_t)(bytes + (rows > 0 ? sizeof(entry.rows) : 0));
    entry.notice = done + bytes == all ? put->notice : 0;
    *full = (bytes == 0 && all != 0) || weft_entry_room(entry.kind, entry.bytes) > left ||
            peer->open.entries == WEFT_PACKET_ENTRIES;
    if (*full)
        return 0;
    store_entry(net, peer->open.at + peer->open.used, &entry, source, put, rows);
    peer->open.entries++;
    peer->open.used += weft_entry_room(entry.kind, entry.bytes);
    return bytes;
}
