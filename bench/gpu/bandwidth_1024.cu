/*
 * bench/gpu/bandwidth_1024.cu - bandwidth.cu for up to 1024 threads a rank: nvcc then keeps to the
 * registers that so many can have, which costs ranks of fewer threads some speed.
 */
#define WEFT_MOST_THREADS 1024
#include "gpu/bandwidth.cu"
