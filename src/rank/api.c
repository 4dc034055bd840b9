/*
 * rank/api.c - the device API as functions of the library: what kernels that were
 * compiled for the CPU device call, and the host program for its own windows.
 */
#include "rank/api.h"
