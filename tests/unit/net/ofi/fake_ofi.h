/*
 * fake_ofi.h - what stands for a provider of libfabric that does what none here does, in a few
 * functions; and an ofi network of two processes on it, of which this one is 0. For one program,
 * which includes this once.
 */
#ifndef WEFT_TESTS_FAKE_OFI_H
#define WEFT_TESTS_FAKE_OFI_H

#include "abi/notice.h"
#include "net/ofi/inside.h"
#include "support/notices.h"

#include <rdma/fi_errno.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BUFFERS = 8, MOST = 16 };

/* ---- the provider -------------------------------------------------------------------------- */

static struct fi_cq_data_entry waiting[MOST];
static int waiting_count, posted, injected, written, docked;
static struct weft_ofi_berth last_head;
static uint64_t last_address;
static struct weft_ofi_header last_injected;
static uint64_t last_data;
static void *completions[MOST]; /* of writes to docks */
static int completions_count;

static inline ssize_t cq_read(struct fid_cq *cq, void *entries, size_t count)
{
    const size_t n = count < (size_t)waiting_count ? count : (size_t)waiting_count;

    (void)cq;
    memcpy(entries, waiting, n * sizeof(waiting[0]));
    waiting_count = 0;
    return n == 0 ? -FI_EAGAIN : (ssize_t)n;
}

static inline ssize_t ep_recv(struct fid_ep *ep, void *bytes, size_t count, void *desc,
                              fi_addr_t from, void *context)
{
    (void)ep, (void)bytes, (void)count, (void)desc, (void)from, (void)context;
    posted++;
    return 0;
}

static inline ssize_t ep_inject(struct fid_ep *ep, const void *bytes, size_t count, fi_addr_t to)
{
    (void)ep, (void)to;
    assert_true(count >= sizeof(last_injected));
    memcpy(&last_injected, bytes, sizeof(last_injected));
    injected++;
    return 0;
}

static inline ssize_t ep_writedata(struct fid_ep *ep, const void *bytes, size_t count, void *desc,
                                   uint64_t data, fi_addr_t to, uint64_t address, uint64_t key,
                                   void *context)
{
    (void)ep, (void)bytes, (void)count, (void)desc, (void)to, (void)address, (void)key;
    (void)context;
    last_data = data;
    written++;
    return 0;
}

static inline ssize_t ep_writemsg(struct fid_ep *ep, const struct fi_msg_rma *message,
                                  uint64_t flags)
{
    (void)ep;
    assert_true((flags & FI_REMOTE_CQ_DATA) != 0);
    assert_int_equal(message->iov_count, 2);
    memcpy(&last_head, message->msg_iov[0].iov_base, sizeof(last_head));
    assert_int_equal(message->rma_iov->len, sizeof(last_head) + last_head.bytes);
    assert_int_equal(message->msg_iov[1].iov_len, last_head.bytes);
    last_address = message->rma_iov->addr;
    last_data = message->data;
    if (completions_count < MOST)
        completions[completions_count++] = message->context;
    docked++;
    return 0;
}

static struct fi_ops_cq cq_ops = {.size = sizeof(cq_ops), .read = cq_read};
static struct fi_ops_msg msg_ops = {.size = sizeof(msg_ops), .recv = ep_recv, .inject = ep_inject};
static struct fi_ops_rma rma_ops = {
    .size = sizeof(rma_ops), .writedata = ep_writedata, .writemsg = ep_writemsg};

/* ---- a network on it ----------------------------------------------------------------------- */

static struct fid_cq cq = {.ops = &cq_ops};
static struct fid_ep ep = {.msg = &msg_ops, .rma = &rma_ops};
static struct fi_info info;
static struct fi_fabric_attr fabric_attr = {.prov_name = (char *)"test"};
static struct fi_ep_attr ep_attr = {.max_msg_size = SIZE_MAX};
static struct weft_config config;
static unsigned char memory[64];
static struct weft_ofi_buffer buffers[BUFFERS];
static unsigned char buffer_bytes[BUFFERS][WEFT_OFI_MESSAGE_BYTES];
static struct weft_notice_kinds kinds;
static uint32_t notices[MOST];
static int arrived_count, sent_count, landed_count;
static uint64_t key;
static uint32_t first_event;

static inline weft_status arrived(void *context, const struct weft_arrival *arrival)
{
    (void)context;
    assert_int_equal(arrival->process, 1);
    assert_true(arrived_count < MOST);
    notices[arrived_count++] = arrival->notice;
    return WEFT_OK;
}
static inline void sent(void *context, void *cookie)
{
    (void)context, (void)cookie;
    sent_count++;
}
static inline void landed(void *context, void *cookie)
{
    (void)context, (void)cookie;
    landed_count++;
}

static inline struct weft_net *make(enum weft_ofi_data form, bool ordered, uint32_t start)
{
    struct weft_net *net = calloc(1, sizeof(*net));

    docked = completions_count = 0;
    waiting_count = posted = injected = written = arrived_count = sent_count = landed_count = 0;
    first_event = start;
    memset(memory, 0, sizeof(memory));
    info.fabric_attr = &fabric_attr;
    info.ep_attr = &ep_attr;
    kinds = all_notices(arrived, NULL);
    net->open = (struct weft_net_open){.config = &config,
                                       .processes = 2,
                                       .events = {.sent = sent, .landed = landed},
                                       .kinds = &kinds};
    weft_arrive_open(&net->arrive, "ofi", &net->open, net, WEFT_OFI_BATCHES, weft_ofi_conclude);
    net->info = &info;
    net->can = (struct weft_ofi_abilities){.form = form,
                                           .spread = weft_ofi_data_spread(form, 2),
                                           .direct = true,
                                           .inject = 64,
                                           .write_from = 9,
                                           .ordered_writes = ordered,
                                           .ordered_most = ordered ? 4096 : 0};
    net->cq[0] = net->cq[1] = &cq;
    net->ep = &ep;
    net->token = 99;
    net->peers = calloc(2, sizeof(*net->peers));
    for (int p = 0; p < 2; p++) {
        net->peers[p].last = &net->peers[p].first;
        net->peers[p].events = net->peers[p].received = start;
        net->peers[p].expected = net->peers[p].applied = net->peers[p].told = start;
    }
    assert_int_equal(weft_arrive_reg(&net->arrive, memory, sizeof(memory), false, &key), WEFT_OK);
    for (int i = 0; i < BUFFERS; i++) {
        buffers[i].bytes = buffer_bytes[i];
        buffers[i].context.what = WEFT_OFI_RECEIVE_BUFFER;
    }
    return net;
}

static inline void destroy(struct weft_net *net)
{
    free(net->dock.memory);
    weft_ofi_receive_close(net);
    weft_arrive_close(&net->arrive);
    weft_ofi_close_ops(net);
    free(net->peers[1].remotes);
    free(net->peers);
    free(net);
}

static inline void message_of(uint64_t token, uint32_t event, uint32_t notice, uint64_t offset,
                              int value)
{
    const struct weft_ofi_header h = {.token = token,
                                      .kind = WEFT_OFI_PUT,
                                      .process = 1,
                                      .event = event,
                                      .receipt = first_event,
                                      .notice = notice,
                                      .key = key,
                                      .offset = offset};
    struct weft_ofi_buffer *buffer = &buffers[waiting_count];

    memcpy(buffer->bytes, &h, sizeof(h));
    memset(buffer->bytes + sizeof(h), value, 8);
    waiting[waiting_count++] =
        (struct fi_cq_data_entry){.op_context = buffer, .flags = FI_RECV, .len = sizeof(h) + 8};
}

static inline void message(uint32_t event, uint32_t notice, int value)
{
    message_of(99, event, notice, 8, value);
}

static inline void write_of(enum weft_ofi_data form, uint32_t event, uint32_t notice)
{
    const struct weft_ofi_arrival arrival = {1, notice, event};
    uint64_t data = 0;

    assert_true(weft_ofi_data_pack(form, 2, &arrival, &data));
    waiting[waiting_count++] =
        (struct fi_cq_data_entry){.flags = FI_REMOTE_CQ_DATA | FI_RMA, .data = data};
}

static inline weft_status receive(struct weft_net *net)
{
    bool did = false;
    return weft_ofi_progress_receive(net, &did);
}

#endif
