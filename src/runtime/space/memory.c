/*
 * runtime/space/memory.c - device memory that others can map. The program's threads allocate and
 * free, the monitor maps what others announce; segments lie under the table lock.
 *
 * New device memory is announced on the control channel, so that it is mapped everywhere before
 * any window over it is made.
 */
#include "runtime/job/job.h"

#include "base/say.h"

#include <stdlib.h>
#include <string.h>

struct segment_frame {
    uint32_t index, serial;
    uint64_t key;
    struct weft_share share;
};

static struct weft_process *self_process(struct weft_job *job)
{
    return &job->processes[job->numbers.process];
}

/* Room for a segment at `index` in a process's list. Table lock held. */
static struct weft_segment *segment_at(struct weft_process *process, uint32_t index)
{
    const uint32_t had = process->segments_count, count = index < had ? had : index + 1;
    struct weft_segment *s = realloc(process->segments, count * sizeof(*s));

    if (s == NULL)
        return NULL;
    memset(s + had, 0, (count - had) * sizeof(*s));
    process->segments = s;
    process->segments_count = count;
    return &s[index];
}

/*
 * Chooses where in a page memory of the CPU device begins: here and there, since a processor copies
 * between equal places of two pages at about half its speed (docs/results/cpu-two-processes.md).
 * Those that follow each other lie far apart; so do the first ones of two processes.
 */
static uint32_t begin_of(const struct weft_job *job)
{
    static const unsigned char place[16] = {0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15};
    const uint32_t number = job->space.serial + 5 * (uint32_t)job->numbers.process;

    return job->ranks.image != NULL ? 0 : place[number % 16] * 256u;
}

/* Takes the lowest free index for new device memory. */
static weft_status add_segment(struct weft_job *job, void *memory, const struct weft_share *share,
                               uint32_t begin, struct segment_frame *frame)
{
    struct weft_process *self = self_process(job);
    uint64_t key = 0;
    uint32_t index = 0;

    weft_lock(&job->space.tables); /* also for the network: reg and dereg one at a time */
    while (index < self->segments_count && self->segments[index].address != NULL)
        index++;
    struct weft_segment *segment = segment_at(self, index);
    weft_status status =
        segment != NULL ? weft_net_reg(job->proxy.net, memory, share->bytes, false, &key)
                        : weft_err(WEFT_ERR_MEMORY, "weft_malloc: no memory for segment %u", index);
    if (status == WEFT_OK)
        *segment = (struct weft_segment){.share = *share,
                                         .address = memory,
                                         .key = key,
                                         .serial = ++job->space.serial,
                                         .begin = begin};
    const uint32_t serial = job->space.serial;
    weft_unlock(&job->space.tables);
    if (status != WEFT_OK)
        return status;
    *frame = (struct segment_frame){.index = index, .serial = serial, .key = key, .share = *share};
    return WEFT_OK;
}

void *weft_memory_take(struct weft_job *job, size_t bytes, weft_status *status)
{
    struct weft_share share;
    struct segment_frame frame;
    const uint32_t begin = begin_of(job);
    const size_t all = bytes <= SIZE_MAX - begin ? bytes + begin : SIZE_MAX; /* too much: refused */
    unsigned char *memory = job->device_ops->alloc(job->device, all, &share);
    if (memory == NULL) {
        *status = WEFT_ERR_MEMORY;
        return NULL;
    }
    *status = add_segment(job, memory, &share, begin, &frame);
    if (*status != WEFT_OK) {
        job->device_ops->free(job->device, memory, &share);
        return NULL;
    }
    /* If that fails, so has the job; weft_close frees the memory. */
    *status = weft_control_send(job->control, WEFT_FRAME_SEGMENT, &frame, sizeof(frame));
    return *status == WEFT_OK ? memory + begin : NULL;
}

void *weft_malloc(weft_job *job, size_t bytes)
{
    weft_status status;

    if (weft_job_idle(job, "weft_malloc") != WEFT_OK)
        return NULL;
    void *const memory = weft_memory_take(job, bytes, &status);
    if (memory == NULL)
        weft_refuse(job, status);
    return memory;
}

void weft_free(weft_job *job, void *memory)
{
    weft_win window = WEFT_WIN_NONE;
    struct segment_frame frame = {0};
    struct weft_segment found = {0};
    bool stays = false;

    if (memory == NULL || weft_job_idle(job, "weft_free") != WEFT_OK)
        return; /* a failed job frees its memory when it is closed */
    struct weft_process *const self = self_process(job);
    weft_lock(&job->space.tables);
    for (uint32_t i = 0; i < self->segments_count; i++) {
        const struct weft_segment *const segment = &self->segments[i];
        if (segment->address != NULL &&
            (unsigned char *)segment->address + segment->begin == memory) {
            found = *segment;
            window = weft_memory_window(job, found.address, (size_t)found.share.bytes);
            if (window != WEFT_WIN_NONE)
                break;
            self->segments[i].address = NULL;
            frame.index = i;
            __atomic_store_n(&job->proxy.net_keeps_memory, false, __ATOMIC_RELAXED);
            weft_net_dereg(job->proxy.net, found.key);
            stays = __atomic_load_n(&job->proxy.net_keeps_memory, __ATOMIC_RELAXED);
        }
    }
    weft_unlock(&job->space.tables);
    if (found.address == NULL) {
        weft_refused(job, WEFT_ERR_ARGUMENT,
                     "weft_free: %p did not come from weft_malloc, or was freed", memory);
        return;
    }
    if (window != WEFT_WIN_NONE) {
        weft_refused(job, WEFT_ERR_STATE, "weft_free: window 0x%x lies in the memory at %p", window,
                     memory);
        return;
    }
    weft_control_send(job->control, WEFT_FRAME_SEGMENT_FREE, &frame, sizeof(frame));
    if (!stays)
        job->device_ops->free(job->device, found.address, &found.share);
}

static void unmap(struct weft_job *job, struct weft_segment *segment)
{
    if (segment->address != NULL)
        job->device_ops->unmap(job->device, segment->address, &segment->share);
    segment->address = NULL;
}

/*
 * Maps another's new memory, or forgets it. That it cannot be mapped is no failure yet: it may have
 * been freed already. Only a window over it would need it (weft_memory_mapped).
 */
static void memory_frame(struct weft_job *job, const struct weft_frame *frame)
{
    const struct segment_frame *f = frame->payload;

    if (frame->source == job->numbers.process)
        return;
    weft_lock(&job->space.tables);
    struct weft_segment *segment =
        f->index < 1u << 20 ? segment_at(&job->processes[frame->source], f->index) : NULL;
    if (segment != NULL) {
        unmap(job, segment);
        segment->share = f->share;
        segment->key = f->key;
        segment->serial = f->serial;
        if (frame->kind == WEFT_FRAME_SEGMENT && job->processes[frame->source].mapped)
            segment->address = job->device_ops->map(job->device, &f->share, &segment->reason);
    }
    weft_unlock(&job->space.tables);
    if (segment == NULL)
        weft_job_fail(job, f->index < 1u << 20 ? WEFT_ERR_MEMORY : WEFT_ERR_PROTOCOL,
                      "process %d announced memory number %u", frame->source, f->index);
}

void *weft_memory_mapped(struct weft_job *job, int process, uint32_t segment, uint64_t offset,
                         uint64_t bytes, bool brief)
{
    const struct weft_process *p = &job->processes[process];

    if (!p->mapped)
        return NULL;
    if (segment >= p->segments_count || offset > p->segments[segment].share.bytes ||
        bytes > p->segments[segment].share.bytes - offset) {
        weft_job_fail(job, WEFT_ERR_PROTOCOL, "process %d has no memory number %u", process,
                      segment);
        return NULL;
    }
    const struct weft_segment *s = &p->segments[segment];
    if (s->address != NULL)
        return (unsigned char *)s->address + offset;
    const char *const reason = s->reason != NULL ? s->reason : "they were freed";
    if (brief || job->space.state.process_table[process].exposed == NULL)
        weft_say(WEFT_SAY_INFO, "%s: %llu bytes of its memory are not mapped (%s)", p->name,
                 (unsigned long long)s->share.bytes, reason);
    else
        weft_job_fail(job, WEFT_ERR_DEVICE, "cannot map %llu bytes of process %d: %s",
                      (unsigned long long)s->share.bytes, process, reason);
    return NULL;
}

static void memory_close(struct weft_job *job)
{
    for (int p = 0; job->device != NULL && p < job->numbers.processes; p++) {
        struct weft_process *process = &job->processes[p];
        for (uint32_t i = 0; i < process->segments_count; i++) {
            struct weft_segment *s = &process->segments[i];
            if (p != job->numbers.process)
                unmap(job, s);
            else if (s->address != NULL)
                job->device_ops->free(job->device, s->address, &s->share);
        }
        free(process->segments);
    }
    free(job->space.regions);
}

weft_status weft_copy(weft_job *job, void *target, const void *source, size_t bytes)
{
    WEFT_TRY(weft_job_idle(job, "weft_copy"));
    if (bytes == 0)
        return WEFT_OK;
    if (target == NULL || source == NULL)
        return weft_refused(job, WEFT_ERR_ARGUMENT, "weft_copy: %zu bytes from %p to %p", bytes,
                            source, target);
    weft_status status = weft_job_copy(job, target, source, bytes);
    return status == WEFT_OK ? WEFT_OK : weft_refuse(job, status);
}

const struct weft_service weft_memory_service = {
    .close = memory_close,
    .owns[WEFT_OWNS_FRAMES] = WEFT_KIND(WEFT_FRAME_SEGMENT) | WEFT_KIND(WEFT_FRAME_SEGMENT_FREE),
    .frame_bytes = sizeof(struct segment_frame),
    .frame = memory_frame,
};
