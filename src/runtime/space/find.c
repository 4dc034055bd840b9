/* runtime/space/find.c - memory of this process that others know: by its address, by its key. */
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
            *place = (struct weft_place){i, offset, s->key, offset};
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
            *place = (struct weft_place){WEFT_NO_SEGMENT, 0, r->key, offset};
            return true;
        }
    }
    return false;
}

unsigned char *weft_memory_at(struct weft_job *job, uint64_t key, uint64_t offset, uint64_t pitch,
                              uint64_t width, uint64_t height)
{
    const struct weft_process *self = &job->processes[job->numbers.process];
    unsigned char *base = NULL;
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < self->segments_count; i++)
        if (self->segments[i].address != NULL && self->segments[i].key == key) {
            base = self->segments[i].address;
            bytes = self->segments[i].share.bytes;
        }
    for (uint32_t i = 0; i < job->space.regions_count; i++)
        if (job->space.regions[i].base != NULL && job->space.regions[i].key == key) {
            base = job->space.regions[i].base;
            bytes = job->space.regions[i].bytes;
        }
    return base != NULL && weft_inside(offset, pitch, width, height, bytes) ? base + offset : NULL;
}
