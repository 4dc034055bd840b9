/*
 * net/peer/packet.h - a packet as bytes: how it is made, and how what arrives is taken apart. Pure
 * functions, so that they can be fuzzed.
 *
 * A packet is a head and its entries, each at a multiple of 8. An entry is a put, or a part of one,
 * with its notice: a head of 24 bytes and the data, or of 8 bytes if there is a notice alone. The
 * processes of a job have one byte order.
 */
#ifndef WEFT_NET_PEER_PACKET_H
#define WEFT_NET_PEER_PACKET_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WEFT_PACKET_HEAD = 32,
    WEFT_PACKET_ENTRIES = 512, /* entries of a packet, at most */
    WEFT_ENTRY_HEAD = 24,
    WEFT_ENTRY_MOST = (1 << 28) - 1 /* bytes of an entry, at most */
};

/* The least room for a packet that makes progress: an entry with a word that stays undivided. */
enum { WEFT_PACKET_LEAST = WEFT_PACKET_HEAD + WEFT_ENTRY_HEAD + 8 };

enum weft_packet_kind {
    WEFT_PACKET_PUTS = 1, /* has entries, and a number */
    WEFT_PACKET_ACK       /* nothing but its head: `number` packets have been sent */
};
enum weft_packet_flag { WEFT_PACKET_ASKS = 1 /* its sender waits for an acknowledgement */ };

struct weft_packet {
    uint64_t token;     /* of the receiver: who does not know it is not of this job */
    uint16_t process;   /* the sender */
    uint8_t kind;       /* enum weft_packet_kind */
    uint8_t flags;      /* enum weft_packet_flag */
    uint32_t bytes;     /* bytes of the packet, with this head */
    uint32_t number;    /* PUTS: its own; ACK: of the next packet */
    uint32_t delivered; /* so many packets of the receiver have been delivered to the sender */
    uint16_t entries;
    uint16_t unused[3];
};
static_assert(sizeof(struct weft_packet) == WEFT_PACKET_HEAD, "the same on both sides");

enum weft_entry_kind {
    WEFT_ENTRY_DATA,  /* the data follows; with bytes 0: none, and neither key nor offset */
    WEFT_ENTRY_ROWS,  /* weft_entry_rows and the rows follow; `bytes` counts both */
    WEFT_ENTRY_STAGED /* the data lies in the sender's staging memory, at `staged` */
};

/* Several rows of a put, one after the other. */
struct weft_entry_rows {
    uint64_t pitch; /* bytes from a row to the next in the region */
    uint64_t rows;
};
static_assert(sizeof(struct weft_entry_rows) == 16, "the same on both sides");

struct weft_entry {
    uint32_t notice; /* 0: none */
    uint32_t bytes;
    enum weft_entry_kind kind;
    uint64_t key, offset;
    uint64_t staged;             /* of WEFT_ENTRY_STAGED */
    struct weft_entry_rows rows; /* of WEFT_ENTRY_ROWS, parsed: `data` and `bytes` are theirs */
    const unsigned char *data;   /* parsed: in the packet; NULL: none there */
};

/* Returns what an entry takes in a packet: a multiple of 8. */
static inline size_t weft_entry_room(enum weft_entry_kind kind, size_t bytes)
{
    const size_t behind = kind == WEFT_ENTRY_STAGED ? sizeof(uint64_t) : bytes;

    return kind == WEFT_ENTRY_DATA && bytes == 0 ? 8
                                                 : WEFT_ENTRY_HEAD + ((behind + 7) & ~(size_t)7);
}

/* An entry's head as it travels: WEFT_ENTRY_HEAD bytes of it, or the first 8 if `bytes` is 0. */
struct weft_entry_head {
    uint32_t notice;
    uint32_t bytes; /* its top bits are the kind */
    uint64_t key, offset;
};
static_assert(sizeof(struct weft_entry_head) == WEFT_ENTRY_HEAD, "the same on both sides");
enum { WEFT_ENTRY_KIND_SHIFT = 28 };

static inline struct weft_entry_head weft_entry_pack(const struct weft_entry *entry)
{
    return (struct weft_entry_head){.notice = entry->notice,
                                    .bytes = entry->bytes | (uint32_t)entry->kind
                                                                << WEFT_ENTRY_KIND_SHIFT,
                                    .key = entry->key,
                                    .offset = entry->offset};
}

enum weft_packet_parse { WEFT_PACKET_GOOD, WEFT_PACKET_STRANGER, WEFT_PACKET_MALFORMED };

/*
 * Takes `count` bytes apart; entries: room for WEFT_PACKET_ENTRIES. The bytes may change meanwhile:
 * what is checked is what is given, but for the data. A stranger's packet has another token, or is
 * too short to have any; for one that is malformed *reason says why. Keys, bounds and notices are
 * checked by those who know them.
 */
enum weft_packet_parse weft_packet_parse(const unsigned char *bytes, size_t count, uint64_t token,
                                         int processes, struct weft_packet *packet,
                                         struct weft_entry *entries, const char **reason);

#endif
