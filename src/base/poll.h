/*
 * base/poll.h - poll for lists with places that are not open.
 */
#ifndef WEFT_BASE_POLL_H
#define WEFT_BASE_POLL_H

#include <poll.h>
#include <stddef.h>

/*
 * Polls the entries with fd >= 0 alone: the kernel compares the number of entries with ulimit -n.
 * After the `count` entries there is room for as many. revents are set if the result is above 0.
 */
int weft_poll_open(struct pollfd *all, size_t count, int timeout_ms);

#endif
