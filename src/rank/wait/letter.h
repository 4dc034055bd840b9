/*
 * rank/wait/letter.h - a rank that waits for notifications takes small ones out of host memory
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
#ifndef WEFT_RANK_WAIT_LETTER_H
#define WEFT_RANK_WAIT_LETTER_H

#include "rank/state.h"

/*
 * Rounds of a wait before the door is opened: 0, and after doors in vain 8, 24, 56 and so on, until
 * a letter comes. What comes through the host to a shut door, as large puts do, brings the next one
 * forward a little: so a rank finds out when small ones come again.
 */
enum { WEFT_PATIENCE_LEAST = 8, WEFT_PATIENCE_MOST = 4096 };

/* A wait of the leader's. */
struct weft_at_door {
    uint32_t rounds, first_host; /* the host word at its beginning */
    bool open, any, done;        /* the door; a letter was taken; the notifications are there */
};

enum weft_step { WEFT_STEP_OVER, WEFT_STEP_COPY };

/* ---- the wait: what follows is the leader's ------------------------------------------------ */

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

/* ---- the wait ------------------------------------------------------------------------------ */

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
        weft_tell_rank(self, WEFT_AGAIN); /* once a channel */
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
            if (crew > 1)
                __syncwarp(); /* as in weft_wait_by_warp */
            const bool none = *(volatile uint32_t *)&self->ins == 0;
            if (crew > 1)
                __syncwarp(); /* all have looked, and are there to copy */
            if (none && self->letters != NULL) {
                weft_wait_at_door(self, tag, count);
            } else if (crew > 1) {
                weft_wait_by_warp(self, tag, count);
            } else {
                weft_wait_tag(self, tag, count, false);
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
