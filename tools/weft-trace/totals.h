/* weft-trace/totals.h - sums over a whole timeline: who sent how much to whom, waiting by tag,
 * regions. */
#ifndef WEFT_TRACE_TOTALS_H
#define WEFT_TRACE_TOTALS_H

#include "read.h"

enum { TRACE_TAGS = 256 };

/* What a rank sent another: puts, their bytes, and notifications, also of puts. */
struct trace_pair {
    int from, to;
    uint64_t puts, bytes, notices;
};

struct trace_tag {
    int tag;
    uint64_t waits, ns, longest;
};

/* All regions of a name; waiting: inside of them. */
struct trace_region {
    char name[24];
    uint64_t count, ns, waiting;
};

struct trace_totals {
    struct trace_pair *pairs; /* the most bytes first */
    size_t pairs_count;
    struct trace_tag tags[TRACE_TAGS]; /* the longest waiting first; those that were waited for */
    size_t tags_count;
    struct trace_region *regions; /* the longest first */
    size_t regions_count;
};

/* Of ranks' tracks alone. False: no memory, said. */
bool trace_totals(const struct trace *trace, struct trace_totals *totals);
void trace_totals_free(struct trace_totals *totals);

#endif
