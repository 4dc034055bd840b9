/*
 * device/cpu/overflow.h - says which rank ran over the end of its stack, before the process ends by
 * SIGSEGV as it would anyway.
 */
#ifndef WEFT_DEVICE_CPU_OVERFLOW_H
#define WEFT_DEVICE_CPU_OVERFLOW_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the address lies in the guard of one of this thread's stacks; which rank's, and its size.
 */
typedef bool weft_overflow_find(const void *ranks, const void *address, int *rank, size_t *bytes);

/*
 * From here to the end the calling thread runs ranks. Takes SIGSEGV, once for the process, if
 * nobody has (a debugger's or a sanitizer's handler stays); where that, or a stack for the handler,
 * cannot be had, an overflow is said by nobody.
 */
void weft_overflow_begin(weft_overflow_find *find, const void *ranks);
void weft_overflow_end(void);

#endif
