/* runtime/service/answer.c - the owner's side of asks; see ask.h. */
#include "abi/errand.h"
#include "base/say.h"
#include "net/staging.h"
#include "runtime/service/ask.h"
#include "runtime/space/tables.h"

#include <string.h>

/*
 * Finds the memory that an ask is about; NULL: this process does not expose it. By its key, as for
 * a put: this process may come to know of a window later than another that uses it.
 */
static unsigned char *find_exposed(struct weft_job *job, const struct weft_ask *ask)
{
    size_t bytes = 0;
    unsigned char *const base = weft_net_memory(job->proxy.net, ask->key, &bytes);
    const bool inside =
        base != NULL && weft_inside(ask->offset, ask->pitch, ask->width, ask->height, bytes);

    return inside ? base + ask->offset : NULL;
}

static bool is_update(const struct weft_ask *ask)
{
    return ask->how != WEFT_ASK_GET;
}

static bool makes_sense(const struct weft_ask *ask, const unsigned char *memory)
{
    const uint32_t size = weft_element_bytes(ask->type);

    if (!is_update(ask))
        return true;
    return weft_update_exists(ask->how, ask->type) && ask->height == 1 && ask->width != 0 &&
           ask->width <= (ask->how == WEFT_COMPARE ? size : (uint64_t)WEFT_ASK_ROOM) &&
           (ask->wants == 0 || !weft_element_is_half(ask->type)) && ask->width % size == 0 &&
           ((uintptr_t)memory & (size - 1)) == 0;
}

static bool not_here(struct weft_job *job, uint32_t place, const struct weft_ask *ask)
{
    weft_job_fail(job, WEFT_ERR_PROTOCOL,
                  "process %u asked for %llu bytes at offset %llu of region 0x%llx, which process "
                  "%d does not expose (how %u, type %u, %u rows)",
                  place / WEFT_ASKS, (unsigned long long)ask->width,
                  (unsigned long long)ask->offset, (unsigned long long)ask->key,
                  job->numbers.process, ask->how, ask->type, ask->height);
    return false;
}

bool weft_answer_halves(struct weft_job *job, unsigned char *memory, struct weft_change change,
                        const unsigned char *operands, uint64_t bytes)
{
    struct weft_errand errands[WEFT_ASK_ROOM / 2];
    uint16_t left[WEFT_ASK_ROOM / 2]; /* places of elements that have not been put yet */
    uint32_t was[WEFT_ASK_ROOM / 2];  /* words around these elements: at first a guess */
    size_t count = bytes / 2;
    fenv_t callers;
    bool good = true;

    for (size_t i = 0; i < count; i++) {
        left[i] = (uint16_t)(2 * i);
        was[i] = 0;
    }
    weft_exact_begin(&callers);
    while (good && count != 0) {
        for (size_t i = 0; i < count; i++) {
            const uint64_t element = (uint64_t)(uintptr_t)memory + left[i];
            memcpy(&change.value, operands + left[i], 2);
            errands[i] = (struct weft_errand){.kind = WEFT_ERRAND_UPDATE,
                                              .how = WEFT_COMPARE,
                                              .type = WEFT_U32,
                                              .bytes = 4,
                                              .address = element & ~(uint64_t)3};
            errands[i].data[0] = weft_half_in_word(was[i], element, &change);
            errands[i].data[1] = was[i];
        }
        good = job->device_ops->serve(job->device, errands, count) == WEFT_OK;
        size_t again = 0;
        for (size_t i = 0; i < count; i++)
            if ((uint32_t)errands[i].data[0] != was[i]) { /* another has come between */
                left[again] = left[i];
                was[again++] = (uint32_t)errands[i].data[0];
            }
        count = again;
    }
    weft_exact_end(&callers);
    return good;
}

/*
 * Updates by the device itself: as many words in an errand as it can carry. The old ones take the
 * places of the operands, but for reals of 16 bits.
 */
static bool update_there(struct weft_job *job, unsigned char *memory, const struct weft_ask *ask,
                         unsigned char *operands)
{
    enum { MOST = (WEFT_ASK_ROOM + WEFT_ERRAND_BYTES - 1) / WEFT_ERRAND_BYTES };
    struct weft_errand errands[MOST] = {0};
    size_t count = 0;

    if (weft_element_is_half(ask->type))
        return weft_answer_halves(job, memory,
                                  (struct weft_change){.how = ask->how, .type = ask->type},
                                  operands, ask->width);
    for (uint64_t at = 0; at < ask->width; at += WEFT_ERRAND_BYTES, count++) {
        struct weft_errand *errand = &errands[count];
        const uint64_t left = ask->width - at;
        errand->kind = WEFT_ERRAND_UPDATE;
        errand->how = ask->how;
        errand->type = ask->type;
        errand->bytes = (uint8_t)(left < WEFT_ERRAND_BYTES ? left : WEFT_ERRAND_BYTES);
        errand->address = (uint64_t)(uintptr_t)memory + at;
        memcpy(errand->data, operands + at,
               ask->how == WEFT_COMPARE ? sizeof(uint64_t) * 2 : errand->bytes);
    }
    const bool good = job->device_ops->serve(job->device, errands, count) == WEFT_OK;
    for (size_t i = 0; i < count; i++)
        memcpy(operands + i * WEFT_ERRAND_BYTES, errands[i].data, errands[i].bytes);
    return good;
}

/* Updates by the host. The old elements take the operands' places. */
static void update_here(unsigned char *memory, const struct weft_ask *ask, unsigned char *operands)
{
    const uint32_t size = weft_element_bytes(ask->type);
    struct weft_change change = {.how = ask->how, .type = ask->type};
    fenv_t callers;

    if (weft_element_is_half(ask->type))
        weft_exact_begin(&callers);
    if (ask->how == WEFT_COMPARE)
        memcpy(&change.expected, operands + 8, 8);
    for (uint64_t at = 0; at < ask->width; at += size) {
        memcpy(&change.value, operands + at, size);
        const uint64_t old = weft_update(memory + at, &change);
        memcpy(operands + at, &old, size);
    }
    if (weft_element_is_half(ask->type))
        weft_exact_end(&callers);
}

/* Updates the words, behind all that has come; old ones that are wanted become the operands. */
static bool update(struct weft_job *job, unsigned char *memory, const struct weft_ask *ask,
                   struct weft_post *post)
{
    unsigned char operands[WEFT_ASK_ROOM];

    if (!weft_delivery_settle(job))
        return false;
    weft_read_shared(operands, post->operands, ask->how == WEFT_COMPARE ? 16 : ask->width);
    if (job->device_ops->host_access)
        update_here(memory, ask, operands);
    else if (!update_there(job, memory, ask, operands))
        return false;
    weft_write_shared(post->operands, operands, ask->wants ? ask->width : 0);
    struct weft_exposed *const exposed = job->space.state.exposed;
    weft_bell_ring_for(&exposed->bell, &exposed->watchers); /* of who polls a word */
    return true;
}

weft_status weft_answer_take(void *context, const struct weft_net_delivery *delivery)
{
    struct weft_job *job = context;
    struct weft_asks *asks = &job->proxy.asks;
    const uint32_t place = weft_notice_slot(delivery->notice), process = place / WEFT_ASKS;
    const uint32_t places = (uint32_t)job->numbers.processes * WEFT_ASKS;

    if (place >= places || process == (uint32_t)job->numbers.process ||
        (delivery->process >= 0 && delivery->process != (int)process) ||
        asks->come - __atomic_load_n(&asks->taken, __ATOMIC_ACQUIRE) == places)
        return WEFT_ERR_PROTOCOL;
    struct weft_answering *next = &asks->waiting[asks->come % places];
    next->place = place;
    weft_read_shared(&next->ask, &asks->posts[place].ask, sizeof(next->ask));
    unsigned char *memory = find_exposed(job, &next->ask);
    if (memory == NULL || !makes_sense(&next->ask, memory)) {
        not_here(job, place, &next->ask);
        return WEFT_OK;
    }
    if (is_update(&next->ask) ? !update(job, memory, &next->ask, &asks->posts[place])
                              : !weft_delivery_mark(job, &next->mark))
        return WEFT_ERR_DEVICE;
    asks->come++;
    return WEFT_OK;
}

/* Loads a word, undivided, as others may update it, into the mailbox. False: it is no such word. */
static bool load_word(struct weft_job *job, const struct weft_ask *ask, unsigned char *to)
{
    const bool word = ask->height == 1 && (ask->width == 4 || ask->width == 8);
    const void *const at = word && job->device_ops->host_access ? find_exposed(job, ask) : NULL;
    uint64_t value = 0;

    if (at == NULL || (uintptr_t)at % ask->width != 0)
        return false;
    if (ask->width == 8)
        value = weft_load_relaxed_u64(at);
    const uint32_t half = ask->width == 4 ? weft_load_relaxed_u32(at) : 0;
    weft_write_shared(to, ask->width == 8 ? (const void *)&value : &half, ask->width);
    return true;
}

/*
 * Whether what the ask wants can be sent now. A few bytes the device itself brings to the mailbox,
 * quicker than a stream. False: the device failed.
 */
static bool is_ready(struct weft_job *job, struct weft_answering *next, bool *ready)
{
    const struct weft_device_ops *const ops = job->device_ops;
    const struct weft_ask *ask = &next->ask;
    struct weft_errand errand = {.kind = WEFT_ERRAND_FETCH, .bytes = (uint8_t)ask->width};

    *ready = true;
    next->fetched = false;
    if (is_update(ask))
        return true;
    if (!weft_delivery_reached(job, next->mark, ready))
        return false;
    next->fetched = *ready && load_word(job, ask, job->proxy.asks.posts[next->place].operands);
    if (!*ready || next->fetched || ask->height != 1 || ask->width > WEFT_ERRAND_BYTES ||
        (errand.address = (uint64_t)(uintptr_t)find_exposed(job, ask)) == 0)
        return true;
    if (!job->ranks.serves) /* no kernel runs, or it leaves no room */
        next->fetched = ops->serve_now != NULL && ops->serve_now(job->device, &errand);
    else if (ops->serve(job->device, &errand, 1) == WEFT_OK)
        next->fetched = true;
    else
        return false;
    if (next->fetched)
        weft_write_shared(job->proxy.asks.posts[next->place].operands, errand.data,
                          sizeof(errand.data));
    return true;
}

/* Begins an answer: memory of the window, the old value, or the notice alone. */
static bool begin_answer(struct weft_job *job, const struct weft_answering *answering)
{
    const struct weft_ask *ask = &answering->ask;
    const uint32_t place = answering->place;
    const bool get = !is_update(ask), there = get && !answering->fetched;
    const uint32_t mine = (uint32_t)job->numbers.process * WEFT_ASKS + place % WEFT_ASKS;
    struct weft_request *request = weft_request_make(job, WEFT_NO_SLOT, false);

    if (request == NULL)
        return false;
    request->put.process = (int)(place / WEFT_ASKS);
    request->put.notice = weft_notice(WEFT_NOTICE_ANSWER, 0, mine);
    request->put.key = ask->reply_key;
    request->put.offset = ask->reply_offset;
    request->rows = ask->height;
    request->width = get || ask->wants ? ask->width : 0;
    request->pitch = ask->reply_pitch;
    request->source_pitch = there ? ask->pitch : 0;
    request->source = there ? find_exposed(job, ask) : job->proxy.asks.posts[place].operands;
    if (request->source == NULL) { /* freed since */
        weft_request_free(job, request);
        return not_here(job, place, ask);
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

    if (asks->posts == NULL)
        return false;
    bool did = weft_requests_proceed(job, &asks->answers);
    while (!weft_job_is_failing(job) &&
           asks->taken != weft_load_acquire_u64(&asks->ready, ORDER_ask_seen) &&
           begin_answer(job, &asks->waiting[asks->taken % places])) {
        __atomic_store_n(&asks->taken, asks->taken + 1, __ATOMIC_RELEASE);
        did = true;
    }
    return did;
}

/* Sends from the receive task, unless the progress task is at it: a thread less to wake. What is
 * left is for the progress task. */
static bool send_at_once(struct weft_job *job)
{
    const struct weft_asks *asks = &job->proxy.asks;
    bool did = send_round(job);

    did |= weft_services_drive(job, WEFT_NET_SEND);
    if (asks->answers.waiting != 0 || asks->taken != weft_load_relaxed_u64(&asks->ready) ||
        !weft_net_left(job->proxy.net))
        weft_bell_ring(job->proxy.command_bell);
    return did;
}

/* Hands on to the progress task what the device has got so far. */
static bool receive_round(struct weft_job *job)
{
    struct weft_asks *asks = &job->proxy.asks;
    const uint32_t places = (uint32_t)job->numbers.processes * WEFT_ASKS;
    uint64_t ready = weft_load_relaxed_u64(&asks->ready);
    const uint64_t before = ready;
    bool there = true;

    for (; ready != asks->come; ready++) {
        if (!is_ready(job, &asks->waiting[ready % places], &there)) {
            weft_job_cannot(job, WEFT_ERR_DEVICE, "answer what was asked");
            return false;
        }
        if (!there)
            break;
    }
    if (ready == before)
        return false;
    weft_store_release_u64(&asks->ready, ready, ORDER_ask_post);
    weft_services_send(job, send_at_once);
    return true;
}

const struct weft_service weft_answer_service = {.round = {send_round, receive_round}};
