/*
 * net/ofi/memory.c - registered memory: this process's own, and what is known of the others'.
 *
 * Every region has weft's key (net/arrive.h), by which messages find it; where the provider writes
 * memory itself it has libfabric's, too. A peer learns the second by asking once, and sends
 * messages until it knows. A key is never used twice, so what was learnt does not become wrong.
 */
#include "net/ofi/inside.h"

#include "base/say.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static struct weft_ofi_local *find_local(struct weft_net *net, uint64_t key)
{
    for (uint32_t i = 0; i < net->locals_count; i++)
        if (net->locals[i].used && net->locals[i].key == key)
            return &net->locals[i];
    return NULL;
}

static struct weft_ofi_local *free_local(struct weft_net *net)
{
    for (uint32_t i = 0; i < net->locals_count; i++)
        if (!net->locals[i].used)
            return &net->locals[i];
    const uint32_t old = net->locals_count, count = old == 0 ? 16 : old * 2;
    struct weft_ofi_local *locals = realloc(net->locals, count * sizeof(*locals));
    if (locals == NULL)
        return NULL;
    memset(locals + old, 0, (count - old) * sizeof(*locals));
    net->locals = locals;
    net->locals_count = count;
    return &locals[old];
}

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
static void expose(struct weft_net *net, struct weft_ofi_local *local)
{
    uint64_t wanted;
    int error;

    if (!weft_ofi_secret_key(net, &wanted))
        return;
    error = weft_ofi_register(net, local->base, local->bytes,
                              FI_WRITE | FI_READ | FI_REMOTE_WRITE | FI_REMOTE_READ, wanted,
                              &local->mr);
    if (error != 0) {
        weft_say(WEFT_SAY_WARN,
                 "ofi: %s cannot register %zu bytes (%s): they are reached by messages, slower",
                 net->info->fabric_attr->prov_name, local->bytes, weft_ofi_error(error));
        return;
    }
    local->mr_key = fi_mr_key(local->mr);
}

weft_status weft_ofi_reg(struct weft_net *net, void *base, size_t bytes, uint64_t *key)
{
    uint64_t made;
    weft_status status = weft_arrive_reg(&net->arrive, base, bytes, &made);

    if (status != WEFT_OK)
        return status;
    weft_lock(&net->lock);
    struct weft_ofi_local *local = free_local(net);
    if (local != NULL) {
        *local = (struct weft_ofi_local){.key = made, .base = base, .bytes = bytes, .used = true};
        if (net->can.form != WEFT_OFI_NO_DATA && net->can.direct && bytes > 0)
            expose(net, local);
    }
    weft_unlock(&net->lock);
    if (local == NULL) {
        weft_arrive_dereg(&net->arrive, made);
        return weft_err(WEFT_ERR_MEMORY, "ofi: no memory for more than %u regions",
                        net->locals_count);
    }
    *key = made;
    return WEFT_OK;
}

void weft_ofi_dereg(struct weft_net *net, uint64_t key)
{
    weft_lock(&net->lock);
    struct weft_ofi_local *local = find_local(net, key);
    if (local != NULL) {
        if (local->mr != NULL)
            fi_close(&local->mr->fid);
        local->used = false;
    }
    weft_unlock(&net->lock);
    weft_arrive_dereg(&net->arrive, key);
}

void weft_ofi_memory_close(struct weft_net *net)
{
    for (uint32_t i = 0; i < net->locals_count; i++)
        if (net->locals[i].used && net->locals[i].mr != NULL)
            fi_close(&net->locals[i].mr->fid);
    free(net->locals);
    for (int p = 0; net->peers != NULL && p < net->open.processes; p++)
        free(net->peers[p].remotes);
}

void weft_ofi_describe(struct weft_net *net, uint64_t key, struct weft_ofi_place *place)
{
    const struct weft_ofi_local *local = find_local(net, key);

    memset(place, 0, sizeof(*place));
    if (local == NULL)
        return;
    place->address = (uintptr_t)local->base;
    place->bytes = local->bytes;
    place->exposed = local->mr != NULL;
    place->mr_key = local->mr_key;
}

bool weft_ofi_descriptor(struct weft_net *net, const void *base, size_t bytes, void **descriptor)
{
    const uintptr_t at = (uintptr_t)base;

    *descriptor = NULL;
    if (!net->can.local_mr)
        return true;
    for (uint32_t i = 0; i < net->locals_count; i++) {
        const struct weft_ofi_local *l = &net->locals[i];
        if (l->used && l->mr != NULL && at >= (uintptr_t)l->base && bytes <= l->bytes &&
            at - (uintptr_t)l->base <= l->bytes - bytes) {
            *descriptor = fi_mr_desc(l->mr);
            return true;
        }
    }
    return false;
}

static struct weft_ofi_remote *find_remote(const struct weft_ofi_peer *peer, uint64_t key)
{
    for (int i = 0; peer->remotes != NULL && i < WEFT_OFI_REMOTES; i++)
        if (peer->remotes[i].key == key)
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
    if (peer->remotes == NULL) {
        peer->remotes = calloc(WEFT_OFI_REMOTES, sizeof(*peer->remotes));
        for (int i = 0; peer->remotes != NULL && i < WEFT_OFI_REMOTES; i++)
            peer->remotes[i].key = UINT64_MAX; /* nobody's */
    }
    if (peer->remotes == NULL || key == UINT64_MAX ||
        !weft_ofi_send(net, process, &header, NULL, 0))
        return NULL; /* another time */
    remote = &peer->remotes[peer->remotes_next++ % WEFT_OFI_REMOTES];
    *remote = (struct weft_ofi_remote){.key = key};
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
