/*
 * fuzz_cqe.c - completions with any bytes, at a rank's own queue and at one that ranks share. What
 * is complete never goes back, nor beyond what was posted, or, shared, what can be under way. A
 * failure stays one.
 */
#include "fuzz.h"

#include "base/task.h"
#include "gda/shared.h"

enum { SLOTS = 16, QPN = 7, TURNS = 24 };

static _Alignas(64) unsigned char wqe[SLOTS * WEFT_MLX5_SLOT], cqe[WEFT_MLX5_CQE_BYTES];

/* The next completion: often one that a NIC could write, of one of the last requests. */
static void any_completion(struct fuzz_bytes *in, const struct weft_gda_queue *queue)
{
    const unsigned kind = fuzz_byte(in);
    uint32_t last =
        weft_mlx5_cqe_last((uint32_t)(queue->posted - 1 - fuzz_byte(in) % SLOTS) & 0xffff,
                           kind < 8 ? WEFT_MLX5_CQE_ERROR : WEFT_MLX5_CQE_REQUEST);

    if (kind % 4 == 3)
        last = fuzz_word(in);
    cqe[WEFT_MLX5_CQE_SYNDROME + 3] = (unsigned char)fuzz_byte(in);
    memcpy(cqe + WEFT_MLX5_CQE_LAST, &last, sizeof(last));
}

/* A slot with a request that asks for a completion, if there is room. */
static void post(struct weft_gda_queue *queue)
{
    struct weft_wqe request;

    if (queue->shared != NULL)
        weft_gda_reserve(queue, 1);
    weft_wqe_control(&request, WEFT_MLX5_NOP, queue->posted, QPN, 1, true);
    weft_gda_post(queue, &request, true);
    if (queue->shared != NULL)
        weft_gda_publish(queue);
}

static void any_turns(struct fuzz_bytes in, struct weft_gda_queue *queue)
{
    struct weft_gda_shared *const shared = queue->shared;
    const uint64_t *const done = shared != NULL ? &shared->done : &queue->done;
    bool failed = false;

    memset(cqe, 0xff, sizeof(cqe));
    for (int t = 0; t < TURNS; t++) {
        const uint64_t before = *done;
        for (unsigned i = fuzz_byte(&in) % 4; i > 0 && queue->posted - before < SLOTS; i--)
            post(queue);
        any_completion(&in, queue);
        const bool good = shared != NULL ? weft_gda_shared_poll(queue) : weft_gda_poll(queue);
        MUST(*done >= before && *done <= (shared != NULL ? before + SLOTS : queue->posted));
        MUST(good == (queue->syndrome == 0) && (!failed || !good));
        failed = !good;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_bytes in = {data, bytes};
    const uint64_t start = fuzz_byte(&in) % 2 != 0 ? 0xfff8 : 0;
    struct weft_gda_queue own = {.wqe = (uint64_t *)(void *)wqe,
                                 .cqe = cqe,
                                 .qpn = QPN,
                                 .slots = SLOTS,
                                 .posted = start,
                                 .rung = start,
                                 .done = start,
                                 .asked = start};
    struct weft_gda_queue of_all = own;
    struct weft_gda_shared shared = {
        .ready = start, .done = start, .rung = start, .reserved = (uint32_t)start};

    of_all.shared = &shared;
    of_all.next_done = start;
    any_turns(in, &own);
    any_turns(in, &of_all);
    return 0;
}
