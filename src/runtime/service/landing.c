/* runtime/service/landing.c - see the header. */
#include "runtime/service/landing.h"

#include "abi/letter.h"
#include "base/say.h"
#include "rank/counter.h"
#include "runtime/service/ask.h"
#include "runtime/service/stream.h"
#include "runtime/trace/timeline.h"

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
    struct weft_receive_stream stream;
    uint64_t again; /* its mark after what letters did not bring */
    /* Marks that were given out: the stream's last one then, and how many letters there were. */
    uint64_t marks;
    struct mark {
        uint64_t stream;
        uint32_t letters;
    } given[MARKS];
    struct weft_arrive_device device;
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
    if (letter->bytes != 0 &&
        !weft_stream_copy(job, &landing->stream, letter->target, payload, letter->bytes))
        return false;
    weft_stream_count(job, &landing->stream, weft_count_index(slot, letter->tag));
    if (!weft_stream_mark(job, &landing->stream))
        return false;
    landing->again = landing->stream.mark;
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
        weft_job_cannot(job, WEFT_ERR_DEVICE, "land what came as a letter");
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

static bool settle(void *context)
{
    struct weft_job *job = context;

    return await_letters(job, WEFT_HOST_SLOT) &&
           weft_stream_settle(job, &job->proxy.landings->stream);
}

/* ---- writing letters ----------------------------------------------------------------------- */

/* The door of a rank to which a letter can be written now; 0: it cannot. */
static uint64_t open_door(struct weft_job *job, uint32_t slot, const struct weft_letter_box *box)
{
    if (box == NULL || job->proxy.landings->box[slot].out)
        return 0;
    const uint64_t door = weft_load_acquire_u64(&box->door, ORDER_letter_told);
    return weft_door_open(door) && weft_stream_is_idle(job, &job->proxy.landings->stream) ? door
                                                                                          : 0;
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

/* With its data, if there is any. False: not now, or not such data. */
static bool write_letter(struct weft_job *job, uint32_t slot, const struct weft_arrival *arrival)
{
    struct weft_landing *landing = job->proxy.landings;
    struct letter_out *out = &landing->box[slot];
    struct weft_letter_box *const box = box_of(job, slot);
    const size_t bytes = arrival->bytes;
    const uint64_t door = open_door(job, slot, box);

    if (door == 0 || bytes > job->proxy.letter_bytes ||
        (uintptr_t)arrival->target + bytes > WEFT_LETTER_ADDRESSES)
        return false;
    *out = (struct letter_out){.out = true,
                               .in = box,
                               .number = landing->letters++,
                               .door = (uint32_t)(door >> 32),
                               .taken = weft_door_taken(door),
                               .flags = out->flags + 1,
                               .tag = weft_notice_tag(arrival->notice),
                               .target = arrival->target,
                               .bytes = bytes};
    landing->out[landing->out_count++] = slot;
    struct weft_letter letter = {.address = (uintptr_t)arrival->target,
                                 .bytes = (uint32_t)bytes,
                                 .tag = out->tag,
                                 .stamp = weft_door_stamp(door),
                                 .flag = weft_letter_flag(out->flags)};
    write_box(box, &letter, arrival->source);
    weft_bell_ring(job->ranks.selves[slot]->port.bell); /* a GPU's rank does not sleep */
    return true;
}

/* ---- notices ------------------------------------------------------------------------------- */

/*
 * One more of a counter, behind its data: of the host program, which looks at once, in the host's
 * memory; of a rank (`slot`) by a letter, if it takes one; else by the stream. False: the device
 * failed.
 */
static bool count(struct weft_job *job, uint32_t slot, uint32_t index, bool host,
                  const struct weft_arrival *arrival)
{
    struct weft_landing *landing = job->proxy.landings;

    if (landing == NULL) {
        weft_count_add_host(job->space.state.exposed, index);
        return true;
    }
    if (box_of(job, slot) != NULL && !weft_job_is_failing(job)) {
        if (!await_letters(job, slot))
            return false;
        if (write_letter(job, slot, arrival))
            return true;
    }
    if (arrival->bytes != 0 &&
        (!await_letters(job, slot) || !weft_stream_copy(job, &landing->stream, arrival->target,
                                                        arrival->source, arrival->bytes)))
        return false;
    if (host && !settle(job))
        return false;
    if (host)
        weft_count_add_host(job->space.state.exposed, index);
    else
        weft_stream_count(job, &landing->stream, index);
    return true;
}

/* COUNT: of a slot's tag. BARRIER: of a word; its tag says whether it is the host programs'. */
static weft_status apply(void *context, const struct weft_arrival *arrival)
{
    struct weft_job *job = context;
    const bool barrier = weft_notice_kind_of(arrival->notice) == WEFT_NOTICE_BARRIER;
    const uint32_t what = weft_notice_slot(arrival->notice), tag = weft_notice_tag(arrival->notice);
    const uint32_t most =
        barrier ? job->space.state.comms_count * WEFT_BARRIER_WORDS : weft_job_slots(job);

    if (job->trace != NULL)
        weft_trace_net(job, WEFT_NET_RECEIVE, arrival->process, arrival->notice, 0);
    if (what >= most)
        return WEFT_ERR_PROTOCOL;
    if (barrier ? count(job, WEFT_HOST_SLOT, WEFT_BARRIER_AT + what, tag != 0, arrival)
                : count(job, what, weft_count_index(what, tag), what == WEFT_HOST_SLOT, arrival))
        return WEFT_OK;
    weft_job_cannot(job, WEFT_ERR_DEVICE, "land what arrived");
    return WEFT_ERR_DEVICE;
}

weft_status weft_landing_open(struct weft_job *job)
{
    const bool image = job->ranks.image != NULL;

    weft_notice_add(&job->proxy.kinds, WEFT_NOTICE_COUNT, apply, job);
    weft_notice_add(&job->proxy.kinds, WEFT_NOTICE_BARRIER, apply, job);
    if (!image && job->config.letters <= 0)
        return WEFT_OK;
    job->proxy.landings = calloc(1, sizeof(*job->proxy.landings));
    return job->proxy.landings != NULL
               ? WEFT_OK
               : weft_err(WEFT_ERR_MEMORY, "no memory for the letters of %u ranks", WEFT_SLOTS);
}

/* ---- what net/arrive.h asks of the device --------------------------------------------------- */

static bool land(void *context, void *target, const void *source, size_t bytes)
{
    struct weft_job *job = context;
    return await_letters(job, WEFT_HOST_SLOT) &&
           weft_stream_copy(job, &job->proxy.landings->stream, target, source, bytes);
}

static bool mark(void *context, uint64_t *mark)
{
    struct weft_job *job = context;
    struct weft_landing *landing = job->proxy.landings;

    if (!weft_stream_mark(job, &landing->stream))
        return false;
    *mark = landing->marks++;
    landing->given[*mark % MARKS] = (struct mark){landing->stream.mark, landing->letters};
    return true;
}

static bool settled(void *context, uint64_t mark, bool *there)
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
    return weft_stream_passed(job, &landing->stream,
                              given->stream > landing->again ? given->stream : landing->again,
                              there);
}

const struct weft_arrive_device *weft_landing_device(struct weft_job *job)
{
    struct weft_landing *landing = job->proxy.landings;

    if (landing == NULL)
        return NULL;
    landing->device = (struct weft_arrive_device){
        .context = job,
        .own[0] = {job->proxy.asks.posts, job->proxy.asks.posts != NULL ? weft_asks_bytes(job) : 0},
        .land = land,
        .settle = settle,
        .mark = mark,
        .settled = settled,
        .ops = job->ranks.image != NULL ? job->device_ops : NULL,
        .device = job->device};
    return &landing->device;
}

void weft_landing_own(struct weft_job *job, const void *memory, size_t bytes)
{
    if (job->proxy.landings == NULL)
        return;
    job->proxy.landings->device.own[1].memory = memory;
    job->proxy.landings->device.own[1].bytes = bytes;
}

/* ---- what answers ask of the device ---------------------------------------------------------- */

bool weft_landing_copy(struct weft_job *job, uint32_t slot, void *target, const void *source,
                       size_t bytes)
{
    if (job->ranks.image == NULL ||
        (slot == WEFT_HOST_SLOT &&
         job->device_ops->no_access(job->device, target, bytes) != NULL)) {
        weft_land(target, source, bytes);
        return true;
    }
    return land(job, target, source, bytes);
}

bool weft_landing_store(struct weft_job *job, uint32_t *word, uint32_t value)
{
    if (job->ranks.image != NULL)
        return weft_stream_store(job, &job->proxy.landings->stream, word, value);
    weft_store_release_u32(word, value, ORDER_answer_post);
    return true;
}

bool weft_landing_count(struct weft_job *job, uint32_t slot, uint32_t tag)
{
    const struct weft_arrival nothing = {.notice = weft_notice(WEFT_NOTICE_COUNT, tag, slot)};
    return count(job, slot, weft_count_index(slot, tag), slot == WEFT_HOST_SLOT, &nothing);
}

bool weft_landing_settle(struct weft_job *job)
{
    return job->proxy.landings == NULL || settle(job);
}

bool weft_landing_mark(struct weft_job *job, uint64_t *at)
{
    return job->proxy.landings == NULL || mark(job, at);
}

bool weft_landing_reached(struct weft_job *job, uint64_t at, bool *there)
{
    *there = true;
    return job->proxy.landings == NULL || settled(job, at, there);
}
