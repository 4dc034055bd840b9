/*
 * ccl/moe.c - mixture of experts: opening and closing, and its two calls. Its rooms lie in a window
 * of their own, as a ccl's do.
 */
#include "ccl/call.h"
#include "ccl/ccl.h"

#include "base/say.h"

#include <stdlib.h>

enum { MOST_TOKENS = 1024, MOST_BYTES = 65536 };

struct weft_ccl_moe {
    weft_ccl *ccl;
    weft_win win;
    unsigned char *own; /* the room; behind it what `moe` points to */
    uint64_t key;       /* of its numbers */
    uint32_t number;    /* of its ccl's, modulo 8 */
    struct weft_moe moe;
    struct weft_ccl_moe *next;
};

static bool is_row(size_t bytes)
{
    return bytes != 0 && bytes <= MOST_BYTES && bytes % 16 == 0;
}

/* Everything but memory. */
static void plan(struct weft_ccl_moe *made, const weft_ccl_moe_desc *desc, size_t back)
{
    const weft_ccl *const ccl = made->ccl;
    const uint32_t members = (uint32_t)ccl->view.members, most = (uint32_t)ccl->view.columns;
    struct weft_moe *const moe = &made->moe;

    moe->experts = (uint32_t)desc->experts;
    moe->each = (moe->experts + members - 1) / members;
    moe->topk = (uint32_t)desc->topk;
    moe->tokens = (uint32_t)desc->tokens;
    moe->row = (uint32_t)desc->row_bytes;
    moe->back = (uint32_t)back;
    moe->columns = weft_ccl_columns(ccl, (uint64_t)moe->tokens * moe->row, most);
    if (moe->columns < (moe->tokens + 15) / 16) /* a few tokens each, among which a row is sought */
        moe->columns = (moe->tokens + 15) / 16 < most ? (moe->tokens + 15) / 16 : most;
    moe->rows = (uint64_t)moe->columns * members * (moe->tokens + 1) * 4 * WEFT_MOE_TOPK;
    const uint64_t there = moe->rows + (uint64_t)members * moe->tokens * moe->row;
    const uint64_t here = (uint64_t)moe->tokens * moe->topk * moe->back;
    moe->set = there > here ? there : here;
    made->key = moe->experts;
    made->key = made->key * (WEFT_MOE_TOPK + 1) + moe->topk;
    made->key = made->key * (MOST_TOKENS + 1) + moe->tokens;
    made->key = made->key * (MOST_BYTES / 16 + 1) + moe->row / 16;
    made->key = made->key * (MOST_BYTES / 16 + 1) + moe->back / 16;
    made->number = ccl->moes != NULL ? (ccl->moes->number + 1) % 8 : 0;
}

/* Memory, and where all members have theirs. */
static weft_status meet(struct weft_ccl_moe *made, const char *name)
{
    struct weft_job *const job = made->ccl->job;
    struct weft_moe *const moe = &made->moe;
    const struct weft_moe_kept nothing = {.turn = 0};
    const uint64_t kept = 2 * moe->set, counts = kept + moe->columns * sizeof(*moe->kept);
    const uint64_t place =
        counts + (job->device_ops->host_access ? moe->columns : 0) * sizeof(*moe->counts);
    const uint64_t bytes =
        place + (uint64_t)made->ccl->view.members * moe->tokens * moe->topk * sizeof(*moe->place);

    made->own = weft_malloc(job, bytes);
    weft_status status = weft_ccl_meet(made->ccl, name, made->own, made->own != NULL ? bytes : 0,
                                       &made->win, moe->room);
    moe->kept = (struct weft_moe_kept *)(void *)(made->own + kept);
    moe->counts = (struct weft_moe_counts *)(void *)(made->own + counts);
    moe->place = (uint32_t *)(void *)(made->own + place);
    for (uint32_t i = 0; i < moe->columns && status == WEFT_OK; i++)
        status = weft_refuse(job, weft_job_copy(job, &moe->kept[i], &nothing, sizeof(nothing)));
    return status;
}

static void forget(struct weft_ccl_moe *moe)
{
    struct weft_job *const job = moe->ccl->job;

    if (moe->win != WEFT_WIN_NONE && weft_job_status(job) == WEFT_OK)
        weft_host_win_free(job, &moe->win);
    weft_free(job, moe->own);
    free(moe);
}

void weft_ccl_forget_moes(struct weft_ccl *ccl)
{
    while (ccl->moes != NULL) {
        struct weft_ccl_moe *const moe = ccl->moes;
        ccl->moes = moe->next;
        free(moe);
    }
}

weft_status weft_ccl_moe_open(weft_ccl *ccl, const weft_ccl_moe_desc *desc, weft_ccl_moe **moe)
{
    static const char name[] = "weft_ccl_moe_open";

    if (ccl == NULL || desc == NULL || moe == NULL)
        return weft_err(WEFT_ERR_ARGUMENT, "%s: ccl, desc or moe is NULL", name);
    const size_t back = desc->back_bytes != 0 ? desc->back_bytes : desc->row_bytes;
    const weft_status idle = weft_job_idle(ccl->job, name);
    if (idle != WEFT_OK)
        return idle;
    if (desc->experts < 1 || desc->experts > WEFT_MOE_EXPERTS || desc->topk < 1 ||
        desc->topk > WEFT_MOE_TOPK || desc->tokens < 1 || desc->tokens > MOST_TOKENS ||
        !is_row(desc->row_bytes) || !is_row(back))
        return weft_refused(ccl->job, WEFT_ERR_ARGUMENT,
                            "%s: %d experts (1 to %d), %d of them for a token (1 to %d), %d tokens "
                            "(1 to %d), rows of %zu and %zu bytes (multiples of 16 up to %d)",
                            name, desc->experts, WEFT_MOE_EXPERTS, desc->topk, WEFT_MOE_TOPK,
                            desc->tokens, MOST_TOKENS, desc->row_bytes, back, MOST_BYTES);
    struct weft_ccl_moe *const made = calloc(1, sizeof(*made));
    if (made == NULL)
        return weft_refused(ccl->job, WEFT_ERR_MEMORY, "%s: no memory", name);
    made->ccl = ccl;
    plan(made, desc, back);
    const weft_status status = meet(made, name);
    if (status != WEFT_OK) {
        forget(made);
        return status;
    }
    made->next = ccl->moes;
    ccl->moes = *moe = made;
    return WEFT_OK;
}

weft_status weft_ccl_moe_close(weft_ccl_moe **moe)
{
    if (moe == NULL || *moe == NULL)
        return WEFT_OK;
    struct weft_ccl_moe **at = &(*moe)->ccl->moes;
    const weft_status status = weft_ccl_check((*moe)->ccl);
    if (weft_job_started((*moe)->ccl->job))
        return weft_job_idle((*moe)->ccl->job, "weft_ccl_moe_close");
    while (*at != *moe)
        at = &(*at)->next;
    *at = (*moe)->next;
    forget(*moe);
    *moe = NULL;
    return status;
}

/* Memory of a call that is missing, or wrong: NULL: none is. */
static const char *wrong_memory(const weft_ccl *ccl, const void *memory, uint64_t bytes, int apart)
{
    return bytes == 0       ? NULL
           : memory == NULL ? "there is no memory"
           : ((uintptr_t)memory & (size_t)(apart - 1)) != 0
               ? "memory is not aligned"
               : weft_ccl_no_memory(ccl, memory, bytes);
}

/* Rows of all own experts: as many as there can be. */
static uint64_t rows_of(const weft_ccl_moe *moe)
{
    return (uint64_t)moe->moe.each * (uint64_t)moe->ccl->view.members * moe->moe.tokens;
}

static weft_status start(weft_ccl_moe *moe, const char *name, uint32_t what, const void *source,
                         void *target, weft_type type, struct weft_moe_call own, const char *wrong,
                         void *stream)
{
    if (wrong != NULL)
        return weft_refused(moe->ccl->job, WEFT_ERR_ARGUMENT, "%s at %p and %p: %s", name, source,
                            target, wrong);
    struct weft_ccl_launch launch = {
        .call = weft_ccl_call_of(what, source, target, moe->key, type, WEFT_SUM, moe->number)};
    launch.more.moe = own;
    return weft_ccl_start(moe->ccl, name, &launch, moe->moe.columns, false, stream);
}

weft_status weft_ccl_moe_dispatch(weft_ccl_moe *moe, const void *rows, const int32_t *chosen,
                                  int tokens, void *out, int32_t *counts, int32_t *origin,
                                  void *stream)
{
    static const char name[] = "weft_ccl_moe_dispatch";

    if (moe == NULL)
        return weft_err(WEFT_ERR_ARGUMENT, "%s: moe is NULL", name);
    const weft_status status = weft_job_ready(moe->ccl->job, name);
    const uint64_t n = tokens > 0 ? (uint64_t)tokens : 0, all = rows_of(moe);
    const char *wrong = n > moe->moe.tokens || tokens < 0 ? "tokens: none, or too many" : NULL;
    if (status != WEFT_OK)
        return status;
    if (wrong == NULL)
        wrong = wrong_memory(moe->ccl, rows, n * moe->moe.row, 16);
    if (wrong == NULL)
        wrong = wrong_memory(moe->ccl, chosen, n * moe->moe.topk * 4, 4);
    if (wrong == NULL)
        wrong = wrong_memory(moe->ccl, out, all * moe->moe.row, 16);
    if (wrong == NULL)
        wrong = wrong_memory(moe->ccl, counts, moe->moe.each * 4, 4);
    if (wrong == NULL && origin != NULL)
        wrong = wrong_memory(moe->ccl, origin, all * 4, 4);
    return start(moe, name, WEFT_CCL_DISPATCH, rows, out, WEFT_U8,
                 (struct weft_moe_call){.moe = moe->moe,
                                        .chosen = chosen,
                                        .counts = counts,
                                        .origin = origin,
                                        .tokens = (uint32_t)n},
                 wrong, stream);
}

weft_status weft_ccl_moe_combine(weft_ccl_moe *moe, const void *in, const float *weights,
                                 weft_type type, void *target, void *stream)
{
    static const char name[] = "weft_ccl_moe_combine";

    if (moe == NULL)
        return weft_err(WEFT_ERR_ARGUMENT, "%s: moe is NULL", name);
    const weft_status status = weft_job_ready(moe->ccl->job, name);
    const char *wrong = type != WEFT_F32 && type != WEFT_F16 && type != WEFT_BF16
                            ? "the type is not F32, F16 or BF16"
                            : NULL;
    if (status != WEFT_OK)
        return status;
    if (wrong == NULL)
        wrong = wrong_memory(moe->ccl, in, rows_of(moe) * moe->moe.back, 16);
    if (wrong == NULL) /* for how many tokens, the device knows */
        wrong = wrong_memory(moe->ccl, weights, 4, 4);
    if (wrong == NULL)
        wrong = wrong_memory(moe->ccl, target, 16, 16);
    return start(moe, name, WEFT_CCL_COMBINE, in, target, type,
                 (struct weft_moe_call){.moe = moe->moe, .weights = weights}, wrong, stream);
}
