/*
 * remote/cudart/register.c - what a program's constructors register: its fat binaries, kernels and
 * variables, by the entry points that nvcc's code calls (crt/host_runtime.h).
 *
 * Nothing is loaded before its first use. Registrations are few and never leave but with their
 * binary, so they lie in lists under one lock; a launch by handle takes no lock once its kernel is
 * known for the device.
 */
#include "base/say.h"
#include "remote/cudart/inside.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wunused-parameter" /* prototypes are CUDA's */

enum { WRAPPER_MAGIC = 0x466243b1, TABLE = 1024 };

/* What nvcc puts around a fat binary. */
struct wrapper {
    int32_t magic, version;
    const void *data;
    const void *unused;
};

struct library {
    struct library *next;
    const void *data;
    CUlibrary handle; /* NULL: not loaded yet */
    bool managed;     /* has a __managed__ variable */
};

struct cudart_kernel {
    struct cudart_kernel *next; /* in its row of the table */
    const void *host;
    struct library *library;
    const char *name;
    CUkernel handle;
    CUfunction functions[CUDART_DEVICES]; /* by device; NULL: not asked for yet */
};

struct variable {
    struct variable *next;
    const void *host;
    struct library *library;
    const char *name;
    size_t bytes;
};

static struct {
    pthread_mutex_t lock;
    struct library *libraries;
    struct variable *variables;
    struct cudart_kernel *kernels[TABLE]; /* by the host's address */
} registered = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct cudart_kernel **row(const void *host)
{
    return &registered.kernels[(uintptr_t)host / 16 % TABLE];
}

/* ---- nvcc's entry points --------------------------------------------------------------------- */

void **__cudaRegisterFatBinary(void *image)
{
    const struct wrapper *wrapper = image;
    struct library *library = calloc(1, sizeof(*library));

    if (library == NULL || wrapper->magic != WRAPPER_MAGIC) {
        weft_say(WEFT_SAY_ERROR, "a fat binary with magic 0x%08x cannot be registered",
                 (unsigned)wrapper->magic);
        free(library);
        return NULL;
    }
    library->data = wrapper->data;
    pthread_mutex_lock(&registered.lock);
    library->next = registered.libraries;
    registered.libraries = library;
    pthread_mutex_unlock(&registered.lock);
    return (void **)library;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
}

void __cudaRegisterFunction(void **handle, const char *host, char *device_fun, const char *name,
                            int limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid, int *warp)
{
    struct cudart_kernel *kernel = handle != NULL ? calloc(1, sizeof(*kernel)) : NULL;

    if (kernel == NULL)
        return; /* its launch says that there is no such kernel */
    kernel->host = host;
    kernel->library = (struct library *)handle;
    kernel->name = name;
    pthread_mutex_lock(&registered.lock);
    kernel->next = *row(host);
    *row(host) = kernel;
    pthread_mutex_unlock(&registered.lock);
}

void __cudaRegisterVar(void **handle, char *host, char *address, const char *name, int ext,
                       size_t bytes, int constant, int global)
{
    struct variable *variable = handle != NULL ? calloc(1, sizeof(*variable)) : NULL;

    if (variable == NULL)
        return;
    variable->host = host;
    variable->library = (struct library *)handle;
    variable->name = name;
    variable->bytes = bytes;
    pthread_mutex_lock(&registered.lock);
    variable->next = registered.variables;
    registered.variables = variable;
    pthread_mutex_unlock(&registered.lock);
}

/* Its kernels are refused at their launch, where the program looks for an error; the host has its
 * own. */
void __cudaRegisterManagedVar(void **handle, void **host, char *address, const char *name, int ext,
                              size_t bytes, int constant, int global)
{
    static unsigned said;

    cudart_refuse(name, "unified-memory", &said);
    (void)cudaGetLastError(); /* of no call */
    *host = calloc(1, bytes);
    if (handle != NULL)
        ((struct library *)handle)->managed = true;
}

void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t bytes)
{
}

char __cudaInitModule(void **handle)
{
    return handle != NULL;
}

static void drop_kernels(const struct library *library)
{
    for (int i = 0; i < TABLE; i++)
        for (struct cudart_kernel **at = &registered.kernels[i], *kernel; (kernel = *at) != NULL;)
            if (kernel->library == library) {
                *at = kernel->next;
                free(kernel);
            } else {
                at = &kernel->next;
            }
}

/* After main: the library stays loaded on its server, which ends with the program. */
void __cudaUnregisterFatBinary(void **handle)
{
    struct library *library = (struct library *)handle;

    if (library == NULL)
        return;
    pthread_mutex_lock(&registered.lock);
    drop_kernels(library);
    for (struct variable **at = &registered.variables, *variable; (variable = *at) != NULL;)
        if (variable->library == library) {
            *at = variable->next;
            free(variable);
        } else {
            at = &variable->next;
        }
    for (struct library **at = &registered.libraries; *at != NULL; at = &(*at)->next)
        if (*at == library) {
            *at = library->next;
            break;
        }
    pthread_mutex_unlock(&registered.lock);
    free(library);
}

/* ---- finding --------------------------------------------------------------------------------- */

struct cudart_kernel *cudart_kernel(const void *function)
{
    struct cudart_kernel *found = NULL;

    pthread_mutex_lock(&registered.lock);
    for (struct cudart_kernel *k = *row(function); k != NULL && found == NULL; k = k->next)
        if (k->host == function)
            found = k;
    for (int i = 0; i < TABLE && found == NULL; i++) /* a handle */
        for (struct cudart_kernel *k = registered.kernels[i]; k != NULL; k = k->next)
            if (k == function)
                found = k;
    pthread_mutex_unlock(&registered.lock);
    return found;
}

const char *cudart_kernel_name(const struct cudart_kernel *kernel)
{
    return kernel->name;
}

/* Lock held. */
static CUresult load(const struct weft_cuda_table *driver, struct library *library)
{
    if (library->managed)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (library->handle != NULL)
        return CUDA_SUCCESS;
    return driver->library_load(&library->handle, library->data, NULL, NULL, 0, NULL, NULL, 0);
}

static CUresult resolve(const struct weft_cuda_table *driver, struct cudart_kernel *kernel,
                        CUfunction *function)
{
    CUresult result = load(driver, kernel->library);

    if (result == CUDA_SUCCESS && kernel->handle == NULL)
        result = driver->library_kernel(&kernel->handle, kernel->library->handle, kernel->name);
    if (result == CUDA_SUCCESS)
        result = driver->kernel_function(function, kernel->handle);
    return result;
}

cudaError_t cudart_function(const struct weft_cuda_table *driver, struct cudart_kernel *kernel,
                            CUfunction *function)
{
    CUfunction *place = &kernel->functions[cudart_thread()->device];
    CUresult result = CUDA_SUCCESS;

    *function = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (*function != NULL)
        return cudaSuccess;
    pthread_mutex_lock(&registered.lock);
    result = resolve(driver, kernel, function);
    if (result == CUDA_SUCCESS)
        __atomic_store_n(place, *function, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&registered.lock);
    return result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidDeviceFunction : (cudaError_t)result;
}

cudaError_t cudart_symbol(const struct weft_cuda_table *driver, const void *symbol,
                          CUdeviceptr *address, size_t *bytes)
{
    CUresult result = (CUresult)cudaErrorInvalidSymbol;
    size_t size = 0;

    pthread_mutex_lock(&registered.lock);
    for (struct variable *v = registered.variables; v != NULL; v = v->next)
        if (v->host == symbol) {
            result = load(driver, v->library);
            if (result == CUDA_SUCCESS)
                result = driver->library_global(address, &size, v->library->handle, v->name);
            if (result == CUDA_SUCCESS && size < v->bytes) /* the rest would be host memory */
                result = CUDA_ERROR_NOT_FOUND;
            break;
        }
    pthread_mutex_unlock(&registered.lock);
    if (result == CUDA_SUCCESS && bytes != NULL)
        *bytes = size;
    return result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol : (cudaError_t)result;
}
