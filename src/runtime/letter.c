/* runtime/letter.c - see the header. */
#include "runtime/letter.h"

#include "runtime/image.h"
#include "window/letter.h"

#include <string.h>

bool weft_letters_wanted(const struct weft_job *job)
{
    bool some = false;

    if (job->image == NULL || job->config.letters == 0 || job->shares_device)
        return false; /* a rank that is not there now would keep the receive task waiting */
    for (int p = 0; p < job->numbers.processes; p++)
        some |= job->image->peers[p].exposed == NULL;
    return some;
}

/* ---- the lane ---------------------------------------------------------------------------------
 */

/* A small payload is held back until it is known whether a letter can carry it. */
static bool is_small(const struct weft_job *job, const void *target, size_t bytes)
{
    const uintptr_t to = (uintptr_t)target;

    return job->letters && ((bytes == 4 && to % 4 == 0) || (bytes == 8 && to % 8 == 0) ||
                            (bytes == WEFT_LETTER_MOST && to % 8 == 0));
}

bool weft_landing_begin(struct weft_job *job)
{
    struct weft_landing *landing = &job->landing;
    const size_t bytes = landing->held;

    landing->idle = landing->marked = false;
    landing->held = 0;
    if (bytes == 0)
        return true;
    /* The device may read it later: it stays until another is held, after this one has settled. */
    return job->device_ops->copy(job->device, WEFT_LANE_RECEIVE, landing->target, landing->payload,
                                 bytes) == WEFT_OK;
}

bool weft_landing_settle(struct weft_job *job)
{
    if (!weft_landing_begin(job) ||
        job->device_ops->wait(job->device, WEFT_LANE_RECEIVE) != WEFT_OK)
        return false;
    job->landing.idle = true;
    return true;
}

bool weft_landing_mark(struct weft_job *job, uint64_t *mark)
{
    struct weft_landing *landing = &job->landing;

    if (landing->held != 0 && !weft_landing_begin(job))
        return false;
    if (job->device_ops->mark(job->device, WEFT_LANE_RECEIVE, mark) != WEFT_OK)
        return false;
    landing->mark = *mark;
    landing->marked = true;
    return true;
}

bool weft_landing_settled(struct weft_job *job, uint64_t mark, bool *there)
{
    struct weft_landing *landing = &job->landing;

    if (job->device_ops->passed(job->device, WEFT_LANE_RECEIVE, mark, there) != WEFT_OK)
        return false;
    if (*there && landing->marked && mark == landing->mark)
        landing->idle = true;
    return true;
}

bool weft_landing_copy(struct weft_job *job, void *target, const void *source, size_t bytes)
{
    struct weft_landing *landing = &job->landing;

    if (landing->held != 0 && !weft_landing_begin(job))
        return false;
    if (landing->idle && is_small(job, target, bytes)) {
        memcpy(landing->payload, source, bytes);
        landing->target = target;
        landing->held = bytes;
        return true;
    }
    landing->idle = landing->marked = false;
    return job->device_ops->copy(job->device, WEFT_LANE_RECEIVE, target, source, bytes) == WEFT_OK;
}

/* ---- letters ----------------------------------------------------------------------------------
 */

static void write_letter(struct weft_letter *letter, uint32_t number,
                         const struct weft_landing *landing)
{
    const uint64_t flag = (uint64_t)(number & 0xff) << 56;
    uint64_t low = 0, high = 0;

    memcpy(&low, landing->payload, landing->held < 8 ? landing->held : 8);
    if (landing->held > 8)
        memcpy(&high, landing->payload + 8, 8);
    const uint64_t words[WEFT_LETTER_WORDS] = {
        landing->held != 0 ? (uint64_t)(uintptr_t)landing->target & WEFT_LETTER_CONTENT : 0,
        low & WEFT_LETTER_CONTENT, (low >> 56 | high << 8) & WEFT_LETTER_CONTENT,
        high >> 48 | (uint64_t)landing->held << 16};
    for (int w = 0; w < WEFT_LETTER_WORDS; w++)
        weft_store_release_u64(&letter->word[w], words[w] | flag, ORDER_count_store_host);
}

static void clear_letter(struct weft_letter *letter)
{
    for (int w = 0; w < WEFT_LETTER_WORDS; w++)
        weft_store_release_u64(&letter->word[w], 0, ORDER_count_store_host);
}

bool weft_landing_letter(struct weft_job *job, uint32_t slot, uint32_t tag)
{
    struct weft_landing *landing = &job->landing;

    if (!job->letters || !landing->idle || slot == WEFT_HOST_SLOT)
        return false;
    const weft_self *self = job->selves[slot];
    uint64_t *door = &self->waiting->door, now = weft_load_acquire_u64(door, ORDER_eager_space);
    const uint32_t number = weft_door_number(now);
    if (!weft_door_open(now, tag))
        return false;
    write_letter(&self->link->letter, number, landing);
    do { /* the rank polls it, or leaves its wait */
        now = weft_load_acquire_u64(door, ORDER_eager_space);
        if (job->spin_ns == 0)
            weft_task_yield(true);
    } while (weft_door_number(now) == number && !weft_job_is_failing(job));
    clear_letter(&self->link->letter);
    if (weft_door_taken(now) != number)
        return false;
    landing->held = 0;
    return true;
}
