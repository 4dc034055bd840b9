/*
 * remote/cudart/register.c - what a program's constructors register: its fat binaries, kernels and
 * variables, by the entry points that nvcc's code calls (crt/host_runtime.h).
 *
 * Nothing is loaded before its first use. Registrations are few and never leave but with their
 * binary, so they lie in one table under one lock; a launch by handle takes no lock once its kernel
 * is known for the device.
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
    const void *data;
    CUlibrary handle; /* NULL: not loaded yet */
    bool managed;     /* has a __managed__ variable */
};

/* A kernel, or a variable of so many bytes. */
struct cudart_symbol {
    struct cudart_symbol *next; /* in its row of the table */
    const void *host;
    struct library *library;
    const char *name;
    bool is_kernel;
    size_t bytes;
    CUkernel handle;
    CUfunction functions[CUDART_DEVICES]; /* by device; NULL: not asked for yet */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cudart_symbol *symbols[TABLE]; /* by the host's address */

static struct cudart_symbol **row(const void *host)
{
    return &symbols[(uintptr_t)host / 16 % TABLE];
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
    return (void **)library;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
}

static void add_symbol(void **library, const void *host, const char *name, bool is_kernel,
                       size_t bytes)
{
    struct cudart_symbol *symbol = library != NULL ? calloc(1, sizeof(*symbol)) : NULL;

    if (symbol == NULL)
        return; /* its use says that there is none */
    symbol->host = host;
    symbol->library = (struct library *)library;
    symbol->name = name;
    symbol->is_kernel = is_kernel;
    symbol->bytes = bytes;
    pthread_mutex_lock(&lock);
    symbol->next = *row(host);
    *row(host) = symbol;
    pthread_mutex_unlock(&lock);
}

void __cudaRegisterFunction(void **handle, const char *host, char *device_fun, const char *name,
                            int limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid, int *warp)
{
    add_symbol(handle, host, name, true, 0);
}

void __cudaRegisterVar(void **handle, char *host, char *address, const char *name, int ext,
                       size_t bytes, int constant, int global)
{
    add_symbol(handle, host, name, false, bytes);
}

/* Refuses a managed variable: kernels of its library are refused at their launch, where the program
 * looks for an error; the host has its own memory. */
void __cudaRegisterManagedVar(void **handle, void **host, char *address, const char *name, int ext,
                              size_t bytes, int constant, int global)
{
    WEFT_CUDA_REFUSE(name, "unified-memory");
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

/* Forgets a binary after main: the library stays loaded on its server, which ends with the
 * program. */
void __cudaUnregisterFatBinary(void **handle)
{
    struct library *library = (struct library *)handle;

    pthread_mutex_lock(&lock);
    for (int i = 0; i < TABLE; i++)
        for (struct cudart_symbol **at = &symbols[i], *symbol; (symbol = *at) != NULL;)
            if (symbol->library == library) {
                *at = symbol->next;
                free(symbol);
            } else {
                at = &symbol->next;
            }
    pthread_mutex_unlock(&lock);
    free(library);
}

/* ---- finding --------------------------------------------------------------------------------- */

/* Finds a kernel, or a variable, by its host address. The caller holds the lock. */
static struct cudart_symbol *find_symbol(const void *host, bool is_kernel)
{
    struct cudart_symbol *symbol = *row(host);

    while (symbol != NULL && (symbol->host != host || symbol->is_kernel != is_kernel))
        symbol = symbol->next;
    return symbol;
}

struct cudart_symbol *cudart_kernel(const void *function)
{
    pthread_mutex_lock(&lock);
    struct cudart_symbol *found = find_symbol(function, true);
    for (int i = 0; i < TABLE && found == NULL; i++) /* a handle */
        for (struct cudart_symbol *s = symbols[i]; s != NULL && found == NULL; s = s->next)
            found = s == function ? s : NULL;
    pthread_mutex_unlock(&lock);
    return found;
}

cudaError_t cudaFuncGetName(const char **name, const void *function)
{
    const struct cudart_symbol *kernel = cudart_kernel(function);

    if (name == NULL || kernel == NULL)
        return cudart_done(name == NULL ? cudaErrorInvalidValue : cudaErrorInvalidDeviceFunction);
    *name = kernel->name;
    return cudaSuccess;
}

/* Loads a library at its first use. The caller holds the lock. */
static CUresult load(const struct weft_cuda_table *driver, struct library *library)
{
    if (library->managed)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (library->handle != NULL)
        return CUDA_SUCCESS;
    return driver->library_load(&library->handle, library->data, NULL, NULL, 0, NULL, NULL, 0);
}

static CUresult resolve(const struct weft_cuda_table *driver, struct cudart_symbol *kernel,
                        CUfunction *function)
{
    CUresult result = load(driver, kernel->library);

    if (result == CUDA_SUCCESS && kernel->handle == NULL)
        result = driver->library_kernel(&kernel->handle, kernel->library->handle, kernel->name);
    if (result == CUDA_SUCCESS)
        result = driver->kernel_function(function, kernel->handle);
    return result;
}

cudaError_t cudart_function(const struct weft_cuda_table *driver, struct cudart_symbol *kernel,
                            CUfunction *function)
{
    CUresult result = CUDA_SUCCESS;

    if (kernel == NULL)
        return cudaErrorInvalidDeviceFunction;
    CUfunction *place = &kernel->functions[cudart_thread()->device];
    *function = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (*function != NULL)
        return cudaSuccess;
    pthread_mutex_lock(&lock);
    result = resolve(driver, kernel, function);
    if (result == CUDA_SUCCESS)
        __atomic_store_n(place, *function, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    return result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidDeviceFunction : (cudaError_t)result;
}

void cudart_forget_kernels(int device)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < TABLE; i++)
        for (struct cudart_symbol *s = symbols[i]; s != NULL; s = s->next)
            __atomic_store_n(&s->functions[device], NULL, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
}

cudaError_t cudart_symbol(const struct weft_cuda_table *driver, const void *symbol,
                          CUdeviceptr *address, size_t *bytes)
{
    CUresult result = (CUresult)cudaErrorInvalidSymbol;

    pthread_mutex_lock(&lock);
    const struct cudart_symbol *variable = find_symbol(symbol, false);
    if (variable != NULL)
        result = load(driver, variable->library);
    if (result == CUDA_SUCCESS)
        result = driver->library_global(address, bytes, variable->library->handle, variable->name);
    if (result == CUDA_SUCCESS && *bytes < variable->bytes) /* the rest would be host memory */
        result = CUDA_ERROR_NOT_FOUND;
    pthread_mutex_unlock(&lock);
    return result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol : (cudaError_t)result;
}
