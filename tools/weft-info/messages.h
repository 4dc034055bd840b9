/* weft-info/messages.h - messages between two processes' hosts: at once, and offered. */
#ifndef WEFT_INFO_MESSAGES_H
#define WEFT_INFO_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>

enum { MESSAGES_SIZES = 10 };
extern const size_t messages_sizes[MESSAGES_SIZES]; /* 64 B to 32 KiB */

struct messages_found {
    bool far; /* they go over a network */
    double eager_us[MESSAGES_SIZES],
        offered_us[MESSAGES_SIZES]; /* there and back; process 0 only */
};

/*
 * Opens the job of two that this process was started in several times, with WEFT_MSG_EAGER and
 * WEFT_MSG_EAGER_NET at their most and at 0, in turns. Collective; takes some seconds. False, after
 * a line that says why: it failed.
 */
bool messages_measure(struct messages_found *found);

#endif
