/*
 * fault/test_device_mpi.c - what the network mpi owes to windows that the host cannot store to:
 * nothing is acknowledged, and no source forgotten, before the device has the data.
 */
#include "mpi_stage.h"

/* The last acknowledgement that the attacker was sent; START: none. */
static uint32_t last_ack(struct stage *stage)
{
    uint32_t acked = START;
    bool found = true;

    while (found) {
        unsigned char wire[WEFT_NET_MPI_HEADER_BYTES];
        struct weft_mpi_handle matched, request;
        struct weft_net_mpi_message message;
        size_t bytes;
        int from;
        weft_mpi_inside.improbe(&stage->attacker, WEFT_NET_MPI_TAG_MESSAGE, &found, &from, &bytes,
                                &matched);
        if (!found)
            break;
        CHECK(bytes == sizeof(wire));
        weft_mpi_inside.imrecv(&matched, wire, sizeof(wire), &request);
        CHECK(weft_net_mpi_message_get(&message, wire, bytes) == NULL);
        acked = message.acked;
    }
    return acked;
}

static void settle_first(const char *threads)
{
    static unsigned char payload[20000];
    struct stage *stage = open_stage(true, threads);
    struct weft_net_mpi_message message = {.kind = WEFT_NET_MPI_PUT, .key = stage->key, .bytes = 8};
    const uint64_t deadline = weft_now_ns() + 5000000000;
    uint32_t acked = START;

    memset(payload, 0x77, sizeof(payload));
    for (uint32_t i = 0; i < 5; i++) {
        message.sequence = START + 1 + i;
        message.offset = i * 8;
        message.notice = i + 1;
        send_message(stage, &message, 8);
    }
    message = (struct weft_net_mpi_message){.kind = WEFT_NET_MPI_LARGE,
                                            .sequence = START + 6,
                                            .notice = 6,
                                            .key = stage->key,
                                            .offset = 64,
                                            .bytes = sizeof(payload)};
    send_message(stage, &message, 0);
    send_bytes(stage, WEFT_NET_MPI_TAG_PAYLOAD, payload, sizeof(payload));
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
    settle_first("multi");
    settle_first("single");
    printf("%s\n", failures == 0 ? "all good" : "FAILED");
    return failures != 0;
}
