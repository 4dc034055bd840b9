/* runtime/service/answer.c - the owner's side of asks; see ask.h. */
#include "abi/errand.h"
#include "base/say.h"
#include "net/staging.h"
#include "runtime/service/ask.h"
#include "runtime/service/landing.h"
#include "runtime/space/tables.h"

#include <string.h>

/* The memory that an ask is about; NULL: it is none of a window of this process. */
static unsigned char *find(struct weft_job *job, const struct weft_ask *ask)
{
    unsigned char *memory = NULL;

    weft_lock(&job->space.tables);
    const struct weft_window *window = weft_window_find(&job->space.state, ask->win);
    if (window != NULL && ask->member >= 0 && ask->member < window->members &&
        window->member[ask->member].process == job->numbers.process && ask->height > 0 &&
        weft_inside(ask->offset, ask->pitch, ask->width, ask->height,
                    window->entry[ask->member].bytes))
        memory = (unsigned char *)(uintptr_t)window->entry[ask->member].home + ask->offset;
    weft_unlock(&job->space.tables);
    return memory;
}

/* The same by the device itself: as many words in an errand as it can carry. */
static bool update_there(struct weft_job *job, unsigned char *memory, struct weft_post *post)
{
    enum { MOST = (WEFT_ASK_ROOM + WEFT_ERRAND_BYTES - 1) / WEFT_ERRAND_BYTES };
    const struct weft_ask *ask = &post->ask;
    struct weft_errand errands[MOST] = {0};
    size_t count = 0;

    for (uint64_t at = 0; at < ask->width; at += WEFT_ERRAND_BYTES, count++) {
        struct weft_errand *errand = &errands[count];
        const uint64_t left = ask->width - at;
        errand->kind = WEFT_ERRAND_UPDATE;
        errand->how = ask->how;
        errand->type = ask->type;
        errand->bytes = (uint8_t)(left < WEFT_ERRAND_BYTES ? left : WEFT_ERRAND_BYTES);
        errand->address = (uint64_t)(uintptr_t)memory + at;
        memcpy(errand->data, post->operands + at,
               ask->how == WEFT_COMPARE ? sizeof(uint64_t) * 2 : errand->bytes);
    }
    const bool good = job->device_ops->serve(job->device, errands, count) == WEFT_OK;
    memcpy(post->operands, errands[0].data, sizeof(uint64_t));
    return good;
}

/* Updates the words; their old value, if it is wanted, becomes the ask's first operand. */
static bool update(struct weft_job *job, unsigned char *memory, struct weft_post *post)
{
    const struct weft_ask *ask = &post->ask;
    const uint32_t size = weft_type_bytes(ask->type);
    uint64_t old = 0;

    if (!job->device_ops->host_access)
        return weft_landing_settle(job) && update_there(job, memory, post);
    for (uint64_t at = 0; at < ask->width; at += size) {
        struct weft_change change = {.how = ask->how, .type = ask->type};
        memcpy(&change.value, post->operands + at, size);
        if (ask->how == WEFT_COMPARE)
            memcpy(&change.expected, post->operands + 8, 8);
        old = weft_update(memory + at, &change);
    }
    memcpy(post->operands, &old, sizeof(old));
    weft_bell_ring(&job->space.state.exposed->bell); /* of who polls the word */
    return true;
}

weft_status weft_answer_take(void *context, const struct weft_arrival *arrival)
{
    struct weft_job *job = context;
    struct weft_asks *asks = &job->proxy.asks;
    const uint32_t place = weft_notice_slot(arrival->notice), process = place / WEFT_ASKS;
    const uint32_t places = (uint32_t)job->numbers.processes * WEFT_ASKS;

    if (place >= places || process == (uint32_t)job->numbers.process ||
        (arrival->process >= 0 && arrival->process != (int)process) ||
        asks->come - __atomic_load_n(&asks->taken, __ATOMIC_ACQUIRE) == places)
        return WEFT_ERR_PROTOCOL;
    struct weft_post *post = &asks->posts[place];
    const struct weft_ask *ask = &post->ask;
    unsigned char *memory = find(job, ask);
    const bool updates = ask->how != WEFT_ASK_GET;
    if (memory == NULL ||
        (updates && (!weft_change_exists(ask->how, ask->type) || ask->height != 1 ||
                     ask->width > WEFT_ASK_ROOM || ask->width % weft_type_bytes(ask->type) != 0 ||
                     ((uintptr_t)memory & (weft_type_bytes(ask->type) - 1)) != 0))) {
        weft_job_fail(job, WEFT_ERR_PROTOCOL,
                      "process %u asked for %llu bytes at offset %llu of member %d of window 0x%x, "
                      "which process %d does not have (how %u, type %u)",
                      process, (unsigned long long)ask->width, (unsigned long long)ask->offset,
                      ask->member, ask->win, job->numbers.process, ask->how, ask->type);
        return WEFT_OK;
    }
    if (updates && !update(job, memory, post))
        return WEFT_ERR_DEVICE;
    struct weft_answering *next = &asks->waiting[asks->come % places];
    next->place = place;
    if (!updates && !weft_landing_mark(job, &next->mark))
        return WEFT_ERR_DEVICE;
    asks->come++;
    return WEFT_OK;
}

/*
 * Whether what the ask wants can be sent now. A few bytes the device itself brings to the mailbox,
 * quicker than a stream. False: the device failed.
 */
static bool is_ready(struct weft_job *job, struct weft_answering *next, bool *ready)
{
    struct weft_post *post = &job->proxy.asks.posts[next->place];
    const struct weft_ask *ask = &post->ask;
    struct weft_errand errand = {.kind = WEFT_ERRAND_FETCH, .bytes = (uint8_t)ask->width};

    *ready = true;
    next->fetched = false;
    if (ask->how != WEFT_ASK_GET)
        return true;
    if (!weft_landing_reached(job, next->mark, ready))
        return false;
    if (!*ready || !job->ranks.serves || ask->height != 1 || ask->width > WEFT_ERRAND_BYTES)
        return true;
    errand.address = (uint64_t)(uintptr_t)find(job, ask);
    if (errand.address != 0 && job->device_ops->serve(job->device, &errand, 1) != WEFT_OK)
        return false;
    memcpy(post->operands, errand.data, sizeof(errand.data));
    next->fetched = errand.address != 0;
    return true;
}

/* Hands on to the progress task what the device has got so far. */
static bool receive_round(struct weft_job *job)
{
    struct weft_asks *asks = &job->proxy.asks;
    const uint32_t places = (uint32_t)job->numbers.processes * WEFT_ASKS, before = asks->ready;
    bool there = true;

    while (asks->ready != asks->come) {
        if (!is_ready(job, &asks->waiting[asks->ready % places], &there)) {
            weft_job_fail(job, WEFT_ERR_DEVICE, "process %d cannot answer what was asked: %s",
                          job->numbers.process, weft_err_last());
            return false;
        }
        if (!there)
            return true;
        __atomic_store_n(&asks->ready, asks->ready + 1, __ATOMIC_RELEASE);
    }
    if (asks->ready != before)
        weft_bell_ring(job->proxy.command_bell);
    return asks->ready != before;
}

/* What goes back: memory of the window, the old value, or the notice alone. */
static bool begin(struct weft_job *job, const struct weft_answering *next)
{
    const uint32_t place = next->place;
    struct weft_post *post = &job->proxy.asks.posts[place];
    const struct weft_ask *ask = &post->ask;
    const bool get = ask->how == WEFT_ASK_GET, there = get && !next->fetched;
    const uint32_t mine = (uint32_t)job->numbers.process * WEFT_ASKS + place % WEFT_ASKS;
    struct weft_request *request = weft_request_make(job, WEFT_NO_SLOT, false);

    if (request == NULL)
        return false;
    request->put.process = (int)(place / WEFT_ASKS);
    request->put.notice = weft_notice(WEFT_NOTICE_ANSWER, 0, mine);
    request->put.key = ask->reply_key;
    request->put.offset = ask->reply_offset;
    request->rows = ask->height;
    request->width = get ? ask->width : ask->wants ? weft_type_bytes(ask->type) : 0;
    request->pitch = ask->reply_pitch;
    request->source_pitch = there ? ask->pitch : 0;
    request->source = there ? find(job, ask) : post->operands;
    if (request->source == NULL) { /* freed since: against the rules, so the job has failed */
        weft_request_free(job, request);
        return false;
    }
    if (there)
        weft_request_from_memory(job, request);
    weft_requests_add(job, &job->proxy.asks.answers, request);
    return true;
}

static bool send_round(struct weft_job *job)
{
    struct weft_asks *asks = &job->proxy.asks;
    const uint32_t places = (uint32_t)job->numbers.processes * WEFT_ASKS;
    bool did = false;

    if (asks->posts == NULL)
        return false;
    if (asks->answers.waiting != 0) {
        did = weft_requests_fetch(job, &asks->answers);
        did |= weft_requests_issue(job, &asks->answers);
    }
    while (asks->taken != __atomic_load_n(&asks->ready, __ATOMIC_ACQUIRE) &&
           begin(job, &asks->waiting[asks->taken % places])) {
        __atomic_store_n(&asks->taken, asks->taken + 1, __ATOMIC_RELEASE);
        did = true;
    }
    return did || (job->proxy.stage != NULL && asks->answers.waiting != 0);
}

const struct weft_service weft_answer_service = {.round = {send_round, receive_round}};
