/*
 * Joining the control channel: configurations that cannot be are refused, strangers, impostors and
 * late comers do not disturb the others, and who is missing is missed within the time given.
 */
#include "control_run.h"

#include "base/say.h"

#include <errno.h>
#include <limits.h>

/* The library's calls of close come here (the linker's --wrap): it may close only what is open. */
static int bad_closes;
int __real_close(int fd);
int __wrap_close(int fd);

int __wrap_close(int fd)
{
    const int result = __real_close(fd);
    if (result != 0 && errno == EBADF)
        __atomic_add_fetch(&bad_closes, 1, __ATOMIC_RELAXED);
    return result;
}

/* So often who wants to come in cannot, for this reason. */
static int no_files, no_error = EMFILE;
int __real_accept4(int fd, struct sockaddr *address, socklen_t *bytes, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *bytes, int flags);

int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *bytes, int flags)
{
    if (no_files == 0)
        return __real_accept4(fd, address, bytes, flags);
    no_files--;
    errno = no_error;
    return -1;
}

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
    const struct weft_header lie = {.kind = 5, .source = 1, .op = WEFT_OP_FRAME};
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
        EXPECT(bad_closes == 0);
    }
    return all_send(config);
}

static int one_has_no_files(struct weft_config *config)
{
    no_files = config->process == 0 ? 3 : 0;
    const int wrong = all_send(config);
    EXPECT(no_files == 0);
    return wrong;
}

/* Process 0 says why, and does not wait where nothing will change. Of the others one comes. */
static int accepts_nobody(struct weft_config *config, int error, double wait_s, const char *why)
{
    struct weft_control *control;
    const uint64_t since = weft_now_ns();

    no_files = INT_MAX;
    no_error = error;
    config->connect_s = config->process == 0 ? wait_s : 0.4;
    if (config->process > 1)
        return 0;
    const weft_status status = weft_control_open(&control, config);
    EXPECT(status == (config->process == 0 ? WEFT_ERR_SYSTEM : WEFT_ERR_TIMEOUT));
    EXPECT(config->process != 0 || strstr(weft_err_last(), why) != NULL);
    EXPECT(weft_now_ns() - since < HANG_S * second);
    return 0;
}

static int accepting_is_forbidden(struct weft_config *config)
{
    return accepts_nobody(config, EPERM, 2 * HANG_S,
                          "process 0 cannot accept connections: Operation not permitted");
}

static int there_are_no_files(struct weft_config *config)
{
    return accepts_nobody(config, EMFILE, 0.4,
                          "process 0 cannot accept connections: Too many open files (ulimit -n)");
}

static int one_is_missing(struct weft_config *config)
{
    struct weft_control *control;

    config->connect_s = 0.4;
    if (config->process != 3)
        EXPECT(weft_control_open(&control, config) == WEFT_ERR_TIMEOUT);
    return 0;
}

/* Connections that process 0 has accepted, or is about to. */
static int accepted(void)
{
    FILE *file = fopen("/proc/self/net/tcp", "r");
    char line[256];
    int count = 0;

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        unsigned port, state;
        if (sscanf(line, " %*d: %*8x:%x %*8x:%*x %x", &port, &state) == 2)
            count += (int)port == shared->port && state == 1;
    }
    if (file != NULL)
        fclose(file);
    return count;
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
    int fd = dial();
    EXPECT(fd >= 0);
    for (int i = 0; i < 20000 && accepted() < 2; i++)
        pause_ms(1);
    pause_ms(300); /* process 1 is in */
    weft_hello_put(wire, &hello);
    EXPECT(send(fd, wire, sizeof(wire), 0) == (ssize_t)sizeof(wire));
    EXPECT(recv(fd, wire, WEFT_HEADER_BYTES, MSG_WAITALL) == WEFT_HEADER_BYTES);
    close(fd);
    return 0;
}

/* ---- a process that is not answered ---------------------------------------------------------- */

/* Between process 3 and the root: the answer to its first attempt comes after the second attempt.
 */
struct slow_root {
    struct weft_task task, back;
    int listener, here[2], there[2]; /* both ends of both connections */
    bool last;                       /* process 3 is the last to come */
};

/* Passes bytes on until they end. */
static void pass_on(int from, int to)
{
    static _Thread_local char bytes[65536];
    ssize_t got;

    while ((got = recv(from, bytes, sizeof(bytes), 0)) > 0)
        (void)!send(to, bytes, (size_t)got, MSG_NOSIGNAL);
    shutdown(to, SHUT_WR);
}

static void pass_back(void *argument)
{
    const struct slow_root *slow = argument;

    pass_on(slow->here[0], slow->there[0]);
}

/* Takes the next attempt of process 3, and says to the root what it says. */
static void take_attempt(struct slow_root *slow, int i, unsigned char hello[WEFT_HELLO_BYTES])
{
    slow->here[i] = accept(slow->listener, NULL, NULL);
    slow->there[i] = dial();
    if (recv(slow->here[i], hello, WEFT_HELLO_BYTES, MSG_WAITALL) == WEFT_HELLO_BYTES)
        (void)!send(slow->there[i], hello, WEFT_HELLO_BYTES, MSG_NOSIGNAL);
}

static bool is_refused(unsigned char hello[WEFT_HELLO_BYTES])
{
    const int fd = dial();
    unsigned char wire[WEFT_HEADER_BYTES];
    struct weft_header header;

    (void)!send(fd, hello, WEFT_HELLO_BYTES, MSG_NOSIGNAL);
    const bool answered = recv(fd, wire, sizeof(wire), MSG_WAITALL) == (ssize_t)sizeof(wire);
    close(fd);
    return answered && weft_header_get(&header, wire) && header.op == WEFT_OP_REFUSED &&
           header.kind == WEFT_REFUSAL_TAKEN;
}

static void slow_root_main(void *argument)
{
    struct slow_root *slow = argument;
    unsigned char hello[WEFT_HELLO_BYTES], answer[2 * WEFT_HEADER_BYTES];
    const size_t bytes = slow->last ? sizeof(answer) : WEFT_HEADER_BYTES; /* with the START */

    take_attempt(slow, 0, hello);
    if (recv(slow->there[0], answer, bytes, MSG_WAITALL) != (ssize_t)bytes)
        exit(1);
    if (!slow->last) {
        hello[WEFT_HELLO_BYTES - WEFT_SECRET_BYTES - 1] ^= 1; /* another's identity */
        if (!is_refused(hello))
            exit(1);
    }
    take_attempt(slow, 1, hello);
    close(slow->listener);
    if (!slow->last) /* else nobody takes it any more */
        pass_on(slow->there[1], slow->here[1]);
    __atomic_store_n(&shared->leaving, 1, __ATOMIC_RELEASE); /* process 1 may come */
    (void)!send(slow->here[0], answer, bytes, MSG_NOSIGNAL);
    if (weft_task_start(&slow->back, "back", pass_back, slow) != WEFT_OK)
        exit(1);
    pass_on(slow->there[0], slow->here[0]);
    weft_task_join(&slow->back);
}

static int third_tries_twice(struct weft_config *config, bool last)
{
    struct slow_root slow = {.last = last};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);

    if (config->process != 3) {
        while (config->process == 1 && !last &&
               !__atomic_load_n(&shared->leaving, __ATOMIC_ACQUIRE))
            pause_ms(1);
        return all_send(config);
    }
    slow.listener = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT(bind(slow.listener, (struct sockaddr *)&address, size) == 0);
    EXPECT(listen(slow.listener, 64) == 0);
    EXPECT(getsockname(slow.listener, (struct sockaddr *)&address, &size) == 0);
    snprintf(config->root, sizeof(config->root), "127.0.0.1:%d,127.0.0.1:%d",
             ntohs(address.sin_port), ntohs(address.sin_port));
    EXPECT(weft_task_start(&slow.task, "slow", slow_root_main, &slow) == WEFT_OK);
    const int wrong = all_send(config);
    weft_task_join(&slow.task);
    return wrong;
}

static int one_tries_twice(struct weft_config *config)
{
    return third_tries_twice(config, false);
}

static int the_last_tries_twice(struct weft_config *config)
{
    return third_tries_twice(config, true);
}

static int late_root(struct weft_config *config)
{
    if (config->process == 0)
        pause_ms(300);
    return all_send(config);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void job_of_one(void **state)
{
    struct weft_config config = {.process = -1, .processes = 1, .root_fd = -1, .connect_s = 1};
    struct weft_control *control;
    struct weft_frame frame;
    (void)state;

    assert_int_equal(weft_control_open(&control, &config), WEFT_OK);
    assert_int_equal(control->process, 0);
    assert_int_equal(weft_control_next(control, &frame, 1000), WEFT_ERR_TIMEOUT);
    assert_int_equal(weft_control_send(control, 7, "x", 1), WEFT_OK);
    assert_int_equal(weft_control_send(control, 0, NULL, 0), WEFT_ERR_ARGUMENT);
    assert_int_equal(weft_control_send(control, 7, "x", WEFT_FRAME_MAX + 1), WEFT_ERR_ARGUMENT);
    assert_int_equal(weft_control_next(control, &frame, 0), WEFT_OK);
    assert_true(frame.kind == 7 && frame.bytes == 1 && *(char *)frame.payload == 'x');
    free(frame.payload);
    weft_control_close(control, true);

    config.processes = 2;
    config.process = 1; /* no root */
    assert_int_equal(weft_control_open(&control, &config), WEFT_ERR_CONFIG);
    strcpy(config.root, "127.0.0.1:1");
    strcpy(config.cpu_schedule, "random:1");
    assert_int_equal(weft_control_open(&control, &config), WEFT_ERR_CONFIG);
}

static void local_missing(void **state)
{
    (void)state;
    run_local(one_is_missing);
}

static void tcp_refusals(void **state)
{
    (void)state;
    run_tcp(one_is_refused_first, true, -1);
    assert_one_order();
    run_tcp(one_has_no_files, true, -1);
    assert_one_order();
    run_tcp(accepting_is_forbidden, true, -1);
    run_tcp(there_are_no_files, true, -1);
    run_tcp(one_is_missing, true, -1);
    run_tcp(one_dies_at_start, true, -1);
}

static void tcp_second_attempts(void **state)
{
    (void)state;
    shared->leaving = 0;
    run_tcp(one_tries_twice, true, -1);
    assert_one_order();
    run_tcp(the_last_tries_twice, true, -1);
    assert_one_order();
}

static void tcp_late_root(void **state)
{
    (void)state;
    run_tcp(late_root, false, -1);
    assert_one_order();
}

static void tcp_liar(void **state)
{
    (void)state;
    run_tcp(one_lies, true, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_of_one),    cmocka_unit_test(local_missing),
        cmocka_unit_test(tcp_refusals),  cmocka_unit_test(tcp_second_attempts),
        cmocka_unit_test(tcp_late_root), cmocka_unit_test(tcp_liar)};

    return open_shared() ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
