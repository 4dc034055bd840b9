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
 * The old arrays are read until all have moved, and then overwritten: `moved` holds everything in
 * between.
 */
#ifndef PARTICLES_STEP_H
#define PARTICLES_STEP_H

#include "particles.h"

#ifdef __CUDACC__
#define STEP_FN static __device__ inline
STEP_FN uint32_t step_add_one(uint32_t *word)
{
    return atomicAdd(word, 1);
}
#else
#define STEP_FN static inline
STEP_FN uint32_t step_add_one(uint32_t *word) /* one thread at a time */
{
    return (*word)++;
}
#endif

/* Adds the push of particles first .. end - 1 of an array, which lie `shift` away, on one at `at`.
 */
STEP_FN struct point step_push(const struct point *other, uint32_t first, uint32_t end,
                               struct point at, struct point shift, struct point force)
{
    for (uint32_t i = first; i < end; i++) {
        const struct point there = other[i];
        const double dx = at.x - (there.x + shift.x), dy = at.y - (there.y + shift.y);
        const double square = dx * dx + dy * dy;
        if (square < 1 && square > 0) { /* 0: itself */
            const double factor = 1 / sqrt(square) - 1;
            force.x += factor * dx;
            force.y += factor * dy;
        }
    }
    return force;
}

/* The force by one segment, times 1 / S: of the cells before, at and after `cell`. */
STEP_FN struct point step_segment(const struct particles_store *store, uint32_t segment,
                                  uint32_t cell, struct point at, struct point force)
{
    const struct particles_box *box = &store->box;
    const uint32_t cells = box->cells, *start = particles_start(store, segment);
    const struct point *position = particles_position(store, segment);
    struct point shift = {0, 0};
    if (segment == 0 && box->first == 0)
        shift.y = -(double)box->all;
    if (segment > box->segments && box->first + box->segments == box->all)
        shift.y = box->all;
    const uint32_t low = cell > 0 ? cell - 1 : 0, high = cell + 1 < cells ? cell + 2 : cells;
    force = step_push(position, start[low], start[high], at, shift, force);
    if (cell == 0) {
        shift.x = -(double)cells;
        force = step_push(position, start[cells - 1], start[cells], at, shift, force);
    }
    if (cell == cells - 1) {
        shift.x = cells;
        force = step_push(position, start[0], start[1], at, shift, force);
    }
    return force;
}

/* Writes a failure; the smallest wins nothing: any of them ends the program. */
STEP_FN void step_fail(const struct particles_store *store, uint32_t failure)
{
    *store->failure = failure;
}

/* Counts a particle in its cell of a segment of this process. */
STEP_FN void step_count(const struct particles_store *store, struct particle *particle)
{
    particle->slot = step_add_one(particles_cell_count(store, particle->segment) + particle->cell);
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

/*
 * Part 1 for particle i of a segment. Those that leave segments lowest .. highest go to the lists:
 * whoever receives them finds out which segment of his it is.
 */
STEP_FN void step_move(const struct particles_store *store, uint32_t segment, uint32_t i,
                       uint32_t lowest, uint32_t highest, struct particle_list *up,
                       struct particle_list *down)
{
    const struct particles_box *box = &store->box;
    const struct point at = particles_position(store, segment)[i];
    const struct point v = particles_velocity(store, segment)[i];
    const uint32_t cell = particles_cell_of(box, at.x);
    struct point force = {0, 0};
    struct particle moved;
    for (uint32_t other = segment - 1; other <= segment + 1; other++)
        force = step_segment(store, other, cell, at, force);

    moved.vx = v.x + PARTICLES_STEP * PARTICLES_STIFFNESS * force.x;
    moved.vy = v.y + PARTICLES_STEP * PARTICLES_STIFFNESS * force.y;
    moved.x = at.x + PARTICLES_STEP * moved.vx;
    moved.y = at.y + PARTICLES_STEP * moved.vy;
    moved.id = particles_id(store, segment)[i];

    const double low = (double)box->first + segment - 1, width = box->cells, height = box->all;
    const int way = moved.y < low ? -1 : moved.y >= low + 1 ? 1 : 0;
    if (!(moved.y >= low - 1 && moved.y < low + 2 && moved.x >= -width && moved.x < 2 * width))
        step_fail(store, PARTICLES_FAST);
    moved.x += moved.x < 0 ? width : moved.x >= width ? -width : 0;
    moved.y += moved.y < 0 ? height : moved.y >= height ? -height : 0;
    moved.cell = particles_cell_of(box, moved.x);
    moved.slot = 0;
    moved.segment = (uint32_t)((int)segment + way);
    if (moved.segment < lowest || moved.segment > highest) {
        moved.segment = 0;
        step_leave(store, way > 0 ? up : down, &moved);
    } else {
        step_count(store, &moved);
    }
    particles_moved(store, segment)[i] = moved;
}

/* What a list holds; more did not fit. */
STEP_FN uint32_t step_arrived(const struct particles_store *store, const struct particle_list *list)
{
    return list->count < store->box.list_capacity ? list->count : store->box.list_capacity;
}

/* Part 2 for particle i of a list that came to a segment. */
STEP_FN void step_land(const struct particles_store *store, struct particle_list *list, uint32_t i,
                       uint32_t segment)
{
    list->item[i].segment = segment;
    step_count(store, &list->item[i]);
}

/* Part 4. */
STEP_FN void step_settle(const struct particles_store *store, const struct particle *particle)
{
    const uint32_t segment = particle->segment;
    if (segment == 0)
        return;
    const uint32_t i = particles_start(store, segment)[particle->cell] + particle->slot;
    if (i >= store->box.capacity) {
        step_fail(store, PARTICLES_FULL);
        return;
    }
    const struct point at = {particle->x, particle->y}, v = {particle->vx, particle->vy};
    particles_position(store, segment)[i] = at;
    particles_velocity(store, segment)[i] = v;
    particles_id(store, segment)[i] = particle->id;
}

/*
 * Part 3, for one segment, by all `threads` threads of a block; sync is a barrier of them, sums
 * room for two numbers of each. The counts are zero afterwards. A count above the capacity is cut:
 * settling fails for what is too much.
 */
#define STEP_SCAN(store, segment, thread, threads, sums, sync)                                     \
    do {                                                                                           \
        const uint32_t cells = (store)->box.cells, capacity = (store)->box.capacity;               \
        const uint32_t share = (cells + (threads)-1) / (threads), from = (thread)*share;           \
        const uint32_t to = from + share < cells ? from + share : cells;                           \
        uint32_t *count = particles_cell_count(store, segment);                                    \
        uint32_t *start = particles_start(store, segment);                                         \
        uint32_t sum = 0, in = 0;                                                                  \
        for (uint32_t cell = from; cell < to; cell++)                                              \
            sum += count[cell];                                                                    \
        (sums)[thread] = sum;                                                                      \
        sync;                                                                                      \
        for (uint32_t reach = 1; reach < (threads); reach *= 2, in = 1 - in) {                     \
            const uint32_t *before = (sums) + in * (threads);                                      \
            (sums)[(1 - in) * (threads) + (thread)] =                                              \
                before[thread] + ((thread) >= reach ? before[(thread)-reach] : 0);                 \
            sync;                                                                                  \
        }                                                                                          \
        uint32_t next = (sums)[in * (threads) + (thread)] - sum;                                   \
        for (uint32_t cell = from; cell < to; cell++) {                                            \
            start[cell] = next < capacity ? next : capacity;                                       \
            next += count[cell];                                                                   \
            count[cell] = 0;                                                                       \
        }                                                                                          \
        if ((thread) + 1 == (threads))                                                             \
            start[cells] = (sums)[in * (threads) + (thread)] < capacity                            \
                               ? (sums)[in * (threads) + (thread)]                                 \
                               : capacity;                                                         \
        sync;                                                                                      \
    } while (0)

enum { STEP_MOST_THREADS = 1024 };

#endif
