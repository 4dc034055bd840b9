/*
 * rank/block.h - inside a rank: values of its threads put together, and atomics on memory that they
 * share.
 *
 * On a GPU a value goes up the lanes of its warp, then the last lanes' go over the warps, in their
 * order. On the CPU device the last thread to come goes over those of all (together.h).
 */
#ifndef WEFT_RANK_BLOCK_H
#define WEFT_RANK_BLOCK_H

#include "rank/together.h"
#include "rank/update.h"

/* What a thread brings to a reduction, or several have brought. */
struct weft_thread_value {
    uint64_t bits, index;
};

/* Joins values; a is of lower threads. Where neither gives way, the smaller index counts. */
WEFT_INLINE struct weft_thread_value weft_thread_value_join(struct weft_thread_value a,
                                                            struct weft_thread_value b,
                                                            uint32_t type, uint32_t how,
                                                            const bool indexed)
{
    struct weft_change change = weft_change(how, type, b.bits, 0);
    const uint64_t made = weft_change_of(a.bits, &change);
    const bool a_stays = made == a.bits;

    if (indexed) {
        change.value = a.bits;
        const bool b_stays = weft_change_of(b.bits, &change) == b.bits;
        if (a_stays != b_stays ? b_stays : b.index < a.index)
            a = b;
    } else {
        a.bits = made;
    }
    return a;
}

WEFT_INLINE void weft_element_set(void *to, uint64_t bits, uint32_t size)
{
    const uint32_t narrow = (uint32_t)bits;

    if (size == 8)
        memcpy(to, &bits, 8);
    else
        memcpy(to, &narrow, 4);
}

#ifdef __CUDACC__

/* Sums up the lanes of each warp, then over the warps: the same order in every run. */
WEFT_FN double weft_block_sum(weft_self *self, double value)
{
    double *sums = ((struct weft_cuda_rank *)self)->sums;
    const unsigned lane = threadIdx.x % 32, warps = (blockDim.x + 31) / 32;

    for (unsigned step = 16; step > 0; step /= 2) {
        const double other = __shfl_down_sync(~0u, value, step);
        if (lane + step < 32 && threadIdx.x + step < blockDim.x)
            value += other;
    }
    if (lane == 0)
        sums[threadIdx.x / 32] = value;
    __syncthreads();
    double sum = 0;
    for (unsigned w = 0; w < warps; w++)
        sum += sums[w];
    __syncthreads(); /* the next sum may begin */
    return sum;
}

WEFT_FN double weft_lane_sum(weft_self *self, double value, int lanes)
{
    (void)self;
    for (int step = lanes / 2; step > 0; step /= 2)
        value += __shfl_xor_sync(~0u, value, step);
    return value;
}

/* Combines threads 0 to this one; *all: all threads. lanes, call: for the CPU device. */
WEFT_INLINE struct weft_thread_value
weft_block_fold(weft_self *self, struct weft_thread_value mine, uint32_t type, uint32_t how,
                const bool indexed, struct weft_thread_value *all, int lanes, const char *call)
{
    __shared__ uint64_t indexes[32];
    uint64_t *const bits = (uint64_t *)((struct weft_cuda_rank *)self)->sums;
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    (void)lanes, (void)call;
    for (unsigned step = 1; step < 32; step *= 2) {
        struct weft_thread_value lower = mine;
        lower.bits = __shfl_up_sync(~0u, mine.bits, step);
        if (indexed)
            lower.index = __shfl_up_sync(~0u, mine.index, step);
        if (lane >= step)
            mine = weft_thread_value_join(lower, mine, type, how, indexed);
    }
    if (lane == 31 || threadIdx.x == blockDim.x - 1) {
        bits[warp] = mine.bits;
        if (indexed)
            indexes[warp] = mine.index;
    }
    __syncthreads();
    for (unsigned w = 0; w < (blockDim.x + 31) / 32; w++) {
        const struct weft_thread_value part = {bits[w], indexed ? indexes[w] : 0};
        if (w != 0 && w == warp)
            mine = weft_thread_value_join(*all, mine, type, how, indexed);
        *all = w == 0 ? part : weft_thread_value_join(*all, part, type, how, indexed);
    }
    __syncthreads(); /* the next may begin */
    return mine;
}

#else

/* Makes the call for all threads: of each group of `lanes` of them, or of all (0). */
static void weft_fold_threads(weft_self *self, int threads, int lanes, uint32_t type, uint32_t how,
                              bool indexed)
{
    const int group = lanes != 0 ? lanes : threads;

    if (group < 1 || threads % group != 0)
        weft_fail4(self, WEFT_ERR_ARGUMENT, "weft_lane_sum: %d lanes do not divide %d threads",
                   lanes, threads, 0, 0);
    for (int t = 0; t < threads; t++) {
        struct weft_thread_value *const part = weft_team_call(self->port.team, t)->part;
        if (t % group != 0)
            *part = weft_thread_value_join(weft_team_call(self->port.team, t - 1)->part[0], *part,
                                           type, how, indexed);
    }
    for (int t = 0; t < threads; t++)
        weft_team_call(self->port.team, t)->part[1] =
            weft_team_call(self->port.team, t / group * group + group - 1)->part[0];
}

static struct weft_thread_value weft_block_fold(weft_self *self, struct weft_thread_value mine,
                                                uint32_t type, uint32_t how, bool indexed,
                                                struct weft_thread_value *all, int lanes,
                                                const char *name)
{
    struct weft_thread_value parts[2] = {mine, mine};
    struct weft_call call = {
        .name = name,
        .arguments = "lanes, type, operation, index",
        .count = 4,
        .value = (const uint64_t[]){(uint64_t)lanes, type, how, indexed},
        .part = parts,
    };
    const int threads = weft_threads(self);

    if (threads != 1 && weft_together(self, &call)) {
        weft_fold_threads(self, threads, lanes, type, how, indexed);
        weft_team_made(self->port.team);
    }
    *all = parts[1];
    return parts[0];
}

static double weft_sum_threads(weft_self *self, double value, int lanes, const char *call)
{
    struct weft_thread_value mine = {.index = 0};

    weft_element_set(&mine.bits, weft_element(&value, 0, 8), 8);
    weft_block_fold(self, mine, WEFT_F64, WEFT_SUM, false, &mine, lanes, call);
    memcpy(&value, &mine.bits, sizeof(value));
    return value;
}

double weft_lane_sum(weft_self *self, double value, int lanes)
{
    return weft_sum_threads(self, value, lanes, __func__);
}

double weft_block_sum(weft_self *self, double value)
{
    return weft_sum_threads(self, value, 0, __func__);
}

#endif

/* ---- reductions ------------------------------------------------------------------------------ */

/* Whether there is such a type, and such an operation for it. */
WEFT_INLINE bool weft_combines(uint32_t type, uint32_t operation)
{
    return operation <= WEFT_PROD && weft_change_exists(operation, type);
}

WEFT_FN void weft_block_reduce(weft_self *self, void *value, weft_type type,
                               weft_operation operation, uint64_t *index)
{
    if (WEFT_UNLIKELY(!weft_combines(type, operation) || value == NULL ||
                      (index != NULL && operation != WEFT_MIN && operation != WEFT_MAX)))
        weft_fail4(self, WEFT_ERR_ARGUMENT,
                   "weft_block_reduce: type %d, operation %d, value at 0x%llx, index at 0x%llx",
                   type, operation, (int64_t)(uintptr_t)value, (int64_t)(uintptr_t)index);
    const uint32_t size = weft_type_bytes(type);
    struct weft_thread_value all = {weft_element(value, 0, size), index != NULL ? *index : 0};

    weft_block_fold(self, all, type, operation, index != NULL, &all, 0, "weft_block_reduce");
    weft_element_set(value, all.bits, size);
    if (index != NULL)
        *index = all.index;
}

WEFT_FN void weft_block_scan(weft_self *self, void *value, weft_type type, weft_operation operation,
                             void *all)
{
    if (WEFT_UNLIKELY(!weft_combines(type, operation) || value == NULL))
        weft_fail4(self, WEFT_ERR_ARGUMENT,
                   "weft_block_scan: type %d, operation %d, value at 0x%llx", type, operation,
                   (int64_t)(uintptr_t)value, 0);
    const uint32_t size = weft_type_bytes(type);
    const struct weft_thread_value mine = {weft_element(value, 0, size), 0};
    struct weft_thread_value total;
    const struct weft_thread_value scanned =
        weft_block_fold(self, mine, type, operation, false, &total, 0, "weft_block_scan");

    weft_element_set(value, scanned.bits, size);
    if (all != NULL)
        weft_element_set(all, total.bits, size);
}

/* ---- atomics --------------------------------------------------------------------------------- */

WEFT_INLINE void weft_atomic_word(weft_self *self, void *word, uint32_t type, uint32_t how,
                                  const void *value, const void *expected, void *old,
                                  const char *call)
{
    const uint32_t size = weft_type_bytes(type);

    if (WEFT_UNLIKELY(!weft_change_exists(how, type) || value == NULL || expected == NULL ||
                      word == NULL || ((uintptr_t)word & (size - 1)) != 0))
        weft_fail_in(self, WEFT_ERR_ARGUMENT, call,
                     "%s: word 0x%llx of type %lld, operation %lld, value at 0x%llx: there is no "
                     "such thing, or it is not aligned",
                     (int64_t)(uintptr_t)word, type, how, (int64_t)(uintptr_t)value);
    const struct weft_change change =
        weft_change(how, type, weft_element(value, 0, size), weft_element(expected, 0, size));
    const uint64_t was = weft_update_anywhere(word, &change);
    if (old != NULL)
        weft_element_set(old, was, size);
}

WEFT_FN void weft_atomic(weft_self *self, void *word, const void *value, weft_type type,
                         weft_operation operation, void *old)
{
    weft_atomic_word(self, word, type, operation <= WEFT_PROD ? operation : UINT32_MAX, value,
                     value, old, "weft_atomic");
}

WEFT_FN void weft_atomic_swap(weft_self *self, void *word, const void *value, weft_type type,
                              void *old)
{
    weft_atomic_word(self, word, type, WEFT_REPLACE, value, value, old, "weft_atomic_swap");
}

WEFT_FN void weft_atomic_compare_swap(weft_self *self, void *word, const void *expected,
                                      const void *desired, weft_type type, void *old)
{
    weft_atomic_word(self, word, type, WEFT_COMPARE, desired, expected, old,
                     "weft_atomic_compare_swap");
}

#endif
