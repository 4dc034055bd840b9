/*
 * lbm/two_model/main.c - the host: a drop of one fluid in the other, in a periodic box that is cut
 * along z. A step: phi, its planes to both neighbours, collisions, what crosses the faces to both.
 */
#include "lbm.h"
#include "model.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum size { SIZE_NX, SIZE_NY, SIZE_NZ, SIZE_RADIUS, SIZE_PIECES };

static const struct program lbm_program = {
    .name = "lbm",
    .about =
        "A drop in another fluid, by a lattice Boltzmann method, in a box that is cut along z.",
    .iterations = {50, 2000, 200},
    .size = {{"nx", "points along x", 1, 4096, {16, 32, 96}},
             {"ny", "points along y", 1, 4096, {16, 32, 96}},
             {"nz", "points along z, in all", 1, 65535, {16, 4, 64}},
             {"radius", "of the drop", 1, 4096, {4, 8, 24}},
             {"pieces", "1: six messages a face", 0, 1, {0, 0, 0}},
             {0}},
};

/* A slab: its first plane of the box, and its two steps, which take turns. */
struct slab {
    uint32_t first;
    struct lbm_step step[2];
};

/* Sums over the box, of n and phi; and both at a point inside of the drop and at one outside. */
struct sums {
    double n, phi, inside[2], outside[2];
};

struct problem {
    struct model_run run;
    struct slab mine, whole;            /* whole: the box as one slab, for the check */
    size_t mine_numbers, whole_numbers; /* of their memory in the arena */
    struct sums before, after;
    double wrong; /* numbers that the check found */
};

/* Numbers of a slab's memory: two fields, what crosses faces, phi. The same for all slabs. */
enum part { FIELD_0, FIELD_1, CROSSING, PHI, END };

static size_t offset(const struct lbm_step *s, uint64_t planes, enum part part)
{
    const size_t field = (LBM_F + LBM_G) * planes * lbm_plane(s);
    const size_t crossing = 2 * LBM_SIDES * LBM_CROSS * lbm_plane(s);
    const size_t at[] = {0, field, 2 * field, 2 * field + crossing,
                         2 * field + crossing + (planes + 2) * lbm_plane(s)};
    return at[part];
}

/* The planes of a process. */
static uint32_t first_plane(const struct settings *settings, int process, int processes)
{
    return (uint32_t)(settings->size[SIZE_NZ] * (uint64_t)process / (uint64_t)processes);
}

static uint64_t most_planes(const struct settings *settings, int processes)
{
    return (settings->size[SIZE_NZ] + (uint64_t)processes - 1) / (uint64_t)processes;
}

static double phi_at(const struct settings *settings, uint32_t x, uint32_t y, uint32_t z)
{
    const uint64_t *size = settings->size;
    const double at[3] = {x, y, z}, off[3] = {0.3, -0.2, 0.4}; /* no symmetry hides a mistake */
    double square = 0;

    for (int d = 0; d < 3; d++) {
        const double r = at[d] - ((double)size[d] - 1) / 2 - off[d];
        square += r * r;
    }
    return tanh(((double)size[SIZE_RADIUS] - sqrt(square)) / 2);
}

/* The slab at rest, in its memory on the host, which is zero so far. */
static void fill(const struct settings *settings, const struct slab *slab, lbm_real *memory)
{
    const struct lbm_step *s = &slab->step[0];
    const size_t plane = lbm_plane(s);

    for (uint32_t z = 0; z < s->nz; z++)
        for (size_t at = 0; at < plane; at++)
            memory[((size_t)LBM_F * s->nz + z) * plane + at] = (lbm_real)phi_at(
                settings, (uint32_t)(at % s->nx), (uint32_t)(at / s->nx), slab->first + z);
}

static void set_pointers(struct slab *slab, uint64_t planes, lbm_real *memory)
{
    const size_t crossing = LBM_CROSS * lbm_plane(&slab->step[0]);

    slab->step[1] = slab->step[0];
    for (int k = 0; k < 2; k++) {
        struct lbm_step *s = &slab->step[k];
        lbm_real *const cross = memory + offset(s, planes, CROSSING);
        s->in = memory + offset(s, planes, k == 0 ? FIELD_0 : FIELD_1);
        s->out = memory + offset(s, planes, k == 0 ? FIELD_1 : FIELD_0);
        s->phi = memory + offset(s, planes, PHI);
        /* Alone, what goes up comes from below in the next step. */
        const bool turned = s->alone && k == 1;
        for (size_t side = 0; side < LBM_SIDES; side++) {
            s->from[side] = cross + (turned ? 2 + side : side) * crossing;
            s->to[side] = cross + (s->alone ? (turned ? 0 : 2) + 1 - side : 2 + side) * crossing;
        }
    }
}

static bool plan(void *state, size_t *bytes)
{
    struct problem *p = state;
    const struct settings *settings = p->run.settings;
    const uint64_t *size = settings->size, planes = most_planes(settings, p->run.processes);

    if (size[SIZE_NZ] < (uint64_t)p->run.processes) {
        if (p->run.process == 0)
            complain("--nz %" PRIu64 " is less than a plane for each of %d processes",
                     size[SIZE_NZ], p->run.processes);
        return false;
    }
    p->mine.first = first_plane(settings, p->run.process, p->run.processes);
    const uint32_t end = first_plane(settings, p->run.process + 1, p->run.processes);
    p->mine.step[0] = (struct lbm_step){.nx = (uint32_t)size[SIZE_NX],
                                        .ny = (uint32_t)size[SIZE_NY],
                                        .nz = end - p->mine.first,
                                        .alone = p->run.processes == 1};
    p->whole.step[0] = p->mine.step[0];
    p->whole.step[0].nz = (uint32_t)size[SIZE_NZ];
    p->whole.step[0].alone = true;
    p->mine_numbers = offset(&p->mine.step[0], planes, END);
    p->whole_numbers = settings->verify ? offset(&p->whole.step[0], size[SIZE_NZ], END) : 0;
    *bytes = (p->mine_numbers + p->whole_numbers) * sizeof(lbm_real);
    lbm_real *const start = model_start(&p->run, *bytes);
    if (!start)
        return false;
    fill(settings, &p->mine, start);
    if (settings->verify)
        fill(settings, &p->whole, start + p->mine_numbers);
    return true;
}

static bool place(void *state)
{
    struct problem *p = state;
    lbm_real *const memory = (lbm_real *)p->run.arena;

    set_pointers(&p->mine, most_planes(p->run.settings, p->run.processes), memory);
    set_pointers(&p->whole, p->run.settings->size[SIZE_NZ], memory + p->mine_numbers);
    return true;
}

/* To both neighbours: `pieces` messages of `numbers` numbers each. */
static bool exchange(const struct problem *p, lbm_real *const to[], const lbm_real *const from[],
                     size_t pieces, size_t numbers)
{
    const int n = p->run.processes, me = p->run.process;
    const int near[LBM_SIDES] = {(me + n - 1) % n, (me + 1) % n};
    struct message sends[LBM_SIDES * LBM_CROSS], receives[LBM_SIDES * LBM_CROSS];
    int count = 0;

    if (n == 1)
        return true;
    for (size_t side = 0; side < LBM_SIDES; side++)
        for (size_t i = 0; i < pieces; i++, count++) {
            const size_t bytes = numbers * sizeof(lbm_real);
            const char *const source = (const char *)to[side] + i * bytes;
            const char *const target = (const char *)from[side] + i * bytes;
            /* The slot says through which side of the receiver it comes. */
            sends[count] = (struct message){.process = near[side],
                                            .slot = (int)((1 - side) * LBM_CROSS + i),
                                            .from = (size_t)(source - p->run.arena),
                                            .bytes = bytes};
            receives[count] = (struct message){.process = near[side],
                                               .slot = (int)(side * LBM_CROSS + i),
                                               .to = (size_t)(target - p->run.arena),
                                               .bytes = bytes};
        }
    return model_exchange(sends, count, receives, count);
}

/* A step of a slab; with a problem: of its own, with exchange. */
static bool launch(const struct lbm_step *s, uint32_t threads, const struct problem *p)
{
    const size_t plane = lbm_plane(s);
    lbm_real *const faces[LBM_SIDES] = {s->phi + plane, s->phi + s->nz * plane};
    const lbm_real *const beyond[LBM_SIDES] = {s->phi, s->phi + (s->nz + 1) * plane};

    launch_lbm_densities(s, s->ny, s->nz, threads);
    if (p && !exchange(p, faces, beyond, 1, plane))
        return false;
    launch_lbm_collisions(s, s->ny, s->nz, threads);
    const size_t pieces = p && p->run.settings->size[SIZE_PIECES] ? LBM_CROSS : 1;
    return !p || exchange(p, s->to, s->from, pieces, LBM_CROSS / pieces * plane);
}

static bool one_step(void *state, uint64_t k)
{
    const struct problem *p = state;
    return launch(&p->mine.step[k % 2], p->run.threads, p);
}

/* ---- check ----------------------------------------------------------------------------------- */

static struct sums sums_of(const struct lbm_step *s)
{
    const size_t plane = lbm_plane(s), middle = (size_t)(s->ny / 2) * s->nx + s->nx / 2;
    struct sums sums = {0};

    for (uint32_t z = 0; z < s->nz; z++)
        for (size_t at = 0; at < plane; at++) {
            double n = 0, phi = 0;
            for (int i = 0; i < LBM_F + LBM_G; i++)
                *(i < LBM_F ? &n : &phi) += (double)lbm_in(s, i, z, at);
            sums.n += n;
            sums.phi += phi;
            if (z == s->nz / 2 && at == middle)
                memcpy(sums.inside, (double[2]){n, phi}, sizeof(sums.inside));
            if (z == 0 && at == 0)
                memcpy(sums.outside, (double[2]){n, phi}, sizeof(sums.outside));
        }
    return sums;
}

static double pressure(const double at[2])
{
    const double a = (double)LBM_A, well = at[1] * at[1] - 1;
    return at[0] / 3 + 4 * a * at[1] * at[1] * well - a * well * well;
}

static double box_of(const struct problem *p)
{
    const uint64_t *size = p->run.settings->size;
    return (double)(size[SIZE_NX] * size[SIZE_NY] * size[SIZE_NZ]);
}

/* Laplace's law: the pressure in the drop is higher by twice the tension over its radius. */
static bool check_drop(const struct problem *p)
{
    const double *in = p->after.inside, *out = p->after.outside;
    const double volume = (p->after.phi - box_of(p) * out[1]) / (in[1] - out[1]);
    const double tension = 4 * sqrt(2 * (double)LBM_KAPPA * (double)LBM_A) / 3;
    const double wanted = 2 * tension / cbrt(3 * volume / (4 * acos(-1)));

    return report_check(p->run.settings, "pressure in the drop, from 2 tension / radius",
                        fabs(pressure(in) - pressure(out) - wanted) / wanted, 0.05);
}

/* Each process runs the box as one slab, too, with the same kernels, and compares its planes. */
static bool finish(void *state)
{
    struct problem *p = state;
    const struct settings *settings = p->run.settings;
    const size_t numbers = p->mine_numbers + p->whole_numbers, k = settings->iterations % 2;
    struct slab mine = p->mine, whole = p->whole;

    if (!settings->verify)
        return true;
    for (uint64_t i = 0; i < settings->iterations; i++)
        launch(&p->whole.step[i % 2], p->run.threads, NULL);
    lbm_real *const memory = malloc(numbers * sizeof(*memory));
    if (!memory) {
        complain("out of memory for the check");
        return false;
    }
    const bool good = machine_copy(memory, p->run.arena, numbers * sizeof(*memory));
    set_pointers(&mine, most_planes(settings, p->run.processes), memory);
    set_pointers(&whole, settings->size[SIZE_NZ], memory + p->mine_numbers);
    p->wrong = 0;
    for (uint32_t z = 0; z < mine.step[k].nz; z++)
        for (size_t at = 0; at < lbm_plane(&mine.step[k]); at++)
            for (int i = 0; i < LBM_F + LBM_G; i++) {
                const lbm_real got = lbm_in(&mine.step[k], i, z, at);
                const lbm_real want = lbm_in(&whole.step[k], i, mine.first + z, at);
                p->wrong += memcmp(&got, &want, sizeof(got)) != 0;
            }
    p->after = sums_of(&whole.step[k]);
    set_pointers(&whole, settings->size[SIZE_NZ],
                 (lbm_real *)(void *)p->run.start + p->mine_numbers);
    p->before = sums_of(&whole.step[0]);
    free(memory);
    return good && exchange_sum(&p->wrong, 1);
}

/* All is known to process 0 from `finish`. */
static const void *result(const void *state, size_t *bytes)
{
    *bytes = sizeof(lbm_real);
    return ((const struct problem *)state)->run.arena;
}

static bool check(const void *state, const void *all)
{
    const struct problem *p = state;
    const struct settings *settings = p->run.settings;
    const double limit = sizeof(lbm_real) == sizeof(double) ? 1e-12 : 1e-5, box = box_of(p);
    const uint64_t *size = settings->size;
    bool good = report_check(settings, "numbers that differ from one process's", p->wrong, 0);

    (void)all;
    good &= report_check(settings, "change of the density's sum",
                         fabs(p->after.n - p->before.n) / box, limit);
    good &= report_check(settings, "change of phi's sum", fabs(p->after.phi - p->before.phi) / box,
                         limit);
    if (settings->iterations >= 4000 && size[SIZE_NX] >= 4 * size[SIZE_RADIUS] &&
        size[SIZE_NY] >= 4 * size[SIZE_RADIUS] && size[SIZE_NZ] >= 4 * size[SIZE_RADIUS])
        good &= check_drop(p);
    return good;
}

const struct model two_model = {
    .program = &lbm_program,
    .state_bytes = sizeof(struct problem),
    .threads = 32,
    .plan = plan,
    .place = place,
    .step = one_step,
    .finish = finish,
    .result = result,
    .check = check,
};
