/*
 * rank/wait/letter_box.h - what a waiting rank does with its letter box and its door, on a GPU and
 * elsewhere: looking, copying a payload, telling. When it does what: letter.h.
 */
#ifndef WEFT_RANK_WAIT_LETTER_BOX_H
#define WEFT_RANK_WAIT_LETTER_BOX_H

#include "abi/letter.h"
#include "rank/state.h"

/* What the leader finds in one look: the counter, its host word, and the letter, if flag is not 0.
 */
struct weft_found {
    uint32_t have, host;
    struct weft_letter letter;
};

#ifdef __CUDACC__

/* All loads under way at once; so the addresses are there before. */
WEFT_INLINE void weft_letter_poll(const struct weft_letter_box *box,
                                  const struct weft_counter *counter, struct weft_found *found)
{
    uint64_t head[4], cell[2];

    asm volatile(WEFT_POLL "v2.u64 {%4, %5}, [%7];\n\t" WEFT_POLL
                           "v2.u64 {%0, %1}, [%6];\n\t" WEFT_POLL "v2.u64 {%2, %3}, [%6+16];"
                 : "=l"(head[0]), "=l"(head[1]), "=l"(head[2]), "=l"(head[3]), "=l"(cell[0]),
                   "=l"(cell[1])
                 : "l"(WEFT_GLOBAL(box->head)), "l"(WEFT_GLOBAL(counter))
                 : "memory");
    found->host = (uint32_t)cell[1];
    found->have = (uint32_t)cell[0] + (uint32_t)(cell[0] >> 32) + found->host;
    found->letter = weft_letter_of(head);
}

WEFT_INLINE void weft_counter_poll(const struct weft_counter *counter, struct weft_found *found)
{
    const uint4 words = weft_poll_four(&counter->peer);
    found->host = words.z;
    found->have = words.x + words.y + words.z;
    found->letter.flag = 0;
}

/* One to eight bytes of a payload. */
WEFT_INLINE void weft_letter_land_part(unsigned char *target, uint64_t value, uint32_t bytes)
{
    if (bytes == 8 && ((uintptr_t)target & 7) == 0)
        *(volatile uint64_t *)target = value;
    else if (bytes == 4 && ((uintptr_t)target & 3) == 0)
        *(volatile uint32_t *)target = (uint32_t)value;
    else
        weft_land_bytes(target, value, bytes, true);
}

/* A payload that lies behind the head: 16 bytes a lane and load, four loads under way. */
WEFT_COLD void weft_letter_copy(struct weft_crew crew, const unsigned char *payload,
                                unsigned char *target, uint32_t bytes)
{
    enum { DEEP = 4, PART = sizeof(struct weft_ring_line) };
    const uint32_t step = PART * crew.lanes;

    for (uint32_t first = PART * crew.lane; first < bytes; first += DEEP * step) {
        struct weft_ring_line part[DEEP];
        const void *from[DEEP];
        WEFT_UNROLL
        for (uint32_t k = 0; k < DEEP; k++)
            from[k] = payload + (first + k * step) % WEFT_LETTER_MOST;
        weft_lap_read_four(part, from);
        WEFT_UNROLL
        for (uint32_t k = 0; k < DEEP; k++) {
            const uint32_t at = first + k * step;
            const uint32_t left = at < bytes ? bytes - at : 0;
            if (left > 0)
                weft_letter_land_part(target + at, part[k].word[0], left < 8 ? left : 8);
            if (left > 8)
                weft_letter_land_part(target + at + 8, part[k].word[1], left < 16 ? left - 8 : 8);
        }
    }
}

WEFT_INLINE uint32_t weft_crew_tell(struct weft_crew crew, uint32_t value)
{
    return crew.lanes == 1 ? value : __shfl_sync(~0u, value, 0);
}

WEFT_INLINE uint64_t weft_crew_tell_wide(struct weft_crew crew, uint64_t value)
{
    return crew.lanes == 1 ? value : __shfl_sync(~0u, value, 0);
}

/* after: once what this rank has copied is there. */
WEFT_INLINE void weft_door_tell(weft_self *self, bool open, bool after)
{
    if (after)
        weft_fence_release(ORDER_letter_taken);
    weft_store_relaxed_u64(&self->letters->door, weft_door(self->stamp, open, self->letters_taken));
}

/* Also by a rank that never has to wait. */
WEFT_INLINE void weft_letters_begin(weft_self *self)
{
    if (self->eager_bytes != 0)
        weft_look_for_channels(self);
}

/*
 * Found channels are for the first warp: the wait begins again, and later ones begin so. A thread
 * of another warp that comes late may see either, and meets the same barriers.
 */
WEFT_INLINE bool weft_letters_end(weft_self *self)
{
    if (WEFT_UNLIKELY(self->ins != 0) && blockDim.x >= 32)
        self->waits = WEFT_WAITS_BY_WARP | (self->waits & WEFT_WAITS_TRACED);
    return self->ins != 0;
}

#else

static inline void weft_counter_poll(const struct weft_counter *counter, struct weft_found *found)
{
    found->host = weft_poll_u32(&counter->host, ORDER_count_read_host);
    found->have = found->host + weft_poll_u32(&counter->local, ORDER_count_read_local) +
                  weft_poll_u32(&counter->peer, ORDER_count_read_peer);
    found->letter.flag = 0;
}

static inline void weft_letter_poll(const struct weft_letter_box *box,
                                    const struct weft_counter *counter, struct weft_found *found)
{
    uint64_t head[4];

    weft_counter_poll(counter, found);
    for (int w = 0; w < 4; w++)
        head[w] = weft_poll_u64(&box->head[w], ORDER_letter_seen);
    found->letter = weft_letter_of(head);
}

static inline void weft_letter_land_part(unsigned char *target, uint64_t value, uint32_t bytes)
{
    weft_land_bytes(target, value, bytes, true);
}

static inline void weft_letter_copy(struct weft_crew crew, const unsigned char *payload,
                                    unsigned char *target, uint32_t bytes)
{
    (void)crew;
    weft_used_shared(payload, bytes);
    weft_write_shared(target, payload, bytes);
    weft_used_shared(target, bytes);
}

static inline uint32_t weft_crew_tell(struct weft_crew crew, uint32_t value)
{
    (void)crew;
    return value;
}

static inline uint64_t weft_crew_tell_wide(struct weft_crew crew, uint64_t value)
{
    (void)crew;
    return value;
}

/* Here a release costs nothing. */
static inline void weft_door_tell(weft_self *self, bool open, bool after)
{
    (void)after;
    weft_store_release_u64(&self->letters->door, weft_door(self->stamp, open, self->letters_taken),
                           ORDER_letter_taken);
}

static inline void weft_letters_begin(weft_self *self)
{
    if (WEFT_UNLIKELY(++self->looks % 64 == 0))
        weft_serve_now_and_then(self);
}

static inline bool weft_letters_end(weft_self *self)
{
    weft_serve(self); /* who waits here serves channels, too */
    return false;
}

#endif

#endif
