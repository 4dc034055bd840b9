/*
 * fault/mpi_stage.h - a real end of the network mpi, and this program itself as the other process,
 * which sends bytes as it likes through the same functions that stand in for an MPI (mpi/inside.h).
 */
#ifndef WEFT_TESTS_MPI_STAGE_H
#define WEFT_TESTS_MPI_STAGE_H

#include "base/task.h"
#include "mpi/inside.h"
#include "net/mpi/end.h"
#include "support/notices.h"

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

struct stage {
    struct weft_config config;
    struct weft_notice_kinds kinds;
    struct weft_arrive_device device;
    struct weft_net *net; /* the victim, process 0 */
    struct weft_mpi_handle attacker, requests[4 * WEFT_NET_MPI_WINDOW];
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

static weft_status arrived(void *context, const struct weft_arrival *arrival)
{
    struct stage *stage = context;

    stage->arrived++;
    if (arrival->process != 1 || arrival->notice >= 1000)
        return WEFT_ERR_PROTOCOL;
    if (arrival->bytes != 0)
        land(stage, arrival->target, arrival->source, arrival->bytes);
    return WEFT_OK;
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
    const struct weft_net_open open = {
        .config = &stage->config,
        .processes = 2,
        .one_address_space = true,
        .events = {.context = stage, .sent = done, .landed = done, .lingers = lingers},
        .kinds = &stage->kinds,
        .device = device ? &stage->device : NULL};
    stage->kinds = all_notices(arrived, stage);
    stage->device = (struct weft_arrive_device){
        .context = stage, .land = land, .settle = settle, .mark = mark, .settled = settled};
    if (weft_net_mpi.open(&stage->net, &open) != WEFT_OK ||
        weft_mpi_inside_open(&stage->attacker, 1, 2) != WEFT_OK ||
        weft_net_mpi.reg(stage->net, stage->memory, MEMORY / 2, false, &stage->key) != WEFT_OK ||
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
    if (stage->sent == 4 * WEFT_NET_MPI_WINDOW ||
        weft_mpi_inside.isend(&stage->attacker, bytes, count, 0, tag,
                              &stage->requests[stage->sent++]) != 0)
        abort();
}

/* A message with `extra` bytes behind its header. */
static void send_message(struct stage *stage, const struct weft_net_mpi_message *message,
                         size_t extra)
{
    static unsigned char wire[WEFT_NET_MPI_HEADER_BYTES + 4 * EAGER];

    memset(wire, 0xee, sizeof(wire));
    weft_net_mpi_message_put(wire, message);
    send_bytes(stage, WEFT_NET_MPI_TAG_MESSAGE, wire, WEFT_NET_MPI_HEADER_BYTES + extra);
}

#endif
