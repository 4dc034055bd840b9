/*
 * net/verbs/request.h - the work requests that puts become. Pure: fills what it is given.
 */
#ifndef WEFT_NET_VERBS_REQUEST_H
#define WEFT_NET_VERBS_REQUEST_H

#include <infiniband/verbs.h>

#include <arpa/inet.h>
#include <stdint.h>
#include <string.h>

/* A request and the one piece of memory that it gathers; inline data is kept behind it. */
struct weft_verbs_request {
    struct ibv_send_wr wr;
    struct ibv_sge sge;
    unsigned char data[];
};

static inline void weft_verbs_request_begin(struct weft_verbs_request *r, enum ibv_wr_opcode opcode)
{
    memset(&r->wr, 0, sizeof(r->wr));
    memset(&r->sge, 0, sizeof(r->sge));
    r->wr.opcode = opcode;
    r->wr.sg_list = &r->sge;
}

/* The memory that is sent, or read into; none: 0 bytes. */
static inline void weft_verbs_request_gather(struct weft_verbs_request *r, uint64_t address,
                                             uint32_t bytes, uint32_t lkey)
{
    r->sge = (struct ibv_sge){.addr = address, .length = bytes, .lkey = lkey};
    r->wr.num_sge = bytes != 0;
}

/* Copies the data: its source may be reused at once. The request must have room for it. */
static inline void weft_verbs_request_inline(struct weft_verbs_request *r, const void *head,
                                             uint32_t head_bytes, const void *data, uint32_t bytes)
{
    if (head_bytes != 0)
        memcpy(r->data, head, head_bytes);
    if (bytes != 0)
        memcpy(r->data + head_bytes, data, bytes);
    weft_verbs_request_gather(r, (uint64_t)(uintptr_t)r->data, head_bytes + bytes, 0);
    if (head_bytes + bytes != 0)
        r->wr.send_flags |= IBV_SEND_INLINE;
}

/* A write to `remote`; notice: 0 for none. The data is gathered or copied afterwards. */
static inline void weft_verbs_request_write(struct weft_verbs_request *r, uint64_t remote,
                                            uint32_t rkey, uint32_t notice)
{
    weft_verbs_request_begin(r, notice != 0 ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE);
    r->wr.imm_data = htonl(notice);
    r->wr.wr.rdma.remote_addr = remote;
    r->wr.wr.rdma.rkey = rkey;
}

static inline void weft_verbs_request_read(struct weft_verbs_request *r, uint64_t remote,
                                           uint32_t rkey)
{
    weft_verbs_request_begin(r, IBV_WR_RDMA_READ);
    r->wr.wr.rdma.remote_addr = remote;
    r->wr.wr.rdma.rkey = rkey;
}

/*
 * Which request a completion is for: the queue, whether it was a read that fences, and its number
 * on the queue. A completion is for all earlier requests of its queue, too.
 */
static inline uint64_t weft_verbs_request_id(uint32_t queue, bool fence, uint32_t sequence)
{
    return (uint64_t)queue << 33 | (uint64_t)fence << 32 | sequence;
}
static inline uint32_t weft_verbs_id_queue(uint64_t id)
{
    return (uint32_t)(id >> 33);
}
static inline bool weft_verbs_id_fence(uint64_t id)
{
    return (id >> 32 & 1) != 0;
}
static inline uint32_t weft_verbs_id_sequence(uint64_t id)
{
    return (uint32_t)id;
}

#endif
