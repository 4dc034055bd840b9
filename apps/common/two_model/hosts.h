/*
 * two_model/hosts.h - for networks that need others to start: the processes find each other, gather
 * and wait by weft's host calls. What exchange.h promises besides messages is here.
 */
#ifndef TWO_MODEL_HOSTS_H
#define TWO_MODEL_HOSTS_H

#include <stdbool.h>
#include <weft/weft.h>

extern weft_job *hosts_job;

/* Collective: `bytes` bytes at `data` on process 0 come to all. */
bool hosts_broadcast(void *data, size_t bytes);

/* weft's device memory, zeroed, where the machine's kernels reach it; NULL: it has said why. */
void *hosts_arena(size_t bytes);

/* Before the job is closed, by the network: frees what is its own. */
void exchange_free(void);

#endif
