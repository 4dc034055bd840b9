/* ccl/api.c - the calls of kernels in weft/ccl.h, as functions for the CPU device. */
#include "ccl/api.h"
