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
    if (all < 3 || all > INT32_MAX || particles * (uint64_t)processes >= UINT32_MAX) {
        if (speak)
            complain_as(&particles_program,
                        "a box of height %" PRIu64 " with %" PRIu64
                        " particles: the height is 3 at least, the particles are less than 2^32",
                        all, particles * (uint64_t)processes);
        return false;
    }

    /* Ten standard deviations of what a segment holds by chance; a twentieth of it in one step. */
    const double mean = (double)particles / (double)height;
    *box = (struct particles_box){.cells = (uint32_t)width,
                                  .segments = (uint32_t)height,
                                  .first = (uint32_t)(height * (uint64_t)process),
                                  .all = (uint32_t)all,
                                  .capacity = (uint32_t)(mean + 10 * sqrt(mean) + 32),
                                  .list_capacity = (uint32_t)(mean / 20 + 32)};
    return true;
}

uint64_t particles_all(const struct settings *settings, int processes)
{
    return settings->size[OF_PARTICLES] * (uint64_t)processes;
}

struct particle particles_initial(const struct settings *settings, const struct particles_box *box,
                                  uint64_t id)
{
    const uint64_t seed = settings->seed;
    return (struct particle){.x = random_unit(seed, 4 * id) * box->cells,
                             .y = random_unit(seed, 4 * id + 1) * box->all,
                             .vx = random_unit(seed, 4 * id + 2) - 0.5,
                             .vy = random_unit(seed, 4 * id + 3) - 0.5,
                             .id = (uint32_t)id};
}

/* Calls what(argument, segment, particle) for each particle in a block, by rising id; a segment may
 * be several blocks, if there are few processes. */
static void for_each(const struct settings *settings, int processes,
                     const struct particles_store *store,
                     void (*what)(const struct particles_store *store, uint32_t segment,
                                  const struct particle *particle))
{
    const struct particles_box *box = &store->box;
    const uint64_t all = particles_all(settings, processes);
    for (uint64_t id = 0; id < all; id++) {
        const struct particle particle = particles_initial(settings, box, id);
        const uint32_t global =
            (uint32_t)particle.y < box->all ? (uint32_t)particle.y : box->all - 1;
        const uint32_t own = global - box->first + 1; /* wraps, if it is before the part */
        if (own >= 1 && own <= box->segments)
            what(store, own, &particle);
        if (global == (box->first + box->all - 1) % box->all)
            what(store, 0, &particle);
        if (global == (box->first + box->segments) % box->all)
            what(store, box->segments + 1, &particle);
    }
}

static void count(const struct particles_store *store, uint32_t segment,
                  const struct particle *particle)
{
    particles_start(store, segment)[particles_cell_of(&store->box, particle->x)]++;
}

/* To the end of its cell; the starts move down to where they belong as the cells fill. */
static void insert(const struct particles_store *store, uint32_t segment,
                   const struct particle *particle)
{
    const uint32_t i =
        --particles_start(store, segment)[particles_cell_of(&store->box, particle->x)];
    particles_position(store, segment)[i] = (struct point){particle->x, particle->y};
    if (segment == 0 || segment > store->box.segments)
        return;
    particles_velocity(store, segment)[i] = (struct point){particle->vx, particle->vy};
    particles_id(store, segment)[i] = particle->id;
}

bool particles_fill(const struct settings *settings, int processes,
                    const struct particles_store *store)
{
    const struct particles_box *box = &store->box;
    for_each(settings, processes, store, count);
    for (uint32_t segment = 0; segment <= box->segments + 1; segment++) {
        uint32_t *start = particles_start(store, segment);
        for (uint32_t cell = 1; cell <= box->cells; cell++)
            start[cell] += start[cell - 1]; /* the end of each cell */
        if (start[box->cells] > box->capacity) {
            complain_as(&particles_program,
                        "%" PRIu32 " particles in a segment that holds %" PRIu32, start[box->cells],
                        box->capacity);
            return false;
        }
    }
    for_each(settings, processes, store, insert);
    return true;
}

bool particles_succeeded(uint32_t failure)
{
    if (failure == PARTICLES_FULL)
        complain_as(&particles_program,
                    "more particles came together than a segment or a list holds");
    else if (failure != 0)
        complain_as(&particles_program, "a particle moved farther than a segment in one step");
    return failure == 0;
}
