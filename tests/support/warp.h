/*
 * support/warp.h - a warp of a GPU without a GPU, for code that nvcc compiles: a fiber for each
 * lane. Lanes run in any order between the operations at which a warp meets. What no fiber can show
 * is the memory order of a GPU. Included once, behind cmocka.h, before the code.
 */
#ifndef WEFT_TESTS_SUPPORT_WARP_H
#define WEFT_TESTS_SUPPORT_WARP_H

#include "base/fiber.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { LANES = 32 };

static struct {
    unsigned x;
} threadIdx; /* x: the lane that runs */

static struct {
    struct weft_fiber *home, *lane[LANES];
    const char *at[LANES]; /* operation in which a lane waits; NULL: it runs */
    uint64_t given[LANES], seen[LANES];
    void (*run)(void);
    void (*met)(void); /* called when all lanes have met; NULL: nothing */
} warp;

static uint64_t state; /* state of the random numbers */

static inline uint32_t any_below(uint32_t end)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % end;
}

/* Waits until all lanes are there; then warp.seen has what each has given. */
static inline void meet(const char *operation, uint64_t value)
{
    const unsigned lane = threadIdx.x;
    warp.given[lane] = value;
    warp.at[lane] = operation;
    weft_fiber_switch(warp.lane[lane], warp.home);
}

static inline void lane_main(void *unused)
{
    (void)unused;
    for (;;) {
        warp.run();
        meet("end", 0);
    }
}

/* Runs this once in all lanes. */
static inline void run_warp(void (*run)(void))
{
    bool over = false;
    warp.run = run;
    memset((void *)warp.at, 0, sizeof(warp.at));
    while (!over) {
        for (int left = LANES; left > 0; left--) {
            do
                threadIdx.x = any_below(LANES);
            while (warp.at[threadIdx.x] != NULL);
            weft_fiber_switch(warp.home, warp.lane[threadIdx.x]);
        }
        for (int i = 1; i < LANES; i++)
            assert_string_equal(warp.at[i], warp.at[0]);
        over = strcmp(warp.at[0], "end") == 0;
        if (warp.met != NULL)
            warp.met();
        memcpy(warp.seen, warp.given, sizeof(warp.seen));
        memset((void *)warp.at, 0, sizeof(warp.at));
    }
}

static inline unsigned ballot(bool value)
{
    unsigned all = 0;
    meet("ballot", value);
    for (unsigned i = 0; i < LANES; i++)
        all |= (unsigned)warp.seen[i] << i;
    return all;
}

static inline uint64_t shuffle(uint64_t value, uint32_t from)
{
    assert_true(from < LANES);
    meet("shuffle", value);
    return warp.seen[from];
}

static inline unsigned match(uint64_t value)
{
    unsigned same = 0;
    meet("match", value);
    for (unsigned i = 0; i < LANES; i++)
        same |= (unsigned)(warp.seen[i] == value) << i;
    return same;
}

static inline void open_warp(void)
{
    warp.home = weft_fiber_adopt();
    for (int i = 0; i < LANES; i++) {
        warp.lane[i] = weft_fiber_create(lane_main, NULL, 65536);
        assert_non_null(warp.lane[i]);
    }
}

static inline void close_warp(void)
{
    for (int i = 0; i < LANES; i++)
        weft_fiber_destroy(warp.lane[i]);
    weft_fiber_destroy(warp.home);
}

/* What nvcc has. */
#define __all_sync(mask, value)        (ballot(value) == 0xffffffffu)
#define __any_sync(mask, value)        (ballot(value) != 0)
#define __ballot_sync(mask, value)     ballot(value)
#define __shfl_sync(mask, value, from) shuffle(value, from)
#define __syncwarp()                   meet("barrier", 0)
#define __match_any_sync(mask, value)  match(value)
#define __popc(bits)                   __builtin_popcount(bits)
#define __ffs(bits)                    __builtin_ffs(bits)
#define __clz(bits)                    ((bits) == 0 ? 32 : __builtin_clz(bits))

#endif
