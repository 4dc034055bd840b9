/* support/far_stream.c - see the header. */
#include "support/far_stream.h"

#include "base/say.h"
#include "order/atomic.h"
#include "support/far_device.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

static void do_work(const struct far_stream *stream, const struct far_work *work)
{
    const struct far_copy copy = {.stream = stream->which,
                                  .target = work->target,
                                  .source = work->source,
                                  .bytes = work->width * work->rows};

    if (work->kind == FAR_COPY && far_watch.ready != NULL)
        far_watch.ready(&copy);
    for (size_t r = 0; work->kind == FAR_COPY && r < work->rows; r++)
        /* Ranks may be polling what is delivered: aligned words arrive undivided. */
        weft_deliver(work->target + r * work->width, work->source + r * work->pitch, work->width);
    /* Beside no kernel plainly: ThreadSanitizer keeps up to a kilobyte of each word that was stored
     * by an atomic, and a kernel's counters are 34 MB. */
    const bool alone = __atomic_load_n(stream->bell, __ATOMIC_ACQUIRE) == NULL;
    uint32_t *const words = (uint32_t *)(void *)work->target;
    for (size_t w = 0; work->kind == FAR_FILL && w < work->rows; w++)
        if (alone)
            words[w] = work->value;
        else
            weft_store_relaxed_u32(&words[w], work->value);
    if (work->kind == FAR_STORE)
        weft_store_release_u32((uint32_t *)(void *)work->target, work->value,
                               ORDER_count_store_host);
    if (work->kind == FAR_COPY && far_watch.done != NULL)
        far_watch.done(&copy);
}

static void *stream_main(void *argument)
{
    struct far_stream *stream = argument;

    pthread_mutex_lock(&stream->lock);
    for (;;) {
        while (stream->told == stream->done && !stream->stop)
            pthread_cond_wait(&stream->changed, &stream->lock);
        if (stream->told == stream->done)
            break;
        const struct far_work work = stream->queue[stream->done % FAR_WORK_MOST];
        pthread_mutex_unlock(&stream->lock);
        sched_yield(); /* later, as far as one can tell */
        do_work(stream, &work);
        struct weft_bell *bell = __atomic_load_n(stream->bell, __ATOMIC_ACQUIRE);
        pthread_mutex_lock(&stream->lock);
        stream->done++;
        pthread_cond_broadcast(&stream->changed);
        if (bell != NULL)
            weft_bell_ring(bell);
    }
    pthread_mutex_unlock(&stream->lock);
    return NULL;
}

void far_stream_open(struct far_stream *stream, enum weft_device_stream which,
                     struct weft_bell **bell)
{
    stream->bell = bell;
    stream->which = which;
    pthread_mutex_init(&stream->lock, NULL);
    pthread_cond_init(&stream->changed, NULL);
    if (pthread_create(&stream->thread, NULL, stream_main, stream) != 0)
        abort();
}

/* Says that all that the stream was given is to be done. With the lock. */
static void tell(struct far_stream *stream)
{
    stream->told = stream->given;
    pthread_cond_broadcast(&stream->changed);
}

void far_stream_close(struct far_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    stream->stop = true;
    tell(stream);
    pthread_mutex_unlock(&stream->lock);
    pthread_join(stream->thread, NULL);
}

weft_status far_stream_give(struct far_stream *stream, const struct far_work *work)
{
    const struct far_copy copy = {.stream = stream->which,
                                  .target = work->target,
                                  .source = work->source,
                                  .bytes = work->width * work->rows};

    if (work->kind == FAR_COPY && far_watch.begun != NULL && !far_watch.begun(&copy))
        return weft_err(WEFT_ERR_DEVICE, "the far device was told to fail");
    pthread_mutex_lock(&stream->lock);
    while (stream->given - stream->done == FAR_WORK_MOST) {
        tell(stream);
        pthread_cond_wait(&stream->changed, &stream->lock);
    }
    stream->queue[stream->given++ % FAR_WORK_MOST] = *work;
    if (stream->which != WEFT_STREAM_RECEIVE) /* it gathers until a mark, as a GPU's does */
        tell(stream);
    pthread_mutex_unlock(&stream->lock);
    return WEFT_OK;
}

void far_stream_wait(struct far_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    const uint64_t given = stream->given;
    tell(stream);
    while (stream->done < given)
        pthread_cond_wait(&stream->changed, &stream->lock);
    pthread_mutex_unlock(&stream->lock);
}

uint64_t far_stream_given(struct far_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    const uint64_t given = stream->given;
    tell(stream);
    pthread_mutex_unlock(&stream->lock);
    return given;
}

bool far_stream_passed(struct far_stream *stream, uint64_t given)
{
    pthread_mutex_lock(&stream->lock);
    const bool passed = stream->done >= given;
    pthread_mutex_unlock(&stream->lock);
    return passed;
}
