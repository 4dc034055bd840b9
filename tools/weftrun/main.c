/*
 * weftrun - starts the processes of a weft job on this host and stays until the last has ended.
 *
 * The order of things: options, log directory, the root's socket and the secret, the processes
 * one after the other, then the watch.
 */
#include "weftrun.h"

#include <weft/types.h>

#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define TEXT(x)  #x
#define DIGIT(x) TEXT(x)

const char *argp_program_version = "weftrun " DIGIT(WEFT_VERSION_MAJOR) "." DIGIT(
    WEFT_VERSION_MINOR) "." DIGIT(WEFT_VERSION_PATCH);

enum { MOST_PROCESSES = 65536, OPTION_GRACE = 256 };

static const struct argp_option option_list[] = {
    {"processes", 'n', "N", 0, "start N processes (default 1)", 0},
    {"prefix", 'l', NULL, 0, "begin each line of output with the process's index", 0},
    {"output-dir", 'o', "DIR", 0,
     "write each process's output to DIR/process-K.log; shown only with --prefix then", 0},
    {"env", 'x', "NAME=VALUE", 0, "set a variable for the processes; may be repeated", 0},
    {"timeout", 't', "SECONDS", 0, "end the job after this time, with status 124", 0},
    {"grace", OPTION_GRACE, "SECONDS", 0,
     "after a failure: time to end by themselves, and again after SIGTERM (default 5)", 0},
    {"quiet", 'q', NULL, 0, "do not say which process failed", 0},
    {"verbose", 'v', NULL, 0, "say how each process begins and ends", 0},
    {0},
};

void complain(const char *format, ...)
{
    char line[512] = "weftrun: ";
    const size_t begin = strlen(line);
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(line + begin, sizeof(line) - begin - 1, format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    size_t end = begin + (size_t)length;
    if (end > sizeof(line) - 2)
        end = sizeof(line) - 2;
    line[end] = '\n';
    /* Where stderr cannot be written, there is nobody to tell. */
    (void)!write(STDERR_FILENO, line, end + 1);
}

uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail */
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* A time of 0 to a year. */
static double seconds(struct argp_state *state, const char *name, const char *text)
{
    char *end;

    errno = 0;
    const double value = strtod(text, &end);
    if (end == text || *end != '\0' || errno != 0 || !(value >= 0 && value <= 31536000))
        argp_error(state, "--%s: \"%s\" is not a number of seconds", name, text);
    return value;
}

static int count(struct argp_state *state, const char *text)
{
    char *end;

    errno = 0;
    const long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < 1 || value > MOST_PROCESSES)
        argp_error(state, "--processes: \"%s\" is not a number from 1 to %d", text, MOST_PROCESSES);
    return (int)value;
}

static error_t add_variable(struct argp_state *state, struct options *options, char *text)
{
    size_t have = 0;

    if (strchr(text, '=') == NULL || text[0] == '=')
        argp_error(state, "--env: \"%s\" is not NAME=VALUE", text);
    while (options->variables != NULL && options->variables[have] != NULL)
        have++;
    char **more = realloc(options->variables, (have + 2) * sizeof(*more));
    if (more == NULL)
        return ENOMEM;
    more[have] = text;
    more[have + 1] = NULL;
    options->variables = more;
    return 0;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct options *options = state->input;

    switch (key) {
    case 'n':
        options->processes = count(state, text);
        return 0;
    case 'l':
        options->prefix = true;
        return 0;
    case 'o':
        options->output_dir = text;
        return 0;
    case 'x':
        return add_variable(state, options, text);
    case 't':
        options->timeout_s = seconds(state, "timeout", text);
        return 0;
    case OPTION_GRACE:
        options->grace_s = seconds(state, "grace", text);
        return 0;
    case 'q':
        options->verbosity = QUIET;
        return 0;
    case 'v':
        options->verbosity = VERBOSE;
        return 0;
    case ARGP_KEY_ARGS:
        options->program = state->argv + state->next;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "which program?");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Signals are read from a descriptor (watch.c); a closed pipe is an error of write, not a death. */
static int take_signals(struct job *job)
{
    sigset_t ours;

    sigfillset(&ours);
    sigdelset(&ours, SIGTSTP); /* stop, continue and faults work as always */
    sigdelset(&ours, SIGCONT);
    sigdelset(&ours, SIGSEGV);
    if (sigprocmask(SIG_SETMASK, &ours, &job->signals) != 0 ||
        prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
        complain("cannot take over signals and orphans: %s", strerror(errno));
        return EXIT_OWN_ERROR;
    }
    return 0;
}

static int run(struct job *job)
{
    int status = output_prepare(job->options);

    if (status == 0)
        status = launch_prepare(job);
    if (status != 0)
        return status;
    for (int k = 0; k < job->options->processes; k++) {
        status = launch_process(job, k);
        if (status != 0)
            break;
    }
    close(job->listener);
    if (status != 0) {
        watch_kill(job);
        return status;
    }
    return watch(job);
}

int main(int argc, char **argv)
{
    static const struct argp argp = {option_list,
                                     parse,
                                     "PROGRAM [ARGUMENT...]",
                                     "Runs a weft program as a job of N processes on this host. "
                                     "The status is that of the first process that fails; "
                                     "128 plus the signal if a signal ended it.",
                                     NULL,
                                     NULL,
                                     NULL};
    struct options options = {.processes = 1, .grace_s = 5, .verbosity = NORMAL};
    struct job job = {.options = &options, .listener = -1};

    argp_err_exit_status = EXIT_OWN_ERROR;
    const error_t error = argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &options);
    if (error != 0) {
        complain("options: %s", strerror(error));
        return EXIT_OWN_ERROR;
    }
    job.processes = calloc((size_t)options.processes, sizeof(job.processes[0]));
    if (job.processes == NULL) {
        complain("no memory for %d processes", options.processes);
        return EXIT_OWN_ERROR;
    }
    for (int k = 0; k < options.processes; k++)
        job.processes[k] = (struct process){.log = -1, .out.from = -1, .err.from = -1};
    int status = take_signals(&job);
    if (status == 0)
        status = run(&job);
    free(job.processes);
    free(options.variables);
    return status;
}
