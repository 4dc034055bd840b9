/*
 * power_iteration/options.c - argp, with every number read strictly.
 */
#include "options.h"

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char about[] =
    "Power iteration on a sparse matrix, distributed over a grid of processes: the dominant "
    "eigenvalue and its vector, or PageRank."
    "\vTo run on four processes: weftrun -n 4 power_iteration --matrix FILE";

static const struct argp_option table[] = {
    {"matrix", 'm', "FILE", 0, "Matrix Market file: coordinate, square", 0},
    {"rows", 'R', "N", 0,
     "instead of a file: a random matrix with as many entries as a block of N x N for each process",
     0},
    {"nonzeros", 'N', "N", 0, "... of which N of a million are not zero (default 3000)", 0},
    {"seed", 'S', "N", 0, "... and which this number tells from others (default 1)", 0},
    {"preset", 'P', "NAME", 0,
     "small, thesis or fill: rows, iterations, and tolerance 0, as the other case studies have "
     "them (default, without --matrix and --rows: small)",
     0},
    {"repetitions", 'x', "N", 0, "run N times (default 1)", 0},
    {"csv", 'C', NULL, 0,
     "print a header and a line for each repetition, and check only if told to", 0},
    {"verify", 'v', NULL, 0, "check the result (the default without --csv)", 0},
    {"names", 'n', "FILE", 0, "what the rows are called, one a line", 0},
    {"symmetrize", 's', NULL, 0,
     "use A + A^T; what stands on both sides of the diagonal counts twice", 0},
    {"pagerank", 'p', "D", 0, "PageRank with damping D (0..1) instead of the eigenvalue", 0},
    {"iterations", 'i', "N", 0, "stop after N iterations (default 10000)", 0},
    {"tolerance", 't', "T", 0,
     "stop when the relative change of the eigenvalue (PageRank: of the vector, in the 1-norm) is "
     "less than T (default 1e-13; 0: never)",
     0},
    {"grid", 'g', "PxQ", 0, "rows x columns of processes (default: nearest to a square)", 0},
    {"ranks", 'r', "R", 0, "ranks of a device (default: as many as it holds)", 0},
    {"top", 'k', "K", 0, "print the K rows with the largest elements (default 0)", 0},
    {"no-check", 'c', NULL, 0, "do not repeat the iteration serially to check the result", 0},
    {"help", 'h', NULL, 0, "print this", 0},
    {0},
};

static const char *name_of(int key)
{
    const struct argp_option *option = table;
    while (option->key != key)
        option++;
    return option->name;
}

static bool read_whole(const char *text, char end, uint64_t lowest, uint64_t highest,
                       uint64_t *value, const char **rest)
{
    char *stop;
    errno = 0;
    unsigned long long number = strtoull(text, &stop, 10);
    if (!isdigit((unsigned char)*text) || *stop != end || errno || number < lowest ||
        number > highest)
        return false;
    *value = number;
    *rest = stop + 1;
    return true;
}

static bool read_real(const char *text, double lowest, double highest, double *value)
{
    char *stop;
    double number = strtod(text, &stop);
    if (stop == text || *stop || !(number >= lowest && number <= highest))
        return false;
    *value = number;
    return true;
}

static bool read_grid(const char *text, struct options *options)
{
    const char *columns;
    const char *end;
    return read_whole(text, 'x', 1, 65536, &options->grid_rows, &columns) &&
           read_whole(columns, '\0', 1, 65536, &options->grid_columns, &end);
}

/* The sizes of the case studies (common/settings.h), for this program. */
static bool read_preset(const char *text, struct options *options)
{
    static const struct {
        const char *name;
        uint64_t rows, nonzeros, iterations;
    } presets[] = {
        {"small", 60, 100000, 9}, {"thesis", 10816, 3000, 100}, {"fill", 108160, 3000, 50}};
    for (size_t i = 0; i < sizeof(presets) / sizeof(presets[0]); i++) {
        if (strcmp(text, presets[i].name) != 0)
            continue;
        options->rows = presets[i].rows;
        options->nonzeros = presets[i].nonzeros;
        options->iterations = presets[i].iterations;
        options->tolerance = 0;
        return true;
    }
    return false;
}

static bool read_option(int key, const char *text, struct options *options)
{
    const char *end;
    uint64_t ranks;
    switch (key) {
    case 'p':
        options->pagerank = true;
        return read_real(text, 0, 1, &options->damping);
    case 'i':
        return read_whole(text, '\0', 1, INT64_MAX, &options->iterations, &end);
    case 't':
        return read_real(text, 0, 1, &options->tolerance);
    case 'g':
        return read_grid(text, options);
    case 'R':
        return read_whole(text, '\0', 1, 1 << 24, &options->rows, &end);
    case 'N':
        return read_whole(text, '\0', 1, 1000000, &options->nonzeros, &end);
    case 'S':
        return read_whole(text, '\0', 0, UINT64_MAX, &options->seed, &end);
    case 'P':
        return read_preset(text, options);
    case 'x':
        return read_whole(text, '\0', 1, INT_MAX, &options->repetitions, &end);
    case 'k':
        return read_whole(text, '\0', 0, INT64_MAX, &options->top, &end);
    default: /* 'r' */
        if (!read_whole(text, '\0', 1, INT_MAX, &ranks, &end))
            return false;
        options->ranks = (int)ranks;
        return true;
    }
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 'm':
        options->matrix = text;
        return 0;
    case 'n':
        options->names = text;
        return 0;
    case 's':
        options->symmetrize = true;
        return 0;
    case 'c':
        options->check = false;
        return 0;
    case 'v':
        options->check = true;
        return 0;
    case 'C':
        options->csv = options->silent = true;
        options->check = false;
        return 0;
    case 'h':
        options->help = true;
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP & ~ARGP_HELP_EXIT_OK);
        return ECANCELED;
    case 'p':
    case 'i':
    case 't':
    case 'g':
    case 'k':
    case 'r':
    case 'R':
    case 'N':
    case 'S':
    case 'P':
    case 'x':
        if (read_option(key, text, options))
            return 0;
        argp_error(state, "bad value '%s' for --%s", text, name_of(key));
        return EINVAL;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected argument '%s'", text);
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* One pass over the command line, over what stands in *options. */
static bool read_all(struct options *options, int argc, char **argv)
{
    static const struct argp argp = {.options = table, .parser = parse, .doc = about};
    return argp_parse(&argp, argc, argv, ARGP_NO_HELP | ARGP_NO_EXIT, NULL, options) == 0;
}

bool options_parse(struct options *options, int argc, char **argv)
{
    static const struct options defaults = {.check = true,
                                            .iterations = 10000,
                                            .tolerance = 1e-13,
                                            .nonzeros = 3000,
                                            .seed = 1,
                                            .repetitions = 1};
    *options = defaults;
    if (!read_all(options, argc, argv))
        return false;
    if (options->matrix || options->rows > 0)
        return true;
    *options = defaults; /* no matrix is named: what else is given changes the smallest preset */
    return read_preset("small", options) && read_all(options, argc, argv);
}
