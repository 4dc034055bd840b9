/* weft-info/limit.c - see the header. */
#include "limit.h"

size_t limit_of(const size_t *sizes, const double *channel, const double *direct, int count)
{
    size_t limit = 0;

    for (int i = 0; i < count && channel[i] <= LIMIT_SHARE * direct[i]; i++)
        limit = sizes[i];
    return limit;
}
