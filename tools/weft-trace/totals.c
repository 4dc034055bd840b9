/* weft-trace/totals.c - see the header. */
#include "totals.h"

#include <stdlib.h>
#include <string.h>

enum { DEEP = 16 }; /* regions in each other */

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* ---- pairs --------------------------------------------------------------------------------- */

static int by_ends(const void *a, const void *b)
{
    const struct trace_pair *x = a, *y = b;
    return x->from != y->from ? (x->from < y->from ? -1 : 1) : (x->to > y->to) - (x->to < y->to);
}

static int by_bytes(const void *a, const void *b)
{
    const struct trace_pair *x = a, *y = b;
    const int bytes = compare(y->bytes, x->bytes);
    const int sent = compare(y->puts + y->notices, x->puts + x->notices);
    return bytes != 0 ? bytes : sent != 0 ? sent : by_ends(a, b);
}

/* One for each event, which are then added up in place. */
static void find_pairs(const struct trace *trace, struct trace_totals *totals)
{
    struct trace_pair *pairs = totals->pairs;
    size_t n = 0, kept = 0;

    for (size_t i = 0; i < trace->events_count; i++) {
        const struct trace_event *e = &trace->events[i];
        const int from = trace->tracks[e->track].rank;
        const bool notice = strcmp(e->name, "notify") == 0;
        if (e->category == TRACE_PUT && from >= 0 && e->to >= 0)
            pairs[n++] = (struct trace_pair){.from = from,
                                             .to = e->to,
                                             .puts = !notice,
                                             .bytes = e->bytes,
                                             .notices = notice || e->tag >= 0};
    }
    qsort(pairs, n, sizeof(*pairs), by_ends);
    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && by_ends(&pairs[kept - 1], &pairs[i]) == 0) {
            pairs[kept - 1].puts += pairs[i].puts;
            pairs[kept - 1].bytes += pairs[i].bytes;
            pairs[kept - 1].notices += pairs[i].notices;
        } else {
            pairs[kept++] = pairs[i];
        }
    }
    qsort(pairs, kept, sizeof(*pairs), by_bytes);
    totals->pairs_count = kept;
}

/* ---- tags ---------------------------------------------------------------------------------- */

static int by_waiting(const void *a, const void *b)
{
    const struct trace_tag *x = a, *y = b;
    const int ns = compare(y->ns, x->ns), waits = compare(y->waits, x->waits);
    return ns != 0 ? ns : waits != 0 ? waits : x->tag - y->tag;
}

static void find_tags(const struct trace *trace, struct trace_totals *totals)
{
    for (int tag = 0; tag < TRACE_TAGS; tag++)
        totals->tags[tag].tag = tag;
    for (size_t i = 0; i < trace->events_count; i++) {
        const struct trace_event *e = &trace->events[i];
        if (e->category != TRACE_WAIT || e->tag < 0 || e->tag >= TRACE_TAGS ||
            trace->tracks[e->track].rank < 0)
            continue;
        struct trace_tag *tag = &totals->tags[e->tag];
        tag->waits++;
        tag->ns += e->end - e->begin;
        if (e->end - e->begin > tag->longest)
            tag->longest = e->end - e->begin;
    }
    qsort(totals->tags, TRACE_TAGS, sizeof(totals->tags[0]), by_waiting);
    while (totals->tags_count < TRACE_TAGS && totals->tags[totals->tags_count].waits != 0)
        totals->tags_count++;
}

/* ---- regions ------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct trace_region *)a)->name, ((const struct trace_region *)b)->name);
}

static int by_time(const void *a, const void *b)
{
    const struct trace_region *x = a, *y = b;
    const int ns = compare(y->ns, x->ns);
    return ns != 0 ? ns : by_name(a, b);
}

/* Those of a track; what is waited counts for each region around it, once. How many. */
static size_t regions_of(const struct trace *trace, const struct trace_track *track,
                         struct trace_region *regions)
{
    uint64_t ends[DEEP], waited_until = 0;
    size_t open[DEEP], n = 0;
    int deep = 0;

    for (size_t i = 0; i < track->events; i++) {
        const struct trace_event *e = &trace->events[track->first + i];
        while (deep > 0 && ends[deep - 1] <= e->begin)
            deep--;
        if (e->category == TRACE_REGION) {
            regions[n] = (struct trace_region){.count = 1, .ns = e->end - e->begin};
            memcpy(regions[n].name, e->name, sizeof(e->name));
            if (deep < DEEP) {
                ends[deep] = e->end;
                open[deep++] = n;
            }
            n++;
        } else if (trace_waits((enum trace_category)e->category) && e->end > waited_until) {
            const uint64_t from = e->begin > waited_until ? e->begin : waited_until;
            for (int d = 0; d < deep; d++)
                regions[open[d]].waiting += e->end - from;
            waited_until = e->end;
        }
    }
    return n;
}

static void find_regions(const struct trace *trace, struct trace_totals *totals)
{
    struct trace_region *regions = totals->regions;
    size_t n = 0, kept = 0;

    for (size_t i = 0; i < trace->tracks_count; i++)
        if (trace->tracks[i].rank >= 0)
            n += regions_of(trace, &trace->tracks[i], regions + n);
    qsort(regions, n, sizeof(*regions), by_name);
    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && by_name(&regions[kept - 1], &regions[i]) == 0) {
            regions[kept - 1].count += regions[i].count;
            regions[kept - 1].ns += regions[i].ns;
            regions[kept - 1].waiting += regions[i].waiting;
        } else {
            regions[kept++] = regions[i];
        }
    }
    qsort(regions, kept, sizeof(*regions), by_time);
    totals->regions_count = kept;
}

bool trace_totals(const struct trace *trace, struct trace_totals *totals)
{
    size_t puts = 0, regions = 0;

    memset(totals, 0, sizeof(*totals));
    for (size_t i = 0; i < trace->events_count; i++) {
        puts += trace->events[i].category == TRACE_PUT;
        regions += trace->events[i].category == TRACE_REGION;
    }
    totals->pairs = calloc(puts + 1, sizeof(*totals->pairs));
    totals->regions = calloc(regions + 1, sizeof(*totals->regions));
    if (totals->pairs == NULL || totals->regions == NULL) {
        fprintf(stderr, "weft-trace: there is no memory for sums of %zu events\n",
                trace->events_count);
        trace_totals_free(totals);
        return false;
    }
    find_pairs(trace, totals);
    find_tags(trace, totals);
    find_regions(trace, totals);
    return true;
}

void trace_totals_free(struct trace_totals *totals)
{
    free(totals->pairs);
    free(totals->regions);
    memset(totals, 0, sizeof(*totals));
}
