/* support/fault_job.c - see support/fault_job.h. */
#include "support/fault_job.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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
    double load = 0;

    getloadavg(&load, 1);
    load /= (double)sysconf(_SC_NPROCESSORS_ONLN);
    return (scale > 1 ? scale : 1) * (load > 1 ? load : 1);
}

void fault_set(const char *setting, const char *value)
{
    char scaled[32];

    snprintf(scaled, sizeof(scaled), "%g", strtod(value, NULL) * fmin(fault_scale(), 8));
    setenv(setting, strcmp(setting, "WEFT_TIMEOUT_S") == 0 ? scaled : value, 1);
}

static void die(const char *what)
{
    perror(what);
    exit(1);
}

/*
 * A listening socket on the loopback interface, at an address that no other process has: a job of
 * which the root was killed tries its old port for a while, and that may be anybody's by then.
 */
static int listen_somewhere(char *root, size_t root_bytes)
{
    const uint32_t own = 127u << 24 | ((uint32_t)getpid() & 0xffffff);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(own)};
    char name[INET_ADDRSTRLEN];
    socklen_t bytes = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(fd, 64) != 0 || getsockname(fd, (struct sockaddr *)&address, &bytes) != 0)
        die("listening socket");
    inet_ntop(AF_INET, &address.sin_addr, name, sizeof(name));
    snprintf(root, root_bytes, "%s:%d", name, ntohs(address.sin_port));
    return fd;
}

static uint32_t *words; /* FAULT_WORDS, shared */

uint32_t fault_look(int word)
{
    return __atomic_load_n(&words[word], __ATOMIC_ACQUIRE);
}

void fault_add(int word)
{
    __atomic_add_fetch(&words[word], 1, __ATOMIC_RELEASE);
}

static void share_words(void)
{
    const size_t bytes = FAULT_WORDS * sizeof(*words);

    if (words == NULL)
        words = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (words == MAP_FAILED)
        die("mmap");
    memset(words, 0, bytes);
}

static void set_number(const char *name, int value)
{
    char text[16];
    snprintf(text, sizeof(text), "%d", value);
    setenv(name, text, 1);
}

void fault_start(struct fault_job *job, int processes, int (*body)(int process))
{
    char root[32];
    const int fd = listen_somewhere(root, sizeof(root));

    share_words();
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

static bool one_has_ended(const struct fault_job *job)
{
    for (int p = 0; p < job->processes; p++) {
        siginfo_t info = {0}; /* stays to be waited for */
        if (waitid(P_PID, (id_t)job->pid[p], &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
            info.si_pid != 0)
            return true;
    }
    return false;
}

void fault_await(struct fault_job *job)
{
    while (fault_look(FAULT_WORD_READY) < (uint32_t)job->processes && !one_has_ended(job) &&
           fault_now() - job->started < FAULT_HANG_S)
        usleep(1000);
    job->ready = fault_now() - job->started;
}

static void read_text(struct fault_job *job, int p)
{
    ssize_t n = pread(job->error[p], job->text[p], FAULT_TEXT - 1, 0);
    job->text[p][n > 0 ? n : 0] = 0;
}

bool fault_says(struct fault_job *job, const char *first, const char *second, double most_s)
{
    for (const double end = fault_now() + most_s; fault_now() < end; usleep(10000)) {
        for (int p = 0; p < job->processes; p++) {
            read_text(job, p);
            if (strstr(job->text[p], first) != NULL && strstr(job->text[p], second) != NULL)
                return true;
        }
    }
    return false;
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
    for (int p = 0; p < job->processes; p++) {
        read_text(job, p);
        close(job->error[p]);
    }
    return good;
}

int fault_run(const weft_kernel *kernel, int ranks, void *user, size_t user_bytes)
{
    weft_job *job;
    weft_status status = weft_open(&job, NULL, NULL);

    if (status != WEFT_OK)
        return (int)status;
    status = weft_prepare(job, kernel, 32, ranks);
    if (status == WEFT_OK)
        fault_add(FAULT_WORD_READY);
    if (status == WEFT_OK)
        status = weft_run(job, user, user_bytes, NULL);
    weft_close(job);
    return (int)status;
}

int fault_check(bool good, const struct fault_job *job, const char *test, int process,
                const char *wrong)
{
    if (!good)
        printf("FAILED %s: process %d: %s (status %d after %.1f s); it said:\n%s\n", test, process,
               wrong, job->status[process], job->ended[process], job->text[process]);
    return !good;
}
