/*
 * md/two_model/main.c - the host: a box of particles, cut along x, y and z into one box a process.
 * A step: positions, ghosts to the neighbours of x, then y, then z, forces. When a particle has
 * moved half the skin, particles change owners, and all make their lists anew.
 */
#include "problem.h"
#include "random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum size { SIZE_PARTICLES, SIZE_NVE };

static const struct program md_program = {
    .name = "md",
    .about = "Particles of a Lennard-Jones fluid at density 0.382 and temperature 1.2.",
    .iterations = {300, 5000, 1000},
    .size = {{"particles", "in all", 500, 1 << 24, {1000, 4096, 65536}},
             {"nve", "1: constant energy", 0, 1, {1, 0, 0}},
             {0}},
};

#define TEMPERATURE 1.2
#define STEP        0.005
#define INERTIA     0.25 /* of the thermostat (Nose and Hoover's): its time 0.5, squared */
/* Steps until the lattice has melted; until the temperature has settled; forces that are checked.
 */
enum { MELTED = 150, SETTLED = 1000, CHECKED = 4096 };

/* ---- set up ---------------------------------------------------------------------------------- */

/* The grid of processes whose boxes have the least surface, and this one's place. */
static void choose_grid(struct problem *p)
{
    const int n = p->run.processes, me = p->run.process;
    int *const g = p->grid;

    memcpy(g, (int[3]){n, 1, 1}, 3 * sizeof(*g));
    for (int x = 1; x <= n; x++)
        for (int y = 1; x * y <= n; y++) {
            const int z = n / (x * y);
            if (x * y * z == n && x + y + z < g[0] + g[1] + g[2])
                memcpy(g, (int[3]){x, y, z}, 3 * sizeof(*g));
        }
    const int place[3] = {me % g[0], me / g[0] % g[1], me / (g[0] * g[1])};
    for (int d = 0; d < DIMENSIONS; d++) {
        const bool edge[SIDES] = {place[d] == 0, place[d] + 1 == g[d]};
        p->low[d] = p->length * place[d] / g[d];
        p->high[d] = p->length * (place[d] + 1) / g[d];
        p->pack[d].dimension = (uint32_t)d;
        for (int side = 0; side < SIDES; side++) {
            int other[3] = {place[0], place[1], place[2]};
            other[d] = (place[d] + (side ? 1 : g[d] - 1)) % g[d];
            p->near[d][side] = (other[2] * g[1] + other[1]) * g[0] + other[0];
            p->pack[d].shift[side] = (md_real)(edge[side] ? (side ? -p->length : p->length) : 0);
        }
    }
}

/* Device memory, from that address on; v, f and x come first. Returns its bytes. */
static size_t lay_out(struct problem *p, char *memory)
{
    struct md_step *s = &p->step;
    const size_t room = s->room, words = room * sizeof(uint32_t), four = room * sizeof(md_four);
    size_t used = 0;
#define TAKE(pointer, bytes) ((pointer) = (void *)(memory + used), used += ((bytes) + 63) / 64 * 64)
    TAKE(s->v, four), TAKE(s->f, four), TAKE(s->x, four), TAKE(s->x_then, four);
    TAKE(s->near, words * MD_NEAR), TAKE(s->near_count, words);
    TAKE(s->cell_order, words), TAKE(s->cell_start, (p->cells + 1) * sizeof(uint32_t));
    TAKE(s->sums, (room / MD_CHUNK + 1) * MD_SUMS * sizeof(double));
    for (int side = 0; side < SIDES; side++) {
        TAKE(p->mail[0][side], 2 * four), TAKE(p->mail[1][side], 2 * four);
        for (int d = 0; d < DIMENSIONS; d++) {
            TAKE(p->list[d][side], words);
            p->pack[d].list[side] = p->list[d][side];
            p->pack[d].x = s->x;
        }
    }
#undef TAKE
    return used;
}

static bool plan(void *state, size_t *bytes)
{
    struct problem *p = state;
    const double n = (double)p->run.settings->size[SIZE_PARTICLES];
    double shell = 1;

    p->length = cbrt(n / DENSITY);
    choose_grid(p);
    p->cells = 1;
    for (int d = 0; d < DIMENSIONS; d++) {
        /* Not high - low: all processes are to come to the same room. */
        const double wide = p->length / p->grid[d], all = wide + 2 * MD_REACH;
        if (wide < MD_REACH) {
            if (p->run.process == 0)
                complain("a process's box would be %.2f wide, and ghosts need %.2f", wide,
                         MD_REACH);
            return false;
        }
        p->step.cells[d] = (uint32_t)(all / MD_REACH);
        p->step.cell_low[d] = (md_real)(p->low[d] - MD_REACH);
        p->step.cell_width[d] = (md_real)(all / p->step.cells[d]);
        p->cells *= p->step.cells[d];
        shell *= all;
    }
    p->step.room = ((uint32_t)(2 * DENSITY * shell) + 1024) / 64 * 64; /* some boxes get denser */
    *bytes = lay_out(p, NULL);
    const size_t room = p->step.room;
    p->x = calloc(room, 8 * sizeof(*p->x));
    p->order = calloc(room + p->cells + 2, sizeof(*p->order));
    if (!p->x || !p->order) {
        complain("out of memory for %zu particles", room);
        return false;
    }
    p->v = p->x + room;
    for (size_t i = 0; i < SIDES; i++)
        p->out[i] = p->x + (2 + 2 * i) * room;
    p->in = p->x + 6 * room;
    p->start = p->order + room;
    return true;
}

static bool place(void *state)
{
    struct problem *p = state;

    p->run.threads = p->run.threads < MD_CHUNK ? p->run.threads : MD_CHUNK;
    lay_out(p, p->run.arena);
    return true;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static bool fetch(struct problem *p)
{
    return machine_copy(p->x, p->step.x, p->step.own * sizeof(md_four)) &&
           machine_copy(p->v, p->step.v, p->step.own * sizeof(md_four)) &&
           machine_copy(p->in, p->step.f, p->step.own * sizeof(md_four));
}

static bool total_energy(struct problem *p, double *energy)
{
    *energy = 0;
    if (!fetch(p))
        return false;
    for (uint32_t i = 0; i < p->step.own; i++) {
        *energy += (double)p->in[i].c[3];
        for (int d = 0; d < 3; d++)
            *energy += (double)p->v[i].c[d] * (double)p->v[i].c[d] / 2;
    }
    return exchange_sum(energy, 1);
}

/* A Gaussian of mean 0 and variance 1, by Box and Muller. */
static double velocity(const struct problem *p, uint64_t particle, uint64_t d)
{
    const uint64_t seed = p->run.settings->seed, index = 2 * (3 * particle + d);
    return sqrt(-2 * log(1 - random_unit(seed, index))) *
           cos(2 * acos(-1) * random_unit(seed, index + 1));
}

/* Particles on a lattice, with velocities of the temperature and without a sum. */
static bool begin(void *state)
{
    struct problem *p = state;
    const uint64_t n = p->run.settings->size[SIZE_PARTICLES];
    const uint64_t side = (uint64_t)ceil(cbrt((double)n) - 1e-9);
    double mean[3] = {0, 0, 0}, square = 0;

    for (uint64_t i = 0; i < 3 * n; i++) {
        const double v = velocity(p, i / 3, i % 3);
        mean[i % 3] += v / (double)n;
        square += v * v;
    }
    for (int d = 0; d < 3; d++)
        square -= mean[d] * mean[d] * (double)n;
    const double scale = sqrt(3 * ((double)n - 1) * TEMPERATURE / square);
    p->step.own = 0;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t at[3] = {i % side, i / side % side, i / (side * side)};
        bool mine = true;
        md_four x = {.c = {[3] = (md_real)i}}, v = {{0}};
        for (uint64_t d = 0; d < 3; d++) {
            const double where = ((double)at[d] + 0.5) * p->length / (double)side;
            mine = mine && where >= p->low[d] && where < p->high[d];
            x.c[d] = (md_real)where;
            v.c[d] = (md_real)((velocity(p, i, d) - mean[d]) * scale);
        }
        if (mine) {
            p->x[p->step.own] = x;
            p->v[p->step.own++] = v;
        }
    }
    p->xi = p->heat = 0;
    p->step.dt = 0;
    p->step.drag = 1;
    if (!md_rebuild(p))
        return false;
    launch_md_force(&p->step, (p->step.own + MD_CHUNK - 1) / MD_CHUNK, 1, p->run.threads);
    return true;
}

static bool one_step(void *state, uint64_t k)
{
    struct problem *p = state;
    const double n = (double)p->run.settings->size[SIZE_PARTICLES];
    double sums[MD_SUMS];
    bool good;

    p->step.dt = (md_real)STEP;
    p->step.drag = (md_real)exp(-p->xi * STEP / 2);
    launch_md_move(&p->step, (p->step.own + MD_CHUNK - 1) / MD_CHUNK, 1, p->run.threads);
    if (!md_sum_up(p, sums))
        return false;
    const double temperature = 2 * sums[0] / (3 * (n - 1));
    p->heat += k >= SETTLED ? temperature : 0;
    if (!p->run.settings->size[SIZE_NVE])
        p->xi += STEP / INERTIA * (temperature / TEMPERATURE - 1);
    p->step.drag = (md_real)exp(-p->xi * STEP / 2);
    good = sums[1] > 0 ? fetch(p) && md_rebuild(p) : md_pass_ghosts(p);
    launch_md_force(&p->step, (p->step.own + MD_CHUNK - 1) / MD_CHUNK, 1, p->run.threads);
    if (p->run.settings->verify && k == p->run.settings->iterations / 2)
        good = good && total_energy(p, &p->energy[0]);
    return good;
}

/* ---- check ----------------------------------------------------------------------------------- */

/* In the device's x the places after the own particles are marked: nobody's. */
static bool finish(void *state)
{
    struct problem *p = state;
    const size_t room = p->step.room, own = p->step.own;

    if (!total_energy(p, &p->energy[1]))
        return false;
    for (size_t i = own; i < room; i++)
        p->x[i].c[3] = -1;
    return machine_copy(p->step.x + own, p->x + own, (room - own) * sizeof(md_four));
}

static const void *result(const void *state, size_t *bytes)
{
    const struct problem *p = state;
    *bytes = (size_t)((char *)p->step.x_then - (char *)p->step.v);
    return p->step.v;
}

/* The largest part of a force that differs from the sum over all pairs, for some particles. */
static double wrong_force(const struct problem *p, const md_four *x, const md_four *f, uint64_t n)
{
    double worst = 0, largest = 0;

    for (uint64_t i = 0; i < n && i < CHECKED; i++) {
        double sum[3] = {0, 0, 0};
        for (uint64_t j = 0; j < n; j++) {
            double r[3], r2 = 0;
            for (int d = 0; d < 3; d++) {
                r[d] = (double)x[i].c[d] - (double)x[j].c[d];
                r[d] -= p->length * round(r[d] / p->length);
                r2 += r[d] * r[d];
            }
            for (int d = 0; d < 3 && j != i && r2 < MD_CUT * MD_CUT; d++)
                sum[d] += r[d] * (48 * pow(r2, -7) - 24 * pow(r2, -4));
        }
        for (int d = 0; d < 3; d++) {
            worst = fmax(worst, fabs(sum[d] - (double)f[i].c[d]));
            largest = fmax(largest, fabs(sum[d]));
        }
    }
    return worst / largest;
}

static bool check(const void *state, const void *all)
{
    const struct problem *p = state;
    const struct settings *settings = p->run.settings;
    const uint64_t n = settings->size[SIZE_PARTICLES], steps = settings->iterations;
    const size_t room = p->step.room, part = 3 * room;
    const bool exact = sizeof(md_real) == sizeof(double);
    md_four *const x = calloc(n, 2 * sizeof(*x)), *const f = x + n;
    double momentum[3] = {0, 0, 0}, strange = 0;

    if (!x) {
        complain("out of memory for the check");
        return false;
    }
    for (uint64_t i = 0; i < n; i++)
        x[i].c[3] = -1;
    for (size_t i = 0; i < room * (size_t)p->run.processes; i++) {
        const md_four *const v = (const md_four *)all + i / room * part + i % room;
        const double number = (double)v[2 * room].c[3];
        if (number < 0)
            continue;
        const uint64_t id = (uint64_t)number;
        strange += id >= n || x[id].c[3] >= 0;
        if (id < n) {
            x[id] = v[2 * room];
            f[id] = v[room];
        }
        for (int d = 0; d < 3; d++)
            momentum[d] += (double)v->c[d];
    }
    for (uint64_t i = 0; i < n; i++)
        strange += x[i].c[3] < 0;
    bool good = report_check(settings, "particles missing or twice", strange, 0);
    good &= report_check(settings, "momentum of a particle",
                         (fabs(momentum[0]) + fabs(momentum[1]) + fabs(momentum[2])) / (double)n,
                         exact ? 1e-10 : 1e-4);
    good &= report_check(settings, "forces, from the sum over all pairs", wrong_force(p, x, f, n),
                         exact ? 1e-10 : 1e-3);
    if (settings->size[SIZE_NVE] && steps >= 2 * MELTED)
        good &=
            report_check(settings, "change of the energy, of what is kinetic",
                         fabs(p->energy[1] - p->energy[0]) / (1.5 * (double)n * TEMPERATURE), 1e-4);
    if (!settings->size[SIZE_NVE] && steps >= 2 * SETTLED)
        good &= report_check(settings, "temperature, from 1.2",
                             fabs(p->heat / (double)(steps - SETTLED) - TEMPERATURE), 0.05);
    free(x);
    return good;
}

static void end(void *state)
{
    struct problem *p = state;
    free(p->x);
    free(p->order);
}

const struct model two_model = {
    .program = &md_program,
    .state_bytes = sizeof(struct problem),
    .threads = MD_CHUNK,
    .plan = plan,
    .place = place,
    .begin = begin,
    .step = one_step,
    .finish = finish,
    .result = result,
    .check = check,
    .end = end,
};
