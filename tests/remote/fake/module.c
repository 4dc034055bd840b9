/* fake/module.c - kernels by name, registered before calls; launches, lock held. */
#include "base/say.h"
#include "fake/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wunused-parameter" /* prototypes are CUDA's */

enum { KERNELS = 64, GLOBALS = 32 };

struct kernel {
    const char *name;
    void (*run)(const struct weft_fake_launch *launch);
    int parameters;
    size_t sizes[WEFT_FAKE_PARAMETERS];
    int shared; /* MAX_DYNAMIC_SHARED_SIZE_BYTES */
};

static struct kernel kernels[KERNELS];
static int kernel_count;
static struct {
    const char *name;
    size_t bytes;
    void *memory[WEFT_FAKE_DEVICES];
} globals[GLOBALS];
static int global_count;

static void add_kernel(const char *name, void (*run)(const struct weft_fake_launch *launch),
                       int parameters, const size_t *sizes)
{
    for (int i = 0; i < kernel_count; i++)
        if (strcmp(kernels[i].name, name) == 0)
            return;
    if (kernel_count == KERNELS || parameters > WEFT_FAKE_PARAMETERS) {
        weft_say(WEFT_SAY_ERROR, "the fake driver takes %d kernels of %d parameters, not %s",
                 KERNELS, WEFT_FAKE_PARAMETERS, name);
        abort();
    }
    struct kernel *kernel = &kernels[kernel_count++];
    *kernel = (struct kernel){.name = name, .run = run, .parameters = parameters};
    for (int i = 0; i < parameters; i++)
        kernel->sizes[i] = sizes[i];
}

static void add_global(const char *name, size_t bytes)
{
    if (global_count < GLOBALS) {
        globals[global_count].name = name;
        globals[global_count++].bytes = bytes;
    }
}

/* What kernels have printed. */
static struct {
    char *text;
    size_t bytes;
} printed[2];

static void print(int file, const char *text)
{
    const size_t bytes = strlen(text);

    weft_lock(&fake.lock);
    char **all = &printed[file - 1].text;
    char *longer = realloc(*all, printed[file - 1].bytes + bytes);
    if (longer == NULL)
        abort();
    memcpy(longer + printed[file - 1].bytes, text, bytes);
    *all = longer;
    printed[file - 1].bytes += bytes;
    weft_unlock(&fake.lock);
}

void fake_print(void)
{
    for (int i = 0; i < 2; i++) {
        if (printed[i].bytes != 0)
            fwrite(printed[i].text, 1, printed[i].bytes, i == 0 ? stdout : stderr);
        printed[i].bytes = 0;
    }
}

const struct weft_fake_registry weft_fake_registry = {
    .kernel = add_kernel, .global = add_global, .print = print, .texel = fake_texel};

/* ---- libraries ------------------------------------------------------------------------------- */

CUresult fake_library_load(CUlibrary *library, const void *code, CUjit_option *jit,
                           void **jit_values, unsigned jit_count, CUlibraryOption *options,
                           void **values, unsigned count)
{
    fake_begin();
    CUresult result = fake_fault("load", NULL);
    if (result == CUDA_SUCCESS && (code == NULL || weft_image_bytes(code) == 0))
        result = CUDA_ERROR_INVALID_IMAGE;
    void *memory = result == CUDA_SUCCESS ? malloc(1) : NULL;
    if (result == CUDA_SUCCESS && memory == NULL)
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS)
        *library = (CUlibrary)memory;
    return fake_end(result);
}

CUresult fake_library_unload(CUlibrary library)
{
    free((void *)library);
    return CUDA_SUCCESS;
}

CUresult fake_library_kernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    for (int i = 0; i < kernel_count; i++)
        if (strcmp(kernels[i].name, name) == 0) {
            *kernel = (CUkernel)&kernels[i];
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_NOT_FOUND;
}

static CUresult find_global(struct fake_device *device, const char *name, CUdeviceptr *address,
                            size_t *bytes)
{
    int at = 0;

    while (at < global_count && strcmp(globals[at].name, name) != 0)
        at++;
    if (at == global_count)
        return CUDA_ERROR_NOT_FOUND;
    void **memory = &globals[at].memory[device->known.number];
    const CUresult result =
        *memory == NULL ? fake_alloc_global(device, globals[at].bytes, memory) : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS)
        *address = (CUdeviceptr)*memory;
    if (result == CUDA_SUCCESS && bytes != NULL)
        *bytes = globals[at].bytes;
    return result;
}

FAKE_CALL(library_global,
          (CUdeviceptr * address, size_t *bytes, CUlibrary library, const char *name),
          find_global(device, name, address, bytes))

/* ---- functions ------------------------------------------------------------------------------- */

enum { SHARED_ANYWAY = 48 << 10, SHARED_MOST = 227 << 10 };

/* One kernel has bounds: half the threads, and shared memory of its own. */
static bool is_bounded(const struct kernel *kernel)
{
    return strstr(kernel->name, "store") != NULL;
}

static int threads_of(const struct kernel *kernel)
{
    return is_bounded(kernel) ? 512 : 1024;
}

static int own_shared(const struct kernel *kernel)
{
    return is_bounded(kernel) ? 32 << 10 : 0;
}

static int room_of(const struct kernel *kernel)
{
    return kernel->shared != 0 ? kernel->shared : SHARED_ANYWAY - own_shared(kernel);
}

static struct kernel *kernel_of(const void *handle)
{
    struct kernel *kernel = (struct kernel *)(uintptr_t)handle;

    return kernel >= kernels && kernel < kernels + kernel_count ? kernel : NULL;
}

CUresult fake_kernel_function(CUfunction *function, CUkernel kernel)
{
    if (kernel_of(kernel) == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    *function = (CUfunction)kernel;
    return CUDA_SUCCESS;
}

CUresult fake_kernel_parameter(CUkernel handle, size_t index, size_t *offset, size_t *bytes)
{
    const struct kernel *kernel = kernel_of(handle);
    size_t at = 0;

    if (kernel == NULL || index >= (size_t)kernel->parameters)
        return kernel == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i <= index; i++) { /* as a struct lays them out */
        const size_t align = kernel->sizes[i] >= 8 ? 8 : kernel->sizes[i];
        at = (at + align - 1) / align * align;
        *offset = at;
        at += kernel->sizes[i];
    }
    if (bytes != NULL)
        *bytes = kernel->sizes[index];
    return CUDA_SUCCESS;
}

CUresult fake_function_attribute(int *value, CUfunction_attribute attribute, CUfunction handle)
{
    const struct kernel *kernel = kernel_of(handle);

    if (kernel == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = threads_of(kernel);
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *value = own_shared(kernel);
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = 32;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = 90;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = room_of(kernel);
        return CUDA_SUCCESS;
    default:
        *value = 0;
        return (int)attribute >= 0 && attribute < CU_FUNC_ATTRIBUTE_MAX ? CUDA_SUCCESS
                                                                        : CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult fake_function_set(CUfunction handle, CUfunction_attribute attribute, int value)
{
    struct kernel *kernel = kernel_of(handle);

    if (kernel == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES &&
        value <= SHARED_MOST - own_shared(kernel))
        kernel->shared = value;
    else if (attribute != CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

void fake_reset_modules(const struct fake_device *device)
{
    for (int i = 0; i < kernel_count; i++)
        kernels[i].shared = 0;
    for (int i = 0; i < global_count; i++)
        globals[i].memory[device->known.number] = NULL;
}

CUresult fake_function_set_cache(CUfunction handle, CUfunc_cache config)
{
    return kernel_of(handle) != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult fake_occupancy_blocks(int *blocks, CUfunction handle, int threads, size_t shared,
                               unsigned flags)
{
    if (kernel_of(handle) == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (threads < 1)
        return CUDA_ERROR_INVALID_VALUE;
    const int by_threads = threads > 1024 ? 0 : 2048 / ((threads + 31) / 32 * 32);
    const int by_shared = shared == 0 ? 32 : (int)(233472 / (shared + 1024));
    *blocks = by_threads < by_shared ? by_threads : by_shared;
    if (*blocks > 32)
        *blocks = 32;
    return CUDA_SUCCESS;
}

CUresult fake_occupancy_shared(size_t *bytes, CUfunction handle, int blocks, int threads)
{
    if (kernel_of(handle) == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (blocks < 1 || threads < 1)
        return CUDA_ERROR_INVALID_VALUE;
    *bytes = blocks > 32 ? 0 : (size_t)233472 / (size_t)blocks - 1024;
    return CUDA_SUCCESS;
}

/* ---- launches -------------------------------------------------------------------------------- */

/* The values of the parameters, in memory of the operation's own. */
static CUresult take_parameters(struct fake_op *op, const struct kernel *kernel, void **parameters)
{
    unsigned char *at = calloc(1, WEFT_FAKE_PARAMETERS * 16 + 4096);
    size_t used = 0;

    if (at == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (int i = 0; i < kernel->parameters; i++) {
        if (used + kernel->sizes[i] > 4096 || parameters == NULL) {
            free(at);
            return CUDA_ERROR_INVALID_VALUE;
        }
        memcpy(at + used, parameters[i], kernel->sizes[i]);
        op->kernel.parameters[i] = at + used;
        used += (kernel->sizes[i] + 15) / 16 * 16;
    }
    op->own = at;
    return CUDA_SUCCESS;
}

/* A pointer to what the device does not reach is a fault of the kernel's: the context is lost. */
static CUresult check_pointers(struct fake_device *device, const struct fake_op *op,
                               const struct kernel *kernel)
{
    void *pointer;

    for (int i = 0; i < kernel->parameters; i++) {
        if (kernel->sizes[i] != sizeof(pointer))
            continue;
        memcpy(&pointer, op->kernel.parameters[i], sizeof(pointer));
        if (!fake_range_reaches(device, pointer, 1, true))
            device->error = CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    return device->error;
}

static CUresult check(const unsigned grid[3], const unsigned block[3], unsigned shared,
                      const struct kernel *kernel)
{
    const uint64_t threads = (uint64_t)block[0] * block[1] * block[2];

    if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0 || threads == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (threads > 1024 || block[2] > 64 || grid[1] > 65535 || grid[2] > 65535 ||
        shared > (unsigned)room_of(kernel))
        return CUDA_ERROR_INVALID_VALUE;
    return threads > (uint64_t)threads_of(kernel) ? CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
                                                  : CUDA_SUCCESS;
}

static CUresult launch(struct fake_device *device, const struct kernel *kernel,
                       struct fake_stream *stream, struct fake_op *op, void **parameters)
{
    const struct weft_fake_launch *launch = &op->kernel.launch;
    bool hang = false;

    if (kernel == NULL || stream == NULL || stream->device != device)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = check(launch->grid, launch->block, launch->shared, kernel);
    if (result == CUDA_SUCCESS && (result = fake_fault("launch", &hang)) != CUDA_SUCCESS)
        device->error = result;
    if (result == CUDA_SUCCESS)
        result = take_parameters(op, kernel, parameters);
    if (result == CUDA_SUCCESS)
        result = check_pointers(device, op, kernel);
    op->kind = hang ? FAKE_HANG : FAKE_KERNEL;
    op->kernel.run = kernel->run;
    if (result == CUDA_SUCCESS)
        result = fake_push(stream, op);
    if (result != CUDA_SUCCESS)
        free(op->own);
    return result;
}

CUresult fake_launch(const CUlaunchConfig *c, CUfunction function, void **parameters, void **extra)
{
    struct fake_op op = {.kernel.launch = {.grid = {c->gridDimX, c->gridDimY, c->gridDimZ},
                                           .block = {c->blockDimX, c->blockDimY, c->blockDimZ},
                                           .shared = c->sharedMemBytes}};
    struct fake_device *device;
    CUresult result = fake_enter(&device);

    if (result == CUDA_SUCCESS && extra != NULL)
        result = CUDA_ERROR_NOT_SUPPORTED;
    if (result == CUDA_SUCCESS && c->numAttrs != 0 &&
        c->attrs[0].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
        int blocks = 0, all = 0;
        fake_occupancy_blocks(&blocks, function, (int)(c->blockDimX * c->blockDimY * c->blockDimZ),
                              c->sharedMemBytes, 0);
        all = blocks * device->known.facts.attributes[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT];
        if ((uint64_t)c->gridDimX * c->gridDimY * c->gridDimZ > (uint64_t)all)
            result = CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    }
    if (result == CUDA_SUCCESS)
        result = launch(device, kernel_of(function), fake_stream_of(device, c->hStream), &op,
                        parameters);
    return fake_end(result);
}
