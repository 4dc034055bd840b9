/* net/arrive.c - see the header. */
#include "net/arrive.h"

#include "abi/notice.h"
#include "base/say.h"
#include "order/atomic.h"

#include <stdlib.h>
#include <string.h>

void weft_arrive_open(struct weft_arrive *arrive, const char *name,
                      const struct weft_net_open *open, struct weft_net *net, uint32_t most,
                      weft_status (*conclude)(struct weft_net *net, uint64_t cookie))
{
    *arrive = (struct weft_arrive){.name = name,
                                   .kinds = open->kinds,
                                   .device = open->device,
                                   .net = net,
                                   .conclude = conclude,
                                   .most = most};
}

void weft_arrive_close(struct weft_arrive *arrive)
{
    const struct weft_arrive_device *device = arrive->device;

    /* Also data behind which no batch was ended, as after an error. A device that fails reads no
     * more. */
    if ((arrive->waiting > 0 || arrive->unmarked) && device != NULL && device->settle != NULL)
        device->settle(device->context);
    free(arrive->list);
}

/* ---- regions ------------------------------------------------------------------------------- */

/* A free place; NULL: no memory. Lock held. */
static struct weft_exposure *free_place(struct weft_arrive *arrive)
{
    for (uint32_t i = 0; i < arrive->count; i++)
        if (!arrive->list[i].used)
            return &arrive->list[i];
    const uint32_t old = arrive->count, count = old == 0 ? 16 : old * 2;
    struct weft_exposure *list = realloc(arrive->list, count * sizeof(*list));
    if (list == NULL)
        return NULL;
    memset(list + old, 0, (count - old) * sizeof(*list));
    arrive->list = list;
    arrive->count = count;
    return &list[old];
}

weft_status weft_arrive_reg(struct weft_arrive *arrive, void *base, size_t bytes, bool own,
                            uint64_t *key)
{
    weft_lock(&arrive->lock);
    struct weft_exposure *place = free_place(arrive);
    if (place != NULL) {
        const uint32_t generation = (place->generation + 1) & UINT32_MAX >> 1;
        *place = (struct weft_exposure){
            .base = base, .bytes = bytes, .generation = generation, .used = true, .own = own};
        *key = (uint64_t)generation << 32 | (uint64_t)(place - arrive->list);
    }
    weft_unlock(&arrive->lock);
    return place != NULL ? WEFT_OK
                         : weft_err(WEFT_ERR_MEMORY, "%s: no memory for more than %u regions",
                                    arrive->name, arrive->count);
}

void *weft_arrive_dereg(struct weft_arrive *arrive, uint64_t key)
{
    weft_lock(&arrive->lock);
    struct weft_exposure *place = &arrive->list[(uint32_t)key];
    place->used = false;
    void *mr = place->mr;
    weft_unlock(&arrive->lock);
    return mr;
}

/* The region in which all of it lies; NULL: none. Lock held. */
static struct weft_exposure *find_exposure(const struct weft_arrive *arrive, uint64_t key,
                                           uint64_t offset, size_t bytes)
{
    const uint32_t i = (uint32_t)key;
    const bool inside = i < arrive->count && arrive->list[i].used &&
                        arrive->list[i].generation == key >> 32 &&
                        offset <= arrive->list[i].bytes && bytes <= arrive->list[i].bytes - offset;

    return inside ? &arrive->list[i] : NULL;
}

static weft_status outside(const struct weft_arrive *arrive, int process, uint64_t key,
                           uint64_t offset, size_t bytes)
{
    return weft_err(WEFT_ERR_PROTOCOL,
                    "%s: process %d put %zu bytes at offset %llu of key 0x%llx, which is no region "
                    "of this process",
                    arrive->name, process, bytes, (unsigned long long)offset,
                    (unsigned long long)key);
}

/* ---- registrations that networks keep -------------------------------------------------------- */

void weft_arrive_place(struct weft_arrive *arrive, uint64_t key, void *mr, const uint64_t place[2])
{
    weft_lock(&arrive->lock);
    struct weft_exposure *region = &arrive->list[(uint32_t)key];
    region->mr = mr;
    memcpy(region->place, place, sizeof(region->place));
    weft_unlock(&arrive->lock);
}

bool weft_arrive_region(struct weft_arrive *arrive, uint64_t key, struct weft_exposure *region)
{
    weft_lock(&arrive->lock);
    const struct weft_exposure *found = find_exposure(arrive, key, 0, 0);
    if (found != NULL)
        *region = *found;
    weft_unlock(&arrive->lock);
    return found != NULL;
}

bool weft_arrive_around(struct weft_arrive *arrive, const void *memory, size_t bytes,
                        struct weft_exposure *region)
{
    const uintptr_t at = (uintptr_t)memory;
    bool found = false;

    weft_lock(&arrive->lock);
    for (uint32_t i = 0; i < arrive->count && !found; i++) {
        *region = arrive->list[i];
        const uintptr_t base = (uintptr_t)region->base;
        found = region->used && region->mr != NULL && at >= base && at - base <= region->bytes &&
                bytes <= region->bytes - (at - base);
    }
    weft_unlock(&arrive->lock);
    return found;
}

uint64_t weft_arrive_placed(struct weft_arrive *arrive, uint64_t place)
{
    uint64_t key = UINT64_MAX;

    weft_lock(&arrive->lock);
    for (uint32_t n = 0; n < arrive->count && key == UINT64_MAX; n++) {
        const uint32_t i = (arrive->found + n) % arrive->count; /* most ask for the same again */
        if (!arrive->list[i].used || arrive->list[i].mr == NULL ||
            arrive->list[i].place[0] != place)
            continue;
        key = (uint64_t)arrive->list[i].generation << 32 | i;
        arrive->found = i;
    }
    weft_unlock(&arrive->lock);
    return key;
}

void *weft_arrive_left(struct weft_arrive *arrive)
{
    for (uint32_t i = 0; i < arrive->count; i++)
        if (arrive->list[i].used && arrive->list[i].mr != NULL) {
            arrive->list[i].used = false;
            return arrive->list[i].mr;
        }
    return NULL;
}

/* ---- notices ------------------------------------------------------------------------------- */

void weft_notice_add(struct weft_notice_kinds *kinds, uint32_t kind, weft_notice_apply apply,
                     void *context)
{
    kinds->of[kind].apply = apply;
    kinds->of[kind].context = context;
}

weft_status weft_notice_take(const struct weft_notice_kinds *kinds,
                             const struct weft_arrival *arrival)
{
    const uint32_t kind = weft_notice_kind_of(arrival->notice);

    return kinds->of[kind].apply != NULL ? kinds->of[kind].apply(kinds->of[kind].context, arrival)
                                         : WEFT_ERR_PROTOCOL;
}

static weft_status unsettled(const struct weft_arrive *arrive)
{
    return weft_err(WEFT_ERR_DEVICE, "%s: data did not reach the device", arrive->name);
}

/* Says what is wrong, once, with its numbers. */
static weft_status said(const struct weft_arrive *arrive, const struct weft_arrival *arrival,
                        weft_status status)
{
    if (status == WEFT_ERR_PROTOCOL)
        return weft_err(status, "%s: process %d sent the malformed notice 0x%08x", arrive->name,
                        arrival->process, arrival->notice);
    return status == WEFT_ERR_DEVICE ? unsettled(arrive) : status;
}

weft_status weft_arrive_notice(struct weft_arrive *arrive, int process, uint32_t notice)
{
    const struct weft_arrival arrival = {.process = process, .notice = notice};

    arrive->unmarked = true;
    return said(arrive, &arrival,
                notice != 0 ? weft_notice_take(arrive->kinds, &arrival) : WEFT_ERR_PROTOCOL);
}

/* ---- data ---------------------------------------------------------------------------------- */

/* By the device: whoever applies the notice sees to the data, so that both may go together. */
static weft_status give(const struct weft_arrive *arrive, const struct weft_arrival *arrival)
{
    const struct weft_arrive_device *device = arrive->device;

    if (arrival->notice != 0)
        return weft_notice_take(arrive->kinds, arrival);
    return device->land(device->context, arrival->target, arrival->source, arrival->bytes)
               ? WEFT_OK
               : WEFT_ERR_DEVICE;
}

weft_status weft_arrive_deliver(struct weft_arrive *arrive, int process, uint64_t key,
                                uint64_t offset, const void *data, size_t bytes, uint32_t notice)
{
    struct weft_arrival arrival = {
        .process = process, .notice = notice, .bytes = bytes, .source = data};
    bool later = arrive->device != NULL && arrive->device->land != NULL;
    weft_status status = WEFT_OK;

    if (bytes != 0) {
        weft_lock(&arrive->lock);
        const struct weft_exposure *region = find_exposure(arrive, key, offset, bytes);
        if (region != NULL) {
            arrival.target = region->base + offset;
            later = later && !region->own;
            if (later)
                status = give(arrive, &arrival);
            else
                weft_land(arrival.target, data, bytes);
        }
        weft_unlock(&arrive->lock);
        if (region == NULL)
            return outside(arrive, process, key, offset, bytes);
        arrive->unmarked = true;
        if (later)
            return said(arrive, &arrival, status);
    }
    return notice != 0 ? weft_arrive_notice(arrive, process, notice) : WEFT_OK;
}

weft_status weft_arrive_rows(struct weft_arrive *arrive, int process, uint64_t key, uint64_t offset,
                             const struct weft_net_rows *rows, const void *data, size_t bytes,
                             uint32_t notice)
{
    const size_t width = bytes / rows->rows;
    weft_status status = WEFT_OK;

    for (uint64_t i = 0; i < rows->rows && status == WEFT_OK; i++)
        status = weft_arrive_deliver(arrive, process, key, offset + i * rows->pitch,
                                     (const unsigned char *)data + i * width, width,
                                     i + 1 == rows->rows ? notice : 0);
    return status;
}

/* ---- batches ------------------------------------------------------------------------------- */

bool weft_arrive_has_room(const struct weft_arrive *arrive)
{
    return arrive->waiting < arrive->most;
}

weft_status weft_arrive_batch_end(struct weft_arrive *arrive, uint64_t cookie)
{
    const struct weft_arrive_device *device = arrive->device;
    const uint32_t next = (arrive->first + arrive->waiting) % arrive->most;

    if (device == NULL || device->mark == NULL || (!arrive->unmarked && arrive->waiting == 0))
        return arrive->conclude(arrive->net, cookie);
    if (!device->mark(device->context, &arrive->batches[next].mark))
        return unsettled(arrive);
    arrive->batches[next].cookie = cookie;
    arrive->unmarked = false;
    arrive->waiting++;
    return WEFT_OK;
}

weft_status weft_arrive_settle(struct weft_arrive *arrive, bool *did)
{
    const struct weft_arrive_device *device = arrive->device;
    weft_status status = WEFT_OK;

    while (arrive->waiting > 0 && status == WEFT_OK) {
        const uint64_t cookie = arrive->batches[arrive->first].cookie;
        bool there = true;
        *did = true;
        if (!device->settled(device->context, arrive->batches[arrive->first].mark, &there))
            return unsettled(arrive);
        if (!there)
            break;
        status = arrive->conclude(arrive->net, cookie);
        arrive->first = (arrive->first + 1) % arrive->most;
        arrive->waiting--;
    }
    return status;
}

/* ---- the device ---------------------------------------------------------------------------- */

bool weft_arrive_is_later(const struct weft_net_open *open)
{
    return open->device != NULL && open->device->land != NULL;
}

static bool has_ops(const struct weft_arrive *arrive)
{
    return arrive->device != NULL && arrive->device->ops != NULL;
}

bool weft_arrive_pin(const struct weft_arrive *arrive, void *memory, size_t bytes)
{
    const char *reason =
        has_ops(arrive) ? arrive->device->ops->pin(arrive->device->device, memory, bytes) : NULL;

    if (reason != NULL)
        weft_say(WEFT_SAY_WARN,
                 "%s: %zu bytes of buffers stay unpinned (%s): what goes between them and device "
                 "memory takes longer",
                 arrive->name, bytes, reason);
    return reason == NULL;
}

void weft_arrive_unpin(const struct weft_arrive *arrive, void *memory)
{
    if (memory != NULL && has_ops(arrive))
        arrive->device->ops->unpin(arrive->device->device, memory);
}

bool weft_arrive_has_dmabuf(const struct weft_arrive *arrive)
{
    return has_ops(arrive) && arrive->device->ops->dmabuf != NULL;
}

int weft_arrive_dmabuf(const struct weft_arrive *arrive, void *base, size_t bytes, uint64_t *offset)
{
    return weft_arrive_has_dmabuf(arrive)
               ? arrive->device->ops->dmabuf(arrive->device->device, base, bytes, offset)
               : -1;
}

weft_status weft_arrive_reached(const struct weft_arrive *arrive)
{
    return arrive->device->ops->reached(arrive->device->device) == WEFT_OK ? WEFT_OK
                                                                           : unsettled(arrive);
}
