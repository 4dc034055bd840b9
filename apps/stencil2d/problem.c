/* stencil2d/problem.c - see problem.h. */
#include "problem.h"

#include "random.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef _OPENMP
#include <omp.h>
#endif

static const char *const names[VARIANTS] = {"omp",    "ranks",   "tasks",    "plan",
                                            "static", "dynamic", "imbalance"};

const char *variant_name(enum variant variant)
{
    return names[variant];
}

static const char usage[] =
    "usage: [weftrun -n PLACES] stencil2d [options]\n"
    "  --variant NAME  omp | ranks (no tasks) | tasks (recorded once) |\n"
    "                  plan (the same, where places are fast) | static |\n"
    "                  dynamic (tasks go to other places) | imbalance (all begin at place --home)\n"
    "  -N N            inner points of a side (1000)\n"
    "  --sweep K       iterations of a sweep: 1 or 2 (1); not for omp\n"
    "  --tile R[xC]    rows and columns of a tile (256x256; with --sweep 2: 256x448)\n"
    "  --way K         a place's rows in K tiles of whole rows\n"
    "  --iterations N  (100)\n"
    "  --slow P:F      place P does the work of each point F times\n"
    "  --ratio R       place 0 has this part of all rows\n"
    "  --home P        for imbalance (0)\n"
    "  --ranks N, --threads N\n"
    "  --verify        compares with one thread's result, bit by bit\n";

/* A whole number in range, up to `stop`. */
static bool number(const char **text, char stop, uint64_t lowest, uint64_t highest, uint64_t *value)
{
    char *end;

    errno = 0;
    *value = strtoull(*text, &end, 10);
    if (end == *text || errno != 0 || **text == '-' || *value < lowest || *value > highest ||
        (*end != 0 && *end != stop))
        return false;
    *text = *end == 0 ? end : end + 1;
    return true;
}

static bool variant_of(const char *name, enum variant *variant)
{
    for (int v = 0; v < VARIANTS; v++)
        if (strcmp(name, names[v]) == 0) {
            *variant = (enum variant)v;
            return true;
        }
    return false;
}

/* One option; false: its value is wrong. */
static bool option(struct options *o, int which, const char *text)
{
    const char *const whole = text;
    uint64_t a, b;
    bool good = true;

    switch (which) {
    case 'v':
        return variant_of(text, &o->variant);
    case 'N':
        return number(&text, 0, 1, 1000000, &o->n);
    case 't':
        good = number(&text, 'x', 1, 1000000, &a);
        b = a;
        if (good && *text != 0)
            good = number(&text, 0, 1, 1000000, &b);
        o->tile_rows = (uint32_t)a;
        o->tile_columns = (uint32_t)b;
        return good;
    case 's':
        if (!number(&text, ':', 0, 100000, &a) || !number(&text, 0, 1, 1000000, &b))
            return false;
        o->slow = (int)a;
        o->times = (uint32_t)b;
        return true;
    case 'R':
        o->ratio = strtod(text, (char **)&text);
        return text != whole && *text == 0 && o->ratio >= 0 && o->ratio <= 1;
    default:
        if (!number(&text, 0, which == 'h' ? 0 : 1, which == 'S' ? 2 : 1000000, &a))
            return false;
        if (which == 'S')
            o->sweep = (uint32_t)a;
        else if (which == 'w')
            o->way = (uint32_t)a;
        else if (which == 'i')
            o->iterations = (uint32_t)a;
        else if (which == 'h')
            o->home = (int)a;
        else if (which == 'r')
            o->ranks = (int)a;
        else
            o->threads = (int)a;
        return true;
    }
}

bool options_read(struct options *o, int argc, char **argv, bool speak)
{
    static const struct option list[] = {{"variant", 1, NULL, 'v'}, {"tile", 1, NULL, 't'},
                                         {"way", 1, NULL, 'w'},     {"iterations", 1, NULL, 'i'},
                                         {"slow", 1, NULL, 's'},    {"sweep", 1, NULL, 'S'},
                                         {"ratio", 1, NULL, 'R'},   {"home", 1, NULL, 'h'},
                                         {"ranks", 1, NULL, 'r'},   {"threads", 1, NULL, 'T'},
                                         {"verify", 0, NULL, 'V'},  {"help", 0, NULL, 'H'},
                                         {NULL, 0, NULL, 0}};
    int which;

    *o = (struct options){.variant = VARIANT_DYNAMIC,
                          .n = 1000,
                          .iterations = 100,
                          .sweep = 1,
                          .threads = 256,
                          .slow = -1,
                          .times = 1,
                          .ratio = -1};
    opterr = speak;
    while ((which = getopt_long(argc, argv, "N:", list, NULL)) != -1) {
        if (which == '?')
            return false;
        if (which == 'V' || which == 'H') {
            o->verify = o->verify || which == 'V';
            o->help = o->help || which == 'H';
        } else if (!option(o, which, optarg)) {
            if (speak)
                fprintf(stderr, "stencil2d: '%s' is no value of that option\n", optarg);
            return false;
        }
    }
    if (optind < argc && speak)
        fprintf(stderr, "stencil2d: %s is not an option\n", argv[optind]);
    if (o->tile_rows == 0) {
        o->tile_rows = 256;
        o->tile_columns = o->sweep == 2 ? 448 : 256; /* two strips for each of eight warps */
    }
    if (o->sweep == 2 && o->threads < 32) { /* a warp goes down a strip */
        if (speak)
            fprintf(stderr, "stencil2d: --sweep 2 --threads %d: 32 at least\n", o->threads);
        return false;
    }
    if (o->help && speak)
        fputs(usage, stdout);
    return optind == argc;
}

void rows_of(const struct options *o, int place, int places, uint64_t *first, uint64_t *end)
{
    const uint64_t n = o->n;

    if (o->variant == VARIANT_IMBALANCE) {
        *first = place <= o->home ? 1 : n + 1;
        *end = place < o->home ? 1 : n + 1;
    } else if (o->ratio >= 0 && places > 1) {
        const uint64_t of_first = (uint64_t)((double)n * o->ratio + 0.5), rest = n - of_first;
        const uint64_t others = (uint64_t)places - 1;
        *first = place == 0 ? 1 : 1 + of_first + rest * (uint64_t)(place - 1) / others;
        *end = place == 0 ? 1 + of_first : 1 + of_first + rest * (uint64_t)place / others;
    } else {
        *first = 1 + n * (uint64_t)place / (uint64_t)places;
        *end = 1 + n * (uint64_t)(place + 1) / (uint64_t)places;
    }
}

void start_rows(uint64_t n, uint64_t first, uint64_t rows, double *to)
{
#ifdef _OPENMP
#pragma omp parallel for
#endif
    for (uint64_t row = 0; row < rows; row++)
        for (uint64_t i = row * (n + 2); i < (row + 1) * (n + 2); i++)
            to[i] = random_unit(1, first * (n + 2) + i);
}

int solvers(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 0;
#endif
}

double *solve(const struct options *o, double *ms)
{
    const size_t width = o->n + 2, points = width * width;
    double *field[2] = {malloc(points * sizeof(double)), malloc(points * sizeof(double))};
    struct timespec a, b;

    if (field[0] == NULL || field[1] == NULL) {
        free(field[0]);
        free(field[1]);
        return NULL;
    }
    for (int i = 0; i < 2; i++)
        start_rows(o->n, 0, width, field[i]);
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (uint32_t it = 0; it < o->iterations; it++) {
        const double *const in = field[it % 2];
        double *const out = field[(it + 1) % 2];
#ifdef _OPENMP
#pragma omp parallel for if (o->variant == VARIANT_OMP)
#endif
        for (size_t row = 1; row <= o->n; row++) {
            const double *const here = in + row * width;
            for (size_t i = 1; i <= o->n; i++)
                out[row * width + i] =
                    0.25 * ((here[i - width] + here[i + width]) + (here[i - 1] + here[i + 1]));
        }
    }
    clock_gettime(CLOCK_MONOTONIC, &b);
    *ms = (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) * 1e-6;
    free(field[(o->iterations + 1) % 2]);
    return field[o->iterations % 2];
}
