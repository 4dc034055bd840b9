/* base/tune.c - see the header. Any thread; the caller owns the values. */
#include "base/tune.h"

#include "base/say.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 4096, WHY = 256 };

/* What differs between the processes of a job without harm, or is of one host. */
static const char *const tunable[] = {"STAGE_PIECE", "STAGE_DEPTH", "SHM_RING",
                                      "EAGER",       "MSG_EAGER",   "MSG_EAGER_NET"};

/* Whether a file may hold this setting. */
static bool is_tunable(const char *name)
{
    for (size_t i = 0; i < sizeof(tunable) / sizeof(tunable[0]); i++)
        if (strcmp(tunable[i], name) == 0)
            return true;
    return false;
}

bool weft_tune_path(const struct weft_config *config, char path[WEFT_TUNE_PATH])
{
    const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int length = -1;

    if (strcmp(config->tune, "off") == 0)
        return false;
    if (config->tune[0] != 0)
        length = snprintf(path, WEFT_TUNE_PATH, "%s", config->tune);
    else if (xdg != NULL && xdg[0] == '/')
        length = snprintf(path, WEFT_TUNE_PATH, "%s/weft/tune", xdg);
    else if (home != NULL && home[0] == '/')
        length = snprintf(path, WEFT_TUNE_PATH, "%s/.config/weft/tune", home);
    return length >= 0 && length < WEFT_TUNE_PATH;
}

/* ---- this machine -------------------------------------------------------------------------- */

/* What stands behind "key   : " in a file of /proc; false: nothing. */
static bool proc_value(const char *path, const char *key, char *value, size_t bytes)
{
    FILE *file = fopen(path, "re");
    char line[512];
    bool found = false;

    while (file != NULL && !found && fgets(line, sizeof(line), file) != NULL) {
        const char *colon = strchr(line, ':');
        found = strncmp(line, key, strlen(key)) == 0 && colon != NULL;
        if (found) {
            colon += 1 + strspn(colon + 1, " \t");
            snprintf(value, bytes, "%.*s", (int)strcspn(colon, "\n"), colon);
        }
    }
    if (file != NULL)
        fclose(file);
    return found;
}

/* How many GPUs the NVIDIA driver shows, and what the last of them is. */
static int count_gpus(char *model, size_t bytes)
{
    static const char folder[] = "/proc/driver/nvidia/gpus";
    DIR *gpus = opendir(folder);
    const struct dirent *entry;
    int count = 0;

    while (gpus != NULL && (entry = readdir(gpus)) != NULL) {
        char path[512];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s/information", folder, entry->d_name);
        count += proc_value(path, "Model", model, bytes);
    }
    if (gpus != NULL)
        closedir(gpus);
    return count;
}

void weft_tune_machine(char machine[WEFT_TUNE_MACHINE])
{
    char processor[96] = "unknown processor", gpu[64] = "";
    const int gpus = count_gpus(gpu, sizeof(gpu));

    proc_value("/proc/cpuinfo", "model name", processor, sizeof(processor));
    const int length = snprintf(machine, WEFT_TUNE_MACHINE, "%s, %ld processors", processor,
                                sysconf(_SC_NPROCESSORS_CONF));
    if (gpus > 0)
        snprintf(machine + length, (size_t)(WEFT_TUNE_MACHINE - length), ", %d GPUs %s", gpus, gpu);
}

/* ---- reading ------------------------------------------------------------------------------- */

static __attribute__((format(printf, 2, 3))) bool wrong(char why[WHY], const char *format, ...)
{
    va_list list;

    va_start(list, format);
    weft_format(why, WHY, format, list);
    va_end(list);
    return false;
}

/* What stands behind a value: nothing, or " DEVICE". DEFAULT: something else. */
static enum weft_config_source source_of(const char *rest)
{
    return rest[0] == 0                 ? WEFT_CONFIG_TUNED
           : strcmp(rest, " cpu") == 0  ? WEFT_CONFIG_TUNED_CPU
           : strcmp(rest, " cuda") == 0 ? WEFT_CONFIG_TUNED_CUDA
                                        : WEFT_CONFIG_DEFAULT;
}

/* NAME=VALUE or NAME=VALUE DEVICE. Said here, once, and not by weft_config_set. */
static bool read_value(struct weft_config *config, const char *line, int number, char why[WHY])
{
    const char *equals = strchr(line, '=');
    const struct weft_config_row *row = NULL;
    char *end, text[24];

    for (int i = 0; equals != NULL && i < WEFT_CONFIG_ROWS; i++)
        if (strlen(weft_config_rows[i].name) == (size_t)(equals - line) &&
            strncmp(weft_config_rows[i].name, line, (size_t)(equals - line)) == 0)
            row = &weft_config_rows[i];
    if (row == NULL || !is_tunable(row->name))
        return wrong(why, "line %d: \"%.40s\" is no setting that is tuned", number, line);
    errno = 0;
    const unsigned long long value = strtoull(equals + 1, &end, 10);
    const bool ring = strcmp(row->name, "SHM_RING") == 0;
    const enum weft_config_source tuned = source_of(end);
    if (errno != 0 || !isdigit((unsigned char)equals[1]) || tuned == WEFT_CONFIG_DEFAULT ||
        (double)value < row->min || (double)value > row->max ||
        (ring && (value < 4096 || (value & (value - 1)) != 0)))
        return wrong(why, "line %d: \"%.40s\" is not %s in %.15g..%.15g", number, line,
                     ring ? "a power of two" : "a whole number", row->min, row->max);
    unsigned char *source = &config->source[row - weft_config_rows];
    if (*source != WEFT_CONFIG_DEFAULT)
        return true;
    *source = (unsigned char)tuned;
    snprintf(text, sizeof(text), "%llu", value);
    return weft_config_set(config, row, text) == WEFT_OK;
}

/* The lines behind the first: what the file is good for, then values. */
static bool read_lines(struct weft_config *config, char *text, char why[WHY])
{
    char machine[WEFT_TUNE_MACHINE];
    bool version = false, here = false;
    int number = 0;

    weft_tune_machine(machine);
    for (char *line; (line = strsep(&text, "\n")) != NULL;) {
        number++;
        if (number == 1 && strcmp(line, "weft-tune 1") != 0)
            return wrong(why, "it does not begin with \"weft-tune 1\"");
        if (number == 1 || line[0] == 0 || line[0] == '#')
            continue;
        if (strncmp(line, "version ", 8) == 0) {
            version = strcmp(line + 8, WEFT_TUNE_VERSION) == 0;
            if (!version)
                return wrong(why, "it was made by version %.20s, and this is %s", line + 8,
                             WEFT_TUNE_VERSION);
        } else if (strncmp(line, "machine ", 8) == 0) {
            here = strcmp(line + 8, machine) == 0;
            if (!here)
                return wrong(why, "it was made on \"%.90s\", and this is \"%.90s\"", line + 8,
                             machine);
        } else if (!version || !here) {
            return wrong(why, "line %d: a value before the version and the machine", number);
        } else if (!read_value(config, line, number, why)) {
            return false;
        }
    }
    return version && here ? true : wrong(why, "it names no version or no machine");
}

void weft_tune_read(struct weft_config *config)
{
    char path[WEFT_TUNE_PATH], text[MOST_BYTES + 1], why[WHY] = "";
    struct weft_config with = *config;

    if (!weft_tune_path(config, path))
        return;
    FILE *file = fopen(path, "re");
    if (file == NULL && (errno == ENOENT || errno == ENOTDIR) && config->tune[0] == 0)
        return;
    const size_t bytes = file != NULL ? fread(text, 1, sizeof(text), file) : 0;
    const int error = file == NULL || ferror(file) ? errno : 0;
    if (file != NULL)
        fclose(file);
    text[bytes <= MOST_BYTES ? bytes : 0] = 0;
    const bool good = error != 0              ? wrong(why, "%s", strerror(error))
                      : bytes > MOST_BYTES    ? wrong(why, "more than %d bytes", MOST_BYTES)
                      : strlen(text) != bytes ? wrong(why, "it holds bytes that are no text")
                                              : read_lines(&with, text, why);
    if (good)
        *config = with;
    else
        weft_say(WEFT_SAY_WARN, "%s is not used: %s (weft-info --tune makes a new one)", path, why);
}

void weft_tune_keep(struct weft_config *config, const char *device)
{
    const unsigned char other =
        strcmp(device, "cuda") == 0 ? WEFT_CONFIG_TUNED_CPU : WEFT_CONFIG_TUNED_CUDA;

    for (int i = 0; i < WEFT_CONFIG_ROWS; i++)
        if (config->source[i] == other &&
            weft_config_set(config, &weft_config_rows[i], weft_config_rows[i].def) == WEFT_OK)
            config->source[i] = WEFT_CONFIG_DEFAULT;
}
