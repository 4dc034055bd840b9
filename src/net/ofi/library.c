/* net/ofi/library.c - see the header. */
#include "net/ofi/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

static struct weft_ofi_library library;
static bool loaded;
static char why[256] = "libfabric.so.1 is too old";

static void *load_symbol(void *handle, const char *name, bool *all)
{
    void *symbol = dlsym(handle, name);

    *all &= symbol != NULL;
    return symbol;
}

/*
 * Some of what libfabric brings along takes signals as it is loaded: psm's libraries print a
 * backtrace then, and exit with status 1, also at a SIGTERM that the program itself handles. The
 * signals stay as they were.
 */
static void *load_library(void)
{
    struct sigaction before[NSIG];

    for (int i = 1; i < NSIG; i++)
        sigaction(i, NULL, &before[i]);
    void *handle = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
    for (int i = 1; i < NSIG; i++) /* in vain for those that nobody can take */
        sigaction(i, &before[i], NULL);
    return handle;
}

static void load(void)
{
    void *handle = load_library();
    bool all = true;

    if (handle == NULL) {
        snprintf(why, sizeof(why), "%s", dlerror());
        return;
    }
    library.getinfo = (__typeof__(&fi_getinfo))load_symbol(handle, "fi_getinfo", &all);
    library.freeinfo = (__typeof__(&fi_freeinfo))load_symbol(handle, "fi_freeinfo", &all);
    library.dupinfo = (__typeof__(&fi_dupinfo))load_symbol(handle, "fi_dupinfo", &all);
    library.fabric = (__typeof__(&fi_fabric))load_symbol(handle, "fi_fabric", &all);
    library.strerror = (__typeof__(&fi_strerror))load_symbol(handle, "fi_strerror", &all);
    loaded = all;
}

const struct weft_ofi_library *weft_ofi_library(const char **reason)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load);
    *reason = why;
    return loaded ? &library : NULL;
}
