/*
 * common/settings.c - options by table; every number is read strictly.
 */
#include "settings.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const preset_names[PRESETS] = {"small", "thesis", "fill"};

/* The words that take no value, and those that take one. */
enum word {
    WORD_HELP,
    WORD_VERIFY,
    WORD_CSV,
    WORD_PROGRESS,
    WORD_PRESET,
    WORD_ITERATIONS,
    WORD_REPETITIONS,
    WORD_SEED,
    WORD_RANKS,
    WORD_THREADS,
    WORD_MATRIX,
    WORDS
};

static const struct {
    const char *name, *value, *about;
} words[WORDS] = {
    {"help", NULL, "print this"},
    {"verify", NULL, "compare the last repetition with a serial run; a difference is a failure"},
    {"csv", NULL, "print a header and a line for each repetition, and nothing else"},
    {"progress", NULL, "print a line on stderr after each repetition"},
    {"preset", "NAME", "small (default), thesis or fill: sizes and iterations, see below"},
    {"iterations", "N", "of one repetition"},
    {"repetitions", "N", "run it N times (default 1)"},
    {"seed", "N", "of the initial conditions (default 1)"},
    {"ranks", "N", "ranks of a device, at most (default: what it holds and the sizes allow)"},
    {"threads", "N", "threads of a rank (default: the program's own choice)"},
    {"matrix", "FILE", "read the matrix from a Matrix Market file instead of making one"},
};

void complain(const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, text);
}

static bool offers(const struct program *program, enum word word)
{
    return word != WORD_MATRIX || program->takes_matrix;
}

static void print_help(const struct program *program)
{
    printf("usage: %s [OPTION]...\n%s\n\n", program_invocation_short_name, program->about);
    for (enum word word = 0; word < WORDS; word++) {
        char left[40];
        if (!offers(program, word))
            continue;
        snprintf(left, sizeof(left), "--%s %s", words[word].name,
                 words[word].value ? words[word].value : "");
        printf("  %-18s %s\n", left, words[word].about);
    }
    printf("\n%-42s %12s %12s %12s\n", "sizes, and the presets", "small", "thesis", "fill");
    for (const struct settings_size *size = program->size; size->name; size++)
        printf("  --%-12s %-25s %12" PRIu64 " %12" PRIu64 " %12" PRIu64 "\n", size->name,
               size->about, size->preset[PRESET_SMALL], size->preset[PRESET_THESIS],
               size->preset[PRESET_FILL]);
    printf("  --%-12s %-25s %12" PRIu64 " %12" PRIu64 " %12" PRIu64 "\n", "iterations", "",
           program->iterations[PRESET_SMALL], program->iterations[PRESET_THESIS],
           program->iterations[PRESET_FILL]);
}

static bool read_number(const char *text, uint64_t lowest, uint64_t highest, uint64_t *value)
{
    char *stop;
    errno = 0;
    unsigned long long number = strtoull(text, &stop, 10);
    if (!isdigit((unsigned char)*text) || *stop || errno || number < lowest || number > highest)
        return false;
    *value = number;
    return true;
}

static bool read_int(const char *text, int *value)
{
    uint64_t number;
    if (!read_number(text, 1, INT_MAX, &number))
        return false;
    *value = (int)number;
    return true;
}

static void choose_preset(const struct program *program, enum settings_preset preset,
                          struct settings *settings)
{
    for (int i = 0; program->size[i].name; i++)
        settings->size[i] = program->size[i].preset[preset];
    settings->iterations = program->iterations[preset];
}

static bool read_preset(const struct program *program, const char *text, struct settings *settings)
{
    for (enum settings_preset preset = 0; preset < PRESETS; preset++) {
        if (strcmp(text, preset_names[preset]) == 0) {
            choose_preset(program, preset, settings);
            return true;
        }
    }
    return false;
}

static bool read_value(const struct program *program, enum word word, const char *text,
                       struct settings *settings)
{
    switch (word) {
    case WORD_PRESET:
        return read_preset(program, text, settings);
    case WORD_ITERATIONS:
        return read_number(text, 1, INT_MAX, &settings->iterations);
    case WORD_REPETITIONS:
        return read_number(text, 1, INT_MAX, &settings->repetitions);
    case WORD_SEED:
        return read_number(text, 0, UINT64_MAX, &settings->seed);
    case WORD_RANKS:
        return read_int(text, &settings->ranks);
    case WORD_THREADS:
        return read_int(text, &settings->threads);
    default:
        settings->matrix = text;
        return true;
    }
}

static void set_flag(enum word word, struct settings *settings)
{
    switch (word) {
    case WORD_VERIFY:
        settings->verify = true;
        break;
    case WORD_CSV:
        settings->csv = true;
        break;
    case WORD_PROGRESS:
        settings->progress = true;
        break;
    default:
        settings->help = true;
        break;
    }
}

/* The word or the size with this name: its index, or WORDS + the size's; -1 if there is none. */
static int find(const struct program *program, const char *name, size_t length)
{
    for (enum word word = 0; word < WORDS; word++)
        if (offers(program, word) && strlen(words[word].name) == length &&
            memcmp(words[word].name, name, length) == 0)
            return (int)word;
    for (int i = 0; program->size[i].name; i++)
        if (strlen(program->size[i].name) == length &&
            memcmp(program->size[i].name, name, length) == 0)
            return (int)WORDS + i;
    return -1;
}

/* Reads the option at argv[*i], and moves *i on over its value. Returns NULL or what is wrong. */
static const char *read_option(const struct program *program, int argc, char **argv, int *i,
                               struct settings *settings)
{
    const char *name = argv[*i] + 2;
    const char *equals = strchr(argv[*i], '=');
    const char *value = equals ? equals + 1 : NULL;
    if (strncmp(argv[*i], "--", 2) != 0)
        return "is not an option";
    const int found = find(program, name, equals ? (size_t)(equals - name) : strlen(name));
    if (found < 0)
        return "is not an option of this program";
    if (found < WORDS && !words[found].value) {
        set_flag((enum word)found, settings);
        return value ? "takes no value" : NULL;
    }
    if (!value && *i + 1 == argc)
        return "needs a value";
    if (!value)
        value = argv[++*i];
    if (found < WORDS)
        return read_value(program, (enum word)found, value, settings) ? NULL : "has a bad value";
    const struct settings_size *size = &program->size[found - WORDS];
    return read_number(value, size->lowest, size->highest, &settings->size[found - WORDS])
               ? NULL
               : "has a value out of range";
}

bool settings_read(const struct program *program, int argc, char **argv, bool speak,
                   struct settings *settings)
{
    *settings = (struct settings){.repetitions = 1, .seed = 1};
    choose_preset(program, PRESET_SMALL, settings);
    for (int i = 1; i < argc; i++) {
        const int at = i;
        const char *wrong = read_option(program, argc, argv, &i, settings);
        if (!wrong)
            continue;
        if (speak && i > at)
            complain("%s %s %s", argv[at], argv[i], wrong);
        else if (speak)
            complain("%s %s", argv[at], wrong);
        return false;
    }
    if (settings->help && speak)
        print_help(program);
    return !settings->help;
}
