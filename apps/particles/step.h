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
 * everything in between, in the old order.
 */
#ifndef PARTICLES_STEP_H
#define PARTICLES_STEP_H

#include "particles.h"

enum { STEP_SUMS = 2 * 32 }; /* step_scan: of all warps that a block can have, for two turns */

#ifdef __CUDACC__
#define STEP_FN     static __device__ inline
#define STEP_ROLLED _Pragma("unroll 1")
enum { STEP_AT_ONCE = 4 };
STEP_FN uint32_t step_add_one(uint32_t *word)
{
    return atomicAdd(word, 1);
}
STEP_FN uint32_t step_lowest(uint32_t bits) /* the number of the lowest bit that is 1 */
{
    return (uint32_t)__ffs((int)bits) - 1;
}
/* 1 / sqrt(x) to the last bit or two: the GPU's 20 bits, refined once. No x is special. */
STEP_FN double step_inverse_root(double x)
{
    double y;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    const double error = fma(x, -(y * y), 1.0);
    return fma(fma(0.375, error, 0.5), y * error, y);
}
/* The sum of the values of the block's threads before this one; sums: one of each warp. */
STEP_FN uint32_t step_before(uint32_t value, uint32_t thread, uint32_t threads, uint32_t *sums)
{
    const uint32_t lane = thread % 32, warp = thread / 32, lanes = threads - warp * 32;
    const uint32_t all = lanes < 32 ? (1u << lanes) - 1 : ~0u;
    uint32_t sum = value;
    for (uint32_t reach = 1; reach < 32; reach *= 2) {
        const uint32_t before = __shfl_up_sync(all, sum, reach);
        sum += lane >= reach ? before : 0;
    }
    if (lane == 31 || thread + 1 == threads)
        sums[warp] = sum;
    __syncthreads();
    for (uint32_t i = 0; i < warp; i++)
        sum += sums[i];
    return sum - value;
}
#else
#define STEP_FN static inline
#define STEP_ROLLED
enum { STEP_AT_ONCE = 1 };
STEP_FN uint32_t step_add_one(uint32_t *word) /* one thread at a time */
{
    return (*word)++;
}
STEP_FN uint32_t step_lowest(uint32_t bits)
{
    return (uint32_t)__builtin_ctz(bits);
}
STEP_FN double step_inverse_root(double x)
{
    return 1 / sqrt(x);
}
STEP_FN uint32_t step_before(uint32_t value, uint32_t thread, uint32_t threads, uint32_t *sums)
{
    (void)value, (void)thread, (void)threads, (void)sums; /* one thread */
    return 0;
}
#endif

/* ---- the force ----------------------------------------------------------------------------- */

/* So small that it changes no distance, and large enough to divide by that of a particle to itself,
 * whose push is then 0. */
#define STEP_TINY 1e-300

STEP_FN double step_square(struct point a, struct point b)
{
    const double dx = a.x - b.x, dy = a.y - b.y;
    return dx * dx + (dy * dy + STEP_TINY);
}

/*
 * Which of 32 particles at most are within reach: bit i for other[i]. On a GPU several are looked
 * at together, and so a few behind the last, which are in the arena still and do not count.
 */
STEP_FN uint32_t step_near(const struct point *other, uint32_t count, struct point at)
{
    uint32_t near = 0;
    STEP_ROLLED
    for (uint32_t i = 0; i < count; i += STEP_AT_ONCE) {
        struct point there[STEP_AT_ONCE];
        uint32_t some = 0;
        for (uint32_t k = 0; k < STEP_AT_ONCE; k++)
            there[k] = other[i + k];
        for (uint32_t k = 0; k < STEP_AT_ONCE; k++)
            some |= step_square(at, there[k]) < 1 ? 1u << k : 0;
        near |= some << i;
    }
    return count < 32 ? near & ((1u << count) - 1) : near;
}

/*
 * Adds the push of particles first .. end - 1 of an array on one at `at`. First those are found
 * that push: a third of them, each of which costs more than to look at all others. Threads that go
 * through the same loop each for a particle of its own would else wait for each other at each.
 */
STEP_FN struct point step_push(const struct point *other, uint32_t first, uint32_t end,
                               struct point at, struct point force)
{
    for (; first < end; first += 32) {
        uint32_t near = step_near(other + first, end - first < 32 ? end - first : 32, at);
        for (; near != 0; near &= near - 1) {
            const struct point there = other[first + step_lowest(near)];
            const double factor = step_inverse_root(step_square(at, there)) - 1;
            force.x += factor * (at.x - there.x);
            force.y += factor * (at.y - there.y);
        }
    }
    return force;
}

/* What a step looks at for a segment: found once, not for each of its particles. */
struct step_row {
    uint32_t segment;
    double low;          /* where it begins in the box */
    double below, above; /* to be added to a y that is seen from the segments beside it */
    const char *block;   /* of the segment below; the two others follow */
    struct point *velocity, *moved_position, *moved_velocity;
    uint32_t *id;
    struct particle_mark *mark;
};

STEP_FN struct step_row step_row_of(const struct particles_store *store, uint32_t segment)
{
    const struct particles_box *box = &store->box;
    const uint32_t global = box->first + segment - 1;
    struct step_row row;
    row.segment = segment;
    row.low = global;
    row.below = global == 0 ? box->all : 0;
    row.above = global + 1 == box->all ? -(double)box->all : 0;
    row.block = particles_block(store, segment - 1);
    row.velocity = particles_velocity(store, segment);
    row.id = particles_id(store, segment);
    row.moved_position = particles_moved_position(store, segment);
    row.moved_velocity = particles_moved_velocity(store, segment);
    row.mark = particles_moved_mark(store, segment);
    return row;
}

/* The force, times 1 / S, by a segment's cells before, at and after `cell`. */
STEP_FN struct point step_beside(const uint32_t *start, const struct point *position,
                                 uint32_t cells, uint32_t cell, struct point at, struct point force)
{
    const uint32_t low = cell > 0 ? cell - 1 : 0, high = cell + 1 < cells ? cell + 2 : cells;
    force = step_push(position, start[low], start[high], at, force);
    if (cell == 0 || cell == cells - 1) { /* the cell at the other side of the box */
        const uint32_t other = cell == 0 ? cells - 1 : 0;
        at.x += cell == 0 ? cells : -(double)cells;
        force = step_push(position, start[other], start[other + 1], at, force);
    }
    return force;
}

/* The force on a particle of a segment, times 1 / S. */
STEP_FN struct point step_force(const struct particles_store *store, const struct step_row *row,
                                uint32_t cell, struct point at)
{
    struct point force = {0, 0};
    const char *block = row->block;
    for (int side = -1; side <= 1; side++, block += store->layout.block_bytes) {
        const struct point seen = {at.x, at.y + (side < 0   ? row->below
                                                 : side > 0 ? row->above
                                                            : 0)};
        force = step_beside((const uint32_t *)block,
                            (const struct point *)(block + store->layout.positions),
                            store->box.cells, cell, seen, force);
    }
    return force;
}

/* ---- parts of a step ------------------------------------------------------------------------- */

/* Writes a failure; the smallest wins nothing: any of them ends the program. */
STEP_FN void step_fail(const struct particles_store *store, uint32_t failure)
{
    *store->failure = failure;
}

/* Counts a particle in a cell of a segment of this process. Its number there. */
STEP_FN uint32_t step_count(const struct particles_store *store, uint32_t segment, uint32_t cell)
{
    return step_add_one(particles_cell_count(store, segment) + cell);
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

/* Where one goes that has moved: to the segment below (0), its own or the one above (2), and its
 * number in its cell there times 4; or it has left in a list. */
enum { STEP_STAYS = 1, STEP_LEFT = 3 };

/*
 * Part 1 for particle i of a segment. Those that leave segments lowest .. highest go to the lists:
 * whoever receives them finds out which segment of his it is.
 */
STEP_FN void step_move(const struct particles_store *store, const struct step_row *row, uint32_t i,
                       uint32_t lowest, uint32_t highest, struct particle_list *up,
                       struct particle_list *down)
{
    const struct particles_box *box = &store->box;
    const struct point *own =
        (const struct point *)(row->block + store->layout.block_bytes + store->layout.positions);
    const struct point at = own[i], v = row->velocity[i];
    const struct point force = step_force(store, row, particles_cell_of(box, at.x), at);

    struct particle moved = {0};
    moved.vx = v.x + PARTICLES_STEP * PARTICLES_STIFFNESS * force.x;
    moved.vy = v.y + PARTICLES_STEP * PARTICLES_STIFFNESS * force.y;
    moved.x = at.x + PARTICLES_STEP * moved.vx;
    moved.y = at.y + PARTICLES_STEP * moved.vy;
    moved.id = row->id[i];

    const double low = row->low, width = box->cells, height = box->all;
    const int way = moved.y < low ? -1 : moved.y >= low + 1 ? 1 : 0;
    if (!(moved.y >= low - 1 && moved.y < low + 2 && moved.x >= -width && moved.x < 2 * width))
        step_fail(store, PARTICLES_FAST);
    moved.x += moved.x < 0 ? width : moved.x >= width ? -width : 0;
    moved.y += moved.y < 0 ? height : moved.y >= height ? -height : 0;
    moved.cell = particles_cell_of(box, moved.x);
    const uint32_t to = (uint32_t)((int)row->segment + way);
    struct particle_mark mark = {moved.id, STEP_LEFT};
    if (to < lowest || to > highest)
        step_leave(store, way > 0 ? up : down, &moved);
    else
        mark.goes = step_count(store, to, moved.cell) * 4 + (uint32_t)(STEP_STAYS + way);
    const struct point position = {moved.x, moved.y}, velocity = {moved.vx, moved.vy};
    row->moved_position[i] = position;
    row->moved_velocity[i] = velocity;
    row->mark[i] = mark;
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
    list->item[i].slot = step_count(store, segment, list->item[i].cell);
}

/*
 * Part 3, for one segment, by all threads of a block; sums: room for a number of each warp. The
 * counts are zero afterwards. A count above the capacity is cut: settling fails for what is too
 * much. No barrier at the end; sums must be others the next time, and the same again after that.
 */
STEP_FN void step_scan(const struct particles_store *store, uint32_t segment, uint32_t thread,
                       uint32_t threads, uint32_t *sums)
{
    const uint32_t cells = store->box.cells, capacity = store->box.capacity;
    const uint32_t share = (cells + threads - 1) / threads;
    const uint32_t from = thread * share < cells ? thread * share : cells;
    const uint32_t to = from + share < cells ? from + share : cells;
    uint32_t *count = particles_cell_count(store, segment),
             *start = particles_start(store, segment);
    uint32_t sum = 0;
    for (uint32_t cell = from; cell < to; cell++)
        sum += count[cell];
    uint32_t next = step_before(sum, thread, threads, sums);
    for (uint32_t cell = from; cell < to; cell++) {
        start[cell] = next < capacity ? next : capacity;
        next += count[cell];
        count[cell] = 0;
    }
    if (thread + 1 == threads)
        start[cells] = next < capacity ? next : capacity;
}

STEP_FN void step_settle(const struct particles_store *store, uint32_t segment, uint32_t cell,
                         uint32_t slot, struct point position, struct point velocity, uint32_t id)
{
    const uint32_t i = particles_start(store, segment)[cell] + slot;
    if (i >= store->box.capacity) {
        step_fail(store, PARTICLES_FULL);
        return;
    }
    particles_position(store, segment)[i] = position;
    particles_velocity(store, segment)[i] = velocity;
    particles_id(store, segment)[i] = id;
}

/* Part 4 for the i-th of those that moved in a segment. */
STEP_FN void step_settle_moved(const struct particles_store *store, uint32_t segment, uint32_t i)
{
    const struct particle_mark mark = particles_moved_mark(store, segment)[i];
    const struct point position = particles_moved_position(store, segment)[i];
    const struct point velocity = particles_moved_velocity(store, segment)[i];
    if (mark.goes != STEP_LEFT)
        step_settle(store, segment + mark.goes % 4 - STEP_STAYS,
                    particles_cell_of(&store->box, position.x), mark.goes / 4, position, velocity,
                    mark.id);
}

/* Part 4 for particle i of a list that came to a segment. */
STEP_FN void step_settle_arrived(const struct particles_store *store,
                                 const struct particle_list *list, uint32_t i, uint32_t segment)
{
    const struct particle *particle = &list->item[i];
    const struct point position = {particle->x, particle->y};
    const struct point velocity = {particle->vx, particle->vy};
    step_settle(store, segment, particle->cell, particle->slot, position, velocity, particle->id);
}

#endif
