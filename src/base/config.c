/* base/config.c - reads tunables: defaults, environment, command line. Any thread. */
#include "base/config.h"

#include "base/say.h"
#include "order/order.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

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

static const struct weft_config_row *find_row(const char *name, size_t bytes)
{
    for (int i = 0; i < WEFT_CONFIG_ROWS; i++)
        if (weft_config_offers(&weft_config_rows[i]) &&
            same_name(weft_config_rows[i].name, name, bytes))
            return &weft_config_rows[i];
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

/* Names the nearest setting, unless half of the letters had to change: then nobody meant it. */
static weft_status unknown(const char *prefix, const char *name, size_t bytes)
{
    const char *nearest = NULL;
    int least = (int)bytes / 2 + 1;

    for (int i = 0; i < WEFT_CONFIG_ROWS && bytes < 64; i++) {
        const int edits = distance(name, bytes, weft_config_rows[i].name);
        if (edits < least && weft_config_offers(&weft_config_rows[i])) {
            least = edits;
            nearest = weft_config_rows[i].name;
        }
    }
    return weft_err(
        WEFT_ERR_CONFIG, "%s%.*s is not a setting of weft%s%s (weft-info --config lists all)",
        prefix, (int)(bytes < 64 ? bytes : 64), name,
        nearest != NULL ? "; the nearest is WEFT_" : "", nearest != NULL ? nearest : "");
}

static weft_status set(struct weft_config *config, const struct weft_config_row *row,
                       const char *text, enum weft_config_source source)
{
    WEFT_TRY(weft_config_set(config, row, text));
    config->source[row - weft_config_rows] = (unsigned char)source;
    return WEFT_OK;
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
        const struct weft_config_row *row = find_row(name, bytes);
        if (row == NULL || strncmp(row->name, name, bytes) != 0)
            return unknown("WEFT_", name, bytes);
        WEFT_TRY(set(config, row, equals + 1, WEFT_CONFIG_ENVIRONMENT));
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

/* Up to the first NULL: what took arguments away may have left more in *argc. */
static int count_arguments(const int *argc, char **argv)
{
    int count = 0;

    while (argc != NULL && argv != NULL && count < *argc && argv[count] != NULL)
        count++;
    return count;
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
        const struct weft_config_row *row = find_row(name, bytes);
        if (row == NULL)
            return unknown("--weft-", name, bytes);
        if (value == NULL && i + 1 == argc)
            return weft_err(WEFT_ERR_CONFIG, "--weft-%s needs a value", name);
        WEFT_TRY(set(config, row, value != NULL ? value + 1 : argv[++i], WEFT_CONFIG_OPTION));
    }
    return WEFT_OK;
}

/* Takes the options out, once all of them were good. */
static void remove_options(int count, int *argc, char **argv)
{
    int kept = 1, i = 1;

    while (i < count && strcmp(argv[i], "--") != 0) {
        const int places = option_places(argv[i]);
        if (places == 0)
            argv[kept++] = argv[i++];
        else
            i += places;
    }
    while (i < count)
        argv[kept++] = argv[i++];
    if (kept < *argc)
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
    if (c->shm_ring != 0 && c->shm_ring < 4096)
        return weft_err(WEFT_ERR_CONFIG, "WEFT_SHM_RING=%llu: not 4096 or more",
                        (unsigned long long)c->shm_ring);
    if (strcmp(c->cpu_schedule, "fair") != 0 && !random)
        return weft_err(WEFT_ERR_CONFIG, "WEFT_CPU_SCHEDULE=%s: neither fair nor random:SEED",
                        c->cpu_schedule);
    if (c->mutate[0] != 0 && weft_order_by_name(c->mutate) == ORDER_none)
        return weft_err(WEFT_ERR_CONFIG, "WEFT_MUTATE=%s: no label or drain of order/order.h",
                        c->mutate);
    if (c->mutate[0] != 0 && !random)
        return weft_err(WEFT_ERR_CONFIG, "WEFT_MUTATE=%s works in random mode only", c->mutate);
    return WEFT_OK;
}

weft_status weft_config_load(struct weft_config *config, int *argc, char **argv)
{
    struct weft_config loaded;
    const int arguments = count_arguments(argc, argv);

    memset(&loaded, 0, sizeof(loaded));
    for (int i = 0; i < WEFT_CONFIG_ROWS; i++)
        WEFT_TRY(weft_config_set(&loaded, &weft_config_rows[i], weft_config_rows[i].def));
    WEFT_TRY(read_environment(&loaded));
    WEFT_TRY(read_options(&loaded, arguments, argv));
    WEFT_TRY(check(&loaded));
    if (arguments > 0)
        remove_options(arguments, argc, argv);
    *config = loaded;
    return WEFT_OK;
}
