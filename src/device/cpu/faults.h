/*
 * device/cpu/faults.h - a rank that ends its process: by a fault, of which it is said where it was
 * and whether its stack ran over; or by exit. It is named first.
 */
#ifndef WEFT_DEVICE_CPU_FAULTS_H
#define WEFT_DEVICE_CPU_FAULTS_H

#include <stddef.h>

/* Returns the rank of this thread in whose guard the address lies, and the size of its stack in
 * *bytes. If there is none: the rank that runs at present, or -1, and *bytes as it was. */
typedef int weft_fault_find(const void *ranks, const void *address, size_t *bytes);

/* Has ranks that call exit named. Called once in a process; without memory for it nothing is
 * done. */
void weft_faults_watch(void);

/*
 * Tells that the calling thread runs ranks from now on. Takes SIGSEGV, once for the process, if
 * nobody has (a debugger's or a sanitizer's handler stays); where that, or a stack for the handler,
 * cannot be had, nothing is said.
 */
void weft_faults_begin(weft_fault_find *find, const void *ranks);
void weft_faults_end(void);

#endif
