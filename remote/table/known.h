/*
 * remote/table/known.h - the functions of a table that need no driver: what devices are, once their
 * facts are known, and their contexts. The fake driver and remote GPUs have them in common. A
 * device's context is the device itself.
 */
#ifndef WEFT_REMOTE_TABLE_KNOWN_H
#define WEFT_REMOTE_TABLE_KNOWN_H

#include "remote/table/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What there is to know of a device. Travels as its bytes. */
enum { WEFT_ATTRIBUTES = 160, WEFT_KNOWN_MOST = 256 };
struct weft_facts {
    char name[128];
    unsigned char uuid[16];
    uint64_t memory; /* bytes that this program may have */
    char pci[32];
    int32_t driver, devices; /* the driver's version; how many devices the session has */
    int32_t attributes[WEFT_ATTRIBUTES];
    uint64_t peers; /* bit a device: the driver's own copies reach it */
};
_Static_assert(sizeof(struct weft_facts) == 128 + 16 + 8 + 32 + 8 + 4 * WEFT_ATTRIBUTES + 8,
               "facts travel as their bytes: no padding");

/* A device: what a driver's own struct for it begins with. */
struct weft_known {
    struct weft_facts facts;
    int process, number; /* the session, and the device there; process 0: of this process */
    unsigned flags;
};

struct weft_known_list {
    struct weft_known *at[WEFT_KNOWN_MOST]; /* by ordinal */
    int count;
    struct weft_known **(*now)(void); /* the calling thread's current device */
};

/* Find a device by its ordinal, or by its context; NULL: none. */
struct weft_known *weft_known_device(const struct weft_known_list *list, CUdevice ordinal);
struct weft_known *weft_known_in(const struct weft_known_list *list, CUcontext context);
/*
 * visible.c: keeps the devices that a text like CUDA_VISIBLE_DEVICES names, in its order; NULL:
 * all. As CUDA's driver reads it: numbers, or beginnings of UUIDs that fit one device, up to the
 * first that is neither. A device that is named twice leaves none.
 */
void weft_known_show(struct weft_known_list *list, const char *visible);
/* What an address is, and of which device; pinned memory is of the first one. */
enum weft_pointer { WEFT_UNKNOWN, WEFT_ON_DEVICE, WEFT_PINNED, WEFT_MAPPED, WEFT_MANAGED };
CUresult weft_known_pointer(unsigned count, const CUpointer_attribute *wanted, void **data,
                            CUdeviceptr address, int device, enum weft_pointer memory);
/* A copy of a box, with arrays or without: CUDA_MEMCPY3D, whose two sides are alike. */
struct weft_box_side {
    size_t x, y, z, level; /* x in bytes */
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    CUarray array;
    void *reserved;
    size_t pitch, height; /* bytes from row to row, rows from slice to slice */
};
struct weft_box {
    struct weft_box_side from, to;
    size_t width, rows, slices;
};
_Static_assert(sizeof(struct weft_box) == sizeof(CUDA_MEMCPY3D) &&
                   offsetof(struct weft_box, from.height) == offsetof(CUDA_MEMCPY3D, srcHeight) &&
                   offsetof(struct weft_box, to.x) == offsetof(CUDA_MEMCPY3D, dstXInBytes) &&
                   offsetof(struct weft_box, to.height) == offsetof(CUDA_MEMCPY3D, dstHeight) &&
                   offsetof(struct weft_box, width) == offsetof(CUDA_MEMCPY3D, WidthInBytes),
               "the vendor's own fields");
/* Returns the bytes of an element of an array; 0: arrays have no such elements. */
size_t weft_texel_bytes(CUarray_format format, unsigned channels);
/*
 * How long a fat binary is, by its header of WEFT_IMAGE_HEADER bytes; 0: it is none. A driver reads
 * so much of it.
 */
enum { WEFT_IMAGE_HEADER = 16, WEFT_IMAGE_MOST = 256 << 20 };
uint64_t weft_image_bytes(const void *image);
/* Whether an image's kernels may print, or assert. bytes: all of it, with a whole header. */
bool weft_image_prints(const void *image, uint64_t bytes);
/* Whether kernels of one device reach the other's memory: only within a server. */
bool weft_known_reaches(const struct weft_known *device, const struct weft_known *peer);

#endif
