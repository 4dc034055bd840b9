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

    if (handle == NULL) {
        snprintf(why, sizeof(why), "%s", dlerror());
        return;
    }
    loaded = true;
#define LOAD(name)                                                                                 \
    library.name = (__typeof__(library.name))dlsym(handle, "fi_" #name);                           \
    loaded &= library.name != NULL;
    WEFT_OFI_LIBRARY(LOAD)
#undef LOAD
}

const struct weft_ofi_library *weft_ofi_library(const char **reason)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load);
    *reason = why;
    return loaded ? &library : NULL;
}
