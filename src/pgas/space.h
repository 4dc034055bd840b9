/*
 * pgas/space.h - the address space as host programs and kernels see it: the heap of this place, and
 * a table of segments. A global pointer becomes a window, its member and an offset there.
 *
 * A heap is a window of host programs, and segments of weft_galloc lie in it; memory that was
 * adopted has a window of its own. Kernels read the table in device memory. Host programs have a
 * copy, which they change only while no kernel runs; the next kernel's start brings it there.
 */
#ifndef WEFT_PGAS_SPACE_H
#define WEFT_PGAS_SPACE_H

#include "pgas/buddy.h"
#include "weft/pgas.h"

enum { WEFT_GSEGMENT_HEAP, WEFT_GSEGMENT_HOST }; /* HOST exists if any place has a host heap */

/* What a place has of a segment. */
struct weft_gpart {
    uint64_t at, bytes;      /* offset of the part in the window; its bytes */
    int32_t member, present; /* member of the window's group; 1: the place has made it, too */
};

/* DROPPED: freed by this place, and not yet by all. */
enum weft_gknown { WEFT_GSEGMENT_FREE, WEFT_GSEGMENT_KNOWN, WEFT_GSEGMENT_DROPPED };

struct weft_gsegment {
    uint16_t generation, known; /* known: enum weft_gknown */
    weft_win win;
    struct weft_gpart part[]; /* by place */
};

struct weft_gspace {
    int32_t me, places;
    uint32_t segments;
    weft_win win;            /* window of the heaps */
    uint64_t from;           /* offset in the heap at which the memory of `buddy` begins */
    struct weft_buddy buddy; /* allocator of kernels; of host programs, too, where they reach it */
    unsigned char *table;    /* segments, weft_gsegment_bytes each */
    uint32_t apart;          /* 1: host programs do not reach this place's words by loads */
};

WEFT_INLINE size_t weft_gsegment_bytes(int32_t places)
{
    return sizeof(struct weft_gsegment) + (size_t)places * sizeof(struct weft_gpart);
}

WEFT_INLINE struct weft_gsegment *weft_gsegment_at(const struct weft_gspace *space, uint32_t i)
{
    return (struct weft_gsegment *)(void *)(space->table + i * weft_gsegment_bytes(space->places));
}

/* Where a global pointer leads. */
struct weft_gplace {
    weft_win win;
    int32_t member;
    uint64_t offset;
};

/* What is wrong with a global pointer. text: begins with "%s: ", for the call. */
struct weft_gfault {
    weft_status status;
    const char *text;
    int64_t n[5];
};

/* Sets a fault. Returns false, as its caller then does. */
WEFT_INLINE bool weft_gfault_set(struct weft_gfault *fault, weft_status status, const char *text,
                                 int64_t a, int64_t b, int64_t c, int64_t d, int64_t e)
{
    fault->status = status;
    fault->text = text;
    fault->n[0] = a;
    fault->n[1] = b;
    fault->n[2] = c;
    fault->n[3] = d;
    fault->n[4] = e;
    return false;
}

/* Finds `bytes` bytes, of height rows, pitch apart. False: *fault says why. */
WEFT_INLINE bool weft_gptr_find(const struct weft_gspace *space, weft_gptr g, uint64_t width,
                                uint64_t pitch, uint64_t height, struct weft_gplace *to,
                                struct weft_gfault *fault)
{
    const int place = weft_gptr_place(g);

    if ((g.where & ~0xffffffu) != WEFT_GPTR_VALID || g.segment >= space->segments)
        return weft_gfault_set(fault, WEFT_ERR_ARGUMENT,
                               "%s: not a global pointer: where 0x%llx, segment %lld", g.where,
                               g.segment, 0, 0, 0);
    if (place >= space->places)
        return weft_gfault_set(fault, WEFT_ERR_RANK, "%s: place %lld is not one of %lld", place,
                               space->places, 0, 0, 0);
    const struct weft_gsegment *const segment = weft_gsegment_at(space, g.segment);
    if (segment->generation != g.generation || segment->known != WEFT_GSEGMENT_KNOWN)
        return weft_gfault_set(
            fault, WEFT_ERR_WINDOW,
            "%s: segment %lld was freed, or is not known here (generation %lld, now "
            "%lld)",
            g.segment, g.generation, segment->generation, 0, 0);
    const struct weft_gpart *const part = &segment->part[place];
    const uint64_t rows = height > 1 ? height - 1 : 0;
    if (!part->present || width > part->bytes || g.offset > part->bytes - width ||
        (rows != 0 && pitch > (part->bytes - width - g.offset) / rows))
        return weft_gfault_set(
            fault, WEFT_ERR_BOUNDS,
            "%s: %lld bytes at offset %lld are not inside segment %lld (%lld bytes at "
            "place %lld)",
            (int64_t)(rows * pitch + width), (int64_t)g.offset, g.segment,
            part->present ? (int64_t)part->bytes : 0, place);
    to->win = segment->win;
    to->member = part->member;
    to->offset = part->at + g.offset;
    return true;
}

#endif
