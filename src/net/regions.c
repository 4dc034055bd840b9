/* net/regions.c - see the header. */
#include "net/regions.h"

#include "base/say.h"
#include "order/atomic.h"

#include <stdlib.h>

struct weft_exposure {
    unsigned char *base;
    size_t bytes;
    uint32_t generation;
    uint32_t holders; /* nothing else takes this place while there are any */
    bool used;
};

/* A free place; NULL: no memory. Lock held. */
static struct weft_exposure *free_place(struct weft_regions *regions)
{
    for (uint32_t i = 0; i < regions->count; i++)
        if (!regions->list[i].used && regions->list[i].holders == 0)
            return &regions->list[i];
    const uint32_t old = regions->count, count = old == 0 ? 16 : old * 2;
    struct weft_exposure *list = realloc(regions->list, count * sizeof(*list));
    if (list == NULL)
        return NULL;
    memset(list + old, 0, (count - old) * sizeof(*list));
    regions->list = list;
    regions->count = count;
    return &list[old];
}

weft_status weft_regions_add(struct weft_regions *regions, void *base, size_t bytes, uint64_t *key)
{
    weft_lock(&regions->lock);
    struct weft_exposure *place = free_place(regions);
    if (place != NULL) {
        *place = (struct weft_exposure){base, bytes, place->generation + 1, 0, true};
        *key = (uint64_t)place->generation << 32 | (uint64_t)(place - regions->list);
    }
    weft_unlock(&regions->lock);
    return place != NULL
               ? WEFT_OK
               : weft_err(WEFT_ERR_MEMORY, "no memory for more than %u regions", regions->count);
}

void weft_regions_drop(struct weft_regions *regions, uint64_t key)
{
    weft_lock(&regions->lock);
    regions->list[(uint32_t)key].used = false;
    weft_unlock(&regions->lock);
}

/* The region in which all of it lies; NULL: none. Lock held. */
static struct weft_exposure *find(struct weft_regions *regions, uint64_t key, uint64_t offset,
                                  size_t bytes)
{
    const uint32_t i = (uint32_t)key;
    const bool inside =
        i < regions->count && regions->list[i].used && regions->list[i].generation == key >> 32 &&
        offset <= regions->list[i].bytes && bytes <= regions->list[i].bytes - offset;

    return inside ? &regions->list[i] : NULL;
}

bool weft_regions_land(struct weft_regions *regions, uint64_t key, uint64_t offset,
                       const void *source, size_t bytes)
{
    weft_lock(&regions->lock);
    const struct weft_exposure *region = find(regions, key, offset, bytes);
    bool landed = region != NULL;
    if (landed && regions->events->land == NULL)
        weft_land(region->base + offset, source, bytes);
    else if (landed)
        landed =
            regions->events->land(regions->events->context, region->base + offset, source, bytes);
    weft_unlock(&regions->lock);
    return landed;
}

void *weft_regions_hold(struct weft_regions *regions, uint64_t key, uint64_t offset, size_t bytes)
{
    weft_lock(&regions->lock);
    struct weft_exposure *region = find(regions, key, offset, bytes);
    void *address = region != NULL ? region->base + offset : NULL;
    if (region != NULL)
        region->holders++;
    weft_unlock(&regions->lock);
    return address;
}

void weft_regions_let_go(struct weft_regions *regions, uint64_t key)
{
    weft_lock(&regions->lock);
    regions->list[(uint32_t)key].holders--;
    weft_unlock(&regions->lock);
}

bool weft_regions_held(struct weft_regions *regions, uint64_t key)
{
    weft_lock(&regions->lock);
    const bool held = regions->list[(uint32_t)key].holders != 0;
    weft_unlock(&regions->lock);
    return held;
}

void weft_regions_free(struct weft_regions *regions)
{
    free(regions->list);
}
