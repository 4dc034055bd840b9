/*
 * fault/test_last_lines.c - what a rank logged before it fails is printed, before the error where
 * standard output takes it, and, where that is a full pipe, as its reader takes it. A rank of the
 * same process computes on meanwhile, so that the program's thread does not come to print it. All
 * share one processor, so that who prints comes late, too.
 */
#include "support/fault_job.h"
#include "weft/device.h"

#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANKS = 2, LINES = 5000 /* more than a pipe holds, less than that and the printer */ };
enum { TIMES = 10, PART = 4096, PAUSE_MS = 20, PATIENCE_MS = 5000 };

static const char error[] = "rank 2: weft_notify: target -1 is not one of the 4 ranks";

/*
 * Of process 1 rank 2 fails, at once after one line, when it is told to after many; rank 3 computes
 * until it is killed.
 */
WEFT_KERNEL(last_lines, int, lines)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD);

    if (me == 2) {
        for (int i = 0; i < *lines; i++)
            weft_log(self, "line %d", i);
        fault_add(FAULT_WORD_A);
        while (*lines > 1 && fault_look(FAULT_WORD_B) == 0)
            usleep(1000);
        weft_notify(self, WEFT_COMM_WORLD, -1, 1);
    }
    if (me == 3)
        for (;;)
            continue;
    weft_wait(self, 1, 1);
}

static int ends[2]; /* of a pipe: standard output of process 1; else it goes with its errors */
static int lines;

static int body(int process)
{
    dup2(lines > 1 && process == 1 ? ends[1] : STDERR_FILENO, STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    return fault_run(&last_lines, RANKS, &lines, sizeof(lines));
}

/* The lines that come, in their order, slowly; the first part is here when the rank fails. */
static int read_lines(void)
{
    static char text[20 * LINES];
    struct pollfd from = {.fd = ends[0], .events = POLLIN};
    const char *at = text;
    char want[40];
    size_t bytes = 0;
    int count = 0;

    while (poll(&from, 1, PATIENCE_MS) > 0 && bytes + PART < sizeof(text)) {
        const ssize_t n = read(ends[0], text + bytes, PART);
        if (n <= 0)
            break;
        bytes += (size_t)n;
        fault_add(FAULT_WORD_B);
        for (; snprintf(want, sizeof(want), "rank 2: line %d\n", count),
               strncmp(at, want, strlen(want)) == 0;
             count++)
            at += strlen(want);
        if (count == lines)
            break;
        poll(NULL, 0, PAUSE_MS);
    }
    return count;
}

static bool run(int to_log)
{
    static struct fault_job job;
    bool good = true;

    lines = to_log;
    if (pipe(ends) != 0)
        exit(EXIT_FAILURE);
    fault_start(&job, 2, body);
    close(ends[1]);
    fault_await(&job);
    while (fault_look(FAULT_WORD_A) == 0 && fault_now() - job.started < FAULT_HANG_S)
        poll(NULL, 0, 1);
    if (lines > 1) {
        const int come = read_lines();
        good = come == lines;
        printf("%d lines of %d came from a full pipe\n", come, lines);
    } else {
        good = fault_says(&job, "rank 2: line 0\n", error, PATIENCE_MS * 1e-3);
    }
    fault_kill(&job, 1, 0);
    good &= fault_wait(&job, FAULT_HANG_S) && job.status[0] == WEFT_ERR_RANK;
    const char *const said = strstr(job.text[1], error);
    const char *const line = strstr(job.text[1], "rank 2: line 0\n");
    good &= said != NULL && (lines > 1 || (line != NULL && line < said));
    close(ends[0]);
    return fault_check(good, &job, lines > 1 ? "many lines" : "one line", 1,
                       "lines that a rank logged before its error") == 0;
}

int main(void)
{
    cpu_set_t one;
    const int here = sched_getcpu();

    setbuf(stdout, NULL);
    CPU_ZERO(&one);
    CPU_SET((size_t)here, &one);
    if (here < 0 || sched_setaffinity(0, sizeof(one), &one) != 0)
        perror("one processor");
    setenv("WEFT_CPU_WORKERS", "2", 1); /* a thread for each rank */
    for (int i = 0; i < TIMES; i++)
        if (!run(1))
            return EXIT_FAILURE;
    return run(LINES) ? EXIT_SUCCESS : EXIT_FAILURE;
}
