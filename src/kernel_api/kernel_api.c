/*
 * kernel_api/kernel_api.c - the device API as functions of the library: what kernels that were
 * compiled for the CPU device call, and the host program for its own windows. (For GPUs the same
 * headers are compiled into the kernel.)
 */
#include "kernel_api/collective.h"
#include "kernel_api/put.h"
#include "kernel_api/self.h"

double weft_block_sum(weft_self *self, double value)
{
    (void)self;
    return value; /* a rank of the CPU device has one thread */
}
