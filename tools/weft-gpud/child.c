/* child.c - the processes of sessions. */
#include "gpud.h"

#include "base/config.h"
#include "base/say.h"
#include "boot/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { JOIN_S = 10, FILES = 256 };

/* What a session needs no more: other connections, privileges, core files. */
static bool confine(struct gpud *gpud, int fd)
{
    const struct rlimit none = {0, 0}, files = {FILES, FILES};

    for (int i = 0; i < STRANGERS; i++)
        if (gpud->strangers[i].fd >= 0 && gpud->strangers[i].fd != fd)
            close(gpud->strangers[i].fd);
    if (gpud->listener >= 0)
        close(gpud->listener);
    explicit_bzero(&gpud->key, sizeof(gpud->key));
    umask(077);
    signal(SIGTERM, SIG_DFL);
    signal(SIGCHLD, SIG_DFL);
    return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           setrlimit(RLIMIT_CORE, &none) == 0 && setrlimit(RLIMIT_NOFILE, &files) == 0 &&
           (gpud->user == (uid_t)-1 || (setgroups(1, &gpud->group) == 0 &&
                                        setgid(gpud->group) == 0 && setuid(gpud->user) == 0));
}

/* The driver, in a process that is confined. */
static const struct weft_cuda_table *prepare(struct gpud *gpud, struct weft_config *config, int fd)
{
    if (!confine(gpud, fd)) {
        say("a session cannot be confined: %s", strerror(errno));
        _exit(EXIT_FAILURE);
    }
    const struct weft_cuda_table *table =
        weft_config_load(config, NULL, NULL) == WEFT_OK ? weft_table_open(gpud->driver) : NULL;
    if (table == NULL)
        _exit(EXIT_FAILURE);
    weft_say_level((enum weft_level)config->log);
    return table;
}

static _Noreturn void serve(const struct gpud *gpud, const struct weft_cuda_table *table,
                            struct weft_config *config, const struct weft_request *request, int fd)
{
    const struct weft_session_limits limits = {.memory = gpud->memory,
                                               .devices = gpud->devices,
                                               .device_count = gpud->device_count,
                                               .life_line = fd,
                                               .idle_ns = gpud->idle_s * 1000000000ull};

    config->process = (int64_t)request->process;
    config->processes = (int64_t)request->processes;
    config->root_fd = -1;
    config->connect_s = JOIN_S;
    memcpy(config->root, request->root, sizeof(config->root));
    memcpy(config->secret, request->secret, sizeof(config->secret));
    const weft_status status = weft_session_serve(config, table, &limits);
    _exit(status == WEFT_OK ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* ---- sessions that wait for a program ---------------------------------------------------------
 */

/* What a warm session is told: the request, and with it the program's connection. */
union passed {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

static bool pass(int line, const struct weft_request *request, int fd)
{
    struct iovec data = {(void *)(uintptr_t)request, sizeof(*request)};
    union passed passed = {0};
    const struct msghdr message = {.msg_iov = &data,
                                   .msg_iovlen = 1,
                                   .msg_control = passed.bytes,
                                   .msg_controllen = sizeof(passed.bytes)};

    passed.header = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(fd)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&passed.header), &fd, sizeof(fd));
    return sendmsg(line, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof(*request);
}

/* Blocking; ends the process if the daemon is gone. */
static int await(int line, struct weft_request *request)
{
    struct iovec data = {request, sizeof(*request)};
    union passed passed = {0};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = passed.bytes,
                             .msg_controllen = sizeof(passed.bytes)};
    int fd = -1;

    if (recvmsg(line, &message, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(*request) ||
        CMSG_FIRSTHDR(&message) == NULL || passed.header.cmsg_type != SCM_RIGHTS)
        _exit(EXIT_SUCCESS);
    memcpy(&fd, CMSG_DATA(&passed.header), sizeof(fd));
    return fd;
}

/* Its driver is open, and its devices have contexts, before a program comes. */
static _Noreturn void serve_warm(struct gpud *gpud, int line)
{
    struct weft_config config;
    struct weft_request request;
    const struct weft_cuda_table *table = prepare(gpud, &config, -1);
    int there = 0;
    CUcontext context;

    (void)table->device_count(
        &there); /* what fails here fails again, and is said, with a program */
    for (int i = 0; i < (gpud->device_count != 0 ? gpud->device_count : there); i++)
        (void)table->context_retain(&context, gpud->device_count != 0 ? gpud->devices[i] : i);
    const int fd = await(line, &request);
    close(line);
    serve(gpud, table, &config, &request, fd);
}

void child_warm(struct gpud *gpud)
{
    for (uint32_t i = 0; i < gpud->warm; i++) {
        struct warm *warm = &gpud->warms[i];
        int ends[2];
        if (warm->pid != 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
            continue;
        const pid_t pid = fork();
        if (pid == 0) {
            for (uint32_t other = 0; other < gpud->warm; other++)
                if (gpud->warms[other].pid != 0)
                    close(gpud->warms[other].line);
            close(ends[0]);
            serve_warm(gpud, ends[1]);
        }
        close(ends[1]);
        if (pid < 0) {
            close(ends[0]);
            continue;
        }
        *warm = (struct warm){pid, ends[0]};
    }
}

/* The process of a warm session that was given the program; 0: there is none. */
static pid_t take_warm(struct gpud *gpud, const struct weft_request *request, int fd)
{
    for (uint32_t i = 0; i < gpud->warm; i++) {
        struct warm *warm = &gpud->warms[i];
        const pid_t pid = warm->pid;
        if (pid == 0 || !pass(warm->line, request, fd))
            continue;
        close(warm->line);
        warm->pid = 0;
        return pid;
    }
    return 0;
}

/* ---- all --------------------------------------------------------------------------------------
 */

bool child_start(struct gpud *gpud, const struct weft_request *request, int fd)
{
    struct client *client = gpud->clients;
    struct weft_config config;

    while (client->pid != 0)
        client++;
    weft_socket_peer(fd, client->peer);
    pid_t pid = take_warm(gpud, request, fd);
    if (pid == 0)
        pid = fork();
    if (pid == 0) {
        const struct weft_cuda_table *table = prepare(gpud, &config, fd);
        serve(gpud, table, &config, request, fd);
    }
    if (pid < 0) {
        say("a session for %s: %s", client->peer, strerror(errno));
        return false;
    }
    client->pid = pid;
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
        for (uint32_t i = 0; i < gpud->warm; i++)
            if (gpud->warms[i].pid == pid) {
                say("a warm session ended before a program came");
                close(gpud->warms[i].line);
                gpud->warms[i].pid = 0;
                gpud->warm--; /* or it would end again and again */
                gpud->warms[i] = gpud->warms[gpud->warm];
            }
        for (int i = 0; i < MOST_CLIENTS; i++)
            if (gpud->clients[i].pid == pid) {
                if (WIFSIGNALED(ended))
                    say("the session of %s ended by signal %d", gpud->clients[i].peer,
                        WTERMSIG(ended));
                gpud->clients[i].pid = 0;
                gpud->client_count--;
            }
    }
}

uint32_t child_end_all(struct gpud *gpud)
{
    const uint32_t count = gpud->client_count;

    for (uint32_t i = 0; i < gpud->warm; i++)
        if (gpud->warms[i].pid != 0)
            kill(gpud->warms[i].pid, SIGKILL);
    for (int i = 0; i < MOST_CLIENTS; i++)
        if (gpud->clients[i].pid != 0) {
            kill(gpud->clients[i].pid, SIGTERM);
            waitpid(gpud->clients[i].pid, NULL, 0);
            gpud->clients[i].pid = 0;
        }
    gpud->client_count = 0;
    return count;
}
