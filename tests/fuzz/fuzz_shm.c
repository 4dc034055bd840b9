/*
 * fuzz_shm.c - what another process may leave in the rings of the network shm: packets with any
 * head and entries of any length, key, offset and notice, or a place in staging memory. Only the
 * region that was exposed is ever written, with nothing but what lay in a packet or in that memory,
 * and after the first malformed packet nothing more.
 *
 * A network of one process, connected to itself: its ring is written from here.
 */
#include "fuzz.h"

#include "../support/notices.h"
#include "net/peer/packet.h"
#include "net/shm/ring.h"
#include "net/transport.h"

enum { RING = 4096, CELL = RING / WEFT_SHM_CELLS, REGION = 512, GUARD = 512, STAGE = 4096 };
enum { FILL = 0xa5 };

static weft_status arrived(void *context, const struct weft_net_delivery *delivery)
{
    unsigned *count = context;

    MUST(delivery->process == 0 && delivery->notice != 0);
    (*count)++;
    return delivery->notice >> 28 != 15 ? WEFT_OK : WEFT_ERR_PROTOCOL;
}

/* Appends an entry, mostly a good one, where it fits. True: its length may be a lie. */
static bool add_entry(unsigned char *cell, struct weft_packet *packet, struct fuzz_bytes *in,
                      uint64_t key)
{
    const unsigned change = fuzz_byte(in);
    struct weft_entry e = {.notice = 0x10000001, .key = key, .bytes = fuzz_byte(in) * 2};

    if (change & 2)
        e.kind = (enum weft_entry_kind)(fuzz_byte(in) % 4);
    if (packet->bytes + WEFT_ENTRY_HEAD + e.bytes + 8 > CELL)
        return false;
    e.offset = change & 4 ? (uint64_t)fuzz_word(in) << 32 | fuzz_word(in) : fuzz_byte(in);
    e.key = change & 8 ? (uint64_t)fuzz_word(in) << 32 | fuzz_word(in) : key;
    e.notice = change & 16 ? fuzz_word(in) : e.notice;
    const size_t room = weft_entry_room(e.kind, e.bytes);
    e.bytes = change & 1 ? fuzz_word(in) % WEFT_ENTRY_MOST : e.bytes;
    memset(cell + packet->bytes, FILL, room);
    const struct weft_entry_head head = weft_entry_pack(&e);
    memcpy(cell + packet->bytes, &head, head.bytes == 0 ? 8 : WEFT_ENTRY_HEAD);
    if (e.kind == WEFT_ENTRY_STAGED && e.bytes != 0) {
        /* Up to the end of that memory, and a little further. */
        e.staged = change & 32 ? fuzz_word(in) : STAGE - fuzz_byte(in) % 200 * 4;
        memcpy(cell + packet->bytes + WEFT_ENTRY_HEAD, &e.staged, sizeof(e.staged));
    } else if (e.kind == WEFT_ENTRY_ROWS && e.bytes > sizeof(e.rows)) {
        e.rows.rows = fuzz_byte(in) % 8;
        e.rows.pitch = change & 64 ? fuzz_number(in) : fuzz_byte(in);
        memcpy(cell + packet->bytes + WEFT_ENTRY_HEAD, &e.rows, sizeof(e.rows));
    }
    packet->bytes += (uint32_t)room;
    packet->entries++;
    return (change & 1) != 0;
}

/* The next packet; then what the script changes. True: other bytes than FILL may be data. */
static bool put_packet(struct weft_shm_ring *ring, struct fuzz_bytes *in, uint64_t token,
                       uint64_t key, uint32_t number)
{
    const unsigned change = fuzz_byte(in);
    unsigned char *cell = ring->cells + (size_t)(number % WEFT_SHM_CELLS) * CELL;
    struct weft_packet packet = {
        .token = token, .kind = WEFT_PACKET_PUTS, .bytes = WEFT_PACKET_HEAD, .number = number};

    bool lies = false;
    for (unsigned i = 0; i <= change % 4; i++)
        lies |= add_entry(cell, &packet, in, key);
    const uint32_t length = packet.bytes;
    if (change & 4)
        packet.entries = (uint16_t)fuzz_word(in);
    if (change & 8)
        packet.bytes = fuzz_word(in);
    if (change & 16)
        packet.number += fuzz_byte(in);
    if (change & 32)
        packet.kind = (uint8_t)fuzz_byte(in) % 4;
    memcpy(cell, &packet, sizeof(packet));
    ring->bytes[number % WEFT_SHM_CELLS] = change & 64 ? fuzz_word(in) : length;
    if (change & 128)
        cell[fuzz_word(in) % CELL] ^= (unsigned char)fuzz_byte(in);
    ring->published = fuzz_byte(in) % 16 != 15 ? number + 1 : number + fuzz_byte(in);
    return lies || (change & (4 | 8 | 64 | 128)) != 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct weft_config config = {.shm_ring = RING};
    unsigned notices = 0;
    const struct weft_notice_kinds kinds = all_notices(arrived, &notices);
    struct weft_net_open open = {.config = &config,
                                 .processes = 1,
                                 .one_address_space = true,
                                 .stage_bytes = STAGE,
                                 .kinds = &kinds};
    struct fuzz_bytes in = {data, size};
    unsigned char memory[GUARD + REGION + GUARD] = {0};
    static const unsigned char untouched[GUARD];
    unsigned char address[WEFT_NET_ADDRESS_MAX];
    struct weft_net_caps caps;
    struct weft_share share;
    struct weft_net *net;
    bool damaged = false;
    uint64_t key, token;
    const char *reason;

    MUST(weft_net_open(&net, &weft_transport_shm, &open) == WEFT_OK);
    weft_net_address(net, address);
    MUST(weft_net_connect(net, 0, address) == WEFT_OK);
    MUST(weft_net_reg(net, memory + GUARD, REGION, false, &key) == WEFT_OK);
    weft_net_caps(net, &caps);
    MUST(caps.stage != NULL);
    memset(caps.stage, FILL, STAGE);
    memset(memory + GUARD, FILL, REGION);
    memcpy(&token, address, sizeof(token));
    memcpy(&share, address + WEFT_PEER_ADDRESS, sizeof(share));
    unsigned char *inbox = weft_share_map(&share, true, &reason);
    MUST(inbox != NULL);
    struct weft_shm_ring *ring = (void *)(inbox + sizeof(struct weft_shm_inbox));
    weft_status status = WEFT_OK;
    for (uint32_t number = 0; in.size > 0 && status == WEFT_OK; number++) {
        bool did = false;
        damaged |= put_packet(ring, &in, token, key, number);
        status = weft_net_progress(net, WEFT_NET_RECEIVE, &did);
        MUST(status == WEFT_OK || status == WEFT_ERR_PROTOCOL);
    }
    MUST(memcmp(memory, untouched, GUARD) == 0);
    MUST(memcmp(memory + GUARD + REGION, untouched, GUARD) == 0);
    for (int i = 0; i < REGION && !damaged; i++)
        MUST(memory[GUARD + i] == FILL);
    weft_share_unmap(inbox, &share, true);
    weft_net_dereg(net, key);
    weft_net_close(net);
    return 0;
}
