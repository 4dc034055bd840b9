/* net/ofi/memory.c - memory registered with the provider: windows, and that of packets. */
#include "net/ofi/inside.h"

#include "base/say.h"

#include <stdlib.h>
#include <sys/random.h>

/* 0, or libfabric's error. Lock held. */
static int register_with(struct weft_transport *t, void *base, size_t bytes, uint64_t access,
                         uint64_t wanted_key, struct fid_mr **mr)
{
    struct fid_mr *made = NULL;
    int error = fi_mr_reg(t->domain, base, bytes, access, 0, wanted_key, 0, &made, NULL);

    if (error == 0 && t->can.bind_mr) {
        error = fi_mr_bind(made, &t->ep->fid, 0);
        if (error == 0)
            error = fi_mr_enable(made);
        if (error != 0)
            fi_close(&made->fid);
    }
    if (error == 0)
        *mr = made;
    return error;
}

/* ---- windows --------------------------------------------------------------------------------- */

/* A key that a stranger does not guess, below 2^63, where the provider lets us choose. */
static bool secret_key(const struct weft_transport *t, uint64_t *key)
{
    const size_t bytes = t->info->domain_attr->mr_key_size;

    *key = 0;
    const bool drawn = !t->can.own_keys || getrandom(key, bytes, 0) == (ssize_t)bytes;
    *key &= ~WEFT_PEER_PLACED;
    return drawn;
}

/* Windows that are not the host's memory, and what cannot be registered, are reached by packets.
 * The latter is said. */
weft_status weft_ofi_reg(struct weft_transport *t, void *base, size_t bytes, uint64_t place[2],
                         void **mr)
{
    struct fid_mr *made = NULL;
    uint64_t wanted;
    int error = 0;

    if (bytes == 0 || weft_net_is_later(&t->open) || !secret_key(t, &wanted))
        return WEFT_OK;
    weft_lock(&t->lock);
    error = register_with(t, base, bytes, FI_WRITE | FI_REMOTE_WRITE, wanted, &made);
    weft_unlock(&t->lock);
    if (error != 0) {
        weft_say(WEFT_SAY_WARN,
                 "ofi: %s cannot register %zu bytes (%s): packets reach them, slower",
                 t->info->fabric_attr->prov_name, bytes, weft_ofi_error(error));
        return WEFT_OK;
    }
    *mr = made;
    place[0] = fi_mr_key(made);
    place[1] = t->can.virtual_addresses ? (uintptr_t)base : 0;
    return WEFT_OK;
}

void weft_ofi_dereg(struct weft_transport *t, void *mr)
{
    weft_lock(&t->lock);
    fi_close(&((struct fid_mr *)mr)->fid);
    weft_unlock(&t->lock);
}

/* ---- packets --------------------------------------------------------------------------------- */

static weft_status open_memory(struct weft_transport *t, struct weft_ofi_pool *pool, size_t bytes)
{
    int error = 0;

    pool->memory = aligned_alloc(4096, bytes);
    if (pool->memory == NULL)
        return weft_err(WEFT_ERR_MEMORY, "ofi: no %zu bytes for packets", bytes);
    weft_net_pin(&t->open, "ofi", pool->memory, bytes);
    if (t->can.local_mr)
        error = register_with(t, pool->memory, bytes, FI_SEND | FI_RECV, 0, &pool->mr);
    return error == 0 ? WEFT_OK : weft_ofi_failed(t, "memory of packets", error);
}

weft_status weft_ofi_pool_open(struct weft_transport *t, enum weft_ofi_kind kind, size_t count,
                               struct weft_ofi_op **list)
{
    const size_t each = kind == WEFT_OFI_SEND ? t->packet : t->takes;
    struct weft_ofi_pool *pool = calloc(1, sizeof(*pool) + count * sizeof(pool->ops[0]));

    if (pool == NULL)
        return weft_err(WEFT_ERR_MEMORY, "ofi: no memory for %zu packets or writes", count);
    pool->next = t->pools;
    t->pools = pool;
    const weft_status status =
        kind == WEFT_OFI_WRITE ? WEFT_OK : open_memory(t, pool, count * each);
    for (size_t i = 0; i < count && status == WEFT_OK; i++) {
        struct weft_ofi_op *op = &pool->ops[i];
        op->kind = kind;
        op->value = i;
        op->bytes = pool->memory != NULL ? pool->memory + i * each : NULL;
        op->descriptor = pool->mr != NULL ? fi_mr_desc(pool->mr) : NULL;
        if (list != NULL)
            weft_ofi_push(list, op);
    }
    return status;
}

void weft_ofi_pools_unregister(struct weft_transport *t)
{
    for (const struct weft_ofi_pool *pool = t->pools; pool != NULL; pool = pool->next)
        if (pool->mr != NULL)
            fi_close(&pool->mr->fid);
}

void weft_ofi_pools_close(struct weft_transport *t)
{
    while (t->pools != NULL) {
        struct weft_ofi_pool *pool = t->pools;
        t->pools = pool->next;
        weft_net_unpin(&t->open, pool->memory);
        free(pool->memory);
        free(pool);
    }
}
