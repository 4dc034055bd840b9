/* gda/softnic/block.cu - the kernel of block.h: it serves queues beside a kernel of ranks. */
#include "device/beside.h"
#include "gda/softnic/block.h"

enum { LOOKS = 256 }; /* turns between two looks at the host's word */

/* Copies words, shared out among `threads` threads. */
WEFT_INLINE void copy_words(void *to, const void *from, uint32_t bytes, uint32_t thread,
                            uint32_t threads)
{
    for (uint32_t i = thread; i < bytes / 4; i += threads)
        ((uint32_t *)to)[i] = ((const uint32_t *)from)[i];
}

/*
 * Whether the warp is to leave. One warp of a block looks, at a word of the block's own: where each
 * warp of 17 blocks read one word of the host's, and fenced, a request took ten times as long.
 */
WEFT_INLINE bool told_to_leave(struct weft_beside_control *control, uint32_t turn,
                               volatile uint32_t *told)
{
    if (threadIdx.x == 0 && weft_load_relaxed_u32(&control->leave[blockIdx.x].word) == turn) {
        weft_fence_release(ORDER_nic_rung); /* for the others, too */
        *told = 1;
    }
    if (weft_nic_first(*told) == 0)
        return false;
    weft_fence_release(ORDER_nic_rung); /* what ranks rang for is visible in the last turn */
    __syncwarp();
    return true;
}

/* Serves queues. argument: struct weft_nic. The blocks leave when they are told to and nothing is
 * left to do. What each request needs is in shared memory, since every acquire empties the L1
 * cache. */
#ifdef __cplusplus
extern "C"
#endif
    __global__ void
    __launch_bounds__(WEFT_BESIDE_THREADS, WEFT_BESIDE_EACH)
        weft_nic_block(const struct weft_nic *argument, struct weft_beside_control *control,
                       uint32_t turn)
{
    __shared__ uint64_t words[WEFT_NIC_QUEUES][WEFT_NIC_WORDS];
    __shared__ struct weft_gda_keys keys;
    __shared__ struct weft_nic_queue own[WEFT_NIC_QUEUES];
    __shared__ uint32_t told;
    const uint32_t lane = threadIdx.x % 32, row = threadIdx.x / 32;
    const uint64_t first = blockIdx.x * WEFT_NIC_QUEUES + row, step = gridDim.x * WEFT_NIC_QUEUES;
    struct weft_nic nic = *argument;
    const bool alone = first < nic.count && first + step >= nic.count; /* the warp's only queue */
    uint32_t turns = 0;
    bool leaves = false, did;

    told = 0;
    copy_words(&keys, nic.keys, sizeof(keys), threadIdx.x, blockDim.x);
    if (alone)
        copy_words(&own[row], &nic.queues[first], sizeof(own[row]), lane, 32);
    nic.keys = &keys;
    __syncthreads();
    if (threadIdx.x == 0)
        weft_store_relaxed_u32(&control->begun[blockIdx.x], turn);
    do {
        if (!leaves && ++turns % LOOKS == 0)
            leaves = told_to_leave(control, turn, &told);
        did = false;
        for (uint64_t i = first; i < nic.count; i += step)
            if (weft_nic_turn(&nic, alone ? &own[row] : &nic.queues[i], words[row], lane))
                did = true;
    } while (did || !leaves);
    if (alone)
        copy_words(&nic.queues[first], &own[row], sizeof(own[row]), lane, 32);
}
