/*
 * test_managed.c - managed and mapped memory, where sessions are processes of their own: the suite,
 * a program's own handlers of SIGSEGV, threads and callbacks (managed_threads.c), a fork, and a
 * server that is lost.
 * Arguments: servers, devices of each, seed.
 */
#include "forked.h"
#include "managed.h"

#include "remote/client/client.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- beside the program's own ---------------------------------------------------------------- */

static sigjmp_buf back;
static struct sigaction found;
static volatile sig_atomic_t heard, asked;
static unsigned char *guard;

static void jump(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    heard += info->si_addr == guard;
    siglongjmp(back, 1);
}

/* Lets the page be touched where it finds nobody else who does. */
static void ask_found(int number, siginfo_t *info, void *context)
{
    asked += info->si_addr != guard;
    heard += info->si_addr == guard;
    if (info->si_addr == guard && heard == 2)
        mprotect(guard, 4096, PROT_READ | PROT_WRITE);
    else
        found.sa_sigaction(number, info, context);
}

static void set(void (*handler)(int, siginfo_t *, void *), struct sigaction *before)
{
    const struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};

    sigaction(SIGSEGV, &action, before);
}

/* One that was there before, and one that comes later, and calls the one that it has found. */
static void own_handlers(void)
{
    guard = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    set(jump, NULL);
    OK(cudaMallocManaged((void **)&managed, N * sizeof(*managed), cudaMemAttachGlobal));
    memset(managed, 0, N * sizeof(*managed));
    managed_scale(1);
    CHECK(managed[0] == 1 && managed[N - 1] == 1);
    for (int i = 0; i < 2; i++)
        if (sigsetjmp(back, 1) == 0)
            *(volatile unsigned char *)guard = 1;
    CHECK(heard == 2);
    if (sigsetjmp(back, 1) == 0) { /* no code is there, whatever the memory's state */
        ((void (*)(void))(void *)managed)();
        CHECK(false);
    }
    heard = 0;
    set(ask_found, &found);
    managed_scale(1);
    CHECK(managed[0] == 2 && managed[N - 1] == 2 && asked == 0);
    if (sigsetjmp(back, 1) == 0) /* by both, up to the first */
        *(volatile unsigned char *)guard = 1;
    CHECK(heard == 2);
    heard = 1;
    *(volatile unsigned char *)guard = 1;
    CHECK(heard == 2);
    signal(SIGSEGV, SIG_DFL);
    set(found.sa_sigaction, NULL);
}

/* The error of a call that nobody waits for comes to the program, not to who brings memory. */
static void late_errors(void)
{
    const struct cudaChannelFormatDesc number = {.x = 32, .f = cudaChannelFormatKindSigned};
    cudaArray_t array = NULL;
    void *device = NULL;

    OK(cudaMallocArray(&array, &number, 64, 64, 0));
    OK(cudaMalloc(&device, 4096));
    managed_scale(1);
    OK(cudaMemcpy2DToArrayAsync(array, 60 * sizeof(int), 0, device, 64, 64, 1, /* beyond its end */
                                cudaMemcpyDeviceToDevice, NULL));
    CHECK(managed[N / 2 + 1] == 1);
    IS(cudaErrorInvalidValue, cudaStreamSynchronize(NULL));
    OK(cudaStreamSynchronize(NULL));
    OK(cudaFree(device));
    OK(cudaFreeArray(array));
    (void)cudaGetLastError();
}

/* Neither reads nor writes what is the parent's. */
static void children(void)
{
    int status = 0;

    managed[0] = 7;
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        managed[0] = 8;
        _exit(EXIT_SUCCESS);
    }
    CHECK(waitpid(child, &status, 0) == child && status != 0);
    CHECK(managed[0] == 7);
    managed_scale(1);
    CHECK(managed[0] == 8);
}

/* A SIGSEGV that somebody sends does what it does without such memory. */
static int send_signal(void (*action)(int))
{
    int status = 0;
    const pid_t child = fork();

    if (child == 0) {
        signal(SIGSEGV, action);
        if (!forked_join(1, 1, "seed=1"))
            _exit(EXIT_FAILURE);
        OK(cudaMallocManaged((void **)&managed, 64, cudaMemAttachGlobal));
        raise(SIGSEGV);
        raise(SIGSEGV);
        _exit(EXIT_SUCCESS);
    }
    CHECK(waitpid(child, &status, 0) == child);
    return status;
}

static void *touch_on(void *argument)
{
    int one = 1;
    void *parameters[] = {&managed, &one, &one};

    cudaSetDevice(0);
    for (;;) { /* launches fail in the end */
        if (cudaLaunchKernel(&suite_scale, (dim3){1, 1, 1}, (dim3){1, 1, 1}, parameters, 0, NULL) !=
            cudaSuccess)
            usleep(100);
        managed[N - 1] = managed[0];
    }
    return argument;
}

/* The exit of a program whose threads touch it until then, and after. */
static int end_with_threads(void)
{
    int status = 0;
    const pid_t child = fork();

    if (child == 0) {
        pthread_t thread;
        if (!forked_join(1, 1, "seed=1"))
            _exit(EXIT_FAILURE);
        OK(cudaMallocManaged((void **)&managed, N * sizeof(*managed), cudaMemAttachGlobal));
        for (int i = 0; i < 4; i++)
            CHECK(pthread_create(&thread, NULL, touch_on, NULL) == 0);
        usleep(30000);
        weft_client_close();
        usleep(10000);
        _exit(suite_end() ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    CHECK(waitpid(child, &status, 0) == child);
    return status;
}

static void lost(int number)
{
    (void)number;
    siglongjmp(back, 1);
}

/* A line, and SIGBUS where the host touches what is there alone. */
static void lose_server(int devices)
{
    volatile bool bus = false;

    OK(cudaSetDevice(0));
    memset(managed, 0, N * sizeof(*managed));
    managed_scale(1);
    OK(cudaStreamSynchronize(NULL));
    CHECK(managed[0] == 1);
    kill(forked_servers[0], SIGKILL);
    for (int i = 0; i < 4000 && cudaMemset(managed, 0, 64) == cudaSuccess; i++)
        usleep(50000);
    signal(SIGBUS, lost);
    if (sigsetjmp(back, 1) == 0)
        CHECK(managed[N - 1] == 1 && devices == 0);
    else
        bus = true;
    CHECK(bus);
}

int main(int argc, char **argv)
{
    const int count = argc > 1 ? atoi(argv[1]) : 1, devices = argc > 2 ? atoi(argv[2]) : 1;
    char seed[32];

    CHECK(WTERMSIG(send_signal(SIG_DFL)) == SIGSEGV);
    CHECK(send_signal(SIG_IGN) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(end_with_threads() == 0);
    snprintf(seed, sizeof(seed), "seed=%s", argc > 3 ? argv[3] : "1");
    if (!forked_join(count, devices, seed))
        return EXIT_FAILURE;
    own_handlers(); /* first, as one of them is to be there before */
    for (int d = 0; d < count * devices; d++) {
        OK(cudaSetDevice(d));
        suite_managed();
    }
    OK(cudaSetDevice(0));
    managed_threads(count * devices > 1);
    late_errors();
    children();
    lose_server(devices);
    forked_end();
    return suite_end() ? EXIT_SUCCESS : EXIT_FAILURE;
}
