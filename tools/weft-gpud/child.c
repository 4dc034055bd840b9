/* child.c - the processes of sessions. */
#include "gpud.h"

#include "base/config.h"
#include "base/say.h"
#include "boot/socket.h"
#include "remote/table/fake/fake.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { JOIN_S = 10, FILES = 256 };

/* The driver that --driver names. NULL: said. */
static const struct weft_cuda_table *open_driver(const char *driver)
{
    static const char fake[] = "fake:";
    const struct weft_cuda_table *table = NULL;
    const char *reason = NULL;

    if (strncmp(driver, fake, sizeof(fake) - 1) == 0) {
        (void)weft_fake_open(&table, driver + sizeof(fake) - 1);
        return table;
    }
    table = weft_table_load(&reason);
    if (table == NULL)
        say("the driver: %s", reason);
    return table;
}

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

static _Noreturn void serve(struct gpud *gpud, const struct weft_request *request, int fd)
{
    struct weft_config config;
    const struct weft_session_limits limits = {.memory = gpud->memory,
                                               .devices = gpud->devices,
                                               .device_count = gpud->device_count,
                                               .life_line = fd};
    weft_status status = weft_config_load(&config, NULL, NULL);

    if (!confine(gpud, fd)) {
        say("a session cannot be confined: %s", strerror(errno));
        _exit(EXIT_FAILURE);
    }
    const struct weft_cuda_table *table = status == WEFT_OK ? open_driver(gpud->driver) : NULL;
    if (table == NULL)
        _exit(EXIT_FAILURE);
    weft_say_level((enum weft_level)config.log);
    config.process = (int64_t)request->process;
    config.processes = (int64_t)request->processes;
    config.root_fd = -1;
    config.connect_s = JOIN_S;
    memcpy(config.root, request->root, sizeof(config.root));
    memcpy(config.secret, request->secret, sizeof(config.secret));
    status = weft_session_serve(&config, table, &limits);
    _exit(status == WEFT_OK ? EXIT_SUCCESS : EXIT_FAILURE);
}

bool child_start(struct gpud *gpud, const struct weft_request *request, int fd)
{
    struct client *client = gpud->clients;

    while (client->pid != 0)
        client++;
    weft_socket_peer(fd, client->peer);
    const pid_t pid = fork();
    if (pid == 0)
        serve(gpud, request, fd);
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
        const struct weft_cuda_table *table = open_driver(gpud->driver);
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

    while ((pid = waitpid(-1, &ended, WNOHANG)) > 0)
        for (int i = 0; i < MOST_CLIENTS; i++)
            if (gpud->clients[i].pid == pid) {
                if (WIFSIGNALED(ended))
                    say("the session of %s ended by signal %d", gpud->clients[i].peer,
                        WTERMSIG(ended));
                gpud->clients[i].pid = 0;
                gpud->client_count--;
            }
}

uint32_t child_end_all(struct gpud *gpud)
{
    const uint32_t count = gpud->client_count;

    for (int i = 0; i < MOST_CLIENTS; i++)
        if (gpud->clients[i].pid != 0) {
            kill(gpud->clients[i].pid, SIGTERM);
            waitpid(gpud->clients[i].pid, NULL, 0);
            gpud->clients[i].pid = 0;
        }
    gpud->client_count = 0;
    return count;
}
