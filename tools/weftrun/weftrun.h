/*
 * weftrun.h - the launcher's parts: options (main.c), which process runs where (hosts.c) and drives
 * what (units.c), starting a process of this host (launch.c), its output (output.c), watching over
 * all of them until the last has ended (watch.c), and killing what they leave running
 * (children.c). Processes of other hosts: reach.c starts a helper there, which is weftrun again
 * (helper.c, obey.c), and remote.c talks to it, by records (link.c).
 */
#ifndef WEFTRUN_H
#define WEFTRUN_H

#include "base/netif.h"
#include "base/poll.h"
#include "base/task.h"
#include "link.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

/* Exit statuses of weftrun itself, as in env(1) and timeout(1). */
enum { EXIT_TIME_OVER = 124, EXIT_OWN_ERROR = 125, EXIT_NOT_RUN = 126, EXIT_NOT_FOUND = 127 };

enum { UNITS_BYTES = 128 }; /* of options.units, its end included */

enum verbosity { QUIET, NORMAL, VERBOSE };

/* A host that processes may run on, and the helper there. */
struct host {
    char *name;
    int slots;        /* processes it takes; 0: not said */
    int first, count; /* the processes that it got */
    pid_t pid;        /* of the command that reaches it; 0: ended, or not started */
    struct link link; /* to the helper; both ends -1: ended, or not started */
    int errors;       /* what that command complains of; -1: none */
    char complaint[256];
    size_t complaint_bytes;
    bool greeted; /* the helper has answered */
    bool failed;  /* it said so, or is lost: it runs nothing */
    bool waited_for;
    uint64_t hung_up; /* when the link was closed */
};

struct options {
    int processes; /* 0: not said, until hosts_place */
    struct host *hosts;
    int host_count;    /* 0: all processes run here, without a helper */
    const char *units; /* what the processes of a host drive; NULL: as WEFT_DEVICE says */
    const char *rsh;   /* NULL: as configured */
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
    bool prefix; /* whole lines, each with the process's index */
    char *text;  /* a line that has not ended yet */
    size_t length, capacity;
};

struct process {
    pid_t pid; /* 0 when it has ended, or is not known yet */
    bool running;
    bool stopped;      /* was said */
    struct host *host; /* NULL: this one */
    int log;           /* -1: none, as are the streams' descriptors */
    struct stream out, err;
};

/* What all processes get. */
struct job {
    const struct options *options;
    struct process *processes;
    sigset_t signals;    /* the mask that weftrun was started with */
    struct rlimit files; /* the limit of open files that it was started with */
    int listener;        /* the root's socket, for process 0; -1: it has none here */
    int first;           /* the first process on this host */
    char root[WEFT_ROOT_BYTES];
    char secret[WEFT_SECRET_BYTES];
    /* with helpers: */
    uint64_t begin;
    int silence_s;           /* of the links */
    bool started;            /* they have been told to start their processes */
    bool input, input_taken; /* there may be more on standard input; process 0 took the last */
};

/*
 * Says "weftrun: ..." on stderr in one write; in a helper, keeps the text for the launcher instead
 * (complaint_keep).
 */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The time, in weft_now_ns, so many seconds from now. */
uint64_t after(double seconds);

/* Complaints are kept from now on, the last one here. */
void complaint_keep(char *text, size_t bytes);

/*
 * Takes over signals (they are read from a descriptor, a closed pipe is an error of write),
 * orphans, and as many open files as the hard limit allows. 0, or an exit status after a complaint.
 */
int take_over(struct job *job);

/* An entry of -H, or what follows a name in a host file. NULL, or what is wrong with it. */
const char *hosts_add(struct options *options, const char *text);

/* Reads a host file. 0, or an exit status after a complaint. */
int hosts_read(struct options *options, const char *path);

/* Says which processes run on which host. 0, or an exit status after a complaint. */
int hosts_place(struct options *options);
void hosts_free(struct options *options);

/* How many processes of a host "cuda:1,cpu:2" and the like stand for; 0: it is malformed. */
int units_count(const char *text);

/* What a process drives: "cpu" or "cuda". */
const char *units_device(const char *text, int process);

/* Gives each host the processes of options->units. 0, or an exit status after a complaint. */
int units_place(struct options *options);

/* Starts the helpers and tells them the job. 0, or an exit status after a complaint. */
int remote_start(struct job *job, const char *rsh);

/* Sends a signal to all processes of a host. */
void remote_signal(struct host *host, int number);

/* What a record from a helper, or its end, means; watch.c does it. */
struct remote_events {
    void *context;
    void (*ended)(void *context, int process, int status); /* as of wait */
    void (*failed)(void *context, struct host *host, int exit_status, const char *text);
};

/* Reads what has come from a host's helper and does it. */
void remote_read(struct job *job, struct host *host, const struct remote_events *events);

/* Passes on what the command that reaches a host complains of. */
void remote_complaints(struct host *host);

/* The command that reaches a host has ended, with this status of wait. */
void remote_ended(struct job *job, struct host *host, int status,
                  const struct remote_events *events);

/* Sends a host what waits, and a sign of life. */
void remote_beat(struct host *host);

/* Once a round, after reading: that, and who has fallen silent. */
void remote_look(const struct job *job, struct host *host);

/* There is something on standard input: sends it on. */
void remote_input(struct job *job);

/* This process is a helper: does what it is told on its standard input; the exit status. */
int helper_main(void);

/* The secret and, for processes of this host, the root's socket. 0, or an exit status. */
int launch_prepare(struct job *job);

/*
 * A process of this host has ended, with status 0. If the others still wait for it in weft_open,
 * they learn that it is lost: it seems to come, and to go at once. In the place of process 0
 * weftrun listens and refuses who comes. Waits a moment at most.
 */
void launch_miss(const struct job *job, int k);

/* In a child, before exec: the mask and the limit that weftrun was started with. False with errno.
 */
bool launch_give_back(const struct job *job);

/* Starts process k. 0, or an exit status after a complaint. */
int launch_process(struct job *job, int k);

/* Makes the log directory, if one is wanted. 0, or an exit status after a complaint. */
int output_prepare(const struct options *options);

/*
 * Opens what process k's output goes through; *out and *err are the ends for the process, or -1
 * where it inherits. 0, or an exit status after a complaint.
 */
int output_open(const struct options *options, struct process *process, int k, int *out, int *err);

/* The same for a process elsewhere, whose output comes as records. */
int output_open_remote(const struct options *options, struct process *process, int k);

/* Passes on what has come. Does nothing if the stream has ended. */
void output_read(struct stream *stream);

/* Passes this on. */
void output_take(struct stream *stream, const void *text, size_t bytes);

/* Says this on weftrun's standard error. */
void output_say(const char *text, size_t bytes);

/*
 * While a reader of weftrun's output keeps it waiting (since then), this is called a few times a
 * second. When it returns false, what that reader should get is given up. NULL: wait for ever.
 */
void output_meanwhile(bool (*wait)(void *context, uint64_t since), void *context);

/* Ends both streams, passing on what has come until now, and closes the log. */
void output_close(struct process *process);

/* True if something could not be written; it has been said. */
bool output_failed(void);

/* Waits for the end of all processes, passes signals and output on; the exit status. */
int watch(struct job *job);

/*
 * Why the job failed (ends.c). What says most stands last; of two alike the first counts. That a
 * process has lost another one says that the other failed; a signal that nobody here sent needs no
 * reason, nor does a host that is lost. Ends of processes come in no order: for VERDICT_S one that
 * says more is waited for, and as long as need be where there are only such that lost another.
 */
enum cause { CAUSE_NONE, CAUSE_PEER_LOST, CAUSE_STATUS, CAUSE_SIGNAL, CAUSE_SAID };
enum { END_BYTES = 480 }; /* what complain has room for */
#define VERDICT_S 0.1
struct verdict {
    int status;       /* weftrun's, as far as is known; 0: nothing failed */
    enum cause cause; /* of that status */
    uint64_t due;     /* when it is to be said; UINT64_MAX: not of itself */
    sigset_t sent;    /* signals to processes; by whom does not show in how these end */
    char why[END_BYTES], before[END_BYTES];
};

/* The k-th process has ended, with this status of wait; it still counts as running. True: badly. */
bool verdict_end(struct verdict *verdict, const struct job *job, int k, int status);
/* Nothing runs on a host any more. */
void verdict_host(struct verdict *verdict, const struct job *job, int status, const char *text);
/* A status of weftrun's own, if nothing failed before; 0: none. */
void verdict_own(struct verdict *verdict, int status);
/* Says it, if it was not. Nothing that comes later counts. */
void verdict_say(struct verdict *verdict, const struct job *job);

/* A child has been stopped, or goes on (status of wait): says so if it is a process of the job. */
void say_stop(const struct job *job, pid_t pid, int status);

/* Kills what runs, at once, and reaps it: processes and what they left behind. */
void children_end(struct job *job);
void children_kill(void); /* without looking at their output */

#endif
