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
    uint64_t memory; /* that this program may have */
    char pci[32];
    int32_t driver, devices; /* its version; how many devices the session has */
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

/* Field of the table, parameters, arguments. */
#define WEFT_KNOWN_MAP(X)                                                                          \
    X(init, (unsigned flags), flags)                                                               \
    X(driver_version, (int *version), version)                                                     \
    X(device_count, (int *count), count)                                                           \
    X(device_name, (char *name, int bytes, CUdevice device), name, bytes, device)                  \
    X(device_total, (size_t * bytes, CUdevice device), bytes, device)                              \
    X(device_attribute, (int *value, CUdevice_attribute which, CUdevice device), value, which,     \
      device)                                                                                      \
    X(device_uuid, (CUuuid * uuid, CUdevice device), uuid, device)                                 \
    X(device_pci, (char *text, int bytes, CUdevice device), text, bytes, device)                   \
    X(device_by_pci, (CUdevice * device, const char *text), device, text)                          \
    X(peer_can, (int *can, CUdevice device, CUdevice peer), can, device, peer)                     \
    X(peer_attribute, (int *value, CUdevice_P2PAttribute which, CUdevice device, CUdevice peer),   \
      value, which, device, peer)                                                                  \
    X(context_retain, (CUcontext * context, CUdevice device), context, device)                     \
    X(context_state, (CUdevice device, unsigned *flags, int *active), device, flags, active)       \
    X(context_flags, (CUdevice device, unsigned flags), device, flags)                             \
    X(context_use, (CUcontext context), context)

/* weft_known_FIELD(list, parameters of the driver's function): its value and errors. */
#define WEFT_KNOWN_UNWRAP(...) __VA_ARGS__
#define WEFT_KNOWN_DECLARE(field, parameters, ...)                                                 \
    CUresult weft_known_##field(struct weft_known_list *list, WEFT_KNOWN_UNWRAP parameters);
WEFT_KNOWN_MAP(WEFT_KNOWN_DECLARE)
#undef WEFT_KNOWN_DECLARE

/* By ordinal, by context; NULL: none. */
struct weft_known *weft_known_device(const struct weft_known_list *list, CUdevice ordinal);
struct weft_known *weft_known_in(const struct weft_known_list *list, CUcontext context);
/*
 * visible.c: keeps the devices that a text like CUDA_VISIBLE_DEVICES names, in its order; NULL:
 * all. As CUDA's driver reads it: numbers, or beginnings of UUIDs that fit one device, up to the
 * first that is neither. A device that is named twice leaves none.
 */
void weft_known_show(struct weft_known_list *list, const char *visible);
/* What an address is: memory of that device, -1 of none; pinned memory of the host. */
CUresult weft_known_pointer(unsigned count, const CUpointer_attribute *wanted, void **data,
                            CUdeviceptr address, int device, bool pinned);
/* A copy of rows, by the addresses of their first bytes. */
struct weft_rows {
    uint64_t to, to_pitch, from, from_pitch, width, rows;
};
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
/* Bytes of an element of an array; 0: arrays have no such elements. */
size_t weft_texel_bytes(CUarray_format format, unsigned channels);
/*
 * How long a fat binary is, by its header of WEFT_IMAGE_HEADER bytes; 0: it is none. A driver reads
 * so much of it.
 */
enum { WEFT_IMAGE_HEADER = 16, WEFT_IMAGE_MOST = 256 << 20 };
uint64_t weft_image_bytes(const void *image);
/* Whether its kernels may print, or assert. bytes: all of it, with a whole header. */
bool weft_image_prints(const void *image, uint64_t bytes);
/* Of a launch's attributes the one that counts. */
bool weft_is_cooperative(const CUlaunchConfig *config);
/* Whether kernels of one device reach the other's memory: only within a server. */
bool weft_known_reaches(const struct weft_known *device, const struct weft_known *peer);

#endif
