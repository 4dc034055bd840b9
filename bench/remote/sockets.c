/*
 * sockets.c - what plain sockets reach between two processes of this host: N connections, a thread
 * each, send a share of the bytes, and the receiver's threads answer with a byte each. The peer of
 * remote copies over TCP.
 *
 *   sockets CONNECTIONS BYTES...     prints for each size the median's microseconds and GB/s
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 16, ROUNDS = 61 };

static int connections, sockets[MOST];
static size_t bytes;
static unsigned char *data;
static pthread_barrier_t turn; // of the sender's threads and its main one

static void need(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "sockets: %s: %s\n", what, strerror(errno));
        exit(EXIT_FAILURE);
    }
}

static void move(int s, unsigned char *at, size_t left, bool out)
{
    while (left > 0) {
        const ssize_t moved = out ? send(s, at, left, 0) : recv(s, at, left, MSG_WAITALL);

        need(moved > 0, "a connection broke");
        at += moved;
        left -= (size_t)moved;
    }
}

static unsigned char *share(int k, size_t *length)
{
    const size_t each = bytes / (size_t)connections;

    *length = k + 1 < connections ? each : bytes - each * (size_t)k;
    return data + each * (size_t)k;
}

static void *receiver(void *socket)
{
    const int k = (int)((int *)socket - sockets);
    unsigned char done = 1;
    size_t length;
    unsigned char *at = share(k, &length);

    for (int i = 0; i < ROUNDS; i++) {
        move(sockets[k], at, length, false);
        move(sockets[k], &done, 1, true);
    }
    return NULL;
}

static void *sender(void *socket)
{
    const int k = (int)((int *)socket - sockets);
    unsigned char done;
    size_t length;
    unsigned char *at = share(k, &length);

    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&turn);
        move(sockets[k], at, length, true);
        move(sockets[k], &done, 1, false);
        pthread_barrier_wait(&turn);
    }
    return NULL;
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void start(pthread_t *threads, void *(*work)(void *))
{
    for (int k = 0; k < connections; k++)
        need(pthread_create(&threads[k], NULL, work, &sockets[k]) == 0, "no thread");
}

static void join(const pthread_t *threads)
{
    for (int k = 0; k < connections; k++)
        pthread_join(threads[k], NULL);
}

// Both ends of a connection: the receiving process keeps the accepted one.
static void connect_all(int door, const struct sockaddr_in *to, bool receives)
{
    const int on = 1;

    for (int k = 0; k < connections; k++) {
        sockets[k] = receives ? accept(door, NULL, NULL) : socket(AF_INET, SOCK_STREAM, 0);
        need(sockets[k] >= 0, "no socket");
        need(receives || connect(sockets[k], (const struct sockaddr *)to, sizeof *to) == 0,
             "cannot connect");
        setsockopt(sockets[k], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
}

static void measure(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int door = socket(AF_INET, SOCK_STREAM, 0);
    socklen_t length = sizeof to;
    pthread_t threads[MOST];
    double took[ROUNDS];
    int status = 0;
    pid_t child;

    data = malloc(bytes);
    need(data != NULL, "no memory");
    need(bind(door, (struct sockaddr *)&to, sizeof to) == 0 && listen(door, MOST) == 0 &&
             getsockname(door, (struct sockaddr *)&to, &length) == 0,
         "cannot listen");
    child = fork();
    need(child >= 0, "no process");
    memset(data, child == 0, bytes);
    connect_all(door, &to, child == 0);
    if (child == 0) {
        start(threads, receiver);
        join(threads);
        _exit(0);
    }
    pthread_barrier_init(&turn, NULL, (unsigned)connections + 1);
    start(threads, sender);
    for (int i = 0; i < ROUNDS; i++) {
        const double begun = now();

        pthread_barrier_wait(&turn);
        pthread_barrier_wait(&turn);
        took[i] = now() - begun;
    }
    join(threads);
    need(waitpid(child, &status, 0) == child && status == 0, "the receiver failed");
    for (int k = 0; k < connections; k++)
        close(sockets[k]);
    close(door);
    free(data);
    qsort(took + 1, ROUNDS - 1, sizeof *took, ascending); // the first one warms up
    printf("%12zu %12.2f %12.3f\n", bytes, took[ROUNDS / 2],
           (double)bytes * 1e-3 / took[ROUNDS / 2]);
}

int main(int argc, char **argv)
{
    connections = argc > 2 ? atoi(argv[1]) : 0;
    if (connections < 1 || connections > MOST) {
        fprintf(stderr, "usage: sockets CONNECTIONS BYTES..., 1 to %d connections\n", MOST);
        return 2;
    }
    printf("%12s %12s %12s\n", "bytes", "us", "GB/s");
    fflush(stdout);
    for (int i = 2; i < argc; i++) {
        bytes = strtoull(argv[i], NULL, 10);
        need(bytes >= (size_t)connections, "fewer bytes than connections");
        measure();
        fflush(stdout);
    }
    return 0;
}
