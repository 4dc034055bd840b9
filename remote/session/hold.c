/* remote/session/hold.c - see inside.h. Session's thread only. */
#include "remote/session/inside.h"

#include <stdlib.h>
#include <string.h>

/* ---- what comes after what ------------------------------------------------------------------- */

static bool is_blocking(const struct weft_session *session, uint64_t handle)
{
    const struct weft_place *place = weft_handles_find(&session->handles, WEFT_STREAM, handle);

    return place == NULL || (place->flags & CU_STREAM_NON_BLOCKING) == 0;
}

/* Finds on what a record's order depends. False: on nothing. */
static bool touches(struct weft_session *session, struct weft_record *record,
                    struct session_touch *touch)
{
    const uint64_t *word = weft_record_words(record);
    const uint8_t *argument = session_arguments(record->call, &touch->class);
    uint32_t events = 0;

    *touch = (struct session_touch){.class = touch->class};
    if (record->call == WEFT_CALL_launch && record->lane != 0)
        return false; /* the driver is to say how it refuses it */
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

/* Whether a record comes after one that is held. */
static bool comes_after(const struct session_touch *touch, int device,
                        const struct session_held *held)
{
    const struct session_touch *before = &held->touch;

    for (int e = 0; e < 4; e++) /* any of two is any of the other two */
        if (touch->events[e / 2] != 0 && touch->events[e / 2] == before->events[e % 2])
            return true;
    if (device != held->record.device)
        return false;
    if (touch->class == WEFT_CLASS_ALL) /* its thread waits, so nothing has to come after it */
        return true;
    if (touch->class == WEFT_CLASS_LIBRARY && before->class == WEFT_CLASS_LIBRARY)
        return true; /* what one leaves in a handle, the next one finds */
    if (touch->function != 0 && touch->function == before->function &&
        (touch->class == WEFT_CLASS_CHANGE || before->class == WEFT_CLASS_CHANGE))
        return true;
    return touch->in_stream && before->in_stream &&
           (touch->stream == before->stream ||
            (touch->blocking && before->blocking &&
             (weft_is_default(touch->stream) || weft_is_default(before->stream))));
}

/* Returns the last one held before `end` (NULL: of all) that a record comes after; NULL: none. */
static struct session_held *find_before(const struct weft_session *session,
                                        const struct session_touch *touch, int device,
                                        const struct session_held *end)
{
    struct session_held *h = end != NULL ? TAILQ_PREV(end, session_helds, order)
                                         : TAILQ_LAST(&session->held, session_helds);

    while (h != NULL && !comes_after(touch, device, h))
        h = TAILQ_PREV(h, session_helds, order);
    return h;
}

/* ---- holding --------------------------------------------------------------------------------- */

/* Whether a held call is answered at once, so that its program goes on; an error comes later. */
static bool is_answered(const struct session_touch *touch)
{
    return touch->class == WEFT_CLASS_END || touch->class == WEFT_CLASS_CHANGE ||
           touch->class == WEFT_CLASS_DATA;
}

/* Holds a record; of a closed gate only what it is. NULL: no memory for more. */
static struct session_held *hold(struct weft_session *session, const struct weft_record *record,
                                 const struct session_touch *touch, bool gate)
{
    const uint32_t bytes = gate ? (uint32_t)sizeof(*record) : record->bytes;
    struct session_held *held = !gate && session->held_bytes + bytes > SESSION_HELD_MOST
                                    ? NULL
                                    : malloc(sizeof(*held) + bytes);

    if (held == NULL)
        return NULL;
    TAILQ_INSERT_TAIL(&session->held, held, order);
    TAILQ_INIT(&held->after);
    held->touch = *touch;
    memcpy(&held->record, record, bytes);
    held->record.bytes = bytes;
    if (is_answered(touch))
        held->record.lane = 0;
    session->held_bytes += bytes;
    return held;
}

/* Puts a record behind the last one that it comes after; where there is none its turn has come. */
static void line_up(struct weft_session *session, struct session_held *held)
{
    struct session_held *before = find_before(session, &held->touch, held->record.device, held);

    TAILQ_INSERT_TAIL(before != NULL ? &before->after : &session->ready, held, turn);
}

void session_release(struct weft_session *session, struct session_held *held)
{
    struct session_held *next;

    TAILQ_REMOVE(&session->held, held, order);
    while ((next = TAILQ_FIRST(&held->after)) != NULL) {
        TAILQ_REMOVE(&held->after, next, turn);
        line_up(session, next);
    }
    session->held_bytes -= held->record.bytes;
    free(held);
}

int session_take(struct weft_session *session, struct weft_record *record)
{
    struct session_touch touch;

    if (!session_is_formed(session, record))
        return SESSION_WRONG;
    const bool ordered = touches(session, record, &touch),
               waits = ordered && find_before(session, &touch, record->device, NULL) != NULL;
    if (waits && touch.class == WEFT_CLASS_ASK)
        return CUDA_ERROR_NOT_READY;
    const int result = waits ? SESSION_AGAIN : session_execute(session, record);
    if (result != SESSION_AGAIN && result != SESSION_GATE)
        return result;
    struct session_held *held =
        ordered ? hold(session, record, &touch, result == SESSION_GATE) : NULL;
    if (result == SESSION_GATE && held != NULL)
        session->gates[weft_record_words(record)[0]].held = held;
    if (result == SESSION_GATE)
        return held != NULL ? CUDA_SUCCESS : SESSION_WRONG;
    if (held == NULL)
        return SESSION_AGAIN;
    line_up(session, held);
    return is_answered(&touch) ? CUDA_SUCCESS : SESSION_LATER;
}

weft_status session_held_poll(struct weft_session *session, bool *did)
{
    weft_status status = WEFT_OK;
    struct session_held *held;

    while ((held = TAILQ_FIRST(&session->ready)) != NULL && status == WEFT_OK &&
           session_can_answer(session)) {
        const int result = session_execute(session, &held->record);
        if (result == SESSION_AGAIN)
            return WEFT_OK;
        TAILQ_REMOVE(&session->ready, held, turn);
        *did = true;
        if (result == SESSION_GATE) {
            session->gates[weft_record_words(&held->record)[0]].held = held;
            continue;
        }
        status = session_done(session, &held->record, result);
        session_release(session, held);
    }
    return status;
}

void session_held_drop(struct weft_session *session)
{
    struct session_held *held;

    while ((held = TAILQ_FIRST(&session->held)) != NULL) {
        TAILQ_REMOVE(&session->held, held, order);
        free(held);
    }
}
