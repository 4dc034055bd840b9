/*
 * Strangers attack the listening socket of a job: while it waits for its last process, and while
 * it runs. The job must come to its normal end. The parsers get the same treatment without a
 * socket. usage: test_hostile_boot [SEED]
 */
#include "base/netif.h"
#include "base/task.h"
#include "boot/control.h"
#include "boot/frame.h"
#include "order/atomic.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PROCESSES = 4, ROUNDS = 60, LATE_MS = 2000, CROWD = 300, HANG_S = 200, ATTACKERS = 5 };

static const uint64_t second = 1000000000;
static struct sockaddr_in root = {.sin_family = AF_INET};
static char root_text[32];
static uint32_t over; /* the job has ended: so should the attackers */

#define EXPECT(x)                                                                                  \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #x);                      \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static void fill_random(uint64_t *state, unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = (unsigned char)next_random(state);
}

static void pause_ms(long milliseconds)
{
    const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* ---- the job -------------------------------------------------------------------------------- */

/* Every process sends a frame a round, and gets those of all. */
static void run_process(int process, int listener)
{
    struct weft_config config = {.process = process,
                                 .processes = PROCESSES,
                                 .root_fd = process == 0 ? listener : -1,
                                 .connect_s = 30};
    struct weft_control *control;
    struct weft_frame frame;

    alarm(HANG_S);
    strcpy(config.root, root_text);
    strcpy(config.secret, "loom");
    if (process == PROCESSES - 1)
        pause_ms(LATE_MS);
    EXPECT(weft_control_open(&control, &config) == WEFT_OK);
    for (int round = 0; round < ROUNDS; round++) {
        EXPECT(weft_control_send(control, (uint16_t)(round + 1), &round, sizeof(round)) == WEFT_OK);
        for (int i = 0; i < PROCESSES; i++) {
            EXPECT(weft_control_next(control, &frame, 20 * second) == WEFT_OK);
            EXPECT(frame.kind == round + 1 && frame.bytes == sizeof(round));
            free(frame.payload);
        }
        pause_ms(10);
    }
    weft_control_close(control, true);
}

/* ---- attackers ------------------------------------------------------------------------------ */

struct attacker {
    struct weft_task task;
    void (*attack)(uint64_t *random);
    uint64_t random;
    int attacks;
};

/* A connection, or -1 when the root takes none (any more). */
static int dial(void)
{
    const struct timeval patience = {0, 200000};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    EXPECT(fd >= 0);
    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) == 0 &&
        connect(fd, (struct sockaddr *)&root, sizeof(root)) == 0)
        return fd;
    close(fd);
    return -1;
}

static void shout(int fd, const void *bytes, size_t count)
{
    /* It may hang up on us, and should. */
    (void)!send(fd, bytes, count, MSG_NOSIGNAL);
}

static void random_bytes(uint64_t *random)
{
    static unsigned char noise[65536];
    int fd = dial();

    if (fd < 0)
        return;
    const size_t count = next_random(random) % sizeof(noise);
    fill_random(random, noise, count);
    shout(fd, noise, count);
    close(fd);
}

/* A hello that is right but for the secret, cut anywhere; some go on with a huge frame. */
static void broken_hello(uint64_t *random)
{
    const struct weft_header huge = {
        .bytes = UINT32_MAX, .kind = 1, .source = 1, .op = WEFT_OP_FRAME};
    struct weft_hello hello = {.process = 3, .processes = PROCESSES, .secret = "spindle"};
    unsigned char wire[WEFT_HELLO_BYTES + WEFT_HEADER_BYTES];
    int fd = dial();

    if (fd < 0)
        return;
    weft_hello_put(wire, &hello);
    weft_header_put(wire + WEFT_HELLO_BYTES, &huge);
    if (next_random(random) % 2)
        wire[next_random(random) % 20] ^= (unsigned char)(1 << next_random(random) % 8);
    shout(fd, wire, next_random(random) % (sizeof(wire) + 1));
    close(fd);
}

/* The right secret, but in the name of a process that is there, or of none. */
static void impostor(uint64_t *random)
{
    struct weft_hello hello = {.processes = PROCESSES, .secret = "loom"};
    unsigned char wire[WEFT_HELLO_BYTES];
    int fd = dial();

    if (fd < 0)
        return;
    hello.process = next_random(random) % 2 ? 0 : PROCESSES + (int)(next_random(random) % 99999);
    weft_hello_put(wire, &hello);
    shout(fd, wire, sizeof(wire));
    (void)!recv(fd, wire, sizeof(wire), MSG_DONTWAIT);
    close(fd);
}

/* One byte at a time. */
static void slow_sender(uint64_t *random)
{
    struct weft_hello hello = {.process = 3, .processes = PROCESSES, .secret = "shuttle"};
    unsigned char wire[WEFT_HELLO_BYTES];
    int fd = dial();

    weft_hello_put(wire, &hello);
    for (size_t i = 0; fd >= 0 && i < sizeof(wire) && !weft_load_relaxed_u32(&over); i++) {
        shout(fd, wire + i, 1);
        pause_ms((long)(next_random(random) % 100));
    }
    if (fd >= 0)
        close(fd);
}

/* Many that say nothing and stay. */
static void silent_crowd(uint64_t *random)
{
    int crowd[CROWD];
    (void)random;

    for (int i = 0; i < CROWD; i++)
        crowd[i] = dial();
    for (int i = 0; i < 50 && !weft_load_relaxed_u32(&over); i++)
        pause_ms(20);
    for (int i = 0; i < CROWD; i++) {
        if (crowd[i] >= 0)
            close(crowd[i]);
    }
}

static void attacker_main(void *argument)
{
    struct attacker *attacker = argument;

    while (!weft_load_relaxed_u32(&over)) {
        attacker->attack(&attacker->random);
        attacker->attacks++;
        pause_ms(2);
    }
}

static int listen_somewhere(void)
{
    socklen_t size = sizeof(root);
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    root.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT(listener >= 0);
    EXPECT(bind(listener, (struct sockaddr *)&root, size) == 0);
    EXPECT(listen(listener, SOMAXCONN) == 0);
    EXPECT(getsockname(listener, (struct sockaddr *)&root, &size) == 0);
    snprintf(root_text, sizeof(root_text), "127.0.0.1:%d", ntohs(root.sin_port));
    return listener;
}

static int attack_job(uint64_t seed)
{
    struct attacker attackers[ATTACKERS] = {{.attack = random_bytes},
                                            {.attack = broken_hello},
                                            {.attack = impostor},
                                            {.attack = slow_sender},
                                            {.attack = silent_crowd}};
    pid_t children[PROCESSES];
    int listener = listen_somewhere();
    int wrong = 0;

    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        EXPECT(children[i] >= 0);
        if (children[i] == 0) {
            run_process(i, listener);
            _exit(0);
        }
    }
    close(listener);
    for (int i = 0; i < ATTACKERS; i++) {
        attackers[i].random = seed + (uint64_t)i;
        EXPECT(weft_task_start(&attackers[i].task, "attacker", attacker_main, &attackers[i]) ==
               WEFT_OK);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        EXPECT(waitpid(children[i], &status, 0) == children[i]);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            fprintf(stderr, "process %d ended with wait status %d\n", i, status);
            wrong = 1;
        }
    }
    weft_store_relaxed_u32(&over, 1);
    for (int i = 0; i < ATTACKERS; i++) {
        weft_task_join(&attackers[i].task);
        printf("attacker %d: %d attacks\n", i, attackers[i].attacks);
        EXPECT(attackers[i].attacks > 0);
    }
    return wrong;
}

/* ---- the parsers alone ---------------------------------------------------------------------- */

/* Streams of good packets, some with a byte changed, in pieces of any size. */
static void attack_stream(uint64_t *random)
{
    struct weft_stream stream = {0};
    struct weft_header header;
    const void *payload;
    int taken = 0;

    for (int packet = 0; packet < 50 && taken >= 0; packet++) {
        unsigned char wire[WEFT_HEADER_BYTES + 300];
        struct weft_header good = {.bytes = (uint32_t)(next_random(random) % 300),
                                   .kind = 7,
                                   .source = 2,
                                   .op = WEFT_OP_FRAME};
        size_t bytes = WEFT_HEADER_BYTES + good.bytes, sent = 0;
        weft_header_put(wire, &good);
        fill_random(random, wire + WEFT_HEADER_BYTES, good.bytes);
        const bool intact = next_random(random) % 10 != 0;
        if (!intact)
            wire[next_random(random) % WEFT_HEADER_BYTES] ^= (unsigned char)next_random(random);
        while (sent < bytes && taken >= 0) {
            size_t piece = 1 + next_random(random) % (bytes - sent);
            EXPECT(weft_stream_reserve(&stream));
            EXPECT(stream.capacity - stream.end >= piece);
            EXPECT(stream.capacity <= 4 * WEFT_FRAME_MAX);
            memcpy(stream.data + stream.end, wire + sent, piece);
            stream.end += piece;
            sent += piece;
            while ((taken = weft_stream_take(&stream, &header, &payload)) == 1)
                EXPECT(header.bytes <= WEFT_FRAME_MAX);
        }
        if (!intact)
            break; /* what follows may well be read as the rest of it */
        EXPECT(taken == 0 && stream.begin == stream.end);
        EXPECT(memcmp(payload, wire + WEFT_HEADER_BYTES, good.bytes) == 0);
    }
    weft_stream_free(&stream);
}

static void attack_hello(uint64_t *random)
{
    const struct weft_hello right = {
        .process = 1, .processes = PROCESSES, .identity = next_random(random), .secret = "loom"};
    unsigned char wire[WEFT_HELLO_BYTES];
    struct weft_hello said;

    weft_hello_put(wire, &right);
    EXPECT(weft_hello_check(wire, &right, &said) == WEFT_REFUSAL_NONE);
    EXPECT(said.process == 1 && said.identity == right.identity);
    /* Any changed bit matters, but for the identity's and the lowest of the index, which name
     * another member. */
    const size_t byte = next_random(random) % sizeof(wire);
    const int bit = (int)(next_random(random) % 8);
    wire[byte] ^= (unsigned char)(1 << bit);
    const bool other_member = (byte == 12 && bit < 2) || (byte >= 20 && byte < 28);
    EXPECT((weft_hello_check(wire, &right, &said) == WEFT_REFUSAL_NONE) == other_member);
}

static void check_roots(void)
{
    static const char *const good[][3] = {{"host:1", "host", "1"},
                                          {"127.0.0.1:65535", "127.0.0.1", "65535"},
                                          {"[::1]:80", "::1", "80"},
                                          {"[fe80::1%eth0]:9", "fe80::1%eth0", "9"}};
    static const char *const bad[] = {
        "",        "host",       ":1",       "host:",       "host:0",
        "host:x",  "host:65536", "::1:80",   "[]:1",        "host:1x",
        "host: 1", "[::1:80",    "host:+1",  "host:000001", ",",
        "host:1,", ",host:1",    "a:1,,b:2", "a:1,b",       "a:1,b:2,c:3,d:4,e:5,f:6,g:7,h:8,i:9"};
    struct weft_root parsed[WEFT_ROOTS_MAX];

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        EXPECT(weft_roots_parse(parsed, good[i][0]) == 1);
        EXPECT(strcmp(parsed[0].host, good[i][1]) == 0 && strcmp(parsed[0].port, good[i][2]) == 0);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        EXPECT(weft_roots_parse(parsed, bad[i]) == 0);
    EXPECT(weft_roots_parse(parsed, "10.0.0.1:7,[fd00::1]:7,h:8") == 3);
    EXPECT(strcmp(parsed[1].host, "fd00::1") == 0 && strcmp(parsed[2].port, "8") == 0);
}

int main(int argc, char **argv)
{
    const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 20240611;
    uint64_t random = seed;

    printf("seed %llu\n", (unsigned long long)seed);
    fflush(stdout); /* before the children inherit it */
    alarm(2 * HANG_S);
    check_roots();
    for (int i = 0; i < 2000; i++) {
        attack_stream(&random);
        attack_hello(&random);
    }
    return attack_job(seed);
}
