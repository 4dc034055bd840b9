/*
 * ring/command.h - single producer (a rank), single consumer (its host's progress thread).
 *
 * A ring of lines. Every 8-byte word carries 7 bytes of content and, on top, a sequence byte: the
 * number of the lap, so that stale words of the lap before never look new. A message is one header
 * line and as many lines of payload as it needs. Because each word vouches for itself, a small
 * message needs no fence to be read correctly. The first word of the header is written last and
 * released (command_commit), so that whatever the rank did BEFORE the command - to memory that the
 * host or a NIC will read, or that other ranks will see - is visible to whoever acts on it.
 *
 * Indexes run freely and wrap; the consumer frees lines by publishing its index (command_credit).
 */
#ifndef WEFT_RING_COMMAND_H
#define WEFT_RING_COMMAND_H

#include "abi/command.h"
#include "order/atomic.h"
#include "ring/lines.h"

#include <stdbool.h>

struct weft_command_producer {
    struct weft_line *lines;
    const uint32_t *credit; /* index of the consumer, as it publishes it */
    uint32_t depth;         /* lines of the ring, a power of two */
    uint32_t head;          /* next line to write */
    uint32_t seen;          /* credit as last read */
};

struct weft_command_consumer {
    const struct weft_line *lines;
    uint32_t *credit; /* index of the consumer, for the producer */
    uint32_t depth;   /* lines of the ring, a power of two */
    uint32_t tail;    /* next line to read */
};

/* The sequence byte of line `index`: its lap. Laps wrap with the index since depth <= 2^24. Nobody
 * divides: a GPU takes tens of instructions to, a processor tens of cycles. */
WEFT_INLINE uint64_t weft_lap(uint32_t index, uint32_t depth)
{
#ifdef __CUDACC__
    const uint32_t lap = index >> (31 - __clz((int)depth));
#else
    const uint32_t lap = index >> __builtin_ctz(depth);
#endif
    return (uint64_t)((lap + 1) & 0xff) << 56;
}

#define WEFT_WORD_CONTENT ((1ull << 56) - 1)

/* Marks every line as written in the lap before `start`. Before anyone uses the ring. */
WEFT_INLINE void weft_command_ring_init(struct weft_line *lines, uint32_t depth, uint32_t start,
                                        uint32_t *credit)
{
    for (uint32_t i = 0; i < depth; i++) {
        uint32_t index = start + i; /* the first use of this slot */
        for (int w = 0; w < WEFT_LINE_WORDS; w++)
            lines[index & (depth - 1)].word[w] = weft_lap(index - depth, depth);
    }
    *credit = start;
}

/* Producer: true if `count` more lines fit. Reads the credit only when it must. */
WEFT_INLINE bool weft_command_space(struct weft_command_producer *ring, uint32_t count)
{
    if (ring->head + count - ring->seen <= ring->depth)
        return true;
    ring->seen = weft_load_acquire_u32(ring->credit, ORDER_command_space);
    return ring->head + count - ring->seen <= ring->depth;
}

/*
 * Producer: takes back the line that it wrote last, a command without a payload. Who reads the ring
 * has ended without it, and no other reader has begun.
 */
WEFT_INLINE void weft_command_retract(struct weft_command_producer *ring)
{
    const uint32_t index = --ring->head;

    for (int w = 0; w < WEFT_LINE_WORDS; w++)
        ring->lines[index & (ring->depth - 1)].word[w] = weft_lap(index - ring->depth, ring->depth);
}

/*
 * Producer: appends a command and its inline payload. There must be space for its lines. `after`:
 * all that the rank did before is visible to whoever acts on the command. (A GPU saves the fence
 * without it; here a release costs nothing.)
 */
#ifdef __CUDACC__

/* Word `word` of the content that begins at c[0], as 64-bit words: its bits 56 w .. 56 w + 55. */
WEFT_INLINE uint64_t weft_word_cut(const uint64_t *c, int word)
{
    const int bit = 56 * word, at = bit / 64, shift = bit % 64;
    uint64_t value = c[at] >> shift;
    if (shift > 8)
        value |= c[at + 1] << (64 - shift);
    return value & WEFT_WORD_CONTENT;
}

/* Cuts the i-th 7 bytes of a payload, for a line's word; 0 beyond its end. */
WEFT_INLINE uint64_t weft_payload_cut(const unsigned char *payload, uint32_t bytes, uint32_t i)
{
    uint64_t value = 0;

    for (uint32_t b = 0; b < 7 && 7 * i + b < bytes; b++)
        value |= (uint64_t)payload[7 * i + b] << 8 * b;
    return value;
}

/* Cuts a word of a payload that consists of words of 4 bytes. No branch: its loads overlap. */
WEFT_INLINE uint64_t weft_payload_cut_words(const unsigned char *payload, uint32_t bytes,
                                            uint32_t i)
{
    const uint32_t *const words = (const uint32_t *)(const void *)payload;
    const uint32_t begin = 7 * i, at = begin / 4, last = bytes / 4 - 1, shift = 8 * (begin % 4);
    const uint32_t left = begin < bytes ? bytes - begin : 0;
    const uint32_t low = words[at < last ? at : last], mid = words[at + 1 < last ? at + 1 : last];
    const uint32_t high = words[at + 2 < last ? at + 2 : last];

    return ((uint64_t)__funnelshift_r(mid, high, shift) << 32 | __funnelshift_r(low, mid, shift)) &
           (left < 7 ? (1ull << 8 * left) - 1 : WEFT_WORD_CONTENT);
}

/* Stores the i-th word of the payload's lines, behind a header that is yet to be written. */
WEFT_INLINE void weft_payload_store(const struct weft_command_producer *ring, uint32_t i,
                                    uint64_t value)
{
    const uint32_t line = ring->head + 1 + i / WEFT_LINE_WORDS;

    weft_store_relaxed_u64(&ring->lines[line & (ring->depth - 1)].word[i % WEFT_LINE_WORDS],
                           value | weft_lap(line, ring->depth));
}

/* Writes all words of a payload, by some threads together. */
WEFT_COLD void weft_command_write_payload(const struct weft_command_producer *ring,
                                          const unsigned char *payload, uint32_t bytes,
                                          uint32_t lane, uint32_t lanes)
{
    enum { DEEP = 5 }; /* words of a thread at once: 32 threads write 1 KiB */
    const uint32_t words = (weft_command_lines(bytes) - 1) * WEFT_LINE_WORDS;
    uint32_t i = lane;

    if ((((uintptr_t)payload | bytes) & 3) != 0) {
#pragma unroll 1
        for (; i < words; i += lanes)
            weft_payload_store(ring, i, weft_payload_cut(payload, bytes, i));
        return;
    }
#pragma unroll 1
    for (; i < words; i += DEEP * lanes) {
        uint64_t value[DEEP];
        WEFT_UNROLL
        for (uint32_t k = 0; k < DEEP; k++)
            value[k] = weft_payload_cut_words(payload, bytes, i + k * lanes);
        WEFT_UNROLL
        for (uint32_t k = 0; k < DEEP; k++)
            if (i + k * lanes < words)
                weft_payload_store(ring, i + k * lanes, value[k]);
    }
}

/* Writes the header, and with it the message is there. One thread. */
WEFT_INLINE void weft_command_write_header(struct weft_command_producer *ring,
                                           const struct weft_command *command,
                                           uint32_t payload_bytes)
{
    struct weft_line *header = &ring->lines[ring->head & (ring->depth - 1)];
    const uint64_t lap = weft_lap(ring->head, ring->depth);
    uint64_t content[7];

    memcpy(content, command, sizeof(content));
    WEFT_UNROLL
    for (int w = 0; w < WEFT_LINE_WORDS; w += 2) /* two at once: each is undivided, no more */
        weft_lap_write(&header->word[w], weft_word_cut(content, w) | lap,
                       weft_word_cut(content, w + 1) | lap);
    ring->head += weft_command_lines(payload_bytes);
}

/*
 * Pushes a command, by one thread. Each word vouches for itself: their order does not matter. The
 * payload comes after the fence, too: before it, the fence would wait until host memory has it.
 */
WEFT_INLINE void weft_command_push(struct weft_command_producer *ring,
                                   const struct weft_command *command, const void *payload,
                                   uint32_t payload_bytes, bool after)
{
    if (after)
        weft_fence_release(ORDER_command_commit);
    weft_command_write_payload(ring, (const unsigned char *)payload, payload_bytes, 0, 1);
    weft_command_write_header(ring, command, payload_bytes);
}

#else

static inline uint64_t weft_word_pack(const unsigned char *content, int word, uint64_t lap)
{
    uint64_t value = 0;
    memcpy(&value, content + word * 7, 7); /* little endian: the sequence stays in the top byte */
    return value | lap;
}

/* Stores the i-th word of the payload's lines, behind a header that is yet to be written. */
static inline void weft_payload_store(const struct weft_command_producer *ring, uint32_t i,
                                      uint64_t value)
{
    const uint32_t index = ring->head + 1 + i / WEFT_LINE_WORDS;
    struct weft_line *const line = &ring->lines[index & (ring->depth - 1)];

    if (i % WEFT_LINE_WORDS == 0)
        weft_claim_shared(line, sizeof(*line));
    weft_store_relaxed_u64(&line->word[i % WEFT_LINE_WORDS], value | weft_lap(index, ring->depth));
}

/* Writes the header, and with it the message is there. */
static inline void weft_command_write_header(struct weft_command_producer *ring,
                                             const struct weft_command *command,
                                             uint32_t payload_bytes)
{
    struct weft_line *header = &ring->lines[ring->head & (ring->depth - 1)];
    const uint64_t lap = weft_lap(ring->head, ring->depth);

    weft_claim_shared(header, sizeof(*header));
    for (int w = 1; w < WEFT_LINE_WORDS; w++)
        weft_store_relaxed_u64(&header->word[w],
                               weft_word_pack((const unsigned char *)command, w, lap));
    weft_store_release_u64(&header->word[0], weft_word_pack((const unsigned char *)command, 0, lap),
                           ORDER_command_commit);
    ring->head += weft_command_lines(payload_bytes);
}

static inline void weft_command_push(struct weft_command_producer *ring,
                                     const struct weft_command *command, const void *payload,
                                     uint32_t payload_bytes, bool after)
{
    (void)after;
    for (uint32_t i = 0; i < (weft_command_lines(payload_bytes) - 1) * WEFT_LINE_WORDS; i++) {
        const uint32_t left = 7 * i < payload_bytes ? payload_bytes - 7 * i : 0;
        uint64_t value = 0;
        memcpy(&value, (const unsigned char *)payload + (left != 0 ? 7 * i : 0),
               left < 7 ? left : 7);
        weft_payload_store(ring, i, value);
    }
    weft_command_write_header(ring, command, payload_bytes);
}

/* ---- the consumer, which is always the host ------------------------------------------------ */

/* Reads one line's content if all of its words have arrived. */
static inline bool weft_line_read(const struct weft_command_consumer *ring, uint32_t index,
                                  unsigned char *content, bool header)
{
    const struct weft_line *line = &ring->lines[index & (ring->depth - 1)];
    const uint64_t lap = weft_lap(index, ring->depth);

    for (int w = 0; w < WEFT_LINE_WORDS; w++) {
        uint64_t value = header && w == 0
                             ? weft_load_acquire_u64(&line->word[0], ORDER_command_poll)
                             : weft_load_relaxed_u64(&line->word[w]);
        if ((value & ~WEFT_WORD_CONTENT) != lap)
            return false;
        memcpy(content + w * 7, &value, 7);
    }
    weft_used_shared(line, sizeof(*line));
    return true;
}

/*
 * Consumer: the command at the tail will be asked for soon, and if it is there, its payload, of
 * which that many lines come into the cache.
 */
static inline void weft_command_expect(const struct weft_command_consumer *ring, uint32_t lines)
{
    const uint32_t mask = ring->depth - 1;
    const uint64_t *const word = ring->lines[ring->tail & mask].word;

    if (lines == 0)
        __builtin_prefetch(word);
    else if ((weft_load_relaxed_u64(word) & ~WEFT_WORD_CONTENT) ==
             weft_lap(ring->tail, ring->depth))
        for (uint32_t l = 1; l <= lines; l++)
            __builtin_prefetch(&ring->lines[(ring->tail + l) & mask]);
}

/* Consumer: the command at the tail, if there is one. It stays there until it is popped. */
static inline bool weft_command_peek(const struct weft_command_consumer *ring,
                                     struct weft_command *command)
{
    return weft_line_read(ring, ring->tail, (unsigned char *)command, true);
}

/* Consumer: the inline payload of the command at the tail. False: not all of it has arrived. */
static inline bool weft_command_payload(const struct weft_command_consumer *ring, void *payload,
                                        uint32_t bytes)
{
    for (uint32_t l = 1; l < weft_command_lines(bytes); l++) {
        unsigned char content[WEFT_LINE_BYTES];
        if (!weft_line_read(ring, ring->tail + l, content, false))
            return false;
        uint32_t at = (l - 1) * WEFT_LINE_BYTES, left = bytes - at;
        memcpy((unsigned char *)payload + at, content,
               left < WEFT_LINE_BYTES ? left : WEFT_LINE_BYTES);
    }
    return true;
}

/* Consumer: frees the lines of the command at the tail. */
static inline void weft_command_pop(struct weft_command_consumer *ring, uint32_t inline_bytes)
{
    ring->tail += weft_command_lines(inline_bytes);
    weft_store_release_u32(ring->credit, ring->tail, ORDER_command_credit);
}

#endif

/* A payload that goes into the lines as it is made, before its header is written. */
struct weft_payload {
    const struct weft_command_producer *ring;
    uint64_t word;  /* bytes since the last word that was stored */
    uint32_t bytes; /* bytes so far */
};

/* Adds bytes to the payload; at last zeros (NULL) up to the end of a line. One thread. */
WEFT_COLD void weft_payload_add(struct weft_payload *payload, const void *from, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) {
        const uint64_t byte = from != NULL ? ((const unsigned char *)from)[i] : 0;
        payload->word |= byte << 8 * (payload->bytes % 7);
        if (++payload->bytes % 7 == 0) {
            weft_payload_store(payload->ring, payload->bytes / 7 - 1, payload->word);
            payload->word = 0;
        }
    }
}

#endif
