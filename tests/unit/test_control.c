/*
 * The control channel: all processes see all frames in one order, and learn of a loss exactly
 * once, as tasks of one address space and over TCP; strangers and late comers do not disturb it.
 *
 * Processes are tasks or forked children here; each runs a program that returns 0, or the line
 * at which it found something wrong.
 */
#include "base/task.h"
#include "boot/control.h"
#include "boot/frame.h"
#include "boot/local.h"

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

enum { PROCESSES = 4, FRAMES = 150, HANG_S = 60 };

static const uint64_t second = 1000000000;

#define EXPECT(x)                                                                                  \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #x);                      \
            return __LINE__;                                                                       \
        }                                                                                          \
    } while (0)

/* What the processes of a test share. */
static struct shared {
    uint64_t order[PROCESSES]; /* a hash of what each has seen */
    char root[32];
    int port, listener;
} * shared;

typedef int program(struct weft_config *config);

/* ---- programs ------------------------------------------------------------------------------- */

static void pause_ms(long milliseconds)
{
    const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static uint64_t hash(uint64_t sum, const void *data, size_t bytes)
{
    const unsigned char *p = data;

    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ p[i]) * 1099511628211u;
    return sum;
}

/* Frame i of a process: mostly small, a few of the largest size, some empty. */
static size_t size_of_frame(int i)
{
    return i % 50 == 7 ? WEFT_FRAME_MAX : (size_t)(i * 37 % 600);
}

/* Sends one frame each turn and checks all that comes, until all have sent all. */
static int exchange(struct weft_control *control, int senders)
{
    const int me = weft_control_process(control);
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

static int expect_lost(struct weft_control *control, int process)
{
    struct weft_frame frame;

    EXPECT(weft_control_next(control, &frame, 20 * second) == WEFT_OK);
    EXPECT(frame.kind == WEFT_FRAME_LOST && frame.source == process && frame.payload == NULL);
    return 0;
}

static int all_send(struct weft_config *config)
{
    struct weft_control *control;

    EXPECT(weft_control_open(&control, config) == WEFT_OK);
    EXPECT(weft_control_processes(control) == PROCESSES);
    int wrong = exchange(control, PROCESSES);
    if (weft_control_process(control) == PROCESSES - 1)
        pause_ms(100);
    weft_control_close(control, true);
    return wrong;
}

/* Twice in a row: who is first in the second job waits for the last of the first. */
static int all_send_twice(struct weft_config *config)
{
    int wrong = all_send(config);
    return wrong ? wrong : all_send(config);
}

/* An orderly end is no loss. */
static int leave_one_by_one(struct weft_config *config)
{
    struct weft_control *control;
    struct weft_frame frame;

    EXPECT(weft_control_open(&control, config) == WEFT_OK);
    const int me = weft_control_process(control);
    if (me != 0)
        pause_ms(50 * me);
    if (me == PROCESSES - 1)
        EXPECT(weft_control_next(control, &frame, 0) == WEFT_ERR_TIMEOUT);
    weft_control_close(control, true);
    return 0;
}

/* Process 2 closes without a good-bye, the others go on without it. */
static int one_closes(struct weft_config *config)
{
    struct weft_control *control;

    EXPECT(weft_control_open(&control, config) == WEFT_OK);
    if (weft_control_process(control) == 2) {
        weft_control_close(control, false);
        return 0;
    }
    int wrong = expect_lost(control, 2);
    if (!wrong)
        wrong = exchange(control, PROCESSES - 1);
    weft_control_close(control, true);
    return wrong;
}

static int one_is_killed(struct weft_config *config)
{
    struct weft_control *control;

    EXPECT(weft_control_open(&control, config) == WEFT_OK);
    if (config->process == 2)
        raise(SIGKILL);
    int wrong = expect_lost(control, 2);
    if (!wrong)
        wrong = exchange(control, PROCESSES - 1);
    weft_control_close(control, true);
    return wrong;
}

/* The root ends when it knows that all are in the job; what it relayed until then may be lost. */
static int root_is_killed(struct weft_config *config)
{
    struct weft_control *control;
    struct weft_frame frame = {.kind = 1};

    EXPECT(weft_control_open(&control, config) == WEFT_OK);
    EXPECT(weft_control_send(control, 3, NULL, 0) == WEFT_OK);
    for (int i = 0; config->process == 0 && i < PROCESSES; i++)
        EXPECT(weft_control_next(control, &frame, 20 * second) == WEFT_OK);
    if (config->process == 0)
        raise(SIGKILL);
    while (frame.kind != WEFT_FRAME_LOST)
        EXPECT(weft_control_next(control, &frame, 20 * second) == WEFT_OK);
    EXPECT(frame.source == 0);
    EXPECT(weft_control_next(control, &frame, 0) == WEFT_ERR_TIMEOUT); /* once */
    weft_control_close(control, true);
    return 0;
}

/* What the root said before it closed still arrives. */
static int root_closes(struct weft_config *config)
{
    struct weft_control *control;
    struct weft_frame frame;

    EXPECT(weft_control_open(&control, config) == WEFT_OK);
    if (config->process == 0) {
        EXPECT(weft_control_send(control, 9, "last words", 10) == WEFT_OK);
        weft_control_close(control, false);
        return 0;
    }
    EXPECT(weft_control_next(control, &frame, 20 * second) == WEFT_OK);
    EXPECT(frame.kind == 9 && frame.bytes == 10);
    free(frame.payload);
    int wrong = expect_lost(control, 0);
    EXPECT(weft_control_next(control, &frame, 0) == WEFT_ERR_TIMEOUT); /* once */
    weft_control_close(control, true);
    return wrong;
}

/* Process 1 does not read while process 2 sends more than a member may be behind. */
static int one_does_not_read(struct weft_config *config)
{
    static unsigned char block[WEFT_FRAME_MAX];
    struct weft_control *control;
    struct weft_frame frame;
    bool lost = false;
    int sent = 0;

    EXPECT(weft_control_open(&control, config) == WEFT_OK);
    if (config->process == 1) {
        while (weft_control_send(control, 1, NULL, 0) == WEFT_OK)
            pause_ms(20);
        weft_control_close(control, false);
        return 0;
    }
    while (!lost) {
        if (config->process == 2) {
            EXPECT(weft_control_send(control, 2, block, sizeof(block)) == WEFT_OK);
            EXPECT(++sent < 256); /* the bound is 64 MiB, and something lies in sockets */
        }
        for (;;) {
            weft_status status =
                weft_control_next(control, &frame, config->process == 2 ? 0 : 20 * second);
            if (status == WEFT_ERR_TIMEOUT && config->process == 2)
                break;
            EXPECT(status == WEFT_OK);
            free(frame.payload);
            lost = frame.kind == WEFT_FRAME_LOST;
            if (lost)
                break;
        }
    }
    EXPECT(frame.source == 1);
    weft_control_close(control, true);
    return 0;
}

/* ---- strangers and impostors ---------------------------------------------------------------- */

static int dial(void)
{
    const struct sockaddr_in root = {.sin_family = AF_INET,
                                     .sin_port = htons((uint16_t)shared->port),
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (fd >= 0 && connect(fd, (const struct sockaddr *)&root, sizeof(root)) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Process 2 knows the secret and the hello, then sends a frame in the name of process 1. */
static int one_lies(struct weft_config *config)
{
    struct weft_hello hello = {.process = 2, .processes = PROCESSES, .secret = "loom"};
    const struct weft_header lie = {0, 5, 1, WEFT_OP_FRAME};
    unsigned char wire[WEFT_HELLO_BYTES], answer[2 * WEFT_HEADER_BYTES];

    if (config->process != 2) {
        struct weft_control *control;
        EXPECT(weft_control_open(&control, config) == WEFT_OK);
        int wrong = expect_lost(control, 2);
        weft_control_close(control, true);
        return wrong;
    }
    int fd = dial();
    EXPECT(fd >= 0);
    weft_hello_put(wire, &hello);
    EXPECT(send(fd, wire, sizeof(wire), 0) == (ssize_t)sizeof(wire));
    EXPECT(recv(fd, answer, sizeof(answer), MSG_WAITALL) == (ssize_t)sizeof(answer));
    weft_header_put(wire, &lie);
    EXPECT(send(fd, wire, WEFT_HEADER_BYTES, 0) == WEFT_HEADER_BYTES);
    while (recv(fd, answer, sizeof(answer), 0) > 0)
        ;
    close(fd);
    return 0;
}

/* Before process 3 comes properly, it comes in every wrong way. */
static int one_is_refused_first(struct weft_config *config)
{
    struct weft_control *control;

    if (config->process == 3) {
        struct weft_config wrong = *config;
        strcpy(wrong.secret, "spindle");
        EXPECT(weft_control_open(&control, &wrong) == WEFT_ERR_CONFIG);
        wrong = *config;
        wrong.processes = PROCESSES + 1;
        EXPECT(weft_control_open(&control, &wrong) == WEFT_ERR_CONFIG);
        struct weft_hello hello = {.process = 0, .processes = PROCESSES, .secret = "loom"};
        unsigned char wire[WEFT_HELLO_BYTES];
        struct weft_header header;
        int fd = dial();
        EXPECT(fd >= 0);
        weft_hello_put(wire, &hello);
        EXPECT(send(fd, wire, sizeof(wire), 0) == (ssize_t)sizeof(wire));
        EXPECT(recv(fd, wire, WEFT_HEADER_BYTES, MSG_WAITALL) == WEFT_HEADER_BYTES);
        EXPECT(weft_header_get(&header, wire) && header.op == WEFT_OP_REFUSED);
        EXPECT(header.kind == WEFT_REFUSAL_TAKEN);
        close(fd);
    }
    return all_send(config);
}

static int one_is_missing(struct weft_config *config)
{
    struct weft_control *control;

    config->connect_s = 0.4;
    if (config->process != 3)
        EXPECT(weft_control_open(&control, config) == WEFT_ERR_TIMEOUT);
    return 0;
}

static int one_dies_at_start(struct weft_config *config)
{
    struct weft_hello hello = {.process = 3, .processes = PROCESSES, .secret = "loom"};
    unsigned char wire[WEFT_HELLO_BYTES];
    struct weft_control *control;

    if (config->process == 2)
        return 0; /* so that the job cannot be complete */
    if (config->process != 3) {
        EXPECT(weft_control_open(&control, config) == WEFT_ERR_PEER_LOST);
        return 0;
    }
    pause_ms(300); /* process 1 is in */
    int fd = dial();
    EXPECT(fd >= 0);
    weft_hello_put(wire, &hello);
    EXPECT(send(fd, wire, sizeof(wire), 0) == (ssize_t)sizeof(wire));
    EXPECT(recv(fd, wire, WEFT_HEADER_BYTES, MSG_WAITALL) == WEFT_HEADER_BYTES);
    close(fd);
    return 0;
}

static int late_root(struct weft_config *config)
{
    if (config->process == 0)
        pause_ms(300);
    return all_send(config);
}

/* ---- tests over tasks ----------------------------------------------------------------------- */

struct local_process {
    struct weft_task task;
    struct weft_local *group;
    program *run;
    int process, wrong;
};

static void local_main(void *argument)
{
    struct local_process *p = argument;
    struct weft_config config = {.process = -1, .processes = 1, .connect_s = 20};

    weft_local_enter(p->group, p->process);
    config.process = p->process; /* for the programs; the channel takes the group's word */
    p->wrong = p->run(&config);
}

static void run_local(program *run)
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

static void assert_one_order(void)
{
    for (int i = 1; i < PROCESSES; i++)
        assert_true(shared->order[i] == shared->order[0]);
}

static void local_order(void **state)
{
    (void)state;
    run_local(all_send_twice);
    assert_one_order();
}

static void local_ends(void **state)
{
    (void)state;
    run_local(leave_one_by_one);
    run_local(one_closes);
    run_local(one_is_missing);
}

static void job_of_one(void **state)
{
    struct weft_config config = {.process = -1, .processes = 1, .root_fd = -1, .connect_s = 1};
    struct weft_control *control;
    struct weft_frame frame;
    (void)state;

    assert_int_equal(weft_control_open(&control, &config), WEFT_OK);
    assert_int_equal(weft_control_process(control), 0);
    assert_int_equal(weft_control_next(control, &frame, 1000), WEFT_ERR_TIMEOUT);
    assert_int_equal(weft_control_send(control, 7, "x", 1), WEFT_OK);
    assert_int_equal(weft_control_send(control, 0, NULL, 0), WEFT_ERR_ARGUMENT);
    assert_int_equal(weft_control_send(control, 7, "x", WEFT_FRAME_MAX + 1), WEFT_ERR_ARGUMENT);
    assert_int_equal(weft_control_next(control, &frame, 0), WEFT_OK);
    assert_true(frame.kind == 7 && frame.bytes == 1 && *(char *)frame.payload == 'x');
    free(frame.payload);
    weft_control_close(control, true);

    config.processes = 2;
    assert_int_equal(weft_control_open(&control, &config), WEFT_ERR_CONFIG);
    config.process = 2;
    assert_int_equal(weft_control_open(&control, &config), WEFT_ERR_CONFIG);
    config.process = 1; /* no root */
    assert_int_equal(weft_control_open(&control, &config), WEFT_ERR_CONFIG);
    strcpy(config.root, "127.0.0.1:1");
    strcpy(config.cpu_schedule, "random:1");
    assert_int_equal(weft_control_open(&control, &config), WEFT_ERR_CONFIG);
}

/* ---- tests over TCP ------------------------------------------------------------------------- */

/* A listening socket on a free port of the loopback interface, in shared. */
static void listen_somewhere(void)
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

static int child_main(program *run, int process, bool inherit)
{
    struct weft_config config = {
        .process = process, .processes = PROCESSES, .root_fd = -1, .connect_s = 20};

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
static void run_tcp(program *run, bool inherit, int killed)
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

static void tcp_order(void **state)
{
    (void)state;
    run_tcp(all_send, true, -1);
    assert_one_order();
    run_tcp(all_send_twice, true, -1);
    run_tcp(late_root, false, -1);
    assert_one_order();
}

static void tcp_refusals(void **state)
{
    (void)state;
    run_tcp(one_is_refused_first, true, -1);
    assert_one_order();
    run_tcp(one_is_missing, true, -1);
    run_tcp(one_dies_at_start, true, -1);
}

static void tcp_ends(void **state)
{
    (void)state;
    run_tcp(leave_one_by_one, true, -1);
    run_tcp(one_closes, true, -1);
    run_tcp(one_is_killed, true, 2);
    run_tcp(root_is_killed, true, 0);
    run_tcp(root_closes, true, -1);
    run_tcp(one_lies, true, -1);
    run_tcp(one_does_not_read, true, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_of_one), cmocka_unit_test(local_order),  cmocka_unit_test(local_ends),
        cmocka_unit_test(tcp_order),  cmocka_unit_test(tcp_refusals), cmocka_unit_test(tcp_ends),
    };

    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    alarm(4 * HANG_S);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
