/*
 * net/peer/deliver.c - how what has arrived takes effect: data in regions, then notices; and when
 * its sender may be told.
 *
 * Packets and writes are delivered in the order of their numbers. Where windows are the host's
 * memory each is concluded at once: its buffer is the transport's again, and an acknowledgement is
 * owed. Where a device fetches the data, batches of them wait in a FIFO for marks of the device.
 */
#include "net/peer/inside.h"

#include "abi/notice.h"
#include "base/say.h"
#include "order/atomic.h"

#include <stdio.h>

/* ---- regions --------------------------------------------------------------------------------- */

/* Finds the region that a transport writes by a place; returns its index, or the list's length. */
static uint32_t placed(struct weft_net *net, uint64_t place)
{
    const uint32_t count = net->regions.count;

    for (uint32_t n = 0; n < count; n++) {
        const uint32_t i = (net->regions.found + n) % count; /* most ask for the same again */
        const struct weft_peer_region *region = &net->regions.list[i];
        if (region->used && region->mr != NULL && region->place[0] == place)
            return net->regions.found = i;
    }
    return count;
}

struct weft_peer_region *weft_peer_find(struct weft_net *net, uint64_t key, uint64_t offset,
                                        size_t bytes)
{
    const bool by_place = (key & WEFT_PEER_PLACED) != 0;
    const uint32_t i = by_place ? placed(net, key & ~WEFT_PEER_PLACED) : (uint32_t)key;

    if (i >= net->regions.count)
        return NULL;
    struct weft_peer_region *region = &net->regions.list[i];
    const bool inside = region->used && (by_place || region->generation == key >> 32) &&
                        offset <= region->bytes && bytes <= region->bytes - offset;
    return inside ? region : NULL;
}

/* ---- notices --------------------------------------------------------------------------------- */

void weft_notice_add(struct weft_notice_kinds *kinds, uint32_t kind, weft_notice_apply apply,
                     void *context)
{
    kinds->of[kind].apply = apply;
    kinds->of[kind].context = context;
}

weft_status weft_notice_take(const struct weft_notice_kinds *kinds,
                             const struct weft_net_delivery *delivery)
{
    const uint32_t kind = weft_notice_kind_of(delivery->notice);

    return kinds->of[kind].apply != NULL ? kinds->of[kind].apply(kinds->of[kind].context, delivery)
                                         : WEFT_ERR_PROTOCOL;
}

/* Returns the error that data did not reach the device, which has said why. */
static weft_status device_failed(const struct weft_net *net)
{
    char why[256];

    snprintf(why, sizeof(why), "%s", weft_err_last());
    return weft_err(WEFT_ERR_DEVICE, "%s: data did not reach the device: %s", net->ops->name, why);
}

static weft_status deliver_notice(struct weft_net *net, int process, uint32_t notice)
{
    const struct weft_net_delivery delivery = {.process = process, .notice = notice};

    if (notice == 0)
        return WEFT_OK;
    net->unmarked = true;
    const weft_status status = weft_notice_take(net->open.kinds, &delivery);
    if (status == WEFT_ERR_PROTOCOL)
        return weft_err(status, "%s: process %d sent the malformed notice 0x%08x", net->ops->name,
                        process, notice);
    return status == WEFT_ERR_DEVICE ? device_failed(net) : status;
}

/* ---- data ------------------------------------------------------------------------------------ */

weft_status weft_peer_deliver(struct weft_net *net, int process, uint64_t key, uint64_t offset,
                              const void *data, size_t bytes, uint32_t notice)
{
    const struct weft_net_device *device = net->open.device;
    bool good = true;

    if (bytes == 0)
        return deliver_notice(net, process, notice);
    weft_lock(&net->regions.lock);
    const struct weft_peer_region *region = weft_peer_find(net, key, offset, bytes);
    if (region != NULL && net->later && !region->own)
        good = device->deliver(device->context, region->base + offset, data, bytes);
    else if (region != NULL)
        weft_deliver(region->base + offset, data, bytes);
    weft_unlock(&net->regions.lock);
    if (region == NULL)
        return weft_err(WEFT_ERR_PROTOCOL,
                        "%s: process %d put %zu bytes at offset %llu of key 0x%llx, which is no "
                        "region of this process",
                        net->ops->name, process, bytes, (unsigned long long)offset,
                        (unsigned long long)key);
    net->unmarked = true;
    return good ? deliver_notice(net, process, notice) : device_failed(net);
}

static weft_status deliver_rows(struct weft_net *net, int process, const struct weft_entry *e)
{
    const size_t width = e->bytes / e->rows.rows;

    for (uint64_t i = 0; i < e->rows.rows; i++)
        WEFT_TRY(weft_peer_deliver(net, process, e->key, e->offset + i * e->rows.pitch,
                                   e->data + i * width, width,
                                   i + 1 == e->rows.rows ? e->notice : 0));
    return WEFT_OK;
}

static weft_status deliver_entry(struct weft_net *net, int process, const struct weft_entry *e)
{
    const unsigned char *data = e->data;

    if (e->kind == WEFT_ENTRY_ROWS)
        return deliver_rows(net, process, e);
    if (e->kind == WEFT_ENTRY_STAGED) {
        data = net->ops->staged != NULL
                   ? net->ops->staged(net->transport, process, e->staged, e->bytes)
                   : NULL;
        if (data == NULL)
            return weft_peer_malformed(net, process, "data that is not in its staging memory");
    }
    return weft_peer_deliver(net, process, e->key, e->offset, data, e->bytes, e->notice);
}

/* ---- when it is there ------------------------------------------------------------------------ */

/* Gives back packets, and owes acknowledgements, up to number `count` of those delivered: all their
 * data is in place. */
static void conclude(struct weft_net *net, uint32_t count)
{
    for (; net->concluded != count; net->concluded++) {
        const uint32_t place = net->concluded % WEFT_PEER_DELIVERED;
        const int process = net->taken[place].process;
        struct weft_peer *peer = &net->peers[process];
        if (!net->taken[place].written)
            net->ops->release(net->transport, process, net->taken[place].handle);
        if (net->caps.acknowledges)
            continue;
        weft_store_release_u32(&peer->delivered, weft_load_relaxed_u32(&peer->delivered) + 1,
                               ORDER_ring_credit);
        weft_peer_owe(net, peer);
    }
}

weft_status weft_peer_batch_end(struct weft_net *net)
{
    const struct weft_net_device *device = net->open.device;
    const uint32_t next = (net->batches.first + net->batches.waiting) % WEFT_PEER_BATCHES;

    if (device == NULL || device->mark == NULL || (!net->unmarked && net->batches.waiting == 0)) {
        conclude(net, net->taken_count);
        return WEFT_OK;
    }
    if (!device->mark(device->context, &net->batches.of[next].mark))
        return device_failed(net);
    net->batches.of[next].count = net->taken_count;
    net->unmarked = false;
    net->batches.waiting++;
    return WEFT_OK;
}

weft_status weft_peer_settle(struct weft_net *net, bool *did)
{
    const struct weft_net_device *device = net->open.device;

    while (net->batches.waiting > 0) {
        const struct weft_peer_batch *batch = &net->batches.of[net->batches.first];
        bool there = true;
        *did = true;
        if (!device->settled(device->context, batch->mark, &there))
            return device_failed(net);
        if (!there)
            break;
        conclude(net, batch->count);
        net->batches.first = (net->batches.first + 1) % WEFT_PEER_BATCHES;
        net->batches.waiting--;
    }
    return WEFT_OK;
}

/* ---- packets and writes ---------------------------------------------------------------------- */

/* Notes that the next of a process's packets and writes was delivered. */
static weft_status delivered(struct weft_net *net, int process, uint64_t handle, bool written)
{
    const uint32_t place = net->taken_count++ % WEFT_PEER_DELIVERED;

    net->taken[place].process = process;
    net->taken[place].handle = handle;
    net->taken[place].written = written;
    net->peers[process].expected++;
    if (net->open.events.arrived != NULL)
        net->open.events.arrived(net->open.events.context);
    return net->later ? WEFT_OK : weft_peer_batch_end(net);
}

/* Makes what the network has written to a device visible there. */
static weft_status reached(const struct weft_net *net)
{
    const struct weft_net_device *device = net->open.device;

    return net->later && device->ops->reached(device->device) != WEFT_OK ? device_failed(net)
                                                                         : WEFT_OK;
}

weft_status weft_peer_deliver_packet(struct weft_net *net, const struct weft_packet *packet,
                                     uint64_t handle)
{
    if (net->caps.writes && net->caps.immediate == 0)
        WEFT_TRY(reached(net)); /* what was written before it */
    for (uint32_t i = 0; i < packet->entries; i++)
        WEFT_TRY(deliver_entry(net, packet->process, &net->entries[i]));
    return delivered(net, packet->process, handle, false);
}

weft_status weft_peer_deliver_written(struct weft_net *net, int process, uint32_t notice)
{
    WEFT_TRY(reached(net));
    WEFT_TRY(deliver_notice(net, process, notice));
    return delivered(net, process, 0, true);
}
