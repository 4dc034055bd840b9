/*
 * common/settings.h - the command line that all case studies share: a preset, sizes, iterations,
 * repetitions, a seed, and what to print. Every process reads it and comes to the same settings.
 */
#ifndef COMMON_SETTINGS_H
#define COMMON_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

enum { SETTINGS_SIZES = 6 };

/* small: for tests. thesis: the sizes of the dCUDA work. fill: several times the L2 of an H200. */
enum settings_preset { PRESET_SMALL, PRESET_THESIS, PRESET_FILL, PRESETS };

/* An option --NAME N of one application. */
struct settings_size {
    const char *name; /* NULL ends the list */
    const char *about;
    uint64_t lowest, highest;
    uint64_t preset[PRESETS];
};

/* What an application is to its front end: all its programs have one, and names of their own. */
struct program {
    const char *name, *about;
    bool takes_matrix; /* --matrix FILE */
    uint64_t iterations[PRESETS];
    struct settings_size size[SETTINGS_SIZES + 1];
};

struct settings {
    uint64_t size[SETTINGS_SIZES]; /* in the order of the program's list */
    uint64_t iterations, repetitions, seed;
    int ranks, threads; /* of a device and of a rank; 0: not given */
    const char *matrix; /* a path, or NULL */
    bool verify, csv, progress, help;
};

/*
 * Fills *settings. Returns false when something is wrong, or with settings->help set. What is
 * wrong, or the help, is printed only by the process that speaks: one line, or one page, for a job.
 */
bool settings_read(const struct program *program, int argc, char **argv, bool speak,
                   struct settings *settings);

/* Prints one line on stderr, with the program's name, for a failure that it finds itself. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
