/*
 * remote/client/module.c - code: an image goes to a server when one of its kernels or variables is
 * first used there. Any thread calls it; loading has a lock of its own.
 */
#include "base/say.h"
#include "remote/client/inside.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Over what servers know of libraries and kernels: a load takes long, and others wait for it. */
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

/* ---- images ---------------------------------------------------------------------------------- */

CUresult client_library_load(CUlibrary *library, const void *code, CUjit_option *jit,
                             void **jit_values, unsigned jit_count, CUlibraryOption *options,
                             void **values, unsigned count)
{
    const uint64_t bytes = weft_image_bytes(code);

    (void)jit, (void)jit_values, (void)jit_count, (void)options, (void)values, (void)count;
    if (bytes == 0)
        return CUDA_ERROR_INVALID_IMAGE;
    struct client_library *l = calloc(1, sizeof(*l));
    if (l == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    l->image = code;
    l->bytes = bytes;
    *library = (CUlibrary)(void *)l;
    return CUDA_SUCCESS;
}

/* Sends a library to a device's server, once. `loading` is held. */
static CUresult load(const struct client_device *device, struct client_library *library)
{
    uint64_t *handle = &library->handles[device->known.process];
    struct client_call answer = {0};
    CUresult result = CUDA_SUCCESS;

    if (*handle != 0)
        return CUDA_SUCCESS;
    for (uint64_t done = 0; done < library->bytes && result == CUDA_SUCCESS;
         done += WEFT_IMAGE_PIECE) {
        const uint64_t words[] = {library->bytes, done}, left = library->bytes - done;
        const char *piece = (const char *)library->image + done;
        result =
            left > WEFT_IMAGE_PIECE
                ? client_post(device, WEFT_CALL_load, words, 2, piece, WEFT_IMAGE_PIECE)
                : client_call(device, WEFT_CALL_load, words, 2, piece, (uint32_t)left, &answer);
    }
    if (result == CUDA_ERROR_NO_BINARY_FOR_GPU || result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
        weft_say(WEFT_SAY_ERROR,
                 "server %s has no code for its device of compute capability %d.%d: %s",
                 client.server[device->known.process].name,
                 device->known.facts.attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR],
                 device->known.facts.attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR],
                 weft_cuda_error(result)->text);
    if (result == CUDA_SUCCESS)
        *handle = answer.words[0];
    return result;
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* Checks the layout that a server gave, and takes it. */
static CUresult take_layout(struct client_kernel *kernel, const struct weft_parameter *parameters,
                            const struct client_call *answer)
{
    const uint32_t count = (uint32_t)answer->words[1];
    uint32_t bytes = 0;

    if (answer->count != 2 || answer->words[1] > WEFT_KERNEL_PARAMETERS ||
        answer->got != count * sizeof(*parameters))
        return CUDA_ERROR_UNKNOWN;
    for (uint32_t i = 0; i < count; i++) {
        if (parameters[i].offset > WEFT_PARAMETERS || parameters[i].bytes > WEFT_PARAMETERS)
            return CUDA_ERROR_UNKNOWN;
        const uint32_t end = parameters[i].offset + parameters[i].bytes;
        bytes = end > bytes ? end : bytes;
    }
    if (bytes > WEFT_PARAMETERS ||
        (kernel->parameters != NULL && (count != kernel->count || bytes != kernel->bytes)))
        return CUDA_ERROR_UNKNOWN;
    if (kernel->parameters == NULL) {
        kernel->parameters = calloc(count + 1, sizeof(*parameters));
        if (kernel->parameters == NULL)
            return CUDA_ERROR_OUT_OF_MEMORY;
        memcpy(kernel->parameters, parameters, count * sizeof(*parameters));
        kernel->count = count;
        kernel->bytes = bytes;
    }
    return CUDA_SUCCESS;
}

/* Finds the kernel's handle at a device's server. `loading` is held. */
static CUresult find_there(const struct client_device *device, struct client_kernel *kernel)
{
    static struct weft_parameter parameters[WEFT_KERNEL_PARAMETERS];
    struct client_call answer = {.extra = parameters, .room = sizeof(parameters)};
    CUresult result = load(device, kernel->library);

    if (result == CUDA_SUCCESS)
        result =
            client_call(device, WEFT_CALL_kernel, &kernel->library->handles[device->known.process],
                        1, kernel->name, (uint32_t)strlen(kernel->name), &answer);
    if (result == CUDA_SUCCESS)
        result = take_layout(kernel, parameters, &answer);
    if (result == CUDA_SUCCESS)
        __atomic_store_n(&kernel->on[device - client.device].handle, answer.words[0],
                         __ATOMIC_RELEASE);
    return result;
}

struct client_function *client_function_on(const struct client_device *device, CUfunction function)
{
    return &((struct client_kernel *)(void *)function)->on[device - client.device];
}

CUresult client_function(const struct client_device *device, CUfunction function, uint64_t *handle)
{
    CUresult result = CUDA_SUCCESS;

    if (function == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    const struct client_function *on = client_function_on(device, function);
    *handle = __atomic_load_n(&on->handle, __ATOMIC_ACQUIRE);
    if (*handle != 0)
        return CUDA_SUCCESS;
    pthread_mutex_lock(&loading);
    if (on->handle == 0)
        result = find_there(device, (struct client_kernel *)(void *)function);
    *handle = on->handle;
    pthread_mutex_unlock(&loading);
    return result;
}

CUresult client_library_kernel(CUkernel *result, CUlibrary library, const char *name)
{
    const size_t bytes = strlen(name) + 1;
    struct client_kernel *kernel =
        bytes < WEFT_NAME_MOST ? calloc(1, sizeof(*kernel) + bytes) : NULL;

    if (kernel == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    kernel->library = (struct client_library *)(void *)library;
    memcpy(kernel->name, name, bytes);
    *result = (CUkernel)(void *)kernel;
    return CUDA_SUCCESS;
}

/* Gives a kernel's function, and notes what its launches may have. The runtime calls it once for
 * each context of a device. */
CUresult client_kernel_function(CUfunction *function, CUkernel kernel)
{
    int threads = 0, shared = 0;

    *function = (CUfunction)(void *)kernel;
    CUresult result =
        client_function_attribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, *function);
    if (result == CUDA_SUCCESS)
        result = client_function_attribute(&shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                           *function);
    if (result == CUDA_SUCCESS) {
        client_function_on(client_now(), *function)->threads = threads;
        client_function_on(client_now(), *function)->shared = shared;
    }
    return result;
}

CUresult client_library_global(CUdeviceptr *address, size_t *bytes, CUlibrary handle,
                               const char *name)
{
    struct client_library *library = (struct client_library *)(void *)handle;
    struct client_device *device = client_now();
    struct client_call answer = {0};

    if (device == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    pthread_mutex_lock(&loading);
    CUresult result = load(device, library);
    pthread_mutex_unlock(&loading);
    if (result == CUDA_SUCCESS)
        result = client_call(device, WEFT_CALL_global, &library->handles[device->known.process], 1,
                             name, (uint32_t)strlen(name), &answer);
    weft_lock(&client.lock);
    if (result == CUDA_SUCCESS &&
        (answer.count != 2 || answer.words[1] == 0 ||
         answer.words[0] + answer.words[1] < answer.words[0] ||
         !weft_ranges_add(&device->globals, answer.words[0], answer.words[1]) ||
         !weft_ranges_has(&device->globals, answer.words[0], answer.words[1])))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    weft_unlock(&client.lock);
    if (result == CUDA_SUCCESS) {
        *address = answer.words[0];
        if (bytes != NULL)
            *bytes = answer.words[1];
    }
    return result;
}

/* ---- launches -------------------------------------------------------------------------------- */

static uint64_t threads_of(const CUlaunchConfig *c)
{
    return (uint64_t)c->blockDimX * c->blockDimY * c->blockDimZ;
}

/* Checks a launch: what none of that kernel may have is told at once, also where it has to wait for
 * its turn. */
static CUresult check(const struct client_device *device, CUfunction function,
                      const CUlaunchConfig *c)
{
    const struct client_function *on = client_function_on(device, function);
    const int processors = device->known.facts.attributes[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT];
    const uint64_t blocks = (uint64_t)c->gridDimX * c->gridDimY * c->gridDimZ;
    int each = 0;

    if (c->sharedMemBytes > (unsigned)__atomic_load_n(&on->shared, __ATOMIC_RELAXED))
        return CUDA_ERROR_INVALID_VALUE;
    if (c->numAttrs == 0 || blocks <= (uint64_t)processors) /* else it is cooperative */
        return CUDA_SUCCESS;
    const CUresult result =
        client_occupancy_blocks(&each, function, (int)threads_of(c), c->sharedMemBytes, 0);
    return result == CUDA_SUCCESS && blocks > (uint64_t)each * (uint64_t)processors
               ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
               : result;
}

CUresult client_launch(const CUlaunchConfig *config, CUfunction function, void **parameters,
                       void **extra)
{
    const struct client_kernel *kernel = (void *)function;
    struct client_route route = {client_now(), false};
    unsigned char packed[WEFT_PARAMETERS];
    struct client_call answer = {0};
    uint64_t handle = 0;

    CUresult result =
        extra != NULL ? CUDA_ERROR_NOT_SUPPORTED : client_route_stream(&route, config->hStream);
    if (result == CUDA_SUCCESS && route.device != client_now())
        result = CUDA_ERROR_INVALID_HANDLE; /* a stream of another device */
    if (result == CUDA_SUCCESS)
        result = client_function(route.device, function, &handle);
    if (result != CUDA_SUCCESS)
        return result;
    const bool many =
        threads_of(config) > (uint64_t)client_function_on(route.device, function)->threads;
    if (!many && (result = check(route.device, function, config)) != CUDA_SUCCESS)
        return result;
    if (kernel->count != 0 && parameters == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    for (uint32_t i = 0; i < kernel->count; i++)
        memcpy(packed + kernel->parameters[i].offset, parameters[i], kernel->parameters[i].bytes);
    const uint64_t words[] = {handle,
                              (uint64_t)config->gridDimY << 32 | config->gridDimX,
                              (uint64_t)config->blockDimX << 32 | config->gridDimZ,
                              (uint64_t)config->blockDimZ << 32 | config->blockDimY,
                              (uint64_t)(config->numAttrs != 0) << 32 | config->sharedMemBytes,
                              WORD(config->hStream)};
    return client_work(route.device, WEFT_CALL_launch, words, 6, packed, kernel->bytes,
                       many ? &answer : NULL); /* the driver refuses it, and says how */
}

CUresult client_launch_host(CUstream stream, CUhostFn run, void *argument)
{
    struct client_route route = {client_now(), false};
    CUresult result = client_route_stream(&route, stream);
    uint32_t number = 0;

    if (result == CUDA_SUCCESS)
        result = client_number(&(struct client_copy){.run = run,
                                                     .argument = argument,
                                                     .process = route.device->known.process},
                               &number);
    return result == CUDA_SUCCESS ? CLIENT_POST(route.device, gate, number, WORD(stream), 0)
                                  : result;
}
