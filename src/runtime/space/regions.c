/*
 * runtime/space/regions.c - memory that the program, or a window's creation, registered with the
 * network, and finding out which memory a window lies in. Regions lie under the table lock, which
 * weft_register and weft_unregister take and other callers hold.
 */
#include "runtime/job/job.h"

#include <stdlib.h>

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
    weft_status status = WEFT_OK;
    if (found == NULL)
        status = weft_err(WEFT_ERR_ARGUMENT, "weft_unregister: %p was not registered", base);
    else if (window != WEFT_WIN_NONE)
        status = weft_err(WEFT_ERR_STATE, "weft_unregister: window 0x%x lies in the memory at %p",
                          window, base);
    return status == WEFT_OK ? WEFT_OK : weft_refuse(job, status);
}

/* A region that covers the range and belongs to the program, or to this creation. */
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
