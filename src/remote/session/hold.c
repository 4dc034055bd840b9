/* remote/session/hold.c - see inside.h. */
#include "remote/session/inside.h"

#include <stdlib.h>
#include <string.h>

/* ---- what comes after what ------------------------------------------------------------------- */

static bool is_blocking(const struct weft_session *session, uint64_t handle)
{
    const struct weft_place *place = weft_handles_find(&session->handles, WEFT_STREAM, handle);

    return place == NULL || (place->flags & CU_STREAM_NON_BLOCKING) == 0;
}

/* False: its order depends on nothing. */
static bool touches(struct weft_session *session, struct weft_record *record,
                    struct session_touch *touch)
{
    const uint64_t *word = weft_record_words(record);
    const uint8_t *argument = session_arguments(record->call, &touch->class);
    uint32_t events = 0;

    *touch = (struct session_touch){.class = touch->class};
    for (; *argument != WEFT_HANDLE_NONE && touch->class != WEFT_CLASS_FACT; argument++) {
        if (*argument == WEFT_STREAM) {
            touch->in_stream = true;
            touch->stream = *word;
            touch->blocking = is_blocking(session, *word);
        } else if (*argument == WEFT_EVENT) {
            touch->events[events++] = *word;
        } else if (*argument == WEFT_FUNCTION) {
            touch->function = *word;
        }
        word += *argument < WEFT_OUT;
    }
    return touch->class == WEFT_CLASS_ALL || touch->in_stream || events != 0 ||
           touch->function != 0;
}

static bool shares_event(const struct session_touch *a, const struct session_touch *b)
{
    for (int e = 0; e < 2; e++)
        if (a->events[e] != 0 && (a->events[e] == b->events[0] || a->events[e] == b->events[1]))
            return true;
    return false;
}

/* Whether a record comes after one that is held. */
static bool comes_after(const struct session_touch *touch, int device,
                        const struct session_held *held)
{
    const struct session_touch *before = &held->touch;

    if (shares_event(touch, before))
        return true;
    if (device != held->record.device)
        return false;
    if (touch->class == WEFT_CLASS_ALL || before->class == WEFT_CLASS_ALL)
        return true;
    if (touch->function != 0 && touch->function == before->function &&
        (touch->class == WEFT_CLASS_CHANGE || before->class == WEFT_CLASS_CHANGE))
        return true;
    return touch->in_stream && before->in_stream &&
           (touch->stream == before->stream ||
            (touch->blocking && before->blocking &&
             (weft_is_default(touch->stream) || weft_is_default(before->stream))));
}

/* `end`: the first that is not looked at; NULL: all are. */
static bool waits(const struct weft_session *session, const struct session_touch *touch, int device,
                  const struct session_held *end)
{
    for (const struct session_held *h = session->held; h != end; h = h->next)
        if (comes_after(touch, device, h))
            return true;
    return false;
}

/* ---- holding --------------------------------------------------------------------------------- */

/* Whether a held call is answered at once, for its program goes on; an error comes later. */
static bool is_answered(const struct session_touch *touch)
{
    return touch->class == WEFT_CLASS_END || touch->class == WEFT_CLASS_CHANGE;
}

static bool hold(struct weft_session *session, const struct weft_record *record,
                 const struct session_touch *touch, int gate)
{
    const uint32_t bytes = gate >= 0 ? (uint32_t)sizeof(*record) : record->bytes;
    struct session_held *held = gate < 0 && session->held_bytes + bytes > SESSION_HELD_MOST
                                    ? NULL
                                    : malloc(sizeof(*held) + bytes);

    if (held == NULL)
        return false;
    held->next = NULL;
    held->touch = *touch;
    held->gate = gate;
    memcpy(&held->record, record, bytes);
    held->record.bytes = bytes;
    if (is_answered(touch))
        held->record.lane = 0;
    *session->last_held = held;
    session->last_held = &held->next;
    session->held_bytes += bytes;
    return true;
}

int session_take(struct weft_session *session, struct weft_record *record)
{
    struct session_touch touch;

    if (!session_is_formed(session, record))
        return SESSION_WRONG;
    bool held = session->held != NULL && touches(session, record, &touch) &&
                waits(session, &touch, record->device, NULL);
    if (held && touch.class == WEFT_CLASS_ASK)
        return CUDA_ERROR_NOT_READY;
    const int result = held ? SESSION_AGAIN : session_execute(session, record);
    if (result != SESSION_AGAIN && result != SESSION_GATE)
        return result;
    held = touches(session, record, &touch) &&
           hold(session, record, &touch,
                result == SESSION_GATE ? (int)weft_record_words(record)[0] : -1);
    if (result == SESSION_GATE)
        return held ? CUDA_SUCCESS : SESSION_WRONG;
    if (held && is_answered(&touch))
        return CUDA_SUCCESS;
    return held ? SESSION_LATER : SESSION_AGAIN;
}

/* A held record's turn. Whether it is done with; *status: PROTOCOL if it made no sense. */
static bool retry(struct weft_session *session, struct session_held *held, weft_status *status)
{
    if (held->gate >= 0)
        return !session->gates[held->gate].closed;
    if (waits(session, &held->touch, held->record.device, held))
        return false;
    const int result = session_execute(session, &held->record);
    if (result == SESSION_AGAIN)
        return false;
    if (result == SESSION_GATE) { /* from now on it is a gate */
        held->gate = (int)weft_record_words(&held->record)[0];
        return false;
    }
    *status = session_done(session, &held->record, result);
    return true;
}

weft_status session_held_poll(struct weft_session *session, bool *did)
{
    struct session_held **at = &session->held;
    weft_status status = WEFT_OK;

    if (!session->retry)
        return WEFT_OK;
    session->retry = false;
    while (*at != NULL && status == WEFT_OK) {
        struct session_held *held = *at;
        if (!session_can_answer(session)) {
            session->retry = true;
            return WEFT_OK;
        }
        if (!retry(session, held, &status)) {
            at = &held->next;
            continue;
        }
        *at = held->next;
        if (*at == NULL)
            session->last_held = at;
        session->held_bytes -= held->record.bytes;
        free(held);
        *did = true;
    }
    return status;
}

void session_held_drop(struct weft_session *session)
{
    while (session->held != NULL) {
        struct session_held *held = session->held;
        session->held = held->next;
        free(held);
    }
}
