/*
 * Queues that libmlx5 makes (gda/rdma/mlx5.c): it is faked, and in place of the card the software
 * NIC takes what is posted where mlx5dv_init_obj says that slots, completions and doorbell are. No
 * hardware has run this.
 */
#include "base/task.h"
#include "gda/rdma/rdma.h"

#include <infiniband/mlx5dv.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SLOTS = 64, COMPLETIONS = 128, QPN = 0x1234, KEY = 0x300, BYTES = 256, REQUESTS = 1000 };

/* What libmlx5 would have made. */
static struct {
    _Alignas(64) unsigned char wqe[SLOTS * WEFT_MLX5_SLOT];
    _Alignas(64) unsigned char cqe[COMPLETIONS * WEFT_MLX5_CQE_BYTES];
    uint32_t record[2];
    uint64_t doorbell;
    uint32_t stride;
} fake;
static struct ibv_parent_domain_init_attr domain;

int __wrap_mlx5dv_init_obj(struct mlx5dv_obj *obj, uint64_t type);
int __wrap_mlx5dv_init_obj(struct mlx5dv_obj *obj, uint64_t type)
{
    assert_int_equal(type, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ);
    *obj->qp.out =
        (struct mlx5dv_qp){.dbrec = fake.record,
                           .sq = {.buf = fake.wqe, .wqe_cnt = SLOTS, .stride = fake.stride},
                           .bf = {.reg = &fake.doorbell}};
    *obj->cq.out = (struct mlx5dv_cq){
        .buf = fake.cqe, .cqe_cnt = COMPLETIONS, .cqe_size = WEFT_MLX5_CQE_BYTES};
    return 0;
}
bool __wrap_mlx5dv_is_supported(struct ibv_device *device);
bool __wrap_mlx5dv_is_supported(struct ibv_device *device)
{
    (void)device;
    return true;
}
void __wrap_weft_verbs_device_close(struct weft_verbs_device *device);
void __wrap_weft_verbs_device_close(struct weft_verbs_device *device)
{
    (void)device;
}
struct ibv_pd *__wrap_ibv_alloc_pd(struct ibv_context *context);
struct ibv_pd *__wrap_ibv_alloc_pd(struct ibv_context *context)
{
    (void)context;
    return calloc(1, sizeof(struct ibv_pd));
}
int __wrap_ibv_dealloc_pd(struct ibv_pd *pd);
int __wrap_ibv_dealloc_pd(struct ibv_pd *pd)
{
    free(pd);
    return 0;
}
static struct ibv_pd *alloc_parent_domain(struct ibv_context *context,
                                          struct ibv_parent_domain_init_attr *attr)
{
    domain = *attr;
    return __wrap_ibv_alloc_pd(context);
}
weft_status __wrap_weft_verbs_device_open(struct weft_verbs_device *device, const char *wanted,
                                          int process);
weft_status __wrap_weft_verbs_device_open(struct weft_verbs_device *device, const char *wanted,
                                          int process)
{
    static struct verbs_context context = {.sz = sizeof(context),
                                           .alloc_parent_domain = alloc_parent_domain,
                                           .context.abi_compat = __VERBS_ABI_IS_EXTENDED};

    (void)wanted, (void)process;
    *device = (struct weft_verbs_device){.context = &context.context, .name = "fake:1"};
    return WEFT_OK;
}

/* Memory of a queue is the device's, aligned as libmlx5 wants it. */
static void *host_alloc(struct weft_device *device, size_t bytes)
{
    (void)device;
    unsigned char *const memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    assert_non_null(memory);
    return memset(memory, 0, bytes);
}
static void host_free(struct weft_device *device, void *memory)
{
    (void)device;
    free(memory);
}

static void test_memory(void **unused)
{
    static const struct weft_device_ops ops = {.host_alloc = host_alloc, .host_free = host_free};
    static const size_t alignments[] = {1, 64, 4096};
    struct weft_rdma rdma;

    (void)unused;
    assert_int_equal(weft_rdma_open(&rdma, "", 0, &ops, NULL), WEFT_OK);
    assert_non_null(rdma.queues_pd);
    for (int i = 0; i < 3; i++) {
        unsigned char *const memory =
            domain.alloc(rdma.queues_pd, domain.pd_context, 8192, alignments[i], 0);
        assert_int_equal((uintptr_t)memory % alignments[i], 0);
        for (int k = 0; k < 8192; k++)
            assert_int_equal(memory[k], 0);
        memset(memory, 0xff, 8192);
        domain.free(rdma.queues_pd, domain.pd_context, memory, 0);
    }
    weft_rdma_close(&rdma);
}

static void test_queue(void **unused)
{
    _Alignas(8) unsigned char memory[BYTES] = {0};
    const uint64_t base = (uint64_t)(uintptr_t)memory;
    const struct weft_gda_keys keys = {.count = 1,
                                       .key = {{.begin = base, .end = base + BYTES, .lkey = KEY}}};
    struct weft_bell bell = {0};
    struct weft_softnic nic = {.keys = &keys, .bell = &bell};
    struct ibv_qp qp = {.qp_num = QPN};
    const struct weft_rdma_queue queue = {.qp = &qp};
    struct weft_gda_queue end;
    struct weft_wqe wqe;
    uint64_t sum;

    (void)unused;
    fake.stride = WEFT_MLX5_SLOT;
    memset(fake.cqe, 0xff, sizeof(fake.cqe));
    fake.doorbell = weft_mlx5_doorbell(0, QPN);
    assert_int_equal(weft_rdma_mlx5_end(&queue, &end), WEFT_OK);
    assert_int_equal(end.slots, SLOTS);
    struct weft_softnic_queue card = {.nic = &nic,
                                      .wire = &weft_softnic_loop,
                                      .wqe = fake.wqe,
                                      .cqe = fake.cqe,
                                      .record = fake.record,
                                      .doorbell = &fake.doorbell,
                                      .qpn = QPN,
                                      .slots = SLOTS,
                                      .cq_slots = COMPLETIONS};
    assert_true(weft_softnic_open(&card, 0));
    for (int i = 0; i < REQUESTS; i++) { /* more than either ring holds */
        weft_wqe_atomic(&wqe, WEFT_MLX5_FETCH_ADD, end.posted, end.qpn,
                        (struct weft_gda_remote){base + 8, KEY}, 1, 0,
                        (struct weft_gda_local){base, 8, KEY}, true);
        weft_gda_post(&end, &wqe, true);
        weft_gda_ring(&end);
        weft_softnic_round(&card);
        assert_true(weft_gda_poll(&end));
        assert_int_equal(end.done, i + 1);
    }
    memcpy(&sum, memory + 8, sizeof(sum));
    assert_int_equal(sum, REQUESTS);
    weft_softnic_close(&card);
}

/* Of another form than ranks write. */
static void test_form(void **unused)
{
    struct ibv_qp qp = {.qp_num = QPN};
    struct weft_rdma rdma = {.device = {.name = "fake:1"}};
    const struct weft_rdma_queue queue = {.rdma = &rdma, .qp = &qp};
    struct weft_gda_queue end;

    (void)unused;
    fake.stride = 128;
    assert_int_equal(weft_rdma_mlx5_end(&queue, &end), WEFT_ERR_NETWORK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory), cmocka_unit_test(test_queue),
                                       cmocka_unit_test(test_form)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
