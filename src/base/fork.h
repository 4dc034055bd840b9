/*
 * base/fork.h - whether this process is still the one that opened or began something: a child that
 * it forked has its memory, but none of its threads.
 */
#ifndef WEFT_BASE_FORK_H
#define WEFT_BASE_FORK_H

#include <stdint.h>

/* How often this process, and those it comes from, were forked since weft was loaded. */
extern uint32_t weft_forks;

#endif
