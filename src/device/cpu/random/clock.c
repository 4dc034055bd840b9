/* device/cpu/random/clock.c - see the header. */
#include "device/cpu/random/clock.h"

#include "base/say.h"

#include <stdlib.h>
#include <string.h>

void *weft_random_memory(size_t bytes)
{
    void *memory = calloc(1, bytes);

    if (memory == NULL) {
        weft_say(WEFT_SAY_ERROR, "random mode: no memory for %zu bytes", bytes);
        abort();
    }
    return memory;
}

struct weft_clock *weft_clock_new(uint32_t length)
{
    struct weft_clock *clock = weft_random_memory(sizeof(*clock) + length * sizeof(uint32_t));

    clock->users = 1;
    clock->length = length;
    return clock;
}

struct weft_clock *weft_clock_copy(const uint32_t *stamps, uint32_t length)
{
    struct weft_clock *clock = weft_clock_new(length);

    memcpy(clock->stamp, stamps, length * sizeof(uint32_t));
    return clock;
}

struct weft_clock *weft_clock_share(struct weft_clock *clock)
{
    if (clock != NULL)
        clock->users++;
    return clock;
}

void weft_clock_drop(struct weft_clock *clock)
{
    if (clock != NULL && --clock->users == 0)
        free(clock);
}

bool weft_clock_join(uint32_t *stamps, const struct weft_clock *clock)
{
    bool rose = false;

    if (clock == NULL)
        return false;
    for (uint32_t i = 0; i < clock->length; i++) {
        rose |= clock->stamp[i] > stamps[i];
        stamps[i] = clock->stamp[i] > stamps[i] ? clock->stamp[i] : stamps[i];
    }
    return rose;
}

struct weft_clock *weft_clock_merge(struct weft_clock *clock, struct weft_clock *more)
{
    if (more == NULL)
        return clock;
    if (clock == NULL)
        return weft_clock_share(more);
    if (clock->users > 1 || clock->length < more->length) {
        const uint32_t length = clock->length > more->length ? clock->length : more->length;
        struct weft_clock *own = weft_clock_new(length);
        memcpy(own->stamp, clock->stamp, clock->length * sizeof(uint32_t));
        weft_clock_drop(clock);
        clock = own;
    }
    weft_clock_join(clock->stamp, more);
    return clock;
}
