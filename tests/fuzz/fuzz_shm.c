/*
 * fuzz_shm.c - what another process may leave in the rings of the network shm: packets with any
 * length, key, offset and notice, or a place in staging memory. Only the region that was exposed is
 * ever written, with nothing but what lay behind a packet or in that memory, and after the first
 * malformed packet nothing more.
 *
 * A network of one process, connected to itself: its ring is written from here. A new network of
 * another process's kind gets a target like this one, at the place where its bytes are parsed.
 */
#include "fuzz.h"

#include "../support/notices.h"
#include "base/share.h"
#include "base/task.h"
#include "net/net.h"
#include "net/shm/inside.h"
#include "ring/packet.h"

enum { RING = 4096, REGION = 512, GUARD = 512, INBOX = 64, STAGE = 4096, FILL = 0xa5 };

static weft_status arrived(void *context, const struct weft_arrival *arrival)
{
    unsigned *count = context;

    MUST(arrival->process == 0 && arrival->notice != 0);
    (*count)++;
    return arrival->notice >> 28 != 15 ? WEFT_OK : WEFT_ERR_PROTOCOL;
}

/* One packet, mostly good; then what the script changes. */
static void put_packet(struct weft_packet_producer *producer, struct fuzz_bytes *in, uint64_t key)
{
    struct weft_packet packet = {.key = key};
    unsigned char content[2 * REGION];
    const unsigned change = fuzz_byte(in);
    const uint32_t bytes = (fuzz_byte(in) * 4) % (sizeof(content) + 1);
    uint32_t end;

    memset(content, FILL, sizeof(content));
    if (change & 32) { /* up to the end of that memory, and a little further */
        const uint64_t place = change & 64 ? fuzz_word(in) : STAGE - fuzz_byte(in) % 200 * 4;
        packet.bytes = bytes | WEFT_PACKET_REFERS;
        packet.offset = fuzz_byte(in);
        packet.notice = 0x10000001;
        (void)weft_packet_push(producer, &packet, sizeof(packet), &place,
                               change & 128 ? fuzz_byte(in) % sizeof(place) : sizeof(place), &end);
        return;
    }
    packet.bytes = change & 1 ? fuzz_word(in) : bytes;
    packet.offset = change & 2 ? (uint64_t)fuzz_word(in) << 32 | fuzz_word(in) : fuzz_byte(in);
    packet.key = change & 4 ? (uint64_t)fuzz_word(in) << 32 | fuzz_word(in) : key;
    packet.notice = change & 8 ? fuzz_word(in) : 0x10000001;
    /* The header may be cut. */
    const uint32_t head = change & 16 ? fuzz_byte(in) % sizeof(packet) : sizeof(packet);
    (void)weft_packet_push(producer, &packet, head, content, change & 16 ? 0 : bytes, &end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct weft_net_ops *ops = weft_net_find("shm");
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
    uint64_t key;
    const char *reason;

    MUST(ops != NULL && ops->open(&net, &open) == WEFT_OK);
    MUST(ops->address(net, address) == WEFT_OK && ops->connect(net, 0, address) == WEFT_OK);
    MUST(ops->reg(net, memory + GUARD, REGION, false, &key) == WEFT_OK);
    ops->caps(net, &caps);
    MUST(caps.stage != NULL);
    memset(caps.stage, FILL, STAGE);
    memset(memory + GUARD, FILL, REGION);
    memcpy(&share, address, sizeof(share));
    unsigned char *inbox = weft_share_map(&share, true, &reason);
    MUST(inbox != NULL);
    struct weft_packet_ring *ring = (void *)(inbox + INBOX);
    struct weft_packet_producer producer = {.ring = ring, .size = RING};
    weft_status status = WEFT_OK;
    while (in.size > 0 && status == WEFT_OK) {
        bool did = false;
        put_packet(&producer, &in, key);
        const unsigned damage = fuzz_byte(&in);
        if (damage % 8 == 7)
            ring->published += fuzz_byte(&in);
        damaged |= damage % 8 >= 6;
        if (damage % 16 == 6)
            ring->bytes[fuzz_word(&in) % RING] ^= (unsigned char)fuzz_byte(&in);
        status = ops->progress(net, WEFT_NET_RECEIVE, &did);
        MUST(status == WEFT_OK || status == WEFT_ERR_PROTOCOL);
        (void)weft_packet_refresh(&producer);
    }
    MUST(memcmp(memory, untouched, GUARD) == 0);
    MUST(memcmp(memory + GUARD + REGION, untouched, GUARD) == 0);
    for (int i = 0; i < REGION && !damaged; i++)
        MUST(memory[GUARD + i] == FILL);
    weft_share_unmap(inbox, &share, true);
    ops->dereg(net, key);
    ops->close(net);
    return 0;
}
