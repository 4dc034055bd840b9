/*
 * fault/test_overflow.c - a rank that runs over the end of its stack on the CPU device ends its
 * process by SIGSEGV, after a line that names the rank and the setting; an array of half a
 * megabyte does not reach over the guard into another rank's stack. Another bad address is named
 * with its rank, and both with the line of the program, also where a library's function was called,
 * and where all ranks err at once; a signal that somebody sends ends the process at once, without a
 * word. (Not with sanitizers: they take SIGSEGV for themselves.)
 */
#include "support/fault_job.h"
#include "weft/device.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PROCESSES = 2, RANKS = 3, VICTIM = 4, ARRAY = 512 * 1024 };

enum { DEEP, NOWHERE, HIGH, CALLED, SENT, ALL }; /* what happens; ALL: NOWHERE, to all ranks */

struct data {
    int what, bytes;
};

/*
 * Touches the lowest bytes of a large array alone, as code that fills it from the front does. self
 * NULL: only says at which line, as attack does without data.
 */
__attribute__((noinline)) static int large(weft_self *self)
{
    volatile char array[ARRAY];

    if (self == NULL)
        return __LINE__ + 1;
    array[0] = (char)weft_thread(self);
    return array[0];
}

__attribute__((noinline)) static int attack(int what, const struct data *data)
{
    const volatile size_t bad = what == HIGH ? (size_t)1 << 62 : 64;
    volatile int *nowhere = (volatile int *)bad;

    if (data == NULL)
        return what != CALLED ? __LINE__ + 2 : __LINE__ + 4;
    if (what == NOWHERE || what == HIGH || what == ALL)
        (void)(data->bytes > 0 && (*nowhere = 1)); /* several blocks, of one line */
    else if (what == CALLED)
        memcpy((int *)nowhere, data, (size_t)data->bytes);
    else
        kill(getpid(), SIGSEGV);
    return 0;
}

WEFT_KERNEL(overflow, struct data, data)
{
    weft_enter(self);
    if (data->what == ALL || weft_rank(self, WEFT_COMM_WORLD) == VICTIM) {
        if (data->what == DEEP)
            weft_log(self, "not reached: %d", large(self));
        else
            attack(data->what, data);
        weft_wait(self, 0, 1); /* a signal may take a while */
    }
    weft_leave(self);
}

static int run_kernel(int what)
{
    struct data data = {what, sizeof(data)};
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    return fault_run(&overflow, RANKS, &data, sizeof(data));
}

static int body_deep(int process)
{
    (void)process;
    return run_kernel(DEEP);
}

static int body_nowhere(int process)
{
    (void)process;
    return run_kernel(NOWHERE);
}

#ifdef __x86_64__ /* elsewhere the address is known */
static int body_high(int process)
{
    (void)process;
    return run_kernel(HIGH);
}
#endif

static int body_called(int process)
{
    (void)process;
    return run_kernel(CALLED);
}

static int body_sent(int process)
{
    (void)process;
    return run_kernel(SENT);
}

/* Processes with a worker for each rank; what the first says is not cut off by the others' end. */
static int body_all(int process)
{
    setenv("WEFT_CPU_WORKERS", "3", 1);
    return process == 1 ? run_kernel(ALL) : run_kernel(DEEP);
}

/* text: what process 1 writes, and then where: at that line of this file; NULL: nothing. */
static int check(const char *name, int (*body)(int process), const char *text, int line)
{
    static struct fault_job job;
    char place[40];
    bool good = true;

    fault_start(&job, PROCESSES, body);
    good &= fault_wait(&job, FAULT_HANG_S);
    good &= job.status[0] == WEFT_ERR_PEER_LOST && job.status[1] == 128 + SIGSEGV;
    good &= text != NULL ? strstr(job.text[1], text) != NULL : job.text[1][0] == 0;
    snprintf(place, sizeof(place), "/test_overflow.c:%d\n", line);
    good &= text == NULL || strstr(job.text[1], place) != NULL;
    printf("%s: %s\n", name, good ? "done" : "FAILED");
    if (!good)
        printf("statuses %d %d\n%s%s", job.status[0], job.status[1], job.text[0], job.text[1]);
    return !good;
}

int main(void)
{
    setbuf(stdout, NULL);
    setenv("WEFT_CPU_STACK", "256K", 1);
    return check("a stack is too small", body_deep,
                 "weft: [p1] rank 4 ran over the end of its stack of 262144 bytes: WEFT_CPU_STACK",
                 large(NULL)) +
           check("a bad address", body_nowhere,
                 "weft: [p1] rank 4: segmentation fault, address 0x40\n", attack(NOWHERE, NULL)) +
#ifdef __x86_64__
           check("an address that no program has", body_high,
                 "weft: [p1] rank 4: segmentation fault, no address of user memory\n",
                 attack(HIGH, NULL)) +
#endif
           check("a bad address in a call", body_called,
                 "weft: [p1] rank 4: segmentation fault, address 0x40\n", attack(CALLED, NULL)) +
           check("a bad address in all ranks", body_all, ": segmentation fault, address 0x40\n",
                 attack(ALL, NULL)) +
           check("a signal from somebody", body_sent, NULL, 0);
}
