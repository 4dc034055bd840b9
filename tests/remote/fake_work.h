/* fake_work.h - how fake libraries compute: in a stream, as a function of the fake driver's. */
#ifndef TESTS_REMOTE_FAKE_WORK_H
#define TESTS_REMOTE_FAKE_WORK_H

#include <cuda.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The fake driver is in the program, or in a shared object that the program has loaded. */
static void *driver(const char *name)
{
    const char *file = getenv("FAKE_BLAS_DRIVER");
    void *library = file != NULL ? dlopen(file, RTLD_NOW | RTLD_NOLOAD) : NULL;

    return dlsym(library != NULL ? library : RTLD_DEFAULT, name);
}

/* Memory of devices lies there (client/memory.c), under TSan in the lower range, and nothing else.
 */
static inline bool on_device(const void *address)
{
    return (uintptr_t)address >> 40 == 0x20 || (uintptr_t)address >> 37 == 1;
}

struct fake_work {
    void (*run)(const void *work);
    _Alignas(16) unsigned char bytes[];
};

static void fake_run(void *argument)
{
    struct fake_work *work = argument;

    work->run(work->bytes);
    free(work);
}

/* run(a copy of those bytes), once the stream has come so far. */
static inline bool fake_enqueue(CUstream stream, void (*run)(const void *work), const void *bytes,
                                size_t size)
{
    CUresult (*launch)(CUstream, CUhostFn, void *) =
        (CUresult(*)(CUstream, CUhostFn, void *))driver("cuLaunchHostFunc");
    struct fake_work *work = malloc(sizeof(*work) + size);

    work->run = run;
    memcpy(work->bytes, bytes, size);
    return launch(stream, fake_run, work) == CUDA_SUCCESS;
}

static inline void fake_finish(CUstream stream)
{
    CUresult (*wait)(CUstream) = (CUresult(*)(CUstream))driver("cuStreamSynchronize");

    wait(stream);
}

#endif
