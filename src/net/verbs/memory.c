/* net/verbs/memory.c - see the header. */
#include "net/verbs/memory.h"

#include "base/say.h"
#include "net/verbs/device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { GENERATIONS = 1 << 10, START = 1 << 21 };

struct weft_verbs_exposure {
    unsigned char *base; /* NULL: free */
    size_t bytes;
    struct ibv_mr *mr; /* NULL: by message */
    uint64_t key, region;
    uint64_t address; /* the device's name for `base` */
};

static uint64_t locked_limit(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_MEMLOCK, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

/* A free place in the list; NULL: no memory. Lock held. */
static struct weft_verbs_exposure *free_place(struct weft_verbs_memory *memory)
{
    for (uint32_t i = 0; i < memory->count; i++)
        if (memory->list[i].base == NULL)
            return &memory->list[i];
    const uint32_t count = memory->count == 0 ? 16 : memory->count * 2;
    struct weft_verbs_exposure *list = realloc(memory->list, count * sizeof(*list));
    if (list == NULL)
        return NULL;
    memset(list + memory->count, 0, (count - memory->count) * sizeof(*list));
    struct weft_verbs_exposure *place = &list[memory->count];
    memory->list = list;
    memory->count = count;
    return place;
}

/* Memory of a GPU, as its driver hands it to other devices. */
static struct ibv_mr *map_dmabuf(struct weft_verbs_memory *memory, void *base, size_t bytes,
                                 uint64_t address)
{
    uint64_t offset = 0;
    const int fd = memory->dmabuf ? weft_arrive_dmabuf(memory->arrive, base, bytes, &offset) : -1;

    if (fd < 0)
        return NULL;
    struct ibv_mr *mr = ibv_reg_dmabuf_mr(memory->pd, offset, bytes, address, fd,
                                          IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    if (mr == NULL)
        weft_say(WEFT_SAY_WARN,
                 "verbs: %s cannot map %zu bytes of device memory at %p: %s; puts there go through "
                 "host buffers",
                 memory->device->name, bytes, base, strerror(errno));
    close(fd); /* the registration holds it */
    __atomic_add_fetch(&memory->dmabufs, mr != NULL, __ATOMIC_RELEASE);
    return mr;
}

/* Lets the device write the memory, under a name that has not been in use for long. Lock held. */
static struct ibv_mr *map(struct weft_verbs_memory *memory, void *base, size_t bytes,
                          uint64_t *address)
{
    const uint64_t generation = memory->generation++ % GENERATIONS;
    struct ibv_mr *mr = NULL;

    *address = generation << 48 | ((uintptr_t)base & (START - 1));
    if (bytes == 0)
        return NULL;
    if (memory->by_message)
        return map_dmabuf(memory, base, bytes, *address);
    errno = ENOMEM;
    if (bytes <= memory->device->attr.max_mr_size)
        mr = ibv_reg_mr_iova(memory->pd, base, bytes, *address,
                             IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    if (mr == NULL)
        weft_say(WEFT_SAY_WARN,
                 "verbs: %s cannot map %zu bytes at %p: %s (a region of it may have %llu bytes, "
                 "RLIMIT_MEMLOCK is %llu); puts there go through host buffers, which is slower",
                 memory->device->name, bytes, base, strerror(errno),
                 (unsigned long long)memory->device->attr.max_mr_size,
                 (unsigned long long)locked_limit());
    return mr;
}

weft_status weft_verbs_memory_add(struct weft_verbs_memory *memory, void *base, size_t bytes,
                                  uint64_t *key)
{
    static unsigned char nothing; /* stands for the address of a window without memory */
    uint64_t region, address;
    weft_status status = weft_arrive_reg(memory->arrive, base, bytes, &region);

    if (status != WEFT_OK)
        return status;
    weft_lock(&memory->lock);
    struct weft_verbs_exposure *place = free_place(memory);
    if (place != NULL) {
        struct ibv_mr *mr = map(memory, base, bytes, &address);
        *key = mr != NULL
                   ? (uint64_t)mr->rkey | (address >> 48) << 32 | (address & (START - 1)) << 42
                   : WEFT_VERBS_BY_MESSAGE | region;
        *place = (struct weft_verbs_exposure){
            base != NULL ? base : &nothing, bytes, mr, *key, region, address};
    }
    weft_unlock(&memory->lock);
    if (place != NULL)
        return WEFT_OK;
    weft_arrive_dereg(memory->arrive, region);
    return weft_err(WEFT_ERR_MEMORY, "verbs: no memory for more than %u windows", memory->count);
}

/*
 * The device writes nothing there any more when ibv_dereg_mr returns, and the receiver's thread
 * nothing when weft_arrive_dereg does.
 */
void weft_verbs_memory_drop(struct weft_verbs_memory *memory, uint64_t key)
{
    weft_lock(&memory->lock);
    for (uint32_t i = 0; i < memory->count; i++) {
        struct weft_verbs_exposure *e = &memory->list[i];
        if (e->base == NULL || e->key != key)
            continue;
        if (e->mr != NULL)
            ibv_dereg_mr(e->mr);
        weft_arrive_dereg(memory->arrive, e->region);
        e->base = NULL;
        break;
    }
    weft_unlock(&memory->lock);
}

void weft_verbs_memory_free(struct weft_verbs_memory *memory)
{
    for (uint32_t i = 0; i < memory->count; i++)
        if (memory->list[i].base != NULL && memory->list[i].mr != NULL)
            ibv_dereg_mr(memory->list[i].mr);
    free(memory->list);
}

uint64_t weft_verbs_memory_region(struct weft_verbs_memory *memory, uint64_t key)
{
    uint64_t region = key | WEFT_VERBS_BY_MESSAGE;

    if ((key & WEFT_VERBS_BY_MESSAGE) != 0)
        return key & ~WEFT_VERBS_BY_MESSAGE;
    weft_lock(&memory->lock);
    for (uint32_t i = 0; i < memory->count; i++)
        if (memory->list[i].base != NULL && memory->list[i].key == key)
            region = memory->list[i].region;
    weft_unlock(&memory->lock);
    return region;
}

bool weft_verbs_memory_find(struct weft_verbs_memory *memory, const void *source, size_t bytes,
                            uint64_t *address, uint32_t *lkey)
{
    const uintptr_t at = (uintptr_t)source;
    bool found = false;

    weft_lock(&memory->lock);
    for (uint32_t i = 0; i < memory->count && !found; i++) {
        const struct weft_verbs_exposure *e = &memory->list[i];
        const uintptr_t base = (uintptr_t)e->base;
        found = e->base != NULL && e->mr != NULL && at >= base && at - base <= e->bytes &&
                bytes <= e->bytes - (at - base);
        if (found) {
            *address = e->address + (at - base);
            *lkey = e->mr->lkey;
        }
    }
    weft_unlock(&memory->lock);
    return found;
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
    if (mr != NULL)
        ibv_dereg_mr(mr);
    free(memory);
}

weft_status weft_verbs_slots_open(struct weft_verbs_slots *slots, struct ibv_pd *pd, uint32_t count,
                                  uint32_t bytes)
{
    void *memory;

    slots->free = malloc(count * sizeof(*slots->free));
    if (slots->free == NULL)
        return weft_err(WEFT_ERR_MEMORY, "verbs: no memory for %u slots", count);
    slots->mr = weft_verbs_alloc(pd, (size_t)count * bytes, IBV_ACCESS_LOCAL_WRITE, &memory);
    if (slots->mr == NULL)
        return WEFT_ERR_MEMORY;
    slots->memory = memory;
    slots->bytes = bytes;
    slots->count = slots->left = count;
    for (uint32_t i = 0; i < count; i++)
        slots->free[i] = (int32_t)i;
    return WEFT_OK;
}

void weft_verbs_slots_close(struct weft_verbs_slots *slots)
{
    weft_verbs_release(slots->mr, slots->memory);
    free(slots->free);
}
