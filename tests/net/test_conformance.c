/*
 * net/test_conformance.c - what net.h promises, asked of every table in the registry.
 *
 * Two ends exchange puts: as threads of one address space, and as forked processes. A table that
 * reaches only its own process (it refuses to connect) plays both ends at once.
 */
#include "support/net_pair.h"

#include "base/say.h"
#include "wire/notice.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);                                    \
            printf("FAILED %s:%d: %s\n", __FILE__, __LINE__, #condition);                          \
        }                                                                                          \
    } while (0)

static uint32_t notice(uint32_t number)
{
    return weft_notice(WEFT_NOTICE_COUNT, number & 0xff, number >> 8);
}

static unsigned char byte_of(int number, size_t i)
{
    return (unsigned char)((unsigned)number * 37 + i * 7 + 1);
}

/* ---- meeting ------------------------------------------------------------------------------- */

/* What two ends tell each other over a socket pair. */
struct card {
    unsigned char address[WEFT_NET_ADDRESS_MAX];
    uint64_t key;
};

static void swap(int fd, const void *mine, void *other, size_t bytes)
{
    CHECK(write(fd, mine, bytes) == (ssize_t)bytes);
    CHECK(recv(fd, other, bytes, MSG_WAITALL) == (ssize_t)bytes);
}

/* Both ends are at this point. */
static void meet(int fd)
{
    char c = 0;
    swap(fd, &c, &c, 1);
}

/* False: this table does not reach the other end. */
static bool join(struct end *end, int fd)
{
    struct card cards[2];
    bool good;

    memset(cards, 0, sizeof(cards));
    CHECK(end->ops->address(end->net, cards[end->me].address) == WEFT_OK);
    cards[end->me].key = end->key;
    swap(fd, &cards[end->me], &cards[1 - end->me], sizeof(cards[0]));
    end->other_key = cards[1 - end->me].key;
    good = end->ops->connect(end->net, 0, cards[0].address) == WEFT_OK;
    good &= end->ops->connect(end->net, 1, cards[1].address) == WEFT_OK;
    meet(fd);
    return good;
}

/* ---- the suite: each part runs on both ends at once ------------------------------------------ */

/* Every size, both ways at once: the notice after its data, everything in order, once. */
static void test_sizes(struct end *end, int to, int fd)
{
    static const size_t sizes[] = {0, 1, 2, 3, 4, 7, 8, 9, 63, 64, 65, 500, 2000, 4096, 50001};
    enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };
    static unsigned char sources[2][SIZES][50001];
    size_t offset = 1; /* misaligned from here on */

    memset(end->puts, 0, sizeof(end->puts));
    end->notice_count = 0;
    for (int i = 0; i < SIZES; i++) {
        for (size_t b = 0; b < sizes[i]; b++)
            sources[end->me][i][b] = byte_of(i, b);
        CHECK(end_put(end, to, end->other_key, offset, sources[end->me][i], sizes[i],
                      notice((uint32_t)i + 1), i) == WEFT_OK);
        offset += sizes[i] + 1;
    }
    CHECK(end_await_notices(end, SIZES));
    offset = 1;
    for (int i = 0; i < SIZES; i++) {
        CHECK(end->notices[i] == notice((uint32_t)i + 1));
        size_t wrong = 0;
        for (size_t b = 0; b < sizes[i]; b++)
            wrong += end->memory[offset + b] != byte_of(i, b);
        CHECK(wrong == 0);
        offset += sizes[i] + 1;
    }
    CHECK(end_await_landed(end, SIZES));
    for (int i = 0; i < SIZES; i++)
        CHECK(end->puts[i].sent == 1 && end->puts[i].landed == 1 && !end->puts[i].disorder);
    meet(fd);
}

/* More than fits, of one word each, to the same place: nothing is dropped, the newest wins. */
static void test_pressure(struct end *end, int to, int fd)
{
    enum { PUTS = 5000 };
    static uint64_t values[2][PUTS];
    uint64_t last;

    memset(end->puts, 0, sizeof(end->puts));
    end->notice_count = 0;
    for (int i = 0; i < PUTS; i++) {
        values[end->me][i] = (uint64_t)i + 1;
        CHECK(end_put(end, to, end->other_key, 1024, &values[end->me][i], 8, notice((uint32_t)i),
                      i) == WEFT_OK);
    }
    CHECK(end_await_notices(end, PUTS));
    for (int i = 0; i < PUTS; i++)
        CHECK(end->notices[i] == notice((uint32_t)i));
    memcpy(&last, end->memory + 1024, sizeof(last));
    CHECK(last == PUTS);
    CHECK(end_await_landed(end, PUTS));
    meet(fd);
}

/* Data without a notice, then a notice without data: what was put before is there. */
static void test_apart(struct end *end, int to, int fd)
{
    static unsigned char sources[2][3000];

    memset(end->puts, 0, sizeof(end->puts));
    end->notice_count = 0;
    for (int round = 0; round < 50; round++) {
        memset(sources[end->me], round + 1, sizeof(sources[0]));
        CHECK(end_put(end, to, end->other_key, 77, sources[end->me], 3000, 0, 0) == WEFT_OK);
        CHECK(end_put(end, to, 0, 0, NULL, 0, notice((uint32_t)round), 1) == WEFT_OK);
        CHECK(end_await_notices(end, (uint32_t)round + 1));
        CHECK(end->memory[77] == round + 1 && end->memory[77 + 2999] == round + 1);
        end->puts[0].landed = end->puts[1].landed = 0;
        CHECK(end_await_landed(end, 0));
        meet(fd);
        while (end->puts[0].sent < round + 1) /* the source is written again */
            CHECK(end_move(end) == WEFT_OK);
    }
}

/* What a broken peer may ask for. The end that receives it says PROTOCOL and writes nothing. */
static void test_hostile(struct end *end, int to, int fd, int number)
{
    static const struct {
        uint64_t key_change, offset;
        size_t bytes;
        uint32_t notice;
    } bad[] = {
        {0, END_MEMORY - 7, 8, 1}, {0, UINT64_MAX - 3, 8, 1}, {7, 0, 8, 1},
        {1ull << 40, 0, 8, 1},     {0, END_MEMORY, 1, 1},     {0, 0, 0, 0xdead},
    };
    const unsigned char source[8] = {0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee};
    weft_status status = WEFT_OK;

    memset(end->memory, 0, END_MEMORY);
    end->refuse = 0xdead;
    meet(fd);
    if (end->me == 1 || to == end->me)
        status = end_put(end, to, end->other_key ^ bad[number].key_change, bad[number].offset,
                         source, bad[number].bytes, bad[number].notice, 0);
    if (end->me == 0) {
        for (int i = 0; i < 200000 && status == WEFT_OK; i++)
            status = end_move(end);
        CHECK(status == WEFT_ERR_PROTOCOL || status == WEFT_ERR_BOUNDS);
        size_t touched = 0;
        for (size_t i = 0; i < END_MEMORY; i++)
            touched += end->memory[i] != 0;
        CHECK(touched == 0);
    }
    meet(fd);
}

enum { HOSTILE = 6 };

/* ---- both ends --------------------------------------------------------------------------------
 */

struct side {
    const struct weft_net_ops *ops;
    int me, fd;
    bool one_space;
    int hostile; /* -1: the suite; else this piece of malice */
};

static void *run_side(void *argument)
{
    const struct side *side = argument;
    struct end *end = end_open(side->ops, side->me, 2, side->one_space);

    CHECK(end != NULL);
    if (end != NULL && join(end, side->fd)) {
        if (side->hostile >= 0) {
            test_hostile(end, 1 - side->me, side->fd, side->hostile);
        } else {
            test_sizes(end, 1 - side->me, side->fd);
            test_pressure(end, 1 - side->me, side->fd);
            test_apart(end, 1 - side->me, side->fd);
        }
    }
    if (end != NULL)
        end_close(end);
    return NULL;
}

static void run_threads(const struct weft_net_ops *ops, int hostile)
{
    struct side sides[2];
    pthread_t thread;
    int fds[2];

    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    for (int i = 0; i < 2; i++)
        sides[i] = (struct side){ops, i, fds[i], true, hostile};
    CHECK(pthread_create(&thread, NULL, run_side, &sides[1]) == 0);
    run_side(&sides[0]);
    pthread_join(thread, NULL);
    close(fds[0]);
    close(fds[1]);
}

static void run_processes(const struct weft_net_ops *ops, int hostile)
{
    int fds[2], status;

    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct side side = {ops, 1, fds[1], false, hostile};
        failures = 0;
        run_side(&side);
        fflush(NULL);
        _exit(failures != 0);
    }
    struct side side = {ops, 0, fds[0], false, hostile};
    run_side(&side);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    close(fds[0]);
    close(fds[1]);
}

/* A table that reaches only its own process: it is both ends. */
static void run_alone(const struct weft_net_ops *ops)
{
    int fds[2];
    unsigned char address[WEFT_NET_ADDRESS_MAX] = {0};

    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    CHECK(write(fds[1], address, 200) == 200); /* so that meet, with itself, finds bytes */
    struct end *end = end_open(ops, 0, 1, true);
    CHECK(end != NULL && ops->address(end->net, address) == WEFT_OK &&
          ops->connect(end->net, 0, address) == WEFT_OK);
    end->other_key = end->key;
    test_sizes(end, 0, fds[0]);
    test_pressure(end, 0, fds[0]);
    test_apart(end, 0, fds[0]);
    for (int i = 0; i < HOSTILE; i++)
        test_hostile(end, 0, fds[0], i);
    end_close(end);
    close(fds[0]);
    close(fds[1]);
}

/* Whether it connects to another process at all. */
static bool reaches_others(const struct weft_net_ops *ops)
{
    unsigned char address[WEFT_NET_ADDRESS_MAX] = {0};
    struct end *one = end_open(ops, 0, 2, true), *two = end_open(ops, 1, 2, true);
    bool reaches;

    weft_say_level(WEFT_SAY_ERROR);
    CHECK(two->ops->address(two->net, address) == WEFT_OK);
    reaches = ops->connect(one->net, 1, address) == WEFT_OK;
    end_close(one);
    end_close(two);
    return reaches;
}

static void test_keys(const struct weft_net_ops *ops)
{
    struct end *end = end_open(ops, 0, 1, true);
    unsigned char address[WEFT_NET_ADDRESS_MAX] = {0}, memory[64] = {0}, source[8] = {1};
    uint64_t key, next;

    CHECK(ops->address(end->net, address) == WEFT_OK);
    CHECK(ops->connect(end->net, 0, address) == WEFT_OK);
    CHECK(ops->reg(end->net, memory, sizeof(memory), &key) == WEFT_OK && key != end->key);
    CHECK(end_put(end, 0, key, 56, source, 8, notice(5), 0) == WEFT_OK);
    CHECK(end_await_notices(end, 1) && memory[56] == 1);
    ops->dereg(end->net, key);
    CHECK(ops->reg(end->net, memory, sizeof(memory), &next) == WEFT_OK);
    memory[0] = 0;
    if (next != key) { /* the old key must not reach what was registered later */
        weft_status status = end_put(end, 0, key, 0, source, 8, notice(6), 1);
        for (int i = 0; i < 1000 && status == WEFT_OK; i++)
            status = end_move(end);
        CHECK(status == WEFT_ERR_PROTOCOL || status == WEFT_ERR_BOUNDS);
        CHECK(memory[0] == 0);
    }
    end_close(end);
}

int main(void)
{
    const struct weft_net_ops *ops;

    setbuf(stdout, NULL);
    for (int i = 0; (ops = weft_net_at(i)) != NULL; i++) {
        struct weft_net_caps caps;
        struct end *end = end_open(ops, 0, 1, true);
        ops->caps(end->net, &caps);
        CHECK(caps.address_bytes <= WEFT_NET_ADDRESS_MAX);
        CHECK(caps.get || ops->get(end->net, NULL, NULL) == WEFT_ERR_UNSUPPORTED);
        end_close(end);
        CHECK(weft_net_find(ops->name) == ops);

        const bool others = reaches_others(ops);
        printf("%s: %s\n", ops->name, others ? "two ends" : "its own process only");
        test_keys(ops);
        if (!others) {
            run_alone(ops);
            continue;
        }
        run_threads(ops, -1);
        run_processes(ops, -1);
        for (int h = 0; h < HOSTILE; h++) {
            run_threads(ops, h);
            run_processes(ops, h);
        }
    }
    printf("%d failures\n", failures);
    return failures != 0;
}
