/*
 * test_reach.c - copies between servers of one host, whose memory is mapped (client/reach.c,
 * session/reach.c), with sessions that are processes.
 * Arguments: a case, servers, devices of each. direct: bytes, order, memory that is freed and used
 * again; pipe: the same, told to go over the host; refused: an owner's memory cannot be mapped;
 * hostile: others leave descriptors, too; full: so many that there is no room, until a server
 * looks; lost: an owner dies; servers: those of WEFT_REMOTE_SERVERS.
 */
#include "forked.h"
#include "suite.h"

#include "base/sha256.h"
#include "remote/client/inside.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROOM = (3 << 20) + 4096, MOST = 8 };

static int count; /* devices */
static bool direct;
static unsigned char *memory[MOST], *there, *back;
static cudaStream_t stream[MOST];

static unsigned char pattern(int seed, size_t i)
{
    return (unsigned char)(seed * 31 + i * 7 + (i >> 9));
}

static bool is_reached(int device, const void *far)
{
    weft_lock(&client.reaching);
    const bool is = weft_ranges_has(&client.device[device].reached, (uint64_t)far, 1);
    weft_unlock(&client.reaching);
    return is;
}

static void fill(int device, unsigned char *to, int seed)
{
    for (size_t i = 0; i < ROOM; i++)
        there[i] = pattern(seed, i);
    OK(cudaSetDevice(device));
    OK(cudaMemcpy(to, there, ROOM, cudaMemcpyHostToDevice));
}

static bool holds(const unsigned char *from, size_t at, size_t bytes, int seed, size_t seed_at)
{
    OK(cudaMemcpy(back, from + at, bytes, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < bytes; i++)
        if (back[i] != pattern(seed, seed_at + i))
            return false;
    return true;
}

static void begin(void)
{
    there = malloc(ROOM);
    back = malloc(ROOM);
    for (int d = 0; d < count; d++) {
        OK(cudaSetDevice(d));
        OK(cudaMalloc((void **)&memory[d], ROOM));
        OK(cudaStreamCreateWithFlags(&stream[d], cudaStreamNonBlocking));
        fill(d, memory[d], d + 1);
    }
}

/* Between all, in streams of either, or of a third device. */
static void sizes(int servers)
{
    static const size_t of[] = {1, 4097, 1 << 20, ROOM - 64};
    const int devices = count / servers;

    for (int to = 0; to < count; to++)
        for (int from = 0; from < count; from++)
            for (size_t s = 0; to != from && s < 4; s++)
                for (int at = 0; at < count; at++) {
                    const size_t to_at = 5 * s, from_at = 64 - 9 * s;
                    OK(cudaSetDevice(at));
                    OK(cudaMemcpyPeerAsync(memory[to] + to_at, to, memory[from] + from_at, from,
                                           of[s], stream[at]));
                    OK(cudaStreamSynchronize(stream[at]));
                    CHECK(holds(memory[to], to_at, of[s], from + 1, from_at));
                    fill(to, memory[to], to + 1);
                    const int far = at == to ? from : to;
                    if ((at == to || at == from) && at / devices != far / devices)
                        CHECK(is_reached(at, memory[far]) == direct);
                }
}

/* After what the stream was given before it, and before what comes after it; also by an event. */
static void order(void)
{
    const int far = count - 1;
    cudaEvent_t event;

    OK(cudaSetDevice(far));
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (int i = 1; i <= 50; i++) {
        OK(cudaSetDevice(0));
        OK(cudaMemsetAsync(memory[0], i, 4096, stream[0]));
        OK(cudaMemcpyPeerAsync(memory[far], far, memory[0], 0, 4096, stream[0]));
        OK(cudaMemsetAsync(memory[0], 0, 4096, stream[0]));
        OK(cudaStreamSynchronize(stream[0]));
        OK(cudaMemcpy(back, memory[far], 4096, cudaMemcpyDeviceToHost));
        CHECK(back[0] == i && back[4095] == i);
        OK(cudaSetDevice(far));
        OK(cudaMemsetAsync(memory[far], i + 100, 4096, stream[far]));
        OK(cudaEventRecord(event, stream[far]));
        OK(cudaSetDevice(0));
        OK(cudaStreamWaitEvent(stream[0], event, 0));
        OK(cudaMemcpyPeerAsync(memory[0], 0, memory[far], far, 4096, stream[0]));
        OK(cudaStreamSynchronize(stream[0]));
        OK(cudaMemcpy(back, memory[0], 4096, cudaMemcpyDeviceToHost));
        CHECK(back[0] == i + 100 && back[4095] == i + 100);
        OK(cudaMemsetAsync(memory[0], 3, 4096, NULL)); /* both default streams, and back */
        OK(cudaMemcpyPeer(memory[far], far, memory[0], 0, 4096));
        OK(cudaMemcpy(back, memory[far], 4096, cudaMemcpyDeviceToHost));
        CHECK(back[0] == 3 && back[4095] == 3);
    }
    OK(cudaEventDestroy(event));
}

/* One address, memory of another time: also where a copy is still on its way, or a stream frees. */
static void again(void)
{
    const int far = count - 1;
    unsigned char *block, *before = NULL;

    for (int i = 0; i < 30; i++) {
        OK(cudaSetDevice(far));
        if (i % 3 == 2)
            OK(cudaMallocAsync((void **)&block, ROOM, stream[far]));
        else
            OK(cudaMalloc((void **)&block, ROOM));
        CHECK(i % 3 == 0 || block == before); /* what a stream frees may be there still */
        before = block;
        fill(far, block, i + 7);
        OK(cudaSetDevice(0));
        OK(cudaMemcpyPeerAsync(memory[0], 0, block, far, ROOM, stream[0]));
        OK(cudaStreamSynchronize(stream[0]));
        CHECK(holds(memory[0], 0, ROOM, i + 7, 0));
        for (int t = 0; t < 200 && is_reached(0, block + ROOM - 1) != direct; t++) {
            usleep(1000); /* until what was there is gone */
            OK(cudaMemcpyPeerAsync(memory[0], 0, block, far, ROOM, stream[0]));
            OK(cudaStreamSynchronize(stream[0]));
        }
        CHECK(is_reached(0, block + ROOM - 1) == direct);
        if (direct) /* to a slab that is freed while the copy is still on its way */
            OK(cudaMemcpyPeerAsync(block + (2 << 20), far, memory[0], 0, 1 << 20, stream[0]));
        OK(cudaSetDevice(far));
        OK(i % 3 == 2 ? cudaFreeAsync(block, stream[far]) : cudaFree(block));
        CHECK(!is_reached(0, block + ROOM - 1));
        OK(i % 3 == 2 ? cudaStreamSynchronize(stream[far]) : cudaSuccess);
    }
    OK(cudaDeviceReset()); /* all of it goes */
    CHECK(!is_reached(0, memory[far]));
    OK(cudaMalloc((void **)&memory[far], ROOM));
    fill(far, memory[far], 99);
    OK(cudaMemcpyPeer(memory[0], 0, memory[far], far, ROOM));
    CHECK(holds(memory[0], 0, ROOM, 99, 0));
    OK(cudaStreamCreateWithFlags(&stream[far], cudaStreamNonBlocking));
}

/* ---- others ---------------------------------------------------------------------------------- */

/* Leaves these bytes and so many descriptors at a session. False: there is no room. */
static bool leave(int process, const void *bytes, size_t length, int descriptors)
{
    const uint64_t number = (uint64_t)process;
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0),
              file = memfd_create("no GPU's", 0);
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(3 * sizeof(int))];
    } control = {.header = {.cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS,
                            .cmsg_len = CMSG_LEN((size_t)descriptors * sizeof(int))}};
    const struct msghdr message = {
        .msg_iov = &(struct iovec){(void *)bytes, length},
        .msg_iovlen = 1,
        .msg_control = descriptors > 0 ? control.bytes : NULL,
        .msg_controllen = descriptors > 0 ? CMSG_SPACE((size_t)descriptors * sizeof(int)) : 0};

    weft_hmac((unsigned char *)name.sun_path + 1, forked_config.secret,
              strlen(forked_config.secret), "reach", 5, &number, sizeof(number));
    CHECK(ftruncate(file, ROOM) == 0);
    for (int i = 0; i < descriptors; i++)
        memcpy(CMSG_DATA(&control.header) + (size_t)i * sizeof(file), &file, sizeof(file));
    const bool there_is =
        connect(fd, (struct sockaddr *)&name,
                (socklen_t)offsetof(struct sockaddr_un, sun_path) + 1 + WEFT_SHA256_BYTES) == 0;
    if (there_is && length > 0)
        CHECK(sendmsg(fd, &message, MSG_NOSIGNAL) == (ssize_t)length);
    close(fd);
    close(file);
    return there_is;
}

/* Nothing of it is taken for what an owner has left. */
static void strange(void)
{
    const uint64_t base = (uint64_t)memory[1] & ~((2ull << 20) - 1), bytes = 4 << 20;
    const uint64_t ticket[] = {77, base, bytes}, place[] = {1, base + (2 << 20), bytes},
                   size[] = {1, base, 2 << 20}, right[] = {1, base, bytes, 0};

    CHECK(leave(1, NULL, 0, 0));
    CHECK(leave(1, "x", 1, 0));
    CHECK(leave(1, "x", 1, 1));
    CHECK(leave(1, ticket, sizeof(ticket), 1));
    CHECK(leave(1, place, sizeof(place), 1));
    CHECK(leave(1, size, sizeof(size), 1));
    CHECK(leave(1, right, 24, 0));
    CHECK(leave(1, right, 24, 2));
    CHECK(leave(1, right, 24, 3));
    CHECK(leave(1, right, 32, 1));
    const pid_t stranger = geteuid() == 0 ? fork() : -1;
    if (stranger == 0) /* another user, who knows all of it */
        _exit(setuid(65534) == 0 && leave(1, right, 24, 1) ? EXIT_SUCCESS : EXIT_FAILURE);
    int status = 0;
    CHECK(stranger < 0 || (waitpid(stranger, &status, 0) == stranger && status == 0));
}

static void lose(void)
{
    cudaError_t error = cudaSuccess;

    OK(cudaSetDevice(0));
    OK(cudaMemcpyPeer(memory[0], 0, memory[1], 1, ROOM));
    CHECK(is_reached(0, memory[1]));
    kill(forked_servers[1], SIGKILL);
    for (int i = 0; i < 20000 && error == cudaSuccess; i++) {
        usleep(10000);
        error = cudaMemcpyPeer(memory[0], 0, memory[1], 1, ROOM);
    }
    IS(cudaErrorDevicesUnavailable, error);
}

int main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "direct";
    const int servers = argc > 2 ? atoi(argv[2]) : 2, devices = argc > 3 ? atoi(argv[3]) : 1;
    const bool refused = strcmp(which, "refused") == 0, full = strcmp(which, "full") == 0;

    if (strcmp(which, "servers") != 0 &&
        !forked_join(servers, devices, refused ? "fault=import:1:801" : "seed=3"))
        return EXIT_FAILURE;
    count = servers * devices;
    begin();
    direct = !refused && client.direct;
    if (strcmp(which, "hostile") == 0)
        strange();
    for (int process = 1; full && process <= 2; process++)
        while (leave(process, "x", 1, 0))
            continue;
    if (strcmp(which, "lost") == 0) {
        lose();
    } else {
        order();
        for (int d = 0; d < count; d++)
            fill(d, memory[d], d + 1);
        sizes(servers);
        again();
    }
    forked_end();
    return suite_end() ? EXIT_SUCCESS : EXIT_FAILURE;
}
