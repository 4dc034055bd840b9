/* runtime/service/landing.c - see the header. */
#include "runtime/service/landing.h"

#include "abi/letter.h"
#include "base/say.h"
#include "rank/counter.h"
#include "runtime/space/image.h"

#include <stdlib.h>
#include <string.h>

enum { MARKS = 1024 }; /* one that is used again stands for the later mark */

/* What was written to a rank's box, while it is not known what became of it. */
struct letter_out {
    bool out;
    struct weft_letter_box *in;
    uint32_t number; /* of all letters */
    uint32_t door;   /* the upper half of the door it was written to, */
    uint32_t taken;  /* and the lower */
    uint32_t flags;  /* letters to this box so far */
    uint32_t tag;
    void *target;
    size_t bytes;
};

struct weft_landing {
    /* The lane. */
    bool unmarked, busy;  /* something was given to it after its last mark; that was not passed */
    uint64_t mark, again; /* its last mark; that after what letters did not bring */
    /* Marks that were given out: the lane's last one then, and how many letters there were. */
    uint64_t marks;
    struct mark {
        uint64_t lane;
        uint32_t letters;
    } given[MARKS];
    /* A payload that may go into a letter: its notice comes next. bytes 0: there is none. */
    uint32_t coming, notice;
    void *target;
    const void *source;
    size_t bytes;
    /* Letters. */
    uint32_t letters, refused, out_count; /* of all; not taken; not known yet */
    uint32_t out[WEFT_SLOTS];             /* the slots of those that are out */
    struct letter_out box[WEFT_SLOTS];
};

uint32_t weft_letters_wanted(const struct weft_job *job)
{
    const int bytes = job->config.letters;

    /* One whose turn on the device has not come would keep the receive task waiting. */
    if (job->proxy.landings == NULL || job->ranks.shares_device ||
        job->space.state.signals->proxied == 0)
        return 0;
    return bytes < 0 ? WEFT_LETTER_MOST : (uint32_t)bytes;
}

weft_status weft_landing_open(struct weft_job *job)
{
    const bool image = job->ranks.image != NULL;

    if (!image && job->config.letters <= 0)
        return WEFT_OK;
    job->proxy.landings = calloc(1, sizeof(*job->proxy.landings));
    return job->proxy.landings != NULL
               ? WEFT_OK
               : weft_err(WEFT_ERR_MEMORY, "no memory for the letters of %u ranks", WEFT_SLOTS);
}

void weft_landing_close(struct weft_job *job)
{
    if (job->proxy.landings != NULL && job->proxy.landings->letters != 0)
        weft_say(WEFT_SAY_INFO, "process %d: %u letters to ranks, of which %u were not taken",
                 job->numbers.process, job->proxy.landings->letters, job->proxy.landings->refused);
    free(job->proxy.landings);
    job->proxy.landings = NULL;
}

void weft_landing_reset(struct weft_job *job)
{
    if (job->proxy.landings == NULL)
        return;
    job->proxy.landings->out_count = 0;
    memset(job->proxy.landings->box, 0, sizeof(job->proxy.landings->box));
}

/* ---- the lane ------------------------------------------------------------------------------ */

static bool lane_copy(struct weft_job *job, void *target, const void *source, size_t bytes)
{
    if (job->ranks.image == NULL) {
        weft_land(target, source, bytes);
        return true;
    }
    job->proxy.landings->unmarked = true;
    return job->device_ops->copy(job->device, WEFT_STREAM_RECEIVE, target, source, bytes) ==
           WEFT_OK;
}

static void lane_count(struct weft_job *job, uint32_t index)
{
    if (job->ranks.image == NULL) {
        weft_count_add_host(job->space.state.exposed, index);
        return;
    }
    job->proxy.landings->unmarked = true;
    weft_image_count(job, index);
}

static bool lane_mark(struct weft_job *job)
{
    struct weft_landing *landing = job->proxy.landings;

    if (!landing->unmarked)
        return true;
    if (job->device_ops->mark(job->device, WEFT_STREAM_RECEIVE, &landing->mark) != WEFT_OK)
        return false;
    landing->unmarked = false;
    landing->busy = true;
    return true;
}

/* Whether a mark of it was passed. */
static bool lane_passed(struct weft_job *job, uint64_t mark, bool *passed)
{
    struct weft_landing *landing = job->proxy.landings;

    *passed = !landing->busy;
    if (*passed)
        return true;
    if (job->device_ops->passed(job->device, WEFT_STREAM_RECEIVE, mark, passed) != WEFT_OK)
        return false;
    if (*passed && mark == landing->mark)
        landing->busy = false;
    return true;
}

/* Nothing is on its way there, as far as one can tell without waiting. */
static bool lane_is_idle(struct weft_job *job)
{
    bool passed = false;

    return !job->proxy.landings->unmarked && lane_passed(job, job->proxy.landings->mark, &passed) &&
           passed;
}

/* ---- what became of letters ---------------------------------------------------------------- */

static struct weft_letter_box *box_of(const struct weft_job *job, uint32_t slot)
{
    return slot != WEFT_HOST_SLOT && slot < weft_job_slots(job) ? job->ranks.selves[slot]->letters
                                                                : NULL;
}

/* The rank has left its wait without it: as for one that does not wait. */
static bool land_again(struct weft_job *job, uint32_t slot, const struct letter_out *letter)
{
    struct weft_landing *landing = job->proxy.landings;
    const unsigned char *payload = letter->in->payload;

    landing->refused++;
    weft_used_shared(payload, letter->bytes); /* as the host wrote it */
    if (letter->bytes != 0 && !lane_copy(job, letter->target, payload, letter->bytes))
        return false;
    lane_count(job, weft_count_index(slot, letter->tag));
    if (!lane_mark(job))
        return false;
    landing->again = landing->mark;
    return true;
}

/* Looks at the door of the i-th rank that has a letter. False: the device failed. */
static bool look_at(struct weft_job *job, uint32_t i, bool *did)
{
    struct weft_landing *landing = job->proxy.landings;
    const uint32_t slot = landing->out[i];
    struct letter_out *letter = &landing->box[slot];
    const uint64_t door = weft_load_acquire_u64(&letter->in->door, ORDER_letter_told);
    const bool taken = weft_door_taken(door) != letter->taken;

    if (!taken && (uint32_t)(door >> 32) == letter->door)
        return true;
    *did = true;
    letter->out = false;
    /* Its flags differ now: nobody takes it under a door whose stamp comes round again. */
    weft_store_relaxed_u64(&letter->in->head[3], 0);
    landing->out[i] = landing->out[--landing->out_count];
    return taken || land_again(job, slot, letter);
}

static bool look(struct weft_job *job, bool *did)
{
    bool good = true;

    for (uint32_t i = job->proxy.landings->out_count; i-- > 0 && good;)
        good = look_at(job, i, did);
    return good;
}

/* Finds out what became of letters. */
static bool landing_round(struct weft_job *job)
{
    bool did = false;

    if (job->proxy.landings == NULL || job->proxy.landings->out_count == 0)
        return false;
    if (!look(job, &did))
        weft_job_fail(job, WEFT_ERR_DEVICE, "process %d cannot land what came as a letter: %s",
                      job->numbers.process, weft_err_last());
    /* No bell rings when a rank has answered: the task looks again. */
    return did || job->proxy.landings->out_count != 0;
}

const struct weft_service weft_landing_service = {.round = {[WEFT_NET_RECEIVE] = landing_round}};

/*
 * Until it is known what became of the letter to a slot, or (slot 0) of all: what comes now must
 * not overtake it. The rank looks into its box all the time, or has left its wait: microseconds. If
 * the rank has failed, so does the job.
 */
static bool await_letters(struct weft_job *job, uint32_t slot)
{
    struct weft_landing *landing = job->proxy.landings;
    bool good = true, did;

    while (good && !weft_job_is_failing(job) &&
           (slot == WEFT_HOST_SLOT ? landing->out_count != 0 : landing->box[slot].out)) {
        good = look(job, &did);
        if (weft_model != NULL || job->ranks.image == NULL || job->proxy.spin_ns == 0)
            weft_task_yield(true);
    }
    return good;
}

/* ---- writing letters ----------------------------------------------------------------------- */

/* The slot that a notice counts for; WEFT_HOST_SLOT: none that gets letters. */
static uint32_t slot_of(const struct weft_job *job, uint32_t notice)
{
    const uint32_t slot = weft_notice_slot(notice);

    return weft_notice_kind_of(notice) == WEFT_NOTICE_COUNT && slot < weft_job_slots(job)
               ? slot
               : WEFT_HOST_SLOT;
}

/* The door of a rank to which a letter can be written now; 0: it cannot. */
static uint64_t open_door(struct weft_job *job, uint32_t slot, const struct weft_letter_box *box)
{
    if (box == NULL || job->proxy.landings->box[slot].out)
        return 0;
    const uint64_t door = weft_load_acquire_u64(&box->door, ORDER_letter_told);
    return weft_door_open(door) && lane_is_idle(job) ? door : 0;
}

/* What is held back goes by the lane after all. */
static bool give_held(struct weft_job *job)
{
    struct weft_landing *landing = job->proxy.landings;
    const size_t bytes = landing->bytes;

    landing->bytes = 0;
    return bytes == 0 || (await_letters(job, slot_of(job, landing->notice)) &&
                          lane_copy(job, landing->target, landing->source, bytes));
}

/* All of a payload lies behind the head, also a short one: from there it may land again. */
static void write_box(struct weft_letter_box *box, struct weft_letter *letter, const void *payload)
{
    const size_t bytes = letter->bytes;

    if (bytes != 0) {
        memcpy(letter->payload, payload, bytes < WEFT_LETTER_SHORT ? bytes : WEFT_LETTER_SHORT);
        weft_write_shared(box->payload, payload, bytes);
    }
    for (int w = 0; w < 4; w++)
        weft_store_release_u64(&box->head[w], weft_letter_word(letter, w), ORDER_letter_post);
}

/* With the payload that is held back, if there is one. False: not now. */
static bool write_letter(struct weft_job *job, uint32_t slot, uint32_t tag)
{
    struct weft_landing *landing = job->proxy.landings;
    struct letter_out *out = &landing->box[slot];
    struct weft_letter_box *const box = box_of(job, slot);
    const size_t bytes = landing->bytes;
    const uint64_t door = open_door(job, slot, box);

    if (box == NULL || door == 0)
        return false;
    *out = (struct letter_out){.out = true,
                               .in = box,
                               .number = landing->letters++,
                               .door = (uint32_t)(door >> 32),
                               .taken = weft_door_taken(door),
                               .flags = out->flags + 1,
                               .tag = tag,
                               .target = landing->target,
                               .bytes = bytes};
    landing->out[landing->out_count++] = slot;
    landing->bytes = 0;
    struct weft_letter letter = {.address = bytes != 0 ? (uintptr_t)landing->target : 0,
                                 .bytes = (uint32_t)bytes,
                                 .tag = tag,
                                 .stamp = weft_door_stamp(door),
                                 .flag = weft_letter_flag(out->flags)};
    write_box(box, &letter, landing->source);
    weft_bell_ring(job->ranks.selves[slot]->port.bell); /* a GPU's rank does not sleep */
    return true;
}

/* ---- what networks call -------------------------------------------------------------------- */

void weft_landing_announced(void *context, uint32_t notice)
{
    ((struct weft_job *)context)->proxy.landings->coming = notice;
}

bool weft_landing_land(void *context, void *target, const void *source, size_t bytes)
{
    struct weft_job *job = context;
    struct weft_landing *landing = job->proxy.landings;
    const uint32_t notice = landing->coming, slot = slot_of(job, notice);

    landing->coming = 0;
    if (!give_held(job))
        return false;
    if (bytes <= job->proxy.letter_bytes && slot != WEFT_HOST_SLOT &&
        (uintptr_t)target + bytes <= WEFT_LETTER_ADDRESSES &&
        open_door(job, slot, box_of(job, slot)) != 0) {
        landing->notice = notice;
        landing->target = target;
        landing->source = source;
        landing->bytes = bytes;
        return true;
    }
    return await_letters(job, slot) && lane_copy(job, target, source, bytes);
}

bool weft_landing_settle(void *context)
{
    struct weft_job *job = context;
    struct weft_landing *landing = job->proxy.landings;

    if (!give_held(job) || !await_letters(job, WEFT_HOST_SLOT))
        return false;
    if (job->ranks.image != NULL &&
        job->device_ops->wait(job->device, WEFT_STREAM_RECEIVE) != WEFT_OK)
        return false;
    landing->unmarked = landing->busy = false;
    return true;
}

bool weft_landing_mark(void *context, uint64_t *mark)
{
    struct weft_job *job = context;
    struct weft_landing *landing = job->proxy.landings;

    if (!give_held(job) || !lane_mark(job))
        return false;
    *mark = landing->marks++;
    landing->given[*mark % MARKS] = (struct mark){landing->mark, landing->letters};
    return true;
}

bool weft_landing_settled(void *context, uint64_t mark, bool *there)
{
    struct weft_job *job = context;
    struct weft_landing *landing = job->proxy.landings;
    const struct mark *given = &landing->given[mark % MARKS];
    bool did;

    *there = false;
    if (!look(job, &did))
        return false;
    for (uint32_t i = 0; i < landing->out_count; i++)
        if ((int32_t)(landing->box[landing->out[i]].number - given->letters) < 0)
            return true;
    return lane_passed(job, given->lane > landing->again ? given->lane : landing->again, there);
}

bool weft_landing_notify(struct weft_job *job, uint32_t slot, uint32_t tag)
{
    struct weft_landing *landing = job->proxy.landings;

    if (landing->bytes != 0 && landing->notice != weft_notice(WEFT_NOTICE_COUNT, tag, slot) &&
        !give_held(job))
        return false;
    if (box_of(job, slot) != NULL && !weft_job_is_failing(job)) {
        if (!await_letters(job, slot))
            return false;
        if (write_letter(job, slot, tag))
            return true;
    }
    if (!give_held(job))
        return false;
    lane_count(job, weft_count_index(slot, tag));
    return true;
}

bool weft_landing_count(struct weft_job *job, uint32_t index)
{
    if (!give_held(job))
        return false;
    lane_count(job, index);
    return true;
}
