/*
 * weftrun.h - the launcher's parts: options (main.c), starting a process (launch.c), its output
 * (output.c), and watching over all of them until the last has ended (watch.c).
 */
#ifndef WEFTRUN_H
#define WEFTRUN_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Exit statuses of weftrun itself, as in env(1) and timeout(1). */
enum { EXIT_TIME_OVER = 124, EXIT_OWN_ERROR = 125, EXIT_NOT_RUN = 126, EXIT_NOT_FOUND = 127 };

enum verbosity { QUIET, NORMAL, VERBOSE };

struct options {
    int processes;
    bool prefix;
    const char *output_dir; /* NULL: none */
    char **variables;       /* NAME=VALUE, NULL at the end */
    double timeout_s;       /* 0: none */
    double grace_s;
    enum verbosity verbosity;
    char **program; /* and its arguments, NULL at the end */
};

/* One stream of a process on its way to the terminal and to a log, line by line. */
struct stream {
    int from;     /* the reading end of a pipe; -1: ended, or inherited and none of our business */
    int terminal; /* 1 or 2; -1: not shown */
    int *log;     /* the process's log, shared by its two streams; -1: none */
    int process;
    char *text; /* a line that has not ended yet */
    size_t length, capacity;
};

struct process {
    pid_t pid; /* 0 when it has ended */
    int log;   /* -1: none, as are the streams' descriptors */
    struct stream out, err;
};

/* What all processes get. */
struct job {
    const struct options *options;
    struct process *processes;
    sigset_t signals; /* the mask that weftrun was started with */
    int listener;     /* the root's socket, for process 0 */
    int port;
    char secret[33];
};

/* Prints "weftrun: ...\n" on stderr in one write. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Monotonic time. */
uint64_t now_ns(void);

/* The listening socket and the secret. 0, or an exit status after a complaint. */
int launch_prepare(struct job *job);

/* Starts process k. 0, or an exit status after a complaint. */
int launch_process(struct job *job, int k);

/* Makes the log directory, if one is wanted. 0, or an exit status after a complaint. */
int output_prepare(const struct options *options);

/*
 * Opens what process k's output goes through; *out and *err are the ends for the process, or -1
 * where it inherits. 0, or an exit status after a complaint.
 */
int output_open(const struct options *options, struct process *process, int k, int *out, int *err);

/* Passes on what has come. Does nothing if the stream has ended. */
void output_read(struct stream *stream);

/* Ends both streams, passing on what has come until now, and closes the log. */
void output_close(struct process *process);

/* True if something could not be written; it has been said. */
bool output_failed(void);

/* Waits for the end of all processes, passes signals and output on; the exit status. */
int watch(struct job *job);

/* Kills what runs, at once, and reaps it: processes and what they left behind. */
void watch_kill(struct job *job);

#endif
