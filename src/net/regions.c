/* net/regions.c - see the header. */
#include "net/regions.h"

#include "base/atomic.h"
#include "base/say.h"

#include <stdlib.h>

struct weft_exposure {
    unsigned char *base;
    size_t bytes;
    uint32_t generation;
    bool used;
};

/* A free place; NULL: no memory. Lock held. */
static struct weft_exposure *free_place(struct weft_regions *regions)
{
    for (uint32_t i = 0; i < regions->count; i++)
        if (!regions->list[i].used)
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
        *place = (struct weft_exposure){base, bytes, place->generation + 1, true};
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

bool weft_regions_land(struct weft_regions *regions, uint64_t key, uint64_t offset,
                       const void *source, size_t bytes)
{
    const uint32_t i = (uint32_t)key;

    weft_lock(&regions->lock);
    const bool inside =
        i < regions->count && regions->list[i].used && regions->list[i].generation == key >> 32 &&
        offset <= regions->list[i].bytes && bytes <= regions->list[i].bytes - offset;
    bool landed = inside;
    if (inside && regions->events->land == NULL)
        weft_land(regions->list[i].base + offset, source, bytes);
    else if (inside)
        landed = regions->events->land(regions->events->context, regions->list[i].base + offset,
                                       source, bytes);
    weft_unlock(&regions->lock);
    return landed;
}

void weft_regions_free(struct weft_regions *regions)
{
    free(regions->list);
}
