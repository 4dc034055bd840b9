/* runtime/space/left.c - whether a run has left notifications, found by the device (left.h). Runs
 * in the program's thread, while no kernel runs. */
#include "runtime/space/left.h"

#include "base/fatbin.h"
#include "runtime/gda/queues.h"
#include "runtime/space/image.h"

WEFT_FATBIN_IMAGE(weft_left_image);

weft_status weft_image_look(struct weft_job *job)
{
    struct weft_image *image = job->ranks.image;
    struct weft_device_code *code = &image->left;
    struct weft_left left = {
        .exposed = image->exposed, .seen = image->seen, .none = weft_image_none(job)};

    if (code->module == NULL) {
        *code = (struct weft_device_code){.image = weft_left_image, .name = {"weft_left"}};
        WEFT_TRY(job->device_ops->load(job->device, code));
    }
    image->seen->some = 0;
    image->seen->taken = UINT32_MAX; /* until it is known */
    WEFT_TRY(job->device_ops->launch(job->device, code, 0, &left, job->numbers.ranks_here,
                                     WEFT_TAGS,
                                     job->device_ops->stream(job->device, WEFT_STREAM_CALLER)));
    return job->device_ops->wait(job->device, WEFT_STREAM_CALLER);
}

const struct weft_counter *weft_image_counters(struct weft_job *job)
{
    struct weft_image *image = job->ranks.image;
    const size_t n = (size_t)job->ranks.slots * WEFT_TAGS;

    if (image == NULL)
        return job->space.state.exposed->counters;
    struct weft_counter *const seen = image->seen->counters;
    uint64_t *const nic = (uint64_t *)(void *)(seen + n);
    weft_status status = weft_image_look(job);
    if (status == WEFT_OK && image->seen->some == 0 && !job->ranks.queues)
        return NULL;
    weft_store_relaxed_u32(&image->dirty, 1);
    if (status == WEFT_OK)
        status = weft_job_copy(job, seen, image->exposed->counters, n * sizeof(*seen));
    if (status == WEFT_OK && job->ranks.queues)
        status = weft_job_copy(job, nic, job->queues->counts, n * sizeof(*nic));
    for (size_t i = 0; job->ranks.queues && i < n; i++)
        seen[i].host += (uint32_t)nic[i];
    return status == WEFT_OK ? seen : NULL;
}
