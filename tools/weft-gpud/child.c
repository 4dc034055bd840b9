/* child.c - the processes of sessions. */
#include "gpud.h"

#include "base/config.h"
#include "base/say.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { JOIN_S = 10, FILES = 256 };

/* What a session needs no more: other connections, privileges, core files. */
static bool confine(struct gpud *gpud, int line)
{
    const struct rlimit none = {0, 0};
    struct rlimit files;

    close_range(STDERR_FILENO + 1, (unsigned)line - 1, 0);
    close_range((unsigned)line + 1, ~0u, 0);
    explicit_bzero(&gpud->key, sizeof(gpud->key));
    umask(077);
    signal(SIGTERM, SIG_DFL);
    signal(SIGCHLD, SIG_DFL);
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return false;
    if (files.rlim_max > FILES)
        files.rlim_max = FILES;
    files.rlim_cur = files.rlim_max;
    /* Who becomes another user loses the death signal. The daemon may have ended before it. */
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && setrlimit(RLIMIT_CORE, &none) == 0 &&
           setrlimit(RLIMIT_NOFILE, &files) == 0 &&
           (gpud->user == (uid_t)-1 || (setgroups(1, &gpud->group) == 0 &&
                                        setgid(gpud->group) == 0 && setuid(gpud->user) == 0)) &&
           prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == gpud->pid;
}

/* stdout and stderr become files in memory, which never block the driver; messages go on as before.
 */
static bool divert(int output[2])
{
    const int log = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

    for (int i = 0; i < 2 && log >= 0; i++) {
        output[i] = memfd_create("output", MFD_CLOEXEC);
        if (output[i] < 0 || fcntl(output[i], F_SETFL, O_APPEND) != 0 ||
            dup2(output[i], STDOUT_FILENO + i) < 0)
            return false;
    }
    weft_say_to(log);
    return log >= 0;
}

/* Its driver is open, and its first device has a context, before it is told of its program. */
static _Noreturn void serve(struct gpud *gpud, int line)
{
    struct weft_config config;
    struct weft_hello_request request;
    const struct weft_cuda_table *table;
    CUcontext context;
    int output[2];

    if (!confine(gpud, line) || !divert(output)) {
        say("a session cannot be confined: %s", strerror(errno));
        _exit(EXIT_FAILURE);
    }
    if (weft_config_load(&config, NULL, NULL) != WEFT_OK ||
        (table = weft_table_open(gpud->driver)) == NULL)
        _exit(EXIT_FAILURE);
    weft_say_level((enum weft_level)config.log);
    (void)table->context_retain(&context, gpud->devices[0]); /* what fails is said by its session */
    if (recv(line, &request, sizeof(request), 0) != (ssize_t)sizeof(request))
        _exit(EXIT_SUCCESS); /* the daemon is gone */
    const struct weft_session_limits limits = {.memory = gpud->memory,
                                               .devices = gpud->devices,
                                               .device_count = gpud->device_count,
                                               .idle_ns = gpud->idle_s * 1000000000ull,
                                               .output = output,
                                               .ends_process = true};
    close(line);
    config.process = (int64_t)request.process;
    config.processes = (int64_t)request.processes;
    config.root_fd = -1;
    config.connect_s = JOIN_S;
    memcpy(config.root, request.root, sizeof(config.root));
    memcpy(config.secret, request.secret, sizeof(config.secret));
    _exit(weft_session_serve(&config, table, &limits) == WEFT_OK ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* ---- all ------------------------------------------------------------------------------------- */

/* One without a program; NULL: the system has no room. */
static struct child *start(struct gpud *gpud)
{
    struct child *child = gpud->children;
    int ends[2];

    while (child->pid != 0)
        child++;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return NULL;
    const pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        serve(gpud, ends[1]);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return NULL;
    }
    child->pid = pid;
    child->line = ends[0];
    gpud->idle++;
    return child;
}

void child_warm(struct gpud *gpud)
{
    while (gpud->idle < gpud->warm && start(gpud) != NULL)
        continue;
}

static bool tell(const struct child *child, const struct weft_hello_request *request)
{
    return send(child->line, request, sizeof(*request), MSG_NOSIGNAL | MSG_DONTWAIT) ==
           (ssize_t)sizeof(*request);
}

bool child_start(struct gpud *gpud, const struct weft_hello_request *request, const char *peer)
{
    struct child *child = NULL;

    for (struct child *c = gpud->children; c < gpud->children + MOST_CHILDREN && child == NULL; c++)
        if (c->pid != 0 && c->line >= 0 && tell(c, request))
            child = c;
    if (child == NULL && ((child = start(gpud)) == NULL || !tell(child, request)))
        return false;
    close(child->line);
    child->line = -1;
    snprintf(child->peer, sizeof(child->peer), "%s", peer);
    gpud->idle--;
    gpud->client_count++;
    return true;
}

bool child_count_devices(const struct gpud *gpud, int *devices)
{
    int ends[2], count = -1;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    const pid_t pid = fork();
    if (pid == 0) {
        const struct weft_cuda_table *table = weft_table_open(gpud->driver);
        if (table == NULL || table->device_count(&count) != CUDA_SUCCESS)
            count = -1;
        (void)!write(ends[1], &count, sizeof(count));
        _exit(EXIT_SUCCESS);
    }
    close(ends[1]);
    const bool told = pid > 0 && read(ends[0], &count, sizeof(count)) == (ssize_t)sizeof(count);
    close(ends[0]);
    if (pid > 0)
        waitpid(pid, NULL, 0);
    *devices = count;
    return told && count > 0;
}

void child_reap(struct gpud *gpud)
{
    int ended;
    pid_t pid;

    while ((pid = waitpid(-1, &ended, WNOHANG)) > 0) {
        struct child *child = gpud->children;
        while (child < gpud->children + MOST_CHILDREN && child->pid != pid)
            child++;
        if (child == gpud->children + MOST_CHILDREN)
            continue;
        child->pid = 0;
        if (child->line >= 0) {
            say("a warm session ended before a program came");
            close(child->line);
            gpud->idle--;
            gpud->warm -= gpud->warm != 0; /* or it would end again and again */
            continue;
        }
        gpud->client_count--;
        if (WIFSIGNALED(ended))
            say("the session of %s ended by signal %d", child->peer, WTERMSIG(ended));
    }
}

uint32_t child_end_all(struct gpud *gpud)
{
    const uint32_t count = gpud->client_count;

    for (int i = 0; i < MOST_CHILDREN; i++)
        if (gpud->children[i].pid != 0) {
            kill(gpud->children[i].pid, gpud->children[i].line < 0 ? SIGTERM : SIGKILL);
            waitpid(gpud->children[i].pid, NULL, 0);
            gpud->children[i].pid = 0;
        }
    gpud->client_count = 0;
    return count;
}
