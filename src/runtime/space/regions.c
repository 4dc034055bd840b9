/*
 * runtime/space/regions.c - memory that several processes know: what the program, or a window's
 * creation, registered with the network; this process's by its address, another's by the word with
 * which it was offered. All of it lies under the table lock, which weft_register, weft_unregister
 * and, if they can at once, the calls of offers take; other callers hold it.
 */
#include "runtime/job/job.h"

#include "runtime/space/tables.h"

#include <stdlib.h>

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

/* ---- registered ------------------------------------------------------------------------------ */

/* Takes a free place in the list of regions. Table lock held. */
static struct weft_region *new_region(struct weft_job *job)
{
    for (uint32_t i = 0; i < job->space.regions_count; i++)
        if (job->space.regions[i].base == NULL)
            return &job->space.regions[i];
    const uint32_t count = job->space.regions_count;
    struct weft_region *regions = realloc(job->space.regions, (count + 1) * sizeof(*regions));
    if (regions == NULL)
        return NULL;
    regions[count] = (struct weft_region){0};
    job->space.regions = regions;
    job->space.regions_count = count + 1;
    return &regions[count];
}

static weft_status add_region(struct weft_job *job, void *base, size_t bytes, weft_comm claim)
{
    uint64_t key;
    const char *reason = NULL;

    if (bytes > UINTPTR_MAX - (uintptr_t)base)
        reason = "that is beyond the end of the address space";
    else if (base != NULL)
        reason = job->device_ops->no_access(job->device, base, bytes);

    if (reason != NULL)
        return weft_err(WEFT_ERR_ARGUMENT, "%zu bytes at %p for a window: %s", bytes, base, reason);
    struct weft_region *region = new_region(job);
    if (region == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for region %u", job->space.regions_count);
    WEFT_TRY(weft_net_reg(job->proxy.net, base, bytes, false, &key));
    *region = (struct weft_region){
        .base = base, .bytes = bytes, .key = key, .claim = claim, .owner = WEFT_WIN_NONE};
    return WEFT_OK;
}

static void drop_region(struct weft_job *job, struct weft_region *region)
{
    weft_net_dereg(job->proxy.net, region->key);
    *region = (struct weft_region){0};
}

weft_status weft_register(weft_job *job, void *base, size_t bytes)
{
    WEFT_TRY(weft_job_idle(job, "weft_register"));
    if (base == NULL || bytes == 0)
        return weft_refused(job, WEFT_ERR_ARGUMENT, "weft_register: %zu bytes at %p", bytes, base);
    weft_lock(&job->space.tables);
    weft_status status = add_region(job, base, bytes, WEFT_COMM_NONE);
    weft_unlock(&job->space.tables);
    return status == WEFT_OK ? WEFT_OK : weft_refuse(job, status);
}

weft_status weft_unregister(weft_job *job, void *base)
{
    struct weft_region *found = NULL;
    weft_win window = WEFT_WIN_NONE;

    WEFT_TRY(weft_job_idle(job, "weft_unregister"));
    weft_lock(&job->space.tables);
    for (uint32_t i = 0; found == NULL && i < job->space.regions_count && base != NULL; i++)
        if (job->space.regions[i].base == base && job->space.regions[i].owner == WEFT_WIN_NONE)
            found = &job->space.regions[i];
    if (found != NULL)
        window = weft_memory_window(job, base, found->bytes);
    if (found != NULL && window == WEFT_WIN_NONE)
        drop_region(job, found);
    weft_unlock(&job->space.tables);
    if (found == NULL)
        return weft_refused(job, WEFT_ERR_ARGUMENT, "weft_unregister: %p was not registered", base);
    return window == WEFT_WIN_NONE
               ? WEFT_OK
               : weft_refused(job, WEFT_ERR_STATE,
                              "weft_unregister: window 0x%x lies in the memory at %p", window,
                              base);
}

/* Finds a region that covers the range and belongs to the program, or to this creation. */
static const struct weft_region *find_region(const struct weft_job *job, weft_comm comm,
                                             const void *base, size_t bytes, uint64_t *offset)
{
    for (uint32_t i = 0; i < job->space.regions_count; i++) {
        const struct weft_region *r = &job->space.regions[i];
        if (r->owner == WEFT_WIN_NONE && (r->claim == WEFT_COMM_NONE || r->claim == comm) &&
            weft_contains(r->base, r->bytes, base, bytes, offset))
            return r;
    }
    return NULL;
}

weft_status weft_memory_place(struct weft_job *job, weft_comm comm, void *base, size_t bytes,
                              struct weft_place *place)
{
    const struct weft_region *region;
    struct weft_place begin;
    uint64_t offset;

    if (weft_memory_in_segment(job, base, bytes, place))
        return WEFT_OK;
    if (weft_memory_in_segment(job, base, 1, &begin))
        return weft_err(
            WEFT_ERR_ARGUMENT,
            "%zu bytes at %p for a window: only %llu bytes are left there of what weft_malloc gave",
            bytes, base,
            (unsigned long long)(job->processes[job->numbers.process]
                                     .segments[begin.segment]
                                     .share.bytes -
                                 begin.segment_offset));
    while ((region = find_region(job, comm, base, bytes, &offset)) == NULL) {
        WEFT_TRY(add_region(job, base, bytes, comm));
    }
    *place =
        (struct weft_place){.segment = WEFT_NO_SEGMENT, .key = region->key, .key_offset = offset};
    return WEFT_OK;
}

void weft_memory_adopt(struct weft_job *job, weft_comm comm, weft_win win)
{
    for (uint32_t i = 0; i < job->space.regions_count; i++) {
        struct weft_region *region = &job->space.regions[i];
        if (region->base == NULL || region->claim != comm)
            continue;
        region->claim = WEFT_COMM_NONE;
        region->owner = win;
        if (win == WEFT_WIN_NONE)
            drop_region(job, region);
    }
}

void weft_memory_release(struct weft_job *job, weft_win win)
{
    for (uint32_t i = 0; i < job->space.regions_count; i++)
        if (job->space.regions[i].base != NULL && job->space.regions[i].owner == win)
            drop_region(job, &job->space.regions[i]);
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
