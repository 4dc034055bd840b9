/*
 * fault/test_hostile_mpi.c - messages that a broken or hostile process may send over the network
 * mpi: each ends in WEFT_ERR_PROTOCOL, and not a byte of memory is written. Then what the network
 * owes to windows that the host cannot store to.
 *
 * The victim is a real end; the other process is this program itself, which sends bytes as it likes
 * through the same functions that stand in for an MPI (mpi/inside.h).
 */
#include "base/task.h"
#include "mpi/inside.h"
#include "net/mpi/end.h"
#include "net/mpi/mpi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY = 64 << 10, EAGER = 1024, START = 100 };

static int failures;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("FAILED %s:%d: %s\n", __FILE__, __LINE__, #condition);                          \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

/* ---- both sides -------------------------------------------------------------------------------
 */

struct stage {
    struct weft_config config;
    struct weft_net *net; /* the victim, process 0 */
    struct weft_mpi_handle attacker, requests[4 * WEFT_MPI_WINDOW];
    int sent;
    uint64_t key;
    uint32_t arrived;
    unsigned char memory[MEMORY];
    /* Of a device: what has been copied to it and is not there yet. */
    struct copy {
        void *target;
        const void *source;
        size_t bytes;
    } copies[8];
    int copying, lingers;
    uint32_t begun, finished; /* copies */
};

static bool arrived(void *context, int process, uint32_t notice)
{
    struct stage *stage = context;

    stage->arrived++;
    return process == 1 && notice < 1000;
}

static void done(void *context, void *cookie)
{
    (void)context, (void)cookie;
}

static bool land(void *context, void *target, const void *source, size_t bytes)
{
    struct stage *stage = context;

    if (stage->copying == 8)
        abort();
    stage->copies[stage->copying++] = (struct copy){target, source, bytes};
    stage->begun++;
    return true;
}

/* The oldest copy is done: its source is read only now. */
static void finish_copy(struct stage *stage)
{
    const struct copy *copy = &stage->copies[0];

    memcpy(copy->target, copy->source, copy->bytes);
    stage->copying--;
    stage->finished++;
    memmove(&stage->copies[0], &stage->copies[1], (size_t)stage->copying * sizeof(*copy));
}

static bool settle(void *context)
{
    struct stage *stage = context;

    while (stage->copying > 0)
        finish_copy(stage);
    return true;
}

static bool mark(void *context, uint64_t *mark)
{
    const struct stage *stage = context;

    *mark = stage->begun;
    return true;
}

/* One copy more with each look. */
static bool settled(void *context, uint64_t mark, bool *there)
{
    struct stage *stage = context;

    *there = stage->finished >= mark;
    if (!*there)
        finish_copy(stage);
    return true;
}

static void lingers(void *context)
{
    struct stage *stage = context;
    stage->lingers++;
}

static struct stage *open_stage(bool device, const char *threads)
{
    struct stage *stage = calloc(1, sizeof(*stage));
    unsigned char address[WEFT_NET_ADDRESS_MAX];
    uint64_t victim;

    if (stage == NULL || weft_config_load(&stage->config, NULL, NULL) != WEFT_OK)
        abort();
    stage->config.mpi_eager = EAGER;
    stage->config.counter_start = START;
    stage->config.mpi_threads =
        strcmp(threads, "single") == 0 ? WEFT_MPI_THREADS_SINGLE : WEFT_MPI_THREADS_MULTI;
    const struct weft_net_open open = {.config = &stage->config,
                                       .processes = 2,
                                       .one_address_space = true,
                                       .events = {.context = stage,
                                                  .arrived = arrived,
                                                  .sent = done,
                                                  .landed = done,
                                                  .land = device ? land : NULL,
                                                  .settle = device ? settle : NULL,
                                                  .mark = device ? mark : NULL,
                                                  .settled = device ? settled : NULL,
                                                  .lingers = lingers}};
    if (weft_net_mpi.open(&stage->net, &open) != WEFT_OK ||
        weft_mpi_inside_open(&stage->attacker, 1, 2) != WEFT_OK ||
        weft_net_mpi.reg(stage->net, stage->memory, MEMORY / 2, &stage->key) != WEFT_OK ||
        weft_net_mpi.address(stage->net, address) != WEFT_OK)
        abort();
    memcpy(&victim, address, sizeof(victim));
    weft_mpi_inside_connect(&stage->attacker, 0, victim);
    if (weft_net_mpi.connect(stage->net, 0, address) != WEFT_OK)
        abort();
    const uint64_t own = weft_mpi_inside_address(&stage->attacker);
    const int32_t rank = 1;
    memcpy(address, &own, sizeof(own));
    memcpy(address + sizeof(own), &rank, sizeof(rank));
    if (weft_net_mpi.connect(stage->net, 1, address) != WEFT_OK)
        abort();
    return stage;
}

static void close_stage(struct stage *stage)
{
    weft_mpi_inside_close(&stage->attacker);
    weft_net_mpi.close(stage->net);
    free(stage);
}

static void send_bytes(struct stage *stage, int tag, const void *bytes, size_t count)
{
    if (stage->sent == 4 * WEFT_MPI_WINDOW ||
        weft_mpi_inside.isend(&stage->attacker, bytes, count, 0, tag,
                              &stage->requests[stage->sent++]) != 0)
        abort();
}

/* A message with `extra` bytes behind its header. */
static void send_message(struct stage *stage, const struct weft_mpi_message *message, size_t extra)
{
    static unsigned char wire[WEFT_MPI_HEADER_BYTES + 4 * EAGER];

    memset(wire, 0xee, sizeof(wire));
    weft_mpi_message_put(wire, message);
    send_bytes(stage, WEFT_MPI_TAG_MESSAGE, wire, WEFT_MPI_HEADER_BYTES + extra);
}

/* Both threads' turns, until an error or enough of them. */
static weft_status turns(struct stage *stage)
{
    weft_status status = WEFT_OK;
    bool did = false;

    for (int i = 0; i < 100 && status == WEFT_OK; i++) {
        status = weft_net_mpi.progress(stage->net, WEFT_NET_RECEIVE, &did);
        if (status == WEFT_OK)
            status = weft_net_mpi.progress(stage->net, WEFT_NET_SEND, &did);
    }
    return status;
}

/* ---- malice -----------------------------------------------------------------------------------
 */

/* One message; its key is the victim's, changed by the one here. */
static const struct malice {
    const char *name;
    struct weft_mpi_message message;
    size_t extra, payload; /* bytes behind the header, bytes of a message of their own */
} malices[] = {
    {"no such kind", {.kind = (enum weft_mpi_kind)9}, 0, 0},
    {"announces less", {.kind = WEFT_MPI_PUT, .sequence = START + 1, .bytes = 8}, 16, 0},
    {"announces more", {.kind = WEFT_MPI_PUT, .sequence = START + 1, .bytes = 16}, 8, 0},
    {"announces far more",
     {.kind = WEFT_MPI_PUT, .sequence = START + 1, .bytes = 0xffffffff},
     8,
     0},
    {"beyond the eager limit",
     {.kind = WEFT_MPI_PUT, .sequence = START + 1, .bytes = EAGER + 1},
     EAGER + 1,
     0},
    {"a number too high", {.kind = WEFT_MPI_PUT, .sequence = START + 2, .bytes = 8}, 8, 0},
    {"a number again", {.kind = WEFT_MPI_PUT, .sequence = START, .bytes = 8}, 8, 0},
    {"outside",
     {.kind = WEFT_MPI_PUT, .sequence = START + 1, .offset = MEMORY / 2 - 7, .bytes = 8},
     8,
     0},
    {"an offset that wraps",
     {.kind = WEFT_MPI_PUT, .sequence = START + 1, .offset = UINT64_MAX - 3, .bytes = 8},
     8,
     0},
    {"another key", {.kind = WEFT_MPI_PUT, .sequence = START + 1, .key = 5, .bytes = 8}, 8, 0},
    {"a malformed notice", {.kind = WEFT_MPI_PUT, .sequence = START + 1, .notice = 1000}, 0, 0},
    {"large, and all at once", {.kind = WEFT_MPI_LARGE, .sequence = START + 1, .bytes = 8}, 8, 0},
    {"large, of nothing", {.kind = WEFT_MPI_LARGE, .sequence = START + 1}, 0, 0},
    {"larger than any piece",
     {.kind = WEFT_MPI_LARGE, .sequence = START + 1, .bytes = WEFT_MPI_PIECE + 1},
     0,
     0},
    {"large, outside",
     {.kind = WEFT_MPI_LARGE, .sequence = START + 1, .bytes = MEMORY / 2 + 1},
     0,
     MEMORY / 2 + 1},
    {"large, another key",
     {.kind = WEFT_MPI_LARGE, .sequence = START + 1, .key = 5, .bytes = 5000},
     0,
     5000},
    {"a longer payload", {.kind = WEFT_MPI_LARGE, .sequence = START + 1, .bytes = 5000}, 0, 5001},
    {"acknowledges what was not sent", {.kind = WEFT_MPI_ACK, .acked = START + 1}, 0, 0},
    {"acknowledges far ahead", {.kind = WEFT_MPI_ACK, .acked = START + WEFT_MPI_WINDOW + 1}, 0, 0},
    {"an acknowledgement with more", {.kind = WEFT_MPI_ACK, .acked = START, .notice = 1}, 0, 0},
};

static void check_untouched(const struct stage *stage)
{
    size_t touched = 0;

    for (size_t i = 0; i < MEMORY; i++)
        touched += stage->memory[i] != 0;
    CHECK(touched == 0);
}

static void suffer(const struct malice *malice, const char *threads)
{
    static unsigned char payload[MEMORY];
    struct stage *stage = open_stage(false, threads);
    struct weft_mpi_message message = malice->message;

    memset(payload, 0xee, sizeof(payload));
    message.key ^= stage->key;
    if (message.kind == WEFT_MPI_ACK)
        message.key = 0;
    send_message(stage, &message, malice->extra);
    if (malice->payload != 0)
        send_bytes(stage, WEFT_MPI_TAG_PAYLOAD, payload, malice->payload);
    const weft_status status = turns(stage);
    if (status != WEFT_ERR_PROTOCOL)
        printf("%s: status %d\n", malice->name, (int)status);
    CHECK(status == WEFT_ERR_PROTOCOL);
    check_untouched(stage);
    close_stage(stage);
}

static void suffer_bytes(size_t bytes)
{
    static const unsigned char noise[EAGER] = {1, 2, 3};
    struct stage *stage = open_stage(false, "multi");

    send_bytes(stage, WEFT_MPI_TAG_MESSAGE, noise, bytes);
    CHECK(turns(stage) == WEFT_ERR_PROTOCOL);
    check_untouched(stage);
    close_stage(stage);
}

/* A payload that never comes holds up its own sender alone, which may not send without end. */
static void flood(void)
{
    struct stage *stage = open_stage(false, "multi");
    struct weft_mpi_message message = {
        .kind = WEFT_MPI_LARGE, .sequence = START + 1, .key = stage->key, .bytes = 5000};

    send_message(stage, &message, 0);
    message = (struct weft_mpi_message){.kind = WEFT_MPI_PUT, .key = stage->key, .bytes = 8};
    for (uint32_t i = 0; i < WEFT_MPI_WINDOW - 1; i++) {
        message.sequence = START + 2 + i;
        send_message(stage, &message, 8);
    }
    CHECK(turns(stage) == WEFT_OK);
    CHECK(stage->arrived == 0);
    check_untouched(stage);
    for (uint32_t i = 0; i < WEFT_MPI_WINDOW + 1; i++) {
        message.sequence++;
        send_message(stage, &message, 8);
    }
    CHECK(turns(stage) == WEFT_ERR_PROTOCOL);
    check_untouched(stage);
    close_stage(stage);
}

/* A region is not given up while a payload is under way into it; if one stays so, it is said. */
static void give_up(void)
{
    static unsigned char payload[5000] = {1};
    struct stage *stage = open_stage(false, "multi");
    const struct weft_mpi_message message = {.kind = WEFT_MPI_LARGE,
                                             .sequence = START + 1,
                                             .key = stage->key,
                                             .notice = 1,
                                             .bytes = sizeof(payload)};

    send_message(stage, &message, 0);
    CHECK(turns(stage) == WEFT_OK);
    CHECK(stage->arrived == 0);
    const uint64_t before = weft_now_ns();
    weft_net_mpi.dereg(stage->net, stage->key);
    CHECK(weft_now_ns() - before > 500000000); /* it waited for what does not come here */
    CHECK(stage->lingers == 1);
    uint64_t other;
    CHECK(weft_net_mpi.reg(stage->net, stage->memory, MEMORY, &other) == WEFT_OK);
    CHECK((uint32_t)other != (uint32_t)stage->key); /* its place is taken still */
    send_bytes(stage, WEFT_MPI_TAG_PAYLOAD, payload, sizeof(payload));
    CHECK(turns(stage) == WEFT_OK);
    CHECK(stage->arrived == 1);
    weft_net_mpi.dereg(stage->net, other);
    CHECK(stage->lingers == 1);
    close_stage(stage);
}

/* ---- windows of a device ----------------------------------------------------------------------
 */

/* The last acknowledgement that the attacker was sent; START: none. */
static uint32_t last_ack(struct stage *stage)
{
    uint32_t acked = START;
    bool found = true;

    while (found) {
        unsigned char wire[WEFT_MPI_HEADER_BYTES];
        struct weft_mpi_handle matched, request;
        struct weft_mpi_message message;
        size_t bytes;
        int from;
        weft_mpi_inside.improbe(&stage->attacker, WEFT_MPI_TAG_MESSAGE, &found, &from, &bytes,
                                &matched);
        if (!found)
            break;
        CHECK(bytes == sizeof(wire));
        weft_mpi_inside.imrecv(&matched, wire, sizeof(wire), &request);
        CHECK(weft_mpi_message_get(&message, wire, bytes) == NULL);
        acked = message.acked;
    }
    return acked;
}

/* Nothing is acknowledged, and no source forgotten, before the device has the data. */
static void settle_first(const char *threads)
{
    static unsigned char payload[20000];
    struct stage *stage = open_stage(true, threads);
    struct weft_mpi_message message = {.kind = WEFT_MPI_PUT, .key = stage->key, .bytes = 8};
    const uint64_t deadline = weft_now_ns() + 5000000000;
    uint32_t acked = START;

    memset(payload, 0x77, sizeof(payload));
    for (uint32_t i = 0; i < 5; i++) {
        message.sequence = START + 1 + i;
        message.offset = i * 8;
        message.notice = i + 1;
        send_message(stage, &message, 8);
    }
    message = (struct weft_mpi_message){.kind = WEFT_MPI_LARGE,
                                        .sequence = START + 6,
                                        .notice = 6,
                                        .key = stage->key,
                                        .offset = 64,
                                        .bytes = sizeof(payload)};
    send_message(stage, &message, 0);
    send_bytes(stage, WEFT_MPI_TAG_PAYLOAD, payload, sizeof(payload));
    while (acked != START + 6 && weft_now_ns() < deadline) {
        bool did = false;
        CHECK(weft_net_mpi.progress(stage->net, WEFT_NET_RECEIVE, &did) == WEFT_OK);
        const uint32_t now = last_ack(stage);
        CHECK(now == START || now - START <= stage->finished);
        acked = now != START ? now : acked;
    }
    CHECK(acked == START + 6);
    CHECK(stage->arrived == 6);
    CHECK(stage->finished == 6 && stage->copying == 0);
    CHECK(stage->memory[0] == 0xee && stage->memory[39] == 0xee && stage->memory[40] == 0);
    CHECK(stage->memory[64] == 0x77 && stage->memory[64 + 19999] == 0x77);
    close_stage(stage);
}

int main(void)
{
    for (size_t i = 0; i < sizeof(malices) / sizeof(malices[0]); i++) {
        suffer(&malices[i], "multi");
        suffer(&malices[i], "single");
    }
    suffer_bytes(0);
    suffer_bytes(WEFT_MPI_HEADER_BYTES - 1);
    suffer_bytes(WEFT_MPI_HEADER_BYTES);
    flood();
    give_up();
    settle_first("multi");
    settle_first("single");
    printf("%s\n", failures == 0 ? "all good" : "FAILED");
    return failures != 0;
}
