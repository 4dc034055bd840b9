/*
 * remote/session/handle.h - what a session has made for its program: places in a table, named by
 * handles (wire/calls.h), so that a stale or made-up one is recognised. Session's thread only.
 */
#ifndef WEFT_REMOTE_SESSION_HANDLE_H
#define WEFT_REMOTE_SESSION_HANDLE_H

#include "remote/wire/calls.h"

enum { WEFT_HANDLES_MOST = 1 << 20 }; /* of one program on one server */

struct weft_handles {
    int process;
    struct weft_place {
        void *object; /* the driver's */
        uint32_t generation;
        uint16_t kind, device;
        uint32_t flags; /* of a stream, of an event */
    } * places;
    uint32_t count, capacity, hint;
};

/* Adds an object. Returns its handle; 0: no memory, or too many. */
uint64_t weft_handles_add(struct weft_handles *handles, enum weft_argument kind, int device,
                          void *object, uint32_t flags);
/* Finds what a handle names; NULL: nothing of that kind. */
struct weft_place *weft_handles_find(const struct weft_handles *handles, enum weft_argument kind,
                                     uint64_t handle);
void weft_handles_remove(struct weft_handles *handles, struct weft_place *place);

#endif
