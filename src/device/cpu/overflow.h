/*
 * device/cpu/overflow.h - says which rank ran over the end of its stack, or touched memory that is
 * not there, and where, before the process ends by SIGSEGV as it would anyway.
 */
#ifndef WEFT_DEVICE_CPU_OVERFLOW_H
#define WEFT_DEVICE_CPU_OVERFLOW_H

#include <stddef.h>

/*
 * The rank of this thread in whose guard the address lies, and the size of its stack in *bytes;
 * else the one that runs at present, or -1, and *bytes as it was.
 */
typedef int weft_overflow_find(const void *ranks, const void *address, size_t *bytes);

/*
 * From here to the end the calling thread runs ranks. Takes SIGSEGV, once for the process, if
 * nobody has (a debugger's or a sanitizer's handler stays); where that, or a stack for the handler,
 * cannot be had, nothing is said.
 */
void weft_overflow_begin(weft_overflow_find *find, const void *ranks);
void weft_overflow_end(void);

#endif
