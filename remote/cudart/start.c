/* remote/cudart/start.c - finds the driver, keeps contexts, and what a thread remembers. */
#include "base/config.h"
#include "base/fork.h"
#include "base/say.h"
#include "base/task.h"
#include "remote/client/client.h"
#include "remote/cudart/inside.h"

#include <pthread.h>

static const struct weft_cuda_table *table;
static cudaError_t why_not = cudaErrorInitializationError;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int devices;
static uint32_t born; /* weft_forks, when the driver was opened */

static _Thread_local struct cudart_thread thread;

struct cudart_thread *cudart_thread(void)
{
    return &thread;
}

cudaError_t cudart_done(cudaError_t error)
{
    if (error != cudaSuccess)
        thread.last = error;
    return error;
}

void weft_cudart_use(const struct weft_cuda_table *chosen)
{
    table = chosen;
}

/* ---- the driver ------------------------------------------------------------------------------ */

static void start(void)
{
    struct weft_config config;

    born = weft_forks;
    if (table == NULL) {
        if (weft_config_load(&config, NULL, NULL) != WEFT_OK)
            return;
        weft_say_level((enum weft_level)config.log);
        if (config.remote_driver[0] != 0)
            table = weft_table_open(config.remote_driver);
        else if (weft_client_open(&table, &config) != WEFT_OK) /* which has said why */
            why_not =
                config.remote_servers[0] == 0 ? cudaErrorNoDevice : cudaErrorDevicesUnavailable;
    }
    if (table == NULL)
        return;
    why_not = (cudaError_t)table->init(0);
    if (why_not == cudaSuccess)
        why_not = (cudaError_t)table->device_count(&devices);
    if (why_not == cudaSuccess && devices > CUDART_DEVICES)
        devices = CUDART_DEVICES;
}

cudaError_t cudart_find(const struct weft_cuda_table **driver)
{
    pthread_once(&once, start);
    if (why_not != cudaSuccess)
        return why_not;
    if (thread.callback != NULL && thread.callback == weft_task_local()) /* not only its thread */
        return cudaErrorNotPermitted;
    if (weft_forks != born) /* the child has the memory, but no connection of its own */
        return cudaErrorInitializationError;
    *driver = table;
    return cudaSuccess;
}

int cudart_devices(void)
{
    return devices;
}

/* ---- contexts -------------------------------------------------------------------------------- */

cudaError_t cudart_context(int device, CUcontext *context)
{
    return cudart_is_device(device) ? (cudaError_t)table->context_retain(context, device)
                                    : cudaErrorInvalidDevice;
}

unsigned cudart_age(int device, unsigned more)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static unsigned ages[CUDART_DEVICES];

    pthread_mutex_lock(&lock);
    const unsigned age = ages[device] += more;
    pthread_mutex_unlock(&lock);
    return age;
}

cudaError_t cudart_enter(const struct weft_cuda_table **driver)
{
    CUcontext context;
    cudaError_t error = cudart_find(driver);

    if (error != cudaSuccess)
        return error;
    if (devices == 0)
        return cudaErrorNoDevice;
    if (thread.bound == thread.device + 1)
        return cudaSuccess;
    error = cudart_context(thread.device, &context);
    if (error == cudaSuccess)
        error = (cudaError_t)table->context_use(context);
    if (error == cudaSuccess)
        thread.bound = thread.device + 1;
    return error;
}
