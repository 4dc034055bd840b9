/* remote/table/load.c - loads the table of this machine's driver, or of a file. Any thread. */
#include "base/say.h"
#include "remote/table/table.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

static const char *file; /* the first that was asked for */
static struct weft_cuda_table table;
static bool good;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* "cuMemAlloc_v2" for cuMemAlloc: cuda.h renames functions to their present version. */
#define NAME_OF(function) #function
#define SYMBOL(function)  NAME_OF(function)

static void load(void)
{
    const bool machine = strcmp(file, "cuda") == 0;
    void *library = dlopen(machine ? "libcuda.so.1" : file, RTLD_NOW | RTLD_LOCAL);

    if (library == NULL) {
        weft_say(WEFT_SAY_ERROR, "the driver: %s",
                 machine ? "no CUDA driver (libcuda.so.1) on this machine" : dlerror());
        return;
    }
#define LOAD(field, function)                                                                      \
    table.field = (__typeof__(table.field))dlsym(library, SYMBOL(function));                       \
    if (table.field == NULL) {                                                                     \
        weft_say(WEFT_SAY_ERROR, "the driver: it lacks " SYMBOL(function) ": it is too old");      \
        return;                                                                                    \
    }
    WEFT_TABLE_MAP(LOAD)
#undef LOAD
    const CUresult result = table.init(0);
    good = result == CUDA_SUCCESS;
    if (!good)
        weft_say(WEFT_SAY_ERROR, "the driver: %s", weft_cuda_error(result)->text);
}

const struct weft_cuda_table *weft_table_open(const char *name)
{
    if (file == NULL)
        file = name;
    pthread_once(&once, load);
    return good ? &table : NULL;
}
