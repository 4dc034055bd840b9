/*
 * net/ofi/move.c - packets and writes go, and what comes is given as events.
 */
#include "net/ofi/inside.h"

#include "base/say.h"

#include <poll.h>
#include <rdma/fi_errno.h>

/* ---- the send side: who has the send lock ---------------------------------------------------- */

/* Its event is to be given; error: and LOST. */
static void end(struct weft_transport *t, struct weft_ofi_op *op, long error)
{
    op->error = error;
    weft_ofi_push(&t->done, op);
}

weft_status weft_ofi_gather(struct weft_transport *t, int process, unsigned char *packet,
                            size_t bytes, const void *data, size_t data_bytes)
{
    const struct iovec parts[] = {{packet, bytes}, {(void *)(uintptr_t)data, data_bytes}};
    struct weft_ofi_op *op = &t->packets->ops[(packet - t->packets->memory) / t->packet];
    const fi_addr_t to = t->addresses[process];
    const bool at_once = data_bytes == 0 && bytes <= t->can.inject;
    void *descriptors[] = {op->descriptor, NULL};

    op->process = process;
    weft_lock(&t->lock);
    const ssize_t error = at_once ? fi_inject(t->ep, packet, bytes, to)
                                  : fi_sendv(t->ep, parts, descriptors, data_bytes > 0 ? 2 : 1, to,
                                             &op->for_provider);
    t->outstanding += error == 0 && !at_once;
    t->stuck |= error == -FI_EAGAIN;
    weft_unlock(&t->lock);
    if (error == -FI_EAGAIN)
        return WEFT_NET_FULL;
    if (error != 0 || at_once)
        end(t, op, error);
    return WEFT_OK;
}

weft_status weft_ofi_commit(struct weft_transport *t, int process, unsigned char *packet,
                            size_t bytes)
{
    return weft_ofi_gather(t, process, packet, bytes, NULL, 0);
}

weft_status weft_ofi_write(struct weft_transport *t, const struct weft_transport_write *write)
{
    const uint64_t at = write->place[1] + write->offset;
    void *descriptor = write->mr != NULL ? fi_mr_desc(write->mr) : NULL;

    if (write->mr == NULL && t->can.local_mr)
        return WEFT_NET_STAGE;
    struct weft_ofi_op *op = weft_ofi_pop(&t->writes); /* there is one: write_count */
    op->process = write->process;
    op->value = write->cookie;
    weft_lock(&t->lock);
    const ssize_t error =
        fi_writedata(t->ep, write->source, write->bytes, descriptor,
                     weft_ofi_data(t->open.process, write->immediate), t->addresses[write->process],
                     at, write->place[0], &op->for_provider);
    t->outstanding += error == 0;
    t->stuck |= error == -FI_EAGAIN;
    weft_unlock(&t->lock);
    if (error == -FI_EAGAIN)
        weft_ofi_push(&t->writes, op);
    else if (error != 0)
        end(t, op, error);
    return error == -FI_EAGAIN ? WEFT_NET_FULL : WEFT_OK;
}

/* Lock held. False: an error that belongs to nobody. */
static bool take_completions(struct weft_transport *t)
{
    struct fi_cq_data_entry entries[WEFT_OFI_BATCH];
    struct fi_cq_err_entry error = {0};
    ssize_t count = WEFT_OFI_BATCH;

    while (count == WEFT_OFI_BATCH) {
        count = fi_cq_read(t->cq[WEFT_NET_SEND], entries, WEFT_OFI_BATCH);
        for (ssize_t i = 0; i < count; i++, t->outstanding--)
            end(t, entries[i].op_context, 0);
    }
    if (count != -FI_EAVAIL)
        return count >= 0 || count == -FI_EAGAIN;
    if (fi_cq_readerr(t->cq[WEFT_NET_SEND], &error, 0) != 1)
        return true; /* taken meanwhile */
    if (error.op_context == NULL)
        return false;
    t->outstanding--;
    end(t, error.op_context, error.err != 0 ? error.err : FI_EIO);
    return true;
}

static int give_done(struct weft_transport *t, struct weft_transport_event *events, int most)
{
    struct weft_ofi_op *op;
    int count = 0;

    while (count + 1 < most && (op = weft_ofi_pop(&t->done)) != NULL) {
        const bool write = op->kind == WEFT_OFI_WRITE;
        events[count++] =
            (struct weft_transport_event){.kind = write ? WEFT_EVENT_READ : WEFT_EVENT_SENT,
                                          .process = op->process,
                                          .count = 1,
                                          .value = op->value};
        if (op->error != 0)
            events[count++] = (struct weft_transport_event){
                .kind = WEFT_EVENT_LOST, .process = op->process, .text = weft_ofi_error(op->error)};
        if (write)
            weft_ofi_push(&t->writes, op);
    }
    return count;
}

int weft_ofi_poll_send(struct weft_transport *t, struct weft_transport_event *events, int most)
{
    bool good = true;

    weft_lock(&t->lock);
    if (t->outstanding > 0 || t->stuck) {
        t->stuck = false;
        good = take_completions(t);
    }
    weft_unlock(&t->lock);
    return good ? give_done(t, events, most)
                : -(int)weft_err(WEFT_ERR_NETWORK, "ofi: %s lost completions of the send side",
                                 t->info->fabric_attr->prov_name);
}

/* ---- the receive side: the receive task ------------------------------------------------------ */

void weft_ofi_release(struct weft_transport *t, int process, uint64_t packet)
{
    (void)process;
    weft_ofi_push(&t->released, (struct weft_ofi_op *)(uintptr_t)packet);
}

weft_status weft_ofi_post(struct weft_transport *t)
{
    weft_status status = WEFT_OK;
    struct weft_ofi_op *op;
    ssize_t error = 0;

    if (t->posted == 0 && t->released == NULL)
        status = weft_ofi_pool_open(t, WEFT_OFI_RECEIVE,
                                    t->takes == WEFT_OFI_GATHERED ? WEFT_OFI_RECEIVES_GATHERED
                                                                  : WEFT_OFI_RECEIVES,
                                    &t->released);
    while (status == WEFT_OK && error == 0 && (op = weft_ofi_pop(&t->released)) != NULL) {
        error =
            fi_recv(t->ep, op->bytes, t->takes, op->descriptor, FI_ADDR_UNSPEC, &op->for_provider);
        if (error != 0)
            weft_ofi_push(&t->released, op);
        t->posted += error == 0;
    }
    return error == 0 || (error == -FI_EAGAIN && t->posted > 0)
               ? status
               : weft_ofi_failed(t, "it takes no receive buffer", error);
}

/* A failed completion. What a stranger can cause ends nothing: he is only not heard. Lock held. */
static weft_status take_error(struct weft_transport *t)
{
    struct fi_cq_err_entry error = {0};

    if (fi_cq_readerr(t->cq[WEFT_NET_RECEIVE], &error, 0) != 1)
        return WEFT_OK;
    weft_say(WEFT_SAY_INFO, "ofi: a receive failed: %s (%zu bytes too many)",
             weft_ofi_error(error.err), error.olen);
    struct weft_ofi_op *op = error.op_context;
    if (op != NULL && op->kind == WEFT_OFI_RECEIVE) {
        weft_ofi_push(&t->released, op);
        t->posted--;
    }
    return error.err == FI_ETRUNC || error.err == FI_ECANCELED || error.err == FI_ECONNRESET ||
                   error.err == FI_ECONNABORTED || error.err == FI_ENOTCONN ||
                   error.err == FI_ESHUTDOWN
               ? WEFT_OK
               : weft_ofi_failed(t, "it cannot receive", error.err);
}

/* False: a write came whose data no process of the job gave it. */
static bool take_entry(struct weft_transport *t, const struct fi_cq_data_entry *entry,
                       struct weft_transport_event *events, int *count)
{
    const bool packet = (entry->flags & FI_RECV) != 0;
    const bool written = !packet && (entry->flags & FI_REMOTE_CQ_DATA) != 0;
    struct weft_ofi_op *op =
        packet || (written && t->can.data_takes_buffer) ? entry->op_context : NULL;

    t->posted -= op != NULL;
    if (written && op != NULL)
        weft_ofi_push(&t->released, op);
    if (written)
        events[(*count)++] =
            (struct weft_transport_event){.kind = WEFT_EVENT_WRITTEN,
                                          .process = weft_ofi_data_process(entry->data),
                                          .value = weft_ofi_data_immediate(entry->data)};
    if (packet)
        events[(*count)++] = (struct weft_transport_event){.kind = WEFT_EVENT_PACKET,
                                                           .process = -1,
                                                           .value = (uintptr_t)op,
                                                           .bytes = op->bytes,
                                                           .length = entry->len};
    return !written || weft_ofi_data_process(entry->data) < t->open.processes;
}

int weft_ofi_poll_receive(struct weft_transport *t, struct weft_transport_event *events, int most)
{
    struct fi_cq_data_entry entries[WEFT_OFI_BATCH];
    int count = 0;

    weft_lock(&t->lock);
    weft_status status = weft_ofi_post(t);
    const ssize_t taken = fi_cq_read(t->cq[WEFT_NET_RECEIVE], entries,
                                     most < WEFT_OFI_BATCH ? (size_t)most : WEFT_OFI_BATCH);
    if (taken == -FI_EAVAIL && status == WEFT_OK)
        status = take_error(t);
    const bool ring = t->outstanding > 0 || t->stuck;
    t->vain = taken > 0 ? 0 : t->vain;
    weft_unlock(&t->lock);
    if (taken < 0 && taken != -FI_EAGAIN && taken != -FI_EAVAIL)
        status = weft_ofi_failed(t, "it cannot receive", taken);
    for (ssize_t i = 0; i < taken && status == WEFT_OK; i++)
        if (!take_entry(t, &entries[i], events, &count))
            status = weft_err(WEFT_ERR_PROTOCOL, "ofi: a write came with the malformed data 0x%llx",
                              (unsigned long long)entries[i].data);
    if (status != WEFT_OK)
        return -(int)status;
    if (taken == -FI_EAGAIN && ring) /* it polls for the send side, too */
        weft_bell_ring(&t->bells[WEFT_NET_SEND]);
    return count;
}

/*
 * What lies in the send queue is for the other side, which was rung for. Who waited for that queue
 * to be empty would keep the other side off a processor that they share. Nothing says when the
 * other side has looked, nor when the provider has room again: then the sleep is short. So it is,
 * without the descriptors, once those have said in vain, again and again, that something is there:
 * the provider `net` of libfabric 1.17 never takes that back.
 */
bool weft_ofi_sleep(struct weft_transport *t, uint64_t ns)
{
    enum { SOON_NS = 1000000, VAIN_NS = 100000, VAIN_MOST = 256 };
    struct fid *queues[] = {&t->cq[WEFT_NET_RECEIVE]->fid, &t->cq[WEFT_NET_SEND]->fid};
    struct pollfd polled[] = {{.fd = t->fd[WEFT_NET_RECEIVE], .events = POLLIN},
                              {.fd = t->fd[WEFT_NET_SEND], .events = POLLIN}};

    if (polled[0].fd < 0)
        return false;
    weft_lock(&t->lock);
    const bool nothing = fi_trywait(t->fabric, queues, 1) == 0, waits = t->outstanding > 0;
    const bool both = waits && fi_trywait(t->fabric, queues + 1, 1) == 0;
    const bool soon = t->stuck || (waits && !both);
    const bool deaf = !waits && t->vain >= VAIN_MOST;
    weft_unlock(&t->lock);
    const uint64_t longest = deaf ? VAIN_NS : soon ? SOON_NS : ns;
    const struct timespec most = {.tv_nsec = (long)(ns < longest ? ns : longest)};
    if (nothing)
        ppoll(polled, deaf ? 0 : both ? 2 : 1, &most, NULL);
    if (nothing && !deaf) {
        weft_lock(&t->lock);
        t->vain = polled[0].revents != 0 && !waits ? t->vain + 1 : 0;
        weft_unlock(&t->lock);
    }
    return true;
}
