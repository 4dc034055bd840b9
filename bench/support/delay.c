/*
 * delay.c - what a kernel without `tc netem` lacks: hosts (network namespaces of tests/multi/hosts)
 * whose packets to each other take so many microseconds longer. Each gets a TUN device eth0 with
 * the address 10.77.0.i, in place of what it has by that name; this program reads every packet and
 * writes it at its time. Prints "ready", and what it lacks; runs until it is ended. Needs root.
 *
 *     bench_delay FOLDER HOSTS MICROSECONDS
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { HOSTS = 64, PACKET = 65536, WAITING = 8192 };

struct packet {
    int64_t due;
    int to;
    ssize_t bytes;
    unsigned char *data;
};

/* All wait for the same time, so they leave in the order in which they came. */
static struct packet waiting[WAITING];
static uint64_t came, left;
static struct pollfd host[HOSTS];

static void must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "bench_delay: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* A TUN device in the namespace of the process whose number is in FOLDER/host<i>. */
static int open_device(const char *folder, int i)
{
    char text[512];
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    int pid = 0;

    snprintf(text, sizeof(text), "%s/host%d", folder, i);
    FILE *file = fopen(text, "r");
    must(file != NULL && fscanf(file, "%d", &pid) == 1, text);
    fclose(file);
    snprintf(text, sizeof(text), "/proc/%d/ns/net", pid);
    const int space = open(text, O_RDONLY | O_CLOEXEC);
    must(space >= 0 && setns(space, CLONE_NEWNET) == 0, text);
    close(space);
    if (system("ip link delete eth0 2>/dev/null") != 0)
        fprintf(stderr, "bench_delay: host%d had no eth0\n", i);
    const int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    must(device >= 0, "/dev/net/tun");
    memcpy(request.ifr_name, "eth0", 5);
    must(ioctl(device, TUNSETIFF, &request) == 0, "TUNSETIFF");
    snprintf(text, sizeof(text),
             "ip address add 10.77.0.%d/24 dev eth0 && ip link set eth0 mtu 65000 up", i + 1);
    must(system(text) == 0, text);
    return device;
}

/* Packets of IPv4 to another host wait; others are nobody's. */
static void take(int device, int hosts, int64_t delay)
{
    static unsigned char buffer[PACKET];
    ssize_t bytes;

    while (came - left < WAITING && (bytes = read(device, buffer, sizeof(buffer))) > 0) {
        const int to = bytes < 20 || buffer[0] >> 4 != 4 ? -1 : buffer[19] - 1;
        if (to < 0 || to >= hosts)
            continue;
        struct packet *p = &waiting[came++ % WAITING];
        *p = (struct packet){
            .due = now() + delay, .to = to, .bytes = bytes, .data = malloc((size_t)bytes)};
        must(p->data != NULL, "memory");
        memcpy(p->data, buffer, (size_t)bytes);
    }
}

static void relay(int hosts, int64_t delay)
{
    for (;;) {
        const int64_t wait = came == left ? 999999999 : waiting[left % WAITING].due - now();
        const struct timespec time = {0, wait < 0 ? 0 : wait};
        must(ppoll(host, (nfds_t)hosts, &time, NULL) >= 0 || errno == EINTR, "ppoll");
        for (int i = 0; i < hosts; i++)
            if (host[i].revents & POLLIN)
                take(host[i].fd, hosts, delay);
        for (; left < came && waiting[left % WAITING].due <= now(); left++) {
            struct packet *p = &waiting[left % WAITING];
            /* A full queue drops, as a network does. */
            if (write(host[p->to].fd, p->data, (size_t)p->bytes) < 0 && errno != EAGAIN)
                must(errno == ENOBUFS, "write");
            free(p->data);
        }
    }
}

int main(int argc, char **argv)
{
    const struct sched_param first = {.sched_priority = 1};
    const int hosts = argc == 4 ? atoi(argv[2]) : 0;
    const long delay = argc == 4 ? atol(argv[3]) : -1;

    if (hosts < 2 || hosts > HOSTS || delay < 0 || delay >= 1000000) {
        fprintf(stderr,
                "usage: bench_delay FOLDER HOSTS MICROSECONDS: 2 to %d hosts, less than a "
                "second\n",
                HOSTS);
        return 2;
    }
    for (int i = 0; i < hosts; i++)
        host[i] = (struct pollfd){.fd = open_device(argv[1], i), .events = POLLIN};
    prctl(PR_SET_TIMERSLACK, 1UL);
    if (sched_setscheduler(0, SCHED_FIFO, &first) == 0)
        puts("ready");
    else
        printf("ready, without SCHED_FIFO (%s)\n", strerror(errno));
    fflush(stdout);
    relay(hosts, delay * 1000);
}
