/*
 * device/foreign.c - GPU memory in a job on the CPU device: recognised by the CUDA driver that the
 * program itself has loaded. Without one there is no such memory.
 */
#include "device/device.h"

#include <dlfcn.h>

/* As in cuda.h, which this build may lack. */
enum { MEMORY_TYPE = 2, IS_MANAGED = 8, DEVICE_MEMORY = 2 };
typedef int get_attribute(void *value, int attribute, unsigned long long pointer);

static get_attribute *find(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);

    return library != NULL ? (get_attribute *)dlsym(library, "cuPointerGetAttribute") : NULL;
}

bool weft_device_is_foreign(const void *memory, bool look)
{
    static get_attribute *known; /* it stays loaded: `find` holds it */
    get_attribute *get = __atomic_load_n(&known, __ATOMIC_ACQUIRE);
    const unsigned long long at = (unsigned long long)(uintptr_t)memory;
    unsigned type = 0, managed = 0;

    if (get == NULL && look) {
        get = find();
        __atomic_store_n(&known, get, __ATOMIC_RELEASE);
    }
    return get != NULL && get(&type, MEMORY_TYPE, at) == 0 && type == DEVICE_MEMORY &&
           (get(&managed, IS_MANAGED, at) != 0 || managed == 0);
}
