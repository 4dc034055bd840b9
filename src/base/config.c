/* base/config.c - reading the table of tunables: defaults, environment, command line. */
#include "base/config.h"

#include "base/order.h"
#include "base/say.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

extern char **environ;

enum kind { INT, SIZE, REAL, CHOICE, TEXT };

/* One row of config.def. */
struct row {
    const char *name;
    enum kind kind;
    size_t at; /* of the field */
    const char *def, *unit, *words, *doc;
    double min, max;
};

#define AT(field) offsetof(struct weft_config, field)
static const struct row rows[] = {
#define WEFT_CONFIG_INT(name, field, def, min, max, unit, doc)                                     \
    {#name, INT, AT(field), #def, unit, NULL, doc, (double)(min), (double)(max)},
#define WEFT_CONFIG_SIZE(name, field, def, min, max, doc)                                          \
    {#name, SIZE, AT(field), #def, "bytes", NULL, doc, (double)(min), (double)(max)},
#define WEFT_CONFIG_REAL(name, field, def, min, max, unit, doc)                                    \
    {#name, REAL, AT(field), #def, unit, NULL, doc, (double)(min), (double)(max)},
#define WEFT_CONFIG_CHOICE(name, field, def, words, doc)                                           \
    {#name, CHOICE, AT(field), def, "", words, doc, 0, 0},
#define WEFT_CONFIG_TEXT(name, field, def, doc) {#name, TEXT, AT(field), def, "", NULL, doc, 0, 0},
#include "base/config.def"
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static void *field_of(struct weft_config *config, const struct row *row)
{
    return (char *)config + row->at;
}

static const void *field_in(const struct weft_config *config, const struct row *row)
{
    return (const char *)config + row->at;
}

/* ---- values ---------------------------------------------------------------------------------- */

static weft_status bad(const struct row *row, const char *text, const char *wanted)
{
    return weft_err(WEFT_ERR_CONFIG, "WEFT_%s=%s: %s", row->name, text, wanted);
}

static weft_status out_of_range(const struct row *row, const char *text)
{
    return weft_err(WEFT_ERR_CONFIG, "WEFT_%s=%s: not in %.15g..%.15g %s", row->name, text,
                    row->min, row->max, row->unit);
}

static weft_status set_int(void *field, const struct row *row, const char *text)
{
    char *end;

    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != 0 || isspace((unsigned char)*text))
        return bad(row, text, "not a whole number");
    if ((double)value < row->min || (double)value > row->max)
        return out_of_range(row, text);
    memcpy(field, &(int64_t){value}, sizeof(int64_t));
    return WEFT_OK;
}

static weft_status set_size(void *field, const struct row *row, const char *text)
{
    static const char suffixes[] = "KMG";
    char *end;
    int shift = 0;

    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || !isdigit((unsigned char)*text))
        return bad(row, text, "not a number of bytes");
    if (*end != 0) {
        const char *suffix = strchr(suffixes, toupper((unsigned char)*end));
        if (suffix == NULL || end[1] != 0)
            return bad(row, text, "not a number of bytes, or one with K, M or G");
        shift = 10 * (int)(suffix - suffixes + 1);
    }
    if (value > UINT64_MAX >> shift)
        return out_of_range(row, text);
    const uint64_t bytes = (uint64_t)value << shift;
    if ((double)bytes < row->min || (double)bytes > row->max)
        return out_of_range(row, text);
    memcpy(field, &bytes, sizeof(bytes));
    return WEFT_OK;
}

static weft_status set_real(void *field, const struct row *row, const char *text)
{
    char *end;

    errno = 0;
    const double value = strtod(text, &end);
    if (errno != 0 || end == text || *end != 0 || isspace((unsigned char)*text) || !isfinite(value))
        return bad(row, text, "not a number");
    if (value < row->min || value > row->max)
        return out_of_range(row, text);
    memcpy(field, &value, sizeof(value));
    return WEFT_OK;
}

static weft_status set_choice(void *field, const struct row *row, const char *text)
{
    const size_t length = strlen(text);
    int index = 0;

    for (const char *word = row->words; word != NULL; index++) {
        const char *bar = strchr(word, '|');
        const size_t n = bar != NULL ? (size_t)(bar - word) : strlen(word);
        if (n == length && strncmp(word, text, n) == 0) {
            memcpy(field, &index, sizeof(index));
            return WEFT_OK;
        }
        word = bar != NULL ? bar + 1 : NULL;
    }
    return weft_err(WEFT_ERR_CONFIG, "WEFT_%s=%s: not one of %s", row->name, text, row->words);
}

static weft_status set_text(void *field, const struct row *row, const char *text)
{
    if (strlen(text) > 127)
        return weft_err(WEFT_ERR_CONFIG, "WEFT_%s: %zu bytes, at most 127", row->name,
                        strlen(text));
    memcpy(field, text, strlen(text) + 1);
    return WEFT_OK;
}

static weft_status set(struct weft_config *config, const struct row *row, const char *text)
{
    static weft_status (*const by_kind[])(void *, const struct row *,
                                          const char *) = {[INT] = set_int,
                                                           [SIZE] = set_size,
                                                           [REAL] = set_real,
                                                           [CHOICE] = set_choice,
                                                           [TEXT] = set_text};
    return by_kind[row->kind](field_of(config, row), row, text);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* A name as in the table, or as an option: lower case, '-' for '_'. */
static bool same_name(const char *row, const char *name, size_t bytes)
{
    if (strlen(row) != bytes)
        return false;
    for (size_t i = 0; i < bytes; i++) {
        const char c = name[i] == '-' ? '_' : (char)toupper((unsigned char)name[i]);
        if (c != row[i])
            return false;
    }
    return true;
}

static const struct row *find_row(const char *name, size_t bytes)
{
    for (int i = 0; i < ROWS; i++)
        if (same_name(rows[i].name, name, bytes))
            return &rows[i];
    return NULL;
}

/* How many edits turn one name into the other (Levenshtein), for "did you mean". */
static int distance(const char *a, size_t a_bytes, const char *b)
{
    int row[64];
    const size_t b_bytes = strlen(b);

    for (size_t j = 0; j <= b_bytes; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= a_bytes; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= b_bytes; j++) {
            const int above = row[j];
            int best = diagonal + (toupper((unsigned char)a[i - 1]) != b[j - 1]);
            if (above + 1 < best)
                best = above + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            diagonal = above;
            row[j] = best;
        }
    }
    return row[b_bytes];
}

static weft_status unknown(const char *prefix, const char *name, size_t bytes)
{
    const struct row *nearest = &rows[0];

    for (int i = 1; i < ROWS && bytes < 64; i++)
        if (distance(name, bytes, rows[i].name) < distance(name, bytes, nearest->name))
            nearest = &rows[i];
    return weft_err(WEFT_ERR_CONFIG,
                    "%s%.*s is not a setting of weft; the nearest is WEFT_%s (weft-info --config "
                    "lists all)",
                    prefix, (int)(bytes < 64 ? bytes : 64), name, nearest->name);
}

/* ---- sources --------------------------------------------------------------------------------- */

static weft_status read_environment(struct weft_config *config)
{
    for (char **e = environ; e != NULL && *e != NULL; e++) {
        if (strncmp(*e, "WEFT_", 5) != 0)
            continue;
        const char *name = *e + 5, *equals = strchr(name, '=');
        if (equals == NULL)
            continue;
        const size_t bytes = (size_t)(equals - name);
        const struct row *row = find_row(name, bytes);
        if (row == NULL || strncmp(row->name, name, bytes) != 0)
            return unknown("WEFT_", name, bytes);
        weft_status status = set(config, row, equals + 1);
        if (status != WEFT_OK)
            return status;
    }
    return WEFT_OK;
}

/* --weft-NAME=VALUE takes one place in argv, --weft-NAME VALUE two; other arguments are not ours.
 */
static int option_places(const char *argument)
{
    if (strncmp(argument, "--weft-", 7) != 0)
        return 0;
    return strchr(argument, '=') != NULL ? 1 : 2;
}

/* Reads the options up to "--"; argv stays as it is. */
static weft_status read_options(struct weft_config *config, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const int places = option_places(argv[i]);
        if (places == 0)
            continue;
        const char *name = argv[i] + 7, *value = strchr(name, '=');
        const size_t bytes = value != NULL ? (size_t)(value - name) : strlen(name);
        const struct row *row = find_row(name, bytes);
        if (row == NULL)
            return unknown("--weft-", name, bytes);
        if (value == NULL && i + 1 == argc)
            return weft_err(WEFT_ERR_CONFIG, "--weft-%s needs a value", name);
        weft_status status = set(config, row, value != NULL ? value + 1 : argv[++i]);
        if (status != WEFT_OK)
            return status;
    }
    return WEFT_OK;
}

/* Takes the options out, once all of them were good. */
static void remove_options(int *argc, char **argv)
{
    int kept = 1, i = 1;

    while (i < *argc && strcmp(argv[i], "--") != 0) {
        const int places = option_places(argv[i]);
        if (places == 0)
            argv[kept++] = argv[i++];
        else
            i += places;
    }
    while (i < *argc)
        argv[kept++] = argv[i++];
    argv[kept] = NULL;
    *argc = kept;
}

/* ---- what belongs together ------------------------------------------------------------------- */

bool weft_config_random(const struct weft_config *config, uint64_t *seed)
{
    static const char prefix[] = "random:";
    const char *text = config->cpu_schedule;
    char *end;

    if (strncmp(text, prefix, sizeof(prefix) - 1) != 0)
        return false;
    text += sizeof(prefix) - 1;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || !isdigit((unsigned char)*text) || *end != 0)
        return false;
    *seed = value;
    return true;
}

static bool power_of_two(uint64_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

static weft_status check(const struct weft_config *c)
{
    uint64_t seed;
    const bool random = weft_config_random(c, &seed);

    if (c->process >= c->processes)
        return weft_err(WEFT_ERR_CONFIG, "WEFT_PROCESS=%lld is not below WEFT_PROCESSES=%lld",
                        (long long)c->process, (long long)c->processes);
    if (c->process < 0 && c->processes > 1)
        return weft_err(WEFT_ERR_CONFIG, "WEFT_PROCESSES=%lld needs WEFT_PROCESS, or weftrun",
                        (long long)c->processes);
    if (c->processes > 1 && c->root[0] == 0)
        return weft_err(WEFT_ERR_CONFIG, "WEFT_PROCESSES=%lld needs WEFT_ROOT=HOST:PORT",
                        (long long)c->processes);
    if (!power_of_two((uint64_t)c->command_ring))
        return weft_err(WEFT_ERR_CONFIG, "WEFT_COMMAND_RING=%lld: not a power of two",
                        (long long)c->command_ring);
    if (!power_of_two(c->shm_ring))
        return weft_err(WEFT_ERR_CONFIG, "WEFT_SHM_RING=%llu: not a power of two",
                        (unsigned long long)c->shm_ring);
    if (strcmp(c->cpu_schedule, "fair") != 0 && !random)
        return weft_err(WEFT_ERR_CONFIG, "WEFT_CPU_SCHEDULE=%s: neither fair nor random:SEED",
                        c->cpu_schedule);
    if (c->mutate[0] != 0 && weft_order_by_name(c->mutate) == ORDER_none)
        return weft_err(WEFT_ERR_CONFIG, "WEFT_MUTATE=%s: no label or drain of base/order.h",
                        c->mutate);
    if (c->mutate[0] != 0 && !random)
        return weft_err(WEFT_ERR_CONFIG, "WEFT_MUTATE=%s works in random mode only", c->mutate);
    return WEFT_OK;
}

weft_status weft_config_load(struct weft_config *config, int *argc, char **argv)
{
    struct weft_config loaded;
    weft_status status = WEFT_OK;

    memset(&loaded, 0, sizeof(loaded));
    for (int i = 0; status == WEFT_OK && i < ROWS; i++)
        status = set(&loaded, &rows[i], rows[i].def);
    if (status == WEFT_OK)
        status = read_environment(&loaded);
    if (status == WEFT_OK && argc != NULL && argv != NULL)
        status = read_options(&loaded, *argc, argv);
    if (status == WEFT_OK)
        status = check(&loaded);
    if (status != WEFT_OK)
        return status;
    if (argc != NULL && argv != NULL)
        remove_options(argc, argv);
    *config = loaded;
    return WEFT_OK;
}

/* ---- the manual ------------------------------------------------------------------------------ */

static void print_value(FILE *out, const struct weft_config *config, const struct row *row)
{
    const void *field = field_in(config, row);
    const char *word = row->words;

    switch (row->kind) {
    case INT:
        fprintf(out, "%lld", (long long)*(const int64_t *)field);
        break;
    case SIZE:
        fprintf(out, "%llu", (unsigned long long)*(const uint64_t *)field);
        break;
    case REAL:
        fprintf(out, "%g", *(const double *)field);
        break;
    case CHOICE:
        for (int i = *(const int *)field; i > 0; i--)
            word = strchr(word, '|') + 1;
        fprintf(out, "%.*s", (int)strcspn(word, "|"), word);
        break;
    case TEXT:
        /* The secret is nobody's business. */
        fprintf(out, "'%s'",
                strcmp(row->name, "SECRET") == 0 && *(const char *)field != 0
                    ? "..."
                    : (const char *)field);
        break;
    }
}

void weft_config_print(FILE *out, const struct weft_config *config)
{
    for (int i = 0; i < ROWS; i++) {
        const struct row *row = &rows[i];
        fprintf(out, "WEFT_%s = ", row->name);
        print_value(out, config, row);
        fprintf(out, "\n    %s\n    default %s", row->doc, row->def[0] != 0 ? row->def : "''");
        if (row->kind == CHOICE)
            fprintf(out, ", one of %s", row->words);
        else if (row->kind != TEXT)
            fprintf(out, ", range %.15g..%.15g%s%s", row->min, row->max,
                    row->unit[0] != 0 ? " " : "", row->unit);
        fprintf(out, "\n");
    }
}
