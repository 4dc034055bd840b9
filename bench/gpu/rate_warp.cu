/*
 * bench/gpu/rate_warp.cu - rate.cu, where the first warp of each rank sends (weft/warp.h).
 */
#include <weft/warp.h>

#define RATE_BY_WARP 1
#include "gpu/rate.cu"
