/*
 * runtime/space/find.c - memory that several processes know: this one's by its address, and
 * another's by the word with which it was offered. Callers hold the table lock; the two calls of
 * offers try to take it themselves.
 */
#include "runtime/job/job.h"

#include "runtime/space/tables.h"

bool weft_contains(const void *outer, uint64_t outer_bytes, const void *inner, uint64_t inner_bytes,
                   uint64_t *offset)
{
    const uintptr_t a = (uintptr_t)outer, b = (uintptr_t)inner;

    *offset = b - a;
    return outer != NULL && b >= a && *offset <= outer_bytes &&
           inner_bytes <= outer_bytes - *offset;
}

/* Whether a region stays until the rank in the slot has flushed: it frees the window with others.
 */
static bool stays(const struct weft_job *job, const struct weft_region *region, uint32_t slot)
{
    if (region->claim != WEFT_COMM_NONE || region->owner == WEFT_WIN_NONE)
        return region->claim == WEFT_COMM_NONE;
    const struct weft_window *window = weft_window_find(&job->space.state, region->owner);
    const struct weft_comm_entry *comm =
        window != NULL ? weft_comm_find(&job->space.state, window->comm) : NULL;
    return comm != NULL && comm->rank_of_slot[slot] >= 0;
}

bool weft_memory_in_segment(const struct weft_job *job, const void *base, size_t bytes,
                            struct weft_place *place)
{
    const struct weft_process *self = &job->processes[job->numbers.process];
    uint64_t offset;

    for (uint32_t i = 0; i < self->segments_count; i++) {
        const struct weft_segment *s = &self->segments[i];
        if (weft_contains(s->address, s->share.bytes, base, bytes, &offset)) {
            *place = (struct weft_place){
                .segment = i, .segment_offset = offset, .key = s->key, .key_offset = offset};
            return true;
        }
    }
    return false;
}

bool weft_memory_known(struct weft_job *job, uint32_t slot, const void *base, size_t bytes,
                       struct weft_place *place)
{
    uint64_t offset;

    if (weft_memory_in_segment(job, base, bytes, place))
        return true;
    for (uint32_t i = 0; i < job->space.regions_count; i++) {
        const struct weft_region *r = &job->space.regions[i];
        if (weft_contains(r->base, r->bytes, base, bytes, &offset) && stays(job, r, slot)) {
            *place = (struct weft_place){
                .segment = WEFT_NO_SEGMENT, .key = r->key, .key_offset = offset};
            return true;
        }
    }
    return false;
}

/* ---- offers ---------------------------------------------------------------------------------- */

enum { ADDRESS_BITS = 48, SERIAL_BITS = 15, TRIES = 256 };

/* False: others have the tables; in random mode always, which has no locks that are tried. */
static bool lock_soon(struct weft_job *job)
{
    for (int i = 0; i < TRIES && weft_model == NULL; i++)
        if (weft_lock_try(&job->space.tables))
            return true;
    return false;
}

static uint64_t offer_of(const struct weft_segment *segment, uint64_t offset)
{
    const uint64_t serial = segment->serial & ((1u << SERIAL_BITS) - 1);
    return (uint64_t)1 << 63 | serial << ADDRESS_BITS | (segment->share.address + offset);
}

uint64_t weft_memory_offer(struct weft_job *job, const void *memory, size_t bytes)
{
    struct weft_place place;
    uint64_t offer = 0;

    if ((uint64_t)(uintptr_t)memory >> ADDRESS_BITS != 0 || !lock_soon(job))
        return 0;
    if (weft_memory_in_segment(job, memory, bytes, &place))
        offer = offer_of(&job->processes[job->numbers.process].segments[place.segment],
                         place.segment_offset);
    weft_unlock(&job->space.tables);
    return offer;
}

void *weft_memory_offered(struct weft_job *job, int process, uint64_t offer, size_t bytes)
{
    const struct weft_process *owner = &job->processes[process];
    const uint64_t at = offer & (((uint64_t)1 << ADDRESS_BITS) - 1);
    unsigned char *found = NULL;

    if (!lock_soon(job))
        return NULL;
    for (uint32_t i = 0; i < owner->segments_count && found == NULL; i++) {
        const struct weft_segment *s = &owner->segments[i];
        const uint64_t offset = at - s->share.address;
        if (s->address != NULL && at >= s->share.address && offset <= s->share.bytes &&
            bytes <= s->share.bytes - offset && offer_of(s, offset) == offer)
            found = (unsigned char *)s->address + offset;
    }
    weft_unlock(&job->space.tables);
    return found;
}

weft_win weft_memory_window(const struct weft_job *job, const unsigned char *memory, size_t bytes)
{
    for (uint32_t i = 0; i < job->space.state.windows_count; i++) {
        const struct weft_window *window = &job->space.state.windows[i];
        for (int m = 0; window->handle != WEFT_WIN_NONE && m < window->members; m++) {
            const uintptr_t at = (uintptr_t)window->entry[m].address - (uintptr_t)memory;
            if (window->member[m].process == job->numbers.process && window->entry[m].bytes != 0 &&
                at < bytes)
                return window->handle;
        }
    }
    return WEFT_WIN_NONE;
}
