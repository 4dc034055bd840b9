/*
 * base/file_limit.h - the limit of file sizes (ulimit -f), which ends a program by a signal.
 *
 * Between the two calls it does not end the calling thread's: what goes beyond the limit fails with
 * EFBIG instead. errno stays.
 */
#ifndef WEFT_BASE_FILE_LIMIT_H
#define WEFT_BASE_FILE_LIMIT_H

#include <signal.h>

void weft_file_limit_begin(sigset_t *before);
void weft_file_limit_end(const sigset_t *before);

#endif
