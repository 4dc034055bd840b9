/*
 * device/foreign.c - GPU memory in a job on the CPU device: recognised by the CUDA driver that the
 * program itself has loaded. Without one there is no such memory. Any thread; what was found stays.
 */
#include "device/device.h"

#include <dlfcn.h>
#include <link.h>

/* As in cuda.h, which this build may lack. */
enum { MEMORY_TYPE = 2, IS_MANAGED = 8, DEVICE_MEMORY = 2 };
typedef int get_attribute(void *value, int attribute, unsigned long long pointer);

/* For dl_iterate_phdr: tells in *count how many libraries the process has loaded so far. */
static int loads(struct dl_phdr_info *info, size_t size, void *count)
{
    (void)size;
    *(unsigned long long *)count = info->dlpi_adds;
    return 1;
}

static get_attribute *find_driver_call(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);

    return library != NULL ? (get_attribute *)dlsym(library, "cuPointerGetAttribute") : NULL;
}

bool weft_device_foreign_known;

/* Returns the driver's function; NULL: there is none. It is looked for again only after another
 * library was loaded: dlopen takes long to find that there is none. */
static get_attribute *look_again(get_attribute **known)
{
    static unsigned long long seen; /* loads at the last look, of which `known` is what it found */
    unsigned long long now = 0;

    dl_iterate_phdr(loads, &now);
    if (__atomic_load_n(&seen, __ATOMIC_ACQUIRE) != now) {
        get_attribute *const found = find_driver_call();
        if (found != NULL)
            __atomic_store_n(known, found, __ATOMIC_RELEASE);
        __atomic_store_n(&weft_device_foreign_known, found != NULL, __ATOMIC_RELAXED);
        __atomic_store_n(&seen, now, __ATOMIC_RELEASE);
    }
    return __atomic_load_n(known, __ATOMIC_ACQUIRE);
}

bool weft_device_is_foreign(const void *memory, bool look)
{
    static get_attribute *known; /* it stays loaded: find_driver_call holds it */
    get_attribute *get = __atomic_load_n(&known, __ATOMIC_ACQUIRE);
    const unsigned long long at = (unsigned long long)(uintptr_t)memory;
    unsigned type = 0, managed = 0;

    if (get == NULL && look)
        get = look_again(&known);
    return get != NULL && get(&type, MEMORY_TYPE, at) == 0 && type == DEVICE_MEMORY &&
           (get(&managed, IS_MANAGED, at) != 0 || managed == 0);
}
