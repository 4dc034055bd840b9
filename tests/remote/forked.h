/*
 * forked.h - a remote job whose sessions are processes of their own, each with a fake driver and
 * devices of its own.
 */
#ifndef TESTS_REMOTE_FORKED_H
#define TESTS_REMOTE_FORKED_H

#include "base/config.h"

#include <stdbool.h>
#include <sys/types.h>

enum { FORKED_SERVERS = 4 };

extern pid_t forked_servers[FORKED_SERVERS];
extern struct weft_config forked_config; /* of the program's */
extern bool forked_hosts;                /* servers have names of hosts of their own */

/* Starts so many servers of so many devices each, and joins them: weft's runtime of this process
 * drives them, and has the suite's kernels. options: more ones of the fake driver. False: said. */
bool forked_join(int count, int devices, const char *options);
/* Leaves, and waits for them. */
void forked_end(void);

#endif
