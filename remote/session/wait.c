/* remote/session/wait.c - events, and calls and copies that wait. Session's thread only. */
#include "base/say.h"
#include "remote/session/inside.h"

#include <stdlib.h>

/* ---- events ---------------------------------------------------------------------------------- */

static void event_back(struct weft_session *session, struct session_device *device, CUevent event)
{
    if (device->event_count < SESSION_PENDING)
        device->events[device->event_count++] = event;
    else
        session->table->event_destroy(event);
}

CUresult session_record(struct weft_session *session, int device, CUstream stream, CUevent *event)
{
    struct session_device *d = &session->device[device];
    CUresult result = session_use(session, device);

    if (result == CUDA_SUCCESS && d->event_count > 0)
        *event = d->events[--d->event_count];
    else if (result == CUDA_SUCCESS)
        result = session->table->event_create(event, CU_EVENT_DISABLE_TIMING);
    if (result != CUDA_SUCCESS)
        return result;
    result = session->table->event_record(*event, stream);
    if (result != CUDA_SUCCESS)
        event_back(session, d, *event);
    return result;
}

CUresult session_passed(struct weft_session *session, int device, CUevent event)
{
    CUresult result = session_use(session, device);

    if (result == CUDA_SUCCESS)
        result = session->table->event_query(event);
    if (result == CUDA_SUCCESS)
        event_back(session, &session->device[device], event);
    return result;
}

/* ---- waits ----------------------------------------------------------------------------------- */

int session_wait_make(struct weft_session *session, int device, int lane, uint32_t events,
                      session_then *then, uint64_t value, struct session_wait **made)
{
    if (session->wait_count == SESSION_PENDING)
        return SESSION_AGAIN;
    struct session_wait *wait = calloc(1, sizeof(*wait) + events * sizeof(CUevent));
    if (wait == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    wait->device = device;
    wait->lane = lane;
    wait->chunk = -1;
    wait->then = then;
    wait->value = value;
    *made = wait;
    return CUDA_SUCCESS;
}

CUresult session_wait_record(struct weft_session *session, struct session_wait *wait,
                             CUstream stream)
{
    const CUresult result =
        session_record(session, wait->device, stream, &wait->events[wait->count]);
    wait->count += result == CUDA_SUCCESS;
    return result;
}

/* Gives the last event of a wait back. */
static void give_back(struct weft_session *session, struct session_wait *wait)
{
    CUevent event = wait->events[--wait->count];

    if (!wait->borrowed)
        event_back(session, &session->device[wait->device], event);
    else if (wait->orphan)
        session_event_destroy(session, event);
}

void session_wait_drop(struct weft_session *session, struct session_wait *wait)
{
    while (wait->count > 0)
        give_back(session, wait);
    if (wait->chunk >= 0)
        session->chunk_used[wait->chunk] = false;
    free(wait);
}

int session_wait_begin(struct weft_session *session, struct session_wait *wait, CUresult result)
{
    if (result != CUDA_SUCCESS) {
        session_wait_drop(session, wait);
        return (int)result;
    }
    *session->last_wait = wait;
    session->last_wait = &wait->next;
    session->wait_count++;
    return SESSION_LATER;
}

int session_wait_stream(struct weft_session *session, int device, int lane, CUstream stream,
                        session_then *then, uint64_t value)
{
    struct session_wait *wait;
    const int made = session_wait_make(session, device, lane, 1, then, value, &wait);

    return made != CUDA_SUCCESS
               ? made
               : session_wait_begin(session, wait, session_wait_record(session, wait, stream));
}

int session_wait_event(struct weft_session *session, int device, int lane, CUevent event,
                       session_then *then, uint64_t value)
{
    struct session_wait *wait;
    const int made = session_wait_make(session, device, lane, 1, then, value, &wait);

    if (made != CUDA_SUCCESS)
        return made;
    wait->borrowed = true;
    wait->events[wait->count++] = event;
    return session_wait_begin(session, wait, CUDA_SUCCESS);
}

bool session_event_waited(struct weft_session *session, CUevent event, bool goes)
{
    bool waited = false;

    for (struct session_wait *w = session->waits; w != NULL; w = w->next)
        if (w->borrowed && w->count != 0 && w->events[0] == event) {
            waited = true;
            w->orphan |= goes;
        }
    return waited;
}

CUresult session_event_destroy(struct weft_session *session, CUevent event)
{
    return session_event_waited(session, event, true) ? CUDA_SUCCESS
                                                      : session->table->event_destroy(event);
}

int session_wait_device(struct weft_session *session, int device, int lane, session_then *then,
                        uint64_t value)
{
    struct session_wait *wait;
    uint32_t streams = 1;

    for (uint32_t i = 0; i < session->handles.count; i++)
        streams += session->handles.places[i].kind == WEFT_STREAM &&
                   session->handles.places[i].device == device;
    const int made = session_wait_make(session, device, lane, streams, then, value, &wait);
    if (made != CUDA_SUCCESS)
        return made;
    CUresult result = CUDA_SUCCESS;
    for (uint32_t i = 0; i < session->handles.count && result == CUDA_SUCCESS; i++) {
        const struct weft_place *place = &session->handles.places[i];
        if (place->kind == WEFT_STREAM && place->device == device)
            result = session_wait_record(session, wait, place->object);
    }
    if (result == CUDA_SUCCESS)
        result = session_wait_record(session, wait, NULL);
    return session_wait_begin(session, wait, result);
}

/* Whether all events of a wait have passed. */
static bool passed(struct weft_session *session, struct session_wait *wait)
{
    while (wait->count > 0 && !wait->passed) {
        CUresult result = session_use(session, wait->device);
        if (result == CUDA_SUCCESS)
            result = session->table->event_query(wait->events[wait->count - 1]);
        if (result == CUDA_ERROR_NOT_READY)
            return false;
        if (session->prints) /* as CUDA says: only then the driver prints */
            session->table->event_synchronize(wait->events[wait->count - 1]);
        give_back(session, wait);
        if (result != CUDA_SUCCESS) {
            wait->result = result;
            break;
        }
    }
    return true;
}

/* Ends a wait, and answers. False: the answer has no room yet. */
static bool finish(struct weft_session *session, struct session_wait *wait)
{
    if (!wait->passed) {
        wait->passed = true;
        if (wait->then != NULL)
            wait->result = wait->then(session, wait, wait->result);
    }
    if (wait->lane < 0)
        return true;
    if (!session_print(session))
        return false;
    const bool brings = wait->result == CUDA_SUCCESS && wait->chunk >= 0;
    return session_answer(session, wait->lane, wait->result, NULL, 0,
                          brings ? session->chunks[wait->chunk] : NULL,
                          brings ? (uint32_t)wait->value : 0);
}

void session_waits_poll(struct weft_session *session, bool *did)
{
    struct session_wait **at = &session->waits;

    while (*at != NULL) {
        struct session_wait *wait = *at;
        if (!passed(session, wait) || !finish(session, wait)) {
            at = &wait->next;
            continue;
        }
        *at = wait->next;
        if (*at == NULL)
            session->last_wait = at;
        session->wait_count--;
        session_wait_drop(session, wait);
        *did = true;
    }
}
