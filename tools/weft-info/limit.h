/* weft-info/limit.h - from measured times to the largest put that should go through a channel. */
#ifndef WEFT_INFO_LIMIT_H
#define WEFT_INFO_LIMIT_H

#include <stddef.h>

/*
 * The largest of the sizes (ascending) up to which, at every one, the channel takes at most
 * LIMIT_SHARE of the direct time: less gain than that may be noise. 0: not even at the first.
 */
#define LIMIT_SHARE 0.97
size_t limit_of(const size_t *sizes, const double *channel, const double *direct, int count);

#endif
