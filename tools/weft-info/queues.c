/*
 * weft-info/queues.c - one of each request from a queue to another, as a rank posts it: by the NIC
 * itself where it is one of mlx5, else by the software NIC. The caller owns all of it.
 */
#include "queues.h"

#include "base/say.h"
#include "base/task.h"
#include "gda/rdma/rdma.h"
#include "net/verbs/memory.h"

#include <arpa/inet.h>
#include <string.h>

enum {
    DEPTH = 64,
    RECEIVES = 16,
    ENDS = 2,     /* [0] posts, [1] is posted to */
    BYTES = 4096, /* of memory of each: */
    DATA = 1024,  /* what is moved, by key or, so much, inline */
    INSIDE = 44,
    AT = 2048,       /* where it comes to */
    RECEIVED = 3072, /* where what is received does */
    WORD = 0,        /* an atomic's */
    IMMEDIATE = 0x12345678
};
static const uint64_t LIMIT_NS = 10000000000;

struct check {
    struct weft_rdma rdma[ENDS];
    struct weft_rdma_queue queue[ENDS];
    struct ibv_mr *mr[ENDS];
    unsigned char *memory[ENDS];
    struct weft_gda_keys keys; /* the poster's */
    struct weft_bell bell;

    struct weft_gda_queue end;
    bool mlx5; /* the card takes what is posted; else: */
    struct weft_softnic nic;
    struct weft_softnic_queue softnic;
    struct softnic_place {
        _Alignas(64) unsigned char wqe[DEPTH * WEFT_MLX5_SLOT], cqe[DEPTH * WEFT_MLX5_CQE_BYTES];
        uint32_t record[2];
        uint64_t doorbell;
    } place;
};

/* ---- opening --------------------------------------------------------------------------------- */

static weft_status open_softnic(struct check *check)
{
    check->end = (struct weft_gda_queue){.wqe = (uint64_t *)(void *)check->place.wqe,
                                         .cqe = check->place.cqe,
                                         .record = check->place.record,
                                         .doorbell = &check->place.doorbell,
                                         .qpn = check->queue[0].qp->qp_num,
                                         .slots = DEPTH,
                                         .cq_slots = DEPTH};
    memset(check->place.cqe, 0xff, sizeof(check->place.cqe));
    check->place.doorbell = weft_mlx5_doorbell(0, check->end.qpn);
    check->nic = (struct weft_softnic){.keys = &check->keys, .bell = &check->bell};
    check->softnic = (struct weft_softnic_queue){.nic = &check->nic,
                                                 .wire = &weft_rdma_wire,
                                                 .context = &check->queue[0],
                                                 .wqe = check->place.wqe,
                                                 .cqe = check->place.cqe,
                                                 .record = check->place.record,
                                                 .doorbell = &check->place.doorbell,
                                                 .qpn = check->end.qpn,
                                                 .slots = DEPTH,
                                                 .cq_slots = DEPTH};
    return weft_softnic_open(&check->softnic, 0) ? WEFT_OK
                                                 : weft_err(WEFT_ERR_MEMORY, "no memory for a NIC");
}

static weft_status open_end(struct check *check, int i, const struct weft_config *config,
                            struct weft_device *host)
{
    void *memory;
    weft_status status =
        weft_rdma_open(&check->rdma[i], config->verbs_device, i, &weft_cpu_device, host);

    if (status != WEFT_OK)
        return status;
    check->mr[i] = weft_verbs_alloc(check->rdma[i].pd, BYTES,
                                    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                        IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
                                    &memory);
    check->memory[i] = memory;
    return check->mr[i] != NULL
               ? weft_rdma_queue_open(&check->queue[i], &check->rdma[i], DEPTH, RECEIVES)
               : WEFT_ERR_MEMORY;
}

static weft_status join(struct check *check, int i, int timeout)
{
    const struct weft_verbs_device *there = &check->rdma[1 - i].device;
    struct weft_verbs_address to = {.lid = there->port_attr.lid,
                                    .mtu = (uint8_t)there->port_attr.active_mtu};

    memcpy(to.gid, there->gid.raw, sizeof(to.gid));
    return weft_rdma_queue_join(&check->queue[i], &to, check->queue[1 - i].qp->qp_num, timeout);
}

static weft_status open_both(struct check *check, const struct weft_config *config,
                             struct weft_device *host)
{
    weft_status status = WEFT_OK;

    for (int i = 0; i < ENDS && status == WEFT_OK; i++)
        status = open_end(check, i, config, host);
    for (int i = 0; i < ENDS && status == WEFT_OK; i++)
        status = join(check, i, weft_verbs_timeout(config));
    if (status != WEFT_OK)
        return status;
    const uint64_t begin = (uintptr_t)check->memory[0];
    check->keys = (struct weft_gda_keys){
        .count = 1, .key = {{.begin = begin, .end = begin + BYTES, .lkey = check->mr[0]->lkey}}};
    check->mlx5 = weft_rdma_mlx5_missing(&check->rdma[0].device) == NULL;
    return check->mlx5 ? weft_rdma_mlx5_end(&check->queue[0], &check->end) : open_softnic(check);
}

static void close_both(struct check *check)
{
    weft_softnic_close(&check->softnic);
    for (int i = 0; i < ENDS; i++) {
        if (check->rdma[i].device.context == NULL)
            continue;
        weft_rdma_queue_close(&check->queue[i]);
        weft_verbs_release(check->mr[i], check->memory[i]);
        weft_rdma_close(&check->rdma[i]);
    }
}

/* ---- requests -------------------------------------------------------------------------------- */

static struct weft_gda_local here(const struct check *check, size_t at, uint32_t bytes)
{
    return (struct weft_gda_local){(uintptr_t)check->memory[0] + at, bytes, check->mr[0]->lkey};
}
static struct weft_gda_remote there(const struct check *check, size_t at)
{
    return (struct weft_gda_remote){(uintptr_t)check->memory[1] + at, check->mr[1]->rkey};
}

/* Posts it, and waits for its completion. Whether it came, and says that it is good. */
static bool do_request(struct check *check, const struct weft_wqe *wqe)
{
    const uint64_t until = weft_now_ns() + LIMIT_NS;
    struct weft_gda_queue *end = &check->end;
    const uint64_t first = end->posted; /* the slot that a completion names */

    weft_gda_post(end, wqe, true);
    weft_gda_ring(end);
    while (end->done <= first && weft_now_ns() < until) {
        if (!check->mlx5)
            weft_softnic_round(&check->softnic);
        if (!weft_gda_poll(end))
            return false;
    }
    weft_polled();
    return end->done > first;
}

/* Whether a receive of the other end is complete, with these bytes or this immediate. */
static bool is_received(struct check *check, enum ibv_wc_opcode opcode)
{
    const uint64_t until = weft_now_ns() + LIMIT_NS;
    struct ibv_wc wc = {0};
    int count = 0;

    while (count == 0 && weft_now_ns() < until)
        count = ibv_poll_cq(check->queue[1].receives, 1, &wc);
    return count == 1 && wc.status == IBV_WC_SUCCESS && wc.opcode == opcode &&
           wc.byte_len == DATA &&
           (opcode == IBV_WC_RECV ? memcmp(check->memory[1] + RECEIVED, check->memory[0], DATA) == 0
                                  : wc.imm_data == htonl(IMMEDIATE));
}

static bool post_receive(struct check *check)
{
    struct ibv_sge room = {
        .addr = (uintptr_t)check->memory[1] + RECEIVED, .length = DATA, .lkey = check->mr[1]->lkey};
    struct ibv_recv_wr wr = {.sg_list = &room, .num_sge = 1}, *bad;

    return ibv_post_recv(check->queue[1].qp, &wr, &bad) == 0;
}

static bool try_write(struct check *check)
{
    struct weft_wqe wqe;

    weft_wqe_inline(&wqe, check->end.posted, check->end.qpn, there(check, AT), check->memory[0],
                    INSIDE, true);
    if (!do_request(check, &wqe) || memcmp(check->memory[1] + AT, check->memory[0], INSIDE) != 0)
        return false;
    weft_wqe_move(&wqe, WEFT_MLX5_WRITE, check->end.posted, check->end.qpn, there(check, AT),
                  here(check, 0, DATA), true);
    return do_request(check, &wqe) && memcmp(check->memory[1] + AT, check->memory[0], DATA) == 0;
}

static bool try_write_imm(struct check *check)
{
    struct weft_wqe wqe;

    memset(check->memory[1] + AT, 0, DATA);
    weft_wqe_move(&wqe, WEFT_MLX5_WRITE_IMM, check->end.posted, check->end.qpn, there(check, AT),
                  here(check, 0, DATA), true);
    weft_wqe_immediate(&wqe, IMMEDIATE);
    return post_receive(check) && do_request(check, &wqe) &&
           is_received(check, IBV_WC_RECV_RDMA_WITH_IMM) &&
           memcmp(check->memory[1] + AT, check->memory[0], DATA) == 0;
}

static bool try_send(struct check *check)
{
    struct weft_wqe wqe;

    weft_wqe_send(&wqe, check->end.posted, check->end.qpn, here(check, 0, DATA), true);
    return post_receive(check) && do_request(check, &wqe) && is_received(check, IBV_WC_RECV);
}

static bool try_read(struct check *check)
{
    struct weft_wqe wqe;

    for (int i = 0; i < DATA; i++)
        check->memory[1][i] = (unsigned char)(i * 11 + 5);
    weft_wqe_move(&wqe, WEFT_MLX5_READ, check->end.posted, check->end.qpn, there(check, 0),
                  here(check, AT, DATA), true);
    return do_request(check, &wqe) && memcmp(check->memory[0] + AT, check->memory[1], DATA) == 0;
}

/* The word there becomes 7 of 5, and 5 comes back. */
static bool try_atomic(struct check *check, uint32_t opcode, uint64_t value)
{
    uint64_t *const word = (uint64_t *)(void *)(check->memory[1] + WORD);
    const uint64_t *const old = (const uint64_t *)(const void *)(check->memory[0] + AT);
    struct weft_wqe wqe;

    *word = 5;
    weft_wqe_atomic(&wqe, opcode, check->end.posted, check->end.qpn, there(check, WORD), value, 5,
                    here(check, AT, 8), true);
    return do_request(check, &wqe) && *word == 7 && *old == 5;
}

static bool try_fetch_add(struct check *check)
{
    return try_atomic(check, WEFT_MLX5_FETCH_ADD, 2);
}
static bool try_compare_swap(struct check *check)
{
    return try_atomic(check, WEFT_MLX5_COMPARE_SWAP, 7);
}

/* The last one: it ends the queue. */
static bool is_refused(struct check *check)
{
    struct weft_gda_remote wrong = there(check, AT);
    struct weft_wqe wqe;

    wrong.rkey ^= 0x5a5a00;
    weft_wqe_move(&wqe, WEFT_MLX5_WRITE, check->end.posted, check->end.qpn, wrong,
                  here(check, 0, DATA), true);
    return !do_request(check, &wqe) && check->end.syndrome == WEFT_MLX5_REMOTE_ACCESS;
}

static const struct {
    const char *name;
    bool (*is_right)(struct check *check);
} requests[] = {{"write", try_write},
                {"write_imm", try_write_imm},
                {"send", try_send},
                {"read", try_read},
                {"fetch_add", try_fetch_add},
                {"compare_swap", try_compare_swap},
                {"a wrong key: refused", is_refused}};

static weft_status try_all(struct check *check, FILE *file)
{
    const size_t count = sizeof(requests) / sizeof(requests[0]);
    const char *const name = ibv_get_device_name(check->rdma[0].device.context->device);

    for (int i = 0; i < DATA; i++)
        check->memory[0][i] = (unsigned char)(i * 7 + 3);
    fprintf(file, "queues over %s", name);
    for (size_t i = 0; i < count; i++) {
        fprintf(file, "%s%s", i == 0 ? ": " : i + 1 < count ? ", " : ": right; ", requests[i].name);
        if (requests[i].is_right(check))
            continue;
        fprintf(file, ": WRONG\n");
        return weft_err(WEFT_ERR_PROTOCOL,
                        "queues over %s: %s is wrong: slot %llu of %llu, syndrome 0x%x", name,
                        requests[i].name, (unsigned long long)check->end.done,
                        (unsigned long long)check->end.posted, check->end.syndrome);
    }
    fprintf(file, " (%s)\n",
            check->mlx5 ? "posted to the card's own queue, which no hardware had run before"
                        : "bytes of mlx5, taken by the software NIC, posted by verbs");
    return WEFT_OK;
}

const char *queues_about(void)
{
    return weft_rdma_about();
}

weft_status queues_check(const struct weft_config *config, FILE *file)
{
    static struct check check; /* one at a time */
    struct weft_device *host;
    weft_status status = weft_cpu_device.open(&host, config, 0, false);

    if (status != WEFT_OK)
        return status;
    check = (struct check){0};
    status = open_both(&check, config, host);
    if (status == WEFT_OK)
        status = try_all(&check, file);
    close_both(&check);
    weft_cpu_device.close(host);
    return status;
}
