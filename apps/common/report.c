/*
 * common/report.c - lines, medians and checks.
 */
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool report_begin(struct report *report)
{
    report->done = 0;
    report->total = calloc(report->settings->repetitions, sizeof(*report->total));
    if (!report->total) {
        complain("out of memory for %" PRIu64 " repetitions", report->settings->repetitions);
        return false;
    }
    if (report->settings->csv)
        printf(REPORT_HEADER "\n");
    return true;
}

void report_repetition(struct report *report, double total, double communication)
{
    const struct settings *settings = report->settings;
    report->total[report->done++] = total;
    if (settings->csv) {
        printf("%s,%s,%s,%d,%d,%d,%" PRIu64 ",%" PRIu64 ",%.6f,", report->program->name,
               report->variant, report->device, report->processes, report->ranks, report->threads,
               settings->iterations, report->done, total);
        if (communication >= 0)
            printf("%.6f", communication);
        putchar('\n');
        fflush(stdout);
    } else if (communication >= 0) {
        printf("communication: %.3f ms of %.3f ms\n", communication, total);
    }
    if (settings->progress)
        fprintf(stderr, "%s: repetition %" PRIu64 " of %" PRIu64 ": %.3f ms\n",
                program_invocation_short_name, report->done, settings->repetitions, total);
}

static int by_size(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static const char *plural(int count)
{
    return count == 1 ? "" : "s";
}

void report_end(struct report *report)
{
    const uint64_t n = report->done;
    if (n > 0 && !report->settings->csv) {
        qsort(report->total, n, sizeof(*report->total), by_size);
        const double median = (report->total[(n - 1) / 2] + report->total[n / 2]) / 2;
        printf("%s on %s: %d process%s", report->variant, report->device, report->processes,
               report->processes == 1 ? "" : "es");
        if (report->ranks > 0)
            printf(" of %d rank%s with %d thread%s", report->ranks, plural(report->ranks),
                   report->threads, plural(report->threads));
        printf("\ntime: %.3f ms, %.5f ms an iteration", median,
               median / (double)report->settings->iterations);
        if (n > 1)
            printf(" (median of %" PRIu64 ": %.3f to %.3f ms)", n, report->total[0],
                   report->total[n - 1]);
        putchar('\n');
    }
    free(report->total);
    report->total = NULL;
}

bool report_check(const struct settings *settings, const char *what, double difference,
                  double limit)
{
    const bool good = difference <= limit;
    fprintf(settings->csv ? stderr : stdout, "check: %s, %s: %.3e, at most %.0e\n",
            good ? "passed" : "FAILED", what, difference, limit);
    return good;
}

bool report_flushed(void)
{
    struct pollfd output = {.fd = STDOUT_FILENO};
    if (fflush(stdout) == 0 && !ferror(stdout))
        return true;
    if (poll(&output, 1, 0) > 0 && (output.revents & POLLERR) != 0)
        return true;
    complain("standard output could not be written");
    return false;
}
