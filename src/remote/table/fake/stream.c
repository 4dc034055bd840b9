/* remote/table/fake/stream.c - streams as lists of operations. */
#include "remote/table/fake/inside.h"

#include <stdlib.h>

/* ---- streams --------------------------------------------------------------------------------- */

struct fake_stream *fake_stream_of(struct fake_device *device, CUstream handle)
{
    if (handle == NULL || handle == CU_STREAM_LEGACY)
        return &device->legacy;
    for (struct fake_stream *s = fake.streams; s != NULL; s = s->next)
        if ((CUstream)s == handle && !s->destroyed)
            return s;
    return NULL;
}

CUresult fake_enter_stream(struct fake_stream **stream, CUstream handle)
{
    struct fake_device *device;
    const CUresult result = fake_enter(&device);

    if (result != CUDA_SUCCESS)
        return result;
    *stream = fake_stream_of(device, handle);
    return *stream != NULL ? (*stream)->device->error : CUDA_ERROR_INVALID_HANDLE;
}

CUresult fake_stream_create(CUstream *stream, unsigned flags, int priority)
{
    struct fake_device *device;
    CUresult result = fake_enter(&device);
    struct fake_stream *s = NULL;

    if (result == CUDA_SUCCESS && (flags & ~(unsigned)CU_STREAM_NON_BLOCKING) != 0)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && (s = calloc(1, sizeof(*s))) == NULL)
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS) {
        *s = (struct fake_stream){.next = fake.streams,
                                  .device = device,
                                  .id = ++fake.ids,
                                  .flags = flags,
                                  .priority = priority > 0    ? 0
                                              : priority < -5 ? -5
                                                              : priority};
        s->last = &s->first;
        fake.streams = s;
        *stream = (CUstream)s;
    }
    return fake_end(result);
}

CUresult fake_stream_destroy(CUstream handle)
{
    struct fake_stream *stream = NULL;
    CUresult result = fake_enter_stream(&stream, handle);

    if (result == CUDA_SUCCESS && stream == &stream->device->legacy)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS) {
        stream->destroyed = true;
        fake_drop_stream(stream);
    }
    return fake_end(result);
}

CUresult fake_stream_query(CUstream handle)
{
    struct fake_stream *stream = NULL;
    CUresult result = fake_enter_stream(&stream, handle);

    if (result == CUDA_SUCCESS && !fake_idle(stream))
        result = CUDA_ERROR_NOT_READY;
    return fake_end(result);
}

CUresult fake_stream_synchronize(CUstream handle)
{
    struct fake_stream *stream = NULL;
    CUresult result = fake_enter_stream(&stream, handle);

    if (result == CUDA_SUCCESS)
        result = fake_drain(stream);
    return fake_end(result);
}

#define FAKE_TELLS(field, type)                                                                    \
    CUresult fake_stream_##field(CUstream handle, type *value)                                     \
    {                                                                                              \
        struct fake_stream *stream = NULL;                                                         \
        const CUresult result = fake_enter_stream(&stream, handle);                                \
        if (result == CUDA_SUCCESS)                                                                \
            *value = stream->field;                                                                \
        return fake_end(result);                                                                   \
    }
FAKE_TELLS(flags, unsigned)
FAKE_TELLS(priority, int)
FAKE_TELLS(id, unsigned long long)

CUresult fake_stream_wait_value(CUstream handle, CUdeviceptr address, cuuint32_t value,
                                unsigned flags)
{
    struct fake_stream *stream = NULL;
    CUresult result = fake_enter_stream(&stream, handle);
    const struct fake_op op = {.kind = FAKE_WAIT_VALUE, .word = {(uint32_t *)address, value}};

    if (result == CUDA_SUCCESS && flags != CU_STREAM_WAIT_VALUE_GEQ)
        result = CUDA_ERROR_NOT_SUPPORTED;
    if (result == CUDA_SUCCESS && fake_find((void *)address, 4, NULL) == FAKE_NOWHERE)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = fake_push(stream, &op);
    return fake_end(result);
}

CUresult fake_launch_host(CUstream handle, CUhostFn run_it, void *argument)
{
    struct fake_stream *stream = NULL;
    CUresult result = fake_enter_stream(&stream, handle);
    const struct fake_op op = {.kind = FAKE_HOST, .host = {run_it, argument}};

    if (result == CUDA_SUCCESS && run_it == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = fake_push(stream, &op);
    return fake_end(result);
}
