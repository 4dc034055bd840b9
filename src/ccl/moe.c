/*
 * ccl/moe.c - mixture of experts: opens and closes one, and makes its two calls. Its rooms lie in a
 * window of their own, as a ccl's do.
 */
#include "ccl/call.h"
#include "ccl/ccl.h"

#include "base/say.h"

#include <stdlib.h>

enum { MOST_TOKENS = 1024, MOST_BYTES = 65536 };

struct weft_ccl_moe {
    weft_ccl *ccl;
    weft_win win;
    unsigned char *own; /* the room, and behind it what `moe` points to */
    uint64_t key;       /* hash of its numbers, which members compare in calls */
    struct weft_moe moe;
    struct weft_ccl_moe *next;
};

/* Fills in all but memory. Slices are a few tokens, among which dispatch counts again for each. */
static void plan(struct weft_ccl_moe *made, const weft_ccl_moe_desc *desc)
{
    const weft_ccl *const ccl = made->ccl;
    const uint32_t members = (uint32_t)ccl->view.members, most = (uint32_t)ccl->view.columns;
    const size_t back = desc->back_bytes != 0 ? desc->back_bytes : desc->row_bytes;
    const uint32_t slices = ((uint32_t)desc->tokens + 63) / 64;
    struct weft_moe *const moe = &made->moe;

    *moe = (struct weft_moe){
        .experts = (uint32_t)desc->experts,
        .each = ((uint32_t)desc->experts + members - 1) / members,
        .topk = (uint32_t)desc->topk,
        .tokens = (uint32_t)desc->tokens,
        .row = (uint32_t)desc->row_bytes,
        .back = (uint32_t)back,
        .parts = ((uint32_t)(back > desc->row_bytes ? back : desc->row_bytes) + WEFT_MOE_PART - 1) /
                 WEFT_MOE_PART};
    moe->columns = weft_ccl_columns(ccl, (uint64_t)moe->tokens * moe->row, most);
    if (moe->columns < slices)
        moe->columns = slices < most ? slices : most;
    moe->slice = moe->tokens / moe->columns + 2;
    moe->rows = (uint64_t)moe->columns * members * (moe->tokens + 1) * 4 * WEFT_MOE_TOPK;
    const uint64_t there = moe->rows + (uint64_t)members * moe->tokens * moe->row;
    const uint64_t here = (uint64_t)moe->tokens * moe->topk * moe->back;
    moe->set = there > here ? there : here;
    const uint64_t numbers[] = {moe->experts, moe->topk, moe->tokens, moe->row, moe->back};
    made->key = ccl->moes != NULL ? ccl->moes->key : 0;
    for (int i = 0; i < 5; i++)
        made->key = (made->key * 1000003 + numbers[i]) % ((uint64_t)1 << 45);
}

/* Allocates memory, and learns where all members have theirs. New memory is zero, which is how
 * columns begin. */
static weft_status meet(struct weft_ccl_moe *made, const char *name)
{
    struct weft_job *const job = made->ccl->job;
    struct weft_moe *const moe = &made->moe;
    const uint64_t counts = 2 * moe->set + moe->columns * sizeof(*moe->kept);
    const uint64_t place = counts + moe->columns * sizeof(*moe->counts);
    const uint64_t choices =
        (uint64_t)moe->columns * (uint64_t)made->ccl->view.members * moe->slice * moe->topk;
    const uint64_t bytes = place + choices * sizeof(*moe->place);

    made->own = weft_malloc(job, bytes);
    if (made->own != NULL) { /* else the others learn it */
        moe->kept = (struct weft_moe_kept *)(void *)(made->own + 2 * moe->set);
        moe->counts = (struct weft_moe_counts *)(void *)(made->own + counts);
        moe->place = (uint32_t *)(void *)(made->own + place);
    }
    return weft_ccl_meet(made->ccl, name, made->own, bytes, &made->win, moe->room);
}

static void forget(struct weft_ccl_moe *moe)
{
    struct weft_job *const job = moe->ccl->job;

    weft_ccl_part(moe->ccl, "weft_ccl_moe_close", &moe->win);
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
    WEFT_TRY(weft_job_idle(ccl->job, name));
    if (desc->experts < 1 || desc->experts > WEFT_MOE_EXPERTS || desc->topk < 1 ||
        desc->topk > WEFT_MOE_TOPK || desc->tokens < 1 || desc->tokens > MOST_TOKENS ||
        desc->row_bytes == 0 || ((desc->row_bytes | desc->back_bytes) & 15) != 0 ||
        desc->row_bytes > MOST_BYTES || desc->back_bytes > MOST_BYTES)
        return weft_refused(ccl->job, WEFT_ERR_ARGUMENT,
                            "%s: %d experts (1 to %d), %d of them for a token (1 to %d), %d tokens "
                            "(1 to %d), rows of %zu and %zu bytes (multiples of 16 up to %d)",
                            name, desc->experts, WEFT_MOE_EXPERTS, desc->topk, WEFT_MOE_TOPK,
                            desc->tokens, MOST_TOKENS, desc->row_bytes, desc->back_bytes,
                            MOST_BYTES);
    struct weft_ccl_moe *const made = calloc(1, sizeof(*made));
    if (made == NULL)
        return weft_refused(ccl->job, WEFT_ERR_MEMORY, "%s: no memory", name);
    made->ccl = ccl;
    plan(made, desc);
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

/* Memory that a call takes; of no bytes: it takes none. */
struct part {
    const void *memory;
    uint64_t bytes, aligned;
};

/* Checks memory and starts a call. wrong: what is wrong with another argument; NULL: nothing. */
static weft_status start(weft_ccl_moe *moe, const char *name, struct weft_ccl_launch *launch,
                         const char *wrong, const struct part part[5], void *stream)
{
    WEFT_TRY(weft_job_ready(moe->ccl->job, name));
    for (int i = 0; i < 5 && wrong == NULL; i++)
        if (part[i].bytes != 0)
            wrong = part[i].memory == NULL ? "there is no memory"
                    : (uintptr_t)part[i].memory % part[i].aligned != 0
                        ? "memory is not aligned"
                        : weft_ccl_no_memory(moe->ccl, part[i].memory, part[i].bytes);
    if (wrong != NULL)
        return weft_refused(moe->ccl->job, WEFT_ERR_ARGUMENT, "%s of %u tokens at %p and %p: %s",
                            name, launch->more.moe.tokens, part[0].memory, part[1].memory, wrong);
    launch->more.moe.moe = moe->moe;
    return weft_ccl_start(moe->ccl, name, launch, moe->moe.columns, false, stream);
}

/* Returns the most rows that there can be for the own experts. */
static uint64_t places(const weft_ccl_moe *moe)
{
    return (uint64_t)moe->moe.each * (uint64_t)moe->ccl->view.members * moe->moe.tokens;
}

weft_status weft_ccl_dispatch(weft_ccl_moe *moe, const void *rows, const int32_t *chosen,
                              int tokens, void *out, int32_t *counts, int32_t *origin, void *stream)
{
    if (moe == NULL)
        return weft_err(WEFT_ERR_ARGUMENT, "weft_ccl_dispatch: moe is NULL");
    const uint64_t n = (uint32_t)tokens;
    struct weft_ccl_launch launch = {
        .call = weft_ccl_call_of(WEFT_CCL_DISPATCH, rows, out, moe->key, WEFT_U8, WEFT_SUM, 0),
        .more.moe = {
            .chosen = chosen, .counts = counts, .origin = origin, .tokens = (uint32_t)tokens}};
    const struct part part[5] = {{rows, n * moe->moe.row, 16},
                                 {out, places(moe) * moe->moe.row, 16},
                                 {chosen, n * moe->moe.topk * 4, 4},
                                 {counts, moe->moe.each * 4, 4},
                                 {origin, origin != NULL ? places(moe) * 4 : 0, 4}};
    return start(moe, "weft_ccl_dispatch", &launch,
                 n > moe->moe.tokens ? "that many are not allowed" : NULL, part, stream);
}

weft_status weft_ccl_combine(weft_ccl_moe *moe, const void *in, const float *weights,
                             weft_type type, void *target, void *stream)
{
    if (moe == NULL)
        return weft_err(WEFT_ERR_ARGUMENT, "weft_ccl_combine: moe is NULL");
    const bool real = type == WEFT_F32 || type == WEFT_F16 || type == WEFT_BF16;
    struct weft_ccl_launch launch = {.call =
                                         weft_ccl_call_of(WEFT_CCL_COMBINE, in, target, moe->key,
                                                          real ? type : WEFT_F32, WEFT_SUM, 0),
                                     .more.moe = {.weights = weights}};
    const struct part part[5] = {{in, places(moe) * moe->moe.back, 16},
                                 {target, 16, 16}, /* for how many tokens, the device knows */
                                 {weights, 4, 4}};
    return start(moe, "weft_ccl_combine", &launch, real ? NULL : "the type is not F32, F16 or BF16",
                 part, stream);
}
