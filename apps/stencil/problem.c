/*
 * stencil/problem.c - see problem.h.
 */
#include "problem.h"

#include "random.h"
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_NX, SIZE_ROWS, SIZE_NZ, SIZE_MESSAGES };

const struct program stencil_program = {
    .name = "stencil",
    .about = "Horizontal diffusion on a three-dimensional grid, cut into slabs of rows.",
    .iterations = {20, 200, 50},
    .size = {{"nx", "points of a row", 1, 1 << 16, {32, STENCIL_WIDTH, STENCIL_WIDTH}},
             {"rows", "rows of a process", 1, 1 << 24, {12, 320, 8448}},
             {"nz", "planes", 1, 1 << 16, {5, STENCIL_PLANES, STENCIL_PLANES}},
             {"message-a-plane", "1: a put for each plane", 0, 1, {0, 0, 0}},
             {0}},
};

bool stencil_make_part(const struct settings *settings, int process, int processes, bool speak,
                       struct stencil_part *part)
{
    const uint64_t rows = settings->size[SIZE_ROWS], all = rows * (uint64_t)processes;
    if (all > INT32_MAX) {
        if (speak)
            complain("%" PRIu64 " rows in all are more than %d", all, INT32_MAX);
        return false;
    }
    const uint64_t nx = settings->size[SIZE_NX], most = UINT32_MAX / (nx * sizeof(double)) - 2;
    if (rows > most) {
        if (speak)
            complain("%" PRIu64 " rows of %" PRIu64 " points: a plane of 4 GiB has %" PRIu64, rows,
                     nx, most);
        return false;
    }
    *part = (struct stencil_part){.nx = (uint32_t)settings->size[SIZE_NX],
                                  .nz = (uint32_t)settings->size[SIZE_NZ],
                                  .rows = (uint32_t)rows,
                                  .first = (uint32_t)(rows * (uint64_t)process),
                                  .all = (uint32_t)all};
    return true;
}

static double initial(const struct settings *settings, const struct stencil_part *part, uint32_t x,
                      uint64_t y, uint32_t z)
{
    return random_unit(settings->seed, (z * (uint64_t)part->all + y) * part->nx + x);
}

bool stencil_message_a_plane(const struct settings *settings)
{
    return settings->size[SIZE_MESSAGES] != 0;
}

void stencil_fill(const struct settings *settings, const struct stencil_part *part, double *field)
{
    memset(field, 0, stencil_field(part) * sizeof(*field));
    const uint32_t from = stencil_has_below(part) ? 0 : 1;
    const uint32_t to = stencil_has_above(part) ? part->rows + 1 : part->rows;
    for (uint32_t z = 0; z < part->nz; z++)
        for (uint32_t row = from; row <= to; row++)
            for (uint32_t x = 0; x < part->nx; x++)
                field[z * stencil_plane(part) + (size_t)row * part->nx + x] =
                    initial(settings, part, x, (uint64_t)part->first + row - 1, z);
}

/* One plane of the whole grid, and what is made of it. */
struct plane {
    size_t nx, ny;
    double *in, *lap, *flx, *fly;
};

/* A field's value at a point; outside the grid, that of the nearest point. */
static double value(const struct plane *plane, const double *field, long x, long y)
{
    const long nx = (long)plane->nx, ny = (long)plane->ny;
    x = x < 0 ? 0 : x >= nx ? nx - 1 : x;
    y = y < 0 ? 0 : y >= ny ? ny - 1 : y;
    return field[y * nx + x];
}

static double limited(double flux, double gradient)
{
    return flux * gradient > 0 ? 0 : flux;
}

static void serial_step(struct plane *p)
{
    const long nx = (long)p->nx, ny = (long)p->ny;
    for (long y = 0; y < ny; y++)
        for (long x = 0; x < nx; x++)
            p->lap[y * nx + x] = 4 * value(p, p->in, x, y) - value(p, p->in, x - 1, y) -
                                 value(p, p->in, x + 1, y) - value(p, p->in, x, y - 1) -
                                 value(p, p->in, x, y + 1);
    for (long y = 0; y < ny; y++) {
        for (long x = 0; x < nx; x++) {
            p->flx[y * nx + x] = limited(value(p, p->lap, x + 1, y) - value(p, p->lap, x, y),
                                         value(p, p->in, x + 1, y) - value(p, p->in, x, y));
            p->fly[y * nx + x] = limited(value(p, p->lap, x, y + 1) - value(p, p->lap, x, y),
                                         value(p, p->in, x, y + 1) - value(p, p->in, x, y));
        }
    }
    for (long y = 0; y < ny; y++)
        for (long x = 0; x < nx; x++)
            p->in[y * nx + x] -=
                STENCIL_COEFFICIENT * (p->flx[y * nx + x] - (x > 0 ? p->flx[y * nx + x - 1] : 0) +
                                       p->fly[y * nx + x] - (y > 0 ? p->fly[(y - 1) * nx + x] : 0));
}

/* What the comparison finds; NaN spreads. */
struct difference {
    double worst, largest, sum, sum_before, magnitude;
};

static double larger(double a, double b)
{
    return isnan(a) || a > b ? a : b;
}

/* Compares one plane, after the iterations. */
static void compare_plane(const struct settings *settings, const struct stencil_part *part,
                          uint32_t z, struct plane *plane, const double *fields,
                          struct difference *found)
{
    const size_t points = plane->nx * plane->ny;
    for (size_t i = 0; i < points; i++) {
        plane->in[i] = initial(settings, part, (uint32_t)(i % plane->nx), i / plane->nx, z);
        found->sum_before += plane->in[i];
    }
    for (uint64_t k = 0; k < settings->iterations; k++)
        serial_step(plane);
    for (size_t y = 0; y < plane->ny; y++) {
        const double *row = fields + y / part->rows * stencil_field(part) +
                            z * stencil_plane(part) + (y % part->rows + 1) * plane->nx;
        for (size_t x = 0; x < plane->nx; x++) {
            const double expected = plane->in[y * plane->nx + x];
            found->worst = larger(fabs(row[x] - expected), found->worst);
            found->largest = larger(fabs(expected), found->largest);
            found->sum += row[x];
            found->magnitude += fabs(row[x]);
        }
    }
}

bool stencil_check(const struct settings *settings, const struct stencil_part *part, int processes,
                   const double *fields)
{
    struct plane plane = {.nx = part->nx, .ny = (size_t)part->rows * (size_t)processes};
    struct difference found = {0};
    const size_t points = plane.nx * plane.ny;
    double *memory = malloc(4 * points * sizeof(*memory));
    if (!memory) {
        complain("out of memory for the serial reference");
        return false;
    }
    plane.in = memory;
    plane.lap = memory + points;
    plane.flx = memory + 2 * points;
    plane.fly = memory + 3 * points;
    for (uint32_t z = 0; z < part->nz; z++)
        compare_plane(settings, part, z, &plane, fields, &found);
    free(memory);
    bool good = report_check(settings, "difference from the serial field",
                             found.worst / found.largest, 1e-10);
    good &= report_check(settings, "change of the field's sum",
                         fabs(found.sum - found.sum_before) / found.magnitude, 1e-10);
    return good;
}
