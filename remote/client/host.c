/* remote/client/host.c - pinned memory of the program, into which sessions may put; what an address
 * is. Any thread. */
#include "base/share.h"
#include "remote/client/inside.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- host memory ----------------------------------------------------------------------------- */

struct weft_client_region *client_region_at(const void *memory, size_t bytes)
{
    const uintptr_t at = (uintptr_t)memory;

    for (struct weft_client_region *r = client.regions; r != NULL; r = r->next)
        if (at - (uintptr_t)r->base < r->bytes && bytes <= r->bytes - (at - (uintptr_t)r->base))
            return r;
    return NULL;
}

bool client_pinned(const void *memory, size_t bytes, struct weft_client_region *region)
{
    weft_lock(&client.lock);
    const struct weft_client_region *at = client_region_at(memory, bytes);
    const bool pinned = at != NULL && at->pinned;
    if (pinned)
        *region = *at;
    weft_unlock(&client.lock);
    return pinned;
}

struct weft_client_region *client_region_add(struct weft_client_region region)
{
    struct weft_client_region *r = malloc(sizeof(*r));

    weft_lock(&client.lock);
    if (r != NULL && client.open &&
        weft_net_reg(client.links.net, region.base, region.bytes, true, &region.key) == WEFT_OK) {
        *r = region;
        r->next = client.regions;
        client.regions = r;
    } else {
        free(r);
        r = NULL;
    }
    weft_unlock(&client.lock);
    return r;
}

void client_region_drop(struct weft_client_region *region)
{
    struct weft_client_region **at = &client.regions;

    while (*at != region)
        at = &(*at)->next;
    *at = region->next;
    weft_net_dereg(client.links.net, region->key);
    if (region->ours)
        munmap(region->base, region->bytes);
    free(region);
}

/* Has sessions that have mapped memory forget it; what their devices do with it comes first. */
static void unshare_from(uint64_t address, int processes)
{
    for (int p = 1; p < processes; p++) {
        const struct client_device *first = &client.device[client.server[p].first];
        for (int d = 0; d < client.server[p].devices; d++)
            client_call(first + d, WEFT_CALL_context_synchronize, NULL, 0, NULL, 0, NULL);
        CLIENT_CALL(first, unshare, NULL, address);
    }
}

/* Shares memory with all sessions. False: one could not map it, and none has it. */
static bool share_with_all(const struct weft_share *share)
{
    for (int p = 1; p < client.links.processes; p++)
        if (client_call(&client.device[client.server[p].first], WEFT_CALL_share, NULL, 0, share,
                        sizeof(*share), NULL) != CUDA_SUCCESS) {
            unshare_from(share->address, p);
            return false;
        }
    return true;
}

CUresult client_host_alloc(void **memory, size_t bytes, unsigned flags)
{
    struct weft_share share = {0};
    void *map;

    if (bytes == 0 || (flags & ~(unsigned)(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP |
                                           CU_MEMHOSTALLOC_WRITECOMBINED)) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if ((flags & CU_MEMHOSTALLOC_DEVICEMAP) != 0) {
        CUdeviceptr mapped = 0;
        const CUresult result = client_managed_alloc(&mapped, bytes, flags);
        if (result == CUDA_SUCCESS)
            *memory = (void *)mapped;
        return result;
    }
    if (!client.links.shares_memory)
        map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    else if (weft_share_create(bytes, &map, &share) != WEFT_OK)
        map = MAP_FAILED;
    if (map == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct weft_client_region *region = client_region_add((struct weft_client_region){
        .base = map, .bytes = bytes, .flags = flags, .ours = true, .pinned = true});
    if (region != NULL) {
        region->shared = client.links.shares_memory && share_with_all(&share);
        *memory = map;
    }
    (void)madvise(map, bytes, MADV_DONTFORK); /* no child writes to it */
    if (client.links.shares_memory)
        close(share.fd); /* who needs it has mapped it */
    if (region == NULL)
        munmap(map, bytes);
    return region != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Finds pinned memory that begins at an address; NULL: there is none. Lock held. */
static struct weft_client_region *pinned_at(void *memory, bool ours)
{
    struct weft_client_region *region = client_region_at(memory, 1);

    return region != NULL && region->base == memory && region->ours == ours && region->pinned
               ? region
               : NULL;
}

/* Drops pinned memory, once the devices copy nothing to or from it; none: the error if there is no
 * such memory. */
static CUresult drop_pinned(void *memory, bool ours, CUresult none)
{
    CUresult result = CUDA_SUCCESS;

    weft_lock(&client.lock);
    struct weft_client_region *region = pinned_at(memory, ours);
    const bool shared = region != NULL && region->shared;
    weft_unlock(&client.lock);
    if (shared)
        unshare_from((uint64_t)(uintptr_t)memory, client.links.processes);
    weft_lock(&client.lock);
    while ((region = pinned_at(memory, ours)) != NULL && result == CUDA_SUCCESS &&
           (client.writers != 0 || client.readers != 0))
        result = client_take_turns() ? CUDA_SUCCESS : CUDA_ERROR_DEVICE_UNAVAILABLE;
    if (region != NULL && result == CUDA_SUCCESS && !client.left)
        client_region_drop(region);
    weft_unlock(&client.lock);
    return region != NULL ? result : none;
}

CUresult client_host_free(void *memory)
{
    const CUdeviceptr around = client_managed_end((CUdeviceptr)memory, true);

    return around != (CUdeviceptr)memory ? client_free(around)
                                         : drop_pinned(memory, true, CUDA_ERROR_INVALID_VALUE);
}

CUresult client_host_unregister(void *memory)
{
    return drop_pinned(memory, false, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

CUresult client_host_register(void *memory, size_t bytes, unsigned flags)
{
    if (memory == NULL || bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (client_pinned(memory, 1, &(struct weft_client_region){0}))
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    const struct weft_client_region region = {
        .base = memory, .bytes = bytes, .flags = flags, .pinned = true};
    return client_region_add(region) != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult client_host_flags(unsigned *flags, void *memory)
{
    struct weft_client_region region;
    unsigned mapped = 0;

    if (client_managed_at((uint64_t)(uintptr_t)memory, &mapped) && mapped != 0)
        *flags = mapped;
    else if (client_pinned(memory, 1, &region))
        *flags = region.flags;
    else
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

/* ---- what an address is ---------------------------------------------------------------------- */

CUresult client_pointer_attributes(unsigned count, CUpointer_attribute *wanted, void **data,
                                   CUdeviceptr address)
{
    struct weft_client_region region;
    struct client_device *device;
    const bool there = client_on_device(client_find(address, 1, &device));
    int ordinal = there ? client.known.count - 1 : -1;
    unsigned mapped = 0;
    const bool managed = there && client_managed_at(address, &mapped),
               pinned = !there && client_pinned((void *)address, 1, &region);

    while (ordinal >= 0 && client.known.at[ordinal] != &device->known)
        ordinal--;
    return weft_known_pointer(count, wanted, data, address, ordinal,
                              mapped != 0 ? WEFT_MAPPED
                              : managed   ? WEFT_MANAGED
                              : there     ? WEFT_ON_DEVICE
                              : pinned    ? WEFT_PINNED
                                          : WEFT_UNKNOWN);
}
