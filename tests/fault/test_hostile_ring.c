/*
 * fault/test_hostile_ring.c - a process writes nonsense over the rings that it shares with another
 * one, while both send: the job ends with WEFT_ERR_PROTOCOL, on both, and says which process it
 * was, once. Nobody crashes, hangs, or goes on with what it got.
 */
#include "support/fault_job.h"
#include "weft/device.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PROCESSES = 2, HOSTILE = 1, WAYS = 6, RING = 65536, FIRST = 256 };

struct data {
    unsigned char *memory;
};

WEFT_KERNEL(talking, struct data, data)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), n = weft_size(self, WEFT_COMM_WORLD);

    weft_enter(self);
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, data->memory, 8192);
    for (;;) /* until the job ends; nobody waits for what a hostile process may swallow */
        weft_put_notify(self, win, (me + 1) % n, 0, data->memory + 4096, 700, 1);
}

static int way;   /* of being hostile */
static int ended; /* the run */

/* Whether this process made the memory file with that number. */
static bool is_own(unsigned long inode)
{
    for (int fd = 3; fd < 256; fd++) {
        struct stat info;
        if (fstat(fd, &info) == 0 && info.st_ino == inode)
            return true;
    }
    return false;
}

/* Nonsense over the rings: ones, noise, or noise over lengths alone, the indexes spared. */
static void scribble(unsigned char *memory, size_t bytes)
{
    static uint32_t state = 1;

    switch (way / 2) {
    case 0:
        memset(memory, 0xff, bytes);
        break;
    case 1:
        for (size_t i = 0; i < bytes; i++) {
            state = state * 1664525u + 1013904223u;
            memory[i] = (unsigned char)(state >> 24);
        }
        break;
    default:
        for (size_t i = FIRST; i + 4 <= bytes; i += 16) {
            state = state * 1664525u + 1013904223u;
            memcpy(memory + i, &state, 4);
        }
    }
}

/* The rings are the memory of their size; the counters' is larger, that of windows smaller. */
static bool is_rings(size_t bytes)
{
    return bytes >= PROCESSES * RING && bytes < 2 * PROCESSES * RING;
}

/*
 * Writes over the victim's rings (even ways) or over its own, into which the victim writes (odd),
 * until the job has ended.
 */
static void *be_hostile(void *unused)
{
    unsigned char *rings = NULL;
    size_t bytes = 0;
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "re");

    (void)unused;
    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
        unsigned long from, to, inode;
        if (strstr(line, "/memfd:weft") != NULL &&
            sscanf(line, "%lx-%lx %*s %*s %*s %lu", &from, &to, &inode) == 3 &&
            is_own(inode) == (way % 2 == 1) && is_rings(to - from)) {
            rings = (unsigned char *)from;
            bytes = to - from;
        }
    }
    if (maps == NULL || rings == NULL) {
        fprintf(stderr, "found no rings\n");
        _exit(99);
    }
    fclose(maps);
    usleep(200000);
    while (__atomic_load_n(&ended, __ATOMIC_ACQUIRE) == 0) {
        scribble(rings, bytes);
        usleep(1000);
    }
    return NULL;
}

static int body(int process)
{
    struct data data;
    pthread_t thread;
    weft_job *job;
    weft_status status = weft_open(&job, NULL, NULL);

    if (status != WEFT_OK)
        return (int)status;
    data.memory = weft_malloc(job, 8192);
    status = weft_prepare(job, &talking, 1, 1);
    if (status == WEFT_OK && process == HOSTILE &&
        pthread_create(&thread, NULL, be_hostile, NULL) != 0)
        return 99;
    if (status == WEFT_OK)
        status = weft_run(job, &data, sizeof(data), NULL);
    __atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
    if (process == HOSTILE)
        pthread_join(thread, NULL);
    weft_close(job);
    return (int)status;
}

/* How often the text occurs in it. */
static int count(const char *text, const char *what)
{
    int n = 0;

    for (; (text = strstr(text, what)) != NULL; text += strlen(what))
        n++;
    return n;
}

int main(void)
{
    static struct fault_job job;
    bool good = true;

    setbuf(stdout, NULL);
    setenv("WEFT_PATH", "proxy", 1);
    setenv("WEFT_SHM_RING", "65536", 1);
    for (way = 0; way < WAYS; way++) {
        fault_start(&job, PROCESSES, body);
        const bool all = fault_wait(&job, FAULT_HANG_S);
        for (int p = 0; p < PROCESSES; p++) {
            /* In the job's error, and nowhere else, even if both services see it. */
            if (all && job.status[p] == WEFT_ERR_PROTOCOL &&
                count(job.text[p], "shm: process ") == 1 && count(job.text[p], "weft: ") == 1)
                continue;
            good = false;
            printf("FAILED: way %d: process %d ended with %d after %.1f s; it said:\n%s\n", way, p,
                   job.status[p], job.ended[p], job.text[p]);
        }
    }
    printf("%s\n", good ? "all good" : "FAILED");
    return !good;
}
