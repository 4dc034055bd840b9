/*
 * rank/far.cu - the library weft_device: what kernels that are compiled with -dc call by pointers.
 * Compiled once with weft/queue.h and once without.
 */
#define WEFT_FAR_HERE
#include <weft/device.h>

__device__ void WEFT_FAR_SET(void *far[WEFT_FAR_COUNT])
{
#define WEFT_FAR_STORE(function) far[WEFT_FAR_##function] = (void *)function;
    WEFT_FAR_MAP(WEFT_FAR_STORE)
}
