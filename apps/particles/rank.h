/*
 * particles/rank.h - what a rank does: all steps in one persistent kernel. A rank owns a segment;
 * the ranks form a ring. Windows of ranks on one device overlap, being all the same arena: a
 * neighbour's segment there is read in place, and so is the list of those that come from it. Only
 * at the edges of a device do rows and lists travel, of as many bytes as there are particles:
 * stored there, if the device beside is mapped, and put otherwise.
 *
 * A step has two exchanges: of those that leave, as soon as all have moved that are near enough to
 * an end of the segment; and of the segments, when everything is in its place again. No barrier:
 *   - A rank settles, overwriting what its neighbours read, when their lists have come, which they
 *     send after they have looked at all that is near.
 *   - It fills its lists anew when its neighbours' segments have come, which they send after they
 *     have settled all that had come in the lists before.
 *   - Halos and lists of another device are overwritten by the same rules.
 * By then the puts before have been read at their source, too.
 *
 * Before it is included: STEP_HELD, and what weft/device.h asks of a kernel.
 */
#ifndef PARTICLES_RANK_H
#define PARTICLES_RANK_H

#ifdef __CUDACC__
#define STEP_BATCH 4
#else
#define STEP_BATCH 128 /* of a rank's only thread: small segments are held on CPUs, too */
#endif
#include "step.h"

#define WEFT_SHARED_LEAST 0

#include <weft/device.h>

#include "held.h"

/* Functions that are used in several places: inlined, they would cost the kernel its registers. */
#ifdef __CUDACC__
#define APART static __device__ __noinline__
#else
#define APART static
#endif

/*
 * From both neighbours: neither sends the next before it has what this rank makes of these two, so
 * one wait does for both.
 */
enum { TAG_LIST, TAG_SEGMENT };
enum { UP, DOWN }; /* up: from the rank below to the one above */

/* What a rank's threads share, so that it takes no registers. */
struct place {
    weft_self *self;
    struct particles_store store; /* its failure: the device's */
    struct step_view view;
    struct step_arrays arrays; /* of its segment */
    bool held;                 /* these are in shared memory, too: with STEP_HELD */
    uint32_t sums[STEP_SUMS];  /* room for the scan */
    weft_win win;
    uint32_t segment; /* and the boundary below it; the next is above it */
    int below, above; /* world ranks of the neighbours in the ring */
    /* At an edge of the device: the arena of the device beside, NULL if it is not mapped. */
    bool lowest, highest;
    char *arena_below, *arena_above;
};

/* ---- messages ------------------------------------------------------------------------------ */

/* So many bytes of the arena to another place in the arena of the target; everything is made. */
APART void put(const struct place *me, int target, size_t to, size_t from, size_t bytes, int tag)
{
    weft_put_notify(me->self, me->win, target, to, me->store.arena + from, bytes, tag);
}

/* What is there was written where the neighbours read it; those to which it was put know. */
APART void tell(const struct place *me, int tag)
{
    int neighbours[2], count = 0;
    if (!me->highest || me->arena_above)
        neighbours[count++] = me->above;
    if (!me->lowest || me->arena_below)
        neighbours[count++] = me->below;
    weft_notify_many(me->self, WEFT_COMM_WORLD, neighbours, count, tag);
}

APART void wait_for_both(const struct place *me, int tag)
{
    weft_wait(me->self, tag, 2);
}

/* A list at an edge of the device to the same list at the other edge of the device beside. One that
 * is too full is not sent as longer than it is. */
APART void send_list(const struct place *me, int target, char *arena, uint32_t boundary,
                     uint32_t direction)
{
    const struct particles_store *store = &me->store;
    const uint32_t there = store->box.boundaries - 1 - boundary;
    const size_t to = particles_list_offset(store, there, direction);
    const struct particle_list *list = particles_list(store, boundary, direction);
    const uint32_t count = step_arrived(store, list);
    if (!arena) {
        put(me, target, to, particles_list_offset(store, boundary, direction),
            sizeof(*list) + count * sizeof(list->item[0]), TAG_LIST);
        return;
    }
    struct particle_list *copy = (struct particle_list *)(arena + to);
    weft_for (i, count)
        copy->item[i] = list->item[i];
    if (weft_thread(me->self) == 0)
        copy->count = count;
}

WEFT_DEVICE_FN void send_lists(const struct place *me)
{
    weft_sync(me->self);
    if (me->highest)
        send_list(me, me->above, me->arena_above, me->segment + 1, UP);
    if (me->lowest)
        send_list(me, me->below, me->arena_below, me->segment, DOWN);
    tell(me, TAG_LIST);
}

/* A row at an edge of the device, cells first .. first + width - 1, to the halo on a side of the
 * device beside. None of its positions that the halo has no room for. */
APART void send_row(const struct place *me, int target, char *arena, uint32_t first, uint32_t side)
{
    const struct particles_store *store = &me->store;
    const uint32_t cell = first - store->counted, width = store->box.width;
    const uint32_t *start = me->arrays.start + cell;
    const size_t halo = particles_halo_offset(store, side);
    const size_t positions = halo + store->layout.halo_positions;
    uint32_t count = start[width] - start[0];
    if (count > store->box.row_capacity) {
        step_fail(store, PARTICLES_FULL);
        count = store->box.row_capacity;
    }
    if (!arena) {
        const struct point *position = particles_position(store, me->segment) + start[0];
        weft_put(me->self, me->win, target, positions, position, count * sizeof(*position));
        put(me, target, halo, particles_block_offset(store, me->segment) + cell * sizeof(*start),
            (width + 1) * sizeof(*start), TAG_SEGMENT);
        return;
    }
    weft_for (i, count)
        ((struct point *)(arena + positions))[i] = me->arrays.position[start[0] + i];
    weft_for (i, width + 1)
        ((uint32_t *)(arena + halo))[i] = start[i];
}

WEFT_DEVICE_FN void send_segments(const struct place *me)
{
    const uint32_t last = particles_cells(&me->store.box) - me->store.box.width;
    weft_sync(me->self);
    if (STEP_HELD && me->held) {
        held_show(&me->store, me->segment, &me->arrays);
        weft_sync(me->self);
    }
    if (me->highest)
        send_row(me, me->above, me->arena_above, last, 0);
    if (me->lowest)
        send_row(me, me->below, me->arena_below, 0, 1);
    tell(me, TAG_SEGMENT);
}

/* ---- a step -------------------------------------------------------------------------------- */

WEFT_DEVICE_FN void begin_step(struct place *me)
{
    if (weft_thread(me->self) == 0) {
        particles_list(&me->store, me->segment + 1, UP)->count = 0;
        particles_list(&me->store, me->segment, DOWN)->count = 0;
        me->view = step_view_of(&me->store, me->segment);
        me->view.piece[STEP_OWN].start = me->arrays.start;
        me->view.piece[STEP_OWN].position = me->arrays.position;
        me->view.held = STEP_HELD && me->held;
    }
    weft_sync(me->self);
}

/*
 * First those from which others leave the segment: they are as near to an end as a particle's
 * column is from any other in the next row. Returns how many have moved.
 */
WEFT_DEVICE_FN uint32_t move_all(const struct place *me)
{
    const struct particles_store *store = &me->store;
    const uint32_t *start = me->arrays.start;
    const uint32_t cells = store->counted_end - store->counted, near = 2 * store->box.width;
    const uint32_t all = start[cells];
    const uint32_t low = cells > 2 * near ? start[near] : all;
    const uint32_t high = cells > 2 * near ? start[cells - near] : all;
    struct particle_list *up = particles_list(store, me->segment + 1, UP);
    struct particle_list *down = particles_list(store, me->segment, DOWN);
    const uint32_t between = high - low;
    STEP_ROLLED
    for (int part = 0; part < 2; part++) { /* both ends, and what is between */
        weft_for (i, part == 0 ? all - between : between) {
            const uint32_t behind = part == 0 ? ((uint32_t)i < low ? 0 : between) : low;
            step_move(store, &me->view, &me->arrays, behind + (uint32_t)i, up, down);
        }
        if (part == 0)
            send_lists(me);
    }
    return all;
}

/* Both lists that have come, one after the other. */
struct arrived {
    struct particle_list *below, *above;
    uint32_t from_below, all;
};

WEFT_DEVICE_FN struct arrived arrived_of(const struct place *me)
{
    struct arrived arrived;
    arrived.below = particles_list(&me->store, me->segment, UP);
    arrived.above = particles_list(&me->store, me->segment + 1, DOWN);
    const uint32_t from_above = step_arrived(&me->store, arrived.above);
    arrived.from_below = step_arrived(&me->store, arrived.below);
    arrived.all = arrived.from_below + from_above;
    return arrived;
}

WEFT_DEVICE_FN struct particle *arrived_item(const struct arrived *arrived, uint32_t i)
{
    return i < arrived->from_below ? &arrived->below->item[i]
                                   : &arrived->above->item[i - arrived->from_below];
}

APART void settle(const struct place *me, uint32_t moved)
{
    const uint32_t thread = (uint32_t)weft_thread(me->self);
    const uint32_t threads = (uint32_t)weft_threads(me->self);
    struct step_batch batch;
    if (STEP_HELD && me->held) { /* all in one batch */
        step_take(&me->arrays, thread, threads, moved, &batch);
        weft_sync(me->self);
        step_settle_batch(&me->store, &me->arrays, &batch);
        return;
    }
    for (uint32_t i = thread; i < moved; i += STEP_BATCH * threads) {
        step_take(&me->arrays, i, threads, moved, &batch);
        step_settle_batch(&me->store, &me->arrays, &batch);
    }
}

WEFT_DEVICE_FN void step(struct place *me)
{
    begin_step(me);
    const uint32_t moved = move_all(me);
    wait_for_both(me, TAG_LIST);
    const struct arrived arrived = arrived_of(me);
    weft_for (i, arrived.all)
        step_land(&me->store, arrived_item(&arrived, (uint32_t)i));
    weft_sync(me->self);
    step_scan(&me->store, me->segment, me->arrays.start, (uint32_t)weft_thread(me->self),
              (uint32_t)weft_threads(me->self), me->sums);
    weft_sync(me->self);
    settle(me, moved);
    weft_for (i, arrived.all)
        step_settle_arrived(&me->store, &me->arrays, arrived_item(&arrived, (uint32_t)i));
    send_segments(me);
}

/* The counts of the segment's cells, in shared memory if they fit behind what is held there. */
WEFT_DEVICE_FN uint32_t *find_counts(struct place *me, size_t used)
{
    const uint32_t cells = me->store.counted_end - me->store.counted;
    uint32_t *count = (uint32_t *)(me->store.arena + me->store.layout.count) + me->store.counted;
    if (used + cells * sizeof(*count) <= weft_shared_bytes(me->self))
        count = (uint32_t *)((char *)weft_shared(me->self) + used);
    return count;
}

WEFT_DEVICE_FN void find_place(weft_self *self, struct particles_data *data, struct place *place)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), all = weft_size(self, WEFT_COMM_WORLD);
    const uint32_t rank = (uint32_t)weft_rank(self, WEFT_COMM_DEVICE);
    const struct particles_box *box = &data->store.box;
    if (weft_thread(self) == 0) {
        place->self = self;
        place->store = data->store;
        place->store.counted = particles_first(box, rank);
        place->store.counted_end = particles_first(box, rank + 1);
        place->store.failure = &data->failure; /* on the device, that of its copy */
        place->segment = rank;
        place->lowest = rank == 0;
        place->highest = rank + 1 == box->segments;
        place->below = me > 0 ? me - 1 : all - 1;
        place->above = me + 1 < all ? me + 1 : 0;
        const size_t used = STEP_HELD ? held_bytes(self, &place->store) : 0;
        place->held = used > 0;
        place->arrays =
            place->held ? held_arrays(self, &place->store) : step_arrays_of(&place->store, rank);
        place->store.count = find_counts(place, used);
    }
    weft_sync(self);
    weft_for (i, place->store.counted_end - place->store.counted)
        place->store.count[i] = 0;
    if (STEP_HELD && place->held)
        held_load(self, &place->store, rank, &place->arrays);
    weft_sync(self);
}

WEFT_DEVICE_FN void all_steps(weft_self *self, struct particles_data *data)
{
    WEFT_SHARED(struct place, here, 1);
    weft_enter(self);
    find_place(self, data, here);
    weft_win win =
        weft_win_create(self, WEFT_COMM_WORLD, data->store.arena, data->store.layout.velocity);
    if (win == WEFT_WIN_NONE) {
        data->no_window = 1;
        weft_leave(self);
        return;
    }
    if (weft_thread(self) == 0) {
        here->win = win;
        here->arena_above = here->highest ? (char *)weft_ptr(self, win, here->above) : NULL;
        here->arena_below = here->lowest ? (char *)weft_ptr(self, win, here->below) : NULL;
    }
    weft_timer_start(self);
    for (uint32_t k = 0; k < data->iterations; k++) {
        if (k > 0) /* the halos of the first step are the host's */
            wait_for_both(here, TAG_SEGMENT);
        step(here);
    }
    weft_timer_stop(self);
    if (data->iterations > 0) /* what the last step sent: nobody needs it */
        wait_for_both(here, TAG_SEGMENT);
    if (STEP_HELD && here->held)
        held_store(self, &here->store, here->segment, &here->arrays);
    weft_win_free(self, &win);
    weft_leave(self);
}

#endif
