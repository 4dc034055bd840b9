/* fake/inside.h - what the parts of the fake driver share. All under fake.lock. */
#ifndef WEFT_TESTS_REMOTE_FAKE_INSIDE_H
#define WEFT_TESTS_REMOTE_FAKE_INSIDE_H

#include "base/task.h"
#include "fake/fake.h"
#include "remote/table/known.h"

#include <stdbool.h>

struct fake_device;

enum fake_kind {
    FAKE_COPY,
    FAKE_FILL,
    FAKE_KERNEL,
    FAKE_HOST,
    FAKE_RECORD,
    FAKE_WAIT_EVENT,
    FAKE_FREE,
    FAKE_HANG
};

struct fake_event {
    struct fake_event *next;
    uint64_t recorded, completed; /* serial numbers of records */
    uint64_t time;                /* of the last one completed */
    uint32_t flags, users;        /* users: operations that name it */
    bool destroyed;
};

struct fake_op {
    struct fake_op *next;
    enum fake_kind kind;
    uint64_t order; /* of issue, over all streams */
    union {
        struct fake_rows {
            uint64_t to, to_pitch, from, from_pitch, width, rows;
        } copy;
        struct {
            void *to;
            size_t width, rows, pitch;
            unsigned char value;
        } fill;
        struct {
            void (*run)(const struct weft_fake_launch *launch);
            struct weft_fake_launch launch;
            void *parameters[WEFT_FAKE_PARAMETERS];
        } kernel;
        struct {
            CUhostFn run;
            void *argument;
        } host;
        struct {
            struct fake_event *event;
            uint64_t serial;
        } event;
        void *memory; /* FREE */
    };
    void *own; /* memory that ends with it */
};

struct fake_stream {
    struct fake_stream *next;
    struct fake_device *device;
    struct fake_op *first, **last;
    uint64_t id;
    uint32_t flags;
    int priority;
    CUstreamAttrValue attributes[CU_STREAM_ATTRIBUTE_PRIORITY + 1]; /* by number */
    bool busy; /* its first operation runs, without the lock */
    bool destroyed;
};

struct fake_device {
    struct weft_known known;
    uint64_t used;
    CUresult error; /* sticky: every call returns it from now on */
    CUfunc_cache cache;
    size_t limits[CU_LIMIT_MAX];
    uint32_t peers; /* bit a device: access enabled */
    struct fake_stream legacy;
};

enum fake_memory { FAKE_NOWHERE, FAKE_DEVICE, FAKE_PINNED };

struct fake_state {
    struct weft_lock lock;
    bool open;
    char options[1024]; /* with names of files */
    struct weft_known_list known;
    uint64_t memory;
    int attributes; /* of a device that it knows: numbers below */
    uint64_t seed, orders, ids;
    struct fake_device device[WEFT_FAKE_DEVICES];
    struct fake_stream *streams;
    struct fake_event *events;
    struct {
        char name[16];
        int64_t left; /* until it happens */
        int code;
        bool hang;
    } fault;
};

extern struct fake_state fake;

void fake_print(void); /* module.c: what kernels have printed; lock held */

/* The calling thread's current device; NULL: none. */
struct fake_device *fake_current(void);
/* Lock, perhaps a step of some stream, and the current device's sticky error, or INVALID_CONTEXT.
 */
CUresult fake_enter(struct fake_device **device);
/* A call of the driver on the current device, whose result is an expression. */
#define FAKE_CALL(field, parameters, call)                                                         \
    CUresult fake_##field parameters                                                               \
    {                                                                                              \
        struct fake_device *device;                                                                \
        const CUresult result = fake_enter(&device);                                               \
        return fake_end(result == CUDA_SUCCESS ? (call) : result);                                 \
    }
/* Lock and perhaps a step, for calls that need no context. */
void fake_begin(void);
CUresult fake_end(CUresult result); /* unlocks; its value is the result */

/* Whether the fault `name` happens now: its error; CUDA_SUCCESS: no. *hang: it never ends. */
CUresult fake_fault(const char *name, bool *hang);

/* ---- device.c */
/* What the device is: the rest of it is zero. */
void fake_describe(struct fake_device *device, int ordinal);

/* ---- step.c */
/* A number below that, as the seed chooses. Lock held. */
uint32_t fake_draw(uint32_t below);
/* One operation of a stream that is ready. False: none is. Lock held, but not while it runs. */
bool fake_step(void);
/* Appends; `op` is copied. MEMORY. */
CUresult fake_push(struct fake_stream *stream, const struct fake_op *op);
/* A handle as a stream of the device; NULL: it is none. */
struct fake_stream *fake_stream_of(struct fake_device *device, CUstream handle);
/* Runs steps until the stream, or every one of the device, is empty, or the device has failed. */
CUresult fake_drain(struct fake_stream *stream);
CUresult fake_drain_device(struct fake_device *device);
bool fake_idle(const struct fake_stream *stream);
void fake_reset_streams(struct fake_device *device);
/* A step, or a pause in which others may open what all wait for. */
void fake_step_or_yield(uint32_t *pauses);
/* What was destroyed goes, if nothing uses it any more. */
void fake_drop_event(struct fake_event *event);
void fake_drop_stream(struct fake_stream *stream);

/* ---- stream.c */
/* Enters, and finds the stream. The lock is held after it, whatever it returns. */
CUresult fake_enter_stream(struct fake_stream **stream, CUstream handle);
/* FAKE_CALL for a stream, of which `handle` is the parameter. */
#define FAKE_STREAM_CALL(field, parameters, ...)                                                   \
    CUresult fake_##field parameters                                                               \
    {                                                                                              \
        struct fake_stream *stream = NULL;                                                         \
        const CUresult result = fake_enter_stream(&stream, handle);                                \
        return fake_end(result == CUDA_SUCCESS ? (__VA_ARGS__) : result);                          \
    }

/* ---- range.c: the pieces of memory that the driver knows */
struct fake_range {
    struct fake_range *next;
    unsigned char *base;
    size_t bytes;
    enum fake_memory kind;
    struct fake_device *device; /* of device memory; NULL: another process's */
    unsigned flags;             /* of pinned memory */
    bool ours;                  /* mapped here */
    bool managed;
    uint32_t access; /* bit a device: of what cuMemMap has mapped */
    int file;        /* in which that lies; 0: none */
};

extern struct fake_range *fake_ranges;

/* The one in which an address lies; the one of that kind that begins there. NULL: none. */
struct fake_range *fake_range_at(const void *address);
struct fake_range *fake_range_exactly(const void *address, enum fake_memory kind);
/*
 * Whether a device reaches all of that memory itself: mapped memory where cuMemSetAccess says so;
 * what alloc gave from any device, but with a kernel only where the peer is enabled.
 */
bool fake_range_reaches(const struct fake_device *device, const void *address, size_t bytes,
                        bool kernel);
/* Adds a copy; the caller has set all but next. MEMORY. */
CUresult fake_range_add(const struct fake_range *range);
/* The same with new memory, which nobody may take for zeros. */
CUresult fake_range_map(struct fake_range *range);
void fake_range_drop(struct fake_range *range);
/* Where all of the range lies. */
enum fake_memory fake_find(const void *address, size_t bytes);
/* ---- memory.c */
void fake_release(void *memory); /* of alloc, when its time has come */
void fake_reset_memory(struct fake_device *device);
void fake_reset_modules(const struct fake_device *device);
/* Memory of a module's global. */
CUresult fake_alloc_global(struct fake_device *device, size_t bytes, void **memory);

/* ---- array.c */
/* Where an array's memory is, its pitch and its rows a slice; false: none, or the box goes beyond.
 */
bool fake_array_find(CUarray handle, const struct weft_box *box, const struct weft_box_side *side,
                     uint64_t *at, uint64_t *pitch, uint64_t *height);
void *fake_texel(uint64_t object, size_t x, size_t y, size_t z); /* as kernels ask */
void fake_reset_arrays(struct fake_device *device);
/* The functions, for fake.c's table. */
#define FAKE_DECLARE(field, function) __typeof__(function) fake_##field;
WEFT_TABLE_MAP(FAKE_DECLARE)
#undef FAKE_DECLARE

#endif
