/*
 * weftrun - starts the processes of a weft job and stays until the last has ended.
 *
 * The order of things: options, which process runs where, log directory, the root's socket and the
 * secret, the processes one after the other or a helper on each host, then the watch.
 */
#include "weftrun.h"

#include "base/config.h"

#include <weft/types.h>

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define TEXT(x)  #x
#define DIGIT(x) TEXT(x)

const char *argp_program_version = "weftrun " DIGIT(WEFT_VERSION_MAJOR) "." DIGIT(
    WEFT_VERSION_MINOR) "." DIGIT(WEFT_VERSION_PATCH);

enum { MOST_PROCESSES = 65536, OPTION_GRACE = 256, OPTION_RSH, OPTION_HOST_FILE, OPTION_UNITS };

extern char **environ;

static const struct argp_option option_list[] = {
    {"processes", 'n', "N", 0,
     "start N processes (default 1, or what the hosts have slots for); -np N is the same", 0},
    {"host", 'H', "HOST[:SLOTS],...", 0, "run them on these hosts, in this order", 0},
    {"hostfile", OPTION_HOST_FILE, "FILE", 0, "the hosts, one a line: HOST or HOST slots=N", 0},
    {"units", OPTION_UNITS, "KIND:N,...", 0,
     "what the processes of each host drive, in this order: cuda:1,cpu:2 is one on a GPU, then two "
     "on CPUs",
     0},
    {"rsh", OPTION_RSH, "COMMAND", 0, "what reaches another host (default WEFT_RSH, or ssh)", 0},
    {"prefix", 'l', NULL, 0, "begin each line of output with the process's index", 0},
    {"output-dir", 'o', "DIR", 0,
     "write each process's output to DIR/process-K.log; shown only with --prefix then", 0},
    {"env", 'x', "NAME[=VALUE]", 0,
     "set a variable for the processes, or pass it on to other hosts; may be repeated", 0},
    {"timeout", 't', "SECONDS", 0,
     "end the job after this time, with status 124 (0, as by default: never)", 0},
    {"grace", OPTION_GRACE, "SECONDS", 0,
     "after a failure: time to end by themselves, and again after SIGTERM (default 5)", 0},
    {"quiet", 'q', NULL, 0, "do not say which process failed", 0},
    {"verbose", 'v', NULL, 0, "say how each process begins and ends", 0},
    {0},
};

static char *kept;
static size_t kept_bytes;

void complaint_keep(char *text, size_t bytes)
{
    kept = text;
    kept_bytes = bytes;
}

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
    if (kept != NULL) {
        snprintf(kept, kept_bytes, "%s", line + begin);
        return;
    }
    size_t end = begin + (size_t)length;
    if (end > sizeof(line) - 2)
        end = sizeof(line) - 2;
    line[end] = '\n';
    output_say(line, end + 1);
}

uint64_t after(double seconds)
{
    return weft_now_ns() + (uint64_t)(seconds * 1e9);
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

/* The variable as weftrun has it. */
static const char *from_environment(struct argp_state *state, const char *name)
{
    const size_t length = strlen(name);

    for (char **v = environ; *v != NULL; v++) {
        if (strncmp(*v, name, length) == 0 && (*v)[length] == '=')
            return *v;
    }
    argp_error(state, "--env: %s is not set, and \"%s\" is not NAME=VALUE", name, name);
    return name;
}

static void add_hosts(struct argp_state *state, struct options *options, const char *text)
{
    const char *wrong = hosts_add(options, text);

    if (wrong != NULL)
        argp_error(state, "--host: \"%s\": %s", text, wrong);
}

static error_t add_variable(struct argp_state *state, struct options *options, char *text)
{
    size_t have = 0;

    if (text[0] == '=' || text[0] == '\0')
        argp_error(state, "--env: \"%s\" is not NAME=VALUE", text);
    if (strchr(text, '=') == NULL)
        text = (char *)from_environment(state, text);
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
        if (strcmp(text, "p") == 0 && state->next < state->argc)
            text = state->argv[state->next++]; /* -np N, as mpirun has it */
        options->processes = count(state, text);
        return 0;
    case 'H':
        add_hosts(state, options, text);
        return 0;
    case OPTION_HOST_FILE:
        if (hosts_read(options, text) != 0)
            exit(EXIT_OWN_ERROR);
        return 0;
    case OPTION_UNITS:
        if (units_count(text) == 0)
            argp_error(state, "--units: \"%s\" is not KIND:N,... with cuda or cpu and 1 to %d",
                       text, MOST_PROCESSES);
        options->units = text;
        return 0;
    case OPTION_RSH:
        options->rsh = text;
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

/* What weftrun was started to ignore (nohup, a shell's background) it does not take for a wish. */
static void leave_ignored(sigset_t *ours)
{
    struct sigaction was;

    for (int number = 1; number < NSIG; number++)
        if (number != SIGCHLD && sigaction(number, NULL, &was) == 0 && was.sa_handler == SIG_IGN)
            sigdelset(ours, number);
}

int take_over(struct job *job)
{
    sigset_t ours;
    struct rlimit files;

    sigfillset(&ours);
    /* Stop, continue and faults work as always; but helpers would take silence for our end. */
    if (job->options->host_count == 0)
        sigdelset(&ours, SIGTSTP);
    sigdelset(&ours, SIGCONT);
    sigdelset(&ours, SIGSEGV);
    leave_ignored(&ours);
    if (sigprocmask(SIG_SETMASK, &ours, &job->signals) != 0 ||
        prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
        complain("cannot take over signals and orphans: %s", strerror(errno));
        return EXIT_OWN_ERROR;
    }
    signal(SIGXFSZ, SIG_IGN); /* a file too large is an error of write, for the processes too */
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) {
        complain("the limit of open files: %s", strerror(errno));
        return EXIT_OWN_ERROR;
    }
    job->files = files;
    files.rlim_cur = files.rlim_max;        /* pipes and links need two for each process or host */
    (void)setrlimit(RLIMIT_NOFILE, &files); /* where this fails, pipe will say what is missing */
    return 0;
}

/* Starts them, here or through helpers. */
static int start(struct job *job)
{
    struct weft_config config;
    int status = 0;

    if (job->options->host_count > 0) {
        if (weft_config_load(&config, NULL, NULL) != WEFT_OK)
            return EXIT_OWN_ERROR; /* it has been said */
        job->silence_s = (int)config.silence_s + LINK_MORE_S;
        return remote_start(job, job->options->rsh != NULL ? job->options->rsh : config.rsh);
    }
    for (int k = 0; status == 0 && k < job->options->processes; k++)
        status = launch_process(job, k);
    close(job->listener);
    return status;
}

static int run(struct job *job)
{
    int status = output_prepare(job->options);

    if (status == 0)
        status = launch_prepare(job);
    if (status != 0)
        return status;
    job->begin = weft_now_ns();
    status = start(job);
    if (status != 0) {
        children_end(job);
        return status;
    }
    return watch(job);
}

/* The options are known. */
static int run_options(struct options *options)
{
    struct job job = {.options = options, .listener = -1, .input_taken = true};
    int status = hosts_place(options);

    if (status != 0)
        return status;
    job.processes = calloc((size_t)options->processes, sizeof(job.processes[0]));
    if (job.processes == NULL) {
        complain("no memory for %d processes", options->processes);
        return EXIT_OWN_ERROR;
    }
    for (int k = 0; k < options->processes; k++)
        job.processes[k] = (struct process){.log = -1, .out.from = -1, .err.from = -1};
    status = take_over(&job);
    if (status == 0)
        status = run(&job);
    free(job.processes);
    return status;
}

/* What else is opened must not become a standard stream: the processes would write into it. Nobody
 * can write to what is opened for reading, and so they say that they have none. */
static bool standard_streams(void)
{
    for (int fd = 0; fd <= STDERR_FILENO;)
        if (fcntl(fd, F_GETFD) >= 0)
            fd++;
        else if (open("/dev/null", O_RDONLY) < 0)
            return false;
    return true;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_list,
        .parser = parse,
        .args_doc = "PROGRAM [ARGUMENT...]",
        .doc =
            "Runs a weft program as a job of N processes, on this host or on those of --host. The "
            "status is that of the process that failed; 128 plus the signal if a signal ended it."};
    struct options options = {.grace_s = 5, .verbosity = NORMAL};

    if (!standard_streams()) {
        complain("/dev/null cannot be opened for a standard stream that is closed: %s",
                 strerror(errno));
        return EXIT_OWN_ERROR;
    }
    if (argc == 2 && strcmp(argv[1], "--helper") == 0)
        return helper_main();
    argp_err_exit_status = EXIT_OWN_ERROR;
    const error_t error = argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &options);
    if (error != 0) {
        complain("options: %s", strerror(error));
        return EXIT_OWN_ERROR;
    }
    const int status = run_options(&options);
    hosts_free(&options);
    free(options.variables);
    return status;
}
