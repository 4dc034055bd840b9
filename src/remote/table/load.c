/* remote/table/load.c - the table of this machine's driver, or of the fake one. Any thread. */
#include "base/say.h"
#include "remote/table/fake/fake.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static struct weft_cuda_table table;
static const char *why_not;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* "cuMemAlloc_v2" for cuMemAlloc: cuda.h renames functions to their present version. */
#define NAME_OF(function) #function
#define SYMBOL(function)  NAME_OF(function)

static void load(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

    if (library == NULL) {
        why_not = "no CUDA driver (libcuda.so.1) on this machine";
        return;
    }
#define LOAD(field, function)                                                                      \
    table.field = (__typeof__(table.field))dlsym(library, SYMBOL(function));                       \
    if (table.field == NULL) {                                                                     \
        why_not = "the CUDA driver lacks " SYMBOL(function) ": it is too old";                     \
        return;                                                                                    \
    }
    WEFT_TABLE_MAP(LOAD)
#undef LOAD
    const CUresult result = table.init(0);
    if (result != CUDA_SUCCESS)
        why_not = weft_cuda_error(result)->text;
}

const struct weft_cuda_table *weft_table_open(const char *name)
{
    static const char fake[] = "fake:";
    const struct weft_cuda_table *opened = NULL;

    if (strncmp(name, fake, sizeof(fake) - 1) == 0) {
        (void)weft_fake_open(&opened, name + sizeof(fake) - 1);
        return opened;
    }
    if (strcmp(name, "cuda") != 0) {
        weft_say(WEFT_SAY_ERROR, "the driver %s is neither cuda nor fake:OPTIONS", name);
        return NULL;
    }
    pthread_once(&once, load);
    if (why_not != NULL)
        weft_say(WEFT_SAY_ERROR, "the driver: %s", why_not);
    return why_not == NULL ? &table : NULL;
}
