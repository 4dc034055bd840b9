/*
 * sessions.h - a remote job whose sessions are tasks of the test's own process, over the fake
 * driver: each session has devices of its own.
 */
#ifndef TESTS_REMOTE_SESSIONS_H
#define TESTS_REMOTE_SESSIONS_H

#include "remote/table/table.h"

#include <stdbool.h>

/* Whether devices reach memory of other servers themselves; else copies go through host memory. */
extern bool sessions_direct;
/* Starts so many servers of so many devices each, and joins them. Ends the test if it cannot. */
const struct weft_cuda_table *sessions_begin(int servers, int devices, const char *options);
/* How many contexts they have made. */
int sessions_contexts(void);
/* Leaves, and waits for them. Whether all ended well. */
int sessions_end(void);

#endif
