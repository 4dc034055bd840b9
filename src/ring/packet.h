/*
 * ring/packet.h - single producer, single consumer, packets of any length, in memory that
 * two processes of a host share.
 *
 * A ring of bytes. A packet is a 16-byte frame head with its length, then its content, padded to
 * 16; one that would cross the end of the ring is preceded by a frame that says "skip to the
 * start". Indexes count bytes, run freely and wrap at 2^32. The producer publishes its index after
 * the bytes (ring_publish), the consumer its own after it has APPLIED them (ring_credit): the
 * credit therefore also tells the producer what has landed.
 *
 * The producer trusts nothing it reads but the credit, the consumer nothing but the index; both
 * check them against the ring, since the other process may be broken.
 */
#ifndef WEFT_RING_PACKET_H
#define WEFT_RING_PACKET_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The shared part; the bytes follow at WEFT_PACKET_RING_HEAD. All zero, or set by init. */
struct weft_packet_ring {
    uint32_t published; /* by the producer */
    uint32_t pad0[15];
    uint32_t credit; /* by the consumer */
    uint32_t pad1[15];
    unsigned char bytes[];
};
static_assert(offsetof(struct weft_packet_ring, credit) == 64, "each side has a line of its own");
static_assert(sizeof(struct weft_packet_ring) == 128, "the bytes begin at a line of their own");

struct weft_packet_producer {
    struct weft_packet_ring *ring;
    uint32_t size; /* of bytes[]; power of two */
    uint32_t head;
    uint32_t seen; /* last credit read */
};

struct weft_packet_consumer {
    struct weft_packet_ring *ring;
    uint32_t size;
    uint32_t tail;
    uint32_t seen; /* last index read */
    uint32_t next; /* tail after the packet being read */
};

/* Memory for a ring of `size` bytes. */
static inline size_t weft_packet_ring_bytes(uint32_t size)
{
    return sizeof(struct weft_packet_ring) + size;
}

/* Sets both indexes to start (a multiple of 16). Before anyone uses the ring. */
void weft_packet_ring_init(struct weft_packet_ring *ring, uint32_t start);

/* The most content a packet may have: a packet never needs more than half the ring. */
static inline uint32_t weft_packet_max(uint32_t size)
{
    return size / 2 - 16;
}

/*
 * Producer: appends a packet made of two pieces, or returns false and changes nothing when there
 * is no room. bytes1 + bytes2 <= weft_packet_max. *end is the index after it: it has landed when
 * weft_packet_landed says so.
 */
bool weft_packet_push(struct weft_packet_producer *producer, const void *piece1, uint32_t bytes1,
                      const void *piece2, uint32_t bytes2, uint32_t *end);

/* Producer: re-reads the credit. False if the consumer published nonsense. */
bool weft_packet_refresh(struct weft_packet_producer *producer);

/* Producer: whether the packet that ended at `end` has been applied, by the last refresh. */
static inline bool weft_packet_landed(const struct weft_packet_producer *producer, uint32_t end)
{
    return (int32_t)(producer->seen - end) >= 0;
}

enum weft_packet_result { WEFT_PACKET_NONE, WEFT_PACKET_READY, WEFT_PACKET_BROKEN };

/*
 * Consumer: finds the packet at the tail and where its content lies in the ring, valid until it is
 * released. BROKEN: the producer wrote something that cannot be (*bytes then holds the number).
 */
enum weft_packet_result weft_packet_peek(struct weft_packet_consumer *consumer,
                                         const unsigned char **content, uint32_t *bytes);

/* Consumer: goes on to the packet after the one last peeked at. */
static inline void weft_packet_pass(struct weft_packet_consumer *consumer)
{
    consumer->tail = consumer->next;
}

/* Consumer: all packets that were passed have been applied; their room is the producer's again. */
void weft_packet_release(struct weft_packet_consumer *consumer);
/* The same of those that were passed when consumer->tail was `end`. */
void weft_packet_release_to(struct weft_packet_consumer *consumer, uint32_t end);

#endif
