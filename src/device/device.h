/*
 * device/device.h - what the runtime needs of a machine that runs kernels: memory that other
 * processes can map, and launching. The kernel's own side is device/port.h.
 */
#ifndef WEFT_DEVICE_DEVICE_H
#define WEFT_DEVICE_DEVICE_H

#include "base/config.h"
#include "base/share.h"
#include "weft/weft.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_device;

/* What a launch needs to know. */
struct weft_launch {
    const weft_kernel *kernel;
    void *user; /* device memory */
    int first_rank, ranks;
    int threads;
    unsigned char *selves; /* `ranks` rank states (window/state.h), self_bytes apart */
    size_t self_bytes;
    struct weft_bell *bell;  /* rung when something that a rank may wait for has changed */
    const uint32_t *proxied; /* non-zero: the host's tasks move data, and need a processor, too */
};

struct weft_device_ops {
    const char *name;
    /* "2 processors, 2 workers": why this device looks as it does, for weft-info and the log. */
    void (*describe)(const struct weft_device *device, char *text, size_t bytes);

    weft_status (*open)(struct weft_device **device, const struct weft_config *config,
                        bool one_address_space);
    void (*close)(struct weft_device *device);

    /* How many ranks of the kernel can be co-resident, at most `wanted` (0: the device's best). */
    weft_status (*ranks)(struct weft_device *device, const weft_kernel *kernel, int threads,
                         int wanted, int *ranks);

    /* Threads that a rank really has when `threads` are asked for. */
    int (*threads)(const struct weft_device *device, int threads);

    /* Zeroed, page-aligned device memory and its handle. NULL when there is none left. */
    void *(*alloc)(struct weft_device *device, size_t bytes, struct weft_share *handle);
    void (*free)(struct weft_device *device, void *memory, const struct weft_share *handle);

    /* Maps another process's memory; NULL, and a reason, if it cannot be. */
    void *(*map)(struct weft_device *device, const struct weft_share *handle, const char **reason);
    void (*unmap)(struct weft_device *device, void *memory, const struct weft_share *handle);

    weft_status (*copy)(struct weft_device *device, void *target, const void *source, size_t bytes);

    /* Runs the kernel on all ranks and waits for all of them; *ms is its time. */
    weft_status (*run)(struct weft_device *device, const struct weft_launch *launch, double *ms);

    /*
     * Tells the device how many processes of this node share its processors; returns for how many
     * ns an idle task of this process should poll before it sleeps.
     */
    uint64_t (*share)(struct weft_device *device, int processes);
};

extern const struct weft_device_ops weft_cpu_device;

/* The table for a choice of config->device; NULL, after an error line, if this build lacks it. */
const struct weft_device_ops *weft_device_choose(const struct weft_config *config);

#endif
