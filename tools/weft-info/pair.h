/* weft-info/pair.h - small notified puts between two processes: through a channel, and directly. */
#ifndef WEFT_INFO_PAIR_H
#define WEFT_INFO_PAIR_H

#include <stdbool.h>
#include <stddef.h>

enum { PAIR_SIZES = 9 };
extern const size_t pair_sizes[PAIR_SIZES]; /* 4 B to 1 KiB */

struct pair_found {
    int process, processes; /* of the job */
    const char *left_out;   /* why nothing was measured; NULL: it was */
    double channel_us[PAIR_SIZES], direct_us[PAIR_SIZES]; /* there and back; process 0 only */
};

/*
 * Opens the job that this process was started in several times, with channels and without, in
 * turns. Collective; takes some seconds. False, after a line that says why: it failed.
 */
bool pair_measure(struct pair_found *found);

#endif
