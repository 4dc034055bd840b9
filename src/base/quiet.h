/*
 * base/quiet.h - writes that end no program: beyond the limit of file sizes (ulimit -f), and into a
 * pipe that nobody reads any more, the system ends a program by a signal.
 *
 * Between the two calls it does not end the calling thread's: such a write fails with EFBIG or
 * EPIPE instead. errno stays.
 */
#ifndef WEFT_BASE_QUIET_H
#define WEFT_BASE_QUIET_H

#include <signal.h>

void weft_quiet_begin(sigset_t *before);
void weft_quiet_end(const sigset_t *before);

#endif
