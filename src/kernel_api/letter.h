/*
 * kernel_api/letter.h - a rank that waits for notifications takes small ones out of host memory
 * itself, where its host cannot store to device memory: a stream's operation, which would bring
 * them there, takes longer than all the rest of the way.
 *
 * A rank whose wait is in vain opens its door, a word in host memory, and looks into its letter
 * box, too. Each wait has a stamp of its own. The host writes a letter only to an open door, and
 * with its stamp; the rank takes only letters with the present stamp, copies the payload to its
 * window, counts the notification, and says at the door how many it has taken. When the wait is
 * over it shuts the door. So the host knows from the one word what became of its letter: it was
 * taken, if the number is another; or never will be, if the door is shut or has another stamp; then
 * it lands the payload itself, as it does for ranks that do not wait. It is told either way within
 * microseconds, and until then neither lets its sender take it for landed nor does anything that
 * has to come later.
 *
 * Order. A head is read by polls that acquire (letter_seen) what the host released with it
 * (letter_post): the payload behind it, and all that landed before. What the rank has copied, and
 * that it has read the box, is released with the door (letter_taken), which the host acquires
 * (letter_told).
 *
 * Ranks that wait for ranks of their own device, or of one that is mapped, are not to pay for
 * this: a door that was opened in vain is opened later the next time (patience).
 */
#ifndef WEFT_KERNEL_API_LETTER_H
#define WEFT_KERNEL_API_LETTER_H

#include "kernel_api/wait.h"
#include "window/letter.h"
#ifdef __CUDACC__
#include "kernel_api/wait_cuda.h"
#endif

/*
 * Rounds of a wait before the door is opened: 0, and after doors in vain 8, 24, 56 and so on, until
 * a letter comes. What comes through the host to a shut door, as large puts do, brings the next one
 * forward a little: so a rank finds out when small ones come again.
 */
enum { WEFT_PATIENCE_LEAST = 8, WEFT_PATIENCE_MOST = 4096 };

/* What the leader finds in one look: the counter, its host word, and the letter, if flag is not 0.
 */
struct weft_found {
    uint32_t have, host;
    struct weft_letter letter;
};

/* A wait of the leader's. */
struct weft_at_door {
    uint32_t rounds, first_host; /* the host word at its beginning */
    bool open, any, done;        /* the door; a letter was taken; the notifications are there */
};

enum weft_step { WEFT_STEP_OVER, WEFT_STEP_COPY };

/* ---- the two machines -------------------------------------------------------------------------
 */

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
        const unsigned char *from[DEEP];
        WEFT_UNROLL
        for (uint32_t k = 0; k < DEEP; k++)
            from[k] = payload + (first + k * step) % WEFT_LETTER_MOST;
        asm volatile(WEFT_POLL "v2.u64 {%0, %1}, [%8];\n\t" WEFT_POLL
                               "v2.u64 {%2, %3}, [%9];\n\t" WEFT_POLL
                               "v2.u64 {%4, %5}, [%10];\n\t" WEFT_POLL "v2.u64 {%6, %7}, [%11];"
                     : "=l"(part[0].word[0]), "=l"(part[0].word[1]), "=l"(part[1].word[0]),
                       "=l"(part[1].word[1]), "=l"(part[2].word[0]), "=l"(part[2].word[1]),
                       "=l"(part[3].word[0]), "=l"(part[3].word[1])
                     : "l"(WEFT_GLOBAL(from[0])), "l"(WEFT_GLOBAL(from[1])),
                       "l"(WEFT_GLOBAL(from[2])), "l"(WEFT_GLOBAL(from[3]))
                     : "memory");
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
    weft_look_for_channels(self);
}

/*
 * Found channels are for the first warp: the wait begins again, and later ones begin so. A thread
 * of another warp that comes late may see either, and meets the same barriers.
 */
WEFT_INLINE bool weft_letters_end(weft_self *self)
{
    if (WEFT_UNLIKELY(self->ins != 0) && blockDim.x >= 32 && self->waits == WEFT_WAITS_BY_LETTER)
        self->waits = WEFT_WAITS_BY_WARP;
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

/* ---- the wait: what follows is the leader's ---------------------------------------------------
 */

WEFT_INLINE void weft_letter_land(const struct weft_letter *letter)
{
    unsigned char *target = (unsigned char *)(uintptr_t)letter->address;

    if (letter->bytes != 0)
        weft_letter_land_part(target, letter->payload[0], letter->bytes < 8 ? letter->bytes : 8);
    if (letter->bytes > 8)
        weft_letter_land_part(target + 8, letter->payload[1], letter->bytes - 8);
}

/*
 * Its payload has been copied. missing: notifications of `tag` that the wait still needs. If this
 * is the last, the door is shut with the same word. At once, although the rank could go on first:
 * its other threads may come late to the end of the wait, and whoever sends to this process has to
 * wait.
 */
WEFT_INLINE void weft_letter_taken(weft_self *self, struct weft_at_door *at,
                                   const struct weft_letter *letter, uint32_t tag, uint32_t missing)
{
    self->consumed[letter->tag]--;
    self->letters_taken++;
    self->letter_flag = letter->flag;
    at->any = true;
    at->done = letter->tag == tag && missing == 1;
    at->open = !at->done;
    weft_door_tell(self, at->open, letter->bytes != 0);
}

WEFT_INLINE void weft_door_open_wide(weft_self *self, struct weft_at_door *at)
{
    self->stamp = (self->stamp + 1) % WEFT_LETTER_STAMPS;
    self->letter_flag = 0; /* by which a letter of this stamp is known as taken already */
    weft_door_tell(self, true, false);
    at->open = true;
}

/* Looks until the wait is over, or a letter is there whose payload the crew is to copy. */
WEFT_INLINE enum weft_step weft_letter_look(weft_self *self, struct weft_at_door *at, uint32_t tag,
                                            uint32_t need, struct weft_found *found)
{
    const struct weft_counter *const counter = &self->counters[weft_count_index(self->slot, tag)];
    const struct weft_letter_box *const box = self->letters;

    while (!at->done) {
        if (at->open)
            weft_letter_poll(box, counter, found);
        else
            weft_counter_poll(counter, found);
        found->have -= self->consumed[tag];
        if (at->rounds == 0)
            at->first_host = found->host;
        if (found->have >= need) {
            at->done = true;
            weft_polled();
        } else if (found->letter.flag != 0 && found->letter.flag != self->letter_flag &&
                   found->letter.stamp == self->stamp) {
            weft_polled();
            if (found->letter.bytes > WEFT_LETTER_SHORT)
                return WEFT_STEP_COPY;
            weft_letter_land(&found->letter);
            weft_letter_taken(self, at, &found->letter, tag, need - found->have);
        } else {
            if (weft_letters_end(self))
                break;
            if (!at->open && at->rounds >= self->patience)
                weft_door_open_wide(self, at);
            if (!weft_wait_round(self, &at->rounds, WEFT_WAIT_TAG, tag, found->have, need))
                break;
        }
    }
    return WEFT_STEP_OVER;
}

/* Shuts the door, and decides when the next one is opened. */
WEFT_INLINE void weft_letter_over(weft_self *self, const struct weft_at_door *at, uint32_t host)
{
    if (at->any)
        self->patience = 0;
    else if (at->open && self->patience < WEFT_PATIENCE_MOST / 2)
        self->patience = 2 * self->patience + WEFT_PATIENCE_LEAST;
    else if (!at->open && host != at->first_host)
        self->patience -= (self->patience + 7) / 8;
    if (at->open)
        weft_door_tell(self, false, false);
    weft_wait_over(self, at->rounds);
}

/* ---- the wait ---------------------------------------------------------------------------------
 */

/*
 * Blocks until `need` notifications of a tag are there, and consumes them, unless the rank is told
 * to do it again. The crew.
 */
WEFT_COLD void weft_wait_at_door(weft_self *self, uint32_t tag, uint32_t need)
{
    const struct weft_crew crew = weft_crew_first_warp();
    struct weft_at_door at = {0, 0, false, false, false};
    struct weft_found found = {0};
    uint32_t step = WEFT_STEP_OVER;

    if (crew.lane == 0)
        weft_letters_begin(self);
    do {
        if (crew.lane == 0)
            step = weft_letter_look(self, &at, tag, need, &found);
        step = weft_crew_tell(crew, step);
        if (step == WEFT_STEP_COPY) {
            weft_crew_meet(crew); /* what the leader has acquired, all have */
            unsigned char *target =
                (unsigned char *)(uintptr_t)weft_crew_tell_wide(crew, found.letter.address);
            weft_letter_copy(crew, self->letters->payload, target,
                             weft_crew_tell(crew, found.letter.bytes));
            weft_crew_meet(crew);
            if (crew.lane == 0)
                weft_letter_taken(self, &at, &found.letter, tag, need - found.have);
        }
    } while (step == WEFT_STEP_COPY);
    if (crew.lane != 0)
        return;
    weft_letter_over(self, &at, found.host);
    if (at.done)
        self->consumed[tag] += need;
#ifdef __CUDACC__
    else
        atomicOr(&self->stopped, (uint32_t)WEFT_AGAIN);
#endif
}

#ifdef __CUDACC__

/*
 * By the leader at the door, or, if there are channels into the rank, or no letters, by the first
 * warp.
 */
WEFT_COLD void weft_wait_by_letter(weft_self *self, uint32_t tag, uint32_t count)
{
    const unsigned crew = weft_crew_first_warp().lanes;

    do {
        if (threadIdx.x < crew) {
            const bool none = *(volatile uint32_t *)&self->ins == 0;
            if (crew > 1)
                __syncwarp(); /* all have looked, and are there to copy */
            if (none && self->letters != NULL) {
                weft_wait_at_door(self, tag, count);
            } else if (crew > 1) {
                weft_wait_by_warp(self, tag, count);
            } else {
                weft_wait_tag(self, tag, count);
                self->consumed[tag] += count;
            }
        }
        __syncthreads();
    } while (WEFT_UNLIKELY(weft_attend(self)));
}

#else

static inline void weft_wait_by_letter(weft_self *self, uint32_t tag, uint32_t count)
{
    weft_wait_at_door(self, tag, count);
}

#endif

#endif
