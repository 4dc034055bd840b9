/*
 * rank/far.cu - the library weft_device: what kernels that are compiled with -dc call by pointers.
 * Compiled once with weft/queue.h and once without.
 */
#define WEFT_FAR_HERE
#include <weft/device.h>

__device__ void WEFT_FAR_SET(struct weft_far *far)
{
#define WEFT_FAR_CALL(type, name, parameters, arguments) far->name##_far = name##_far;
#define WEFT_FAR_PART(type, name, parameters)            far->name = name;
    WEFT_FAR_CALLS(WEFT_FAR_CALL)
    WEFT_FAR_PARTS(WEFT_FAR_PART)
}
