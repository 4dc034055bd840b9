/*
 * control_run.h - runs a program in every process of a control channel: as tasks of one address
 * space, or as forked children over TCP. A program returns 0, or 1 if it found something
 * wrong (support/expect.h).
 */
#ifndef WEFT_TESTS_CONTROL_RUN_H
#define WEFT_TESTS_CONTROL_RUN_H

#include "base/task.h"
#include "boot/control.h"
#include "boot/frame.h"
#include "boot/local.h"
#include "support/expect.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { PROCESSES = 4, FRAMES = 150, HANG_S = 200 };

static const uint64_t second = 1000000000;

/* What the processes of a test share. */
static struct shared {
    uint64_t order[PROCESSES]; /* a hash of what each has seen */
    char root[32];
    int port, listener;
    int leaving;
    uint32_t have[PROCESSES]; /* frames of process 2 */
} * shared;

typedef int program(struct weft_config *config);

/* ---- what programs do ------------------------------------------------------------------------ */

static inline void pause_ms(long milliseconds)
{
    const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static inline uint64_t hash(uint64_t sum, const void *data, size_t bytes)
{
    const unsigned char *p = data;

    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ p[i]) * 1099511628211u;
    return sum;
}

/* Frame i of a process: mostly small, a few of the largest size, some empty. */
static inline size_t size_of_frame(int i)
{
    return i % 50 == 7 ? WEFT_FRAME_MAX : (size_t)(i * 37 % 600);
}

/* Sends one frame each turn and checks all that comes, until all have sent all. */
static inline int exchange(struct weft_control *control, int senders)
{
    const int me = control->process;
    unsigned char *payload = malloc(WEFT_FRAME_MAX);
    int seen[PROCESSES] = {0}, total = 0;
    uint64_t sum = 0;
    struct weft_frame frame;

    EXPECT(payload != NULL);
    for (int turn = 0; total < senders * FRAMES; turn++) {
        if (turn < FRAMES) {
            memset(payload, me * 50 + turn, size_of_frame(turn));
            EXPECT(weft_control_send(control, (uint16_t)(turn + 1), payload, size_of_frame(turn)) ==
                   WEFT_OK);
        }
        while (total < senders * FRAMES) {
            weft_status status =
                weft_control_next(control, &frame, turn < FRAMES ? 0 : 20 * second);
            if (status == WEFT_ERR_TIMEOUT && turn < FRAMES)
                break;
            EXPECT(status == WEFT_OK);
            const int i = frame.kind - 1;
            EXPECT(frame.source >= 0 && frame.source < PROCESSES);
            EXPECT(i == seen[frame.source]++);
            EXPECT(frame.bytes == size_of_frame(i));
            EXPECT(frame.bytes == 0 || ((unsigned char *)frame.payload)[frame.bytes - 1] ==
                                           (unsigned char)(frame.source * 50 + i));
            sum = hash(sum, &frame.source, sizeof(frame.source));
            sum = hash(sum, frame.payload, frame.bytes);
            free(frame.payload);
            total++;
        }
    }
    free(payload);
    shared->order[me] = sum;
    return 0;
}

static inline int expect_lost(struct weft_control *control, int process)
{
    struct weft_frame frame;

    EXPECT(weft_control_next(control, &frame, 20 * second) == WEFT_OK);
    EXPECT(frame.kind == WEFT_FRAME_LOST && frame.source == process && frame.payload == NULL);
    return 0;
}

static inline int all_send(struct weft_config *config)
{
    struct weft_control *control;

    EXPECT(weft_control_open(&control, config) == WEFT_OK);
    EXPECT(control->processes == PROCESSES);
    int wrong = exchange(control, PROCESSES);
    if (control->process == PROCESSES - 1)
        pause_ms(100);
    weft_control_close(control, true);
    return wrong;
}

/* ---- as tasks -------------------------------------------------------------------------------- */

struct local_process {
    struct weft_task task;
    struct weft_local *group;
    program *run;
    int process, wrong;
};

static inline void local_main(void *argument)
{
    struct local_process *p = argument;
    struct weft_config config = {.process = -1, .processes = 1, .connect_s = 20};

    weft_local_enter(p->group, p->process);
    config.process = p->process; /* for the programs; the channel takes the group's word */
    p->wrong = p->run(&config);
}

static inline void run_local(program *run)
{
    struct local_process processes[PROCESSES];
    struct weft_local *group;

    assert_int_equal(weft_local_begin(&group, PROCESSES), WEFT_OK);
    for (int i = 0; i < PROCESSES; i++) {
        processes[i] = (struct local_process){.group = group, .run = run, .process = i};
        assert_int_equal(weft_task_start(&processes[i].task, "process", local_main, &processes[i]),
                         WEFT_OK);
    }
    for (int i = 0; i < PROCESSES; i++)
        weft_task_join(&processes[i].task);
    weft_local_end(group);
    for (int i = 0; i < PROCESSES; i++)
        assert_int_equal(processes[i].wrong, 0);
}

/* ---- over TCP -------------------------------------------------------------------------------- */

/* A listening socket on a free port of the loopback interface, in shared. */
static inline void listen_somewhere(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);

    shared->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(shared->listener >= 0);
    assert_int_equal(bind(shared->listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(shared->listener, 64), 0);
    assert_int_equal(getsockname(shared->listener, (struct sockaddr *)&address, &size), 0);
    shared->port = ntohs(address.sin_port);
    snprintf(shared->root, sizeof(shared->root), "127.0.0.1:%d", shared->port);
}

static inline int child_main(program *run, int process, bool inherit)
{
    struct weft_config config = {.process = process,
                                 .processes = PROCESSES,
                                 .root_fd = -1,
                                 .connect_s = 20,
                                 .silence_s = 28};

    alarm(HANG_S);
    strcpy(config.root, shared->root);
    strcpy(config.secret, "loom");
    if (process == 0 && inherit)
        config.root_fd = shared->listener;
    else if (inherit)
        close(shared->listener);
    return run(&config);
}

/* killed: the process that a signal ends, or -1. */
static inline void run_tcp(program *run, bool inherit, int killed)
{
    pid_t children[PROCESSES];

    listen_somewhere();
    if (!inherit)
        close(shared->listener);
    fflush(NULL);
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            _exit(child_main(run, i, inherit) != 0);
    }
    if (inherit)
        close(shared->listener);
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        if (i == killed)
            assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        else
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

static inline void assert_one_order(void)
{
    for (int i = 1; i < PROCESSES; i++)
        assert_true(shared->order[i] == shared->order[0]);
}

/* Before any test. False: no memory. */
static inline bool open_shared(void)
{
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    alarm(4 * HANG_S);
    return shared != MAP_FAILED;
}

#endif
