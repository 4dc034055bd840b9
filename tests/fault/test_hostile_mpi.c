/*
 * fault/test_hostile_mpi.c - messages that a broken or hostile process may send over the network
 * mpi: each ends in WEFT_ERR_PROTOCOL, and not a byte of memory is written. This program itself is
 * the other process, and sends through the functions that stand in for an MPI
 * (support/mpi_inside.c).
 */
#include "net/mpi/inside.h"
#include "net/peer/packet.h"
#include "net/transport.h"
#include "support/notices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY = 4096, LONG = 1 << 20, START = 100, TAG = 1 };

static int failures;
static unsigned char memory[MEMORY];

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("FAILED %s:%d: %s\n", __FILE__, __LINE__, #condition);                          \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

static void done(void *context, void *cookie)
{
    (void)context, (void)cookie;
}

static weft_status arrived(void *context, const struct weft_net_delivery *delivery)
{
    (void)context, (void)delivery;
    return WEFT_OK;
}

/* Sends `bytes` of a packet with one put to the victim, and drives it until it says something. */
static weft_status attack(const char *threads, struct weft_packet packet, size_t bytes)
{
    static _Alignas(8) unsigned char message[LONG];
    struct weft_config config;
    const struct weft_notice_kinds kinds = all_notices(arrived, NULL);
    unsigned char address[WEFT_NET_ADDRESS_MAX];
    struct weft_mpi_handle attacker, request;
    struct weft_entry entry = {.notice = 1, .bytes = 8};
    uint64_t token, victim, own[2];
    struct weft_net *net;
    weft_status status = WEFT_OK;

    if (weft_config_load(&config, NULL, NULL) != WEFT_OK)
        abort();
    config.counter_start = START;
    config.mpi_threads =
        strcmp(threads, "single") == 0 ? WEFT_MPI_THREADS_SINGLE : WEFT_MPI_THREADS_MULTI;
    const struct weft_net_open open = {.config = &config,
                                       .processes = 2,
                                       .one_address_space = true,
                                       .events = {.sent = done, .delivered = done},
                                       .kinds = &kinds};
    if (weft_net_open(&net, &weft_transport_mpi, &open) != WEFT_OK ||
        weft_mpi_stand_in.open(&attacker, 1, 2) != WEFT_OK ||
        weft_net_reg(net, memory, MEMORY, false, &entry.key) != WEFT_OK)
        abort();
    weft_net_address(net, address);
    if (weft_net_connect(net, 0, address) != WEFT_OK)
        abort();
    memcpy(&token, address, sizeof(token));
    packet.token += token;
    memcpy(&victim, address + WEFT_PEER_ADDRESS, sizeof(victim));
    weft_mpi_stand_in.connect(&attacker, 0, victim);
    memcpy(&own[0], attacker.bits, sizeof(own[0]));
    own[1] = 1; /* its rank */
    memcpy(address + WEFT_PEER_ADDRESS, own, sizeof(own));
    if (weft_net_connect(net, 1, address) != WEFT_OK)
        abort();
    memset(message, 0xee, sizeof(message));
    const struct weft_entry_head head = weft_entry_pack(&entry);
    memcpy(message, &packet, sizeof(packet));
    memcpy(message + sizeof(packet), &head, sizeof(head));
    if (weft_mpi_stand_in.ops->isend(&attacker, message, bytes, 0, TAG, &request) != 0)
        abort();
    for (int i = 0; i < 100 && status == WEFT_OK; i++) {
        bool did = false;
        status = weft_net_progress(net, WEFT_NET_RECEIVE, &did);
        if (status == WEFT_OK)
            status = weft_net_progress(net, WEFT_NET_SEND, &did);
    }
    weft_mpi_stand_in.ops->release(&attacker);
    weft_net_close(net);
    return status;
}

static const struct weft_packet good = {.process = 1,
                                        .kind = WEFT_PACKET_PUTS,
                                        .bytes = WEFT_PACKET_LEAST,
                                        .number = START,
                                        .delivered = START,
                                        .entries = 1};

static void suffer(const char *threads, const char *name, struct weft_packet packet, size_t bytes)
{
    const weft_status status = attack(threads, packet, bytes);

    if (status != WEFT_ERR_PROTOCOL)
        printf("%s: status %d\n", name, (int)status);
    CHECK(status == WEFT_ERR_PROTOCOL);
    for (size_t i = 0; i < MEMORY; i++)
        CHECK(memory[i] == 0);
}

static void suffer_all(const char *threads)
{
    struct weft_packet packet = good;

    for (size_t bytes = 1; bytes < WEFT_PACKET_LEAST; bytes++)
        suffer(threads, "a part of a packet", good, bytes);
    suffer(threads, "more than it announces", good, WEFT_PACKET_LEAST + 8);
    suffer(threads, "longer than any packet", good, LONG);
    packet.token = 1;
    suffer(threads, "not of this job", packet, WEFT_PACKET_LEAST);
    packet = good;
    packet.process = 0;
    suffer(threads, "another process's", packet, WEFT_PACKET_LEAST);
    packet.process = 2;
    suffer(threads, "nobody's", packet, WEFT_PACKET_LEAST);
    for (int far = -1; far < 2; far += 2) {
        packet = good;
        packet.number += (uint32_t)far;
        suffer(threads, "another number", packet, WEFT_PACKET_LEAST);
    }
    packet = good;
    packet.delivered++;
    suffer(threads, "acknowledges what was not sent", packet, WEFT_PACKET_LEAST);
}

int main(void)
{
    suffer_all("multi");
    suffer_all("single");
    CHECK(attack("multi", good, WEFT_PACKET_LEAST) == WEFT_OK);
    CHECK(memory[0] == 0xee && memory[7] == 0xee && memory[8] == 0);
    printf("%s\n", failures == 0 ? "all good" : "FAILED");
    return failures != 0;
}
