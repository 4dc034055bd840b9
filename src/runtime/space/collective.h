/*
 * runtime/space/collective.h - between gathering what ranks bring to a collective (collective.c)
 * and doing it (collective_apply.c).
 */
#ifndef WEFT_RUNTIME_SPACE_COLLECTIVE_H
#define WEFT_RUNTIME_SPACE_COLLECTIVE_H

#include "runtime/job/job.h"

#include <assert.h>

/* What a member brings. The same layout in all processes. */
struct weft_contribution {
    int32_t member;
    uint32_t segment;
    uint64_t a, b; /* create: status, bytes; free: window; split: color, key */
    uint64_t base, segment_offset, key, key_offset;
};
static_assert(sizeof(struct weft_contribution) == 56, "it travels as its bytes: no padding");

/*
 * Fills in what a process brings to a window: memory, found or registered for `claim`, as
 * weft_memory_place. c->a: what is wrong with it. Table lock held.
 */
void weft_contribution_place(struct weft_job *job, weft_comm claim, uint64_t base, uint64_t bytes,
                             struct weft_contribution *c);
/* Says why a member's part of a window cannot be, the same in every process; alone: no other
 * process reaches it. */
weft_status weft_entry_check(const struct weft_job *job, bool alone,
                             const struct weft_contribution *c);
/*
 * Fills in the entry of a window for that member, whose memory is mapped, so only if there is a
 * window; brief: it may have ended, and its memory be freed, before this process hears of it. Table
 * lock held.
 */
void weft_entry_fill(struct weft_job *job, struct weft_member member, bool alone, bool brief,
                     const struct weft_contribution *c, struct weft_window_entry *entry);
/* Ranks see it no more, and what was registered for it is given up. Table lock held. */
void weft_window_drop(struct weft_job *job, weft_win win);

/* Why what a member here brought cannot be: of the first of them. text NULL: nothing is known. */
struct weft_objection {
    char *text;
    int32_t member;
};

/* Does it, with what each member brought, by member. Table lock held. */
void weft_collective_apply(struct weft_job *job, struct weft_comm_entry *comm, uint32_t op,
                           const struct weft_contribution *all, struct weft_objection why);

#endif
