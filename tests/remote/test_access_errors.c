/*
 * test_access_errors.c - kernels that use memory of another server's device: where something fails,
 * or access is taken away. Arguments: a case (at the end), servers, devices of each. Sessions are
 * processes.
 */
#include "access.h"
#include "forked.h"

#include "remote/client/inside.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* It is enabled for one device of a server, and for the other no more. */
static void taken(void)
{
    int *far = access_memory(2, BYTES);

    access_enable(0, 2);
    access_enable(1, 2);
    CHECK(access_works(0, far, 2));
    access_on(0);
    OK(cudaDeviceDisablePeerAccess(2));
    OK(cudaDeviceSynchronize());
    CHECK(access_works(1, far, 2));
    access_on(0);
    access_slowly(far, 1, NULL); /* as CUDA: the device is lost */
    IS(cudaErrorIllegalAddress, cudaDeviceSynchronize());
}

static void refused(void)
{
    CHECK(!access_can(0, 1));
    access_on(0);
    IS(cudaErrorPeerAccessUnsupported, cudaDeviceEnablePeerAccess(1, 0));
    IS(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(1));
    CHECK(cudaGetLastError() == cudaErrorPeerAccessNotEnabled);
}

/* The third slab is the first that is not mapped: what cannot be reached is not there. */
static void later(void)
{
    size_t before = 0, after = 0;
    int *memory = NULL;

    int *const first = access_memory(1, BYTES);
    access_enable(0, 1);
    CHECK(access_works(0, first, 1));
    int *const second = access_memory(1, SLAB);
    CHECK(access_works(0, second, 1));
    OK(cudaMemGetInfo(&before, &after));
    IS(cudaErrorPeerAccessUnsupported, cudaMalloc((void **)&memory, SLAB));
    CHECK(memory == NULL && cudaGetLastError() == cudaErrorPeerAccessUnsupported);
    size_t now = 0;
    OK(cudaMemGetInfo(&now, &after));
    CHECK(now == before);
}

/* An earlier call's error, which comes with the answer to what the servers are asked. */
static void earlier(void)
{
    int *far = access_memory(1, BYTES), *near = access_memory(0, BYTES);

    OK(cudaMemsetAsync(near, 0, BYTES, NULL));
    access_on(1);
    OK(cudaMemsetAsync(far, 0, BYTES, NULL));
    usleep(20000);
    CHECK(access_can(0, 1));
    IS(cudaErrorInvalidPitchValue, cudaDeviceSynchronize());
}

/* Disabled and enabled again while the device is busy, and its neighbour keeps it. */
static void again(void)
{
    const int device = 0, neighbour = 1, owner = 2;
    int *far = access_memory(owner, BYTES), *own = access_memory(device, BYTES);

    access_enable(device, owner);
    access_enable(neighbour, owner);
    access_on(device);
    for (int i = 0; i < 5; i++)
        access_slowly(own, 1, NULL);
    OK(cudaDeviceDisablePeerAccess(owner));
    OK(cudaDeviceEnablePeerAccess(owner, 0));
    OK(cudaDeviceSynchronize());
    CHECK(access_works(device, far, owner));
}

/* What the server refuses, which is told with a later call. */
static void refuse(void)
{
    cudaEvent_t event;

    OK(cudaEventCreate(&event));
    OK(cudaEventDestroy(event));
    (void)cudaEventRecord(event, NULL);
    usleep(20000);
}

/* An earlier call's error comes with the answer to enabling, or to a reset: it decides nothing. */
static void before(bool resets)
{
    int *its = access_memory(1, BYTES);

    if (resets)
        access_enable(0, 1);
    access_on(0);
    refuse();
    if (resets) {
        (void)cudaDeviceReset();
        (void)cudaGetLastError();
        access_enable(0, 1);
    } else {
        (void)cudaDeviceEnablePeerAccess(1, 0);
        (void)cudaGetLastError();
        const cudaError_t second = cudaDeviceEnablePeerAccess(1, 0);
        CHECK(second == cudaSuccess || second == cudaErrorPeerAccessAlreadyEnabled);
        (void)cudaGetLastError();
    }
    (void)cudaDeviceSynchronize();
    (void)cudaGetLastError();
    CHECK(access_works(0, its, 1));
    CHECK(access_works(0, access_memory(1, 3 * SLAB), 1));
    access_on(0);
    OK(cudaDeviceDisablePeerAccess(1));
}

/* An earlier call's error comes with the answer to cudaMalloc: no memory is lost by it. */
static void kept(void)
{
    size_t free_before, free_after, total;
    int *more = NULL;

    access_on(0);
    OK(cudaMemGetInfo(&free_before, &total));
    refuse();
    if (cudaMalloc((void **)&more, 64 << 20) == cudaSuccess)
        (void)cudaFree(more); /* may tell it, too */
    (void)cudaDeviceSynchronize();
    (void)cudaGetLastError();
    OK(cudaMemGetInfo(&free_after, &total));
    CHECK(free_before == free_after);
}

/* A neighbour whose context is lost keeps nobody from mapping what comes to an address next. */
static void broken(void)
{
    int *far = access_memory(2, BYTES), *strange = access_memory(0, BYTES), *next = NULL;

    access_enable(0, 2);
    access_enable(1, 2);
    access_on(1);
    access_slowly(strange, 1, NULL);
    CHECK(cudaDeviceSynchronize() != cudaSuccess);
    access_on(2);
    (void)cudaFree(far);
    (void)cudaGetLastError();
    alarm(120);
    (void)cudaMalloc((void **)&next, BYTES); /* it may fail; it comes back */
    alarm(0);
}

/* What was given just before the end leaves with it: no server is waited for in vain. */
static void leave(void)
{
    int *mine = access_memory(0, BYTES);

    for (int i = 0; i < 20; i++)
        access_slowly(mine, 1, NULL);
    const uint64_t start = weft_now_ns();
    weft_client_close();
    CHECK(weft_now_ns() - start < 4000000000);
}

static void *wait_for_address(void *argument)
{
    int *memory = NULL;

    (void)argument;
    access_on(1);
    CHECK(cudaMalloc((void **)&memory, SLAB) != cudaSuccess); /* the program ends first */
    return NULL;
}

/* A device that never ends what it was given keeps only those waiting who need its part: neither
 * other devices, nor the program's end, nor its server. */
static void hung(void)
{
    int *own = access_memory(0, BYTES), *far = access_memory(1, SLAB), *third;
    pthread_t thread;

    third = access_memory(2, BYTES);
    access_enable(0, 1);
    access_on(0);
    access_slowly(own, 1, NULL); /* never done */
    access_on(1);
    OK(cudaFreeAsync(far, NULL));
    OK(cudaStreamSynchronize(NULL));
    pthread_create(&thread, NULL, wait_for_address, NULL);
    usleep(100000);
    OK(cudaFree(third));
    const uint64_t start = weft_now_ns();
    weft_client_close();
    CHECK(weft_now_ns() - start < 4000000000);
    pthread_join(thread, NULL);
    CHECK(!client_reaches(&client.device[0], &client.device[2], client.device[2].base, 1));
    CHECK((client.device[0].peers[2] & CLIENT_APART) == 0); /* nobody has said that it does not */
}

static void lose(void)
{
    cudaError_t error = cudaSuccess;
    int *far = access_memory(1, BYTES);

    access_enable(0, 1);
    CHECK(access_works(0, far, 1));
    access_on(0);
    access_slowly(far, 1, NULL);
    kill(forked_servers[1], SIGKILL);
    for (int i = 0; i < 20000 && error == cudaSuccess; i++) {
        access_slowly(far, 1, NULL); /* what is mapped stays */
        usleep(10000);
        error = cudaDeviceSynchronize();
    }
    IS(cudaErrorDevicesUnavailable, error);
}

/* Memory at an address of which a part was other memory's, which a busy device still reaches: it
 * comes when that has gone. */
static void overlap(void)
{
    int *own = access_memory(0, BYTES), *first = access_memory(1, SLAB),
        *second = access_memory(1, 2 * SLAB), *both = NULL;

    access_enable(0, 1);
    access_on(1);
    OK(cudaFreeAsync(first, NULL));
    OK(cudaStreamSynchronize(NULL));
    access_on(0);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 20; i++)
        access_slowly(own, 1, NULL);
    access_on(1);
    OK(cudaFreeAsync(second, NULL));
    OK(cudaStreamSynchronize(NULL));
    OK(cudaMalloc((void **)&both, 3 * SLAB));
    CHECK(access_works(0, both, 1));
}

/* An earlier call's error is not taken by what a cudaMalloc that fails gives back. */
static void swallowed(void)
{
    int *more = NULL;

    (void)access_memory(1, BYTES);
    access_enable(0, 1);
    access_on(1);
    refuse();
    IS(cudaErrorPeerAccessUnsupported, cudaMalloc((void **)&more, SLAB));
    IS(cudaErrorInvalidResourceHandle, cudaDeviceSynchronize());
}

/* A kernel's illegal address where there is pinned memory, which it may have been: a line says so,
 * once. (To the fake driver all memory of the host is legal.) */
static void host(void)
{
    static char said[4096];
    int *pinned = NULL, *strange = access_memory(1, BYTES);
    FILE *const log = tmpfile();
    const int error = dup(2);

    access_on(0);
    OK(cudaMallocHost((void **)&pinned, BYTES));
    CHECK(log != NULL && error >= 0 && dup2(fileno(log), 2) == 2);
    access_slowly(strange, 1, NULL);
    const cudaError_t first = cudaDeviceSynchronize(), second = cudaDeviceSynchronize();
    CHECK(dup2(error, 2) == 2 && fseek(log, 0, SEEK_SET) == 0);
    said[fread(said, 1, sizeof(said) - 1, log)] = '\0';
    IS(cudaErrorIllegalAddress, first);
    IS(cudaErrorIllegalAddress, second);
    const char *line = strstr(said, "docs/remote.md#mapped-memory");
    CHECK(line != NULL && strstr(line + 1, "docs/remote.md#mapped-memory") == NULL);
    fclose(log);
}

static void before_enable(void)
{
    before(false);
}

static void before_reset(void)
{
    before(true);
}

static const struct {
    const char *name;
    void (*run)(void);
    const char *options; /* of the fake driver */
} cases[] = {{"refused", refused, "fault=import:1:801"},
             {"hosts", refused, "seed=3"}, /* servers of two hosts */
             {"later", later, "fault=import:3:801"},
             {"earlier", earlier, "fault=fill:1:12"},
             {"taken", taken, "seed=3"},
             {"again", again, "seed=3"},
             {"before", before_enable, "seed=3"},
             {"beforereset", before_reset, "seed=3"},
             {"kept", kept, "seed=3"},
             {"broken", broken, "seed=3"},
             {"leave", leave, "seed=3"},
             {"overlap", overlap, "seed=3"},
             {"host", host, "seed=3"},
             {"swallowed", swallowed, "fault=import:2:801"},
             {"hung", hung, "fault=hang:launch:1"},
             {"lost", lose, "seed=3"}};

int main(int argc, char **argv)
{
    const size_t known = sizeof(cases) / sizeof(cases[0]);
    size_t which = 0;

    while (which < known && (argc != 4 || strcmp(argv[1], cases[which].name) != 0))
        which++;
    if (which == known) {
        fprintf(stderr, "test_access_errors: CASE SERVERS DEVICES\n");
        return EXIT_FAILURE;
    }
    forked_hosts = strcmp(argv[1], "hosts") == 0;
    if (forked_hosts && geteuid() != 0) {
        printf("skipped: only root can name a host\n");
        return 77;
    }
    if (!forked_join(atoi(argv[2]), atoi(argv[3]), cases[which].options))
        return EXIT_FAILURE;
    cases[which].run();
    forked_end();
    return suite_end() ? EXIT_SUCCESS : EXIT_FAILURE;
}
