/*
 * tests/remote/fake/fake.h - a CUDA driver in host memory, for tests without a GPU.
 *
 * Device memory is host memory. A stream is a list of operations; a call of the driver may take a
 * step, which runs the next operation of a stream; a seed chooses, so that a missing order shows.
 * Kernels are C functions, registered by their mangled name.
 */
#ifndef WEFT_TESTS_REMOTE_FAKE_H
#define WEFT_TESTS_REMOTE_FAKE_H

#include "remote/table/table.h"

#include <stdint.h>

enum { WEFT_FAKE_PARAMETERS = 32, WEFT_FAKE_DEVICES = 16 };

/* A launch as its kernel sees it: the whole grid in one call. */
struct weft_fake_launch {
    unsigned grid[3], block[3], shared;
    void **parameters; /* to the value of each */
};

/* What a plug-in of kernels is given. Names stay the caller's, for good. */
struct weft_fake_registry {
    void (*kernel)(const char *name, void (*run)(const struct weft_fake_launch *launch),
                   int parameters, const size_t *sizes);
    void (*global)(const char *name, size_t bytes);
    /* Of a kernel: text for stdout (1) or stderr (2), which appears when something is waited for,
     * as CUDA's does. */
    void (*print)(int file, const char *text);
    /* Of a kernel: the element of a texture or a surface at x, y, z; NULL: it is none, or not
     * there. */
    void *(*texel)(uint64_t object, size_t x, size_t y, size_t z);
};

/* The function by which a shared object with kernels is entered: weft_fake_kernels. */
typedef void (*weft_fake_plugin)(const struct weft_fake_registry *registry);

extern const struct weft_fake_registry weft_fake_registry;

/*
 * The driver that `options` describe: "devices=2,memory=1G,seed=7,kernels=FILE,fault=copy:7:700".
 * A fault: NAME:N:ERROR, the N-th NAME fails with that number; or hang:NAME:N, it never ends; NAME
 * is one of alloc, copy, fill, import, launch, load. One driver a process: a second call with the
 * same options gives the same. Before other threads use it. Errors: CONFIG.
 */
weft_status weft_fake_open(const struct weft_cuda_table **table, const char *options);

#endif
