/* gda/softnic/block.cu - the kernel of block.h: it serves queues beside a kernel of ranks. */
#include "device/beside.h"
#include "gda/softnic/block.h"

enum { LOOKS = 256 }; /* turns without work between two looks at the host's word */

/* argument: struct weft_nic. The blocks leave when they are told to and nothing is left to do. */
#ifdef __cplusplus
extern "C"
#endif
    __global__ void
    __launch_bounds__(WEFT_BESIDE_THREADS, WEFT_BESIDE_EACH)
        weft_nic_block(const struct weft_nic *nic, struct weft_beside_control *control,
                       uint32_t turn)
{
    __shared__ uint64_t words[WEFT_NIC_QUEUES][WEFT_NIC_WORDS];
    const uint32_t lane = threadIdx.x % 32, row = threadIdx.x / 32;
    const uint64_t first = blockIdx.x * WEFT_NIC_QUEUES + row;
    uint32_t idle = 0;
    bool leaves = false, did;

    if (threadIdx.x == 0)
        weft_store_relaxed_u32(&control->begun[blockIdx.x], turn);
    do {
        if (!leaves && ++idle % LOOKS == 0) {
            leaves = weft_nic_first(lane == 0 ? weft_load_relaxed_u32(&control->leave) : 0) == turn;
            weft_polled(); /* what ranks rang for is visible in the last turn */
            __syncwarp();
        }
        did = false;
        for (uint64_t i = first; i < nic->count; i += gridDim.x * WEFT_NIC_QUEUES)
            if (weft_nic_turn(nic, &nic->queues[i], words[row], lane))
                did = true;
    } while (did || !leaves);
}
