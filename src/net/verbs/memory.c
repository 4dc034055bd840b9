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

static uint64_t locked_limit(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_MEMLOCK, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

/* Memory of a GPU, as its driver hands it to other devices. */
static struct ibv_mr *map_dmabuf(struct weft_transport *t, void *base, size_t bytes,
                                 uint64_t address)
{
    uint64_t offset = 0;
    const int fd = t->dmabuf ? weft_net_dmabuf(&t->open, base, bytes, &offset) : -1;

    if (fd < 0)
        return NULL;
    struct ibv_mr *mr = ibv_reg_dmabuf_mr(t->pd, offset, bytes, address, fd,
                                          IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    if (mr == NULL)
        weft_say(WEFT_SAY_WARN,
                 "verbs: %s cannot map %zu bytes of device memory at %p: %s; puts there go through "
                 "host buffers",
                 t->device.name, bytes, base, strerror(errno));
    close(fd); /* the registration holds it */
    return mr;
}

/* Lets the device write the memory, under a name that has not been in use for long. */
static struct ibv_mr *map(struct weft_transport *t, void *base, size_t bytes, uint64_t *address)
{
    const uint64_t generation =
        __atomic_fetch_add(&t->generation, 1, __ATOMIC_RELAXED) % GENERATIONS;
    struct ibv_mr *mr = NULL;

    *address = generation << 48 | ((uintptr_t)base & (START - 1));
    if (bytes == 0)
        return NULL;
    if (weft_net_is_later(&t->open))
        return map_dmabuf(t, base, bytes, *address);
    errno = ENOMEM;
    if (bytes <= t->device.attr.max_mr_size)
        mr = ibv_reg_mr_iova(t->pd, base, bytes, *address,
                             IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    if (mr == NULL)
        weft_say(WEFT_SAY_WARN,
                 "verbs: %s cannot map %zu bytes at %p: %s (a region of it may have %llu bytes, "
                 "RLIMIT_MEMLOCK is %llu); puts there go through host buffers, which is slower",
                 t->device.name, bytes, base, strerror(errno),
                 (unsigned long long)t->device.attr.max_mr_size,
                 (unsigned long long)locked_limit());
    return mr;
}

weft_status weft_verbs_reg(struct weft_transport *t, void *base, size_t bytes, uint64_t place[2],
                           void **mr)
{
    struct weft_verbs_region *r = malloc(sizeof(*r));

    if (r == NULL)
        return weft_err(WEFT_ERR_MEMORY, "verbs: no memory for a region");
    r->base = (uintptr_t)base;
    r->mr = map(t, base, bytes, &r->address);
    *mr = r->mr != NULL ? r : NULL;
    place[0] = place[1] = 0;
    if (r->mr != NULL)
        place[0] =
            (uint64_t)r->mr->rkey | (r->address >> 48) << 32 | (r->address & (START - 1)) << 42;
    else
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

struct ibv_mr *weft_verbs_alloc(struct ibv_pd *pd, size_t bytes, int access, void **memory)
{
    int error = posix_memalign(memory, (size_t)sysconf(_SC_PAGESIZE), bytes);

    if (error == 0) {
        memset(*memory, 0, bytes);
        struct ibv_mr *mr = ibv_reg_mr(pd, *memory, bytes, access);
        if (mr != NULL)
            return mr;
        error = errno;
        free(*memory);
    }
    weft_err_say(WEFT_ERR_MEMORY,
                 "verbs: no %zu bytes of memory for buffers: %s (RLIMIT_MEMLOCK is %llu)", bytes,
                 strerror(error), (unsigned long long)locked_limit());
    *memory = NULL;
    return NULL;
}

void weft_verbs_release(struct ibv_mr *mr, void *memory)
{
    WEFT_VERBS_CLOSE(ibv_dereg_mr, mr);
    free(memory);
}
