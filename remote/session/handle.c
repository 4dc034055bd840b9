/* remote/session/handle.c - see the header. */
#include "remote/session/handle.h"

#include "base/say.h"

#include <stdlib.h>

uint64_t weft_handles_add(struct weft_handles *handles, enum weft_argument kind, int device,
                          void *object, uint32_t flags)
{
    uint32_t at = handles->hint;

    while (at < handles->count && handles->places[at].kind != WEFT_HANDLE_NONE)
        at++;
    if (at == handles->capacity) {
        const uint32_t capacity = at == 0 ? 64 : at * 2;
        struct weft_place *places = capacity > WEFT_HANDLES_MOST
                                        ? NULL
                                        : realloc(handles->places, capacity * sizeof(*places));
        if (places == NULL) {
            weft_say(WEFT_SAY_WARN, "no room for more than %u handles of a program, at most %d", at,
                     WEFT_HANDLES_MOST);
            return 0;
        }
        handles->places = places;
        handles->capacity = capacity;
    }
    if (at == handles->count) {
        handles->count++;
        handles->places[at].generation = 0;
    }
    struct weft_place *place = &handles->places[at];
    place->object = object;
    place->kind = (uint16_t)kind;
    place->device = (uint16_t)device;
    place->flags = flags;
    handles->hint = at + 1;
    return weft_handle(handles->process, device, kind, place->generation, at);
}

struct weft_place *weft_handles_find(const struct weft_handles *handles, enum weft_argument kind,
                                     uint64_t handle)
{
    const uint32_t at = (uint32_t)handle;

    if (at >= handles->count || handles->places[at].kind != (uint16_t)kind ||
        handle != weft_handle(handles->process, handles->places[at].device, kind,
                              handles->places[at].generation, at))
        return NULL;
    return &handles->places[at];
}

void weft_handles_remove(struct weft_handles *handles, struct weft_place *place)
{
    const uint32_t at = (uint32_t)(place - handles->places);

    place->kind = WEFT_HANDLE_NONE;
    place->object = NULL;
    place->generation++;
    if (at < handles->hint)
        handles->hint = at;
}
