/* net/staging.c - see the header. */
#include "net/staging.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { UNIT = 32 << 10, NOBODY = UINT32_MAX >> 1 };

struct weft_stage {
    unsigned char *memory;
    size_t units;
    size_t most;     /* units that puts to one process may hold */
    uint32_t hungry; /* the slot that found no room, or NOBODY */
    struct share {
        size_t held;     /* units that puts to the process hold */
        uint32_t hungry; /* the slot that found this process's share used up, or NOBODY */
    } * shares;          /* by process */
    bool taken[];        /* by unit */
};

struct weft_stage *weft_stage_make(const struct weft_config *config, unsigned char *memory,
                                   int processes)
{
    const size_t units = config->stage_memory / UNIT;
    struct weft_stage *stage = calloc(1, sizeof(*stage) + units * sizeof(stage->taken[0]));
    struct share *shares = calloc((size_t)processes, sizeof(*shares));

    if (stage == NULL || shares == NULL) {
        free(stage);
        free(shares);
        return NULL;
    }
    for (int p = 0; p < processes; p++)
        shares[p].hungry = NOBODY;
    stage->memory = memory;
    stage->units = units;
    stage->most = processes > 2 ? units / 2 : units;
    stage->hungry = NOBODY;
    stage->shares = shares;
    return stage;
}

void weft_stage_free(struct weft_stage *stage)
{
    if (stage != NULL)
        free(stage->shares);
    free(stage);
}

static size_t units_of(size_t bytes)
{
    return (bytes + UNIT - 1) / UNIT;
}

/* Finds the first of `count` free units in a row; `units`: there are none. */
static size_t find_run(const struct weft_stage *stage, size_t count)
{
    size_t run = 0;

    for (size_t i = 0; i < stage->units; i++) {
        run = stage->taken[i] ? 0 : run + 1;
        if (run == count)
            return i + 1 - count;
    }
    return stage->units;
}

/* Whether another slot, which found no room before, comes first. */
static bool is_others(uint32_t hungry, uint32_t slot)
{
    return hungry != NOBODY && hungry != slot;
}

unsigned char *weft_stage_take(struct weft_stage *stage, uint32_t slot, int process, size_t wanted,
                               size_t *room)
{
    struct share *share = &stage->shares[process];
    const size_t left = stage->most - share->held, half = stage->most / 2;
    size_t count = units_of(wanted), least = (count + 3) / 4, at = stage->units;

    if (is_others(stage->hungry, slot) || is_others(share->hungry, slot))
        return NULL;
    if (least > half)
        least = half > 0 ? half : 1;
    if (count > left)
        count = left;
    while (at == stage->units && count >= least) {
        at = find_run(stage, count);
        if (at == stage->units)
            count = count > least && count / 2 < least ? least : count / 2;
    }
    if (at == stage->units) {
        *(stage->most < stage->units && left < least ? &share->hungry : &stage->hungry) = slot;
        return NULL;
    }
    share->hungry = stage->hungry = NOBODY;
    memset(stage->taken + at, true, count);
    share->held += count;
    *room = count * UNIT < wanted ? count * UNIT : wanted;
    return stage->memory + at * UNIT;
}

void weft_stage_give(struct weft_stage *stage, int process, unsigned char *memory, size_t room)
{
    const size_t count = units_of(room);

    memset(stage->taken + (size_t)(memory - stage->memory) / UNIT, false, count);
    stage->shares[process].held -= count;
}

/*
 * Smaller pieces cost more calls, larger ones overlap less. Between two H200 over shm, puts of
 * 4 MiB and more: 34 GB/s in pieces of 256 KiB, 42 of 512 KiB, 47 of 1 MiB, 48 of 2 MiB. weft-info
 * --tune measures it.
 */
enum { PIECE = 512 << 10, LARGE_PIECE = 1 << 20, LARGE_FROM = 2 << 20, DEPTH = 8 };

size_t weft_stage_piece(const struct weft_config *config, uint64_t bytes)
{
    const size_t by_default = bytes < LARGE_FROM ? PIECE : LARGE_PIECE;
    const size_t piece = config->stage_piece != 0 ? config->stage_piece : by_default;

    return piece < config->stage_memory / 2 ? piece : config->stage_memory / 2;
}

uint32_t weft_stage_depth(const struct weft_config *config)
{
    return config->stage_depth != 0 ? (uint32_t)config->stage_depth : DEPTH;
}
