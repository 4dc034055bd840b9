/*
 * reach.c - the launcher's way to other hosts: the command that reaches a host starts weftrun there
 * as a helper (helper.c), which is told the job through its standard input, secret included:
 * nothing of it stands on a command line. What the helper answers: remote.c.
 */
#include "weftrun.h"

#include "boot/interface.h"

#include <weft/types.h>

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

extern char **environ;

enum { WORDS_MAX = 32 };

/* ---- reaching a host ------------------------------------------------------------------------- */

/* For the shell at the other end; what is plain stays as it is. */
static bool quote(char *to, size_t room, const char *path)
{
    size_t end = 0;
    bool plain = true;

    for (const char *c = path; *c != 0; c++)
        plain = plain && (isalnum((unsigned char)*c) || strchr("/._-+", *c) != NULL);
    if (plain)
        return snprintf(to, room, "%s", path) < (int)room;
    to[end++] = '\'';
    for (const char *c = path; *c != 0 && end + 6 < room; c++) {
        if (*c == '\'')
            end += (size_t)sprintf(to + end, "'\\''");
        else
            to[end++] = *c;
    }
    to[end++] = '\'';
    to[end] = 0;
    return end + 6 < room;
}

/* Whether a name is this host's own: no command is needed to reach it. */
static bool is_here(const char *name)
{
    char own[HOST_NAME_MAX + 1];

    return strcmp(name, "localhost") == 0 ||
           (gethostname(own, sizeof(own)) == 0 && strcmp(name, own) == 0);
}

/* The words of the command, in place; the rest of `words` is for the host and the helper. More than
 * WORDS_MAX: too many. */
static int split(char *text, char **words)
{
    int count = 0;
    char *at;

    for (char *word = strtok_r(text, " \t", &at); word != NULL; word = strtok_r(NULL, " \t", &at)) {
        if (count == WORDS_MAX)
            return WORDS_MAX + 1;
        words[count++] = word;
    }
    return count;
}

/* In the child. The terminal's signals are for weftrun, which passes them on. */
static void become(const struct job *job, char **words, const int ends[2], pid_t parent)
{
    static const int ignored[] = {SIGINT, SIGQUIT, SIGTSTP};

    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
        signal(ignored[i], SIG_IGN);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent &&
        dup2(ends[0], STDIN_FILENO) >= 0 && dup2(ends[0], STDOUT_FILENO) >= 0 &&
        dup2(ends[1], STDERR_FILENO) >= 0 && launch_give_back(job))
        execvp(words[0], words);
    dprintf(STDERR_FILENO, "cannot run %s: %s\n", words[0], strerror(errno));
    _exit(EXIT_NOT_RUN);
}

/* Starts the command; the link and the errors are open then. */
static bool reach(const struct job *job, struct host *host, char **words)
{
    const pid_t self = getpid();
    int pair[2], errors[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return false;
    if (pipe2(errors, O_CLOEXEC) != 0)
        goto close_pair;
    if (!link_open(&host->link, pair[0], pair[0], job->silence_s) ||
        fcntl(errors[0], F_SETFL, O_NONBLOCK) != 0)
        goto close_errors;
    host->pid = fork();
    if (host->pid == 0)
        become(job, words, (const int[2]){pair[1], errors[1]}, self);
    if (host->pid < 0)
        goto close_errors;
    close(pair[1]);
    close(errors[1]);
    host->errors = errors[0];
    return true;

close_errors:
    close(errors[0]);
    close(errors[1]);
close_pair:
    close(pair[0]);
    close(pair[1]);
    host->link = (struct link){.in = -1, .out = -1};
    host->pid = 0;
    return false;
}

/* ---- telling it the job ---------------------------------------------------------------------- */

/* Variables of weft that are the same for all processes; the launcher gives the others. */
static bool passes_on(const char *variable)
{
    static const char *const own[] = {"WEFT_PROCESS=", "WEFT_PROCESSES=", "WEFT_ROOT=",
                                      "WEFT_ROOT_FD=", "WEFT_SECRET=",    "WEFT_RSH="};

    if (strncmp(variable, "WEFT_", 5) != 0)
        return false;
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (strncmp(variable, own[i], strlen(own[i])) == 0)
            return false;
    }
    return true;
}

static bool on_one_host(const struct options *options)
{
    for (int i = 1; i < options->host_count; i++) {
        if (options->hosts[i].count > 0 &&
            strcmp(options->hosts[i].name, options->hosts[0].name) != 0)
            return false;
    }
    return true;
}

static bool tell(const struct job *job, struct host *host, const char *folder)
{
    const struct options *options = job->options;
    struct link *link = &host->link;
    char line[96 + UNITS_BYTES];

    snprintf(line, sizeof(line), "%d.%d.%d %d %d %d %d %s", WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR,
             WEFT_VERSION_PATCH, host->first, host->count, options->processes, job->silence_s,
             options->units != NULL ? options->units : "");
    bool told = link_text(link, RECORD_JOB, line) && link_text(link, RECORD_FOLDER, folder) &&
                link_text(link, RECORD_SECRET, job->secret);
    for (char **v = environ; told && *v != NULL; v++)
        told = !passes_on(*v) || link_text(link, RECORD_VARIABLE, *v);
    for (char **v = options->variables; told && v != NULL && *v != NULL; v++)
        told = link_text(link, RECORD_VARIABLE, *v);
    for (char **a = options->program; told && *a != NULL; a++)
        told = link_text(link, RECORD_ARGUMENT, *a);
    if (told && host->first == 0) {
        const unsigned char reach = on_one_host(options) ? WEFT_REACH_HOST : WEFT_REACH_NETWORK;
        told = link_send(link, RECORD_LISTEN, 0, &reach, 1);
    }
    return told;
}

static bool start_host(const struct job *job, struct host *host, char **words, int count,
                       char *helper, const char *folder)
{
    char path[PATH_MAX];
    char *here[] = {path, (char *)"--helper", NULL};
    char command[2 * PATH_MAX];

    snprintf(path, sizeof(path), "%s", helper);
    if (!quote(command, sizeof(command) - 16, helper))
        return false;
    strcat(command, " --helper");
    words[count] = host->name;
    words[count + 1] = command;
    words[count + 2] = NULL;
    if (!reach(job, host, is_here(host->name) ? here : words))
        return false;
    /* One that ended at once is dealt with like one that ends later. */
    if (!tell(job, host, folder) && host->link.out < 0)
        return false;
    return true;
}

int remote_start(struct job *job, const char *rsh)
{
    char helper[PATH_MAX], folder[PATH_MAX], text[512];
    char *words[WORDS_MAX + 3];
    const ssize_t length = readlink("/proc/self/exe", helper, sizeof(helper) - 1);

    if (length < 0 || getcwd(folder, sizeof(folder)) == NULL) {
        complain("the names of weftrun and of the working directory: %s", strerror(errno));
        return EXIT_OWN_ERROR;
    }
    helper[length] = 0;
    const bool fits = snprintf(text, sizeof(text), "%s", rsh) < (int)sizeof(text);
    const int count = fits ? split(text, words) : 0;
    if (count == 0 || count > WORDS_MAX) {
        complain("--rsh: \"%.40s\" is no command of at most %d words and %zu bytes", rsh, WORDS_MAX,
                 sizeof(text) - 1);
        return EXIT_OWN_ERROR;
    }
    for (int i = 0; i < job->options->host_count; i++) {
        struct host *host = &job->options->hosts[i];
        for (int k = host->first; k < host->first + host->count; k++) {
            job->processes[k].host = host;
            job->processes[k].running = true;
            const int status = output_open_remote(job->options, &job->processes[k], k);
            if (status != 0)
                return status;
        }
        if (host->count > 0 && !start_host(job, host, words, count, helper, folder)) {
            complain("host %s: %s", host->name, strerror(errno));
            return EXIT_OWN_ERROR;
        }
    }
    job->input = true;
    return 0;
}
