/*
 * net/test_conformance.c - what net.h promises, asked of every table in the registry, through the
 * table alone.
 *
 * Three ends, each of which sends to all, itself included, at the same time: as threads of one
 * address space and as forked processes, from zero and from near the wrap of all sequences. A table
 * that reaches only its own process (it refuses to connect) has one end, which plays both parts.
 */
#include "support/net_ends.h"

#include "wire/notice.h"

#include <stdlib.h>
#include <string.h>

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

/* Any 28 bits, as a notice; never 0. */
static uint32_t notice_of(uint32_t number)
{
    return weft_notice(WEFT_NOTICE_COUNT, number & 0xff, number >> 8);
}

static unsigned char byte_of(int sender, int number, size_t i)
{
    return (unsigned char)((unsigned)sender * 101 + (unsigned)number * 37 + i * 7 + 1);
}

/* Where a sender's share of everybody's memory begins. */
static size_t share_of(int sender)
{
    return (size_t)sender * END_SHARE;
}

/* All notices of this part came, each once, in the order sent. */
static void check_notices(struct end *end, int sender, uint32_t count)
{
    uint32_t wrong = 0;

    CHECK(end->all, end_await(end, sender, count));
    for (uint32_t i = 0; i < count; i++)
        wrong += end->notices[sender][i] != notice_of(i);
    CHECK(end->all, wrong == 0);
}

/* ---- the parts of the suite: each runs on all ends at once ------------------------------------
 */

/* Every size, from nothing to many rings, to misaligned places: the notice after its own data. */
static void part_sizes(struct end *end)
{
    static const size_t sizes[] = {0,  1,  2,  3,   4,    7,    8,    9,    15,
                                   16, 63, 64, 500, 2007, 2008, 2009, 4096, 50001};
    enum { SIZES = sizeof(sizes) / sizeof(sizes[0]), MOST = 50001 };
    unsigned char *sources = malloc((size_t)SIZES * (MOST + 1));

    if (sources == NULL)
        abort();
    for (int i = 0; i < SIZES; i++) {
        unsigned char *source = sources + (size_t)i * (MOST + 1) + i % 2;
        for (size_t b = 0; b < sizes[i]; b++)
            source[b] = byte_of(end->me, i, b);
    }
    for (int to = 0; to < end->all->count; to++) {
        size_t offset = share_of(end->me) + 1;
        for (int i = 0; i < SIZES; i++) {
            CHECK(end->all, end_put(end, to, offset, sources + (size_t)i * (MOST + 1) + i % 2,
                                    sizes[i], notice_of((uint32_t)i), END_KEEP) == WEFT_OK);
            offset += sizes[i] + 1;
        }
    }
    for (int from = 0; from < end->all->count; from++) {
        size_t offset = share_of(from) + 1, wrong = 0;
        check_notices(end, from, SIZES);
        for (int i = 0; i < SIZES; i++) {
            for (size_t b = 0; b < sizes[i]; b++)
                wrong += end->memory[offset + b] != byte_of(from, i, b);
            offset += sizes[i];
            wrong += end->memory[offset++] != 0; /* between them nothing was written */
        }
        CHECK(end->all, wrong == 0);
    }
    end_settle(end);
    free(sources);
}

/* More than fits, while nobody receives: refused, not dropped; of one word the newest value stays.
 */
static void part_pressure(struct end *end)
{
    enum { PUTS = 4000 };
    const int to = (end->me + 1) % end->all->count,
              from = end->me == 0 ? end->all->count - 1 : end->me - 1;
    uint64_t *values = malloc(PUTS * sizeof(*values)), last;
    struct weft_net_put put = {
        .process = to, .key = end->all->end[to].key, .offset = share_of(end->me), .bytes = 8};
    weft_status status = WEFT_OK;
    int i = 0;

    if (values == NULL)
        abort();
    __atomic_store_n(&end->hold, 1, __ATOMIC_RELEASE);
    end_meet(end);
    for (int n = 0; n < PUTS; n++)
        values[n] = (uint64_t)n + 1;
    for (; i < PUTS && status == WEFT_OK; i += status == WEFT_OK) {
        put.source = &values[i];
        put.notice = notice_of((uint32_t)i);
        status = end_try(end, &put, END_SPOIL);
    }
    CHECK(end->all, status == WEFT_OK || status == WEFT_NET_FULL);
    end_meet(end);
    __atomic_store_n(&end->hold, 0, __ATOMIC_RELEASE);
    for (; i < PUTS; i++)
        CHECK(end->all, end_put(end, to, share_of(end->me), &values[i], 8, notice_of((uint32_t)i),
                                END_SPOIL) == WEFT_OK);
    check_notices(end, from, PUTS);
    memcpy(&last, end->memory + share_of(from), sizeof(last));
    CHECK(end->all, last == PUTS);
    end_settle(end);
    free(values);
}

/* Data without a notice, then a notice without data: all that was put before is there. */
static void part_apart(struct end *end)
{
    enum { ROUNDS = 40, BYTES = 3000 };
    unsigned char *sources = malloc((size_t)ENDS_MOST * ROUNDS * BYTES);

    if (sources == NULL)
        abort();
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (int to = 0; to < end->all->count; to++) {
            unsigned char *source = sources + ((size_t)to * ROUNDS + round) * BYTES;
            memset(source, (int)round + 1, BYTES);
            CHECK(end->all,
                  end_put(end, to, share_of(end->me) + 77, source, BYTES, 0, END_SPOIL) == WEFT_OK);
            CHECK(end->all, end_put(end, to, 0, NULL, 0, notice_of(round), END_KEEP) == WEFT_OK);
        }
        for (int from = 0; from < end->all->count; from++) {
            const unsigned char *there = end->memory + share_of(from) + 77;
            CHECK(end->all, end_await(end, from, round + 1));
            CHECK(end->all, there[0] == round + 1 && there[BYTES - 1] == round + 1);
        }
        end_meet(end); /* before the next round changes it */
    }
    end_settle(end);
    free(sources);
}

/* The generator of the overlapping puts: both sides draw the same. */
struct rewrite {
    size_t offset, bytes;
    unsigned char value;
};

static struct rewrite next_rewrite(uint32_t *state, size_t area)
{
    struct rewrite r;

    *state = *state * 1664525u + 1013904223u;
    r.bytes = (*state >> 8) % 300 + 1;
    *state = *state * 1664525u + 1013904223u;
    r.offset = (*state >> 8) % (area - r.bytes);
    r.value = (unsigned char)(*state >> 3 | 1);
    return r;
}

/* Puts that overlap earlier ones at random: the newest wins, byte by byte. */
static void part_rewrites(struct end *end)
{
    enum { PUTS = 800, AREA = 1000 };
    unsigned char *sources = malloc((size_t)ENDS_MOST * PUTS * 300), want[AREA];

    if (sources == NULL)
        abort();
    memset(end->memory, 0, END_MEMORY);
    end_meet(end);
    for (int to = 0; to < end->all->count; to++) {
        uint32_t state = (uint32_t)(end->me * 7 + to);
        for (int i = 0; i < PUTS; i++) {
            const struct rewrite r = next_rewrite(&state, AREA);
            unsigned char *source = sources + ((size_t)to * PUTS + (size_t)i) * 300;
            memset(source, r.value, r.bytes);
            CHECK(end->all, end_put(end, to, share_of(end->me) + r.offset, source, r.bytes,
                                    i == PUTS - 1 ? notice_of(0) : 0, END_SPOIL) == WEFT_OK);
        }
    }
    for (int from = 0; from < end->all->count; from++) {
        uint32_t state = (uint32_t)(from * 7 + end->me);
        memset(want, 0, sizeof(want));
        for (int i = 0; i < PUTS; i++) {
            const struct rewrite r = next_rewrite(&state, AREA);
            memset(want + r.offset, r.value, r.bytes);
        }
        check_notices(end, from, 1);
        CHECK(end->all, memcmp(end->memory + share_of(from), want, AREA) == 0);
    }
    end_settle(end);
    free(sources);
}

static uint64_t peek(const unsigned char *address, int bytes)
{
    switch (bytes) {
    case 2:
        return __atomic_load_n((const uint16_t *)(const void *)address, __ATOMIC_ACQUIRE);
    case 4:
        return __atomic_load_n((const uint32_t *)(const void *)address, __ATOMIC_ACQUIRE);
    default:
        return __atomic_load_n((const uint64_t *)(const void *)address, __ATOMIC_ACQUIRE);
    }
}

/* Aligned words that are polled while they are put arrive undivided. */
static void part_words(struct end *end)
{
    enum { PUTS = 1500 };
    const int count = end->all->count, to = (end->me + 1) % count,
              from = (end->me + count - 1) % count;
    uint64_t *values = malloc(PUTS * sizeof(*values));
    uint32_t divided = 0;

    if (values == NULL)
        abort();
    memset(end->memory, 0, END_MEMORY);
    end_meet(end);
    for (int i = 0; i < PUTS; i++) {
        const int width = i % 3 + 1; /* 2, 4 and 8 bytes, each in a line of its own */
        memset(&values[i], i % 255 + 1, sizeof(values[i]));
        CHECK(end->all, end_put(end, to, share_of(end->me) + (size_t)width * 64, &values[i],
                                (size_t)1 << width, 0, END_SPOIL) == WEFT_OK);
        for (int w = 1; w <= 3; w++) {
            const uint64_t seen = peek(end->memory + share_of(from) + w * 64, 1 << w);
            uint64_t all = 0;
            memset(&all, (int)(seen & 0xff), (size_t)1 << w);
            divided += seen != all;
        }
    }
    CHECK(end->all, divided == 0);
    CHECK(end->all, end_put(end, to, 0, NULL, 0, notice_of(0), END_KEEP) == WEFT_OK);
    check_notices(end, from, 1);
    CHECK(end->all, end->memory[share_of(from) + 3 * 64 + 7] == (PUTS - 1) % 255 + 1);
    end_settle(end);
    free(values);
}

/* What was put is got back, by those tables that get. */
static void part_get(struct end *end)
{
    enum { BYTES = 5000 };
    const int from = (end->me + 1) % end->all->count;
    struct end_put record = {.put.process = from}; /* of no bytes: `landed` compares nothing */
    unsigned char got[BYTES], source[BYTES];
    struct weft_net_caps caps;
    struct weft_net_put get = {.process = from,
                               .key = end->all->end[from].key,
                               .offset = share_of(end->me) + 3,
                               .bytes = BYTES,
                               .cookie = &record};
    weft_status status;
    size_t wrong = 0;

    end->all->ops->caps(end->net, &caps);
    if (!caps.get)
        return;
    for (size_t b = 0; b < BYTES; b++)
        source[b] = byte_of(end->me, 5, b);
    CHECK(end->all, end_put(end, from, get.offset, source, BYTES, 0, END_KEEP) == WEFT_OK);
    while ((status = end->all->ops->get(end->net, &get, got)) == WEFT_NET_FULL)
        if (end_move(end) != WEFT_OK)
            break;
    CHECK(end->all, status == WEFT_OK);
    while (status == WEFT_OK && record.landed == 0)
        status = end_move(end);
    for (size_t b = 0; b < BYTES; b++)
        wrong += got[b] != source[b];
    CHECK(end->all, wrong == 0 && record.landed == 1 && record.sent == 1);
    end_settle(end);
}

static void suite(struct end *end, int unused)
{
    (void)unused;
    part_sizes(end);
    part_pressure(end);
    part_apart(end);
    part_rewrites(end);
    part_words(end);
    part_get(end);
    uint32_t beyond = 0;
    for (size_t i = END_MEMORY; i < END_SPACE; i++)
        beyond += end->memory[i] != 0;
    CHECK(end->all, beyond == 0);
}

/* ---- malice ---------------------------------------------------------------------------------- */

enum { REFUSED = 0x1dead };

/* What a broken peer may ask for; 8 bytes of data, except where the notice is the matter. */
static const struct malice {
    const char *name;
    uint64_t key_change, offset;
    size_t bytes;
    bool gone; /* the key of memory that is not registered any more, in whose place other is */
    uint32_t notice;
} malices[] = {
    {"7 bytes inside", 0, END_MEMORY - 7, 8, false, 1},
    {"an offset that wraps", 0, UINT64_MAX - 3, 8, false, 1},
    {"one byte behind the end", 0, END_MEMORY, 1, false, 1},
    {"far away", 0, 1ull << 40, 8, false, 1},
    {"another region", 7, 0, 8, false, 1},
    {"a region beyond all", 0xffffff00, 0, 8, false, 1},
    {"another generation", 1ull << 40, 0, 8, false, 1},
    {"memory no longer registered", 0, 0, 8, true, 1},
    {"a malformed notice", 0, 0, 0, false, REFUSED},
};
enum { MALICES = sizeof(malices) / sizeof(malices[0]) };

/* End 0 suffers, the last end sends; they are one where there is one. Good puts come before. */
static void suffer(struct end *end, int number)
{
    const struct malice *m = &malices[number];
    struct ends *all = end->all;
    struct end *victim = &all->end[0];
    unsigned char source[8];
    weft_status status = WEFT_OK;
    uint64_t other = 0;

    memset(source, 0xee, sizeof(source));
    if (end->me == all->count - 1)
        for (int i = 0; i < 8; i++)
            CHECK(all, end_put(end, 0, (size_t)i * 8, source, 8, notice_of((uint32_t)i),
                               END_KEEP) == WEFT_OK);
    end_settle(end);
    if (end == victim) {
        memset(end->memory, 0, END_SPACE);
        end->refuse = REFUSED;
    }
    end_meet(end);
    const uint64_t key = victim->key; /* as the sender still knows it */
    const int good = end->put_count;
    end_meet(end);
    if (end == victim && m->gone) {
        all->ops->dereg(end->net, end->key);
        CHECK(all, all->ops->reg(end->net, end->memory, END_MEMORY, &other) == WEFT_OK);
        CHECK(all, other != end->key);
        end->key = other;
    }
    end_meet(end);
    if (end->me == all->count - 1) {
        const struct weft_net_put put = {.process = 0,
                                         .key = key ^ m->key_change,
                                         .offset = m->offset,
                                         .source = source,
                                         .bytes = m->bytes,
                                         .notice = m->notice};
        status = end_try(end, &put, END_SPOIL);
        CHECK(all, status == WEFT_OK || end == victim);
    }
    if (end == victim) {
        for (int i = 0; i < 200000 && status == WEFT_OK; i++)
            status = end_move(end);
        if (status != WEFT_ERR_PROTOCOL)
            printf("%s: status %d\n", m->name, (int)status);
        CHECK(all, status == WEFT_ERR_PROTOCOL);
        size_t touched = 0;
        for (size_t i = 0; i < END_SPACE; i++)
            touched += end->memory[i] != 0;
        CHECK(all, touched == 0);
        CHECK(all, end->notice_count[all->count - 1] == 0);
    }
    end_meet(end);
    if (end->me == all->count - 1 && end->put_count > good) {
        end_move(end);
        CHECK(all, end->puts[good].landed == 0);
    }
}

/* ---- main ------------------------------------------------------------------------------------ */

/* What can be asked of an end alone: its capabilities, and the keys of many regions. */
static void alone(struct end *end, int unused)
{
    enum { REGIONS = 100 };
    const struct weft_net_ops *ops = end->all->ops;
    static unsigned char memory[REGIONS][8], sources[REGIONS][8];
    uint64_t keys[REGIONS];
    struct weft_net_caps caps;
    uint32_t wrong = 0;

    (void)unused;
    ops->caps(end->net, &caps);
    CHECK(end->all, caps.address_bytes <= WEFT_NET_ADDRESS_MAX);
    CHECK(end->all, caps.get || ops->get(end->net, NULL, NULL) == WEFT_ERR_UNSUPPORTED);
    CHECK(end->all, weft_net_find(ops->name) == ops);
    for (int i = 0; i < REGIONS; i++)
        CHECK(end->all, ops->reg(end->net, memory[i], sizeof(memory[i]), &keys[i]) == WEFT_OK);
    for (int i = 0; i < REGIONS; i += 2)
        ops->dereg(end->net, keys[i]);
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
        ops->dereg(end->net, keys[i]);
}

/* Whether this machine lacks the device that a table needs. (What is asked for by name must be.) */
static bool absent(const struct weft_net_ops *ops)
{
    char text[2048];

    if (weft_net_here(ops, text, sizeof(text)))
        return false;
    printf("%s: skipped: %s", ops->name, text);
    return true;
}

/* Whether a table connects to another process at all; *launched: not to one that was forked. */
static bool reaches_others(struct ends *ends, bool *launched)
{
    struct weft_net_caps caps;
    bool reaches;

    ends->count = 2;
    ends->one_space = true;
    for (int i = 0; i < 2; i++) {
        ends->end[i].all = ends;
        ends->end[i].me = i;
        ends->end[i].memory = ends->memory[i];
        end_open(&ends->end[i]);
    }
    ends->ops->caps(ends->end[0].net, &caps);
    *launched = caps.launched;
    reaches = ends->ops->connect(ends->end[0].net, 1, ends->end[1].address) == WEFT_OK;
    for (int i = 0; i < 2; i++)
        end_close(&ends->end[i]);
    return reaches;
}

static const uint64_t starts[] = {0, 0xffffe000u};

/* One of the ends that an MPI's launcher has started: --launched TABLE FILE (net_ends.h). */
static int run_launched(const char *name, const char *file)
{
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK"};
    const struct weft_net_ops *ops = weft_net_find(name);
    const char *rank = getenv(ranks[0]) != NULL ? getenv(ranks[0]) : getenv(ranks[1]);
    bool good = ops != NULL && rank != NULL;

    for (int s = 0; s < 2 && good; s++)
        good = ends_run_launched(ops, atoi(rank), ENDS_MOST, file, starts[s], suite, 0);
    printf("%s: %s\n", name, good ? "all good" : "FAILED");
    return !good;
}

static void over_tcp(struct weft_config *config)
{
    snprintf(config->ofi_provider, sizeof(config->ofi_provider), "tcp;ofi_rxm");
}

static void over_tcp_without_writes(struct weft_config *config)
{
    over_tcp(config);
    config->ofi_writes = 0;
}

static void over_shm(struct weft_config *config)
{
    snprintf(config->ofi_provider, sizeof(config->ofi_provider), "shm");
}

/* A table with several ways inside is tested in each. */
static const struct way {
    const char *table, *name;
    void (*configure)(struct weft_config *config);
    bool threads; /* several ends in one process */
} ways[] = {
    {"ofi", "provider tcp", over_tcp, true},
    {"ofi", "provider tcp, messages only", over_tcp_without_writes, true},
    {"ofi", "provider shm", over_shm, true},
};

static bool test_way(const struct weft_net_ops *ops, const struct way *way)
{
    static struct ends with;
    bool good = true, launched;

    memset(&with, 0, sizeof(with));
    with.ops = ops;
    with.configure = way->configure;
    const bool others = reaches_others(&with, &launched);
    printf("%s%s%s: %s\n", ops->name, way->name[0] != 0 ? ", " : "", way->name,
           others ? "several ends" : "its own process only");
    with.count = 1;
    good &= ends_run(&with, alone, 0);
    with.count = others ? ENDS_MOST : 1;
    for (int one_space = others && PROCESSES && !launched ? 0 : 1; one_space <= way->threads;
         one_space++) {
        with.one_space = one_space != 0;
        for (int s = 0; s < 2; s++) {
            with.counter_start = starts[s];
            good &= ends_run(&with, suite, 0);
        }
        with.counter_start = 0;
        for (int m = 0; m < MALICES; m++)
            good &= ends_run(&with, suffer, m);
    }
    return good;
}

/* Arguments: the tables to test; none: all. */
static bool wanted(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return argc == 1;
}

int main(int argc, char **argv)
{
    const struct weft_net_ops *ops;
    bool good = true;

    setbuf(stdout, NULL);
    if (argc == 4 && strcmp(argv[1], "--launched") == 0)
        return run_launched(argv[2], argv[3]);
    for (int i = 0; (ops = weft_net_at(i)) != NULL; i++) {
        bool special = false;
        if (!wanted(ops->name, argc, argv) || (argc == 1 && absent(ops)))
            continue;
        for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]); w++) {
            if (strcmp(ways[w].table, ops->name) != 0)
                continue;
            special = true;
            if (!PROCESSES) { /* libfabric's own order is not seen either */
                printf("%s: not under ThreadSanitizer\n", ops->name);
                break;
            }
            good &= test_way(ops, &ways[w]);
        }
        if (!special)
            good &= test_way(ops, &(struct way){ops->name, "", NULL, true});
    }
    printf("%s\n", good ? "all good" : "FAILED");
    return !good;
}
