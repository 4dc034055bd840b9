/*
 * remote/client/memory.c - addresses. Each device has a range of its own, which no other device and
 * nothing in this process uses; the session backs it. What is allocated is known here, too, so that
 * a mistake is told at once. Any thread, lock held.
 */
#include "base/say.h"
#include "remote/client/inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const uint64_t granule = 2 << 20;

/* ---- ranges of the devices ------------------------------------------------------------------- */

/* Keeps everything else of this process away from a range of addresses. Sessions in one address
 * space do it themselves. */
static bool keep(uint64_t base, uint64_t span)
{
    if (client.links.one_address_space)
        return true;
    return mmap((void *)base, span, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
                0) == (void *)base;
}

static bool reserve(struct client_device *device, uint64_t base, uint64_t span)
{
    struct client_call answer = {0};

    if (!keep(base, span))
        return false;
    if (CLIENT_CALL(device, arena, &answer, base, span) == CUDA_SUCCESS && answer.count == 1) {
        device->base = base;
        device->span = span;
        device->key = answer.words[0];
        return true;
    }
    if (!client.links.one_address_space)
        munmap((void *)base, span);
    return false;
}

weft_status client_open_memory(void)
{
    /* Outside of the usual places of programs, stacks, and the shadow memory of ASan and TSan. */
    static const uint64_t bases[] = {0x200000000000, 0x100000000000, 0x600000000000, 0x2000000000};
    const uint64_t step = 1ull << 32;
    uint64_t offset = 0;

    for (int d = 0; d < client.known.count; d++) {
        struct client_device *device = (struct client_device *)(void *)client.known.at[d];
        const uint64_t span = (2 * device->known.facts.memory + granule - 1) / granule * granule;
        bool found = false;
        for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]) && !found; i++)
            found = reserve(device, bases[i] + offset, span);
        offset += (span + step - 1) / step * step;
        if (!found)
            return weft_err(WEFT_ERR_SYSTEM,
                            "no %llu MiB of addresses that this process and server %s both have "
                            "free, for device %d",
                            (unsigned long long)(span >> 20),
                            client.server[device->known.process].name, device->known.number);
    }
    return WEFT_OK;
}

/* ---- allocations ----------------------------------------------------------------------------- */

void client_forget_memory(struct client_device *device)
{
    weft_lock(&client.lock);
    device->blocks.count = 0;
    weft_unlock(&client.lock);
    client_reach_no_more(device, device->base, device->span);
}

struct client_device *client_device_around(uint64_t address)
{
    for (int d = 0; d < client.met; d++)
        if (address - client.device[d].base < client.device[d].span)
            return &client.device[d];
    return NULL;
}

/* Returns the device that has these bytes in a variable. Drivers give variables of two devices the
 * same address: the current one's comes first. What goes beyond the end of one is memory of nobody,
 * not of the host. */
static struct client_device *device_with(uint64_t address, uint64_t bytes)
{
    struct client_device *mine = client_now();

    if (mine != NULL && weft_ranges_has(&mine->globals, address, bytes))
        return mine;
    for (int d = 0; d < client.met; d++)
        if (weft_ranges_has(&client.device[d].globals, address, bytes))
            return &client.device[d];
    return NULL;
}

enum client_place client_find(uint64_t address, uint64_t bytes, struct client_device **device)
{
    enum client_place place = CLIENT_NOWHERE;

    *device = client_device_around(address);
    if (address == 0)
        return place;
    weft_lock(&client.lock);
    if (*device == NULL && (device_with(address, 1) == NULL ||
                            client_region_at((void *)address, 1) != NULL)) /* its own, so pinned */
        place = CLIENT_HOST;
    else if (*device == NULL)
        place = (*device = device_with(address, bytes)) != NULL ? CLIENT_GLOBAL : CLIENT_NOWHERE;
    else if (weft_ranges_has(&(*device)->blocks, address, bytes))
        place = CLIENT_ARENA;
    weft_unlock(&client.lock);
    return place;
}

/* Whether what a server has allocated is among the device's addresses, where nothing else is. */
static bool is_free(const struct client_device *device, uint64_t address, uint64_t bytes)
{
    const struct weft_ranges *blocks = &device->blocks;
    const uint64_t offset = address - device->base;

    if (offset >= device->span || bytes > device->span - offset)
        return false;
    const uint32_t next = weft_ranges_after(blocks, address);
    return next == blocks->count || blocks->list[next].at - address >= bytes;
}

/* Takes an allocation from the list, and returns its device; NULL: nothing begins there. */
static struct client_device *forget(CUdeviceptr address)
{
    struct client_device *device = client_device_around(address);
    uint64_t bytes = 0;

    if (device == NULL)
        return NULL;
    weft_lock(&client.lock);
    const uint32_t i = weft_ranges_at(&device->blocks, address);
    if (i < device->blocks.count) {
        bytes = device->blocks.list[i].bytes;
        weft_ranges_drop(&device->blocks, i);
    }
    weft_unlock(&client.lock);
    if (bytes == 0)
        return NULL;
    client_reach_no_more(device, address, bytes);
    return device;
}

CUresult client_free_own(CUdeviceptr address)
{
    const struct client_device *device = forget(address);

    if (device == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    const CUresult peers = client_peers_wait(device),
                   result = CLIENT_CALL(device, free, NULL, address);
    return result != CUDA_SUCCESS ? result : peers;
}

CUresult client_alloc_on(struct client_device *device, CUdeviceptr *address, size_t bytes)
{
    struct client_call answer = {0};

    if (bytes == 0 || device == NULL)
        return device == NULL ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE;
    CUresult result = CLIENT_CALL(device, alloc, &answer, bytes);
    if (result != CUDA_SUCCESS)
        return result;
    weft_lock(&client.lock);
    if (answer.count != 1 || !is_free(device, answer.words[0], bytes) ||
        !weft_ranges_add(&device->blocks, answer.words[0], bytes))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    weft_unlock(&client.lock);
    if (result != CUDA_SUCCESS)
        return result;
    result = client_reach_new(device, answer.words[0], bytes);
    if (result == CUDA_SUCCESS)
        *address = answer.words[0];
    else
        (void)client_free_own(answer.words[0]);
    return result;
}

CUresult client_alloc(CUdeviceptr *address, size_t bytes)
{
    return client_alloc_on(client_now(), address, bytes);
}

CUresult client_alloc_managed(CUdeviceptr *address, size_t bytes, unsigned flags)
{
    return flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST
               ? client_managed_alloc(address, bytes, 0)
               : CUDA_ERROR_INVALID_VALUE;
}

/* Allocates at once: what the stream does later may use it. */
CUresult client_alloc_async(CUdeviceptr *address, size_t bytes, CUstream stream)
{
    struct client_route route = {client_now(), false};
    const CUresult result = client_route_stream(&route, stream);

    return result == CUDA_SUCCESS ? client_alloc(address, bytes) : result;
}

CUresult client_free(CUdeviceptr address)
{
    return address != 0 ? client_tell(client_free_own(client_managed_end(address, false)))
                        : CUDA_SUCCESS;
}

CUresult client_free_async(CUdeviceptr address, CUstream stream)
{
    struct client_route route = {client_now(), false};
    CUresult result = client_route_stream(&route, stream);

    if (result != CUDA_SUCCESS)
        return result;
    return client_device_around(address) ==
                       route.device && /* its own stream tells when it is over */
                   forget(address) != NULL
               ? CLIENT_POST(route.device, free_async, address, WORD(stream))
               : CUDA_ERROR_INVALID_VALUE;
}

/* ---- fills ----------------------------------------------------------------------------------- */

/* Fills pinned memory of the program: the host does it, after the stream. */
static CUresult fill_host(struct client_device *device, unsigned char *to, size_t pitch, int value,
                          size_t width, size_t rows, CUstream stream)
{
    struct weft_client_region region;
    const CUresult result = client_pinned(to, (rows - 1) * pitch + width, &region)
                                ? client_synchronize(device, stream)
                                : CUDA_ERROR_INVALID_VALUE;
    for (size_t r = 0; r < rows && result == CUDA_SUCCESS; r++)
        memset(to + r * pitch, value, width);
    return result;
}

/* Fills rows. Memory of another device is filled by that, in its default stream: after the stream,
 * and done on return. */
CUresult client_fill8_rows(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                           size_t rows, CUstream stream)
{
    struct client_route route = {client_now(), false};
    struct client_device *device;
    CUresult result = client_route_stream(&route, stream);

    if (result != CUDA_SUCCESS || width == 0 || rows == 0)
        return result;
    if (rows > 1 && (pitch < width || rows - 1 > (1ull << 48) / pitch))
        return CUDA_ERROR_INVALID_VALUE;
    const enum client_place place = client_find(to, (rows - 1) * pitch + width, &device);
    const bool near = device == route.device;
    if (place == CLIENT_HOST)
        return fill_host(route.device, (unsigned char *)to, pitch, value, width, rows, stream);
    if (place == CLIENT_NOWHERE)
        return CUDA_ERROR_INVALID_VALUE;
    if (!near)
        result = client_synchronize(route.device, stream);
    if (result == CUDA_SUCCESS)
        result = client_give(device, to, to);
    if (result == CUDA_SUCCESS)
        result = CLIENT_POST(device, fill, to, pitch, width, rows, value, near ? WORD(stream) : 0);
    client_given();
    return result == CUDA_SUCCESS && !near ? client_synchronize(device, NULL) : result;
}
