/*
 * A provider of libfabric that does what none here does when it is asked: it has no room, refuses,
 * breaks connections, and takes a receive buffer for the data of a write. And a transport on it.
 */
#ifndef WEFT_TESTS_OFI_PROVIDER_H
#define WEFT_TESTS_OFI_PROVIDER_H

#include "net/ofi/inside.h"

#include <rdma/fi_errno.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 512, PROCESSES = 3, EVENTS = 64, SENDS = 8, WRITES = 2 };

/* ---- the provider ---------------------------------------------------------------------------- */

static ssize_t answer; /* to what is sent or written */
static struct {
    fi_addr_t to;
    int first; /* byte */
    int parts;
    const void *last; /* part */
    void *context;
    uint64_t address, data;
} gone[MOST];
static int gone_count, posted, closed;
static struct fi_cq_data_entry waiting[MOST];
static int waiting_count;
static struct fi_cq_err_entry broken;
static bool breaks;

static ssize_t go(const void *bytes, fi_addr_t to, void *context)
{
    if (answer != 0)
        return answer;
    assert_true(gone_count < MOST);
    gone[gone_count].to = to;
    gone[gone_count].first = *(const unsigned char *)bytes;
    gone[gone_count++].context = context;
    return 0;
}

static ssize_t ep_inject(struct fid_ep *e, const void *bytes, size_t count, fi_addr_t to)
{
    (void)e, (void)count;
    return go(bytes, to, NULL);
}

static ssize_t ep_sendv(struct fid_ep *e, const struct iovec *parts, void **descriptors,
                        size_t count, fi_addr_t to, void *context)
{
    (void)e, (void)descriptors;
    gone[gone_count].parts = (int)count;
    gone[gone_count].last = parts[count - 1].iov_base;
    return go(parts[0].iov_base, to, context);
}

static ssize_t ep_writedata(struct fid_ep *e, const void *bytes, size_t count, void *descriptor,
                            uint64_t data, fi_addr_t to, uint64_t address, uint64_t key,
                            void *context)
{
    (void)e, (void)count, (void)descriptor, (void)key;
    gone[gone_count].address = address;
    gone[gone_count].data = data;
    return go(bytes, to, context);
}

static ssize_t ep_recv(struct fid_ep *e, void *bytes, size_t count, void *descriptor,
                       fi_addr_t from, void *context)
{
    (void)e, (void)bytes, (void)count, (void)descriptor, (void)from, (void)context;
    posted++;
    return 0;
}

static ssize_t cq_read(struct fid_cq *q, void *entries, size_t count)
{
    const size_t n = count < (size_t)waiting_count ? count : (size_t)waiting_count;

    (void)q;
    if (breaks)
        return -FI_EAVAIL;
    memcpy(entries, waiting, n * sizeof(waiting[0]));
    waiting_count -= (int)n;
    memmove(waiting, waiting + n, (size_t)waiting_count * sizeof(waiting[0]));
    return n == 0 ? -FI_EAGAIN : (ssize_t)n;
}

static ssize_t cq_readerr(struct fid_cq *q, struct fi_cq_err_entry *entry, uint64_t flags)
{
    (void)q, (void)flags;
    *entry = broken;
    breaks = false;
    return 1;
}

static int close_one(struct fid *fid)
{
    (void)fid;
    closed++;
    return 0;
}

static struct fi_ops closing = {.size = sizeof(closing), .close = close_one};
static struct fi_ops_cq cq_ops = {.size = sizeof(cq_ops), .read = cq_read, .readerr = cq_readerr};
static struct fi_ops_msg msg_ops = {
    .size = sizeof(msg_ops), .recv = ep_recv, .inject = ep_inject, .sendv = ep_sendv};
static struct fi_ops_rma rma_ops = {.size = sizeof(rma_ops), .writedata = ep_writedata};
static struct fid_cq cq = {.fid.ops = &closing, .ops = &cq_ops};
static struct fid_ep ep = {.fid.ops = &closing, .msg = &msg_ops, .rma = &rma_ops};

/* ---- a transport on it ----------------------------------------------------------------------- */

static struct fi_fabric_attr fabric_attr = {.prov_name = (char *)"test"};
static struct fi_ep_attr ep_attr = {.max_msg_size = 1 << 20};
static struct fi_domain_attr domain_attr;
static struct fi_info info = {
    .fabric_attr = &fabric_attr, .ep_attr = &ep_attr, .domain_attr = &domain_attr};
static struct weft_config config;
static struct weft_transport_event events[EVENTS];
static int next_packet;

static void no_info(struct fi_info *none)
{
    (void)none;
}

static struct weft_transport *make(void)
{
    static const struct weft_ofi_library library = {.freeinfo = no_info};
    struct weft_transport *t = calloc(1, sizeof(*t));

    assert_non_null(t);
    answer = 0;
    breaks = false;
    gone_count = posted = waiting_count = closed = 0;
    t->open = (struct weft_net_open){.config = &config, .processes = PROCESSES};
    t->fi = &library;
    t->info = &info;
    t->can = (struct weft_ofi_abilities){.data_bits = 64, .inject = 64};
    t->cq[0] = t->cq[1] = &cq;
    t->ep = &ep;
    t->enabled = true;
    t->packet = t->takes = WEFT_OFI_LONG;
    t->addresses = calloc(PROCESSES, sizeof(*t->addresses));
    for (int p = 0; p < PROCESSES; p++)
        t->addresses[p] = (fi_addr_t)p;
    assert_int_equal(weft_ofi_pool_open(t, WEFT_OFI_SEND, SENDS, NULL), WEFT_OK);
    t->packets = t->pools;
    assert_int_equal(weft_ofi_pool_open(t, WEFT_OFI_WRITE, WRITES, &t->writes), WEFT_OK);
    next_packet = 0;
    assert_int_equal(weft_ofi_post(t), WEFT_OK);
    return t;
}

static void destroy(struct weft_transport *t)
{
    weft_ofi_pools_close(t);
    free(t->addresses);
    free(t);
}

/* Where the next one is built. */
static unsigned char *buffer_of_packet(struct weft_transport *t)
{
    return t->packets->memory + (size_t)(next_packet % SENDS) * t->packet;
}

static void packet(struct weft_transport *t, int process, int first, size_t bytes)
{
    unsigned char *at = buffer_of_packet(t);

    at[0] = (unsigned char)first;
    assert_int_equal(weft_ofi_commit(t, process, at, bytes), WEFT_OK);
    next_packet++;
}

static int take(struct weft_transport *t, enum weft_net_side side)
{
    return weft_transport_ofi.poll[side](t, events, EVENTS);
}

/* What went since the last time has been sent, or written. */
static void complete(void)
{
    for (int i = 0; i < gone_count; i++)
        if (gone[i].context != NULL)
            waiting[waiting_count++] = (struct fi_cq_data_entry){.op_context = gone[i].context};
    gone_count = 0;
}

#endif
