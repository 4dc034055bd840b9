/* device/cuda/cuda_device.h - what the files of this folder share. */
#ifndef WEFT_DEVICE_CUDA_CUDA_DEVICE_H
#define WEFT_DEVICE_CUDA_CUDA_DEVICE_H

#include "base/task.h"
#include "device/cuda/driver.h"
#include "device/device.h"

enum { WEFT_CUDA_MARKS = 64, WEFT_CUDA_WORDS = 16 };

struct weft_device {
    const struct weft_cuda_driver *driver;
    const struct weft_config *config;
    CUdevice device;
    CUcontext
        context; /* the primary one, which the CUDA runtime in a program's kernels uses, too */
    int index, processors, sharers;
    size_t granularity;                     /* of memory that others can map */
    CUmemAllocationHandleType passed_on_by; /* by a descriptor or a fabric handle; 0: IPC handle */
    struct weft_lock giving;                /* held by whoever gives a stream something to do */
    CUstream kernels, streams[WEFT_STREAMS];
    CUevent before, after;
    CUevent marks[WEFT_STREAMS][WEFT_CUDA_MARKS];
    uint64_t marks_count[WEFT_STREAMS], marks_passed[WEFT_STREAMS]; /* that were set; known to be */
    CUstreamBatchMemOpParams words[WEFT_CUDA_WORDS]; /* move.c: not given to the stream yet */
    unsigned words_count;
};

/* What the GPU says of itself; 0 also where it does not know the question. */
static inline int weft_cuda_attribute(const struct weft_device *d, CUdevice_attribute which)
{
    int value = 0;
    return d->driver->device_attribute(&value, which, d->device) == CUDA_SUCCESS ? value : 0;
}

/* memory.c */
CUmemAllocationProp weft_cuda_memory_kind(const struct weft_device *d); /* not by IPC handle */
void *weft_cuda_alloc(struct weft_device *d, size_t bytes, struct weft_share *handle);
void *weft_cuda_alloc_running(struct weft_device *d, size_t bytes, struct weft_share *handle);
void weft_cuda_free(struct weft_device *d, void *memory, const struct weft_share *handle);
void *weft_cuda_host_alloc(struct weft_device *d, size_t bytes);
void weft_cuda_host_free(struct weft_device *d, void *memory);
const char *weft_cuda_no_access(struct weft_device *d, const void *memory, size_t bytes);
void *weft_cuda_map(struct weft_device *d, const struct weft_share *handle, const char **reason);
bool weft_cuda_has_atomics(const struct weft_device *d,
                           const unsigned char other[WEFT_DEVICE_ID_BYTES]);
void weft_cuda_unmap(struct weft_device *d, void *memory, const struct weft_share *handle);

/* move.c: copies, stores and marks on the streams; what device.h says of each */
weft_status weft_cuda_copy(struct weft_device *d, enum weft_device_stream stream, void *target,
                           const void *source, size_t bytes);
weft_status weft_cuda_gather(struct weft_device *d, enum weft_device_stream stream, void *target,
                             const void *source, size_t pitch, size_t width, size_t rows);
weft_status weft_cuda_mark(struct weft_device *d, enum weft_device_stream stream, uint64_t *mark);
weft_status weft_cuda_passed(struct weft_device *d, enum weft_device_stream stream, uint64_t mark,
                             bool *passed);
weft_status weft_cuda_fill(struct weft_device *d, enum weft_device_stream stream, uint32_t *target,
                           uint32_t value, size_t words);
weft_status weft_cuda_store(struct weft_device *d, enum weft_device_stream stream, uint32_t *word,
                            uint32_t value);
weft_status weft_cuda_wait(struct weft_device *d, enum weft_device_stream stream);
/* Each stream does what it does most, before there is a kernel that could be in its way. */
weft_status weft_cuda_use_lanes(struct weft_device *d);
const char *weft_cuda_pin(struct weft_device *d, void *memory, size_t bytes);
void weft_cuda_unpin(struct weft_device *d, void *memory);

/* direct.c: memory that a network's device writes itself */
int weft_cuda_dmabuf(struct weft_device *d, void *memory, size_t bytes, uint64_t *offset);
weft_status weft_cuda_reached(struct weft_device *d);

#endif
