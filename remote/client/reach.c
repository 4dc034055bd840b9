/*
 * remote/client/reach.c - memory of a GPU of another server of the same host, as a device reaches
 * it itself: both servers are asked once for each slab (session/reach.c). For copies a slab is
 * mapped at the first one; for kernels all are, from cudaDeviceEnablePeerAccess on, and new ones
 * before their address is known. Any thread, without the lock.
 */
#include "base/say.h"
#include "remote/client/inside.h"

static bool is_near(const struct client_device *device, const struct client_device *far)
{
    return device->known.process == far->known.process;
}

static unsigned char *peer_of(struct client_device *device, const struct client_device *far)
{
    return &device->peers[far - client.device];
}

/* Whether a device may reach memory of another, as far as is known. */
static bool may_reach(struct client_device *device, const struct client_device *far)
{
    const struct weft_record_link *link = client.links.link;

    if (is_near(device, far))
        return weft_known_reaches(&device->known, &far->known);
    return client.direct && link[device->known.process].host == link[far->known.process].host &&
           (*peer_of(device, far) & CLIENT_APART) == 0;
}

/* Whether a device of the same server reaches the slab around an address; *slab: that slab. */
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

static CUresult import(const struct client_device *device, const struct client_device *far,
                       struct weft_range slab, uint64_t ticket)
{
    return CLIENT_CALL(device, import, NULL, far->base, far->span, slab.at, slab.bytes, ticket);
}

/* Asks the owner for the slab around an address; a server may say anything. NOT_READY: others fill
 * its way to the device's server. */
static CUresult ask_owner(const struct client_device *device, const struct client_device *far,
                          uint64_t address, struct weft_range *slab, uint64_t *ticket)
{
    struct client_call answer = {0};
    CUresult result = CUDA_ERROR_NOT_READY;

    for (int tries = 0; tries < 2 && result == CUDA_ERROR_NOT_READY; tries++) {
        if (tries > 0) /* a server that looks for something makes room */
            (void)import(device, far, (struct weft_range){far->base, far->span}, UINT64_MAX);
        result = CLIENT_CALL(far, export, &answer, address, (uint64_t)device->known.process);
    }
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

/* Has a device reach the slab around an address. Errors: NOT_READY, OUT_OF_MEMORY: not now;
 * DEVICE_UNAVAILABLE; DEINITIALIZED: the program ends; PEER_ACCESS_UNSUPPORTED: never. */
static CUresult reach(struct client_device *device, const struct client_device *far,
                      uint64_t address)
{
    unsigned char *peer = peer_of(device, far);
    struct weft_range slab;
    uint64_t ticket = 0;
    CUresult result = find_beside(device, address, &slab)
                          ? CUDA_SUCCESS
                          : ask_owner(device, far, address, &slab, &ticket);

    if (result == CUDA_SUCCESS)
        result = import(device, far, slab, ticket);
    if (result == CUDA_SUCCESS && (!weft_ranges_add(&device->reached, slab.at, slab.bytes) ||
                                   !weft_ranges_has(&device->reached, address, 1)))
        result = CUDA_ERROR_OUT_OF_MEMORY; /* or two slabs of a hostile server overlap */
    if (result == CUDA_SUCCESS)
        *peer |= CLIENT_REACHES;
    if (result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY ||
        result == CUDA_ERROR_OUT_OF_MEMORY || result == CUDA_ERROR_DEVICE_UNAVAILABLE ||
        result == CUDA_ERROR_DEINITIALIZED)
        return result;
    *peer |= CLIENT_APART;
    weft_say((*peer & CLIENT_ENABLED) != 0 ? WEFT_SAY_ERROR : WEFT_SAY_INFO,
             "device %d of server %s does not reach memory of device %d of server %s: %s",
             device->known.number, client.server[device->known.process].name, far->known.number,
             client.server[far->known.process].name, weft_cuda_error(result)->text);
    return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
}

/* Has a device reach all of these bytes. Errors: those of reach. */
static CUresult reach_all(struct client_device *device, const struct client_device *far,
                          uint64_t address, uint64_t bytes)
{
    const uint64_t end = address + bytes;
    CUresult result = CUDA_SUCCESS;

    while (result == CUDA_SUCCESS &&
           (address = weft_ranges_gap(&device->reached, address, end)) < end)
        result = may_reach(device, far) ? reach(device, far, address)
                                        : CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    return result;
}

/*
 * Whether to try again, after a wait for what the device was given before. Another device of its
 * server, which may be what is waited for, is asked now and then. The caller does not hold
 * `reaching`, which others need meanwhile.
 */
static bool waited_for(const struct client_device *device, CUresult result)
{
    static const uint64_t pause_ns = 1000000;

    if (result != CUDA_ERROR_NOT_READY)
        return false;
    (void)client_call(device, WEFT_CALL_context_synchronize, NULL, 0, NULL, 0, NULL);
    client_nap(pause_ns);
    return true;
}

bool client_reaches(struct client_device *device, const struct client_device *far, uint64_t address,
                    uint64_t bytes)
{
    weft_lock(&client.reaching);
    const CUresult result = reach_all(device, far, address, bytes);
    weft_unlock(&client.reaching);
    return result == CUDA_SUCCESS;
}

/* ---- what goes ------------------------------------------------------------------------------- */

/* Returns a device's first allocation that ends behind an address; of no bytes: there is none. */
static struct weft_range block_after(const struct client_device *device, uint64_t address)
{
    struct weft_range block = {0};

    weft_lock(&client.lock);
    const uint32_t i = weft_ranges_after(&device->blocks, address);
    if (i < device->blocks.count)
        block = device->blocks.list[i];
    weft_unlock(&client.lock);
    return block;
}

/* Lets go what a device reaches there, unless an allocation of `far` is in it; far NULL: all. */
static void let_go(struct client_device *device, const struct client_device *far, uint64_t address,
                   uint64_t bytes)
{
    struct weft_ranges *reached = &device->reached;
    uint32_t i = weft_ranges_after(reached, address);

    while (i < reached->count && reached->list[i].at < address + bytes) {
        const struct weft_range slab = reached->list[i];
        const struct weft_range block =
            far != NULL ? block_after(far, slab.at) : (struct weft_range){0};
        const bool used = block.bytes != 0 && block.at < slab.at + slab.bytes;
        if (used) {
            i++;
            continue;
        }
        CLIENT_POST(device, unimport, slab.at);
        weft_ranges_drop(reached, i);
    }
}

void client_reach_no_more(const struct client_device *far, uint64_t address, uint64_t bytes)
{
    weft_lock(&client.reaching);
    for (int d = 0; d < client.met; d++)
        let_go(&client.device[d], far, address, bytes);
    weft_unlock(&client.reaching);
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* Tries to reach the first memory of a device, or some that is there for that alone: *made. */
static CUresult try_to_reach(struct client_device *device, struct client_device *far,
                             uint64_t *made)
{
    const struct weft_range block = block_after(far, far->base);
    struct client_call answer = {0};

    if (block.bytes != 0)
        return reach_all(device, far, block.at, 1);
    if (*made == 0) {
        const CUresult result = CLIENT_CALL(far, alloc, &answer, 1);
        if (result != CUDA_SUCCESS || answer.count != 1 ||
            client_device_around(answer.words[0]) != far)
            return CUDA_ERROR_OUT_OF_MEMORY;
        *made = answer.words[0];
    }
    return reach_all(device, far, *made, 1);
}

static bool reaches(struct client_device *device, const struct client_device *far)
{
    return may_reach(device, far) &&
           (is_near(device, far) || (*peer_of(device, far) & CLIENT_REACHES) != 0);
}

bool client_can_reach(const struct weft_known *known, const struct weft_known *peer)
{
    struct client_device *device = (struct client_device *)(void *)known; /* its first member */
    struct client_device *far = (struct client_device *)(void *)peer;
    uint64_t made = 0;
    CUresult result;
    bool can;

    do {
        weft_lock(&client.reaching);
        result = may_reach(device, far) && !reaches(device, far) ? try_to_reach(device, far, &made)
                                                                 : CUDA_SUCCESS;
        can = reaches(device, far);
        if (made != 0 && result != CUDA_ERROR_NOT_READY) {
            let_go(device, far, made, 1);
            CLIENT_POST(far, free_async, made, 0);
        }
        weft_unlock(&client.reaching);
    } while (waited_for(device, result));
    return can;
}

static CUresult reach_blocks(struct client_device *device, const struct client_device *far)
{
    struct weft_range block = {far->base, 0};
    CUresult result = CUDA_SUCCESS;

    while (result == CUDA_SUCCESS && (block = block_after(far, block.at + block.bytes)).bytes != 0)
        result = reach_all(device, far, block.at, block.bytes);
    return result;
}

/* Enables a device's memory for another (on), or not. The caller holds `reaching`. */
static CUresult let(struct client_device *device, struct client_device *peer, bool on)
{
    CUresult result = CUDA_SUCCESS;

    if (((*peer_of(device, peer) & CLIENT_ENABLED) != 0) == on)
        return on ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    if (on)
        result = reach_blocks(device, peer);
    else
        let_go(device, NULL, peer->base, peer->span);
    if (result == CUDA_SUCCESS && is_near(device, peer)) /* variables, too */
        result = CLIENT_CALL(device, peer_enable, NULL, (uint64_t)peer->known.number, on);
    if (result == CUDA_SUCCESS || !on) /* what was mapped has gone */
        *peer_of(device, peer) ^= CLIENT_ENABLED;
    return result;
}

CUresult client_let(struct client_device *device, struct client_device *peer, bool on)
{
    CUresult result;

    do {
        weft_lock(&client.reaching);
        result = let(device, peer, on);
        weft_unlock(&client.reaching);
    } while (waited_for(device, result));
    return result;
}

void client_reach_reset(struct client_device *device)
{
    weft_lock(&client.reaching);
    for (int d = 0; d < client.met; d++)
        (void)let(device, &client.device[d], false);
    weft_unlock(&client.reaching);
}

CUresult client_reach_new(const struct client_device *far, uint64_t address, uint64_t bytes)
{
    CUresult result = CUDA_SUCCESS;

    for (int d = 0; d < client.met && result == CUDA_SUCCESS; d++)
        do {
            struct client_device *device = &client.device[d];
            weft_lock(&client.reaching);
            result = (*peer_of(device, far) & CLIENT_ENABLED) != 0
                         ? reach_all(device, far, address, bytes)
                         : CUDA_SUCCESS;
            weft_unlock(&client.reaching);
        } while (waited_for(&client.device[d], result));
    return result;
}

CUresult client_peers_wait(const struct client_device *far)
{
    CUresult result = CUDA_SUCCESS;

    for (int d = 0; d < client.met && result == CUDA_SUCCESS; d++) {
        weft_lock(&client.reaching);
        const bool enabled = (*peer_of(&client.device[d], far) & CLIENT_ENABLED) != 0;
        weft_unlock(&client.reaching);
        if (enabled)
            result = client_call(&client.device[d], WEFT_CALL_context_synchronize, NULL, 0, NULL, 0,
                                 NULL);
    }
    return result;
}
