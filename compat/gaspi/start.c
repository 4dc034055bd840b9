/* compat/gaspi/start.c - the job: its configuration, its beginning and end, and who is lost. */
#include "internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Fields of the configuration: X(name, what they are at first, least, most). */
#define FIELDS(X)                                                                                  \
    X(sn_port, 12121, 1024, 65536)                                                                 \
    X(network, GASPI_ETHERNET, GASPI_IB, GASPI_OFI)                                                \
    X(queue_size_max, 1024, 1, WEFTGASPI_QUEUE_MOST)                                               \
    X(queue_num, 8, 1, WEFTGASPI_QUEUES)                                                           \
    X(group_max, 32, 1, WEFTGASPI_GROUPS)                                                          \
    X(segment_max, WEFTGASPI_SEGMENTS, 1, WEFTGASPI_SEGMENTS)                                      \
    X(transfer_size_max, 1ul << 30, 1, 1ul << 30)                                                  \
    X(notification_num, 65536, 0, 1 << 24)                                                         \
    X(passive_queue_size_max, WEFTGASPI_PASSIVE_QUEUE, 1, WEFTGASPI_PASSIVE_QUEUE)                 \
    X(passive_transfer_size_max, 65535, 1, 65535)                                                  \
    X(allreduce_buf_size, 255 * 8, 1, 1u << 30)                                                    \
    X(allreduce_elem_max, 255, 1, 1u << 27)                                                        \
    X(rw_list_elem_max, 255, 1, 255)                                                               \
    X(build_infrastructure, GASPI_TOPOLOGY_STATIC, GASPI_TOPOLOGY_NONE, GASPI_TOPOLOGY_DYNAMIC)
#define AT_FIRST(name, first, least, most) .name = first,
struct weftgaspi_state weftgaspi = {
    .lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, /* operations of reductions may call */
    .left = PTHREAD_COND_INITIALIZER,
    .config = {.logger = 1, /* what has no bounds, and then what has */
               .sn_persistent = 1,
               .sn_timeout = 30000,
               .dev_config = {.network_type = GASPI_ETHERNET,
                              .params = {.ib = {.netdev_id = -1, .mtu = 0, .port_check = 1},
                                         .tcp = {.port = 19000},
                                         .ofi = {.use_shm = 1, .progress_auto = 1}}},
               FIELDS(AT_FIRST)},
};

/* Looks now and then whether another process wants this one to end. */
static struct {
    pthread_t thread;
    bool runs, ends;
} watch;

__thread const char *weftgaspi_call;

gaspi_return_t weftgaspi_refuse(bool *said, gaspi_return_t code, const char *format, ...)
{
    char numbers[160];
    va_list list;

    if (weftgaspi_call == NULL || __atomic_exchange_n(said, true, __ATOMIC_RELAXED))
        return code;
    va_start(list, format);
    vsnprintf(numbers, sizeof(numbers), format, list);
    va_end(list);
    fprintf(stderr, "weft-gaspi: rank %d: %s: %s%s%s\n", weftgaspi.rank,
            weftgaspi_call + (*weftgaspi_call == 'p'), gaspi_error_str(code),
            numbers[0] != 0 ? ": " : "", numbers);
    return code;
}

/* ---- time, results --------------------------------------------------------------------------- */

double weftgaspi_now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

double weftgaspi_until(gaspi_timeout_t timeout_ms)
{
    if (timeout_ms == GASPI_BLOCK)
        return HUGE_VAL;
    return timeout_ms == GASPI_TEST ? 0 : weftgaspi_now() + (double)timeout_ms * 1e-3;
}

double weftgaspi_left(double until)
{
    return fmax(until - weftgaspi_now(), 0);
}

static void note_loss(int rank)
{
    const int lost = weft_lost(weftgaspi.job);

    if (lost >= 0)
        rank = lost;
    if (rank >= 0 && rank < weftgaspi.ranks && weftgaspi.peer != NULL)
        __atomic_store_n(&weftgaspi.peer[rank].corrupt, true, __ATOMIC_RELAXED);
}

/* By weft's statuses; of the others GASPI_ERROR, which is not 0. */
static const gaspi_return_t code_of[WEFT_STATUS_COUNT] = {
    [WEFT_ERR_TIMEOUT] = GASPI_TIMEOUT,        [WEFT_ERR_MEMORY] = GASPI_ERR_MEMALLOC,
    [WEFT_ERR_BOUNDS] = GASPI_ERR_INV_REM_OFF, [WEFT_ERR_LIMIT] = GASPI_ERR_MANY_SEG,
    [WEFT_ERR_DEVICE] = GASPI_ERR_DEVICE,      [WEFT_ERR_NETWORK] = GASPI_ERR_DEVICE,
    [WEFT_ERR_CONFIG] = GASPI_ERR_CONFIG,
};

gaspi_return_t weftgaspi_result(weft_status status, int rank)
{
    if (status == WEFT_OK)
        return GASPI_SUCCESS;
    if (status == WEFT_ERR_PEER_LOST)
        note_loss(rank);
    return code_of[status] != 0 ? code_of[status] : GASPI_ERROR;
}

/* ---- configuration --------------------------------------------------------------------------- */

API(config_get, (gaspi_config_t *const config))
{
    TRY_PLACES(config);
    LOCKED;
    *config = weftgaspi.config;
    return GASPI_SUCCESS;
}

API(config_set, (const gaspi_config_t config))
{
#define BOUNDS(name, first, least, most) {#name, (uint64_t)config.name, least, most},
    const struct {
        const char *name;
        uint64_t value, least, most;
    } fields[] = {FIELDS(BOUNDS)};

    if (weftgaspi.job != NULL)
        return GASPI_ERR_INITED;
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (fields[i].value < fields[i].least || fields[i].value > fields[i].most) {
            fprintf(stderr,
                    "weft-gaspi: gaspi_config_set: %s is %" PRIu64 ", not one of %" PRIu64
                    " to %" PRIu64 "\n",
                    fields[i].name, fields[i].value, fields[i].least, fields[i].most);
            return GASPI_ERR_CONFIG;
        }
    LOCKED;
    weftgaspi.config = config;
    return GASPI_SUCCESS;
}

/* ---- the job --------------------------------------------------------------------------------- */

static void *watch_dismissal(void *nothing)
{
    while (!__atomic_load_n(&watch.ends, __ATOMIC_ACQUIRE)) {
        usleep(20000);
        if (!weftgaspi_dismissed())
            continue;
        if (ftrylockfile(stdout) == 0) /* a thread may wait in any stream for ever */
            fflush(stdout);
        _exit(0);
    }
    return NULL;
}

static gaspi_return_t open_tables(void)
{
    const weft_numbers *numbers = weft_numbers_of(weftgaspi.job);

    weftgaspi.rank = numbers->process;
    weftgaspi.ranks = numbers->processes;
    weftgaspi.on_gpu = weft_process_kind(weftgaspi.job, weftgaspi.rank) == WEFT_KIND_CUDA;
    weftgaspi.peer = calloc((size_t)weftgaspi.ranks, sizeof(*weftgaspi.peer));
    if (weftgaspi.peer == NULL)
        return GASPI_ERR_MEMALLOC;
    TRY_WEFT(weft_tags_take(weftgaspi.job, 1, &weftgaspi.tag));
    weftgaspi_queues_open();
    TRY(weftgaspi_segments_open());
    TRY(weftgaspi_groups_open());
    /* All can be written to from here on. Who has gone on and left already is lost to a slower one,
     * whose next call says so. */
    const gaspi_return_t code = weftgaspi_result(weft_host_barrier(weftgaspi.job), -1);
    if (weft_lost(weftgaspi.job) < 0)
        TRY(code);
    watch.runs =
        weftgaspi.ranks > 1 && pthread_create(&watch.thread, NULL, watch_dismissal, NULL) == 0;
    return GASPI_SUCCESS;
}

/* Closes the job, and then forgets its tables: what is under way reads and writes them until
 * then. */
static void close_job(void)
{
    __atomic_store_n(&watch.ends, true, __ATOMIC_RELEASE);
    if (watch.runs)
        pthread_join(watch.thread, NULL);
    watch.runs = watch.ends = false;
    weft_close(weftgaspi.job); /* returns errors that the program has been told, too */
    weftgaspi.job = NULL;
    weftgaspi.gpu_table = NULL;
    weftgaspi_passive_close();
    weftgaspi_groups_close();
    weftgaspi_segments_close();
    weftgaspi_queues_close();
    free(weftgaspi.peer);
    weftgaspi.peer = NULL;
}

API(proc_init, (const gaspi_timeout_t timeout_ms))
{
    if (weftgaspi.job != NULL)
        return GASPI_ERR_INITED;
    setenv("WEFT_WINDOWS", "4096", 0); /* segments are windows of the job: there may be many */
    const weft_status status = weft_open_threads(&weftgaspi.job, NULL, NULL, WEFT_THREAD_MULTIPLE);
    if (status != WEFT_OK)
        return weftgaspi_result(status, -1);
    const gaspi_return_t code = open_tables();
    if (code != GASPI_SUCCESS) {
        weft_abort(weftgaspi.job, "gaspi_proc_init failed");
        close_job();
        return code;
    }
    if (weftgaspi_bound_to_socket()) /* where there is no such node it stays where it is */
        pgaspi_set_socket_affinity((gaspi_uchar)weft_numbers_of(weftgaspi.job)->node_process);
    return code;
}

API(proc_term, (const gaspi_timeout_t timeout_ms))
{
    TRY_OPEN();
    /* All end whole or none. Of a loss tell the calls that needed the lost one. */
    const gaspi_return_t code = weftgaspi_result(weft_host_barrier(weftgaspi.job), -1);
    const bool lost = weft_lost(weftgaspi.job) >= 0;
    close_job();
    return lost ? GASPI_SUCCESS : code;
}

API(disconnect, (const gaspi_rank_t rank, const gaspi_timeout_t timeout_ms))
{
    TRY_OPEN();
    NEED_RANK(rank);
    return GASPI_SUCCESS;
}

API(state_vec_get, (gaspi_state_vector_t states))
{
    TRY_OPEN(states);
    note_loss(-1);
    for (int i = 0; i < weftgaspi.ranks; i++)
        states[i] = __atomic_load_n(&weftgaspi.peer[i].corrupt, __ATOMIC_RELAXED)
                        ? GASPI_STATE_CORRUPT
                        : GASPI_STATE_HEALTHY;
    return GASPI_SUCCESS;
}
