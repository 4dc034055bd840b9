/* device/cuda/cuda_device.h - what the files of this folder share. */
#ifndef WEFT_DEVICE_CUDA_CUDA_DEVICE_H
#define WEFT_DEVICE_CUDA_CUDA_DEVICE_H

#include "abi/lot.h"
#include "base/task.h"
#include "device/cuda/driver.h"
#include "device/device.h"
#include "device/keep.h"
#include "ring/command.h"

enum { WEFT_CUDA_MARKS = 64 };

/* The host's end of the service block (block/): the library's own warp on the GPU. */
struct weft_block {
    struct weft_lock lock;              /* held by whoever gives it something to do */
    struct weft_block_control *control; /* NULL: there is none */
    struct weft_command_producer errands;
    CUmodule module;
    CUfunction function;
    CUstream stream;
    uint64_t turn;  /* launches so far */
    uint64_t asked; /* when serve_now was called last */
    int threads;    /* threads of the next launch */
    int registers;  /* registers of a thread */
    bool stays;     /* it is there until the ranks' kernel has ended */
    bool full;      /* the ranks' kernel leaves no room for a block that is launched later */
    struct weft_lot *lots[2]; /* abi/lot.h; one is filled while the block delivers the other */
    uint64_t lots_given;      /* lots given to the block so far */
};

enum { WEFT_CUDA_PLACE = 8 }; /* log2 of a place's bytes */
static_assert(WEFT_LOT_PIECE == 1 << WEFT_CUDA_PLACE, "a piece lies in two at most");

/* What came by the receive stream and goes by the block (lots.c). The receive task's own. */
struct weft_cuda_filling {
    uint32_t pieces, words, bytes; /* in the lot that is being filled */
    uint64_t places[64];           /* bits by hash of a place: something in the lot may lie there */
    bool by_stream;                /* the stream has something to do, as far as is known */
    bool unmarked;                 /* the stream was given something after the last mark */
    uint32_t looks;                /* looks in vain at lots of a mark: weft_cuda_block_look */
    uint64_t since;                /* since when, ns; 0: the last lots were there */
    struct {
        uint64_t lots; /* lots given when the mark was set */
        bool event;    /* the stream has an event for the mark, too */
    } marks[WEFT_CUDA_MARKS];
};

/* A kernel of the library's own beside the ranks (beside.c). */
struct weft_cuda_beside {
    CUmodule module; /* NULL: not loaded yet */
    CUfunction function;
    CUstream stream;
    struct weft_beside_control *control;
    uint32_t turn;
    bool alone; /* beside the prepared kernel, each block has a processor of its own */
    int shared; /* bytes of shared memory with which no other block fits on its processor */
};

struct weft_device {
    const struct weft_cuda_driver *driver;
    const struct weft_config *config;
    CUdevice device;
    CUcontext context; /* the primary one, as of the CUDA runtime in a program's kernels */
    int index, processors, sharers;
    bool mps;                /* other processes' kernels may run at once with ours */
    bool takes_turns;        /* kernels of the processes that share the GPU never overlap */
    size_t granularity;      /* unit, in bytes, of memory that others can map */
    bool descriptors;        /* its memory is passed on by file descriptor, else by IPC handle */
    struct weft_lock giving; /* held by whoever gives a stream something to do */
    CUstream kernels, streams[WEFT_STREAMS];
    CUevent before, after;
    CUevent marks[WEFT_STREAMS][WEFT_CUDA_MARKS];
    uint64_t marks_count[WEFT_STREAMS], marks_passed[WEFT_STREAMS]; /* marks set; known as passed */
    struct weft_block block;
    struct weft_cuda_filling filling;
    struct weft_cuda_beside beside;
    struct weft_keep keep; /* memory of the program's, for messages */
    int most;              /* ranks of the prepared kernel that fit beside each other */
};

/* Asks the GPU for an attribute; 0 also where it does not know the question. */
static inline int weft_cuda_attribute(const struct weft_device *d, CUdevice_attribute which)
{
    int value = 0;
    return d->driver->device_attribute(&value, which, d->device) == CUDA_SUCCESS ? value : 0;
}

/* A function of the table, which says what it does (device/device.h). */
#define WEFT_CUDA_OP(name) __typeof__(*((struct weft_device_ops *)NULL)->name) weft_cuda_##name

/* memory.c */
CUmemAllocationProp weft_cuda_memory_kind(const struct weft_device *d); /* not by IPC handle */
WEFT_CUDA_OP(alloc);
WEFT_CUDA_OP(alloc_running);
WEFT_CUDA_OP(free);
WEFT_CUDA_OP(map);
WEFT_CUDA_OP(unmap);

/* reach.c */
WEFT_CUDA_OP(host_alloc);
WEFT_CUDA_OP(host_free);
WEFT_CUDA_OP(no_access);
WEFT_CUDA_OP(whose);
WEFT_CUDA_OP(has_atomics);
WEFT_CUDA_OP(pin);
WEFT_CUDA_OP(unpin);
WEFT_CUDA_OP(keep);
WEFT_CUDA_OP(dmabuf);
WEFT_CUDA_OP(reached);

/* move.c: on the streams */
WEFT_CUDA_OP(copy);
WEFT_CUDA_OP(gather);
WEFT_CUDA_OP(mark);
WEFT_CUDA_OP(passed);
WEFT_CUDA_OP(fill);
WEFT_CUDA_OP(store);
WEFT_CUDA_OP(wait);
/* Has a stream store a word of 4 or 8 bytes itself. The caller holds the lock `giving`. */
CUresult weft_cuda_write_word(struct weft_device *d, enum weft_device_stream stream,
                              CUdeviceptr target, const void *source, size_t bytes);

/* kernel.c */
WEFT_CUDA_OP(ranks);
WEFT_CUDA_OP(run);

/* code.c */
WEFT_CUDA_OP(load);
WEFT_CUDA_OP(unload);
WEFT_CUDA_OP(launch);
WEFT_CUDA_OP(stream);

/*
 * block/block.c: the service block. stay is called before a kernel, leave after it. serves: the
 * block is there all the while, with as many threads as the registers of a rank allow. Else it
 * comes for errands, if the kernel does not fill the GPU.
 */
weft_status weft_cuda_block_open(struct weft_device *d);
void weft_cuda_block_close(struct weft_device *d);
weft_status weft_cuda_block_stay(struct weft_device *d, bool serves, bool full, int registers);
weft_status weft_cuda_block_leave(struct weft_device *d);
WEFT_CUDA_OP(serve);
WEFT_CUDA_OP(serve_now);
/* give: gives the block the lot that has been filled; *given: false if the block is not there.
 * delivered: how many lots are delivered. */
void weft_cuda_block_give(struct weft_device *d, uint32_t pieces, uint32_t words, bool *given);
uint64_t weft_cuda_block_delivered(const struct weft_device *d);
/* Called in each round of a wait for the block; looks: rounds so far; *since: 0 at first. Says now
 * and then what it waits for. Errors: DEVICE: the GPU has failed. */
weft_status weft_cuda_block_look(struct weft_device *d, uint32_t looks, uint64_t *since);

/*
 * lots.c: what the receive stream is given, while the block is beside a kernel. take: true: it is
 * in a lot; else it is for the stream. group: device.h, store. settle: waits until all lots are
 * delivered, so that the stream may go on.
 */
bool weft_cuda_lot_take(struct weft_device *d, uintptr_t target, const void *source, size_t bytes,
                        uint32_t group);
weft_status weft_cuda_lot_settle(struct weft_device *d);
static inline void weft_cuda_lot_by_stream(struct weft_device *d)
{
    d->filling.by_stream = d->filling.unmarked = true;
}
weft_status weft_cuda_lot_mark(struct weft_device *d, uint64_t mark, bool *event);
weft_status weft_cuda_lot_passed(struct weft_device *d, uint64_t mark, bool *there);

/* beside.c: begin returns when all blocks are there; end when all have left. At most one runs, of
 * one image always. Errors: DEVICE, MEMORY. */
weft_status weft_cuda_beside_begin(struct weft_device *d, const struct weft_beside *beside);
weft_status weft_cuda_beside_end(struct weft_device *d, const struct weft_beside *beside);
void weft_cuda_beside_close(struct weft_device *d);
/* Returns how many ranks' room a block of the kernel beside them may take. */
int weft_cuda_beside_ranks(int threads, int registers);

/* Has each stream do what it does most, before there is a kernel that could be in its way. */
weft_status weft_cuda_use_streams(struct weft_device *d);

#endif
