/*
 * ring/mail.h - frames (abi/message.h) from one process's host to another's, in memory that the
 * receiver owns and the sender maps.
 *
 * Three rings side by side: of lines, and two of payload in units of 64 bytes. A frame's line has a
 * commit word, which tells this lap from the one before, so that a frame with a short payload
 * crosses in one line. A longer payload lies in a payload ring, behind that of the frame before
 * there, and never crosses its end. Both ends know where from its length and a flag, which says
 * which ring: the near one is small, and stays in the nearest caches while the consumer keeps up;
 * what does not fit there goes into the far one. Indexes run freely and wrap.
 *
 * The consumer gives room back when it has used the frame. It trusts nothing of a line before it
 * has compared it with the rings.
 */
#ifndef WEFT_RING_MAIL_H
#define WEFT_RING_MAIL_H

#include "abi/message.h"
#include "order/atomic.h"

enum {
    WEFT_MAIL_UNIT = 64,   /* bytes of a unit of payload */
    WEFT_MAIL_PART = 512,  /* bytes of far payload for each line; there are two lines at least */
    WEFT_MAIL_LEAST = 512, /* bytes of a far ring, at least */
    WEFT_MAIL_NEAR = 8192  /* bytes of a near ring, but no more than the far one has */
};

/* The shared part; lines, far and near payload follow. */
struct weft_mail_ring {
    uint64_t credit; /* by the consumer: lines used; from bit 32 on units of far payload used */
    uint32_t near;   /* by the consumer: units of near payload used */
    uint32_t taken;  /* by the consumer: units of kept memory that it has freed. Orders nothing */
    uint32_t unused[12];
    struct weft_mail line[];
};
static_assert(sizeof(struct weft_mail_ring) == 64, "the lines begin at a line of their own");

/* Rings for `size` bytes of far payload, a power of two from WEFT_MAIL_LEAST on. */
static inline uint32_t weft_mail_lines(uint32_t size)
{
    return size > 2 * WEFT_MAIL_PART ? size / WEFT_MAIL_PART : 2;
}

static inline uint32_t weft_mail_near(uint32_t size)
{
    return size < WEFT_MAIL_NEAR ? size : WEFT_MAIL_NEAR;
}

static inline size_t weft_mail_payload_at(uint32_t size)
{
    return sizeof(struct weft_mail_ring) + weft_mail_lines(size) * sizeof(struct weft_mail);
}

static inline size_t weft_mail_ring_bytes(uint32_t size)
{
    return weft_mail_payload_at(size) + size + weft_mail_near(size);
}

/* Bytes of a frame's payload, at most. */
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

/* One end of a payload ring. */
struct weft_mail_payload {
    unsigned char *bytes;
    uint32_t units;
    uint32_t unit;  /* next unit to use */
    uint32_t given; /* units that are credited, as last read or given */
};

/* The producer's end of a mail ring with its payload rings, or the consumer's. */
struct weft_mail_end {
    struct weft_mail_ring *ring;
    struct weft_mail_payload far, near;
    uint32_t lines;
    uint32_t line;    /* next line to use */
    uint32_t given;   /* lines that are credited, as last read or given */
    uint32_t passed;  /* producer: units that went far since the near ring was looked at in vain */
    uint32_t peeked;  /* consumer: units of the payload of the frame last peeked at */
    bool near_peeked; /* consumer: that payload is in the near ring */
};

/* Begins to count at `start`. Before anyone uses the ring, whose memory is zero. */
static inline void weft_mail_ring_init(struct weft_mail_ring *ring, uint32_t size, uint32_t start)
{
    const uint32_t lines = weft_mail_lines(size);

    ring->credit = (uint64_t)start << 32 | start;
    ring->near = start;
    for (uint32_t i = 0; start != 0 && i < lines; i++) /* that of the lap before is not expected */
        ring->line[(start + i) & (lines - 1)].commit = (uint32_t)(start + i + 1 - lines);
}

static inline struct weft_mail_payload weft_mail_payload(struct weft_mail_ring *ring, uint32_t size,
                                                         bool near, uint32_t start)
{
    unsigned char *const far = (unsigned char *)ring + weft_mail_payload_at(size);

    return (struct weft_mail_payload){.bytes = near ? far + size : far,
                                      .units =
                                          (near ? weft_mail_near(size) : size) / WEFT_MAIL_UNIT,
                                      .unit = start,
                                      .given = start};
}

static inline void weft_mail_open(struct weft_mail_end *end, struct weft_mail_ring *ring,
                                  uint32_t size, uint32_t start)
{
    *end = (struct weft_mail_end){
        .ring = ring,
        .far = weft_mail_payload(ring, size, false, start),
        .near = weft_mail_payload(ring, size, true, start),
        .lines = weft_mail_lines(size),
        .line = start,
        .given = start,
        .passed = WEFT_MAIL_NEAR,
    };
}

static inline unsigned char *weft_mail_unit(const struct weft_mail_payload *payload, uint32_t unit)
{
    return payload->bytes + (size_t)(unit & (payload->units - 1)) * WEFT_MAIL_UNIT;
}

/*
 * Copies a payload that fits the line, between it and memory elsewhere: two halves that overlap,
 * which take no call.
 */
static inline void weft_mail_copy(void *target, const void *source, uint32_t bytes)
{
    unsigned char *const to = target;
    const unsigned char *const from = source;

    if (bytes >= 16) {
        memcpy(to, from, 16);
        memcpy(to + bytes - 16, from + bytes - 16, 16);
    } else if (bytes >= 8) {
        memcpy(to, from, 8);
        memcpy(to + bytes - 8, from + bytes - 8, 8);
    } else if (bytes >= 4) {
        memcpy(to, from, 4);
        memcpy(to + bytes - 4, from + bytes - 4, 4);
    } else {
        for (uint32_t i = 0; i < bytes; i++)
            to[i] = from[i];
    }
}

/* ---- the producer ---------------------------------------------------------------------------- */

static inline void weft_mail_look(struct weft_mail_end *out)
{
    const uint64_t credit = weft_load_acquire_u64(&out->ring->credit, ORDER_mail_space);

    out->given = (uint32_t)credit;
    out->far.given = (uint32_t)(credit >> 32);
    out->near.given = weft_load_acquire_u32(&out->ring->near, ORDER_mail_space);
}

/*
 * Whether `need` more units, at most all of them, are free. What is passed over at the end counts
 * as used, but where nothing is under way: then all of the ring is free, wherever the next one
 * begins.
 */
static inline bool weft_mail_fits(const struct weft_mail_payload *payload, uint32_t need)
{
    const uint32_t end = weft_mail_place(payload->unit, need, payload->units) + need;

    return end - payload->given <= payload->units || payload->unit == payload->given;
}

/* Whether they go near. Who is behind is not asked each time. */
static inline bool weft_mail_goes_near(struct weft_mail_end *out, uint32_t need)
{
    if (need > out->near.units)
        return false;
    if (weft_mail_fits(&out->near, need))
        return true;
    if (out->passed < out->near.units / 2)
        return false;
    weft_mail_look(out);
    if (weft_mail_fits(&out->near, need))
        return true;
    out->passed = 0;
    return false;
}

/* Stores a payload of `need` units, and says in *head where. False: there is no room. */
WEFT_COLD bool weft_mail_put(struct weft_mail_end *out, struct weft_mail_head *head, uint32_t need,
                             const void *payload)
{
    const bool near = weft_mail_goes_near(out, need);
    struct weft_mail_payload *ring = near ? &out->near : &out->far;

    if (!weft_mail_fits(ring, need)) {
        weft_mail_look(out);
        if (!weft_mail_fits(ring, need))
            return false;
    }
    const uint32_t unit = weft_mail_place(ring->unit, need, ring->units);
    weft_put_shared(weft_mail_unit(ring, unit), payload, head->count);
    ring->unit = unit + need;
    out->passed += near ? 0 : need;
    head->flags |= near ? WEFT_MAIL_IS_NEAR : 0;
    return true;
}

/*
 * Appends a frame, or returns false and changes nothing where there is no room. payload: head.count
 * bytes, which random mode may read until the next weft_reuse of the ring; NULL: they are in text.
 */
static inline bool weft_mail_push(struct weft_mail_end *out, struct weft_mail_head head,
                                  const struct weft_mail_text *text, const void *payload)
{
    const uint32_t need = weft_mail_need(head.count);
    struct weft_mail *line = &out->ring->line[out->line & (out->lines - 1)];

    if (out->line - out->given >= out->lines) {
        weft_mail_look(out);
        if (out->line - out->given >= out->lines)
            return false;
    }
    /* The line last: who looks at it would take it away in between. */
    if (need != 0 && !weft_mail_put(out, &head, need, payload))
        return false;
    if (WEFT_UNLIKELY(weft_model != NULL))
        weft_write_shared(&line->text, text, offsetof(struct weft_mail_text, data));
    else
        memcpy(&line->text, text, offsetof(struct weft_mail_text, data));
    if (payload == NULL)
        weft_write_shared(&line->text.data, &text->data, sizeof(text->data));
    else if (need == 0 && WEFT_UNLIKELY(weft_model != NULL))
        weft_put_shared(line->text.data.within, payload, head.count);
    else if (need == 0)
        weft_mail_copy(line->text.data.within, payload, head.count);
    weft_store_release_u64(&line->commit, weft_mail_commit(head, ++out->line), ORDER_mail_publish);
    return true;
}

/* ---- the consumer ---------------------------------------------------------------------------- */

/* Whether there is a next frame. */
static inline bool weft_mail_is_there(const struct weft_mail_end *in)
{
    const struct weft_mail *line = &in->ring->line[in->line & (in->lines - 1)];

    return (uint32_t)weft_load_acquire_u64(&line->commit, ORDER_mail_poll) == in->line + 1;
}

enum weft_mail_result { WEFT_MAIL_NONE, WEFT_MAIL_READY, WEFT_MAIL_BROKEN };

/* Finds where the payload of the frame peeked at lies. NULL: it cannot be. */
WEFT_COLD const unsigned char *weft_mail_payload_of(struct weft_mail_end *in, uint8_t flags)
{
    in->near_peeked = (flags & WEFT_MAIL_IS_NEAR) != 0;
    const struct weft_mail_payload *ring = in->near_peeked ? &in->near : &in->far;

    if (in->peeked > (in->near_peeked ? ring->units : ring->units / 2))
        return NULL;
    return weft_mail_unit(ring, weft_mail_place(ring->unit, in->peeked, ring->units));
}

/*
 * Peeks at the next frame: what it says, copied, and its payload, valid until it is passed. BROKEN:
 * the producer wrote what cannot be.
 */
static inline enum weft_mail_result weft_mail_peek(struct weft_mail_end *in,
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
    in->peeked = weft_mail_need(head->count);
    *payload = in->peeked == 0 ? text->data.within : weft_mail_payload_of(in, head->flags);
    return *payload != NULL ? WEFT_MAIL_READY : WEFT_MAIL_BROKEN;
}

/* Gives back the room of all frames that were passed. */
static inline void weft_mail_release(struct weft_mail_end *in)
{
    if (in->line == in->given)
        return;
    if (in->near.given != in->near.unit)
        weft_store_release_u32(&in->ring->near, in->near.unit, ORDER_mail_credit);
    weft_store_release_u64(&in->ring->credit, (uint64_t)in->far.unit << 32 | in->line,
                           ORDER_mail_credit);
    in->given = in->line;
    in->far.given = in->far.unit;
    in->near.given = in->near.unit;
}

/* Goes on to the next frame; gives room back when a quarter of a ring is due. */
static inline void weft_mail_pass(struct weft_mail_end *in)
{
    struct weft_mail_payload *ring = in->near_peeked ? &in->near : &in->far;
    bool due = ++in->line - in->given >= in->lines / 4;

    if (in->peeked != 0) {
        ring->unit = weft_mail_place(ring->unit, in->peeked, ring->units) + in->peeked;
        due |= ring->unit - ring->given >= ring->units / 4;
    }
    if (due)
        weft_mail_release(in);
}

#endif
