/*
 * gda/rdma/rdma.h - queues on RDMA devices: each is a queue pair that is connected to one other.
 * One thread at a time.
 */
#ifndef WEFT_GDA_RDMA_RDMA_H
#define WEFT_GDA_RDMA_RDMA_H

#include "device/device.h"
#include "gda/softnic/engine.h"
#include "net/verbs/device.h"

struct weft_rdma {
    struct weft_verbs_device device;
    struct ibv_pd *pd;
    struct ibv_pd *queues_pd; /* mlx5: makes queues in memory of `host`; else NULL */
    const struct weft_device_ops *host_ops;
    struct weft_device *host;
};

struct weft_rdma_queue {
    struct weft_rdma *rdma;
    struct ibv_qp *qp;
    struct ibv_cq *cq;       /* of requests */
    struct ibv_cq *receives; /* of what arrives: WRITE_IMM and SEND; NULL: nothing may */
    uint32_t under_way;      /* wire.c: posted, and not complete */
};

/*
 * Opens the process's device of `wanted` (net/verbs/device.h). Queues of mlx5 lie in memory that
 * `host` allocates. Errors: CONFIG, NETWORK.
 */
weft_status weft_rdma_open(struct weft_rdma *rdma, const char *wanted, int process,
                           const struct weft_device_ops *host_ops, struct weft_device *host);
void weft_rdma_close(struct weft_rdma *rdma);

/* Makes a queue of at least so many slots, and room for so many receives. Errors: NETWORK. */
weft_status weft_rdma_queue_open(struct weft_rdma_queue *queue, struct weft_rdma *rdma,
                                 uint32_t slots, uint32_t receives);
/* Joins it to the queue pair qpn at that address. timeout: WEFT_VERBS_TIMEOUT. Errors: NETWORK. */
weft_status weft_rdma_queue_join(struct weft_rdma_queue *queue, const struct weft_verbs_address *to,
                                 uint32_t qpn, int timeout);
void weft_rdma_queue_close(struct weft_rdma_queue *queue);

/* ---- wire.c ---- */

/* Posts a request, whose keys are the device's; `work` is finished when it is complete. False:
 * there is no room. */
bool weft_rdma_post(struct weft_rdma_queue *queue, const struct weft_softnic_request *request,
                    struct weft_softnic_work *work);
/* Takes completions. True: there were some, or there will be. */
bool weft_rdma_proceed(struct weft_rdma_queue *queue);
/* Both as a wire of the software NIC: a queue's context is its weft_rdma_queue. */
extern const struct weft_softnic_wire weft_rdma_wire;

/* ---- mlx5.c, or mlx5_none.c ---- */

/* What this build has of mlx5. */
const char *weft_rdma_about(void);
/* Whether queues of this device can be driven without a processor. NULL: yes; else why not. */
const char *weft_rdma_mlx5_missing(const struct weft_verbs_device *device);
/* A queue of it before its first request: the end of who posts, with the parts that libmlx5 made.
 * Errors: NETWORK, a form of queue that gda/queue.h does not have. */
weft_status weft_rdma_mlx5_end(const struct weft_rdma_queue *queue, struct weft_gda_queue *end);

#endif
