/*
 * kernel_api/kernel_api.c - the device API as functions of the library: what kernels that were
 * compiled for the CPU device call, and the host program for its own windows.
 */
#include "kernel_api/kernel_api.h"
