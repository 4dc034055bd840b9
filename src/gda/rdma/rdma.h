/*
 * gda/rdma/rdma.h - queues on RDMA devices: each is a queue pair that is connected to one other.
 * One thread at a time.
 */
#ifndef WEFT_GDA_RDMA_RDMA_H
#define WEFT_GDA_RDMA_RDMA_H

#include "gda/softnic/engine.h"
#include "net/verbs/device.h"

struct weft_rdma_queue {
    const struct weft_verbs_device *device;
    struct ibv_qp *qp;
    struct ibv_cq *cq;
    uint32_t under_way; /* posted, and not complete */
};

/* Makes a queue of at least so many slots, which keeps the device. Errors: NETWORK. */
weft_status weft_rdma_queue_open(struct weft_rdma_queue *queue,
                                 const struct weft_verbs_device *device, struct ibv_pd *pd,
                                 uint32_t slots);
/* Joins it to the queue pair qpn at that address. timeout: WEFT_VERBS_TIMEOUT. Errors: NETWORK. */
weft_status weft_rdma_queue_join(struct weft_rdma_queue *queue, const struct weft_verbs_address *to,
                                 uint32_t qpn, int timeout);
void weft_rdma_queue_close(struct weft_rdma_queue *queue);

/* Posts a request, whose keys are the device's; `work` is finished when it is complete. False:
 * there is no room. */
bool weft_rdma_post(struct weft_rdma_queue *queue, const struct weft_softnic_request *request,
                    struct weft_softnic_work *work);
/* Takes completions. True: there were some, or there will be. */
bool weft_rdma_proceed(struct weft_rdma_queue *queue);

#endif
