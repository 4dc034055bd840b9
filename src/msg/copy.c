/* msg/copy.c - see the header. */
#include "msg/copy.h"

enum { LOOK_FROM = 8192 /* bytes of a buffer for which a CUDA driver is looked for */ };

weft_status weft_msg_place(struct weft_msg_call *call, const void *memory, size_t bytes,
                           bool *device)
{
    const struct weft_job *job = call->m->job;

    *device = false;
    if (bytes == 0)
        return WEFT_OK;
    if (memory == NULL)
        return weft_msg_refuse(call, WEFT_ERR_ARGUMENT, "%zu bytes at NULL", bytes);
    if (job->device_ops->whose == NULL) {
        if (WEFT_UNLIKELY(weft_device_is_foreign(memory, bytes >= LOOK_FROM)))
            return weft_msg_refuse(call, WEFT_ERR_ARGUMENT,
                                   "%zu bytes at %p are memory of a GPU, and this job is on the "
                                   "CPU device",
                                   bytes, memory);
        return WEFT_OK;
    }
    const enum weft_memory whose = job->device_ops->whose(job->device, memory);
    *device = whose == WEFT_MEMORY_DEVICE;
    if (whose == WEFT_MEMORY_OTHER_DEVICE)
        return weft_msg_refuse(call, WEFT_ERR_ARGUMENT,
                               "%zu bytes at %p are memory of another GPU than that of process %d",
                               bytes, memory, job->numbers.process);
    return WEFT_OK;
}

int weft_host_reaches(const weft_job *job, const void *memory)
{
    return job->device_ops->whose == NULL || memory == NULL ||
           job->device_ops->whose(job->device, memory) == WEFT_MEMORY_HOST;
}

/* ---- the copy engine ------------------------------------------------------------------------- */

static bool by_engine(struct weft_messages *m, void *target, const void *source, size_t bytes)
{
    const struct weft_job *job = m->job;

    return job->device_ops->copy(job->device, WEFT_STREAM_MESSAGES, target, source, bytes) ==
               WEFT_OK &&
           job->device_ops->wait(job->device, WEFT_STREAM_MESSAGES) == WEFT_OK;
}

static const struct weft_msg_copier engine = {"engine", by_engine, by_engine};

static const struct weft_msg_copier *copier_for(const struct weft_messages *m, size_t bytes)
{
    (void)m, (void)bytes;
    return &engine;
}

static bool checked(struct weft_messages *m, bool good, const struct weft_msg_copier *copier,
                    size_t bytes)
{
    if (!good)
        weft_job_fail(m->job, WEFT_ERR_DEVICE,
                      "process %d cannot copy %zu bytes of a message (%s): %s",
                      m->job->numbers.process, bytes, copier->name, weft_err_last());
    return good;
}

bool weft_msg_fetch(struct weft_messages *m, void *host, const void *device, size_t bytes)
{
    const struct weft_msg_copier *copier = copier_for(m, bytes);

    return checked(m, copier->fetch(m, host, device, bytes), copier, bytes);
}

bool weft_msg_land(struct weft_messages *m, void *device, const void *host, size_t bytes)
{
    const struct weft_msg_copier *copier = copier_for(m, bytes);

    return checked(m, copier->land(m, device, host, bytes), copier, bytes);
}

bool weft_msg_land_begin(struct weft_messages *m, void *device, const void *stage, size_t bytes)
{
    const struct weft_job *job = m->job;

    return weft_msg_landed(m) && checked(m,
                                         job->device_ops->copy(job->device, WEFT_STREAM_MESSAGES,
                                                               device, stage, bytes) == WEFT_OK,
                                         &engine, bytes);
}

bool weft_msg_landed(struct weft_messages *m)
{
    const struct weft_job *job = m->job;

    return checked(m, job->device_ops->wait(job->device, WEFT_STREAM_MESSAGES) == WEFT_OK, &engine,
                   0);
}

bool weft_msg_copy_mapped(struct weft_messages *m, void *target, const void *source, size_t bytes)
{
    return checked(m, by_engine(m, target, source, bytes), &engine, bytes);
}

weft_status weft_msg_open_copiers(struct weft_messages *m)
{
    if (m->job->device_ops->host_access)
        return WEFT_OK;
    const size_t bytes = (size_t)WEFT_MSG_STAGES * WEFT_MSG_STAGE;

    m->stage = m->job->device_ops->host_alloc(m->job->device, bytes);
    return m->stage != NULL
               ? WEFT_OK
               : weft_err(WEFT_ERR_MEMORY, "no %zu bytes for messages of a device", bytes);
}

void weft_msg_close_copiers(struct weft_messages *m)
{
    weft_job_host_free(m->job, m->stage);
}
