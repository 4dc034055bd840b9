/*
 * support/far_stream.h - a stream of a far device (far_device.h): a queue of work and the thread
 * that does it, later, in order. Any thread gives it work.
 */
#ifndef WEFT_TESTS_FAR_STREAM_H
#define WEFT_TESTS_FAR_STREAM_H

#include "base/task.h"
#include "device/device.h"

#include <pthread.h>

enum { FAR_WORK_MOST = 4096 }; /* work that waits, at most; who gives more waits, too */

struct far_work {
    enum { FAR_COPY, FAR_FILL, FAR_STORE } kind;
    unsigned char *target;
    const unsigned char *source;
    size_t pitch, width, rows;
    uint32_t value;
};

struct far_stream {
    struct weft_bell **bell; /* bell to ring after each work, if *bell is not NULL */
    enum weft_device_stream which;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct far_work queue[FAR_WORK_MOST];
    uint64_t given, told, done; /* work so far: given; to be done; done */
    bool stop;
};

void far_stream_open(struct far_stream *stream, enum weft_device_stream which,
                     struct weft_bell **bell);
/* Closes the stream, which first does what it was given. */
void far_stream_close(struct far_stream *stream);

/* Gives work. DEVICE: far_watch makes it fail. */
weft_status far_stream_give(struct far_stream *stream, const struct far_work *work);

/* Waits until all that was given before is done. */
void far_stream_wait(struct far_stream *stream);

/* A mark: how much was given so far, all of which is to be done; and whether so much is. */
uint64_t far_stream_given(struct far_stream *stream);
bool far_stream_passed(struct far_stream *stream, uint64_t given);

#endif
