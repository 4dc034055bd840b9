/* fake/stream.c - streams as lists of operations. Lock held. */
#include "fake/inside.h"

#include <stdlib.h>
#include <string.h>

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

static CUresult create(struct fake_device *device, CUstream *handle, unsigned flags, int priority)
{
    const bool good = (flags & ~(unsigned)CU_STREAM_NON_BLOCKING) == 0;
    struct fake_stream *stream = good ? calloc(1, sizeof(*stream)) : NULL;

    if (stream == NULL)
        return good ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
    *stream = (struct fake_stream){.next = fake.streams,
                                   .device = device,
                                   .last = &stream->first,
                                   .id = ++fake.ids,
                                   .flags = flags,
                                   .priority = priority > 0    ? 0
                                               : priority < -5 ? -5
                                                               : priority};
    fake.streams = stream;
    *handle = (CUstream)stream;
    return CUDA_SUCCESS;
}

static CUresult destroy(struct fake_stream *stream)
{
    if (stream == &stream->device->legacy)
        return CUDA_ERROR_INVALID_HANDLE;
    stream->destroyed = true;
    fake_drop_stream(stream);
    return CUDA_SUCCESS;
}

FAKE_CALL(stream_create, (CUstream * stream, unsigned flags, int priority),
          create(device, stream, flags, priority))
FAKE_STREAM_CALL(stream_destroy, (CUstream handle), destroy(stream))
FAKE_STREAM_CALL(stream_query, (CUstream handle),
                 fake_idle(stream) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY)
FAKE_STREAM_CALL(stream_synchronize, (CUstream handle), fake_drain(stream))
FAKE_STREAM_CALL(stream_flags, (CUstream handle, unsigned *value),
                 (*value = stream->flags, CUDA_SUCCESS))
FAKE_STREAM_CALL(stream_priority, (CUstream handle, int *value),
                 (*value = stream->priority, CUDA_SUCCESS))
FAKE_STREAM_CALL(stream_id, (CUstream handle, unsigned long long *value),
                 (*value = stream->id, CUDA_SUCCESS))

static bool has(CUstreamAttrID attribute)
{
    return attribute == CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW ||
           attribute == CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY;
}

FAKE_STREAM_CALL(stream_attribute,
                 (CUstream handle, CUstreamAttrID attribute, CUstreamAttrValue *value),
                 has(attribute) ? (*value = stream->attributes[attribute], CUDA_SUCCESS)
                                : CUDA_ERROR_INVALID_VALUE)
FAKE_STREAM_CALL(stream_set_attribute,
                 (CUstream handle, CUstreamAttrID attribute, const CUstreamAttrValue *value),
                 has(attribute) ? (stream->attributes[attribute] = *value, CUDA_SUCCESS)
                                : CUDA_ERROR_INVALID_VALUE)

static CUresult copy_attributes(struct fake_stream *to, const struct fake_stream *from)
{
    if (from != NULL)
        memcpy(to->attributes, from->attributes, sizeof(to->attributes));
    return from != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

FAKE_STREAM_CALL(stream_copy_attributes, (CUstream handle, CUstream from),
                 copy_attributes(stream, fake_stream_of(stream->device, from)))

FAKE_STREAM_CALL(launch_host, (CUstream handle, CUhostFn run, void *argument),
                 run == NULL ? CUDA_ERROR_INVALID_VALUE
                             : fake_push(stream, &(struct fake_op){.kind = FAKE_HOST,
                                                                   .host = {run, argument}}))
