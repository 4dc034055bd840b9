/*
 * device/device.h - what the runtime needs of a machine that runs kernels: memory that ranks and
 * other processes reach, moving data, and launching. The kernel's own side is device/port.h.
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

enum { WEFT_DEVICE_ID_BYTES = 16 };

/* What weft_prepare asks for. */
struct weft_wish {
    const weft_kernel *kernel;
    int threads;
    int ranks;     /* at most; 0: the device's best */
    size_t shared; /* bytes of weft_shared, a rank, at most */
};

/* What a launch needs to know. */
struct weft_launch {
    const weft_kernel *kernel;
    void *user; /* device memory */
    int first_rank, ranks;
    int threads;
    size_t shared;         /* as was wished */
    unsigned char *selves; /* `ranks` rank states (rank/state.h), self_bytes apart */
    size_t self_bytes;
    struct weft_bell *bell;  /* rung when something that a rank may wait for has changed */
    const uint32_t *proxied; /* non-zero: the host's tasks move data, and need a processor, too */

    /*
     * For threads of this process that run ranks (NULL: no help is wanted). posted: the rank has
     * posted a command. help: the thread has nothing else to do, and does what the host's tasks
     * would, which keep still meanwhile; now: weft_now_ns; true if it found something. leave: the
     * thread helps no more.
     */
    void (*posted)(void *host, int rank);
    bool (*help)(void *host, uint64_t now);
    void (*leave)(void *host);
    void *host;

    /*
     * Where the device has a clock of its own (NULL: nobody asks): the first rank stores its time
     * here when it begins, and *seen becomes the host's when that is seen; 0: it was not.
     */
    const uint64_t *clock;
    uint64_t *seen;
};

/* Copies of one stream take effect in order; each task of the host has a stream of its own. */
enum weft_device_stream {
    WEFT_STREAM_CALLER,
    WEFT_STREAM_TABLES,
    WEFT_STREAM_SEND,
    WEFT_STREAM_RECEIVE,
    WEFT_STREAMS
};

/* Whom a process shares its node and its device with; itself counts. */
struct weft_sharing {
    int processes; /* of this node */
    int index;     /* of this process among them */
    int on_device; /* processes that drive the same device */
};

/* Any thread, unless it says otherwise. */
struct weft_device_ops {
    const char *name;
    /*
     * The host loads and stores device memory as its own. If not, it moves data by `copy`, tells
     * ranks by `store`, and ranks see the image of the tables that runtime/space/image.c keeps.
     */
    bool host_access;

    /* "2 processors, 2 workers": why this device looks as it does, for weft-info and the log. */
    void (*describe)(const struct weft_device *device, char *text, size_t bytes);

    /* process: of the job; the default for which of several devices is taken. */
    weft_status (*open)(struct weft_device **device, const struct weft_config *config, int process,
                        bool one_address_space);
    void (*close)(struct weft_device *device);

    /* The same for all processes that drive this device; all zero: nobody else does. */
    void (*identify)(const struct weft_device *device, unsigned char id[WEFT_DEVICE_ID_BYTES]);

    /*
     * Whether ranks of this device add to words in the memory of another undivided, where they have
     * it mapped. True, too, where nobody knows. May be left out: they do.
     */
    bool (*has_atomics)(const struct weft_device *device,
                        const unsigned char other[WEFT_DEVICE_ID_BYTES]);

    /*
     * Tells the device whom it shares the node with; returns for how many ns an idle task of this
     * process should poll before it sleeps.
     */
    uint64_t (*share)(struct weft_device *device, const struct weft_sharing *with);

    /*
     * How many ranks of a kernel can be co-resident. Blocking: a GPU launches the kernel without
     * ranks, so that nothing of a launch is new when it runs.
     */
    weft_status (*ranks)(struct weft_device *device, const struct weft_wish *wish, int *ranks);

    /* Threads that a rank really has when `threads` are asked for. */
    int (*threads)(const struct weft_device *device, int threads);

    /* Zeroed, page-aligned device memory and its handle. NULL when there is none left. */
    void *(*alloc)(struct weft_device *device, size_t bytes, struct weft_share *handle);
    void (*free)(struct weft_device *device, void *memory, const struct weft_share *handle);

    /*
     * May be left out: device memory while a kernel runs, for what WEFT_STREAM_TABLES brings there;
     * ranks may be told of it when that stream was waited for. `free` takes it when none runs.
     * NULL, and why (weft_err_last): there is none.
     */
    void *(*alloc_running)(struct weft_device *device, size_t bytes, struct weft_share *handle);

    /*
     * Why this device has no access to memory of the program's own; NULL: it has. Also while a
     * kernel runs.
     */
    const char *(*no_access)(struct weft_device *device, const void *memory, size_t bytes);

    /* Zeroed host memory, aligned to 64 bytes, that ranks load and store, too. */
    void *(*host_alloc)(struct weft_device *device, size_t bytes);
    void (*host_free)(struct weft_device *device, void *memory);

    /* Maps another process's memory; NULL, and a reason, if it cannot be. */
    void *(*map)(struct weft_device *device, const struct weft_share *handle, const char **reason);
    void (*unmap)(struct weft_device *device, void *memory, const struct weft_share *handle);

    /*
     * Between any memories, while a kernel runs or not. Starts it: the target is written, and the
     * source the caller's again, when `wait` has returned. Errors: DEVICE.
     */
    weft_status (*copy)(struct weft_device *device, enum weft_device_stream stream, void *target,
                        const void *source, size_t bytes);
    weft_status (*wait)(struct weft_device *device, enum weft_device_stream stream);
    /* The next ones only where the host has no access. */
    /*
     * Rows of a rectangle, as `copy`: `rows` of `width` bytes each, one behind the other in the
     * target, `pitch` bytes from start to start in the source.
     */
    weft_status (*gather)(struct weft_device *device, enum weft_device_stream stream, void *target,
                          const void *source, size_t pitch, size_t width, size_t rows);
    /*
     * Waiting without blocking: a mark behind all that the stream was given so far, and whether the
     * stream has come there. Marks of a stream are reached in order. By the stream's task only.
     */
    weft_status (*mark)(struct weft_device *device, enum weft_device_stream stream, uint64_t *mark);
    weft_status (*passed)(struct weft_device *device, enum weft_device_stream stream, uint64_t mark,
                          bool *passed);
    /*
     * Lets the device copy from and to memory of the host's that host_alloc did not give, as fast
     * as if it had; without it, `copy` may hold up its caller. While no kernel runs. Returns NULL,
     * or why it cannot be.
     */
    const char *(*pin)(struct weft_device *device, void *memory, size_t bytes);
    void (*unpin)(struct weft_device *device, void *memory);
    weft_status (*fill)(struct weft_device *device, enum weft_device_stream stream, uint32_t *target,
                        uint32_t value, size_t words);
    /* Stores a word of device memory; who acquires it sees all that the stream copied before. */
    weft_status (*store)(struct weft_device *device, enum weft_device_stream stream, uint32_t *word,
                         uint32_t value);

    /*
     * May be left out: a dma-buf of device memory, for the caller to close, and where in it the
     * memory begins; -1: there is none. reached: what others have written through such a dma-buf is
     * visible to whatever this host tells the device from now on.
     */
    int (*dmabuf)(struct weft_device *device, void *memory, size_t bytes, uint64_t *offset);
    weft_status (*reached)(struct weft_device *device);

    /* Runs the kernel on all ranks and waits for all of them; *ms is its time. */
    weft_status (*run)(struct weft_device *device, const struct weft_launch *launch, double *ms);
};

extern const struct weft_device_ops weft_cpu_device;
extern const struct weft_device_ops weft_cuda_device;

/*
 * The table for a choice of config->device; NULL, after an error line, if this build or machine
 * lacks it. local: processes are threads of this one, which only the CPU device can serve.
 */
const struct weft_device_ops *weft_device_choose(const struct weft_config *config, bool local);

/* Why no program can use a GPU on this machine, with this build; NULL: it can. */
const char *weft_device_no_gpu(void);

#endif
