/*
 * device/device.h - what the runtime needs of a machine that runs kernels: memory that ranks and
 * other processes reach, moving data, and launching. The kernel's own side is device/port.h.
 */
#ifndef WEFT_DEVICE_DEVICE_H
#define WEFT_DEVICE_DEVICE_H

#include "base/config.h"
#include "base/share.h"
#include "device/beside.h"
#include "weft/weft.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_device;
struct weft_keep;   /* device/keep.h */
struct weft_errand; /* abi/errand.h */

enum { WEFT_DEVICE_ID_BYTES = 16 };

/* What weft_prepare asks for. */
struct weft_wish {
    const weft_kernel *kernel;
    int threads;
    int ranks;     /* most ranks; 0: as many as suit the device */
    size_t shared; /* bytes of weft_shared for each rank, at most */
    bool serves;   /* room is left beside the kernel for what `serve` needs */
    int beside; /* ranks for each block of device/beside.h, which has room as well; 0: no blocks */
    int beside_most; /* blocks of device/beside.h, at most */
};

/* What a launch needs to know. */
struct weft_launch {
    const weft_kernel *kernel;
    void *user; /* device memory */
    int first_rank, ranks;
    int threads;
    size_t shared; /* as in weft_wish */
    bool serves;   /* as in weft_wish */
    struct weft_beside beside;
    unsigned char *selves; /* `ranks` rank states (rank/state.h), self_bytes apart */
    size_t self_bytes;
    struct weft_bell *bell;  /* rung when something that a rank may wait for has changed */
    const uint32_t *proxied; /* not 0 there: the host's tasks move data and need a processor */

    /*
     * For threads of this process that run ranks (NULL: no help is wanted). posted: the rank has
     * posted a command. help: an idle thread does the work of the host's tasks, which keep still
     * meanwhile; now: weft_now_ns; returns true if it found something. leave: the thread helps no
     * more.
     */
    void (*posted)(void *host, int rank);
    bool (*help)(void *host, uint64_t now);
    void (*leave)(void *host);
    void *host;

    /*
     * Where the device has a clock of its own (NULL: nobody asks): the first rank stores the
     * device's time in *clock when it begins. *seen becomes the host's time when the host sees
     * that; 0: it did not.
     */
    const uint64_t *clock;
    uint64_t *seen;
};

/*
 * Copies of one stream take effect in order; each task of the host has a stream of its own. What
 * RECEIVE is given may be gathered until it is marked or waited for.
 */
enum weft_device_stream {
    WEFT_STREAM_CALLER,
    WEFT_STREAM_TABLES,
    WEFT_STREAM_SEND,
    WEFT_STREAM_RECEIVE,
    WEFT_STREAM_MESSAGES, /* whoever has the lock of msg/ */
    WEFT_STREAM_TEAMS,    /* whoever has the lock of teams (coll/host) */
    WEFT_STREAMS
};

/* Whose memory some is. HOST: the host loads and stores it, as it does managed memory. */
enum weft_memory { WEFT_MEMORY_HOST, WEFT_MEMORY_DEVICE, WEFT_MEMORY_OTHER_DEVICE };

/* How many processes share a node and a device; the process itself counts. */
struct weft_sharing {
    int processes; /* of this node */
    int index;     /* this process's number in its node */
    int on_device; /* processes that drive the same device */
    int before;    /* processes on the device whose index is lower */
};

enum { WEFT_DEVICE_KERNELS = 10 };

/* Kernels of an image; the device fills in what it has loaded. */
struct weft_device_code {
    const void *image;
    const char *name[WEFT_DEVICE_KERNELS + 1]; /* behind the last NULL */
    void *module, *function[WEFT_DEVICE_KERNELS];
};

/* Any thread may call these, unless a comment says otherwise. */
struct weft_device_ops {
    const char *name;
    /*
     * The host loads and stores device memory as its own. If not, it moves data by `copy`, tells
     * ranks by `store`, and ranks see the image of the tables that runtime/space/image.c keeps.
     */
    bool host_access;
    bool runs_beside; /* it has kernels of device/beside.h */

    /* Describes the device for weft-info and the log: "2 processors, 2 workers". */
    void (*describe)(const struct weft_device *device, char *text, size_t bytes);

    /* open: turn is this process's number among those of its node that open such a device, which by
     * default chooses one of several. close frees the device. */
    weft_status (*open)(struct weft_device **device, const struct weft_config *config, int turn,
                        bool one_address_space);
    void (*close)(struct weft_device *device);

    /* Gives an id that all processes which drive this device have in common; zero: no other
     * does. */
    void (*identify)(const struct weft_device *device, unsigned char id[WEFT_DEVICE_ID_BYTES]);

    /* Whether ranks of this device can add atomically to words in mapped memory of another; true
     * where that is not known. May be left out: they can. */
    bool (*has_atomics)(const struct weft_device *device,
                        const unsigned char other[WEFT_DEVICE_ID_BYTES]);

    /*
     * Tells the device whom it shares the node with; returns for how many ns an idle task of this
     * process should poll before it sleeps.
     */
    uint64_t (*share)(struct weft_device *device, const struct weft_sharing *with);

    /* Tells in *ranks how many ranks of a kernel can be co-resident. Blocking: a GPU launches the
     * kernel without ranks, so that nothing of a launch is new when it runs. */
    weft_status (*ranks)(struct weft_device *device, const struct weft_wish *wish, int *ranks);

    /* Returns how many threads a rank really has when `threads` are asked for. */
    int (*threads)(const struct weft_device *device, int threads);

    /* Returns how many ranks run at the same time. May be left out: all do. */
    int (*at_once)(const struct weft_device *device);

    /* alloc: zeroed, page-aligned device memory and its handle, for `free`. NULL: none is left. */
    void *(*alloc)(struct weft_device *device, size_t bytes, struct weft_share *handle);
    void (*free)(struct weft_device *device, void *memory, const struct weft_share *handle);

    /*
     * Allocates device memory while a kernel runs; may be left out. WEFT_STREAM_TABLES fills it,
     * and ranks may be told of it when that stream was waited for. `free` takes it when no kernel
     * runs. NULL: there is none; weft_err_last says why.
     */
    void *(*alloc_running)(struct weft_device *device, size_t bytes, struct weft_share *handle);

    /* Returns why the device has no access to the program's memory, also in a run; NULL: it has. */
    const char *(*no_access)(struct weft_device *device, const void *memory, size_t bytes);

    /* Tells whose memory it is. May be left out with host access: then nobody asks. */
    enum weft_memory (*whose)(struct weft_device *device, const void *memory);

    /* host_alloc: zeroed host memory, aligned to 64 bytes, which ranks can load and store. */
    void *(*host_alloc)(struct weft_device *device, size_t bytes);
    void (*host_free)(struct weft_device *device, void *memory);

    /* Maps another process's memory, until `unmap`: device memory, or, for a GPU's ranks, that of a
     * process on a CPU. NULL: it cannot be mapped, and *reason says why. */
    void *(*map)(struct weft_device *device, const struct weft_share *handle, const char **reason);
    void (*unmap)(struct weft_device *device, void *memory, const struct weft_share *handle);

    /* copy begins a copy between any memories, while a kernel runs or not. wait blocks until all
     * that its stream was given is done: targets are written, sources may be reused. Error:
     * DEVICE. */
    weft_status (*copy)(struct weft_device *device, enum weft_device_stream stream, void *target,
                        const void *source, size_t bytes);
    weft_status (*wait)(struct weft_device *device, enum weft_device_stream stream);
    /* The functions from here to `store` are there only where the host has no access. */
    /* Begins a copy, as `copy` does, of the rows of a rectangle: `rows` of `width` bytes each. They
     * start `pitch` bytes apart in the source, and follow one another in the target. */
    weft_status (*gather)(struct weft_device *device, enum weft_device_stream stream, void *target,
                          const void *source, size_t pitch, size_t width, size_t rows);
    /* To wait without blocking: `mark` sets a mark behind all that the stream was given so far;
     * `passed` tells whether the stream has come there, in order of marks. The stream's task
     * only. */
    weft_status (*mark)(struct weft_device *device, enum weft_device_stream stream, uint64_t *mark);
    weft_status (*passed)(struct weft_device *device, enum weft_device_stream stream, uint64_t mark,
                          bool *passed);
    /* pin makes copies from and to host memory as fast as with host_alloc's, until `unpin`; without
     * it, `copy` may hold up its caller. While no kernel runs. Returns NULL, or why it cannot
     * be. */
    const char *(*pin)(struct weft_device *device, void *memory, size_t bytes);
    void (*unpin)(struct weft_device *device, void *memory);
    /* Returns what pins memory of the program's that is used again and again. May be left out. */
    struct weft_keep *(*keep)(struct weft_device *device);
    weft_status (*fill)(struct weft_device *device, enum weft_device_stream stream,
                        uint32_t *target, uint32_t value, size_t words);
    /*
     * Stores a word in device memory. Who acquires it sees all that the stream copied before.
     * Stores of unlike groups, neither of them 0, that follow each other may be seen in any order;
     * all others are seen in the order of the calls.
     */
    weft_status (*store)(struct weft_device *device, enum weft_device_stream stream, uint32_t *word,
                         uint32_t value, uint32_t group);

    /*
     * Has the device itself do errands on memory that ranks reach, in order; each comes back with
     * what was there before. Blocking, for microseconds. They see all that the streams were waited
     * for, and ranks that the host tells of them see what they did. Beside a kernel only if it
     * leaves room. Errors: DEVICE, UNSUPPORTED.
     */
    weft_status (*serve)(struct weft_device *device, struct weft_errand *errands, size_t count);
    /* Has the device do one errand at once, as `serve` does. False: nothing was done, since what
     * serves is not there; it may be there the next time, if that is soon. May be left out. */
    bool (*serve_now)(struct weft_device *device, struct weft_errand *errand);

    /*
     * May be left out. dmabuf returns a dma-buf of device memory, which the caller closes, and the
     * offset of the memory in it; -1: there is none. After `reached`, ranks that hear of it from
     * this host see what others have written through such a dma-buf before.
     */
    int (*dmabuf)(struct weft_device *device, void *memory, size_t bytes, uint64_t *offset);
    weft_status (*reached)(struct weft_device *device);

    /*
     * Kernels of the library's own, for streams of the program's; left out where calls run in the
     * host. load: before any is launched, while no kernel runs. launch: without waiting; argument:
     * the kernel's only one, which is copied. stream: gives one of the device's own, for launch.
     * Errors: DEVICE, MEMORY.
     */
    weft_status (*load)(struct weft_device *device, struct weft_device_code *code);
    void (*unload)(struct weft_device *device, struct weft_device_code *code);
    weft_status (*launch)(struct weft_device *device, const struct weft_device_code *code,
                          int kernel, void *argument, int blocks, int threads, void *stream);
    void *(*stream)(const struct weft_device *device, enum weft_device_stream stream);

    /* Runs the kernel on all ranks and waits for all of them; *ms becomes its time. */
    weft_status (*run)(struct weft_device *device, const struct weft_launch *launch, double *ms);
};

extern const struct weft_device_ops weft_cpu_device;
extern const struct weft_device_ops weft_cuda_device;

/* Returns the table for a choice of config->device; NULL, after an error line, if this build or
 * machine lacks it. local: processes are threads of this one, which only the CPU device can
 * serve. */
const struct weft_device_ops *weft_device_choose(const struct weft_config *config, bool local);

/*
 * For jobs on the CPU device: whether memory is a GPU's, which the host must not touch. Only where
 * the program has loaded a CUDA driver; that is looked for if `look`, which takes a while, and else
 * known from the last time.
 */
bool weft_device_is_foreign(const void *memory, bool look);
extern bool weft_device_foreign_known; /* such a driver was found: it stays */

/* Returns why no program can use a GPU on this machine, with this build; NULL: it can. */
const char *weft_device_no_gpu(void);

#endif
