/*
 * net/regions.h - the memory that a process exposes, for networks whose receiver copies the data
 * itself: keys, bounds, landing.
 *
 * A key is a place in the table and its generation, so that a key that is no longer good is
 * recognised even when other memory has taken its place.
 */
#ifndef WEFT_NET_REGIONS_H
#define WEFT_NET_REGIONS_H

#include "base/task.h"
#include "net/net.h"

#include <stddef.h>

struct weft_regions {
    struct weft_lock lock;
    const struct weft_net_events *events; /* how data lands */
    struct weft_exposure *list;
    uint32_t count;
};

/* Any thread. Errors: MEMORY. */
weft_status weft_regions_add(struct weft_regions *regions, void *base, size_t bytes, uint64_t *key);

/* When it returns, nothing is written there any more. Any thread. */
void weft_regions_drop(struct weft_regions *regions, uint64_t key);

/*
 * Lets data land; false, and nothing is written, unless all of it lies in the key's region. Where
 * events->land is set the data is there after events->settle.
 */
bool weft_regions_land(struct weft_regions *regions, uint64_t key, uint64_t offset,
                       const void *source, size_t bytes);

/*
 * For a network that writes the window itself: the address of that place, which is held until
 * weft_regions_let_go, or NULL unless all of it lies in the key's region. Receive thread.
 */
void *weft_regions_hold(struct weft_regions *regions, uint64_t key, uint64_t offset, size_t bytes);
void weft_regions_let_go(struct weft_regions *regions, uint64_t key);

/* Whether something of a key's memory, also of one that was dropped, is held still. Any thread. */
bool weft_regions_held(struct weft_regions *regions, uint64_t key);

void weft_regions_free(struct weft_regions *regions);

#endif
