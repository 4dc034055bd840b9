/*
 * common/report.h - what process 0 prints: a line for each repetition, and whether the result is
 * right. With --csv: a header and the lines, for scripts; the check then goes to stderr.
 */
#ifndef COMMON_REPORT_H
#define COMMON_REPORT_H

#include "settings.h"

/* The columns of --csv. */
#define REPORT_HEADER                                                                              \
    "app,variant,device,processes,ranks,threads,iterations,repetition,total_ms,communication_ms"

struct report {
    const struct program *program;
    const struct settings *settings;
    const char *variant;           /* "weft", "mpi", ... */
    const char *device;            /* "cpu" or "cuda" */
    int processes, ranks, threads; /* of the job; of a device; of a rank. Two-model: 0 and 0 */
    double *total;                 /* milliseconds of each repetition */
    uint64_t done;                 /* repetitions */
};

/* Prints the header. Returns false without memory. report->program to threads are set. */
bool report_begin(struct report *report);

/*
 * One repetition, in milliseconds: the slowest process's time from after the creation of windows to
 * the end of the last iteration, and what of it went into communication (negative: not known).
 */
void report_repetition(struct report *report, double total, double communication);

/* The median and its neighbours in words, unless the lines were asked for. Frees the report. */
void report_end(struct report *report);

/* Prints and returns whether a difference is within its limit. NaN is not. */
bool report_check(const struct settings *settings, const char *what, double difference,
                  double limit);

/* Whether stdout took all that was printed, if not says so. A reader that left early is no fault.
 */
bool report_flushed(void);

#endif
