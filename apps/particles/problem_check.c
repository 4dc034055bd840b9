/*
 * particles/problem_check.c - the serial reference: particles in lists by cell, every pair by its
 * nearest images; and the comparison.
 */
#include "initial.h"
#include "problem.h"
#include "report.h"

#include <stdlib.h>

struct world {
    size_t count;
    long width, height; /* in cells */
    struct particle *particle;
    struct point *force;
    size_t *first; /* of each cell, its first particle, and after a particle the next: index + 1 */
    size_t *next;
};

static bool make_world(struct world *world, const struct settings *settings, int processes,
                       const struct particles_box *box)
{
    *world = (struct world){
        .count = particles_all(settings, processes), .width = box->width, .height = box->all};
    world->particle = malloc(world->count * sizeof(*world->particle));
    world->force = malloc(world->count * sizeof(*world->force));
    world->next = malloc(world->count * sizeof(*world->next));
    world->first = malloc((size_t)(world->width * world->height) * sizeof(*world->first));
    if (!world->particle || !world->force || !world->next || !world->first)
        return false;
    for (size_t i = 0; i < world->count; i++)
        world->particle[i] = particles_initial(settings, box, i);
    return true;
}

static void free_world(struct world *world)
{
    free(world->particle);
    free(world->force);
    free(world->next);
    free(world->first);
}

static size_t cell_of(const struct world *world, long x, long y)
{
    x = (x + world->width) % world->width;
    y = (y + world->height) % world->height;
    return (size_t)(y * world->width + x);
}

static void fill_cells(struct world *world)
{
    for (size_t cell = 0; cell < (size_t)(world->width * world->height); cell++)
        world->first[cell] = 0;
    for (size_t i = 0; i < world->count; i++) {
        const size_t cell = cell_of(world, (long)world->particle[i].x, (long)world->particle[i].y);
        world->next[i] = world->first[cell];
        world->first[cell] = i + 1;
    }
}

/* A difference of coordinates, to the nearest image. */
static double nearest(double difference, double size)
{
    return difference - size * round(difference / size);
}

static struct point force_on(const struct world *world, size_t i)
{
    const struct particle *me = &world->particle[i];
    struct point force = {0, 0};
    for (long cell = 0; cell < 9; cell++) {
        const long x = (long)me->x + cell % 3 - 1, y = (long)me->y + cell / 3 - 1;
        for (size_t j = world->first[cell_of(world, x, y)]; j > 0; j = world->next[j - 1]) {
            const double dx = nearest(me->x - world->particle[j - 1].x, (double)world->width);
            const double dy = nearest(me->y - world->particle[j - 1].y, (double)world->height);
            const double r = hypot(dx, dy);
            if (j - 1 == i || r >= 1 || r == 0)
                continue;
            force.x += PARTICLES_STIFFNESS * (1 - r) * dx / r;
            force.y += PARTICLES_STIFFNESS * (1 - r) * dy / r;
        }
    }
    return force;
}

static void serial_step(struct world *world)
{
    fill_cells(world);
    for (size_t i = 0; i < world->count; i++)
        world->force[i] = force_on(world, i);
    for (size_t i = 0; i < world->count; i++) {
        struct particle *p = &world->particle[i];
        p->vx += PARTICLES_STEP * world->force[i].x;
        p->vy += PARTICLES_STEP * world->force[i].y;
        p->x = fmod(p->x + PARTICLES_STEP * p->vx + (double)world->width, (double)world->width);
        p->y = fmod(p->y + PARTICLES_STEP * p->vy + (double)world->height, (double)world->height);
    }
}

/* What a comparison finds. */
struct found {
    double seen, twice; /* particles */
    struct point momentum;
    double worst;
};

/* One process's particles. seen: of each particle, whether it was there already. */
static void compare(const struct world *world, const struct particles_store *store, bool *seen,
                    struct found *found)
{
    for (uint32_t segment = 0; segment < store->box.segments; segment++) {
        for (uint32_t i = 0; i < particles_count(store, segment); i++) {
            const uint32_t id = particles_id(store, segment)[i];
            const struct point at = particles_position(store, segment)[i];
            const struct point v = particles_velocity(store, segment)[i];
            found->momentum.x += v.x;
            found->momentum.y += v.y;
            if (id >= world->count || seen[id]) {
                found->twice++;
                continue;
            }
            seen[id] = true;
            found->seen++;
            const struct particle *expected = &world->particle[id];
            const double off = hypot(nearest(at.x - expected->x, (double)world->width),
                                     nearest(at.y - expected->y, (double)world->height));
            if (!(off <= found->worst))
                found->worst = off; /* and NaN, which stays */
        }
    }
}

bool particles_check(const struct settings *settings, int processes,
                     const struct particles_store *store, const char *arenas)
{
    struct world world;
    struct found found = {0};
    struct point before = {0, 0};
    double speed = 0;
    bool *seen = calloc(particles_all(settings, processes), sizeof(*seen));
    if (!make_world(&world, settings, processes, &store->box) || !seen) {
        complain("out of memory for the serial reference");
        free_world(&world);
        free(seen);
        return false;
    }
    for (size_t i = 0; i < world.count; i++) {
        before.x += world.particle[i].vx;
        before.y += world.particle[i].vy;
        speed += hypot(world.particle[i].vx, world.particle[i].vy);
    }
    for (uint64_t k = 0; k < settings->iterations; k++)
        serial_step(&world);
    for (int process = 0; process < processes; process++) {
        struct particles_store of_process = *store;
        of_process.arena = (char *)arenas + (size_t)process * particles_checked(store);
        compare(&world, &of_process, seen, &found);
    }
    const double missing = (double)world.count - found.seen + found.twice;
    free_world(&world);
    free(seen);
    const double change = hypot(found.momentum.x - before.x, found.momentum.y - before.y) / speed;
    bool good = report_check(settings, "particles lost or doubled", missing, 0);
    good &= report_check(settings, "change of the momentum, of the sum of speeds", change, 1e-12);
    good &= report_check(settings, "distance from the serial run's places", found.worst, 1e-9);
    return good;
}
