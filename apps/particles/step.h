/*
 * particles/step.h - what kernels do with one particle or one cell; both models' kernels are made
 * of these. A step has four parts:
 *
 *   move     the forces on a particle, its new velocity and place; it is counted in its new cell,
 *            or, if that is not here, added to a list of those that leave
 *   land     those that came are counted, too
 *   scan     from the counts of a segment's cells: where its cells begin
 *   settle   every particle goes to its place
 *
 * The old arrays are read until all have moved, and then overwritten: the arrays `moved` hold
 * everything in between, in the old order. What only its own thread reads may be moved in place.
 */
#ifndef PARTICLES_STEP_H
#define PARTICLES_STEP_H

#include "near.h"

enum { STEP_SUMS = 2 * 32 }; /* step_scan: of all warps that a block can have, for two turns */

/* Particles of a thread that settle together. */
#ifndef STEP_BATCH
#define STEP_BATCH 1
#endif

#ifdef __CUDACC__
enum { STEP_SCAN_BY_ONE = 0 };
STEP_FN uint32_t step_add_one(uint32_t *word)
{
    return atomicAdd(word, 1);
}
/* Of a warp's threads, all of which call: the sum of their values up to this one's. */
STEP_FN uint32_t step_sum(uint32_t value)
{
    for (int reach = 1; reach < 32; reach *= 2) {
        const uint32_t before = __shfl_up_sync(~0u, value, reach);
        value += threadIdx.x % 32 >= reach ? before : 0;
    }
    return value;
}
/*
 * The sum of the values of the block's threads before this one; *all: of all of them. By all
 * threads, and these are whole warps. sums: room for one of each warp, other than the last time.
 */
STEP_FN uint32_t step_before(uint32_t value, uint32_t *sums, uint32_t *all)
{
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const uint32_t sum = step_sum(value);
    if (lane == 31)
        sums[warp] = sum;
    __syncthreads();
    const uint32_t upto = step_sum(lane < warps ? sums[lane] : 0);
    const uint32_t before = __shfl_sync(~0u, upto, (int)warp - 1); /* of the first: anything */
    *all = __shfl_sync(~0u, upto, 31);
    return (warp > 0 ? before : 0) + sum - value;
}
#else
enum { STEP_SCAN_BY_ONE = 1 };                /* of a rank's threads on the CPU device */
STEP_FN uint32_t step_add_one(uint32_t *word) /* one thread at a time */
{
    return (*word)++;
}
STEP_FN uint32_t step_before(uint32_t value, uint32_t *sums, uint32_t *all)
{
    (void)sums;
    *all = value;
    return 0;
}
#endif

/* A segment's particles, wherever they lie. */
struct step_arrays {
    uint32_t *start;
    struct point *position, *velocity;
    uint32_t *id;
    struct point *moved_position, *moved_velocity;
    uint32_t *moved_id, *moved_slot; /* slot: the number in its cell, or STEP_LEFT */
};

#define STEP_LEFT UINT32_MAX /* it has left in a list */

STEP_FN struct step_arrays step_arrays_of(const struct particles_store *store, uint32_t segment)
{
    struct step_arrays arrays;
    arrays.start = particles_start(store, segment);
    arrays.position = particles_position(store, segment);
    arrays.velocity = particles_velocity(store, segment);
    arrays.id = particles_id(store, segment);
    arrays.moved_position = particles_moved_position(store, segment);
    arrays.moved_velocity = particles_moved_velocity(store, segment);
    arrays.moved_id = particles_moved_id(store, segment);
    arrays.moved_slot = particles_moved_slot(store, segment);
    return arrays;
}

/* ---- parts of a step ------------------------------------------------------------------------- */

/* Any failure ends the program. */
STEP_FN void step_fail(const struct particles_store *store, uint32_t failure)
{
    *store->failure = failure;
}

STEP_FN void step_leave(const struct particles_store *store, struct particle_list *list,
                        const struct particle *particle)
{
    const uint32_t i = step_add_one(&list->count);
    if (i < store->box.list_capacity)
        list->item[i] = *particle;
    else
        step_fail(store, PARTICLES_FULL);
}

/* Part 1 for particle i of a segment; those that leave go to the lists. */
STEP_FN void step_move(const struct particles_store *store, const struct step_view *view,
                       const struct step_arrays *arrays, uint32_t i, struct particle_list *up,
                       struct particle_list *down)
{
    const struct particles_box *box = &store->box;
    const struct point at = arrays->position[i], v = arrays->velocity[i];
    const struct step_place place = step_place_of(box, at);
    const struct point force = step_force(view, &place);

    struct particle moved = {0};
    moved.vx = v.x + PARTICLES_STEP * PARTICLES_STIFFNESS * force.x;
    moved.vy = v.y + PARTICLES_STEP * PARTICLES_STIFFNESS * force.y;
    moved.x = at.x + PARTICLES_STEP * moved.vx;
    moved.y = at.y + PARTICLES_STEP * moved.vy;
    moved.id = arrays->id[i];

    const double low = particles_row(box, at.y), width = box->width, height = box->all;
    if (!(moved.y >= low - 1 && moved.y < low + 2 && moved.x >= -width && moved.x < 2 * width)) {
        step_fail(store, PARTICLES_FAST);
        moved.x = at.x, moved.y = at.y; /* so that it has a place all the same */
    }
    const int way = moved.y < low ? -1 : moved.y >= low + 1 ? 1 : 0;
    moved.x += moved.x < 0 ? width : moved.x >= width ? -width : 0;
    moved.y += moved.y < 0 ? height : moved.y >= height ? -height : 0;
    const int cells = (int)particles_cells(box);
    const int cell =
        place.cell - place.column + way * (int)box->width + (int)particles_column(box, moved.x);
    uint32_t slot = STEP_LEFT;
    if (cell >= (int)store->counted && cell < (int)store->counted_end) {
        slot = step_add_one(particles_cell_count(store, (uint32_t)cell));
    } else { /* on another device the same, or at its other end */
        moved.cell = (uint32_t)(cell < 0 ? cell + cells : cell < cells ? cell : cell - cells);
        step_leave(store, cell < (int)store->counted ? down : up, &moved);
    }
    const struct point position = {moved.x, moved.y}, velocity = {moved.vx, moved.vy};
    arrays->moved_position[i] = position;
    arrays->moved_velocity[i] = velocity;
    arrays->moved_id[i] = moved.id;
    arrays->moved_slot[i] = slot;
}

/* What a list holds; more did not fit. */
STEP_FN uint32_t step_arrived(const struct particles_store *store, const struct particle_list *list)
{
    return list->count < store->box.list_capacity ? list->count : store->box.list_capacity;
}

/* Part 2 for a particle in a list that came to a segment. */
STEP_FN void step_land(const struct particles_store *store, struct particle *particle)
{
    particle->slot = step_add_one(particles_cell_count(store, particle->cell));
}

/*
 * Part 3, for one segment, by all threads of a block; sums: STEP_SUMS numbers that they share;
 * start: the segment's. The counts are zero afterwards. A count above the capacity is cut: settling
 * fails for what is too much. No barrier at the end.
 */
STEP_FN void step_scan(const struct particles_store *store, uint32_t segment, uint32_t *start,
                       uint32_t thread, uint32_t threads, uint32_t *sums)
{
    const uint32_t first = particles_first(&store->box, segment), capacity = store->box.capacity;
    const uint32_t cells = particles_first(&store->box, segment + 1) - first;
    uint32_t *count = particles_cell_count(store, first);
    uint32_t next = 0;
    if (STEP_SCAN_BY_ONE && thread != 0)
        return;
    if (STEP_SCAN_BY_ONE)
        threads = 1;
    for (uint32_t from = 0, turn = 0; from < cells; from += threads, turn = 1 - turn) {
        const uint32_t cell = from + thread, here = cell < cells ? count[cell] : 0;
        uint32_t all;
        const uint32_t begin = next + step_before(here, sums + turn * (STEP_SUMS / 2), &all);
        if (cell < cells) {
            start[cell] = begin < capacity ? begin : capacity;
            count[cell] = 0;
        }
        next += all;
    }
    if (thread == 0)
        start[cells] = next < capacity ? next : capacity;
}

/* Where one goes that stays in the cells counted here: in its segment's arrays, or in the two-model
 * form in those of any row, each a segment. */
struct step_home {
    struct step_arrays arrays;
    uint32_t cell; /* its number there */
};

STEP_FN struct step_home step_home_of(const struct particles_store *store,
                                      const struct step_arrays *own, uint32_t cell)
{
    struct step_home home = {*own, cell - store->counted};
    if (store->counted_end - store->counted == particles_cells(&store->box) &&
        store->box.segments > 1) {
        const uint32_t row = cell / store->box.width;
        home.arrays = step_arrays_of(store, row);
        home.cell = cell - row * store->box.width;
    }
    return home;
}

STEP_FN void step_settle(const struct particles_store *store, const struct step_arrays *own,
                         uint32_t cell, uint32_t slot, struct point position, struct point velocity,
                         uint32_t id)
{
    const struct step_home home = step_home_of(store, own, cell);
    const uint32_t i = home.arrays.start[home.cell] + slot;
    if (i >= store->box.capacity) {
        step_fail(store, PARTICLES_FULL);
        return;
    }
    home.arrays.position[i] = position;
    home.arrays.velocity[i] = velocity;
    home.arrays.id[i] = id;
}

/* Some that moved, in registers. */
struct step_batch {
    struct point position[STEP_BATCH], velocity[STEP_BATCH];
    uint32_t id[STEP_BATCH], slot[STEP_BATCH];
};

/*
 * Part 4 for STEP_BATCH particles that moved in a segment: i and others `apart`, as far as `count`.
 * All are loaded together: no branch before a load. Where they were moved in place, all threads
 * have taken theirs before the first settles.
 */
STEP_FN void step_take(const struct step_arrays *arrays, uint32_t i, uint32_t apart, uint32_t count,
                       struct step_batch *batch)
{
    STEP_UNROLL
    for (uint32_t k = 0; k < STEP_BATCH; k++) {
        const uint32_t from = i + k * apart < count ? i + k * apart : 0;
        batch->position[k] = arrays->moved_position[from];
        batch->velocity[k] = arrays->moved_velocity[from];
        batch->id[k] = arrays->moved_id[from];
        batch->slot[k] = i + k * apart < count ? arrays->moved_slot[from] : STEP_LEFT;
    }
}

STEP_FN void step_settle_batch(const struct particles_store *store,
                               const struct step_arrays *arrays, const struct step_batch *batch)
{
    STEP_UNROLL
    for (uint32_t k = 0; k < STEP_BATCH; k++)
        if (batch->slot[k] != STEP_LEFT)
            step_settle(store, arrays, particles_cell(&store->box, batch->position[k]),
                        batch->slot[k], batch->position[k], batch->velocity[k], batch->id[k]);
}

/* Part 4 for a particle in a list that came to a segment. */
STEP_FN void step_settle_arrived(const struct particles_store *store,
                                 const struct step_arrays *arrays, const struct particle *particle)
{
    const struct point position = {particle->x, particle->y};
    const struct point velocity = {particle->vx, particle->vy};
    step_settle(store, arrays, particle->cell, particle->slot, position, velocity, particle->id);
}

#endif
