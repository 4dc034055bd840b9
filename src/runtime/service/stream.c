/* runtime/service/stream.c - see the header. */
#include "runtime/service/stream.h"

#include "runtime/space/image.h"

bool weft_stream_copy(struct weft_job *job, struct weft_receive_stream *stream, void *target,
                      const void *source, size_t bytes)
{
    stream->unmarked = true;
    return job->device_ops->copy(job->device, WEFT_STREAM_RECEIVE, target, source, bytes) ==
           WEFT_OK;
}

void weft_stream_count(struct weft_job *job, struct weft_receive_stream *stream, uint32_t index)
{
    stream->unmarked = true;
    weft_image_count(job, index);
}

bool weft_stream_store(struct weft_job *job, struct weft_receive_stream *stream, uint32_t *word,
                       uint32_t value)
{
    stream->unmarked = true;
    return job->device_ops->store(job->device, WEFT_STREAM_RECEIVE, word, value) == WEFT_OK;
}

bool weft_stream_mark(struct weft_job *job, struct weft_receive_stream *stream)
{
    if (!stream->unmarked)
        return true;
    if (job->device_ops->mark(job->device, WEFT_STREAM_RECEIVE, &stream->mark) != WEFT_OK)
        return false;
    stream->unmarked = false;
    stream->busy = true;
    return true;
}

bool weft_stream_passed(struct weft_job *job, struct weft_receive_stream *stream, uint64_t mark,
                        bool *passed)
{
    *passed = !stream->busy;
    if (*passed)
        return true;
    if (job->device_ops->passed(job->device, WEFT_STREAM_RECEIVE, mark, passed) != WEFT_OK)
        return false;
    if (*passed && mark == stream->mark)
        stream->busy = false;
    return true;
}

bool weft_stream_settle(struct weft_job *job, struct weft_receive_stream *stream)
{
    if (job->device_ops->wait(job->device, WEFT_STREAM_RECEIVE) != WEFT_OK)
        return false;
    stream->unmarked = stream->busy = false;
    return true;
}
