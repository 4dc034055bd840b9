/*
 * net/ofi/memory.c - registered memory: this process's own, and what is known of the others'. A key
 * is never used twice, so what was learnt does not become wrong. Any thread, lock held.
 */
#include "net/ofi/inside.h"

#include "base/say.h"

#include <stdlib.h>
#include <sys/random.h>

int weft_ofi_register(struct weft_net *net, void *base, size_t bytes, uint64_t access,
                      uint64_t wanted_key, struct fid_mr **mr)
{
    struct fid_mr *made = NULL;
    int error = fi_mr_reg(net->domain, base, bytes, access, 0, wanted_key, 0, &made, NULL);

    if (error == 0 && net->can.bind_mr) {
        error = fi_mr_bind(made, &net->ep->fid, 0);
        if (error == 0)
            error = fi_mr_enable(made);
        if (error != 0)
            fi_close(&made->fid);
    }
    if (error == 0)
        *mr = made;
    return error;
}

bool weft_ofi_secret_key(const struct weft_net *net, uint64_t *key)
{
    const size_t bytes = net->info->domain_attr->mr_key_size;

    *key = 0;
    return !net->can.own_keys || getrandom(key, bytes, 0) == (ssize_t)bytes;
}

/* What cannot be registered is still reached by messages: slower, so it is said. */
static void expose(struct weft_net *net, void *base, size_t bytes, uint64_t key)
{
    struct fid_mr *mr;
    uint64_t wanted;

    if (!weft_ofi_secret_key(net, &wanted))
        return;
    const int error = weft_ofi_register(net, base, bytes, FI_WRITE | FI_REMOTE_WRITE, wanted, &mr);
    if (error == 0)
        weft_arrive_keep(&net->arrive, key, mr, 0);
    else
        weft_say(WEFT_SAY_WARN,
                 "ofi: %s cannot register %zu bytes (%s): they are reached by messages, slower",
                 net->info->fabric_attr->prov_name, bytes, weft_ofi_error(error));
}

weft_status weft_ofi_reg(struct weft_net *net, void *base, size_t bytes, bool own, uint64_t *key)
{
    weft_status status = weft_arrive_reg(&net->arrive, base, bytes, own, key);

    if (status == WEFT_OK && net->can.form != WEFT_OFI_NO_DATA && net->can.direct && bytes > 0) {
        weft_lock(&net->lock);
        expose(net, base, bytes, *key);
        weft_unlock(&net->lock);
    }
    return status;
}

void weft_ofi_dereg(struct weft_net *net, uint64_t key)
{
    weft_lock(&net->lock);
    struct fid_mr *mr = weft_arrive_dereg(&net->arrive, key);
    if (mr != NULL)
        fi_close(&mr->fid);
    weft_unlock(&net->lock);
}

void weft_ofi_memory_close(struct weft_net *net)
{
    struct fid_mr *mr;

    while ((mr = weft_arrive_left(&net->arrive)) != NULL)
        fi_close(&mr->fid);
    for (int p = 0; net->peers != NULL && p < net->open.processes; p++)
        free(net->peers[p].remotes);
}

void weft_ofi_describe(struct weft_net *net, uint64_t key, struct weft_ofi_place *place)
{
    struct weft_exposure region;

    *place = (struct weft_ofi_place){0};
    if (!weft_arrive_region(&net->arrive, key, &region))
        return;
    place->address = (uintptr_t)region.base;
    place->bytes = region.bytes;
    place->exposed = region.mr != NULL;
    place->mr_key = region.mr != NULL ? fi_mr_key(region.mr) : 0;
}

void weft_ofi_where(struct weft_net *net, uint64_t key, uint64_t place[2])
{
    struct weft_ofi_place it;

    weft_ofi_describe(net, key, &it);
    place[0] = it.exposed ? it.address : 0;
    place[1] = it.mr_key;
}

bool weft_ofi_descriptor(struct weft_net *net, const void *base, size_t bytes, void **descriptor)
{
    struct weft_exposure region;

    *descriptor = NULL;
    if (!net->can.local_mr)
        return true;
    if (!weft_arrive_around(&net->arrive, base, bytes, &region))
        return false;
    *descriptor = fi_mr_desc(region.mr);
    return true;
}

static struct weft_ofi_remote *find_remote(const struct weft_ofi_peer *peer, uint64_t key)
{
    for (int i = 0; peer->remotes != NULL && i < WEFT_OFI_REMOTES; i++)
        if (peer->remotes[i].asked && peer->remotes[i].key == key)
            return &peer->remotes[i];
    return NULL;
}

const struct weft_ofi_place *weft_ofi_remote(struct weft_net *net, int process, uint64_t key)
{
    struct weft_ofi_peer *peer = &net->peers[process];
    struct weft_ofi_header header = {.kind = WEFT_OFI_ASK, .key = key};
    struct weft_ofi_remote *remote = find_remote(peer, key);

    if (remote != NULL)
        return remote->known ? &remote->place : NULL;
    if (peer->remotes == NULL)
        peer->remotes = calloc(WEFT_OFI_REMOTES, sizeof(*peer->remotes));
    if (peer->remotes == NULL || !weft_ofi_send(net, process, &header, NULL, 0))
        return NULL; /* another time */
    remote = &peer->remotes[peer->remotes_next++ % WEFT_OFI_REMOTES];
    *remote = (struct weft_ofi_remote){.key = key, .asked = true};
    return NULL;
}

void weft_ofi_remote_told(struct weft_net *net, int process, uint64_t key,
                          const struct weft_ofi_place *place)
{
    struct weft_ofi_remote *remote = find_remote(&net->peers[process], key);

    if (remote == NULL)
        return; /* forgotten since */
    remote->place = *place;
    remote->known = true;
}
