/*
 * device/cuda/kernel.c - kernels of the program on a GPU: how many ranks can be there at once, and
 * one cooperative launch, which is one run. Runs in the program's thread, or in the kernel's task.
 */
#include "device/cuda/cuda_device.h"

#include "abi/notice.h"
#include "base/say.h"
#include "base/task.h"

enum { MOST_RANKS = WEFT_SLOTS - 1 };

static weft_status find_function(struct weft_device *d, const weft_kernel *kernel,
                                 CUfunction *function)
{
    void *found = NULL;

    if (kernel->cuda == NULL)
        return weft_err(WEFT_ERR_DEVICE,
                        "kernel %s was not compiled by nvcc; WEFT_DEVICE=cpu runs it",
                        kernel->name);
    d->driver->context_use(d->context);
    const int error = kernel->cuda->function(&found);
    if (error != 0)
        return weft_err(WEFT_ERR_DEVICE,
                        "kernel %s holds no code for GPU %d (CUDA error %d): compile it for "
                        "compute capability %d.%d",
                        kernel->name, d->index, error,
                        weft_cuda_attribute(d, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                        weft_cuda_attribute(d, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
    *function = found;
    return WEFT_OK;
}

static int of_function(const struct weft_device *d, CUfunction function, CUfunction_attribute which)
{
    int value = 0;
    d->driver->function_attribute(&value, which, function);
    return value;
}

/* Of `wanted` bytes for each of a kernel's ranks to share as many as one can have: *bytes. */
static weft_status give_shared(struct weft_device *d, const weft_kernel *kernel,
                               CUfunction function, size_t wanted, size_t *bytes)
{
    const int most = weft_cuda_attribute(d, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    const int fixed = of_function(d, function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    const size_t room = most > fixed ? (size_t)(most - fixed) : 0;

    if (kernel->shared_least > room)
        return weft_err(WEFT_ERR_LIMIT,
                        "kernel %s needs %zu bytes of shared memory a rank; GPU %d has %d, %d of "
                        "them taken",
                        kernel->name, kernel->shared_least, d->index, most, fixed);
    *bytes = wanted < room ? wanted : room;
    return weft_cuda_error(d->driver->function_set(function,
                                                   CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                   (int)*bytes),
                           "asking for shared memory");
}

/*
 * A first launch, of one block without shared memory of its own and without ranks: it ends at once.
 * Without it, where the threads of a kernel need more local memory than the driver has reserved,
 * stores that the host gives the receive stream may wait until the kernel ends.
 */
static weft_status launch_empty(struct weft_device *d, CUfunction function, int threads)
{
    void *none = NULL, *arguments[] = {&none, &none};
    CUresult result;

    weft_lock(&d->giving);
    result =
        d->driver->launch(function, 1, 1, 1, (unsigned)threads, 1, 1, 0, d->kernels, arguments);
    weft_unlock(&d->giving);
    if (result == CUDA_SUCCESS)
        result = d->driver->stream_wait(d->kernels);
    return weft_cuda_error(result, "launching the kernel without ranks");
}

/* Blocks that the library runs beside n ranks. */
static int blocks_beside(const struct weft_wish *wish, int n)
{
    const int blocks = wish->beside == 0 ? 0 : (n + wish->beside - 1) / wish->beside;

    return blocks < wish->beside_most ? blocks : wish->beside_most;
}

/*
 * How many of n ranks there is room for, beside those blocks. Each has a processor of its own,
 * which `each` ranks would fill, where no rank must be left out for it: ranks that poll would slow
 * it.
 */
static int make_room(struct weft_device *d, const struct weft_wish *wish, int registers, int each,
                     int room, int n)
{
    const int taken = weft_cuda_beside_ranks(wish->threads, registers), wanted = n;

    d->beside.alone = d->sharers == 1 && n + blocks_beside(wish, n) * each <= room;
    while (!d->beside.alone && n > 0 && n + blocks_beside(wish, n) * taken > room)
        n--;
    if (n < wanted)
        weft_say(WEFT_SAY_INFO, "%d ranks, not %d: the rest of GPU %d is for what runs beside them",
                 n, wanted, d->index);
    else if (wish->beside != 0 && d->beside.alone)
        weft_say(WEFT_SAY_INFO, "%d processors of GPU %d are for what runs beside the ranks",
                 blocks_beside(wish, n), d->index);
    return n;
}

weft_status weft_cuda_ranks(struct weft_device *d, const struct weft_wish *wish, int *ranks)
{
    const weft_kernel *kernel = wish->kernel;
    const int threads = wish->threads;
    CUfunction function;
    size_t shared = 0;
    int each = 0;
    weft_status status = find_function(d, kernel, &function);

    if (status != WEFT_OK)
        return status;
    const int registers = of_function(d, function, CU_FUNC_ATTRIBUTE_NUM_REGS);
    const int most_threads = of_function(d, function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    if (threads > most_threads)
        return weft_err(WEFT_ERR_LIMIT,
                        "kernel %s uses %d registers a thread: at most %d threads a rank, not %d "
                        "(compile it with -maxrregcount to have more)",
                        kernel->name, registers, most_threads, threads);
    status = give_shared(d, kernel, function, wish->shared, &shared);
    if (status == WEFT_OK)
        status =
            weft_cuda_error(d->driver->occupancy(&each, function, threads, shared), "occupancy");
    if (status != WEFT_OK)
        return status;
    /* What every sharer of the GPU can have at the same time. */
    d->most = each * d->processors / d->sharers;
    /* The service block has a processor: while it is there, that one's shared memory may be set to
     * less than its ranks need. */
    int most = d->most - (wish->serves && d->block.control != NULL ? each : 0);
    if (most < 1)
        return weft_err(
            WEFT_ERR_LIMIT,
            "kernel %s: %d ranks of %d threads fit on GPU %d, which %d processes%s share",
            kernel->name, each * d->processors, threads, d->index, d->sharers,
            most < d->most ? " and the service block" : "");
    const int room = most;
    if (most > MOST_RANKS)
        most = MOST_RANKS;
    if (d->config->ranks > most)
        return weft_err(WEFT_ERR_CONFIG,
                        "WEFT_RANKS=%d: at most %d ranks of %d threads of kernel %s fit on GPU %d",
                        (int)d->config->ranks, most, threads, kernel->name, d->index);
    weft_say(WEFT_SAY_INFO,
             "kernel %s: %d registers a thread, %d bytes of shared memory and up to %d ranks of %d "
             "threads on GPU %d",
             kernel->name, registers,
             of_function(d, function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) + (int)shared, most,
             threads, d->index);
    int n = wish->ranks > 0 ? wish->ranks : most;
    if (d->config->ranks > 0 && n > d->config->ranks)
        n = (int)d->config->ranks;
    if (n > most)
        n = most; /* "at most": all ranks must be there at once */
    n = make_room(d, wish, registers, each, room, n);
    if (n == 0)
        return weft_err(WEFT_ERR_LIMIT, "kernel %s leaves GPU %d no room for what runs beside it",
                        kernel->name, d->index);
    status = launch_empty(d, function, threads);
    if (status == WEFT_OK)
        *ranks = n;
    return status;
}

/* The kernel is on its way: when does it begin? A second is enough, or the GPU is another's. */
static void see_clock(const struct weft_launch *launch)
{
    const uint64_t deadline = weft_now_ns() + 1000000000u;
    uint64_t now;

    do {
        now = weft_now_ns();
        if (__atomic_load_n(launch->clock, __ATOMIC_RELAXED) != 0) {
            *launch->seen = now;
            return;
        }
    } while (now < deadline);
}

/* The device is ready for it. */
static weft_status run(struct weft_device *d, const struct weft_launch *launch, double *ms)
{
    const struct weft_cuda_driver *driver = d->driver;
    void *selves = launch->selves, *user = launch->user;
    void *arguments[] = {&selves, &user};
    CUfunction function;
    size_t shared = 0;
    float elapsed = 0;
    weft_status status = find_function(d, launch->kernel, &function);

    if (status == WEFT_OK)
        status = give_shared(d, launch->kernel, function, launch->shared, &shared);
    if (status == WEFT_OK) /* first, since it may have to be loaded */
        status = weft_cuda_beside_begin(d, &launch->beside);
    if (status != WEFT_OK)
        return status;
    const int registers = of_function(d, function, CU_FUNC_ATTRIBUTE_NUM_REGS);
    status = weft_cuda_block_stay(d, launch->serves, launch->ranks >= d->most,
                                  registers * launch->threads);
    if (status != WEFT_OK) {
        weft_cuda_beside_end(d, &launch->beside);
        return status;
    }
    weft_lock(&d->giving);
    CUresult result = driver->event_record(d->before, d->kernels);
    if (result == CUDA_SUCCESS)
        result = driver->launch(function, (unsigned)launch->ranks, 1, 1, (unsigned)launch->threads,
                                1, 1, (unsigned)shared, d->kernels, arguments);
    if (result == CUDA_SUCCESS)
        result = driver->event_record(d->after, d->kernels);
    weft_unlock(&d->giving);
    if (result == CUDA_SUCCESS && launch->clock != NULL)
        see_clock(launch);
    if (result == CUDA_SUCCESS)
        result = driver->stream_wait(d->kernels);
    if (result == CUDA_SUCCESS)
        result = driver->event_elapsed(&elapsed, d->before, d->after);
    *ms = elapsed;
    status = weft_cuda_error(result, launch->kernel->name);
    const weft_status ended = weft_cuda_beside_end(d, &launch->beside);
    const weft_status left = weft_cuda_block_leave(d);
    return status != WEFT_OK ? status : ended != WEFT_OK ? ended : left;
}

/* Nothing may be registered while a kernel runs, nor registrations end: both wait for it. */
weft_status weft_cuda_run(struct weft_device *d, const struct weft_launch *launch, double *ms)
{
    weft_keep_turn(&d->keep, true);
    const weft_status status = run(d, launch, ms);
    weft_keep_turn(&d->keep, false);
    return status;
}
