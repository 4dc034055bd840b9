/* support/fault_job.c - see support/fault_job.h. */
#include "support/fault_job.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

double fault_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double fault_scale(void)
{
    const char *text = getenv("FAULT_SCALE");
    const double scale = text == NULL ? 1 : strtod(text, NULL);

    return scale > 1 ? scale : 1;
}

static void die(const char *what)
{
    perror(what);
    exit(1);
}

/* A listening socket on a free port of the loopback interface. */
static int listen_somewhere(int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(fd, 64) != 0 || getsockname(fd, (struct sockaddr *)&address, &bytes) != 0)
        die("listening socket");
    *port = ntohs(address.sin_port);
    return fd;
}

static void set_number(const char *name, int value)
{
    char text[16];
    snprintf(text, sizeof(text), "%d", value);
    setenv(name, text, 1);
}

void fault_start(struct fault_job *job, int processes, int (*body)(int process))
{
    int port = 0, fd = listen_somewhere(&port);
    char root[32];

    snprintf(root, sizeof(root), "127.0.0.1:%d", port);
    *job = (struct fault_job){.processes = processes, .started = fault_now()};
    for (int p = 0; p < processes; p++) {
        char name[] = "/tmp/weft-fault-XXXXXX";
        job->error[p] = mkstemp(name);
        if (job->error[p] < 0 || unlink(name) != 0)
            die("temporary file");
        job->status[p] = -1;
        job->pid[p] = fork();
        if (job->pid[p] < 0)
            die("fork");
        if (job->pid[p] == 0) {
            set_number("WEFT_PROCESS", p);
            set_number("WEFT_PROCESSES", processes);
            setenv("WEFT_ROOT", root, 1);
            setenv("WEFT_SECRET", "faults", 1);
            if (p == 0)
                set_number("WEFT_ROOT_FD", fd);
            else
                close(fd);
            dup2(job->error[p], STDERR_FILENO);
            exit(body(p));
        }
    }
    close(fd);
}

void fault_kill(struct fault_job *job, int process, double after_s)
{
    usleep((useconds_t)(after_s * fault_scale() * 1e6));
    kill(job->pid[process], SIGKILL);
}

static void read_text(struct fault_job *job, int p)
{
    ssize_t n = pread(job->error[p], job->text[p], FAULT_TEXT - 1, 0);
    job->text[p][n > 0 ? n : 0] = 0;
    close(job->error[p]);
}

bool fault_wait(struct fault_job *job, double most_s)
{
    const double deadline = fault_now() + most_s;
    int left = job->processes;
    bool good = true;

    while (left > 0) {
        left = 0;
        for (int p = 0; p < job->processes; p++) {
            int status;
            if (job->status[p] >= 0)
                continue;
            if (waitpid(job->pid[p], &status, WNOHANG) == job->pid[p]) {
                job->status[p] = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
                job->ended[p] = fault_now() - job->started;
            } else {
                left++;
                if (fault_now() > deadline) {
                    good = false;
                    kill(job->pid[p], SIGKILL);
                }
            }
        }
        usleep(10000);
    }
    for (int p = 0; p < job->processes; p++)
        read_text(job, p);
    return good;
}

int fault_run(const weft_kernel *kernel, int ranks, void *user, size_t user_bytes)
{
    weft_job *job;
    weft_status status = weft_open(&job, NULL, NULL);

    if (status != WEFT_OK)
        return (int)status;
    status = weft_prepare(job, kernel, 1, ranks);
    if (status == WEFT_OK)
        status = weft_run(job, user, user_bytes, NULL);
    weft_close(job);
    return (int)status;
}
