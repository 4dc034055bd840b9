/* device/cuda/driver.c - see the header. Any thread calls it; the driver is found once. */
#include "device/cuda/driver.h"

#include "base/say.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

static struct weft_cuda_driver driver;
static const char *why_not;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* "cuMemAlloc_v2" for cuMemAlloc: cuda.h renames functions to their present version. */
#define NAME_OF(function) #function
#define SYMBOL(function)  NAME_OF(function)

static void load(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);

    if (library == NULL) {
        why_not = "no CUDA driver (libcuda.so.1) on this machine";
        return;
    }
#define LOAD(field, function)                                                                      \
    driver.field = (__typeof__(driver.field))dlsym(library, SYMBOL(function));                     \
    if (driver.field == NULL) {                                                                    \
        why_not = "the CUDA driver lacks " SYMBOL(function) ": it is too old";                     \
        return;                                                                                    \
    }
    WEFT_CUDA_MAP(LOAD)
#undef LOAD
#define LOAD(field, function)                                                                      \
    driver.field = (__typeof__(driver.field))dlsym(library, SYMBOL(function));
    WEFT_CUDA_OPTIONAL_MAP(LOAD)
#undef LOAD
    /* A module that is loaded on first use would wait for the running kernel: load all at once. */
    setenv("CUDA_MODULE_LOADING", "EAGER", 0);
    /* Under MPS a process has two queues to the GPU, where a copy may wait behind a kernel: as many
     * as there are streams. MPS has too few for some processes of 32. */
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "8", 0);
    why_not = weft_cuda_why(&driver, driver.init(0));
}

const struct weft_cuda_driver *weft_cuda_driver(const char **reason)
{
    pthread_once(&once, load);
    if (why_not == NULL)
        return &driver;
    *reason = why_not;
    return NULL;
}

weft_status weft_cuda_error(CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS)
        return WEFT_OK;
    return weft_err(result == CUDA_ERROR_OUT_OF_MEMORY ? WEFT_ERR_MEMORY : WEFT_ERR_DEVICE,
                    "CUDA: %s: %s", what, weft_cuda_why(&driver, result));
}
