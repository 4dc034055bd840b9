/*
 * bench/gpu/crowd_4.cu - crowd.cu with room for four ranks of 256 threads on a multiprocessor: 64
 * registers a thread.
 */
#define WEFT_LEAST_RANKS 4
#include "gpu/crowd.cu"
