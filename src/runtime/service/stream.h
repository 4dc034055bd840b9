/*
 * runtime/service/stream.h - what arrives, given to the device's receive stream, which does things
 * in order; a mark says how far it has come. Of a device that has an image, on the receive side,
 * one thread at a time. bool: false, the device failed.
 */
#ifndef WEFT_RUNTIME_SERVICE_STREAM_H
#define WEFT_RUNTIME_SERVICE_STREAM_H

#include "runtime/job/job.h"

struct weft_receive_stream {
    bool unmarked; /* something was given to it after its last mark */
    bool busy;     /* the last mark has not been seen passed */
    uint64_t mark; /* the last one */
};

bool weft_stream_copy(struct weft_job *job, struct weft_receive_stream *stream, void *target,
                      const void *source, size_t bytes);
/* One more of a counter of this process's ranks. */
void weft_stream_count(struct weft_job *job, struct weft_receive_stream *stream, uint32_t index);
/* A word of the host's. */
bool weft_stream_store(struct weft_job *job, struct weft_receive_stream *stream, uint32_t *word,
                       uint32_t value);
/* Has a mark after all that was given to it: stream->mark. */
bool weft_stream_mark(struct weft_job *job, struct weft_receive_stream *stream);
bool weft_stream_passed(struct weft_job *job, struct weft_receive_stream *stream, uint64_t mark,
                        bool *passed);
/* Waits until all has taken effect. */
bool weft_stream_settle(struct weft_job *job, struct weft_receive_stream *stream);

#endif
