/*
 * remote/session/hold.h - records that wait in the session, with all that comes after them in
 * CUDA's order. A record is held behind a soft gate, which is one that the stream itself does not
 * see, and where there is no memory for its data. Others overtake it.
 */
#ifndef WEFT_REMOTE_SESSION_HOLD_H
#define WEFT_REMOTE_SESSION_HOLD_H

#include "remote/session/inside.h"

enum { SESSION_HELD_MOST = 32 << 20 /* bytes of records held */ };

/* What a record's order depends on. */
struct session_touch {
    uint64_t stream, events[2]; /* handles; 0: none, for a stream the default one */
    bool in_stream, blocking;   /* blocking: with the default stream, or it is that */
    bool whole;                 /* everything of its device */
    bool asks;                  /* it only asks whether something is done */
};

struct session_held {
    struct session_held *next;
    struct session_touch touch;
    int gate; /* number of the soft gate that it is; -1: a record, behind this */
    _Alignas(WEFT_RECORD_UNIT) struct weft_record record; /* and what belongs to it */
};

/*
 * Executes a record, or holds it. The values of session_execute; SESSION_AGAIN: it can neither be
 * executed nor held now.
 */
int session_take(struct weft_session *session, struct weft_record *record);
/* Executes what has to wait no more, while answers have room. Errors: PROTOCOL, said. */
weft_status session_held_poll(struct weft_session *session, bool *did);
void session_held_drop(struct weft_session *session);

#endif
