/* runtime/service/ask.c - the asking side; see the header. */
#include "runtime/service/ask.h"

#include "base/say.h"
#include "gda/softnic/engine.h"
#include "rank/counter.h"
#include "runtime/space/tables.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of a get from which on its memory is lent. Through the mailbox these are 4 asks. */
enum { LEND_FROM = 4 * WEFT_ASK_ROOM };

/* ---- a rank's command ------------------------------------------------------------------------ */

/* Whether a command's operands come behind it. */
static bool carried(const struct weft_command *command)
{
    return (command->flags & WEFT_COMMAND_INLINE) != 0;
}

/* Finds what the command asks for, and of whom. Table lock held. */
static bool plan(struct weft_job *job, const struct weft_command *command,
                 struct weft_request *request)
{
    const uint32_t how = command->tag & 15, type = command->tag >> 4 & 7;
    const struct weft_window *window = weft_window_find(&job->space.state, command->object);
    const bool update = how != WEFT_ASK_GET;
    struct weft_asking *const asking = request->asking;

    if (window == NULL || command->target >= (uint32_t)window->members || command->height == 0 ||
        !weft_inside(command->offset, update ? 0 : command->pitch, command->width, command->height,
                     window->entry[command->target].bytes))
        return false;
    if (update && (command->height != 1 || !weft_update_exists(how, type) ||
                   command->width % weft_element_bytes(type) != 0 ||
                   (!carried(command) && command->width > WEFT_WITHIN_MOST)))
        return false;
    request->put.process = window->member[command->target].process;
    asking->to_link = (command->tag & WEFT_ASK_TO_LINK) != 0;
    asking->tag = (command->flags & WEFT_COMMAND_NOTIFY) != 0 ? command->tag >> 8 : -1;
    const struct weft_window_entry *entry = &window->entry[command->target];
    asking->ask = (struct weft_ask){.key = entry->key,
                                    .offset = entry->key_offset + command->offset,
                                    .how = (uint8_t)how,
                                    .type = (uint8_t)type,
                                    .wants = update && (asking->to_link || command->pitch != 0)};
    request->source = (unsigned char *)(uintptr_t)(update ? command->pitch : command->source);
    request->rows = command->height;
    request->width = command->width;
    request->pitch = update ? command->width : command->pitch;
    request->source_pitch = update ? command->width : command->source_pitch;
    return request->put.process != job->numbers.process;
}

/* Whether the host itself stores there what a rank of that slot has asked for. */
static bool host_stores(const struct weft_job *job, uint32_t slot, const void *to, size_t bytes)
{
    return job->ranks.image == NULL ||
           (slot == WEFT_HOST_SLOT && job->device_ops->no_access(job->device, to, bytes) != NULL);
}

void weft_ask_find_reply(struct weft_job *job, struct weft_request *request)
{
    const uint64_t bytes = (request->rows - 1) * request->source_pitch + request->width;
    struct weft_asking *const asking = request->asking;
    const bool memory = asking->ask.how == WEFT_ASK_GET && !asking->to_link && request->width != 0;
    struct weft_place place = {.key_offset = 0};

    asking->direct =
        memory && weft_memory_known(job, request->slot, request->source, bytes, &place);
    asking->lent = memory && !asking->direct && request->rows * request->width > LEND_FROM &&
                   weft_net_lend(job->proxy.net, request->source, bytes,
                                 host_stores(job, request->slot, request->source, bytes),
                                 &place.key) == WEFT_OK;
    asking->direct |= asking->lent;
    if (asking->direct) {
        asking->ask.reply_key = place.key;
        asking->ask.reply_offset = place.key_offset;
        asking->ask.reply_pitch = request->source_pitch;
    }
}

static enum weft_taken ask_command(struct weft_job *job, uint32_t slot,
                                   const struct weft_command *command, bool alone)
{
    const bool within = (command->flags & WEFT_COMMAND_WITHIN) != 0;
    const uint32_t payload = carried(command) ? (uint32_t)command->width : 0;
    struct weft_rank_proxy *proxy = &job->proxy.of_ranks[slot];

    if (!alone)
        return WEFT_TAKEN_NOT;
    if (carried(command) && (within || command->width > job->space.state.inline_bytes))
        return WEFT_TAKEN_WRONG;
    struct weft_request *request = weft_request_make(job, slot, true);
    if (request == NULL)
        return WEFT_TAKEN_NOT;
    weft_lock(&job->space.tables);
    request->asking = (struct weft_asking *)(void *)(request->payload + weft_request_room(job));
    const bool good = plan(job, command, request);
    if (good)
        weft_ask_find_reply(job, request);
    weft_unlock(&job->space.tables);
    if (!good || !weft_command_payload(&proxy->commands, request->payload, payload)) {
        weft_request_free(job, request);
        return good ? WEFT_TAKEN_NOT : WEFT_TAKEN_WRONG;
    }
    if (within) {
        memcpy(request->payload, &command->source, 8);
        memcpy(request->payload + 8, &command->source_pitch, 8);
    }
    weft_command_pop(&proxy->commands, payload);
    weft_requests_add(job, proxy, request);
    return WEFT_TAKEN;
}

/* ---- to the network -------------------------------------------------------------------------- */

/* Cuts off the next piece of the request, which one ask fetches. */
static void cut(struct weft_job *job, struct weft_request *request, uint32_t place,
                struct weft_asked *asked)
{
    struct weft_asking *const asking = request->asking;
    const bool update = asking->ask.how != WEFT_ASK_GET;
    const uint64_t left = request->width - request->done;
    const uint64_t most = asking->direct || update ? request->width : WEFT_ASK_ROOM;
    const uint64_t width = left < most ? left : most;
    struct weft_ask *ask = &asked->ask;

    *ask = asking->ask;
    ask->offset += request->row * request->pitch + request->done;
    ask->height = asking->direct ? (uint32_t)request->rows : 1;
    ask->width = width;
    ask->pitch = update ? 0 : request->pitch;
    asked->queued = request->queued;
    asked->slot = request->slot;
    asked->to = NULL;
    asked->bytes = 0;
    asked->tag = asking->tag;
    asked->to_link = asking->to_link;
    asked->lent = asking->lent;
    if (!asking->direct) {
        ask->reply_key = job->proxy.asks.key;
        ask->reply_offset = place * sizeof(struct weft_post) + offsetof(struct weft_post, answer);
        asked->bytes = !update || ask->wants ? (uint32_t)width : 0;
        if (!asking->to_link && asked->bytes != 0)
            asked->to = (unsigned char *)(uintptr_t)request->source +
                        request->row * request->source_pitch + request->done;
    }
    request->done += width;
    if (request->done == request->width) {
        request->done = 0;
        request->row += ask->height;
    }
    asked->last = request->row == request->rows;
}

bool weft_ask_issue(struct weft_job *job, struct weft_request *request)
{
    struct weft_asks *asks = &job->proxy.asks;
    const int process = request->put.process, me = job->numbers.process;
    const uint32_t how = request->asking->ask.how;
    const uint32_t operands = how == WEFT_ASK_GET                  ? 0
                              : request->width <= WEFT_WITHIN_MOST ? WEFT_WITHIN_MOST
                                                                   : (uint32_t)request->width;

    while (request->row < request->rows) {
        const uint32_t begun = asks->begun[process], place = begun % WEFT_ASKS;
        const uint32_t index = (uint32_t)process * WEFT_ASKS + place;
        struct weft_asked *asked = &asks->asked[index];
        const uint64_t row = request->row, done = request->done;
        if (begun - weft_load_acquire_u32(&asks->ended[process], ORDER_ask_space) == WEFT_ASKS)
            return false;
        cut(job, request, index, asked);
        if (operands != 0)
            memcpy(asked->operands, request->payload, operands);
        const uint64_t there = (uint64_t)me * WEFT_ASKS + place;
        const struct weft_net_put put = {.process = process,
                                         .key = asks->keys[process],
                                         .offset = there * sizeof(struct weft_post),
                                         .source = &asked->ask,
                                         .bytes = sizeof(asked->ask) + operands,
                                         .notice = weft_notice(WEFT_NOTICE_ASK, 0, (uint32_t)there),
                                         .cookie = &request->whole};
        __atomic_store_n(&asks->begun[process], begun + 1, __ATOMIC_RELEASE);
        if (weft_request_hand_over(job, &put, &request->unsent, &request->undelivered) != WEFT_OK) {
            __atomic_store_n(&asks->begun[process], begun, __ATOMIC_RELEASE);
            request->row = row;
            request->done = done;
            return false;
        }
    }
    weft_request_sent(job, &request->whole);
    return true;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Tells the rank's link: the rank looks at nothing else. */
static void tell_link(struct weft_link *link, const unsigned char *data, uint32_t bytes)
{
    const uint64_t stamp = (uint64_t)++link->results << 32;
    uint64_t value = 0;

    memcpy(&value, data, bytes);
    weft_store_release_u64(&link->result[0], stamp | (uint32_t)value, ORDER_answer_post);
    weft_store_release_u64(&link->result[1], stamp | value >> 32, ORDER_answer_post);
}

/* Everything the rank asked for by one call is there. */
static weft_status tell(struct weft_job *job, const struct weft_asked *asked, int process)
{
    if (asked->queued != NULL) { /* its completion tells the rank, by another stream */
        if (!weft_delivery_settle(job))
            return WEFT_ERR_DEVICE;
        weft_softnic_finish(asked->queued, 0);
        return WEFT_OK;
    }
    struct weft_link *link = job->ranks.selves[asked->slot]->link;
    uint32_t *const word = &link->done_remote[job->numbers.processes + process];
    uint32_t *const number = word + job->numbers.processes;

    *number += 1;
    if (!weft_delivery_store(job, word, *number))
        return WEFT_ERR_DEVICE;
    weft_store_release_u32(&link->answers, weft_load_relaxed_u32(&link->answers) + 1,
                           ORDER_answer_post);
    weft_bell_ring(&job->space.state.exposed->bell);
    return WEFT_OK;
}

static weft_status take_answer(void *context, const struct weft_net_delivery *delivery)
{
    struct weft_job *job = context;
    struct weft_asks *asks = &job->proxy.asks;
    const uint32_t index = weft_notice_slot(delivery->notice), process = index / WEFT_ASKS;

    if (process >= (uint32_t)job->numbers.processes ||
        (delivery->process >= 0 && delivery->process != (int)process))
        return WEFT_ERR_PROTOCOL;
    const uint32_t ended = weft_load_relaxed_u32(&asks->ended[process]);
    if (ended == __atomic_load_n(&asks->begun[process], __ATOMIC_ACQUIRE) ||
        index % WEFT_ASKS != ended % WEFT_ASKS)
        return WEFT_ERR_PROTOCOL;
    const struct weft_asked *asked = &asks->asked[index];
    unsigned char data[WEFT_ASK_ROOM];
    weft_read_shared(data, asks->posts[index].answer, asked->bytes);
    bool good = true;
    if (asked->lent)
        weft_net_dereg(job->proxy.net, asked->ask.reply_key);
    if (asked->to != NULL) /* settled: a device may read `data` late */
        good = weft_delivery_copy(job, asked->slot, asked->to, data, asked->bytes) &&
               weft_delivery_settle(job);
    if (good && asked->to_link)
        tell_link(job->ranks.selves[asked->slot]->link, data, asked->bytes);
    if (good && asked->last && asked->tag >= 0)
        good = weft_delivery_count(job, asked->slot, (uint32_t)asked->tag);
    const weft_status status = !good         ? WEFT_ERR_DEVICE
                               : asked->last ? tell(job, asked, (int)process)
                                             : WEFT_OK;
    weft_store_release_u32(&asks->ended[process], ended + 1, ORDER_ask_credit);
    weft_bell_ring(job->proxy.command_bell);
    return status;
}

/* ---- opening --------------------------------------------------------------------------------- */

weft_status weft_asks_open(struct weft_job *job)
{
    const size_t n = (size_t)job->numbers.processes, places = n * WEFT_ASKS;
    struct weft_asks *asks = &job->proxy.asks;

    if (n == 1)
        return WEFT_OK;
    if (places > WEFT_NOTICE_SLOTS)
        return weft_err(WEFT_ERR_LIMIT, "%zu processes with mailboxes: at most %u", n,
                        WEFT_NOTICE_SLOTS / WEFT_ASKS);
    asks->posts = aligned_alloc(4096, (weft_asks_bytes(job) + 4095) / 4096 * 4096);
    asks->keys = weft_job_keep(job, n, sizeof(*asks->keys));
    asks->asked = weft_job_keep(job, places, sizeof(*asks->asked));
    asks->begun = weft_job_keep(job, 2 * n, sizeof(*asks->begun));
    asks->waiting = weft_job_keep(job, places, sizeof(*asks->waiting));
    if (asks->posts == NULL || asks->keys == NULL || asks->asked == NULL || asks->begun == NULL ||
        asks->waiting == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for the mailbox of %zu processes", n);
    memset(asks->posts, 0, weft_asks_bytes(job));
    asks->ended = asks->begun + n;
    weft_notice_add(&job->proxy.kinds, WEFT_NOTICE_ASK, weft_answer_take, job);
    weft_notice_add(&job->proxy.kinds, WEFT_NOTICE_ANSWER, take_answer, job);
    return WEFT_OK;
}

weft_status weft_asks_expose(struct weft_job *job, uint64_t *key)
{
    struct weft_asks *asks = &job->proxy.asks;

    *key = 0;
    if (asks->posts == NULL)
        return WEFT_OK;
    const weft_status status =
        weft_net_reg(job->proxy.net, asks->posts, weft_asks_bytes(job), true, &asks->key);
    *key = asks->key;
    return status;
}

static void asks_close(struct weft_job *job)
{
    free(job->proxy.asks.posts);
}

const struct weft_service weft_ask_service = {
    .open = weft_asks_open,
    .close = asks_close,
    .owns[WEFT_OWNS_COMMANDS] = WEFT_KIND(WEFT_COMMAND_ASK),
    .command = ask_command,
};
