/*
 * common/usage.h - the command line of the examples, which have no options of their own.
 */
#ifndef COMMON_USAGE_H
#define COMMON_USAGE_H

#include <weft/weft.h>

/*
 * For an argument that weft_open has left: `--help` prints the usage, and what the program is
 * about; any other is refused. Only process 0 speaks. Returns the exit status: 0 or 2.
 */
int usage(weft_job *job, const char *argument, const char *about);

#endif
