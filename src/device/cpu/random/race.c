/*
 * device/cpu/random/race.c - a race is two accesses that cells.c finds without order: said here.
 */
#include "device/cpu/random/race.h"

#include "base/say.h"

#include <stdio.h>

static void say_race(const struct weft_races *races, const struct weft_model_tasks *tasks,
                     const struct weft_conflict *conflict, enum weft_access_kind kind,
                     const void *address, size_t bytes)
{
    static const char *const does[] = {"reads", "reads", "writes", "is about to reuse"};
    char text[256];

    snprintf(text, sizeof(text),
             "race: %s %s %zu bytes at %p, not ordered after %s, which %s the byte at %p",
             tasks->current->name, does[kind], bytes, address, tasks->slot[conflict->task]->name,
             conflict->wrote ? "wrote" : "read", (void *)conflict->address);
    weft_err(WEFT_ERR_RACE, "%s", text);
    if (races->handler != NULL)
        races->handler(text, races->argument);
}

void weft_races_check(struct weft_races *races, struct weft_cells *cells,
                      const struct weft_model_tasks *tasks, const void *address, size_t bytes,
                      enum weft_access_kind kind, uint32_t who)
{
    struct weft_conflict conflict;

    if (races->found ||
        weft_cells_access(cells, address, bytes, kind, who, tasks->current->stamps, &conflict))
        return;
    races->found = true;
    say_race(races, tasks, &conflict, kind, address, bytes);
}
