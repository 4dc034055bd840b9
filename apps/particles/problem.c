/*
 * particles/problem.c - sizes and initial conditions.
 */
#include "problem.h"

#include "initial.h"
#include "random.h"

#include <inttypes.h>
#include <stdlib.h>

enum { OF_WIDTH, OF_HEIGHT, OF_PARTICLES };

const struct program particles_program = {
    .name = "particles",
    .about = "Soft spheres in a box that repeats, cut into segments as high as the forces reach.",
    .iterations = {20, 100, 50},
    .size = {{"width", "of the box", 3, 1 << 20, {12, 416, 1664}},
             {"height", "of a process's part", 1, 1 << 20, {8, 416, 1664}},
             {"particles", "of a process", 1, INT32_MAX, {228, 410600, 6569600}},
             {0}},
};

bool particles_make_box(const struct settings *settings, int process, int processes, bool speak,
                        struct particles_box *box)
{
    const uint64_t width = settings->size[OF_WIDTH], height = settings->size[OF_HEIGHT];
    const uint64_t particles = settings->size[OF_PARTICLES], all = height * (uint64_t)processes;
    if (all < 3 || all > INT32_MAX || particles * (uint64_t)processes >= UINT32_MAX ||
        width * (height + 2) > INT32_MAX) {
        if (speak)
            complain("a box of height %" PRIu64 " and %" PRIu64 " cells a process, with %" PRIu64
                     " particles: the height is 3 at least, the cells are less than 2^31, the "
                     "particles less than 2^32",
                     all, width * height, particles * (uint64_t)processes);
        return false;
    }
    *box = (struct particles_box){.width = (uint32_t)width,
                                  .rows = (uint32_t)height,
                                  .first = (uint32_t)(height * (uint64_t)process),
                                  .all = (uint32_t)all};
    return true;
}

/* Ten standard deviations more than what so many cells hold on average. */
static uint32_t capacity_of(const struct settings *settings, const struct particles_box *box,
                            uint32_t cells)
{
    const double mean = (double)settings->size[OF_PARTICLES] / particles_cells(box) * (double)cells;
    return (uint32_t)(mean + 10 * sqrt(mean) + 32);
}

void particles_divide(const struct settings *settings, uint32_t segments, uint32_t less,
                      struct particles_box *box)
{
    /* A particle's column is anyone's in the row above or below: no farther than the next segment.
     */
    const uint32_t cells = particles_cells(box), least = 2 * box->width - 1;
    const bool anywhere = cells / segments >= least;
    const uint32_t grain = anywhere ? 1 : box->width;
    box->segments = segments;
    box->grain = grain;
    box->less = anywhere && segments > 2 && cells / segments >= least + less ? less : 0;
    const uint32_t grains = (cells + 2 * box->less) / grain;
    box->each = grains / segments * grain;
    box->more = grains % segments;
    box->capacity = capacity_of(settings, box, particles_most_cells(box));
    box->row_capacity = capacity_of(settings, box, box->width);
    box->list_capacity = /* a twentieth of a row in one step */
        (uint32_t)((double)settings->size[OF_PARTICLES] / box->rows / 20 + 32);
}

uint64_t particles_all(const struct settings *settings, int processes)
{
    return settings->size[OF_PARTICLES] * (uint64_t)processes;
}

struct particle particles_initial(const struct settings *settings, const struct particles_box *box,
                                  uint64_t id)
{
    const uint64_t seed = settings->seed;
    return (struct particle){.x = random_unit(seed, 4 * id) * box->width,
                             .y = random_unit(seed, 4 * id + 1) * box->all,
                             .vx = random_unit(seed, 4 * id + 2) - 0.5,
                             .vy = random_unit(seed, 4 * id + 3) - 0.5,
                             .id = (uint32_t)id};
}

/* A segment or a halo. */
struct block {
    uint32_t *start;
    uint32_t cells, capacity;
    struct point *position;
    struct point *velocity; /* NULL for halos */
    uint32_t *id;
};

static struct block segment_block(const struct particles_store *store, uint32_t segment)
{
    const struct particles_box *box = &store->box;
    return (struct block){.start = particles_start(store, segment),
                          .cells =
                              particles_first(box, segment + 1) - particles_first(box, segment),
                          .capacity = box->capacity,
                          .position = particles_position(store, segment),
                          .velocity = particles_velocity(store, segment),
                          .id = particles_id(store, segment)};
}

static struct block halo_block(const struct particles_store *store, uint32_t side)
{
    return (struct block){.start = particles_halo_start(store, side),
                          .cells = store->box.width,
                          .capacity = store->box.row_capacity,
                          .position = particles_halo_position(store, side)};
}

static uint32_t segment_of(const struct particles_box *box, uint32_t cell)
{
    uint32_t low = 0, end = box->segments;
    while (end - low > 1) {
        const uint32_t middle = low + (end - low) / 2;
        if (particles_first(box, middle) <= cell)
            low = middle;
        else
            end = middle;
    }
    return low;
}

/* Calls what(block, cell of the block, particle) for each particle in a block, by rising id; a row
 * may be in several blocks, if there are few processes. */
static void
for_each(const struct settings *settings, int processes, const struct particles_store *store,
         void (*what)(const struct block *block, uint32_t cell, const struct particle *particle))
{
    const struct particles_box *box = &store->box;
    const struct block below = halo_block(store, 0), above = halo_block(store, 1);
    const uint64_t all = particles_all(settings, processes);
    for (uint64_t id = 0; id < all; id++) {
        const struct particle particle = particles_initial(settings, box, id);
        const uint32_t row = particles_row(box, particle.y);
        const uint32_t column = particles_column(box, particle.x);
        const uint32_t own = row - box->first; /* wraps, if it is before the part */
        if (own < box->rows) {
            const uint32_t cell = own * box->width + column, segment = segment_of(box, cell);
            const struct block block = segment_block(store, segment);
            what(&block, cell - particles_first(box, segment), &particle);
        }
        if (row == (box->first + box->all - 1) % box->all)
            what(&below, column, &particle);
        if (row == (box->first + box->rows) % box->all)
            what(&above, column, &particle);
    }
}

static void count(const struct block *block, uint32_t cell, const struct particle *particle)
{
    (void)particle;
    block->start[cell]++;
}

/* To the end of its cell; the starts move down to where they belong as the cells fill. */
static void insert(const struct block *block, uint32_t cell, const struct particle *particle)
{
    const uint32_t i = --block->start[cell];
    block->position[i] = (struct point){particle->x, particle->y};
    if (!block->velocity)
        return;
    block->velocity[i] = (struct point){particle->vx, particle->vy};
    block->id[i] = particle->id;
}

/* From the counts of its cells to the end of each. False: there are too many, and it has said so.
 */
static bool make_room(const struct block *block)
{
    for (uint32_t cell = 1; cell <= block->cells; cell++)
        block->start[cell] += block->start[cell - 1];
    const uint32_t all = block->start[block->cells];
    if (all > block->capacity)
        complain("%" PRIu32 " particles in %" PRIu32 " cells that hold %" PRIu32, all, block->cells,
                 block->capacity);
    return all <= block->capacity;
}

bool particles_fill(const struct settings *settings, int processes,
                    const struct particles_store *store)
{
    for_each(settings, processes, store, count);
    for (uint32_t segment = 0; segment < store->box.segments; segment++) {
        const struct block block = segment_block(store, segment);
        if (!make_room(&block))
            return false;
    }
    for (uint32_t side = 0; side < 2; side++) {
        const struct block block = halo_block(store, side);
        if (!make_room(&block))
            return false;
    }
    for_each(settings, processes, store, insert);
    return true;
}

bool particles_succeeded(uint32_t failure)
{
    if (failure == PARTICLES_FULL)
        complain("more particles came together than a segment or a list holds");
    else if (failure != 0)
        complain("a particle moved farther than a row in one step");
    return failure == 0;
}
