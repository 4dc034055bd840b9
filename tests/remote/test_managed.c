/*
 * test_managed.c - managed and mapped memory, where sessions are processes of their own: the suite,
 * a program's own handlers of SIGSEGV, small stacks, callbacks, a fork, and a server that is lost.
 * Arguments: servers, devices of each, seed.
 */
#include "suite.h"

#include "boot/interface.h"
#include "fake/fake.h"
#include "remote/client/client.h"
#include "remote/session/session.h"

#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SERVERS = 4, DEVICES = 4, N = 1 << 18 };

void weft_fake_kernels(const struct weft_fake_registry *registry);

static pid_t servers[SERVERS];

static void serve(const struct weft_config *config, int process, int devices, const char *options)
{
    const int numbers[DEVICES] = {0, 1, 2, 3};
    const struct weft_session_limits limits = {.devices = numbers, .device_count = devices};
    struct weft_config own = *config;
    const struct weft_cuda_table *table;

    own.process = process;
    own.root_fd = -1;
    if (weft_fake_open(&table, options) != WEFT_OK)
        _exit(EXIT_FAILURE);
    weft_fake_kernels(&weft_fake_registry);
    _exit(weft_session_serve(&own, table, &limits) == WEFT_OK ? EXIT_SUCCESS : EXIT_FAILURE);
}

static bool join(int count, int devices, const char *seed)
{
    static const char *const names[] = {"one", "two", "three", "four"};
    const struct weft_cuda_table *table;
    struct weft_config config;
    char options[64];
    int fd = -1;

    snprintf(options, sizeof(options), "devices=%d,memory=256M,seed=%s", devices, seed);
    if (weft_config_load(&config, NULL, NULL) != WEFT_OK ||
        weft_interface_listen(&fd, config.root, config.interface, WEFT_REACH_HOST) != WEFT_OK ||
        weft_secret_make(config.secret) != WEFT_OK)
        return false;
    config.root_fd = fd;
    config.process = 0;
    config.processes = count + 1;
    for (int s = 0; s < count; s++) {
        servers[s] = fork();
        if (servers[s] == 0)
            serve(&config, s + 1, devices, options);
    }
    if (weft_client_join(&table, &config, names) != WEFT_OK)
        return false;
    weft_cudart_use(table);
    suite_register(NULL);
    return true;
}

/* ---- beside the program's own ---------------------------------------------------------------- */

static unsigned *x;

static void scale(int shift)
{
    int one = 1;
    void *parameters[] = {&x, &one, &shift};

    OK(cudaLaunchKernel(&suite_scale, (dim3){N / 256, 1, 1}, (dim3){256, 1, 1}, parameters, 0,
                        NULL));
}

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
    OK(cudaMallocManaged((void **)&x, N * sizeof(*x), cudaMemAttachGlobal));
    memset(x, 0, N * sizeof(*x));
    scale(1);
    CHECK(x[0] == 1 && x[N - 1] == 1);
    for (int i = 0; i < 2; i++)
        if (sigsetjmp(back, 1) == 0)
            *(volatile unsigned char *)guard = 1;
    CHECK(heard == 2);
    if (sigsetjmp(back, 1) == 0) { /* no code is there, whatever the memory's state */
        ((void (*)(void))(void *)x)();
        CHECK(false);
    }
    heard = 0;
    set(ask_found, &found);
    scale(1);
    CHECK(x[0] == 2 && x[N - 1] == 2 && asked == 0);
    if (sigsetjmp(back, 1) == 0) /* by both, up to the first */
        *(volatile unsigned char *)guard = 1;
    CHECK(heard == 2);
    heard = 1;
    *(volatile unsigned char *)guard = 1;
    CHECK(heard == 2);
    signal(SIGSEGV, SIG_DFL);
    set(found.sa_sigaction, NULL);
}

static void *sum(void *argument)
{
    unsigned *result = argument;

    for (int i = 0; i < N; i += 512)
        *result += x[i];
    return NULL;
}

static void small_stack(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    unsigned result = 0;

    for (int i = 0; i < N; i++)
        x[i] = 2;
    scale(1);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN + 16384);
    CHECK(pthread_create(&thread, &attributes, sum, &result) == 0);
    pthread_join(thread, NULL);
    CHECK(result == 3 * N / 512);
}

static void count(void *argument)
{
    (void)argument;
    for (int i = 0; i < N; i += 1024)
        x[i] += 100;
}

/* What it writes is there for kernels that were launched before it ran. */
static void callbacks(void)
{
    memset(x, 0, N * sizeof(*x));
    for (int i = 0; i < 3; i++) {
        scale(1);
        OK(cudaLaunchHostFunc(NULL, count, NULL));
    }
    scale(1);
    OK(cudaDeviceSynchronize());
    CHECK(x[0] == 304 && x[1] == 4 && x[N - 1024] == 304 && x[N - 1] == 4);
}

static void count_late(void *argument)
{
    usleep(50000);
    count(argument);
}

static void *synchronize(void *argument)
{
    OK(cudaSetDevice(0));
    OK(argument == NULL ? cudaDeviceSynchronize() : cudaStreamSynchronize(NULL));
    return NULL;
}

static void count_one(void *argument)
{
    (void)argument;
    x[0] += 100;
}

static void nothing(void *argument)
{
    (void)argument;
}

/* Callbacks touch it while others wait for them: who touches it, too, who synchronises, more
 * threads than calls that may wait, and as many callbacks as there may be. */
static void busy_callbacks(void)
{
    enum { WAITERS = 80, CALLBACKS = 4096 };
    pthread_t thread[WAITERS];

    memset(x, 0, N * sizeof(*x));
    scale(1);
    OK(cudaLaunchHostFunc(NULL, count_late, NULL));
    CHECK(x[0] == 101 && x[1] == 1);
    for (int round = 0; round < 40; round++) {
        CHECK(pthread_create(&thread[0], NULL, synchronize, NULL) == 0);
        scale(0);
        OK(cudaLaunchHostFunc(NULL, count_one, NULL));
        scale(0);
        pthread_join(thread[0], NULL);
    }
    OK(cudaLaunchHostFunc(NULL, count_late, NULL));
    for (int i = 0; i < WAITERS; i++)
        CHECK(pthread_create(&thread[i], NULL, synchronize, x) == 0);
    for (int i = 0; i < WAITERS; i++)
        pthread_join(thread[i], NULL);
    CHECK(x[0] == 4201);
    scale(0);
    OK(cudaLaunchHostFunc(NULL, count_late, NULL));
    for (int i = 0; i < CALLBACKS; i++)
        OK(cudaLaunchHostFunc(NULL, nothing, NULL));
    OK(cudaDeviceSynchronize());
    CHECK(x[0] == 4301);
}

enum { ADDITIONS = 200000 };

static void *add(void *argument)
{
    volatile unsigned *at = argument;

    for (int i = 0; i < ADDITIONS; i++)
        *at += 1;
    return NULL;
}

/* No store is lost while what is stored to moves to the device and back. */
static void additions(void)
{
    pthread_t thread;

    memset(x, 0, N * sizeof(*x));
    CHECK(pthread_create(&thread, NULL, add, &x[N / 2]) == 0);
    for (int i = 0; i < 100; i++)
        scale(0);
    pthread_join(thread, NULL);
    CHECK(x[N / 2] == ADDITIONS && x[N / 2 + 1] == 0);
}

static bool reads;

static void *read_on(void *argument)
{
    while (__atomic_load_n(&reads, __ATOMIC_RELAXED))
        (void)*(volatile unsigned *)&x[512];
    return argument;
}

static void wait_a_little(void *argument)
{
    (void)argument;
    usleep(2000);
}

/* Copies within device 0, whose calls wait for device 1 first. Meanwhile a thread reads beside. */
static void late_copies(void)
{
    unsigned *device = NULL;
    pthread_t thread;

    OK(cudaMalloc((void **)&device, sizeof(*device)));
    reads = true;
    CHECK(pthread_create(&thread, NULL, read_on, NULL) == 0);
    for (unsigned i = 1; i <= 40; i++) {
        OK(cudaMemcpy(device, &i, sizeof(i), cudaMemcpyDefault));
        OK(cudaSetDevice(1));
        OK(cudaLaunchHostFunc(NULL, wait_a_little, NULL));
        OK(cudaMemcpy(x, device, sizeof(*device), cudaMemcpyDefault));
        OK(cudaSetDevice(0));
        CHECK(x[0] == i);
    }
    __atomic_store_n(&reads, false, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    OK(cudaFree(device));
}

static void *allocate(void *argument)
{
    void *memory = NULL;

    OK(cudaSetDevice(0));
    for (int i = 0; i < 200; i++) {
        OK(cudaMallocManaged(&memory, 64, cudaMemAttachGlobal));
        OK(cudaFree(memory));
    }
    return argument;
}

/* Of device 1, while device 0 gets such memory and gives it back. */
static void resets(void)
{
    pthread_t thread;
    void *memory = NULL;

    OK(cudaSetDevice(1));
    CHECK(pthread_create(&thread, NULL, allocate, NULL) == 0);
    for (int i = 0; i < 20; i++) {
        for (int b = 0; b < 4; b++)
            OK(cudaMallocManaged(&memory, 64, cudaMemAttachGlobal));
        OK(cudaDeviceReset());
    }
    pthread_join(thread, NULL);
    OK(cudaSetDevice(0));
}

/* The error of a call that nobody waits for comes to the program, not to who brings memory. */
static void late_errors(void)
{
    const struct cudaChannelFormatDesc number = {.x = 32, .f = cudaChannelFormatKindSigned};
    cudaArray_t array = NULL;
    void *device = NULL;

    OK(cudaMallocArray(&array, &number, 64, 64, 0));
    OK(cudaMalloc(&device, 4096));
    scale(1);
    OK(cudaMemcpy2DToArrayAsync(array, 60 * sizeof(int), 0, device, 64, 64, 1, /* beyond its end */
                                cudaMemcpyDeviceToDevice, NULL));
    CHECK(x[N / 2 + 1] == 1);
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

    x[0] = 7;
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        x[0] = 8;
        _exit(EXIT_SUCCESS);
    }
    CHECK(waitpid(child, &status, 0) == child && status != 0);
    CHECK(x[0] == 7);
    scale(1);
    CHECK(x[0] == 8);
}

/* A SIGSEGV that somebody sends does what it does without such memory. */
static int send_signal(void (*action)(int))
{
    int status = 0;
    const pid_t child = fork();

    if (child == 0) {
        signal(SIGSEGV, action);
        if (!join(1, 1, "1"))
            _exit(EXIT_FAILURE);
        OK(cudaMallocManaged((void **)&x, 64, cudaMemAttachGlobal));
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
    void *parameters[] = {&x, &one, &one};

    cudaSetDevice(0);
    for (;;) { /* launches fail in the end */
        if (cudaLaunchKernel(&suite_scale, (dim3){1, 1, 1}, (dim3){1, 1, 1}, parameters, 0, NULL) !=
            cudaSuccess)
            usleep(100);
        x[N - 1] = x[0];
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
        if (!join(1, 1, "1"))
            _exit(EXIT_FAILURE);
        OK(cudaMallocManaged((void **)&x, N * sizeof(*x), cudaMemAttachGlobal));
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
    memset(x, 0, N * sizeof(*x));
    scale(1);
    OK(cudaStreamSynchronize(NULL));
    CHECK(x[0] == 1);
    kill(servers[0], SIGKILL);
    for (int i = 0; i < 100 && cudaMemset(x, 0, 64) == cudaSuccess; i++)
        usleep(50000);
    signal(SIGBUS, lost);
    if (sigsetjmp(back, 1) == 0)
        CHECK(x[N - 1] == 1 && devices == 0);
    else
        bus = true;
    CHECK(bus);
}

int main(int argc, char **argv)
{
    const int count = argc > 1 ? atoi(argv[1]) : 1, devices = argc > 2 ? atoi(argv[2]) : 1;

    CHECK(WTERMSIG(send_signal(SIG_DFL)) == SIGSEGV);
    CHECK(send_signal(SIG_IGN) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(end_with_threads() == 0);
    if (!join(count, devices, argc > 3 ? argv[3] : "1"))
        return EXIT_FAILURE;
    own_handlers(); /* first, as one of them is to be there before */
    for (int d = 0; d < count * devices; d++) {
        OK(cudaSetDevice(d));
        suite_managed();
    }
    OK(cudaSetDevice(0));
    small_stack();
    callbacks();
    busy_callbacks();
    additions();
    if (count * devices > 1) {
        late_copies();
        resets();
    }
    late_errors();
    children();
    lose_server(devices);
    weft_client_close();
    for (int s = 0; s < count; s++)
        waitpid(servers[s], NULL, 0);
    return suite_end() ? EXIT_SUCCESS : EXIT_FAILURE;
}
