/*
 * rdma/verbs_pair.h - two ends of the network verbs in one thread, which lets each of the four
 * sides have a turn. What happens is then the same each time, and can be counted.
 */
#ifndef WEFT_TESTS_VERBS_PAIR_H
#define WEFT_TESTS_VERBS_PAIR_H

#include "abi/notice.h"
#include "base/task.h"
#include "net/verbs/state.h"
#include "support/notices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAIR_MEMORY = 1 << 22, PAIR_PROCESSES = 4, SKIPPED = 77 };
#define PAIR_HANG_NS (120 * UINT64_C(1000000000)) /* nothing takes so long that does not hang */

static int failures;
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            failures++;                                                                            \
            printf("FAILED %s:%d: %s\n", __FILE__, __LINE__, #condition);                          \
        }                                                                                          \
    } while (0)
#define CHECK_LESS(a, b)                                                                           \
    do {                                                                                           \
        const unsigned long long va = (a), vb = (b);                                               \
        if (!(va < vb)) {                                                                          \
            failures++;                                                                            \
            printf("FAILED %s:%d: %s (%llu) < %s (%llu)\n", __FILE__, __LINE__, #a, va, #b, vb);   \
        }                                                                                          \
    } while (0)

struct pair_end {
    struct weft_config config;
    struct weft_notice_kinds kinds;
    struct weft_net *net;
    unsigned char address[WEFT_NET_ADDRESS_MAX];
    unsigned char *memory;
    uint64_t key;
    uint32_t arrived, sent, delivered;
    uint32_t last_notice;
};
static struct pair_end pair[2];

static weft_status pair_arrived(void *context, const struct weft_net_delivery *delivery)
{
    struct pair_end *end = context;
    end->arrived++;
    end->last_notice = delivery->notice;
    return WEFT_OK;
}
static void pair_sent(void *context, void *cookie)
{
    (void)cookie;
    ((struct pair_end *)context)->sent++;
}
static void pair_delivered(void *context, void *cookie)
{
    (void)cookie;
    ((struct pair_end *)context)->delivered++;
}

/* A turn for everybody; the first error of any. */
static inline weft_status pair_turn(void)
{
    weft_status status = WEFT_OK;
    bool did = false;

    for (int i = 0; i < 2; i++)
        for (int side = WEFT_NET_SEND; side <= WEFT_NET_RECEIVE && pair[i].net != NULL; side++) {
            const weft_status s = weft_net_progress(pair[i].net, (enum weft_net_side)side, &did);
            status = status == WEFT_OK ? s : status;
        }
    return status;
}

/* Turns until the condition holds. */
#define PAIR_UNTIL(condition)                                                                      \
    do {                                                                                           \
        CHECK(weft_net_flush(pair[0].net, 1) == WEFT_OK);                                          \
        const uint64_t until = weft_now_ns() + PAIR_HANG_NS;                                       \
        while (!(condition) && weft_now_ns() < until)                                              \
            CHECK(pair_turn() == WEFT_OK);                                                         \
        CHECK(condition);                                                                          \
    } while (0)

/* What the transport has counted at an end. */
static inline const struct weft_verbs_counts *pair_counts(int i)
{
    return &weft_net_transport(pair[i].net)->counts;
}

/* Opens both, as processes 0 and 1 of several. */
static inline void pair_open(const char *devices, const struct weft_net_device *device)
{
    char text[2048];

    if (!weft_transport_verbs.here(text, sizeof(text))) {
        printf("skipped: %s", text);
        exit(SKIPPED);
    }
    for (int i = 0; i < 2; i++) {
        struct pair_end *end = &pair[i];
        memset(end, 0, sizeof(*end));
        if (weft_config_load(&end->config, NULL, NULL) != WEFT_OK)
            exit(1);
        snprintf(end->config.verbs_device, sizeof(end->config.verbs_device), "%s", devices);
        end->config.silence_s = 3;
        const struct weft_net_open open = {
            .config = &end->config,
            .process = i,
            .processes = PAIR_PROCESSES,
            .one_address_space = true,
            .events = {.context = end, .sent = pair_sent, .delivered = pair_delivered},
            .kinds = &end->kinds,
            .device = device};
        end->kinds = all_notices(pair_arrived, end);
        end->memory = aligned_alloc(4096, PAIR_MEMORY);
        if (end->memory == NULL ||
            weft_net_open(&end->net, &weft_transport_verbs, &open) != WEFT_OK)
            exit(1);
        memset(end->memory, 0, PAIR_MEMORY);
        CHECK(weft_net_reg(end->net, end->memory, PAIR_MEMORY, false, &end->key) == WEFT_OK);
        weft_net_address(end->net, end->address);
    }
    for (int i = 0; i < 2; i++)
        for (int p = 0; p < PAIR_PROCESSES; p++) /* the others are never put to */
            CHECK(weft_net_connect(pair[i].net, p, pair[p % 2].address) == WEFT_OK);
}

static inline void pair_close(void)
{
    for (int i = 0; i < 2; i++) {
        if (pair[i].net != NULL)
            weft_net_close(pair[i].net);
        pair[i].net = NULL;
        free(pair[i].memory);
    }
}

/* Puts from one end into the other's memory, as often as it takes to be accepted. */
static inline void pair_put(int from, size_t offset, const void *source, size_t bytes,
                            uint32_t notice)
{
    const struct weft_net_put put = {.process = 1 - from,
                                     .key = pair[1 - from].key,
                                     .offset = offset,
                                     .source = source,
                                     .bytes = bytes,
                                     .notice = notice};
    weft_status status;

    while ((status = weft_net_put(pair[from].net, &put)) == WEFT_NET_FULL)
        CHECK(pair_turn() == WEFT_OK);
    CHECK(status == WEFT_OK);
}

#endif
