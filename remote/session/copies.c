/*
 * remote/session/copies.c - copies between processes, as a session sees them.
 *
 * The owner of a copy is the session whose stream orders it. It records an event in the stream and
 * closes a gate behind it: what comes after that is held (hold.c). When the event has passed the
 * source is told GO, and puts the pieces. When they are there the owner opens the gate: as the
 * target it finds that out itself, else the source tells it DONE. An event of another server, and a
 * callback of the program's, are gates, too.
 */
#include "base/say.h"
#include "order/order.h"
#include "remote/session/inside.h"

#include <stdlib.h>

/* ---- gates ----------------------------------------------------------------------------------- */

static weft_status open_gate(struct weft_session *session, uint32_t number)
{
    struct session_gate *gate = &session->gates[number];

    if (!gate->closed)
        return WEFT_OK; /* its record comes yet */
    if (gate->held != NULL)
        session_release(session, gate->held);
    *gate = (struct session_gate){0};
    return weft_links_notify(&session->links, 0, WEFT_COPY_FREE, number);
}

/* Tells a copy's source that what the stream was given before the gate is done. */
static CUresult gate_reached(struct weft_session *session, struct session_wait *wait,
                             CUresult result)
{
    if (result != CUDA_SUCCESS && session->sticky == CUDA_SUCCESS)
        session->sticky = result;
    weft_links_notify(&session->links, (int)(wait->value >> 32), WEFT_COPY_GO,
                      (uint32_t)wait->value);
    return result;
}

/* Whether nothing is left to do in a stream, nor in what it would wait for. */
static bool is_idle(struct weft_session *session, CUstream stream)
{
    unsigned flags = 0;

    return stream != NULL && session->table->stream_flags(stream, &flags) == CUDA_SUCCESS &&
           (flags & CU_STREAM_NON_BLOCKING) != 0 &&
           session->table->stream_query(stream) == CUDA_SUCCESS;
}

/* Closes a gate in a stream. Its source hears when the stream gets there; UINT64_MAX: nobody
 * does. */
SESSION_DO(gate)
{
    struct session_gate *gate = call->number < WEFT_COPIES ? &session->gates[call->number] : NULL;
    const bool tells = call->source != UINT64_MAX;
    int result = CUDA_SUCCESS;

    if (gate == NULL || gate->closed ||
        (tells && call->source >= (uint64_t)session->links.processes))
        return SESSION_WRONG;
    if (session->wait_count == SESSION_PENDING)
        return SESSION_AGAIN;
    if (tells && (is_idle(session, call->stream) || weft_mutation == COPY_go))
        weft_links_notify(&session->links, (int)call->source, WEFT_COPY_GO, (uint32_t)call->number);
    else if (tells)
        result = session_wait_stream(session, record->device, -1, call->stream, gate_reached,
                                     call->source << 32 | call->number);
    if (result != CUDA_SUCCESS && result != SESSION_LATER)
        return result;
    gate->closed = true;
    if (gate->done) /* before the gate's record */
        return open_gate(session, (uint32_t)call->number) == WEFT_OK ? CUDA_SUCCESS : SESSION_WRONG;
    return weft_mutation == COPY_gate ? CUDA_SUCCESS : SESSION_GATE;
}

/* ---- an event of this server, for a gate of another ------------------------------------------ */

static CUresult signal_now(struct weft_session *session, struct session_wait *wait, CUresult result)
{
    weft_links_notify(&session->links, (int)(wait->value >> 32), WEFT_COPY_DONE,
                      (uint32_t)wait->value);
    return result;
}

SESSION_DO(signal)
{
    if (call->number >= WEFT_COPIES || call->process == 0 ||
        call->process >= (uint64_t)session->links.processes)
        return SESSION_WRONG;
    return session_wait_event(session, call->event->device, -1, call->event->object, signal_now,
                              call->process << 32 | call->number);
}

/* ---- sending --------------------------------------------------------------------------------- */

static weft_status begin_sending(struct weft_session *session, struct session_gate *gate)
{
    const struct weft_send send = gate->send;

    gate->go = gate->told = false;
    return weft_sources_add(&session->sources, &send);
}

SESSION_DO(send)
{
    const struct weft_send *send = &call->send;
    const int processes = session->links.processes,
              device = session_device_of(session, send->from, send->bytes);

    if (send->number >= WEFT_COPIES || send->owner < 1 || send->owner >= processes ||
        send->process < 0 || send->process >= processes ||
        send->process == session->links.process || send->bytes == 0 || device < 0 ||
        session->gates[send->number].told || !weft_plan_is_good(&send->plan))
        return SESSION_WRONG;
    struct session_gate *gate = &session->gates[send->number];
    gate->send = *send;
    gate->send.device = device;
    gate->told = true;
    return gate->go && begin_sending(session, gate) != WEFT_OK ? SESSION_WRONG : CUDA_SUCCESS;
}

weft_status session_copy_notice(void *context, int process, enum weft_copy_step step,
                                uint32_t number)
{
    struct weft_session *session = context;

    (void)process;
    if (number >= WEFT_COPIES || session->gates == NULL)
        return WEFT_ERR_PROTOCOL;
    struct session_gate *gate = &session->gates[number];
    if (step == WEFT_COPY_GO && !gate->go) {
        gate->go = true;
        return gate->told ? begin_sending(session, gate) : WEFT_OK;
    }
    if ((step == WEFT_COPY_DONE || step == WEFT_COPY_PUT) && !gate->done && gate->mark == 0) {
        if (step == WEFT_COPY_PUT &&
            weft_mutation != COPY_done) { /* it is there when what arrives until the next mark is */
            gate->mark = session->mark + 1;
            session->delivering[session->last_delivering++ % WEFT_COPIES] = (uint16_t)number;
            return WEFT_OK;
        }
        gate->done = true;
        return open_gate(session, number);
    }
    return WEFT_ERR_PROTOCOL;
}

/* ---- fetching pieces ------------------------------------------------------------------------- */

static CUresult fetched(struct weft_session *session, struct session_wait *wait, CUresult result)
{
    struct weft_piece *piece = (struct weft_piece *)wait->value;

    (void)session;
    piece->state = result == CUDA_SUCCESS ? WEFT_PIECE_READY : WEFT_PIECE_FAILED;
    return result;
}

static weft_status fetch(void *context, struct weft_piece *piece, uint64_t from)
{
    struct weft_session *session = context;
    const int device = piece->sending->send.device;
    CUstream out = session->device[device].out;

    if (session->wait_count == SESSION_PENDING)
        return WEFT_NET_FULL;
    return session_use(session, device) == CUDA_SUCCESS &&
                   session->table->copy_async((CUdeviceptr)piece->memory, from, piece->bytes,
                                              out) == CUDA_SUCCESS &&
                   session_wait_stream(session, device, -1, out, fetched, (uint64_t)piece) ==
                       SESSION_LATER
               ? WEFT_OK
               : WEFT_ERR_DEVICE;
}

/* ---- delivery: pieces that arrive for device memory ------------------------------------------ */

static bool deliver(void *context, void *target, const void *source, size_t bytes)
{
    struct weft_session *session = context;
    const int device = session_device_of(session, (uint64_t)(uintptr_t)target, bytes);

    if (device < 0 || session_use(session, device) != CUDA_SUCCESS)
        return false;
    session->device[device].unmarked = true;
    return session->table->copy_async((CUdeviceptr)target, (CUdeviceptr)source, bytes,
                                      session->device[device].in) == CUDA_SUCCESS;
}

static bool mark(void *context, uint64_t *number)
{
    struct weft_session *session = context;
    const uint64_t place = session->mark % SESSION_MARKS;

    for (int d = 0; d < session->count; d++) {
        if (!session->device[d].unmarked)
            continue;
        if (session_record(session, d, session->device[d].in, &session->marks[place].event[d]) !=
            CUDA_SUCCESS)
            return false;
        session->device[d].unmarked = false;
    }
    *number = session->mark++;
    return true;
}

/* Opens the gates of the copies that are there with a mark. */
static bool open_delivered(struct weft_session *session, uint64_t mark)
{
    weft_status status = WEFT_OK;

    while (session->first_delivering != session->last_delivering && status == WEFT_OK) {
        const uint16_t number = session->delivering[session->first_delivering % WEFT_COPIES];
        struct session_gate *gate = &session->gates[number];
        if (gate->mark > mark + 1)
            break;
        session->first_delivering++;
        gate->mark = 0;
        gate->done = true;
        status = open_gate(session, number);
    }
    return status == WEFT_OK;
}

static bool settled(void *context, uint64_t number, bool *there)
{
    struct weft_session *session = context;
    CUevent *events = session->marks[number % SESSION_MARKS].event;

    *there = true;
    for (int d = 0; d < session->count && *there; d++) {
        if (events[d] == NULL)
            continue;
        const CUresult result = session_passed(session, d, events[d]);
        if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY)
            return false;
        *there = result == CUDA_SUCCESS;
        if (*there)
            events[d] = NULL;
    }
    return !*there || open_delivered(session, number);
}

/* Waits until all that was begun to be delivered is there, as the network is closed. */
static bool settle(void *context)
{
    struct weft_session *session = context;

    for (int d = 0; d < session->count; d++)
        if (session->device[d].in != NULL &&
            (session_use(session, d) != CUDA_SUCCESS ||
             session->table->stream_synchronize(session->device[d].in) != CUDA_SUCCESS))
            return false;
    return true;
}

/* Pins the network's memory, from which pieces are delivered: the driver fetches it by itself. */
static const char *pin(struct weft_device *device, void *memory, size_t bytes)
{
    const CUresult result = session_pin((struct weft_session *)(void *)device, memory, bytes);

    return result == CUDA_SUCCESS ? NULL : weft_cuda_error(result)->text;
}

static void unpin(struct weft_device *device, void *memory)
{
    struct weft_session *session = (struct weft_session *)(void *)device;

    if (!session->limits->ends_process && session_use(session, 0) == CUDA_SUCCESS)
        session->table->host_unregister(memory); /* which may wait for the device */
}

void session_device(struct weft_session *session, struct weft_net_device *device)
{
    static const struct weft_device_ops ops = {.pin = pin,
                                               .unpin = unpin}; /* all that networks call */

    *device = (struct weft_net_device){.context = session,
                                       .deliver = deliver,
                                       .settle = settle,
                                       .mark = mark,
                                       .settled = settled,
                                       .ops = &ops,
                                       .device = (struct weft_device *)(void *)session};
}

/* ---- opening and closing --------------------------------------------------------------------- */

weft_status session_copies_open(struct weft_session *session)
{
    const struct weft_config *config = &session->links.config;
    void *stage = session->links.caps.stage;

    session->gates = calloc(WEFT_COPIES, sizeof(*session->gates));
    if (session->gates == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for %d copies", WEFT_COPIES);
    CUresult result = session_use(session, 0);
    if (result == CUDA_SUCCESS && stage == NULL)
        result = session->table->host_alloc(&session->stage_memory, config->stage_memory, 0);
    if (result != CUDA_SUCCESS)
        return weft_err(WEFT_ERR_DEVICE, "pinned memory for copies: %s",
                        weft_cuda_error(result)->text);
    session->sources = (struct weft_sources){
        .links = &session->links,
        .context = session,
        .fetch = fetch,
        .stage = weft_stage_make(config, stage != NULL ? stage : session->stage_memory,
                                 session->links.processes)};
    return session->sources.stage != NULL ? WEFT_OK
                                          : weft_err(WEFT_ERR_MEMORY, "no memory for staging");
}

/* Frees what copies have, after the network, whose memory the stage may be. */
void session_copies_close(struct weft_session *session)
{
    weft_sources_close(&session->sources);
    if (session->stage_memory != NULL)
        session->table->host_free(session->stage_memory);
    free(session->gates);
}

weft_status session_copies_poll(struct weft_session *session, bool *did)
{
    const weft_status status = weft_sources_pump(&session->sources, did);

    if (status == WEFT_ERR_DEVICE)
        return weft_links_fail(&session->links, status, "a copy from a device failed");
    return status == WEFT_OK ? WEFT_OK : weft_links_failed(&session->links, status);
}
