/*
 * The bytes of gda/mlx5_format.h and gda/wqe.h are those of rdma-core's mlx5dv.h: each kind of
 * request is built here with that header's functions, too. Completions are read by its structs.
 */
#include "gda/softnic/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#if __has_include(<infiniband/mlx5dv.h>)
#include <infiniband/mlx5dv.h>

enum { QPN = 0x12345, RKEY = 0x0badcafe, LKEY = 0x00c0ffee, INDEX = 0x1fffe };
static const uint64_t REMOTE = 0x7f00123456789abcu & ~7ull, LOCAL = 0x7ffeedcba987654cu;
static int equal;

static void check(const struct weft_wqe *ours, const void *theirs)
{
    assert_memory_equal(ours->word, theirs, WEFT_MLX5_SLOT * WEFT_MLX5_SLOTS_MOST);
    equal++;
}

/* Control and remote address, as theirs; what follows begins at the result. */
static unsigned char *begin(unsigned char *bytes, uint8_t opcode, uint32_t units, bool complete)
{
    memset(bytes, 0, WEFT_MLX5_SLOT * WEFT_MLX5_SLOTS_MOST);
    mlx5dv_set_ctrl_seg((void *)bytes, (uint16_t)INDEX, opcode, 0, QPN,
                        complete ? MLX5_WQE_CTRL_CQ_UPDATE : 0, (uint8_t)units, 0, 0);
    struct mlx5_wqe_raddr_seg *remote = (void *)(bytes + sizeof(struct mlx5_wqe_ctrl_seg));
    if (opcode != MLX5_OPCODE_NOP)
        *remote = (struct mlx5_wqe_raddr_seg){htobe64(REMOTE), htobe32(RKEY), 0};
    return (unsigned char *)(remote + 1);
}

static void test_requests(void **state)
{
    static const uint32_t sizes[] = {1, 4, 8, 28, 29, 60, 64, WEFT_MLX5_INLINE_MOST};
    const struct weft_gda_remote remote = {REMOTE, RKEY};
    const struct weft_gda_local old = {LOCAL, 8, LKEY}, local = {LOCAL, 1u << 20, LKEY};
    unsigned char theirs[WEFT_MLX5_SLOT * WEFT_MLX5_SLOTS_MOST], data[WEFT_MLX5_INLINE_MOST];
    struct weft_wqe ours;

    (void)state;
    for (int complete = 0; complete < 2; complete++) {
        begin(theirs, MLX5_OPCODE_NOP, 1, complete);
        weft_wqe_control(&ours, WEFT_MLX5_NOP, INDEX, QPN, 1, complete);
        check(&ours, theirs);
        mlx5dv_set_data_seg((void *)begin(theirs, MLX5_OPCODE_RDMA_WRITE, 3, complete), 1u << 20,
                            LKEY, LOCAL);
        weft_wqe_move(&ours, WEFT_MLX5_WRITE, INDEX, QPN, remote, local, complete);
        check(&ours, theirs);
        mlx5dv_set_data_seg((void *)begin(theirs, MLX5_OPCODE_RDMA_READ, 3, complete), 1u << 20,
                            LKEY, LOCAL);
        weft_wqe_move(&ours, WEFT_MLX5_READ, INDEX, QPN, remote, local, complete);
        check(&ours, theirs);
        weft_wqe_move(&ours, WEFT_MLX5_READ, INDEX ^ 0x5a5a, QPN, remote, local, false);
        weft_wqe_number(&ours, INDEX, complete); /* as one that is put together before */
        check(&ours, theirs);
        for (int add = 0; add < 2; add++) {
            struct mlx5_wqe_atomic_seg *atomic = (void *)begin(
                theirs, add ? MLX5_OPCODE_ATOMIC_FA : MLX5_OPCODE_ATOMIC_CS, 4, complete);
            *atomic = (struct mlx5_wqe_atomic_seg){htobe64(77), htobe64(0x1122334455667788u)};
            mlx5dv_set_data_seg((void *)(atomic + 1), 8, LKEY, LOCAL);
            weft_wqe_atomic(&ours, add ? WEFT_MLX5_FETCH_ADD : WEFT_MLX5_COMPARE_SWAP, INDEX, QPN,
                            remote, 77, 0x1122334455667788u, old, complete);
            check(&ours, theirs);
        }
    }
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (uint32_t k = 0; k < sizes[i]; k++)
            data[k] = (unsigned char)(k * 7 + sizes[i]);
        const uint32_t units = 2 + (4 + sizes[i] + 15) / 16;
        unsigned char *at = begin(theirs, MLX5_OPCODE_RDMA_WRITE, units, i % 2 != 0);
        const uint32_t count = htobe32(sizes[i] | MLX5_INLINE_SEG);
        memcpy(at, &count, sizeof(count));
        memcpy(at + sizeof(count), data, sizes[i]);
        weft_wqe_inline(&ours, INDEX, QPN, remote, data, sizes[i], i % 2 != 0);
        check(&ours, theirs);
        assert_int_equal(ours.slots, units <= 4 ? 1 : 2);
    }
    printf("%d requests equal mlx5dv's, byte by byte\n", equal);
    assert_int_equal(equal, 20);
}

static void test_completions(void **state)
{
    (void)state;
    assert_int_equal(sizeof(struct mlx5_cqe64), WEFT_MLX5_CQE_BYTES);
    assert_int_equal(offsetof(struct mlx5_cqe64, wqe_counter), WEFT_MLX5_CQE_LAST);
    assert_int_equal(MLX5_CQE_REQ_ERR, WEFT_MLX5_CQE_ERROR);
    assert_int_equal(MLX5_CQE_RESP_ERR, WEFT_MLX5_CQE_RESPONSE_ERROR);
    assert_int_equal(MLX5_CQE_INVALID, WEFT_MLX5_CQE_INVALID);
    assert_int_equal(MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR, WEFT_MLX5_LOCAL_OPERATION);
    assert_int_equal(MLX5_CQE_SYNDROME_LOCAL_PROT_ERR, WEFT_MLX5_LOCAL_PROTECTION);
    assert_int_equal(MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR, WEFT_MLX5_REMOTE_REQUEST);
    assert_int_equal(MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR, WEFT_MLX5_REMOTE_ACCESS);
    assert_int_equal(MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR, WEFT_MLX5_RETRIES);
    struct mlx5_cqe64 cqe;
    struct weft_gda_queue queue = {
        .cqe = (unsigned char *)&cqe, .posted = 0x2fedd, .done = 0x2fed0};
    memset(&cqe, 0xff, sizeof(cqe));
    assert_true(weft_gda_poll(&queue)); /* there is none yet */
    assert_int_equal(queue.done, 0x2fed0);
    cqe.wqe_counter = htobe16(0xfedc);
    cqe.op_own = MLX5_CQE_REQ << 4;
    for (int owner = 0; owner < 2; owner++) { /* of a card, either */
        queue.done = 0x2fed0;
        mlx5dv_set_cqe_owner(&cqe, (uint8_t)owner);
        assert_true(weft_gda_poll(&queue));
        assert_int_equal(queue.done, 0x2fedd);
    }
}
#else
static void test_requests(void **state)
{
    (void)state;
    skip(); /* rdma-core's headers are not installed */
}
static void test_completions(void **state)
{
    (void)state;
    skip();
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_requests),
                                       cmocka_unit_test(test_completions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
