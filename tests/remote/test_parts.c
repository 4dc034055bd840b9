/*
 * test_parts.c - the ring of records at its wrap and when it is full; a device's memory against a
 * model; the lists of servers, their greetings; handles; the versions of the pipeline;
 * which devices and hosts are meant; which images print.
 */
#include "fuzz/fuzz.h"

#include "base/netif.h"
#include "base/say.h"
#include "fake/fake.h"
#include "remote/client/connect.h"
#include "remote/copy/plan.h"
#include "remote/link/ring.h"
#include "remote/session/arena.h"
#include "remote/session/handle.h"
#include "remote/wire/hello.h"

static uint64_t state = 1;

static uint32_t pick(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

/* ---- the ring -------------------------------------------------------------------------------- */

/* What was put comes out, in order, over many times round; counters begin anywhere. */
static void test_ring(uint64_t start)
{
    unsigned char *memory = malloc(WEFT_RING_BYTES);
    /* Mirror and ring are one memory. */
    struct weft_ring_out out = {.mirror = memory, .head = start, .put = start, .taken = start};
    struct weft_ring_in in = {.memory = memory, .head = start, .tail = start, .told = start};
    uint64_t sent = 0, received = 0, place;
    struct weft_record *record;
    uint32_t bytes;

    while (received < 20000) {
        const uint32_t words = pick(8),
                       extra = pick(10) == 0 ? pick(WEFT_RECORD_MOST - 256) : pick(300);
        record = weft_ring_out_begin(&out, (uint16_t)(1 + sent % 60000), words + 1, extra);
        if (record != NULL && pick(3) != 0) {
            weft_record_words(record)[0] = sent;
            weft_ring_out_end(&out, record);
            sent++;
        }
        while (pick(2) == 0 && (bytes = weft_ring_out_stretch(&out, &place)) != 0) {
            out.put += bytes;
            MUST(place + bytes <= WEFT_RING_BYTES);
            MUST(weft_ring_in_came(&in, bytes));
        }
        while (pick(3) != 0) {
            MUST(weft_ring_in_next(&in, &record) == WEFT_OK);
            if (record == NULL)
                break;
            MUST(weft_record_words(record)[0] == received);
            MUST(record->call == 1 + received % 60000);
            received++;
            weft_ring_in_done(&in, record);
        }
        if (pick(5) == 0)
            MUST(weft_ring_out_taken(&out, in.tail));
    }
    MUST(!weft_ring_in_came(&in, WEFT_RING_BYTES + 16));
    MUST(!weft_ring_out_taken(&out, out.put + 16));
    free(memory);
}

/* Nothing goes into a full ring, and what is malformed does not come out. */
static void test_ring_limits(void)
{
    static const struct weft_record bad[] = {
        {1, 0, 0, 48, 33, 0},      {1, 0, 0, 48, 0, 5}, {1, 0, 0, 64, 0, 0},
        {1, 0, 0, 0, 0, 0},        {1, 0, 0, 40, 0, 0}, {1, 0, 0, 16, UINT32_MAX, 0},
        {1, 0, 0, 16, 0, 1u << 29}};
    unsigned char *memory = calloc(1, WEFT_RING_BYTES);
    struct weft_ring_out out = {.mirror = memory};
    struct weft_record *record;

    while ((record = weft_ring_out_begin(&out, 1, 1, 1000)) != NULL)
        weft_ring_out_end(&out, record);
    MUST(out.head <= WEFT_RING_BYTES && out.head > WEFT_RING_BYTES - 2048);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct weft_ring_in in = {.memory = memory, .head = 48};
        memcpy(memory, &bad[i], sizeof(bad[i]));
        MUST(weft_ring_in_next(&in, &record) == WEFT_ERR_PROTOCOL);
    }
    free(memory);
}

/* ---- a device's memory ----------------------------------------------------------------------- */

enum { BLOCKS = 64, SHARE = 24 << 20 };

static void test_arena(void)
{
    uint64_t base = 0x200000000000;
    const struct weft_cuda_table *table;
    struct weft_session_arena arena;
    uint64_t at[BLOCKS] = {0}, size[BLOCKS] = {0}, used = 0;
    CUcontext context;
    size_t before = 0, after = 0, total = 0;
    bool over;

    MUST(weft_fake_open(&table, "memory=64M") == WEFT_OK);
    MUST(table->context_retain(&context, 0) == CUDA_SUCCESS);
    MUST(table->context_use(context) == CUDA_SUCCESS);
    MUST(table->mem_info(&before, &total) == CUDA_SUCCESS);
    if (weft_arena_open(&arena, table, 0, base, 64 << 20, SHARE) != CUDA_SUCCESS) {
        base = 0x2040000000; /* where ThreadSanitizer lets memory be */
        MUST(weft_arena_open(&arena, table, 0, base, 64 << 20, SHARE) == CUDA_SUCCESS);
    }
    for (int i = 0; i < 20000; i++) {
        const uint32_t b = pick(BLOCKS);
        if (size[b] != 0) {
            MUST(*(unsigned char *)at[b] == b && *(unsigned char *)(at[b] + size[b] - 1) == b);
            MUST(weft_ranges_has(&arena.blocks, at[b], size[b]));
            MUST(weft_arena_free(&arena, at[b]) == CUDA_SUCCESS);
            MUST(weft_arena_free(&arena, at[b]) == CUDA_ERROR_INVALID_VALUE);
            used -= (size[b] + 511) / 512 * 512;
            size[b] = 0;
            continue;
        }
        const uint64_t wanted = 1 + pick(pick(4) == 0 ? 6 << 20 : 100000);
        const CUresult result = weft_arena_alloc(&arena, wanted, &at[b], &over);
        MUST(over == (used + (wanted + 511) / 512 * 512 > SHARE));
        MUST(result == CUDA_SUCCESS || over);
        if (result != CUDA_SUCCESS)
            continue;
        size[b] = wanted;
        used += (wanted + 511) / 512 * 512;
        MUST(arena.used == used && at[b] % 512 == 0);
        for (uint32_t other = 0; other < BLOCKS; other++)
            MUST(other == b || size[other] == 0 || at[other] + size[other] <= at[b] ||
                 at[b] + size[b] <= at[other]);
        *(unsigned char *)at[b] = *(unsigned char *)(at[b] + size[b] - 1) = (unsigned char)b;
    }
    MUST(!weft_ranges_has(&arena.blocks, base + (63 << 20), 4096));
    for (int b = 0; b < BLOCKS; b++)
        MUST(size[b] == 0 || weft_arena_free(&arena, at[b]) == CUDA_SUCCESS);
    MUST(table->mem_info(&after, &total) == CUDA_SUCCESS);
    MUST(after == before);
    weft_arena_close(&arena);
    MUST(table->mem_info(&after, &total) == CUDA_SUCCESS);
    MUST(after == before); /* nothing stays backed */
}

/* ---- servers --------------------------------------------------------------------------------- */

static void test_servers(void)
{
    static const char *const bad[] = {"", "a", "a:0", "a:70000", "a:1,", ",a:1", "a:1,a:1", "a:b"};
    struct weft_servers servers;
    char many[1024] = "";

    (void)weft_err_level(WEFT_SAY_INFO);
    MUST(weft_servers_parse(&servers, "a:1,[::1]:2,10.0.0.7:7070") == WEFT_OK);
    MUST(servers.count == 3 && strcmp(servers.name[1], "[::1]:2") == 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        MUST(weft_servers_parse(&servers, bad[i]) == WEFT_ERR_CONFIG);
    for (int i = 1; i <= WEFT_LINK_SERVERS + 1; i++)
        snprintf(many + strlen(many), sizeof(many) - strlen(many), "%sa:%d", i > 1 ? "," : "", i);
    MUST(weft_servers_parse(&servers, many) == WEFT_ERR_CONFIG);
}

/* Of another version is told from no server at all. */
static void test_greetings(void)
{
    struct weft_greeting greeting;

    weft_greeting_put(&greeting);
    MUST(weft_greeting_check(&greeting) == WEFT_NO_NONE);
    greeting.version++;
    MUST(weft_greeting_check(&greeting) == WEFT_NO_VERSION);
    greeting.magic[0]++;
    MUST(weft_greeting_check(&greeting) == WEFT_NO_MALFORMED);
}

/* ---- handles --------------------------------------------------------------------------------- */

/* There are so many and no more; one that is free again is used again, under another number. */
static void test_handles(void)
{
    struct weft_handles handles = {.process = 1};
    uint64_t last = 0;
    int object;

    for (int i = 0; i < WEFT_HANDLES_MOST; i++)
        MUST((last = weft_handles_add(&handles, WEFT_EVENT, 0, &object, 0)) != 0);
    MUST(weft_handles_add(&handles, WEFT_EVENT, 0, &object, 0) == 0);
    weft_handles_remove(&handles, weft_handles_find(&handles, WEFT_EVENT, last));
    const uint64_t next = weft_handles_add(&handles, WEFT_EVENT, 0, &object, 0);
    MUST(next != 0 && next != last && weft_handles_find(&handles, WEFT_EVENT, last) == NULL);
    MUST(weft_handles_add(&handles, WEFT_EVENT, 0, &object, 0) == 0);
    free(handles.places);
}

/* ---- the pipeline's versions ----------------------------------------------------------------- */

static void test_plans(void)
{
    static const char *const bad[] = {"",           "9x",         "once:",     "once:0x1M",
                                      "once:65x1M", "once:1x",    "once:1x1K", "once:1x17M",
                                      "each:2y1M",  "once:1x5000"};
    struct weft_config config = {.stage_memory = 16 << 20};
    struct weft_plan plan;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        MUST(weft_plan_parse(&plan, bad[i]) == WEFT_ERR_CONFIG);
    MUST(weft_plan_parse(&plan, "auto") == WEFT_OK && weft_plan_is_good(&plan));
    MUST(weft_plan_depth(&plan, &config) == 8 &&
         weft_plan_piece(&plan, &config, 4 << 20) == 1 << 20);
    MUST(weft_plan_parse(&plan, "once:4x256K") == WEFT_OK && weft_plan_is_good(&plan));
    MUST(!plan.each && weft_plan_depth(&plan, &config) == 4 &&
         weft_plan_piece(&plan, &config, 4 << 20) == 256 << 10);
    MUST(weft_plan_parse(&plan, "each:1xall") == WEFT_OK && weft_plan_is_good(&plan));
    MUST(plan.each && weft_plan_piece(&plan, &config, 12345) == 12345 &&
         weft_plan_piece(&plan, &config, 1 << 30) == 16 << 20);
    MUST(!weft_plan_is_good(&(struct weft_plan){.depth = 65}) &&
         !weft_plan_is_good(&(struct weft_plan){.unit = 5000}) &&
         !weft_plan_is_good(&(struct weft_plan){.each = 2}));
}

/* ---- what names mean ------------------------------------------------------------------------- */

/* Of four devices the program sees these, in this order, each as a digit. */
static void must_see(const char *visible, const char *devices)
{
    /* The last two have a long beginning in common. */
    static struct weft_known known[] = {{.facts.uuid = {0x8f, 0x1e}, .number = 0},
                                        {.facts.uuid = {0x01, 0x23}, .number = 1},
                                        {.facts.uuid = {[4] = 0xab, [15] = 0x0c}, .number = 2},
                                        {.facts.uuid = {[4] = 0xab, [15] = 0x0d}, .number = 3}};
    struct weft_known_list list = {.at = {&known[0], &known[1], &known[2], &known[3]}, .count = 4};

    weft_known_show(&list, visible);
    bool right = list.count == (int)strlen(devices);
    for (int d = 0; d < list.count && right; d++)
        right = list.at[d]->number == devices[d] - '0';
    if (!right)
        printf("\"%s\": %d devices, not \"%s\"\n", visible, list.count, devices);
    MUST(right);
}

static void test_visible(void)
{
    must_see(NULL, "0123");
    must_see("", "");
    must_see("1", "1");
    must_see("3,0", "30");
    must_see(" 2 , +1, -0", "210");
    must_see("1gpu2,2ampere", "12");
    /* up to the first that is none */
    must_see("0,2,-1,1", "02");
    must_see("0,4,1", "0");
    must_see("99999999999999999999,1", "");
    must_see("0,,1", "0");
    must_see("1,", "1");
    must_see(",1", "");
    must_see("NoDevFiles", "");
    must_see("1,GPU-8f1e", "1");
    /* one that is named twice leaves none, but for what is behind the end */
    must_see("0,1,0", "");
    must_see("0,7,0", "0");
    /* beginnings of UUIDs */
    must_see("GPU-8f", "0");
    must_see("GPU-0123,GPU-8F1E0000-0000", "10");
    must_see("GPU-00000000-ab00-0000-0000-00000000000d,GPU-8", "30");
    must_see("GPU-00000000-ab00", "");
    must_see("GPU-8,GPU-00000000-ab00,GPU-01", "0");
    must_see("GPU-8,1", "0");
    must_see("GPU-8f1e0000-0000-0000-0000-0000000000000", "");
    must_see("GPU-8,GPU-8f", "");
    must_see("MIG-8f1e", "");
}

static void test_loopback(void)
{
    static const char *const own[] = {"127.0.0.1", "127.9.8.7", "127.1",
                                      "::1",       "0::1",      "localhost"};
    static const char *const other[] = {
        "127.example",     "127.0.0.1.example", "128.0.0.1", "",
        "localhost.other", "0.0.0.0",           "::",        "127."};

    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        MUST(weft_host_is_loopback(own[i]));
    for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
        MUST(!weft_host_is_loopback(other[i]));
}

/* An image: its header, then entries, each of a header of 64 bytes and a body. */
static void test_images(void)
{
    static const struct {
        uint16_t kind;
        uint64_t flags;
        const char *body;
        bool prints;
    } cases[] = {
        {2, 0x11, "code", false},
        {2, 0x11, "calls vprintf", true},
        {2, 0x11, "__assertfail", true},
        {2, 0x8011, "what zstd makes", true},
        {2, 0x2011, "what lz4 makes", true},
        {1, 0x11, "PTX alone", true},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const uint64_t body = strlen(cases[i].body), bytes = WEFT_IMAGE_HEADER + 64 + body;
        unsigned char *image = calloc(1, bytes);
        const uint32_t magic = 0xba55ed50, size = 64;
        const uint16_t header = WEFT_IMAGE_HEADER;
        const uint64_t payload = 64 + body;
        memcpy(image, &magic, 4);
        memcpy(image + 6, &header, 2);
        memcpy(image + 8, &payload, 8);
        memcpy(image + 16, &cases[i].kind, 2);
        memcpy(image + 20, &size, 4);
        memcpy(image + 24, &body, 8);
        memcpy(image + 56, &cases[i].flags, 8);
        memcpy(image + 80, cases[i].body, body);
        MUST(weft_image_bytes(image) == bytes);
        MUST(weft_image_prints(image, bytes) == cases[i].prints);
        for (int n = 0; n < 20000; n++) { /* it reads nothing behind its end */
            image[16 + pick((uint32_t)bytes - 16)] = (unsigned char)pick(256);
            weft_image_prints(image, bytes);
        }
        free(image);
    }
}

/* Functions of libraries that are served, a library's name before its own. */
static const struct {
    const char *library, *function;
} served[] = {
#define LIBRARY(name, ...) {#name, NULL},
#define ROW(...)           ROW_(__VA_ARGS__)
#define ROW_(name, ...)    {NULL, #name},
#define BY_HAND(name)      {NULL, #name},
#include "remote/rows/all.def"
    {"", NULL}};

/* docs/remote.md says how many there are of each library that this build has, and of no other. */
static void test_served(void)
{
    static char text[1 << 16];
    FILE *file = fopen(DOCS, "r");
    const char *name = "";
    int count = 0;

    MUST(file != NULL && fread(text, 1, sizeof(text) - 1, file) > 0);
    fclose(file);
    for (size_t i = 0; i < sizeof(served) / sizeof(*served); i++) {
        char line[64];
        if (served[i].function != NULL) {
            MUST(strncmp(served[i].function, name, strlen(name)) == 0);
            count++;
            continue;
        }
        snprintf(line, sizeof(line), "| %s | %d functions", name, count);
        if (name[0] != 0 && strcasestr(text, line) == NULL) {
            fprintf(stderr, "docs/remote.md lacks \"%s\"\n", line);
            exit(EXIT_FAILURE);
        }
        name = served[i].library;
        count = 0;
    }
}

int main(void)
{
    test_served();
    test_ring(0);
    test_ring(UINT64_MAX / WEFT_RING_BYTES * WEFT_RING_BYTES - 3 * WEFT_RECORD_UNIT);
    test_ring_limits();
    test_arena();
    test_servers();
    test_greetings();
    test_handles();
    test_plans();
    test_visible();
    test_loopback();
    test_images();
    puts("all good");
    return EXIT_SUCCESS;
}
