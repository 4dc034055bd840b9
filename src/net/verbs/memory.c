/* net/verbs/memory.c - see the header. */
#include "net/verbs/memory.h"

#include "base/say.h"
#include "net/verbs/state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { GENERATIONS = 1 << 10, START = 1 << 21 };

uint64_t weft_verbs_locked_limit(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_MEMLOCK, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

/* Registers memory to be written by the device: the host's, or a GPU's, as its driver gives it. */
static struct ibv_mr *map(struct weft_transport *t, void *base, size_t bytes, uint64_t address)
{
    const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    const bool later = weft_net_is_later(&t->open);
    uint64_t offset = 0;
    const int fd = later && t->dmabuf ? weft_net_dmabuf(&t->open, base, bytes, &offset) : -1;
    struct ibv_mr *mr = NULL;

    if (bytes == 0 || (later && fd < 0))
        return NULL;
    errno = ENOMEM;
    if (later)
        mr = ibv_reg_dmabuf_mr(t->pd, offset, bytes, address, fd, access);
    else if (bytes <= t->device.attr.max_mr_size)
        mr = ibv_reg_mr_iova(t->pd, base, bytes, address, access);
    if (mr == NULL)
        weft_say(WEFT_SAY_WARN,
                 "verbs: %s cannot map %zu bytes%s at %p: %s (a region of it may have %llu bytes, "
                 "RLIMIT_MEMLOCK is %llu); puts there go through host buffers, which is slower",
                 t->device.name, bytes, later ? " of device memory" : "", base, strerror(errno),
                 (unsigned long long)t->device.attr.max_mr_size,
                 (unsigned long long)weft_verbs_locked_limit());
    if (fd >= 0)
        close(fd); /* the registration holds it */
    return mr;
}

weft_status weft_verbs_reg(struct weft_transport *t, void *base, size_t bytes, uint64_t place[2],
                           void **mr)
{
    /* A name that has not been in use for long. */
    const uint64_t generation =
        __atomic_fetch_add(&t->generation, 1, __ATOMIC_RELAXED) % GENERATIONS;
    const uint64_t start = (uintptr_t)base & (START - 1);
    struct weft_verbs_region *r = malloc(sizeof(*r));

    if (r == NULL)
        return weft_err(WEFT_ERR_MEMORY, "verbs: no memory for a region");
    r->base = (uintptr_t)base;
    r->address = generation << 48 | start;
    r->mr = map(t, base, bytes, r->address);
    *mr = r->mr != NULL ? r : NULL;
    place[1] = 0;
    place[0] = r->mr != NULL ? (uint64_t)r->mr->rkey | generation << 32 | start << 42 : 0;
    if (r->mr == NULL)
        free(r);
    return WEFT_OK;
}

void weft_verbs_dereg(struct weft_transport *t, void *mr)
{
    struct weft_verbs_region *region = mr;

    (void)t;
    ibv_dereg_mr(region->mr);
    free(region);
}
