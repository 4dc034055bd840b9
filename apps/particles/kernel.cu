/*
 * particles/kernel.cu - all steps in one persistent kernel. A rank owns some segments, one above
 * the other; the ranks form a ring. Windows of ranks on one device overlap, being all the same
 * arena: a neighbour's segment there is read in place, and so is the list of those that come from
 * it. Only at the edges of a device do segments and lists travel, in one message for each
 * neighbour, of as many bytes as there are particles.
 *
 * A step has two exchanges: of those that leave (after everything has moved), and of the segments
 * at the rank's edges, when everything is in its place again. No barrier:
 *   - A rank settles, overwriting what its neighbours read, when their lists have come, which they
 *     send after they have moved.
 *   - It fills its lists anew when its neighbours' segments have come, which they send after they
 *     have settled all that had come in the lists before.
 *   - Halos and lists of another device are overwritten by the same rules, by puts.
 * By then the puts before have been read at their source, too.
 */
#include "kernel.h"
#include "step.h"

#define WEFT_MOST_THREADS PARTICLES_THREADS
#define WEFT_LEAST_RANKS  4

#include <weft/device.h>

/* Functions that are used in several places: inlined, they would cost the kernel its registers. */
#ifdef __CUDACC__
#define APART static __device__ __noinline__
#ifndef PARTICLES_COUNTS
#define PARTICLES_COUNTS 8192 /* that a rank can keep in shared memory */
#endif
#else
#define PARTICLES_COUNTS 1
#define APART            static
#endif

/*
 * From both neighbours: neither sends the next before it has what this rank makes of these two, so
 * one wait does for both.
 */
enum { TAG_LIST, TAG_SEGMENT };
enum { UP, DOWN }; /* up: from the rank below to the one above */

struct place {
    weft_self *self;
    const struct particles_store *store;
    uint32_t *sums;  /* room for the scan */
    uint32_t *count; /* of the cells of its segments */
    weft_win win;
    uint32_t low, high;   /* its segments, both included, from 1 */
    uint32_t boundary;    /* below it; the next is above it */
    bool lowest, highest; /* of its device */
    int below, above;     /* world ranks of the neighbours in the ring */
};

/* ---- messages ------------------------------------------------------------------------------ */

/* So many bytes of the arena to another place in the arena of the target; everything is made. */
APART void put(const struct place *me, int target, size_t to, size_t from, size_t bytes, int tag)
{
    weft_put_notify(me->self, me->win, target, to, me->store->arena + from, bytes, tag);
}

/* What is there was written where the neighbours on this device read it. */
APART void tell(const struct place *me, int tag)
{
    int neighbours[2], count = 0;
    if (!me->highest)
        neighbours[count++] = me->above;
    if (!me->lowest)
        neighbours[count++] = me->below;
    weft_notify_many(me->self, WEFT_COMM_WORLD, neighbours, count, tag);
}

APART void wait_for_both(const struct place *me, int tag)
{
    weft_wait(me->self, tag, 2);
}

/* Bytes of a list; one that is too full is not sent as longer than it is. */
WEFT_DEVICE_FN size_t list_used(const struct particles_store *store, uint32_t boundary,
                                uint32_t direction)
{
    const struct particle_list *list = particles_list(store, boundary, direction);
    return sizeof(*list) + step_arrived(store, list) * sizeof(list->item[0]);
}

/* The ranks of the devices before and after see this list at their other edge. */
WEFT_DEVICE_FN void send_lists(const struct place *me)
{
    const struct particles_store *store = me->store;
    const uint32_t last = store->box.boundaries - 1;
    weft_sync(me->self);
    if (me->highest)
        put(me, me->above, particles_list_offset(store, 0, UP),
            particles_list_offset(store, last, UP), list_used(store, last, UP), TAG_LIST);
    if (me->lowest)
        put(me, me->below, particles_list_offset(store, last, DOWN),
            particles_list_offset(store, 0, DOWN), list_used(store, 0, DOWN), TAG_LIST);
    tell(me, TAG_LIST);
}

WEFT_DEVICE_FN size_t block_offset(const struct particles_store *store, uint32_t segment)
{
    return store->layout.block + segment * store->layout.block_bytes;
}

WEFT_DEVICE_FN void send_segments(const struct place *me)
{
    const struct particles_store *store = me->store;
    const uint32_t segments = store->box.segments;
    weft_sync(me->self);
    if (me->highest)
        put(me, me->above, block_offset(store, 0), block_offset(store, segments),
            particles_block_used(store, segments), TAG_SEGMENT);
    if (me->lowest)
        put(me, me->below, block_offset(store, segments + 1), block_offset(store, 1),
            particles_block_used(store, 1), TAG_SEGMENT);
    tell(me, TAG_SEGMENT);
}

/* ---- a step -------------------------------------------------------------------------------- */

/* A copy that nothing else changes, so that it can be in registers. */
WEFT_DEVICE_FN struct particles_store store_of(const struct place *me)
{
    struct particles_store store = *me->store;
    store.count = me->count;
    store.counted = me->low;
#ifdef __CUDACC__
    __builtin_assume(__isGlobal(store.arena));
#endif
    return store;
}

WEFT_DEVICE_FN void empty_lists(const struct place *me)
{
    if (weft_thread(me->self) == 0) {
        particles_list(me->store, me->boundary + 1, UP)->count = 0;
        particles_list(me->store, me->boundary, DOWN)->count = 0;
    }
    weft_sync(me->self);
}

WEFT_DEVICE_FN void move_segment(const struct place *me, uint32_t segment)
{
    const struct particles_store store = store_of(me);
    struct particle_list *up = particles_list(&store, me->boundary + 1, UP);
    struct particle_list *down = particles_list(&store, me->boundary, DOWN);
    const uint32_t count = particles_count(&store, segment);
    const struct step_row row = step_row_of(&store, segment);
    weft_for (i, count)
        step_move(&store, &row, (uint32_t)i, me->low, me->high, up, down);
    if (weft_thread(me->self) == 0)
        *particles_moved_count(&store, segment) = count;
}

/* The outer segments first: only from them others leave the rank. */
WEFT_DEVICE_FN void move_all(const struct place *me)
{
    empty_lists(me);
    const uint32_t others = me->high - me->low;
    for (uint32_t i = 0; i <= others; i++) {
        move_segment(me, i == 0 ? me->low : i == 1 ? me->high : me->low + i - 1);
        if (i == 1 || others == 0)
            send_lists(me);
    }
}

APART void land(const struct place *me, struct particle_list *list, uint32_t segment)
{
    const struct particles_store store = store_of(me);
    weft_for (i, step_arrived(&store, list))
        step_land(&store, list, (uint32_t)i, segment);
}

WEFT_DEVICE_FN void scan_all(const struct place *me)
{
    const struct particles_store store = store_of(me);
    for (uint32_t segment = me->low; segment <= me->high; segment++)
        step_scan(&store, segment, (uint32_t)weft_thread(me->self),
                  (uint32_t)weft_threads(me->self), me->sums + segment % 2 * (STEP_SUMS / 2));
}

WEFT_DEVICE_FN void settle_all(const struct place *me, const struct particle_list *from_below,
                               const struct particle_list *from_above)
{
    const struct particles_store store = store_of(me);
    for (uint32_t segment = me->low; segment <= me->high; segment++)
        weft_for (i, *particles_moved_count(&store, segment))
            step_settle_moved(&store, segment, (uint32_t)i);
    weft_for (i, step_arrived(&store, from_below))
        step_settle_arrived(&store, from_below, (uint32_t)i, me->low);
    weft_for (i, step_arrived(&store, from_above))
        step_settle_arrived(&store, from_above, (uint32_t)i, me->high);
}

WEFT_DEVICE_FN void step(const struct place *me)
{
    struct particle_list *from_below = particles_list(me->store, me->boundary, UP);
    struct particle_list *from_above = particles_list(me->store, me->boundary + 1, DOWN);
    move_all(me);
    wait_for_both(me, TAG_LIST);
    land(me, from_below, me->low);
    land(me, from_above, me->high);
    weft_sync(me->self);
    scan_all(me);
    weft_sync(me->self);
    settle_all(me, from_below, from_above);
    send_segments(me);
}

WEFT_DEVICE_FN struct place find_place(weft_self *self, struct particles_data *data, uint32_t *sums,
                                       uint32_t *counts)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), all = weft_size(self, WEFT_COMM_WORLD);
    const uint32_t ranks = (uint32_t)weft_size(self, WEFT_COMM_DEVICE);
    const uint32_t rank = (uint32_t)weft_rank(self, WEFT_COMM_DEVICE);
    const uint32_t share = data->store.box.segments / ranks;
    const uint32_t more = data->store.box.segments % ranks; /* the first ranks have one more */
    struct place place;
    place.self = self;
    place.store = &data->store;
    place.sums = sums;
    place.win = WEFT_WIN_NONE;
    place.low = share * rank + (rank < more ? rank : more) + 1;
    place.high = place.low + share - (rank < more ? 0 : 1);
    place.count = counts;
    const size_t cells = (size_t)(place.high - place.low + 1) * data->store.box.cells;
    if (cells > PARTICLES_COUNTS)
        place.count = (uint32_t *)(data->store.arena + data->store.layout.count) +
                      (size_t)(place.low - 1) * data->store.box.cells;
    weft_for (i, cells)
        place.count[i] = 0;
    place.boundary = rank;
    place.lowest = rank == 0;
    place.highest = rank + 1 == ranks;
    place.below = me > 0 ? me - 1 : all - 1;
    place.above = me + 1 < all ? me + 1 : 0;
    return place;
}

WEFT_KERNEL(particles, struct particles_data, data)
{
    WEFT_SHARED uint32_t sums[STEP_SUMS], counts[PARTICLES_COUNTS];
    if (weft_rank(self, WEFT_COMM_DEVICE) == 0 && weft_thread(self) == 0)
        data->store.failure = &data->failure; /* on the device, that of its copy */
    weft_enter(self);
    struct place me = find_place(self, data, sums, counts);
    me.win = weft_win_create(self, WEFT_COMM_WORLD, data->store.arena, data->store.layout.velocity);
    if (me.win == WEFT_WIN_NONE) {
        data->no_window = 1;
        weft_leave(self);
        return;
    }
    weft_timer_start(self);
    for (uint32_t k = 0; k < data->iterations; k++) {
        if (k > 0) /* the halos of the first step are the host's */
            wait_for_both(&me, TAG_SEGMENT);
        step(&me);
    }
    weft_timer_stop(self);
    weft_win_free(self, &me.win);
    weft_leave(self);
}
