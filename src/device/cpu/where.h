/*
 * device/cpu/where.h - at which lines of the program a rank is: said when it faults, and when it
 * ends because of its own error.
 */
#ifndef WEFT_DEVICE_CPU_WHERE_H
#define WEFT_DEVICE_CPU_WHERE_H

/* Tells the code of the kernel. Called once in each thread that runs ranks. */
void weft_where_begin(const void *kernel);

/*
 * Writes the innermost calls of the calling rank, as far as they are known: those in the file of
 * the kernel, without weft's own. fault: where the handler of a fault returns to; NULL: there was
 * none. Blocking, some milliseconds, 5 s at most. Takes the loader's lock and allocates nothing.
 */
void weft_where_say(const void *fault);

#endif
