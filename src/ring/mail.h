/*
 * ring/mail.h - frames (abi/message.h) from one process's host to another's, in memory that the
 * receiver owns and the sender maps.
 *
 * Two rings side by side: of lines, and of payload in units of 64 bytes. A frame's line has a
 * commit word, which tells this lap from the one before, so that a frame with a short payload
 * crosses in one line. A longer payload lies in the second ring, behind that of the frame before,
 * and never crosses its end. Both ends know where from its length, and a flag: where what was
 * written first has been used by then, the producer goes back to the ring's start every few
 * kilobytes, so that a consumer that keeps up has all of it in its nearest cache. Indexes run
 * freely and wrap.
 *
 * The consumer gives room back when it has used the frame. It trusts nothing of a line before it
 * has compared it with the ring.
 */
#ifndef WEFT_RING_MAIL_H
#define WEFT_RING_MAIL_H

#include "abi/message.h"
#include "order/atomic.h"

enum {
    WEFT_MAIL_UNIT = 64,
    WEFT_MAIL_PART = 64,   /* bytes of payload for each line */
    WEFT_MAIL_LEAST = 512, /* bytes of a ring's payload */
    WEFT_MAIL_NEAR = 64    /* units between two looks whether the ring's start is free */
};

/* The shared part; lines and payload follow. */
struct weft_mail_ring {
    uint64_t credit; /* by the consumer: lines used, and in the upper half units of payload */
    uint32_t taken;  /* by the consumer: units that it keeps no more. Orders nothing */
    uint32_t unused[13];
    struct weft_mail line[];
};
static_assert(sizeof(struct weft_mail_ring) == 64, "the lines begin at a line of their own");

/* A ring of `size` bytes of payload, a power of two from WEFT_MAIL_LEAST on. */
static inline uint32_t weft_mail_lines(uint32_t size)
{
    return size / WEFT_MAIL_PART;
}

static inline size_t weft_mail_payload_at(uint32_t size)
{
    return sizeof(struct weft_mail_ring) + weft_mail_lines(size) * sizeof(struct weft_mail);
}

static inline size_t weft_mail_ring_bytes(uint32_t size)
{
    return weft_mail_payload_at(size) + size;
}

/* The most payload of a frame. */
static inline uint32_t weft_mail_most(uint32_t size)
{
    return size / 2 < UINT16_MAX ? size / 2 : UINT16_MAX / WEFT_MAIL_UNIT * WEFT_MAIL_UNIT;
}

static inline uint32_t weft_mail_units(uint32_t bytes)
{
    return (bytes + WEFT_MAIL_UNIT - 1) / WEFT_MAIL_UNIT;
}

/* Units of a payload that does not fit the line. */
static inline uint32_t weft_mail_need(uint32_t count)
{
    return count <= WEFT_MAIL_WITHIN ? 0 : weft_mail_units(count);
}

/* Where `need` units behind `unit` begin in a ring of so many. */
static inline uint32_t weft_mail_place(uint32_t unit, uint32_t need, uint32_t units)
{
    const uint32_t at = unit & (units - 1);

    return at + need > units ? unit + units - at : unit;
}

struct weft_mail_producer {
    struct weft_mail_ring *ring;
    unsigned char *payload;
    uint32_t lines, units;
    uint32_t line, unit;           /* next */
    uint32_t seen_line, seen_unit; /* credit last read */
    uint32_t looked;               /* the unit at which the start was last looked for */
};

struct weft_mail_consumer {
    struct weft_mail_ring *ring;
    const unsigned char *payload;
    uint32_t lines, units;
    uint32_t line, unit;
    uint32_t next_line, next_unit; /* behind the frame last peeked at */
    uint32_t told_line, told_unit; /* credit last given */
};

/* Begins to count at `start`. Before anyone uses the ring, whose memory is zero. */
static inline void weft_mail_ring_init(struct weft_mail_ring *ring, uint32_t size, uint32_t start)
{
    const uint32_t lines = weft_mail_lines(size);

    ring->credit = (uint64_t)start << 32 | start;
    for (uint32_t i = 0; start != 0 && i < lines; i++) /* that of the lap before is not expected */
        ring->line[(start + i) & (lines - 1)].commit = (uint32_t)(start + i + 1 - lines);
}

static inline void weft_mail_produce(struct weft_mail_producer *out, struct weft_mail_ring *ring,
                                     uint32_t size, uint32_t start)
{
    *out =
        (struct weft_mail_producer){.ring = ring,
                                    .payload = (unsigned char *)ring + weft_mail_payload_at(size),
                                    .lines = weft_mail_lines(size),
                                    .units = size / WEFT_MAIL_UNIT,
                                    .line = start,
                                    .unit = start,
                                    .seen_line = start,
                                    .seen_unit = start,
                                    .looked = start};
}

static inline void weft_mail_consume(struct weft_mail_consumer *in, struct weft_mail_ring *ring,
                                     uint32_t size, uint32_t start)
{
    *in = (struct weft_mail_consumer){.ring = ring,
                                      .payload = (unsigned char *)ring + weft_mail_payload_at(size),
                                      .lines = weft_mail_lines(size),
                                      .units = size / WEFT_MAIL_UNIT,
                                      .line = start,
                                      .unit = start,
                                      .told_line = start,
                                      .told_unit = start};
}

static inline void weft_mail_look(struct weft_mail_producer *out)
{
    const uint64_t credit = weft_load_acquire_u64(&out->ring->credit, ORDER_mail_space);

    out->seen_line = (uint32_t)credit;
    out->seen_unit = (uint32_t)(credit >> 32);
}

/* Whether a line is free, and what ends at `unit`. */
static inline bool weft_mail_fits(const struct weft_mail_producer *out, uint32_t unit)
{
    return out->line + 1 - out->seen_line <= out->lines && unit - out->seen_unit <= out->units;
}

/* Where the next `need` units go; *start: back to the ring's start, earlier than they must. */
static inline uint32_t weft_mail_next(struct weft_mail_producer *out, uint32_t need, bool *start)
{
    const uint32_t first = weft_mail_place(out->unit, out->units, out->units);

    if (need == 0 || out->unit - out->looked < WEFT_MAIL_NEAR)
        return weft_mail_place(out->unit, need, out->units);
    weft_mail_look(out);
    *start = weft_mail_fits(out, first + need);
    out->looked = *start ? first : out->unit;
    return weft_mail_place(out->unit, *start ? out->units : need, out->units);
}

/*
 * Appends a frame, or returns false and changes nothing where there is no room. payload: head.count
 * bytes, which random mode may read until the next weft_reuse of the ring; NULL: they are in text.
 */
static inline bool weft_mail_push(struct weft_mail_producer *out, struct weft_mail_head head,
                                  const struct weft_mail_text *text, const void *payload)
{
    const uint32_t need = weft_mail_need(head.count);
    struct weft_mail *line = &out->ring->line[out->line & (out->lines - 1)];
    bool start = false;
    const uint32_t unit = weft_mail_next(out, need, &start);

    if (!weft_mail_fits(out, unit + need)) {
        weft_mail_look(out);
        if (!weft_mail_fits(out, unit + need))
            return false;
    }
    /* The line last: who looks at it would take it away in between. */
    if (need != 0)
        weft_put_shared(out->payload + (size_t)(unit & (out->units - 1)) * WEFT_MAIL_UNIT, payload,
                        head.count);
    weft_write_shared(&line->text, text,
                      payload == NULL ? sizeof(*text) : offsetof(struct weft_mail_text, data));
    if (need == 0 && payload != NULL && head.count != 0)
        weft_put_shared(line->text.data.within, payload, head.count);
    if (start)
        head.flags |= WEFT_MAIL_START;
    const uint64_t commit = weft_mail_commit(head, out->line + 1);
    out->unit = unit + need;
    out->line++;
    weft_store_release_u64(&line->commit, commit, ORDER_mail_publish);
    return true;
}

enum weft_mail_result { WEFT_MAIL_NONE, WEFT_MAIL_READY, WEFT_MAIL_BROKEN };

/*
 * The next frame: what it says, copied, and its payload, valid until it is passed. BROKEN: the
 * producer wrote what cannot be.
 */
static inline enum weft_mail_result weft_mail_peek(struct weft_mail_consumer *in,
                                                   struct weft_mail_head *head,
                                                   struct weft_mail_text *text,
                                                   const unsigned char **payload)
{
    const struct weft_mail *line = &in->ring->line[in->line & (in->lines - 1)];
    const uint64_t commit = weft_load_acquire_u64(&line->commit, ORDER_mail_poll);

    if ((uint32_t)commit != in->line + 1)
        return WEFT_MAIL_NONE;
    *head = weft_mail_head_of(commit);
    weft_read_shared(text, &line->text, sizeof(*text));
    const uint32_t need = weft_mail_need(head->count);
    if (need > in->units / 2)
        return WEFT_MAIL_BROKEN;
    const bool start = (head->flags & WEFT_MAIL_START) != 0;
    const uint32_t unit = weft_mail_place(in->unit, start ? in->units : need, in->units);
    in->next_line = in->line + 1;
    in->next_unit = unit + need;
    *payload = need == 0 ? text->data.within
                         : in->payload + (size_t)(unit & (in->units - 1)) * WEFT_MAIL_UNIT;
    return WEFT_MAIL_READY;
}

/* Gives back the room of all frames that were passed. */
static inline void weft_mail_release(struct weft_mail_consumer *in)
{
    if (in->line == in->told_line)
        return;
    weft_store_release_u64(&in->ring->credit, (uint64_t)in->unit << 32 | in->line,
                           ORDER_mail_credit);
    in->told_line = in->line;
    in->told_unit = in->unit;
}

/* Goes on to the next frame; gives room back when a quarter of the ring is due. */
static inline void weft_mail_pass(struct weft_mail_consumer *in)
{
    in->line = in->next_line;
    in->unit = in->next_unit;
    if (in->line - in->told_line >= in->lines / 4 || in->unit - in->told_unit >= in->units / 4)
        weft_mail_release(in);
}

#endif
