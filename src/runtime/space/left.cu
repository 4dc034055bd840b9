/* runtime/space/left.cu - see left.h: a block a rank, a thread a tag. */
#include "weft/device.h"

#include "runtime/space/left.h"

extern "C" __global__ void weft_left(const __grid_constant__ struct weft_left left)
{
    weft_left_at(&left, blockIdx.x * blockDim.x + threadIdx.x);
}
