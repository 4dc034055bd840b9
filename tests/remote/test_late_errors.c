/*
 * test_late_errors.c - which call tells the error of an earlier one that nobody waited for: one
 * that waits and has no other result, and no part of a call. The same where each call waits
 * (WEFT_REMOTE_SYNC=on). Argument: a case (at the end). One server, whose session is a process.
 */
#include "access.h"
#include "forked.h"

#include "remote/client/inside.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGE = 4 << 20 };

static cudaEvent_t no_event;

static cudaError_t refuse(cudaStream_t stream)
{
    return cudaEventRecord(no_event, stream);
}

/* Its answer is the attribute. */
static void attribute(void)
{
    cudaStreamAttrValue value;
    cudaStream_t stream;

    OK(cudaStreamCreate(&stream));
    (void)refuse(NULL);
    usleep(20000);
    OK(cudaStreamGetAttribute(stream, cudaStreamAttributeSynchronizationPolicy, &value));
    IS(cudaErrorInvalidResourceHandle, cudaDeviceSynchronize());
}

static void *use_own_stream(void *unused)
{
    (void)unused;
    access_on(0);
    OK(cudaStreamSynchronize(cudaStreamPerThread));
    (void)refuse(NULL);
    return NULL;
}

/* The end of a thread's stream is no call of the program's. */
static void thread_ends(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, use_own_stream, NULL);
    pthread_join(thread, NULL);
    IS(cudaErrorInvalidResourceHandle, cudaDeviceSynchronize());
}

static int called;

static void call(void *unused)
{
    (void)unused;
    usleep(100000);
    __atomic_add_fetch(&called, 1, __ATOMIC_RELAXED);
}

/* Behind a callback an error is late also where each call waits. What is then begun is a copy by
 * pieces, or another callback, of several parts each: none of them ends for it. */
static void parts(bool copies)
{
    static char host[LARGE] __attribute__((aligned(4096)));
    char *const memory = (char *)access_memory(0, LARGE);
    cudaStream_t stream;

    OK(cudaHostRegister(host, LARGE, 0));
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaLaunchHostFunc(stream, call, NULL));
    OK(refuse(stream));
    usleep(400000);
    cudaError_t told = copies ? cudaMemcpyAsync(host, memory, LARGE, cudaMemcpyDeviceToHost, NULL)
                              : cudaLaunchHostFunc(stream, call, NULL);
    if (told == cudaSuccess)
        told = cudaDeviceSynchronize();
    IS(cudaErrorInvalidResourceHandle, told);
    OK(cudaDeviceSynchronize());
    CHECK(__atomic_load_n(&called, __ATOMIC_RELAXED) == (copies ? 1 : 2));
    OK(cudaHostUnregister(host)); /* no copy uses it */
}

static void copy(void)
{
    parts(true);
}

static void callback(void)
{
    parts(false);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"attribute", attribute}, {"thread", thread_ends}, {"copy", copy}, {"callback", callback}};

int main(int argc, char **argv)
{
    const size_t known = sizeof(cases) / sizeof(cases[0]);
    size_t which = 0;

    while (which < known && (argc != 2 || strcmp(argv[1], cases[which].name) != 0))
        which++;
    if (which == known) {
        fprintf(stderr, "test_late_errors: CASE\n");
        return EXIT_FAILURE;
    }
    if (!forked_join(1, 1, "seed=3"))
        return EXIT_FAILURE;
    access_on(0);
    OK(cudaEventCreate(&no_event));
    OK(cudaEventDestroy(no_event));
    cases[which].run();
    forked_end();
    return suite_end() ? EXIT_SUCCESS : EXIT_FAILURE;
}
