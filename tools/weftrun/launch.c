/* launch.c - starting a process: what it inherits, and how a failed exec comes back. */
#include "weftrun.h"

#include "base/say.h"
#include "boot/frame.h"
#include "boot/interface.h"
#include "boot/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

int launch_prepare(struct job *job)
{
    if (weft_secret_make(job->secret) != WEFT_OK)
        return EXIT_OWN_ERROR;
    if (job->options->host_count > 0)
        return 0; /* the helper with process 0 has the socket */
    return weft_interface_listen(&job->listener, job->root, "", WEFT_REACH_HOST) == WEFT_OK
               ? 0
               : EXIT_OWN_ERROR;
}

/* Instead of process 0, which has ended: each that comes is told so, as long as weftrun runs. */
static void *turn_away(void *argument)
{
    enum { HELLO_NS = 100000000 };
    const int listener = (int)(intptr_t)argument;
    const struct weft_header ended = {.kind = WEFT_REFUSAL_ENDED, .op = WEFT_OP_REFUSED};
    unsigned char hello[WEFT_HELLO_BYTES], wire[WEFT_HEADER_BYTES];

    weft_header_put(wire, &ended);
    while (weft_socket_await(listener, POLLIN, -1, UINT64_MAX)) {
        const int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            continue;
        /* What it says is read first, or the end of the connection overtakes the answer. */
        if (weft_socket_await(fd, POLLIN, -1, weft_now_ns() + HELLO_NS) &&
            recv(fd, hello, sizeof(hello), MSG_DONTWAIT) > 0)
            (void)weft_socket_send(fd, wire, sizeof(wire));
        close(fd);
    }
    return NULL;
}

/* If nobody listens there any more. */
static void take_root(const struct weft_root *root)
{
    const enum weft_level level = weft_err_level(WEFT_SAY_INFO); /* no error: the job goes on */
    pthread_t thread;
    int listener;

    const weft_status status = weft_socket_listen(&listener, root);
    weft_err_level(level);
    if (status != WEFT_OK)
        return;
    if (pthread_create(&thread, NULL, turn_away, (void *)(intptr_t)listener) == 0)
        pthread_detach(thread);
    else
        close(listener);
}

void launch_miss(const struct job *job, int k)
{
    enum { PATIENCE_NS = 50000000 };
    struct weft_hello hello = {.process = k, .processes = job->options->processes};
    unsigned char wire[WEFT_HELLO_BYTES];
    struct weft_root roots[WEFT_ROOTS_MAX];
    const char *reason;

    if (weft_roots_parse(roots, job->root) == 0)
        return;
    if (k == 0) {
        take_root(&roots[0]);
        return;
    }
    const int fd = weft_socket_connect(&roots[0], weft_now_ns() + PATIENCE_NS, &reason);
    if (fd < 0)
        return;
    memcpy(hello.secret, job->secret, sizeof(hello.secret));
    weft_hello_put(wire, &hello);
    (void)weft_socket_send(fd, wire, sizeof(wire)); /* nobody has to hear it */
    close(fd);
}

/* ---- in the child, between fork and exec ---------------------------------------------------- */

static bool set_number(const char *name, int value)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", value);
    return setenv(name, text, 1) == 0;
}

/* What the process drives, if that was said; WEFT_DEVICE_ID chooses among GPUs. */
static bool set_unit(const struct options *options, int k)
{
    if (options->units == NULL)
        return true;
    const char *device = units_device(options->units, k);
    return setenv("WEFT_DEVICE", device, 1) == 0 &&
           (strcmp(device, "cpu") != 0 || unsetenv("WEFT_DEVICE_ID") == 0);
}

/* The number of a process on its host, under the names by which programs ask for it. */
static bool set_local(const struct job *job, int k)
{
    return set_number("LOCAL_RANK", k - job->first) &&
           set_number("MPI_LOCALRANKID", k - job->first);
}

static bool set_environment(const struct job *job, int k)
{
    for (char **v = job->options->variables; v != NULL && *v != NULL; v++) {
        if (putenv(*v) != 0)
            return false;
    }
    /* A weftrun inside a weftrun: the outer one's socket is not this job's. */
    return unsetenv("WEFT_ROOT_FD") == 0 && set_number("WEFT_PROCESS", k) &&
           set_number("WEFT_PROCESSES", job->options->processes) && set_unit(job->options, k) &&
           set_local(job, k) && setenv("WEFT_ROOT", job->root, 1) == 0 &&
           setenv("WEFT_SECRET", job->secret, 1) == 0 &&
           (k != 0 || set_number("WEFT_ROOT_FD", job->listener));
}

/* Only process 0 reads weftrun's input and has the root's socket. */
static bool set_descriptors(const struct job *job, int k, int out, int err)
{
    if (k == 0) {
        if (fcntl(job->listener, F_SETFD, 0) != 0)
            return false;
    } else {
        int nothing = open("/dev/null", O_RDONLY);
        if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0)
            return false;
        if (nothing != STDIN_FILENO)
            close(nothing);
    }
    return (out < 0 || dup2(out, STDOUT_FILENO) >= 0) && (err < 0 || dup2(err, STDERR_FILENO) >= 0);
}

bool launch_give_back(const struct job *job)
{
    return setrlimit(RLIMIT_NOFILE, &job->files) == 0 &&
           sigprocmask(SIG_SETMASK, &job->signals, NULL) == 0;
}

/* Becomes the program; on failure tells the parent errno through the pipe `report`. */
static void become(const struct job *job, int k, pid_t parent, int out, int err, int report)
{
    /* Dies with weftrun, however that ends; it may have ended before this took effect. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent && set_environment(job, k) &&
        set_descriptors(job, k, out, err) && launch_give_back(job))
        execvp(job->options->program[0], job->options->program);
    const int error = errno;
    (void)!write(report, &error, sizeof(error));
    _exit(EXIT_NOT_RUN);
}

/* ---- in the parent -------------------------------------------------------------------------- */

/* Waits for exec: 0, or its errno. */
static int exec_error(int report)
{
    int error = 0;
    ssize_t got;

    do
        got = read(report, &error, sizeof(error));
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof(error) ? error : 0;
}

static int fork_process(struct job *job, int k, int out, int err)
{
    const pid_t self = getpid();
    int report[2];

    if (pipe2(report, O_CLOEXEC) != 0) {
        complain("process %d: pipe: %s", k, strerror(errno));
        return EXIT_OWN_ERROR;
    }
    const pid_t pid = fork();
    if (pid == 0)
        become(job, k, self, out, err, report[1]);
    close(report[1]);
    if (pid < 0) {
        complain("process %d: fork: %s", k, strerror(errno));
        close(report[0]);
        return EXIT_OWN_ERROR;
    }
    const int error = exec_error(report[0]);
    close(report[0]);
    if (error != 0) {
        waitpid(pid, NULL, 0);
        complain("cannot run %s: %s", job->options->program[0], strerror(error));
        return error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN;
    }
    job->processes[k].pid = pid;
    job->processes[k].running = true;
    if (job->options->verbosity == VERBOSE)
        complain("process %d is pid %d", k, (int)pid);
    return 0;
}

int launch_process(struct job *job, int k)
{
    int out, err;
    int status = output_open(job->options, &job->processes[k], k, &out, &err);

    if (status != 0)
        return status;
    status = fork_process(job, k, out, err);
    if (out >= 0)
        close(out);
    if (err >= 0)
        close(err);
    if (status != 0)
        output_close(&job->processes[k]);
    return status;
}
