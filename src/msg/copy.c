/* msg/copy.c - see the header. */
#include "msg/copy.h"

#include "abi/errand.h"
#include "base/say.h"
#include "device/keep.h"
#include "order/atomic.h"

#include <string.h>

const char *weft_msg_whose(const struct weft_job *job, const void *memory, size_t bytes,
                           bool *device)
{
    enum weft_memory whose = WEFT_MEMORY_HOST;

    *device = false;
    if (bytes == 0)
        return NULL;
    if (job->device_ops->whose != NULL)
        whose = job->device_ops->whose(job->device, memory);
    else if (WEFT_UNLIKELY(weft_device_is_foreign(memory, bytes >= WEFT_MSG_LOOK_FROM)))
        return "are memory of a GPU, and this job is on the CPU device";
    *device = whose == WEFT_MEMORY_DEVICE;
    return whose == WEFT_MEMORY_OTHER_DEVICE ? "are memory of another GPU than this process's"
                                             : NULL;
}

weft_status weft_msg_place_any(struct weft_msg_call *call, const void *memory, size_t bytes,
                               bool *device)
{
    const char *const wrong = weft_msg_whose(call->m->job, memory, bytes, device);

    if (bytes != 0 && memory == NULL)
        return weft_msg_refuse(call, WEFT_ERR_ARGUMENT, "%zu bytes at NULL", bytes);
    return wrong == NULL ? WEFT_OK
                         : weft_msg_refuse(call, WEFT_ERR_ARGUMENT, "%zu bytes at %p %s", bytes,
                                           memory, wrong);
}

int weft_host_reaches(const weft_job *job, const void *memory)
{
    return job != NULL && (job->device_ops->whose == NULL || memory == NULL ||
                           job->device_ops->whose(job->device, memory) == WEFT_MEMORY_HOST);
}

/* ---- the copy engine ------------------------------------------------------------------------- */

static bool checked(struct weft_messages *m, bool good, const char *what, size_t bytes)
{
    if (!good)
        weft_job_fail(m->job, WEFT_ERR_DEVICE,
                      "process %d cannot copy %zu bytes of a message (%s): %s",
                      m->job->numbers.process, bytes, what, weft_err_last());
    return good;
}

static bool begin(struct weft_messages *m, void *target, const void *source, size_t bytes)
{
    const struct weft_job *job = m->job;

    return checked(
        m,
        job->device_ops->copy(job->device, WEFT_STREAM_MESSAGES, target, source, bytes) == WEFT_OK,
        "copy engine", bytes);
}

bool weft_msg_settle(struct weft_messages *m)
{
    const struct weft_job *job = m->job;

    m->staged = 0;
    return checked(m, job->device_ops->wait(job->device, WEFT_STREAM_MESSAGES) == WEFT_OK,
                   "copy engine", 0);
}

static bool by_engine(struct weft_messages *m, void *target, const void *source, size_t bytes)
{
    return begin(m, target, source, bytes) && weft_msg_settle(m);
}

/* ---- the service block ----------------------------------------------------------------------- */

/* Whether the service block may copy these bytes: it takes words of 8 bytes, and not too many. */
static bool suits_block(const struct weft_messages *m, const void *device, size_t bytes)
{
    return m->job->config.msg_copier != WEFT_MSG_COPIER_ENGINE && bytes <= WEFT_MSG_BLOCK &&
           (uintptr_t)device % 8 == 0 && m->job->device_ops->serve_now != NULL;
}

/* Has the service block do an errand, and waits for it. False: the block did nothing. */
static bool by_block(struct weft_messages *m, struct weft_errand *errand, size_t bytes)
{
    const struct weft_job *job = m->job;

    if (job->config.msg_copier != WEFT_MSG_COPIER_BLOCK)
        return job->device_ops->serve_now(job->device, errand);
    const weft_status status = job->device_ops->serve(job->device, errand, 1);
    return status != WEFT_ERR_UNSUPPORTED && checked(m, status == WEFT_OK, "service block", bytes);
}

/* Has the service block copy from the device to the stage (FETCH) or back (STORE). A few bytes go
 * in the errand itself, which saves a trip over the bus. False: the block did nothing. */
static bool staged_by_block(struct weft_messages *m, enum weft_errand_kind kind, const void *device,
                            unsigned char *stage, size_t bytes)
{
    const uint64_t there = (uint64_t)(uintptr_t)device, here = (uint64_t)(uintptr_t)stage;
    const bool fetches = kind == WEFT_ERRAND_FETCH, few = bytes <= WEFT_ERRAND_BYTES;
    struct weft_errand errand = {.kind = WEFT_ERRAND_COPY,
                                 .address = fetches ? here : there,
                                 .data = {fetches ? there : here, bytes}};

    if (!suits_block(m, device, bytes))
        return false;
    if (few) {
        errand =
            (struct weft_errand){.kind = (uint8_t)kind, .bytes = (uint8_t)bytes, .address = there};
        memcpy(errand.data, stage, bytes);
    }
    if (!by_block(m, &errand, bytes))
        return false;
    if (few && fetches)
        memcpy(stage, errand.data, bytes);
    return true;
}

bool weft_msg_fetch(struct weft_messages *m, unsigned char *stage, const void *device, size_t bytes)
{
    return staged_by_block(m, WEFT_ERRAND_FETCH, device, stage, bytes) ||
           by_engine(m, stage, device, bytes);
}

bool weft_msg_deliver(struct weft_messages *m, void *device, const void *host, size_t bytes,
                      bool last)
{
    if (m->staged + bytes > WEFT_MSG_STAGE && !weft_msg_settle(m))
        return false;
    unsigned char *const stage = weft_msg_stage(m, WEFT_MSG_STAGE_DELIVER) + m->staged;
    weft_read_shared(stage, host, bytes);
    if (!staged_by_block(m, WEFT_ERRAND_STORE, device, stage, bytes)) {
        if (!begin(m, device, stage, bytes))
            return false;
        m->staged += bytes;
    }
    return !last || m->staged == 0 || weft_msg_settle(m);
}

/* Has the service block copy within the device, or between two. False: it did nothing. */
static bool copied_by_block(struct weft_messages *m, void *target, const void *source, size_t bytes)
{
    struct weft_errand errand = {.kind = WEFT_ERRAND_COPY,
                                 .address = (uint64_t)(uintptr_t)target,
                                 .data = {(uint64_t)(uintptr_t)source, bytes}};

    return suits_block(m, target, bytes) && suits_block(m, source, bytes) &&
           by_block(m, &errand, bytes);
}

/* Copies within the device; staged: through host memory, since a kernel leaves others no room. */
static bool copy_within(struct weft_messages *m, unsigned char *target, const unsigned char *source,
                        size_t bytes, bool staged)
{
    unsigned char *const stage = weft_msg_stage(m, WEFT_MSG_STAGE_EAGER);
    bool good = true;

    if (!staged)
        return by_engine(m, target, source, bytes);
    for (size_t at = 0, some; at < bytes && good; at += some) {
        some = bytes - at < WEFT_MSG_STAGE ? bytes - at : WEFT_MSG_STAGE;
        good = by_engine(m, stage, source + at, some) && by_engine(m, target + at, stage, some);
    }
    return good;
}

/* Copies between a transfer's own buffer and mapped memory without the stage. False: it failed. */
static bool copy_directly(struct weft_messages *m, const struct weft_transfer *transfer,
                          unsigned char *here, unsigned char *there, size_t bytes)
{
    const struct weft_device_ops *const ops = m->job->device_ops;
    struct weft_keep *const keep = ops->keep != NULL ? ops->keep(m->job->device) : NULL;
    const bool held = keep != NULL &&
                      weft_keep_hold(keep, transfer->buffer, transfer->room, transfer->moved != 0);
    const bool good =
        by_engine(m, transfer->sends ? there : here, transfer->sends ? here : there, bytes);

    if (held)
        weft_keep_release(keep);
    return good;
}

size_t weft_msg_copy_mapped(struct weft_messages *m, const struct weft_transfer *transfer,
                            size_t bytes)
{
    const struct weft_process *const processes = m->job->processes;
    const bool beside = weft_running(m->job) && processes[transfer->peer].device ==
                                                    processes[m->job->numbers.process].device;
    unsigned char *const here = transfer->buffer + transfer->moved;
    unsigned char *const there = transfer->mapped + transfer->moved;
    unsigned char *const stage = weft_msg_stage(m, WEFT_MSG_STAGE_EAGER);

    if (transfer->device)
        return copied_by_block(m, here, there, bytes) || copy_within(m, here, there, bytes, beside)
                   ? bytes
                   : 0;
    if (bytes >= WEFT_MSG_HOLD)
        return copy_directly(m, transfer, here, there, bytes) ? bytes : 0;
    if (transfer->sends)
        return weft_msg_deliver(m, there, here, bytes, true) ? bytes : 0;
    if (!weft_msg_fetch(m, stage, there, bytes))
        return 0;
    memcpy(here, stage, bytes);
    return bytes;
}

bool weft_msg_copy(struct weft_messages *m, void *target, const void *source, size_t bytes)
{
    bool good = true;

    for (size_t at = 0, some; at < bytes && good; at += some) {
        some = bytes - at < 8 * WEFT_MSG_STAGE ? bytes - at : 8 * WEFT_MSG_STAGE;
        weft_msg_lock(m); /* which others may have in between */
        good = copy_within(m, (unsigned char *)target + at, (const unsigned char *)source + at,
                           some, weft_running(m->job));
        weft_msg_unlock(m);
    }
    return good;
}
