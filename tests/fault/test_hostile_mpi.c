/*
 * fault/test_hostile_mpi.c - messages that a broken or hostile process may send over the network
 * mpi: each ends in WEFT_ERR_PROTOCOL, and not a byte of memory is written.
 */
#include "mpi_stage.h"

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

/* One message; its key is the victim's, changed by the one here. */
static const struct malice {
    const char *name;
    struct weft_net_mpi_message message;
    size_t extra, payload; /* bytes behind the header, bytes of a message of their own */
} malices[] = {
    {"no such kind", {.kind = (enum weft_net_mpi_kind)9}, 0, 0},
    {"announces less", {.kind = WEFT_NET_MPI_PUT, .sequence = START + 1, .bytes = 8}, 16, 0},
    {"announces more", {.kind = WEFT_NET_MPI_PUT, .sequence = START + 1, .bytes = 16}, 8, 0},
    {"announces far more",
     {.kind = WEFT_NET_MPI_PUT, .sequence = START + 1, .bytes = 0xffffffff},
     8,
     0},
    {"beyond the eager limit",
     {.kind = WEFT_NET_MPI_PUT, .sequence = START + 1, .bytes = EAGER + 1},
     EAGER + 1,
     0},
    {"a number too high", {.kind = WEFT_NET_MPI_PUT, .sequence = START + 2, .bytes = 8}, 8, 0},
    {"a number again", {.kind = WEFT_NET_MPI_PUT, .sequence = START, .bytes = 8}, 8, 0},
    {"outside",
     {.kind = WEFT_NET_MPI_PUT, .sequence = START + 1, .offset = MEMORY / 2 - 7, .bytes = 8},
     8,
     0},
    {"an offset that wraps",
     {.kind = WEFT_NET_MPI_PUT, .sequence = START + 1, .offset = UINT64_MAX - 3, .bytes = 8},
     8,
     0},
    {"another key", {.kind = WEFT_NET_MPI_PUT, .sequence = START + 1, .key = 5, .bytes = 8}, 8, 0},
    {"a malformed notice", {.kind = WEFT_NET_MPI_PUT, .sequence = START + 1, .notice = 1000}, 0, 0},
    {"large, and all at once",
     {.kind = WEFT_NET_MPI_LARGE, .sequence = START + 1, .bytes = 8},
     8,
     0},
    {"large, of nothing", {.kind = WEFT_NET_MPI_LARGE, .sequence = START + 1}, 0, 0},
    {"larger than any piece",
     {.kind = WEFT_NET_MPI_LARGE, .sequence = START + 1, .bytes = WEFT_NET_MPI_PIECE + 1},
     0,
     0},
    {"large, outside",
     {.kind = WEFT_NET_MPI_LARGE, .sequence = START + 1, .bytes = MEMORY / 2 + 1},
     0,
     MEMORY / 2 + 1},
    {"large, another key",
     {.kind = WEFT_NET_MPI_LARGE, .sequence = START + 1, .key = 5, .bytes = 5000},
     0,
     5000},
    {"a longer payload",
     {.kind = WEFT_NET_MPI_LARGE, .sequence = START + 1, .bytes = 5000},
     0,
     5001},
    {"acknowledges what was not sent", {.kind = WEFT_NET_MPI_ACK, .acked = START + 1}, 0, 0},
    {"acknowledges far ahead",
     {.kind = WEFT_NET_MPI_ACK, .acked = START + WEFT_NET_MPI_WINDOW + 1},
     0,
     0},
    {"an acknowledgement with more", {.kind = WEFT_NET_MPI_ACK, .acked = START, .notice = 1}, 0, 0},
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
    struct weft_net_mpi_message message = malice->message;

    memset(payload, 0xee, sizeof(payload));
    message.key ^= stage->key;
    if (message.kind == WEFT_NET_MPI_ACK)
        message.key = 0;
    send_message(stage, &message, malice->extra);
    if (malice->payload != 0)
        send_bytes(stage, WEFT_NET_MPI_TAG_PAYLOAD, payload, malice->payload);
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

    send_bytes(stage, WEFT_NET_MPI_TAG_MESSAGE, noise, bytes);
    CHECK(turns(stage) == WEFT_ERR_PROTOCOL);
    check_untouched(stage);
    close_stage(stage);
}

/* A payload that never comes holds up its own sender alone, which may not send without end. */
static void flood(void)
{
    struct stage *stage = open_stage(false, "multi");
    struct weft_net_mpi_message message = {
        .kind = WEFT_NET_MPI_LARGE, .sequence = START + 1, .key = stage->key, .bytes = 5000};

    send_message(stage, &message, 0);
    message =
        (struct weft_net_mpi_message){.kind = WEFT_NET_MPI_PUT, .key = stage->key, .bytes = 8};
    for (uint32_t i = 0; i < WEFT_NET_MPI_WINDOW - 1; i++) {
        message.sequence = START + 2 + i;
        send_message(stage, &message, 8);
    }
    CHECK(turns(stage) == WEFT_OK);
    CHECK(stage->arrived == 0);
    check_untouched(stage);
    for (uint32_t i = 0; i < WEFT_NET_MPI_WINDOW + 1; i++) {
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
    const struct weft_net_mpi_message message = {.kind = WEFT_NET_MPI_LARGE,
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
    CHECK(weft_net_mpi.reg(stage->net, stage->memory, MEMORY, false, &other) == WEFT_OK);
    CHECK((uint32_t)other != (uint32_t)stage->key); /* its place is taken still */
    send_bytes(stage, WEFT_NET_MPI_TAG_PAYLOAD, payload, sizeof(payload));
    CHECK(turns(stage) == WEFT_OK);
    CHECK(stage->arrived == 1);
    weft_net_mpi.dereg(stage->net, other);
    CHECK(stage->lingers == 1);
    close_stage(stage);
}

int main(void)
{
    for (size_t i = 0; i < sizeof(malices) / sizeof(malices[0]); i++) {
        suffer(&malices[i], "multi");
        suffer(&malices[i], "single");
    }
    suffer_bytes(0);
    suffer_bytes(WEFT_NET_MPI_HEADER_BYTES - 1);
    suffer_bytes(WEFT_NET_MPI_HEADER_BYTES);
    flood();
    give_up();
    printf("%s\n", failures == 0 ? "all good" : "FAILED");
    return failures != 0;
}
