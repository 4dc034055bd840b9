/* remote/session/session.c - opening, the loop, answers, and the end of a session. */
#include "remote/session/session.h"

#include "base/say.h"
#include "remote/session/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RECORDS_A_ROUND = 64, ANSWER_MOST = 10 << 10 };
static const uint64_t spin_ns = 200000, nap_ns = 50000, rest_ns = 1000000,
                      look_every_ns = 100000000;

CUresult session_use(struct weft_session *session, int device)
{
    struct session_device *next = &session->device[device];
    CUresult result = CUDA_SUCCESS;

    if (session->current == device)
        return CUDA_SUCCESS;
    if (next->context == NULL)
        result = session->table->context_retain(&next->context, next->ordinal);
    if (result == CUDA_SUCCESS)
        result = session->table->context_use(next->context);
    if (result == CUDA_SUCCESS && next->in == NULL)
        result = session->table->stream_create(&next->in, CU_STREAM_NON_BLOCKING, 0);
    if (result == CUDA_SUCCESS && next->out == NULL)
        result = session->table->stream_create(&next->out, CU_STREAM_NON_BLOCKING, 0);
    session->current = result == CUDA_SUCCESS ? device : -1;
    return result;
}

/* ---- addresses ------------------------------------------------------------------------------- */

int session_device_of(const struct weft_session *session, uint64_t address, uint64_t bytes)
{
    for (int d = 0; d < session->count; d++)
        if (weft_ranges_has(&session->device[d].arena.blocks, address, bytes) ||
            weft_ranges_has(&session->device[d].globals, address, bytes))
            return d;
    return -1;
}

/* ---- answers --------------------------------------------------------------------------------- */

bool session_answer(struct weft_session *session, int lane, CUresult result, const uint64_t *words,
                    uint32_t count, const void *extra, uint32_t bytes)
{
    struct weft_record_link *link = &session->links.link[0];
    struct weft_record *record =
        weft_ring_out_begin(&link->out, WEFT_CALL_answer, count + 1, bytes);

    if (record == NULL)
        return false;
    record->lane = (uint8_t)lane;
    weft_record_words(record)[0] = (uint64_t)session->sticky << 32 | (uint64_t)result;
    session->sticky = CUDA_SUCCESS;
    if (count != 0)
        memcpy(weft_record_words(record) + 1, words, count * sizeof(*words));
    if (bytes != 0)
        memcpy(weft_record_extra(record), extra, bytes);
    weft_ring_out_end(&link->out, record);
    return true;
}

int session_reply(struct weft_session *session, const struct weft_record *record,
                  const uint64_t *words, uint32_t count, const void *extra, uint32_t bytes)
{
    return session_answer(session, record->lane, CUDA_SUCCESS, words, count, extra, bytes)
               ? SESSION_LATER
               : SESSION_WRONG;
}

/* Sends what kernels printed. The driver prints to a file, which never blocks it; one that was read
 * to its end begins anew. */
bool session_print(struct weft_session *session)
{
    struct weft_ring_out *out = &session->links.link[0].out;

    if (!session->prints || session->limits->output == NULL)
        return true;
    fflush(stdout);
    for (int i = 0; i < 2; i++) {
        const int file = session->limits->output[i];
        struct stat now;
        while (fstat(file, &now) == 0 && (uint64_t)now.st_size > session->output[i]) {
            const uint64_t left = (uint64_t)now.st_size - session->output[i];
            const uint32_t bytes = left < WEFT_OUTPUT_PIECE ? (uint32_t)left : WEFT_OUTPUT_PIECE;
            struct weft_record *record = weft_ring_out_begin(out, WEFT_CALL_output, 1, bytes);
            if (record == NULL)
                return false;
            weft_record_words(record)[0] = (uint64_t)i + 1;
            if (pread(file, weft_record_extra(record), bytes, (off_t)session->output[i]) != bytes)
                break;
            weft_ring_out_end(out, record);
            session->output[i] += bytes;
        }
        if (session->output[i] != 0 && ftruncate(file, 0) == 0)
            session->output[i] = 0;
    }
    return true;
}

/* ---- the loop -------------------------------------------------------------------------------- */

bool session_can_answer(struct weft_session *session)
{
    return weft_ring_out_begin(&session->links.link[0].out, WEFT_CALL_answer, 1, ANSWER_MOST) !=
           NULL;
}

/* Answers a record. Lane 0: nobody waits for an answer, and its error is kept. */
weft_status session_done(struct weft_session *session, const struct weft_record *record, int result)
{
    if (result == SESSION_WRONG)
        return weft_links_fail(&session->links, WEFT_ERR_PROTOCOL,
                               "the program sent call %u for device %u with %u words and %u bytes, "
                               "which makes no sense",
                               record->call, record->device, record->words, record->extra);
    if (result >= 0 && record->lane != 0)
        session_answer(session, record->lane, (CUresult)result, NULL, 0, NULL, 0);
    else if (result > 0 && session->sticky == CUDA_SUCCESS)
        session->sticky = (CUresult)result;
    return WEFT_OK;
}

weft_status session_take_records(struct weft_session *session, bool *did)
{
    struct weft_ring_in *ring = &session->links.link[0].in;
    weft_status status = session_held_poll(session, did);
    struct weft_record *record;

    for (int i = 0; i < RECORDS_A_ROUND && status == WEFT_OK && session_can_answer(session); i++) {
        if (weft_ring_in_next(ring, &record) != WEFT_OK)
            return weft_links_fail(&session->links, WEFT_ERR_PROTOCOL,
                                   "the program sent a malformed record");
        if (record == NULL)
            break;
        const int result = session_take(session, record);
        if (result == SESSION_AGAIN)
            break;
        status = session_done(session, record, result);
        weft_ring_in_done(ring, record);
        session->asks = true;
        *did = true;
    }
    return status;
}

/* Fails if the program has asked for nothing, and waited for nothing, for too long. A session that
 * was stopped has not looked meanwhile: such time is not the program's. */
static weft_status look_at_program(struct weft_session *session)
{
    const uint64_t now = weft_now_ns(), idle_ns = session->limits->idle_ns,
                   passed = now - session->looked;

    if (idle_ns == 0 || passed < look_every_ns)
        return WEFT_OK;
    session->looked = now;
    session->idle += passed < 5 * look_every_ns ? passed : look_every_ns;
    if (session->asks || session->wait_count != 0 || session->sources.first != NULL)
        session->idle = 0;
    session->asks = false;
    if (session->idle <= idle_ns)
        return WEFT_OK;
    return weft_links_fail(&session->links, WEFT_ERR_TIMEOUT,
                           "the program has asked for nothing for %llu s",
                           (unsigned long long)(session->idle / 1000000000));
}

static void rest(struct weft_session *session, uint64_t idle_since)
{
    struct weft_bell *bell = weft_net_bell(session->links.net, WEFT_NET_RECEIVE);
    const bool busy = session->wait_count != 0 || session->sources.first != NULL;

    if (weft_now_ns() - idle_since < spin_ns || bell == NULL) {
        weft_task_yield(true);
        return;
    }
    const uint32_t ticket = weft_bell_prepare(bell);
    bool did = false;
    if (weft_links_progress(&session->links, &did) == WEFT_OK && !did)
        weft_bell_sleep(bell, ticket, busy ? nap_ns : rest_ns);
    else
        weft_bell_cancel(bell);
}

static weft_status serve(struct weft_session *session)
{
    uint64_t idle_since = weft_now_ns();
    weft_status status = WEFT_OK;

    session->looked = idle_since;
    while (status == WEFT_OK && !session->ends) {
        bool did = false;
        status = weft_links_progress(&session->links, &did);
        if (status == WEFT_OK)
            status = session_take_records(session, &did);
        session_waits_poll(session, &did);
        if (status == WEFT_OK)
            status = session_copies_poll(session, &did);
        if (status == WEFT_OK)
            status = weft_link_flush(&session->links, 0);
        if (status == WEFT_OK)
            status = look_at_program(session);
        if (did)
            idle_since = weft_now_ns();
        else if (status == WEFT_OK && !session->ends)
            rest(session, idle_since);
    }
    return status;
}

/* ---- opening and closing --------------------------------------------------------------------- */

/* Makes the first device's context now: the network's memory is pinned in it, and that for copies
 * inside records. */
static weft_status open_devices(struct weft_session *session)
{
    session->count = session->limits->device_count;
    for (int i = 0; i < session->count; i++)
        session->device[i].ordinal = session->limits->devices[i];
    CUresult result = session_use(session, 0);
    if (result == CUDA_SUCCESS)
        result = session->table->host_alloc((void **)&session->chunks,
                                            (size_t)SESSION_CHUNKS * WEFT_COPY_INSIDE, 0);
    return result == CUDA_SUCCESS
               ? WEFT_OK
               : weft_err(WEFT_ERR_DEVICE, "the driver: a context, and pinned memory: %s",
                          weft_cuda_error(result)->text);
}

static CUresult destroy(struct weft_session *session, int kind, void *object)
{
    switch (kind) {
    case WEFT_STREAM:
        return session->table->stream_destroy(object);
    case WEFT_EVENT:
        return session_event_destroy(session, object);
    case WEFT_LIBRARY:
        return session->table->library_unload(object);
    case WEFT_ARRAY:
        return session->table->array_destroy(object);
    case WEFT_TEXTURE:
        return session->table->texture_destroy((CUtexObject)object);
    case WEFT_SURFACE:
        return session->table->surface_destroy((CUsurfObject)object);
    default:
        free(object);
        return CUDA_SUCCESS;
    }
}

uint64_t session_name(struct weft_session *session, enum weft_argument kind, int device,
                      void *object, uint32_t flags, CUresult *result)
{
    if (*result != CUDA_SUCCESS)
        return 0;
    const uint64_t handle = weft_handles_add(&session->handles, kind, device, object, flags);
    if (handle == 0) {
        destroy(session, kind, object);
        *result = CUDA_ERROR_OUT_OF_MEMORY;
    } else if (kind == WEFT_ARRAY) {
        session->device[device].arena.used += (uint64_t)flags * SESSION_ARRAY_UNIT;
    }
    return handle;
}

CUresult session_drop(struct weft_session *session, struct weft_place *place)
{
    session_use(session, place->device);
    const CUresult result = destroy(session, place->kind, place->object);
    if (place->kind == WEFT_ARRAY)
        session->device[place->device].arena.used -= (uint64_t)place->flags * SESSION_ARRAY_UNIT;
    weft_handles_remove(&session->handles, place);
    return result;
}

static void close_devices(struct weft_session *session)
{
    for (int d = 0; d < session->count; d++) {
        struct session_device *device = &session->device[d];
        weft_arena_close(&device->arena);
        if (device->context != NULL && session_use(session, d) == CUDA_SUCCESS) {
            while (device->event_count > 0)
                session->table->event_destroy(device->events[--device->event_count]);
            if (device->in != NULL)
                session->table->stream_destroy(device->in);
            if (device->out != NULL)
                session->table->stream_destroy(device->out);
        }
        free(device->globals.list);
    }
    if (session->chunks != NULL)
        session->table->host_free(session->chunks);
}

void session_free(struct weft_session *session)
{
    session_held_drop(session);
    while (session->waits != NULL) {
        struct session_wait *wait = session->waits;
        session->waits = wait->next;
        session_wait_drop(session, wait);
    }
    session_copies_close(session);
    session_shares_close(session);
    session_reach_close(session);
    for (uint32_t i = 0; i < session->handles.count; i++)
        if (session->handles.places[i].kind != WEFT_HANDLE_NONE)
            session_drop(session, &session->handles.places[i]);
    free(session->handles.places);
    close_devices(session);
    free(session->image);
    free(session);
}

struct weft_session *session_make(const struct weft_config *config,
                                  const struct weft_cuda_table *table,
                                  const struct weft_session_limits *limits)
{
    struct weft_session *session = calloc(1, sizeof(*session));

    if (session == NULL) {
        weft_err(WEFT_ERR_MEMORY, "no memory for a session");
        return NULL;
    }
    session->table = table;
    session->limits = limits;
    session->current = session->door = -1;
    session->last_wait = &session->waits;
    TAILQ_INIT(&session->held);
    TAILQ_INIT(&session->ready);
    session->handles.process = (int)config->process;
    session->links.config = *config;
    session->links.context = session;
    session->links.copy = session_copy_notice;
    if (open_devices(session) == WEFT_OK)
        return session;
    session_free(session);
    return NULL;
}

/*
 * Whether a device's kernels have to end before this process does: who uses them goes on, or those
 * of other processes go by the same MPS server (CU_DEVICE_ATTRIBUTE_MPS_ENABLED): there the end of
 * one whose work is under way has ended the others', too.
 */
static bool ends_before(const struct weft_session *session, int device)
{
    int mps = 0;

    return !session->limits->ends_process ||
           (session->table->device_attribute(&mps, (CUdevice_attribute)133,
                                             session->device[device].ordinal) == CUDA_SUCCESS &&
            mps != 0);
}

weft_status weft_session_serve(const struct weft_config *config,
                               const struct weft_cuda_table *table,
                               const struct weft_session_limits *limits)
{
    struct weft_session *session = session_make(config, table, limits);
    struct weft_net_device device = {0};

    if (session == NULL)
        return WEFT_ERR_DEVICE;
    session_device(session, &device);
    session_reach_open(session);
    weft_status status = weft_links_open(&session->links, config, &device, config->stage_memory);
    if (status == WEFT_OK) {
        status = session_copies_open(session);
        if (status == WEFT_OK)
            status = serve(session);
        for (int d = 0; d < session->count && status == WEFT_OK; d++)
            if (session->device[d].context != NULL && ends_before(session, d) &&
                session_use(session, d) == CUDA_SUCCESS)
                session->table->context_synchronize(); /* what runs would use memory that goes */
        if (status == WEFT_OK || !limits->ends_process)
            weft_links_close(&session->links, status == WEFT_OK);
        if (limits->ends_process) /* its driver cleans up, whatever still runs */
            return status;
    }
    session_free(session);
    return status;
}
