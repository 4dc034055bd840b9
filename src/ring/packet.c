/* ring/packet.c - see the header for the protocol. Producer and consumer own an end each. */
#include "ring/packet.h"

#include "order/atomic.h"

enum { HEAD = 16, SKIP = 0xffffffffu };

struct frame_head {
    uint32_t bytes; /* of content, or SKIP */
    uint32_t unused[3];
};
static_assert(sizeof(struct frame_head) == HEAD, "content begins at a multiple of 16");

static uint32_t padded(uint32_t bytes)
{
    return (bytes + HEAD + 15) & ~15u;
}

void weft_packet_ring_init(struct weft_packet_ring *ring, uint32_t start)
{
    ring->published = start;
    ring->credit = start;
}

bool weft_packet_refresh(struct weft_packet_producer *producer)
{
    uint32_t credit = weft_load_acquire_u32(&producer->ring->credit, ORDER_ring_space);
    if (producer->head - credit > producer->size || credit - producer->seen > producer->size)
        return false;
    producer->seen = credit;
    return true;
}

bool weft_packet_push(struct weft_packet_producer *producer, const void *piece1, uint32_t bytes1,
                      const void *piece2, uint32_t bytes2, uint32_t *end)
{
    unsigned char *ring = producer->ring->bytes;
    const uint32_t size = producer->size;
    const uint32_t need = padded(bytes1 + bytes2);
    uint32_t at = producer->head & (size - 1);
    const uint32_t skip = at + need > size ? size - at : 0;

    if (producer->head + skip + need - producer->seen > size)
        return false;

    struct frame_head head = {.bytes = SKIP};
    if (skip != 0) {
        weft_write_shared(ring + at, &head, HEAD);
        at = 0;
    }
    head.bytes = bytes1 + bytes2;
    weft_write_shared(ring + at, &head, HEAD);
    weft_write_shared(ring + at + HEAD, piece1, bytes1);
    if (bytes2 != 0)
        weft_write_shared(ring + at + HEAD + bytes1, piece2, bytes2);
    producer->head += skip + need;
    weft_store_release_u32(&producer->ring->published, producer->head, ORDER_ring_publish);
    *end = producer->head;
    return true;
}

enum weft_packet_result weft_packet_peek(struct weft_packet_consumer *consumer,
                                         const unsigned char **content, uint32_t *bytes)
{
    const uint32_t size = consumer->size;

    if (consumer->seen == consumer->tail) {
        consumer->seen = weft_load_acquire_u32(&consumer->ring->published, ORDER_ring_poll);
        if (consumer->seen == consumer->tail)
            return WEFT_PACKET_NONE;
    }
    *bytes = consumer->seen - consumer->tail;
    if (*bytes > size || *bytes % HEAD != 0)
        return WEFT_PACKET_BROKEN;

    struct frame_head head;
    uint32_t at = consumer->tail & (size - 1);
    uint32_t available = *bytes;
    weft_read_shared(&head, consumer->ring->bytes + at, HEAD);
    if (head.bytes == SKIP) {
        if (available < size - at + HEAD)
            return WEFT_PACKET_BROKEN;
        available -= size - at;
        consumer->tail += size - at;
        at = 0;
        weft_read_shared(&head, consumer->ring->bytes, HEAD);
    }
    *bytes = head.bytes;
    if (head.bytes > weft_packet_max(size) || padded(head.bytes) > available ||
        at + padded(head.bytes) > size)
        return WEFT_PACKET_BROKEN;

    weft_used_shared(consumer->ring->bytes + at + HEAD, head.bytes);
    *content = consumer->ring->bytes + at + HEAD;
    consumer->next = consumer->tail + padded(head.bytes);
    return WEFT_PACKET_READY;
}

void weft_packet_release(struct weft_packet_consumer *consumer)
{
    weft_packet_release_to(consumer, consumer->tail);
}

void weft_packet_release_to(struct weft_packet_consumer *consumer, uint32_t end)
{
    weft_store_release_u32(&consumer->ring->credit, end, ORDER_ring_credit);
}
