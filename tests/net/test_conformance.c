/*
 * net/test_conformance.c - what net.h promises, asked of every transport
 * (conformance.h).
 *
 * Three ends, each of which sends to all, itself included, at the same time: as threads of one
 * address space and as forked processes, from zero and from near the wrap of all sequences.
 */
#include "conformance.h"

#include "net/shm/ring.h"
#include "net/transport.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ThreadSanitizer sees no order that comes through another process: there, threads only. */
#if defined(__SANITIZE_THREAD__)
enum { PROCESSES = 0 };
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
enum { PROCESSES = 0 };
#else
enum { PROCESSES = 1 };
#endif
#else
enum { PROCESSES = 1 };
#endif

/* What can be asked of an end alone: its capabilities, and the keys of many regions. */
static void alone(struct end *end, int unused)
{
    enum { REGIONS = 100 };
    const struct weft_transport_ops *ops = end->all->ops;
    static unsigned char memory[REGIONS][8], sources[REGIONS][8];
    uint64_t keys[REGIONS];
    struct weft_net_caps caps;
    uint32_t wrong = 0;

    (void)unused;
    weft_net_caps(end->net, &caps);
    CHECK(end->all, caps.address_bytes <= WEFT_NET_ADDRESS_MAX);
    CHECK(end->all, weft_transport_find(ops->name) == ops);
    for (int i = 0; i < REGIONS; i++)
        CHECK(end->all,
              weft_net_reg(end->net, memory[i], sizeof(memory[i]), false, &keys[i]) == WEFT_OK);
    for (int i = 0; i < REGIONS; i += 2)
        weft_net_dereg(end->net, keys[i]);
    for (int i = 1; i < REGIONS; i += 2) {
        const struct weft_net_put put = {.key = keys[i],
                                         .source = memset(sources[i], i, 8),
                                         .bytes = 8,
                                         .notice = notice_of((uint32_t)i / 2)};
        CHECK(end->all, end_insist(end, &put, END_SPOIL) == WEFT_OK);
    }
    check_notices(end, 0, REGIONS / 2);
    end_settle(end);
    for (int i = 0; i < REGIONS; i++)
        wrong += memory[i][0] != i % 2 * i || memory[i][7] != i % 2 * i;
    CHECK(end->all, wrong == 0);
    for (int i = 1; i < REGIONS; i += 2)
        weft_net_dereg(end->net, keys[i]);
}

/* Whether this machine lacks the device that a table needs. (What is asked for by name must be.) */
static bool absent(const struct weft_transport_ops *ops)
{
    char text[2048];

    if (weft_transport_is_here(ops, text, sizeof(text)))
        return false;
    printf("%s: skipped: %s", ops->name, text);
    return true;
}

static void open_two(struct ends *ends)
{
    ends->count = 2;
    ends->one_space = true;
    for (int i = 0; i < 2; i++) {
        ends->end[i].all = ends;
        ends->end[i].me = i;
        ends->end[i].memory = ends->memory[i];
        end_open(&ends->end[i]);
    }
}

/* Whether a table connects to no process that was forked. */
static bool is_launched(struct ends *ends)
{
    struct weft_net_caps caps;

    open_two(ends);
    weft_net_caps(ends->end[0].net, &caps);
    for (int i = 0; i < 2; i++)
        end_close(&ends->end[i]);
    return caps.launched;
}

/* shm: staging memory larger than any may be is not mapped, whoever announces it. */
static bool refuses_boasts(struct ends *ends)
{
    struct weft_shm_address boast;
    unsigned char *address = ends->end[1].address + WEFT_PEER_ADDRESS;

    open_two(ends);
    memcpy(&boast, address, sizeof(boast));
    boast.stage.bytes = (1ull << 30) + 1;
    memcpy(address, &boast, sizeof(boast));
    const weft_status status = weft_net_connect(ends->end[0].net, 1, ends->end[1].address);
    for (int i = 0; i < 2; i++)
        end_close(&ends->end[i]);
    if (status != WEFT_ERR_PROTOCOL)
        printf("FAILED: a boast of %llu bytes: %s\n", (unsigned long long)boast.stage.bytes,
               weft_status_name(status));
    return status == WEFT_ERR_PROTOCOL;
}

/* Who was built, or set, otherwise is not connected. */
static bool refuses_unlike(struct ends *ends)
{
    open_two(ends);
    ends->end[1].address[WEFT_PEER_ADDRESS - 1] ^= 1;
    const weft_status status = weft_net_connect(ends->end[0].net, 1, ends->end[1].address);
    for (int i = 0; i < 2; i++)
        end_close(&ends->end[i]);
    if (status != WEFT_ERR_CONFIG)
        printf("FAILED: a process that is not alike: %s\n", weft_status_name(status));
    return status == WEFT_ERR_CONFIG;
}

static const struct {
    uint64_t start;
    bool register_sources;
} turns[] = {{0, true}, {0xffffe000u, false}};

/* One of the ends that an MPI's launcher has started: --launched TABLE FILE (net_ends.h). */
static int run_launched(const char *name, const char *file)
{
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK"};
    const struct weft_transport_ops *ops = weft_transport_find(name);
    const char *rank = getenv(ranks[0]) != NULL ? getenv(ranks[0]) : getenv(ranks[1]);
    bool good = ops != NULL && rank != NULL;

    for (int s = 0; s < 2 && good; s++)
        good = ends_run_launched(ops, atoi(rank), ENDS_MOST, file, turns[s].start, suite, 0);
    printf("%s: %s\n", name, good ? "all good" : "FAILED");
    return !good;
}

static void nothing(struct weft_config *config, int me)
{
    (void)config, (void)me;
}

static void over_tcp(struct weft_config *config, int me)
{
    (void)me;
    snprintf(config->ofi_provider, sizeof(config->ofi_provider), "tcp;ofi_rxm");
}

static void over_tcp_without_writes(struct weft_config *config, int me)
{
    over_tcp(config, me);
    config->ofi_writes = 0;
}

/* Short puts, too, are written. */
static void over_tcp_short_writes(struct weft_config *config, int me)
{
    over_tcp(config, me);
    config->ofi_write_from = 1;
}

static void over_shm(struct weft_config *config, int me)
{
    (void)me;
    snprintf(config->ofi_provider, sizeof(config->ofi_provider), "shm");
}

static void by_one_thread(struct weft_config *config, int me)
{
    (void)me;
    config->mpi_threads = WEFT_MPI_THREADS_SINGLE;
}

/* Both of the devices that tools/rdma-vm gives. */
static void over_verbs(struct weft_config *config, int me)
{
    snprintf(config->ofi_provider, sizeof(config->ofi_provider), "verbs;ofi_rxm");
    snprintf(config->ofi_domain, sizeof(config->ofi_domain), "rxe%d", me % 2);
}

/* A table with several ways inside is tested in each. */
static const struct way {
    const char *table, *name;
    void (*configure)(struct weft_config *config, int me);
    bool threads, processes; /* several ends in one process, in several */
    bool later;              /* as where windows are a device's memory, */
    bool stages;             /* from where puts come through memory of the network's */
    const char *only; /* the argument that asks for this way, which needs a device; NULL: none */
} ways[] = {
    {"ofi", "provider tcp", over_tcp, true, true, false, false, NULL},
    {"ofi", "provider tcp, packets only", over_tcp_without_writes, true, true, false, false, NULL},
    {"ofi", "provider tcp, short writes", over_tcp_short_writes, true, true, false, false, NULL},
    {"ofi", "provider tcp, to a device", over_tcp, true, true, true, false, NULL},
    {"shm", "", nothing, true, true, false, false, NULL},
    {"shm", "to a device", nothing, true, true, true, false, NULL},
    {"shm", "from its own memory", nothing, true, true, false, true, NULL},
    {"shm", "from its own memory to a device", nothing, true, true, true, true, NULL},
    {"mpi", "", nothing, true, true, false, false, NULL},
    {"mpi", "one thread", by_one_thread, true, true, false, false, NULL},
    {"mpi", "one thread, to a device", by_one_thread, true, true, true, false, NULL},
    {"ofi", "provider shm", over_shm, true, true, false, false, NULL},
    /* It keeps devices open, which a forked process cannot use. */
    {"ofi", "provider verbs", over_verbs, true, false, false, false, "ofi-verbs"},
};

/* What shm's own name for an endpoint was in a killed process of this number. */
static bool left_behind(bool make)
{
    char name[32];

    snprintf(name, sizeof(name), "/%d:%d:0", (int)getpid(), (int)getuid());
    if (!make)
        return shm_unlink(name) == 0;
    const int file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    const bool made = file >= 0 && ftruncate(file, 1 << 16) == 0;
    if (file >= 0)
        close(file);
    return made;
}

static bool test_way(const struct weft_transport_ops *ops, const struct way *way)
{
    static struct ends with;
    const bool names = way->configure == over_shm;
    bool good = !names || left_behind(true);

    memset(&with, 0, sizeof(with));
    with.ops = ops;
    with.configure = way->configure;
    with.later = way->later;
    with.stages = way->stages;
    const bool launched = is_launched(&with);
    printf("%s%s%s\n", ops->name, way->name[0] != 0 ? ", " : "", way->name);
    if (way->stages)
        good &= refuses_boasts(&with);
    good &= launched || refuses_unlike(&with);
    with.count = 1;
    good &= ends_run(&with, alone, 0);
    with.count = ENDS_MOST;
    for (int one_space = PROCESSES && !launched && way->processes ? 0 : 1;
         one_space <= way->threads; one_space++) {
        with.one_space = one_space != 0;
        with.places = true;
        for (int s = 0; s < 2; s++) {
            with.counter_start = turns[s].start;
            with.register_sources = turns[s].register_sources;
            good &= ends_run(&with, suite, 0);
        }
        with.places = false; /* writes outside of windows are refused on their way */
        with.counter_start = 0;
        for (int m = 0; m < malices(); m++)
            good &= ends_run(&with, suffer, m);
    }
    return (!names || left_behind(false)) && good;
}

static bool named(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return false;
}

/* Arguments: the tables to test, and ways that must be asked for; none: all tables. */
static bool wanted(const struct weft_transport_ops *ops, const struct way *way, int argc,
                   char **argv)
{
    if (way != NULL && way->only != NULL)
        return named(way->only, argc, argv);
    return argc == 1 ? !absent(ops) : named(ops->name, argc, argv);
}

int main(int argc, char **argv)
{
    const struct weft_transport_ops *ops;
    bool good = true;

    setbuf(stdout, NULL);
    if (argc == 4 && strcmp(argv[1], "--launched") == 0)
        return run_launched(argv[2], argv[3]);
    for (int i = 0; (ops = weft_transport_at(i)) != NULL; i++) {
        const struct way plain = {.table = ops->name,
                                  .name = "",
                                  .configure = nothing,
                                  .threads = true,
                                  .processes = true};
        bool special = false;
        for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]); w++) {
            if (strcmp(ways[w].table, ops->name) != 0)
                continue;
            special = true;
            if (!wanted(ops, &ways[w], argc, argv))
                continue;
            if (!PROCESSES &&
                strcmp(ops->name, "ofi") == 0) { /* libfabric's own order is not seen either */
                printf("%s: not under ThreadSanitizer\n", ops->name);
                break;
            }
            good &= test_way(ops, &ways[w]);
        }
        if (!special && wanted(ops, NULL, argc, argv))
            good &= test_way(ops, &plain);
    }
    printf("%s\n", good ? "all good" : "FAILED");
    return !good;
}
