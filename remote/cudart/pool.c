/*
 * remote/cudart/pool.c - memory pools of the program's own. A device's memory is one arena, which
 * gives back what is freed at once; so a pool is a name for it, with what the program set. Any
 * thread.
 */
#include "remote/cudart/inside.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct CUmemPoolHandle_st {
    int device;
    uint64_t values[cudaMemPoolAttrReleaseThreshold + 1]; /* by attribute */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct CUmemPoolHandle_st defaults[CUDART_DEVICES];
static cudaMemPool_t current[CUDART_DEVICES]; /* NULL: the default one */

static cudaError_t find_pool(cudaMemPool_t *pool, int device, bool chosen)
{
    NEED(cudart_find);
    if (pool == NULL || !cudart_is_device(device))
        return cudart_done(pool == NULL ? cudaErrorInvalidValue : cudaErrorInvalidDevice);
    pthread_mutex_lock(&lock);
    defaults[device].device = device;
    *pool = chosen && current[device] != NULL ? current[device] : &defaults[device];
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

ALIAS(cudaDeviceGetDefaultMemPool, (cudaMemPool_t * pool, int device),
      find_pool(pool, device, false))
ALIAS(cudaDeviceGetMemPool, (cudaMemPool_t * pool, int device), find_pool(pool, device, true))

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool)
{
    NEED(cudart_find);
    if (pool == NULL || !cudart_is_device(device) || pool->device != device)
        return cudart_done(cudaErrorInvalidValue);
    pthread_mutex_lock(&lock);
    current[device] = pool;
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *properties)
{
    NEED(cudart_find);
    if (pool == NULL || properties == NULL || properties->allocType != cudaMemAllocationTypePinned)
        return cudart_done(cudaErrorInvalidValue);
    if (properties->handleTypes != cudaMemHandleTypeNone ||
        properties->location.type != cudaMemLocationTypeDevice)
        return cudart_driver_done(
            WEFT_CUDA_REFUSE("a pool of the host's, or for other processes", "memory-pools"));
    if (!cudart_is_device(properties->location.id))
        return cudart_done(cudaErrorInvalidDevice);
    cudaMemPool_t made = calloc(1, sizeof(*made));
    if (made == NULL)
        return cudart_done(cudaErrorMemoryAllocation);
    made->device = properties->location.id;
    *pool = made;
    return cudaSuccess;
}

/* Ends a pool. What was allocated from it stays. */
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
    if (pool == NULL || pool == &defaults[pool->device])
        return cudart_done(cudaErrorInvalidValue);
    pthread_mutex_lock(&lock);
    if (current[pool->device] == pool)
        current[pool->device] = NULL;
    pthread_mutex_unlock(&lock);
    free(pool);
    return cudaSuccess;
}

/* Allocates from a pool, perhaps of another device than the stream's. */
cudaError_t cudaMallocFromPoolAsync(void **memory, size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t stream)
{
    const int before = cudart_thread()->device;

    if (pool == NULL)
        return cudart_done(cudaErrorInvalidValue);
    if (pool->device == before)
        return cudaMallocAsync(memory, bytes, stream);
    cudart_thread()->device = pool->device;
    const cudaError_t error = cudaMalloc(memory, bytes);
    cudart_thread()->device = before;
    return error;
}

/* Does nothing, since a pool keeps no memory. */
ALIAS(cudaMemPoolTrimTo, (cudaMemPool_t pool, size_t keep __attribute__((unused))),
      cudart_done(pool != NULL ? cudaSuccess : cudaErrorInvalidValue))

/* Defines an attribute call. What is used, and how much was at most, no pool knows. */
#define ATTRIBUTE(name, to, from)                                                                  \
    cudaError_t name(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)              \
    {                                                                                              \
        if (pool == NULL || value == NULL || attribute < cudaMemPoolReuseFollowEventDependencies)  \
            return cudart_done(cudaErrorInvalidValue);                                             \
        if (attribute > cudaMemPoolAttrReleaseThreshold)                                           \
            return cudart_driver_done(                                                             \
                WEFT_CUDA_REFUSE("a pool's share of memory", "memory-pools"));                     \
        memcpy(to, from,                                                                           \
               attribute == cudaMemPoolAttrReleaseThreshold ? sizeof(uint64_t) : sizeof(int));     \
        return cudaSuccess;                                                                        \
    }
ATTRIBUTE(cudaMemPoolSetAttribute, &pool->values[attribute], value)
ATTRIBUTE(cudaMemPoolGetAttribute, value, &pool->values[attribute])

/* Lets a device reach all memory of another, not a pool's; what it was let it keeps. */
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *list,
                                 size_t count)
{
    cudaError_t error = pool == NULL || list == NULL ? cudaErrorInvalidValue : cudaSuccess;
    struct cudart_thread *thread = cudart_thread();
    const int before = thread->device;
    const cudaError_t last = thread->last;

    for (size_t i = 0; i < count && error == cudaSuccess; i++) {
        const int device = list[i].location.id;
        if (device == pool->device || list[i].flags == cudaMemAccessFlagsProtNone)
            continue;
        thread->device = cudart_is_device(device) ? device : pool->device;
        error = cudaDeviceEnablePeerAccess(pool->device, 0);
        thread->device = before;
        if (error == cudaErrorPeerAccessAlreadyEnabled) {
            thread->last = last;
            error = cudaSuccess;
        }
    }
    return cudart_done(error);
}
