/*
 * fuzz_ring.c - the packet ring of two processes, whose other side writes what it likes: indexes
 * and bytes, at any time. The consumer never leaves the ring and always ends.
 */
#include "fuzz.h"

#include "ring/packet.h"

enum { SIZE = 256, STEPS = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes in = {data, size};
    const uint32_t start = fuzz_word(&in) & ~15u;
    struct weft_packet_ring *ring = calloc(1, weft_packet_ring_bytes(SIZE));
    struct weft_packet_consumer consumer = {
        .ring = ring, .size = SIZE, .tail = start, .seen = start, .next = start};
    struct weft_packet_producer producer = {
        .ring = ring, .size = SIZE, .head = start, .seen = start};
    unsigned char content[SIZE] = {0};
    uint32_t end;

    MUST(ring != NULL);
    weft_packet_ring_init(ring, start);
    for (int step = 0; step < STEPS && in.size > 0; step++) {
        const unsigned op = fuzz_byte(&in);
        const unsigned char *found;
        uint32_t bytes;
        switch (op % 5) {
        case 0: /* a good packet */
            bytes = fuzz_byte(&in) % (weft_packet_max(SIZE) + 1);
            if (weft_packet_refresh(&producer))
                weft_packet_push(&producer, content, bytes / 2, content, bytes - bytes / 2, &end);
            break;
        case 1: /* any bytes anywhere */
            for (uint32_t at = fuzz_byte(&in), n = fuzz_byte(&in) % 32; n > 0; n--, at++)
                ring->bytes[at % SIZE] = (unsigned char)fuzz_byte(&in);
            break;
        case 2:
            ring->published = op / 5 % 2 == 0 ? fuzz_word(&in) : ring->published + fuzz_byte(&in);
            break;
        case 3:
            ring->credit = op / 5 % 2 == 0 ? fuzz_word(&in) : ring->credit - fuzz_byte(&in);
            break;
        default:
            if (weft_packet_peek(&consumer, &found, &bytes) != WEFT_PACKET_READY)
                break;
            MUST(found >= ring->bytes && bytes <= weft_packet_max(SIZE));
            MUST(found + bytes <= ring->bytes + SIZE);
            for (uint32_t i = 0; i < bytes; i++)
                content[i] ^= found[i];
            weft_packet_pass(&consumer);
            weft_packet_release(&consumer);
        }
    }
    free(ring);
    return 0;
}
