/*
 * remote/client/reach.c - memory of a GPU of another server of the same host, as a device reaches
 * it itself: both servers are asked once for each slab (session/reach.c). Any thread, without the
 * lock.
 */
#include "base/say.h"
#include "remote/client/inside.h"

/* Whether a device of the same server reaches the slab around an address, and which that is. */
static bool find_beside(const struct client_device *device, uint64_t address,
                        struct weft_range *slab)
{
    const struct client_server *server = &client.server[device->known.process];

    for (int d = server->first; d < server->first + server->devices; d++) {
        const struct weft_ranges *reached = &client.device[d].reached;
        if (!weft_ranges_has(reached, address, 1))
            continue;
        *slab = reached->list[weft_ranges_after(reached, address)];
        return true;
    }
    return false;
}

/* The slab around an address; a server may say anything. */
static CUresult ask_owner(const struct client_device *device, const struct client_device *far,
                          uint64_t address, struct weft_range *slab, uint64_t *ticket)
{
    struct client_call answer = {0};
    const CUresult result =
        CLIENT_CALL(far, export, &answer, address, (uint64_t)device->known.process);

    if (result != CUDA_SUCCESS)
        return result;
    *slab = (struct weft_range){answer.words[0], answer.words[1]};
    *ticket = answer.words[2];
    return answer.count == 3 && *ticket != 0 && address - slab->at < slab->bytes &&
                   slab->at - far->base < far->span &&
                   slab->bytes <= far->span - (slab->at - far->base)
               ? CUDA_SUCCESS
               : CUDA_ERROR_UNKNOWN;
}

/* False: not now, or with that server never. */
static bool reach(struct client_device *device, const struct client_device *far, uint64_t address)
{
    struct weft_range slab;
    uint64_t ticket = 0;
    CUresult result = find_beside(device, address, &slab)
                          ? CUDA_SUCCESS
                          : ask_owner(device, far, address, &slab, &ticket);

    if (result == CUDA_SUCCESS)
        result =
            CLIENT_CALL(device, import, NULL, far->base, far->span, slab.at, slab.bytes, ticket);
    if (result == CUDA_SUCCESS)
        return weft_ranges_add(&device->reached, slab.at, slab.bytes);
    if (result != CUDA_ERROR_NOT_READY) {
        device->apart |= 1ull << far->known.process;
        weft_say(WEFT_SAY_INFO, "device %d of server %s does not reach memory of server %s: %s",
                 device->known.number, client.server[device->known.process].name,
                 client.server[far->known.process].name, weft_cuda_error(result)->text);
    }
    return false;
}

bool client_reaches(struct client_device *device, const struct client_device *far, uint64_t address,
                    uint64_t bytes)
{
    const uint64_t end = address + bytes;
    bool does = client.direct && !client.links.one_address_space;

    if (!does)
        return false;
    weft_lock(&client.reaching);
    while (does && (address = weft_ranges_gap(&device->reached, address, end)) < end)
        does = (device->apart >> far->known.process & 1) == 0 && reach(device, far, address);
    weft_unlock(&client.reaching);
    return does;
}

void client_reach_no_more(const struct client_device *far, uint64_t address, uint64_t bytes)
{
    weft_lock(&client.reaching);
    for (int d = 0; d < client.met; d++) {
        struct weft_ranges *reached = &client.device[d].reached;
        uint32_t i = weft_ranges_after(reached, address);
        while (i < reached->count && reached->list[i].at < address + bytes) {
            const struct weft_range slab = reached->list[i];
            weft_lock(&client.lock);
            const uint32_t b = weft_ranges_after(&far->blocks, slab.at);
            const bool used =
                b < far->blocks.count && far->blocks.list[b].at < slab.at + slab.bytes;
            weft_unlock(&client.lock);
            if (used) {
                i++;
                continue;
            }
            CLIENT_POST(&client.device[d], unimport, slab.at);
            weft_ranges_drop(reached, i);
        }
    }
    weft_unlock(&client.reaching);
}
