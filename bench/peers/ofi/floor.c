/*
 * peers/ofi/floor.c - the floor of the network ofi: fi_writedata there and back between two
 * processes on the loopback interface, each polling its completion queue. One-way time: half a
 * round trip. The data is checked as everywhere else.
 */
#include "support/bench.h"
#include "support/pattern.h"

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define FLOOR_PROVIDER "tcp;ofi_rxm"
#define FLOOR_ADDRESS  "127.0.0.1"

/* What the two tell each other, and what they found; shared memory. */
struct shared {
    char name[2][256];
    uint64_t key[2], address[2], wrong[2];
    uint32_t met;
};

struct end {
    struct shared *shared;
    int me, met;
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *ep;
    struct fid_mr *mr[2]; /* source, target */
    fi_addr_t other;
    uint64_t *source, *target;
    uint64_t sent; /* completions of own writes that are still to come */
};

static void must(ssize_t result, const char *what)
{
    if (result >= 0)
        return;
    fprintf(stderr, "bench: %s: %s\n", what, fi_strerror((int)-result));
    exit(EXIT_FAILURE);
}

static void meet(struct end *e)
{
    e->met += 2;
    __atomic_add_fetch(&e->shared->met, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&e->shared->met, __ATOMIC_ACQUIRE) < (uint32_t)e->met)
        usleep(100);
}

static void open_info(struct end *e)
{
    struct fi_info *hints = fi_allocinfo();

    if (hints == NULL)
        must(-FI_ENOMEM, "fi_allocinfo");
    hints->caps = FI_MSG | FI_RMA;
    hints->ep_attr->type = FI_EP_RDM;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->cq_data_size = 8;
    hints->fabric_attr->prov_name = strdup(FLOOR_PROVIDER);
    must(fi_getinfo(FI_VERSION(1, 17), FLOOR_ADDRESS, NULL, FI_SOURCE, hints, &e->info),
         "fi_getinfo");
    fi_freeinfo(hints);
}

static void open_end(struct end *e, size_t most)
{
    struct fi_av_attr av = {.count = 2};
    struct fi_cq_attr cq = {.size = 256, .format = FI_CQ_FORMAT_DATA, .wait_obj = FI_WAIT_NONE};
    size_t bytes = sizeof(e->shared->name[0]);

    open_info(e);
    must(fi_fabric(e->info->fabric_attr, &e->fabric, NULL), "fi_fabric");
    must(fi_domain(e->fabric, e->info, &e->domain, NULL), "fi_domain");
    must(fi_av_open(e->domain, &av, &e->av, NULL), "fi_av_open");
    must(fi_cq_open(e->domain, &cq, &e->cq, NULL), "fi_cq_open");
    must(fi_endpoint(e->domain, e->info, &e->ep, NULL), "fi_endpoint");
    must(fi_ep_bind(e->ep, &e->av->fid, 0), "fi_ep_bind");
    must(fi_ep_bind(e->ep, &e->cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    must(fi_enable(e->ep), "fi_enable");
    e->source = aligned_alloc(4096, most);
    e->target = aligned_alloc(4096, most);
    if (e->source == NULL || e->target == NULL)
        must(-FI_ENOMEM, "memory");
    memset(e->target, 0, most);
    must(fi_mr_reg(e->domain, e->source, most, FI_WRITE, 0, 1, 0, &e->mr[0], NULL), "fi_mr_reg");
    must(fi_mr_reg(e->domain, e->target, most, FI_REMOTE_WRITE, 0, 2, 0, &e->mr[1], NULL),
         "fi_mr_reg");
    must(fi_getname(&e->ep->fid, e->shared->name[e->me], &bytes), "fi_getname");
    e->shared->key[e->me] = fi_mr_key(e->mr[1]);
    e->shared->address[e->me] =
        (e->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0 ? (uintptr_t)e->target : 0;
    meet(e);
    if (fi_av_insert(e->av, e->shared->name[1 - e->me], 1, &e->other, 0, NULL) != 1)
        must(-FI_EINVAL, "fi_av_insert");
}

static void close_end(struct end *e)
{
    fi_close(&e->ep->fid);
    fi_close(&e->mr[0]->fid);
    fi_close(&e->mr[1]->fid);
    fi_close(&e->cq->fid);
    fi_close(&e->av->fid);
    fi_close(&e->domain->fid);
    fi_close(&e->fabric->fid);
    fi_freeinfo(e->info);
    free(e->source);
    free(e->target);
}

/* Takes what has completed; how many writes of the other were among it. */
static uint64_t take(struct end *e)
{
    struct fi_cq_data_entry entries[8];
    const ssize_t count = fi_cq_read(e->cq, entries, 8);
    uint64_t arrived = 0;

    if (count == -FI_EAGAIN)
        return 0;
    must(count, "fi_cq_read");
    for (ssize_t i = 0; i < count; i++) {
        if ((entries[i].flags & FI_REMOTE_CQ_DATA) != 0)
            arrived++;
        else
            e->sent--;
    }
    return arrived;
}

static void send(struct end *e, size_t bytes, uint64_t number, uint64_t *arrived)
{
    const int other = 1 - e->me;
    ssize_t result;

    pattern_stamp(e->source, 1, bytes, number, 0, 1);
    while (e->sent > 0) /* the source is still being read */
        *arrived += take(e);
    while ((result = fi_writedata(e->ep, e->source, bytes, fi_mr_desc(e->mr[0]), number, e->other,
                                  e->shared->address[other], e->shared->key[other], NULL)) ==
           -FI_EAGAIN)
        *arrived += take(e);
    must(result, "fi_writedata");
    e->sent++;
}

static uint64_t round_trips(struct end *e, size_t bytes, uint64_t first, uint64_t count)
{
    uint64_t arrived = 0, late = 0;

    for (uint64_t i = first; i < first + count; i++)
        for (int turn = 0; turn < 2; turn++) {
            if (turn == e->me) {
                send(e, bytes, i, &arrived);
                continue;
            }
            while (arrived == 0)
                arrived += take(e);
            arrived--;
            late += pattern_late(e->target, 1, bytes, i, 0, 1);
        }
    return late;
}

static void run(struct end *e, const struct bench_options *options)
{
    uint64_t wrong = 0;

    open_end(e, options->to);
    if (e->me == 0)
        bench_header("bytes", "round_trips", "one_way_us");
    for (size_t bytes = options->from; bytes <= options->to; bytes *= 2) {
        const uint64_t repeats = bench_repeats(options, bytes), warm_up = bench_warm_up(repeats);
        pattern_fill(e->source, 1, bytes, 0, 1);
        meet(e);
        wrong += round_trips(e, bytes, 0, warm_up);
        const double start = bench_seconds();
        wrong += round_trips(e, bytes, warm_up, repeats);
        const double seconds = bench_seconds() - start;
        wrong += pattern_wrong(e->target, 1, bytes, warm_up + repeats - 1, 0, 1);
        while (e->sent > 0)
            take(e);
        if (e->me == 0)
            bench_line(bytes, repeats, bench_latency.value(bytes, repeats, seconds));
        /* The other may still be writing its last, which has arrived here. */
        meet(e);
    }
    e->shared->wrong[e->me] = wrong;
    meet(e);
    close_end(e);
}

int main(int argc, char **argv)
{
    struct bench_options options;
    struct end end = {0};
    int status = 1;

    bench_parse(&options, argc, argv, BENCH_HAS_SIZES,
                "Latency of bare fi_writedata between two processes on one host. Run as it is.",
                NULL);
    end.shared =
        mmap(NULL, sizeof(*end.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (end.shared == MAP_FAILED)
        must(-FI_ENOMEM, "mmap");
    const pid_t child = fork();
    must(child, "fork");
    end.me = child == 0;
    run(&end, &options);
    if (child == 0) {
        fflush(NULL);
        _exit(EXIT_SUCCESS);
    }
    if (waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "bench: the other process failed\n");
        return EXIT_FAILURE;
    }
    return bench_status(end.shared->wrong[0] + end.shared->wrong[1]);
}
