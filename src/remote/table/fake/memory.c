/* remote/table/fake/memory.c - device memory, pinned memory, copies and fills of the fake driver.
 */
#include "remote/table/fake/inside.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGN = 512, PAGES = 4096, GRANULE = 2 << 20, SCRIBBLE = 1 << 20 };

/* A piece of memory that the driver knows. */
struct range {
    struct range *next;
    unsigned char *base;
    size_t bytes;
    enum fake_memory kind;
    struct fake_device *device; /* of device memory */
    unsigned flags;             /* of pinned memory */
    bool ours;                  /* mapped here */
};

/* A cuMemCreate: only its size counts, the pages come with the reservation. */
struct physical {
    size_t bytes;
    struct fake_device *device;
};

static struct range *ranges;

/* ---- ranges ---------------------------------------------------------------------------------- */

static struct range *range_at(const void *address)
{
    const uintptr_t at = (uintptr_t)address;

    for (struct range *r = ranges; r != NULL; r = r->next)
        if (at - (uintptr_t)r->base < r->bytes)
            return r;
    return NULL;
}

enum fake_memory fake_find(const void *address, size_t bytes, struct fake_device **device)
{
    const unsigned char *at = address;
    const struct range *first = range_at(at);
    const unsigned char *const end = at + bytes;

    for (const struct range *r = first; r != NULL; r = range_at(at)) {
        at = r->base + r->bytes;
        if (at >= end) {
            if (device != NULL)
                *device = first->device;
            return first->kind;
        }
    }
    return FAKE_NOWHERE;
}

/* Adds memory; the caller has set all but next. */
static CUresult add(const struct range *range)
{
    struct range *r = malloc(sizeof(*r));

    if (r == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *r = *range;
    r->next = ranges;
    ranges = r;
    return CUDA_SUCCESS;
}

static void take_out(struct range *range)
{
    struct range **at = &ranges;

    while (*at != range)
        at = &(*at)->next;
    *at = range->next;
    if (range->device != NULL)
        range->device->used -= range->bytes;
    if (range->ours)
        munmap(range->base, (range->bytes + PAGES - 1) / PAGES * PAGES);
    free(range);
}

/* The range that begins there, of that kind. */
static struct range *exactly(const void *address, enum fake_memory kind)
{
    struct range *r = range_at(address);

    return r != NULL && r->base == address && r->kind == kind ? r : NULL;
}

static CUresult map_new(struct range *range)
{
    void *memory = mmap(NULL, (range->bytes + PAGES - 1) / PAGES * PAGES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (memory == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    range->base = memory;
    range->ours = true;
    if (range->kind == FAKE_DEVICE && range->bytes <= SCRIBBLE)
        memset(memory, 0xa5, range->bytes); /* nobody may count on zeros */
    const CUresult result = add(range);
    if (result != CUDA_SUCCESS)
        munmap(memory, (range->bytes + PAGES - 1) / PAGES * PAGES);
    return result;
}

/* ---- device memory --------------------------------------------------------------------------- */

static CUresult alloc_bytes(struct fake_device *device, size_t bytes, CUdeviceptr *address)
{
    struct range range = {
        .bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN, .kind = FAKE_DEVICE, .device = device};
    CUresult result = fake_fault("alloc", NULL);

    if (result == CUDA_SUCCESS && bytes == 0)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && (bytes > fake.memory || range.bytes > fake.memory - device->used))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS)
        result = map_new(&range);
    if (result == CUDA_SUCCESS) {
        device->used += range.bytes;
        *address = (CUdeviceptr)range.base;
    }
    return result;
}

CUresult fake_alloc_global(struct fake_device *device, size_t bytes, void **memory)
{
    CUdeviceptr address = 0;
    const CUresult result = alloc_bytes(device, bytes, &address);

    if (result == CUDA_SUCCESS) {
        memset((void *)address, 0, bytes);
        *memory = (void *)address;
    }
    return result;
}

CUresult fake_alloc(CUdeviceptr *address, size_t bytes)
{
    struct fake_device *device;
    CUresult result = fake_enter(&device);

    if (result == CUDA_SUCCESS)
        result = alloc_bytes(device, bytes, address);
    return fake_end(result);
}

CUresult fake_alloc_pitch(CUdeviceptr *address, size_t *pitch, size_t width, size_t rows,
                          unsigned element)
{
    struct fake_device *device;
    CUresult result = fake_enter(&device);
    const size_t wide = (width + ALIGN - 1) / ALIGN * ALIGN;

    if (result == CUDA_SUCCESS && (width == 0 || rows == 0 || wide > fake.memory / rows ||
                                   (element != 4 && element != 8 && element != 16)))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = alloc_bytes(device, wide * rows, address);
    if (result == CUDA_SUCCESS)
        *pitch = wide;
    return fake_end(result);
}

void fake_release(void *memory)
{
    struct range *range = exactly(memory, FAKE_DEVICE);

    if (range != NULL)
        take_out(range);
}

CUresult fake_free(CUdeviceptr address)
{
    struct fake_device *device;
    CUresult result = fake_enter(&device);
    struct range *range = address != 0 ? exactly((void *)address, FAKE_DEVICE) : NULL;

    if (result == CUDA_SUCCESS && address != 0 && range == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && range != NULL) {
        result = fake_drain_device(range->device);
        if (result == CUDA_SUCCESS)
            fake_release((void *)address);
    }
    return fake_end(result);
}

CUresult fake_alloc_async(CUdeviceptr *address, size_t bytes, CUstream stream)
{
    struct fake_device *device;
    CUresult result = fake_enter(&device);

    if (result == CUDA_SUCCESS && fake_stream_of(device, stream) == NULL)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS)
        result = alloc_bytes(device, bytes, address);
    return fake_end(result);
}

CUresult fake_free_async(CUdeviceptr address, CUstream handle)
{
    struct fake_device *device;
    CUresult result = fake_enter(&device);
    struct fake_stream *stream = result == CUDA_SUCCESS ? fake_stream_of(device, handle) : NULL;
    const struct fake_op op = {.kind = FAKE_FREE, .memory = (void *)address};

    if (result == CUDA_SUCCESS && stream == NULL)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS && exactly((void *)address, FAKE_DEVICE) == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = fake_push(stream, &op);
    return fake_end(result);
}

CUresult fake_mem_info(size_t *available, size_t *total)
{
    struct fake_device *device;
    const CUresult result = fake_enter(&device);

    if (result == CUDA_SUCCESS) {
        *available = fake.memory - device->used;
        *total = fake.memory;
    }
    return fake_end(result);
}

void fake_reset_memory(struct fake_device *device)
{
    for (struct range *r = ranges, *next; r != NULL; r = next) {
        next = r->next;
        if (r->device == device && r->ours)
            take_out(r);
    }
}

/* ---- virtual memory -------------------------------------------------------------------------- */

CUresult fake_granularity(size_t *bytes, const CUmemAllocationProp *properties,
                          CUmemAllocationGranularity_flags option)
{
    (void)properties;
    (void)option;
    *bytes = GRANULE;
    return CUDA_SUCCESS;
}

CUresult fake_mem_create(CUmemGenericAllocationHandle *handle, size_t bytes,
                         const CUmemAllocationProp *properties, unsigned long long flags)
{
    CUresult result = CUDA_SUCCESS;
    struct physical *physical = NULL;

    fake_begin();
    const int ordinal = properties->location.id;
    if (flags != 0 || bytes == 0 || bytes % GRANULE != 0 || ordinal < 0 || ordinal >= fake.devices)
        result = CUDA_ERROR_INVALID_VALUE;
    else if ((result = fake_fault("alloc", NULL)) == CUDA_SUCCESS &&
             (bytes > fake.memory - fake.device[ordinal].used ||
              (physical = malloc(sizeof(*physical))) == NULL))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS) {
        *physical = (struct physical){bytes, &fake.device[ordinal]};
        *handle = (CUmemGenericAllocationHandle)(uintptr_t)physical;
    }
    return fake_end(result);
}

/* The mapping keeps it; here that is the range. */
CUresult fake_mem_release(CUmemGenericAllocationHandle handle)
{
    fake_begin();
    free((void *)(uintptr_t)handle);
    return fake_end(CUDA_SUCCESS);
}

CUresult fake_reserve(CUdeviceptr *address, size_t bytes, size_t alignment, CUdeviceptr hint,
                      unsigned long long flags)
{
    (void)alignment;
    (void)flags;
    void *memory =
        mmap((void *)hint, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *address = (CUdeviceptr)memory;
    return CUDA_SUCCESS;
}

CUresult fake_unreserve(CUdeviceptr address, size_t bytes)
{
    return munmap((void *)address, bytes) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult fake_map(CUdeviceptr address, size_t bytes, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    const struct physical *physical = (const struct physical *)(uintptr_t)handle;
    CUresult result = CUDA_ERROR_INVALID_VALUE;

    fake_begin();
    if (flags == 0 && offset == 0 && bytes == physical->bytes && address % GRANULE == 0 &&
        range_at((void *)address) == NULL)
        result = add(&(struct range){.base = (unsigned char *)address,
                                     .bytes = bytes,
                                     .kind = FAKE_DEVICE,
                                     .device = physical->device});
    if (result == CUDA_SUCCESS)
        physical->device->used += bytes;
    return fake_end(result);
}

CUresult fake_unmap(CUdeviceptr address, size_t bytes)
{
    fake_begin();
    struct range *range = exactly((void *)address, FAKE_DEVICE);
    const bool good = range != NULL && range->bytes == bytes && !range->ours;
    if (good) {
        fake_drain_device(range->device);
        mmap((void *)address, bytes, PROT_NONE,
             MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        take_out(range);
    }
    return fake_end(good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult fake_set_access(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *descriptions,
                         size_t count)
{
    (void)descriptions;
    (void)count;
    return mprotect((void *)address, bytes, PROT_READ | PROT_WRITE) == 0 ? CUDA_SUCCESS
                                                                         : CUDA_ERROR_INVALID_VALUE;
}

/* ---- pinned memory --------------------------------------------------------------------------- */

CUresult fake_host_alloc(void **memory, size_t bytes, unsigned flags)
{
    struct fake_device *device;
    CUresult result = fake_enter(&device);
    struct range range = {.bytes = bytes, .kind = FAKE_PINNED, .flags = flags};

    if (result == CUDA_SUCCESS && (bytes == 0 || flags > 7))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = map_new(&range);
    if (result == CUDA_SUCCESS)
        *memory = range.base;
    return fake_end(result);
}

static CUresult forget(void *memory, bool ours)
{
    struct fake_device *device;
    CUresult result = fake_enter(&device);
    struct range *range = exactly(memory, FAKE_PINNED);

    if (result == CUDA_SUCCESS && (range == NULL || range->ours != ours))
        result = ours ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    if (result == CUDA_SUCCESS) {
        result = fake_drain_device(device);
        take_out(range);
    }
    return fake_end(result);
}

CUresult fake_host_free(void *memory)
{
    return forget(memory, true);
}

CUresult fake_host_unregister(void *memory)
{
    return forget(memory, false);
}

CUresult fake_host_register(void *memory, size_t bytes, unsigned flags)
{
    struct fake_device *device;
    CUresult result = fake_enter(&device);

    if (result == CUDA_SUCCESS && (memory == NULL || bytes == 0))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && range_at(memory) != NULL)
        result = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    if (result == CUDA_SUCCESS)
        result = add(
            &(struct range){.base = memory, .bytes = bytes, .kind = FAKE_PINNED, .flags = flags});
    return fake_end(result);
}

CUresult fake_host_flags(unsigned *flags, void *memory)
{
    struct fake_device *device;
    CUresult result = fake_enter(&device);
    const struct range *range = range_at(memory);

    if (result == CUDA_SUCCESS && (range == NULL || range->kind != FAKE_PINNED))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *flags = range->flags;
    return fake_end(result);
}

/* ---- attributes of addresses ----------------------------------------------------------------- */

CUresult fake_pointer_attributes(unsigned count, CUpointer_attribute *wanted, void **data,
                                 CUdeviceptr address)
{
    fake_begin();
    const struct range *range = range_at((void *)address);
    for (unsigned i = 0; i < count; i++)
        switch (wanted[i]) {
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            *(unsigned *)data[i] = range == NULL                ? 0
                                   : range->kind == FAKE_DEVICE ? (unsigned)CU_MEMORYTYPE_DEVICE
                                                                : (unsigned)CU_MEMORYTYPE_HOST;
            break;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            *(int *)data[i] = range == NULL           ? -2
                              : range->device != NULL ? range->device->ordinal
                                                      : 0;
            break;
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
            *(CUdeviceptr *)data[i] = range != NULL && range->kind == FAKE_DEVICE ? address : 0;
            break;
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
            *(void **)data[i] =
                range != NULL && range->kind == FAKE_PINNED ? (void *)address : NULL;
            break;
        default:
            return fake_end(CUDA_ERROR_INVALID_VALUE);
        }
    return fake_end(CUDA_SUCCESS);
}

/* ---- copies and fills ------------------------------------------------------------------------ */

/* Enters, finds the stream, and lets a fault of that name happen. The lock is held after it. */
static CUresult enter_stream(struct fake_stream **stream, CUstream handle, const char *name,
                             bool *hang)
{
    struct fake_device *device;
    CUresult result = fake_enter(&device);

    if (result != CUDA_SUCCESS)
        return result;
    *stream = fake_stream_of(device, handle);
    if (*stream == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    result = fake_fault(name, hang);
    if (result != CUDA_SUCCESS) /* as an operation that fails: the context is lost */
        (*stream)->device->error = result;
    return result;
}

/*
 * A copy of rows. What lies in pageable memory is read now; what goes there is there on return, as
 * with the driver.
 */
static CUresult push_copy(CUstream handle, struct fake_op *op)
{
    struct fake_stream *stream = NULL;
    bool hang = false;
    CUresult result = enter_stream(&stream, handle, "copy", &hang);
    const size_t rows = op->copy.rows,
                 from = rows == 0 ? 0 : (rows - 1) * op->copy.from_pitch + op->copy.bytes,
                 to = rows == 0 ? 0 : (rows - 1) * op->copy.to_pitch + op->copy.bytes;

    if (result != CUDA_SUCCESS || op->copy.bytes == 0 || rows == 0)
        return fake_end(result);
    const enum fake_memory source = fake_find(op->copy.from, from, NULL),
                           target = fake_find(op->copy.to, to, NULL);
    if ((source == FAKE_NOWHERE && range_at(op->copy.from) != NULL) ||
        (target == FAKE_NOWHERE && range_at(op->copy.to) != NULL))
        return fake_end(CUDA_ERROR_INVALID_VALUE); /* over the end of an allocation */
    if (source == FAKE_NOWHERE && target != FAKE_NOWHERE) {
        op->own = malloc(from);
        if (op->own == NULL)
            return fake_end(CUDA_ERROR_OUT_OF_MEMORY);
        memcpy(op->own, op->copy.from, from);
        op->copy.from = op->own;
    }
    if (hang)
        op->kind = FAKE_HANG;
    result = fake_push(stream, op);
    if (result == CUDA_SUCCESS && target == FAKE_NOWHERE)
        result = fake_drain(stream);
    return fake_end(result);
}

CUresult fake_copy_async(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    struct fake_op op = {
        .kind = FAKE_COPY,
        .copy = {.to = (void *)to, .from = (void *)from, .bytes = bytes, .rows = 1}};
    return push_copy(stream, &op);
}

CUresult fake_copy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    CUresult result = fake_copy_async(to, from, bytes, NULL);

    return result == CUDA_SUCCESS ? fake_stream_synchronize(NULL) : result;
}

/* The side that has to be a device's. */
static bool on_device(CUdeviceptr address, size_t bytes)
{
    fake_begin();
    const bool is = bytes == 0 || fake_find((void *)address, bytes, NULL) != FAKE_NOWHERE;
    fake_end(CUDA_SUCCESS);
    return is;
}

CUresult fake_copy_in(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    return on_device(to, bytes) ? fake_copy_async(to, (CUdeviceptr)from, bytes, stream)
                                : CUDA_ERROR_INVALID_VALUE;
}

CUresult fake_copy_out(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return on_device(from, bytes) ? fake_copy_async((CUdeviceptr)to, from, bytes, stream)
                                  : CUDA_ERROR_INVALID_VALUE;
}

CUresult fake_copy_peer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                        CUcontext from_context, size_t bytes, CUstream stream)
{
    (void)to_context;
    (void)from_context;
    return on_device(to, bytes) && on_device(from, bytes) ? fake_copy_async(to, from, bytes, stream)
                                                          : CUDA_ERROR_INVALID_VALUE;
}

static unsigned char *side(CUmemorytype type, void *host, CUdeviceptr device, size_t x, size_t y,
                           size_t pitch)
{
    unsigned char *base = type == CU_MEMORYTYPE_HOST ? host : (unsigned char *)device;

    return base + y * pitch + x;
}

CUresult fake_copy_rows(const CUDA_MEMCPY2D *c, CUstream stream)
{
    struct fake_op op = {.kind = FAKE_ROWS};

    if (c->srcMemoryType == CU_MEMORYTYPE_ARRAY || c->dstMemoryType == CU_MEMORYTYPE_ARRAY)
        return CUDA_ERROR_NOT_SUPPORTED;
    op.copy.to =
        side(c->dstMemoryType, c->dstHost, c->dstDevice, c->dstXInBytes, c->dstY, c->dstPitch);
    op.copy.from = side(c->srcMemoryType, (void *)c->srcHost, c->srcDevice, c->srcXInBytes, c->srcY,
                        c->srcPitch);
    op.copy.bytes = c->WidthInBytes;
    op.copy.rows = c->Height;
    op.copy.to_pitch = c->dstPitch;
    op.copy.from_pitch = c->srcPitch;
    if (c->Height > 1 && (c->dstPitch < c->WidthInBytes || c->srcPitch < c->WidthInBytes))
        return CUDA_ERROR_INVALID_VALUE;
    return push_copy(stream, &op);
}

static CUresult push_fill(CUstream handle, const struct fake_op *op)
{
    struct fake_stream *stream = NULL;
    bool hang = false;
    CUresult result = enter_stream(&stream, handle, "fill", &hang);
    const size_t extent =
        op->fill.rows == 0 ? 0 : (op->fill.rows - 1) * op->fill.pitch + op->fill.width;

    if (result == CUDA_SUCCESS && extent != 0 &&
        fake_find(op->fill.to, extent, NULL) == FAKE_NOWHERE)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && extent != 0)
        result = fake_push(stream, op);
    return fake_end(result);
}

CUresult fake_fill8(CUdeviceptr to, unsigned char value, size_t count, CUstream stream)
{
    return push_fill(
        stream,
        &(struct fake_op){
            .kind = FAKE_FILL,
            .fill = {.to = (void *)to, .width = count, .rows = 1, .value = value, .unit = 1}});
}

CUresult fake_fill32(CUdeviceptr to, unsigned value, size_t count, CUstream stream)
{
    return push_fill(
        stream,
        &(struct fake_op){
            .kind = FAKE_FILL,
            .fill = {.to = (void *)to, .width = count * 4, .rows = 1, .value = value, .unit = 4}});
}

CUresult fake_fill8_rows(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                         size_t rows, CUstream stream)
{
    return push_fill(stream, &(struct fake_op){.kind = FAKE_FILL,
                                               .fill = {.to = (void *)to,
                                                        .width = width,
                                                        .rows = rows,
                                                        .pitch = pitch,
                                                        .value = value,
                                                        .unit = 1}});
}
