/* base/poll.c - poll without the entries that are not open. Any thread. */
#include "base/poll.h"

int weft_poll_open(struct pollfd *all, size_t count, int timeout_ms)
{
    struct pollfd *open = all + count, *p = open;

    for (size_t i = 0; i < count; i++) {
        if (all[i].fd >= 0)
            *p++ = all[i];
    }
    const int ready = poll(open, (nfds_t)(p - open), timeout_ms);
    p = open;
    for (size_t i = 0; ready > 0 && i < count; i++) {
        if (all[i].fd >= 0)
            all[i].revents = (p++)->revents;
    }
    return ready;
}
