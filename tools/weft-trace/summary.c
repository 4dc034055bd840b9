/*
 * weft-trace/summary.c - how long each rank waited, for what, and the longest waits.
 *
 * A notification does not say who sent it. Who put or notified last, with that tag and to that
 * rank, before the wait was over is named instead: nearly always the one that was waited for.
 */
#include "totals.h"
#include "weft-trace.h"

#include <stdlib.h>
#include <string.h>

enum class { CLASS_WAIT, CLASS_BARRIER, CLASS_OTHER, CLASSES };

struct share {
    uint64_t covered, in[CLASSES];
    size_t waits;
};

static enum class class_of(enum trace_category category) {
    return category == TRACE_WAIT      ? CLASS_WAIT
           : category == TRACE_BARRIER ? CLASS_BARRIER
                                       : CLASS_OTHER;
}

/* Events that enclose others come before them: what is inside of a wait is part of it. */
static struct share share_of(const struct trace *trace, const struct trace_track *track)
{
    const struct trace_event *events = trace->events + track->first;
    uint64_t waited_until = 0, run_until = 0, first = UINT64_MAX, last = 0;
    struct share share = {0};

    for (size_t i = 0; i < track->events; i++) {
        const struct trace_event *e = &events[i];
        first = e->begin < first ? e->begin : first;
        last = e->end > last ? e->end : last;
        if (e->category == TRACE_RUN && e->end > run_until) {
            share.covered += e->end - (e->begin > run_until ? e->begin : run_until);
            run_until = e->end;
        }
        if (!trace_waits((enum trace_category)e->category))
            continue;
        share.waits++;
        if (e->end > waited_until) {
            const uint64_t begin = e->begin > waited_until ? e->begin : waited_until;
            share.in[class_of((enum trace_category)e->category)] += e->end - begin;
            waited_until = e->end;
        }
    }
    if (share.covered == 0 && last > first)
        share.covered = last - first;
    return share;
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : 100.0 * (double)part / (double)whole;
}

/* ---- whom a wait was for
 * -------------------------------------------------------------------------- */

struct sent {
    const struct trace_event *event;
    int from; /* rank */
};

static int by_receiver(const void *a, const void *b)
{
    const struct trace_event *x = ((const struct sent *)a)->event;
    const struct trace_event *y = ((const struct sent *)b)->event;

    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    if (x->tag != y->tag)
        return x->tag < y->tag ? -1 : 1;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* All puts and notifications with a tag, for by_receiver's order; NULL: no memory. */
static struct sent *find_sent(const struct trace *trace, size_t *count)
{
    struct sent *sent = NULL;
    size_t n = 0;

    for (int fill = 0; fill < 2; fill++) {
        n = 0;
        for (size_t i = 0; i < trace->events_count; i++) {
            const struct trace_event *e = &trace->events[i];
            if (e->category != TRACE_PUT || e->tag < 0 || e->to < 0)
                continue;
            if (fill != 0)
                sent[n] = (struct sent){e, trace->tracks[e->track].rank};
            n++;
        }
        if (fill == 0)
            sent = calloc(n + 1, sizeof(*sent));
        if (sent == NULL)
            return NULL;
    }
    qsort(sent, n, sizeof(*sent), by_receiver);
    *count = n;
    return sent;
}

/* The rank that sent last before the wait was over; -1: nobody that is known. */
static int who_ended(const struct sent *sent, size_t count, int rank,
                     const struct trace_event *wait)
{
    const struct trace_event key = {.to = rank, .tag = wait->tag, .begin = wait->end};
    const struct sent want = {&key, 0};
    size_t low = 0, high = count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (by_receiver(&sent[middle], &want) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || sent[low - 1].event->to != rank || sent[low - 1].event->tag != wait->tag)
        return -1;
    return sent[low - 1].from;
}

/* ---- the longest
 * ---------------------------------------------------------------------------------- */

static uint64_t lasted(const struct trace_event *event)
{
    return event->end - event->begin;
}

static int longest_first(const void *a, const void *b)
{
    const struct trace_event *x = *(const struct trace_event *const *)a;
    const struct trace_event *y = *(const struct trace_event *const *)b;
    const uint64_t p = lasted(x), q = lasted(y);

    if (p != q)
        return p > q ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* The innermost region around an event of a track; NULL: none. */
static const char *region_around(const struct trace *trace, const struct trace_event *event)
{
    const struct trace_event *const first = trace->events + trace->tracks[event->track].first;

    for (const struct trace_event *e = event; e-- > first;)
        if (e->category == TRACE_REGION && e->end >= event->end)
            return e->name;
    return NULL;
}

static void print_wait(const struct trace *trace, const struct trace_event *e,
                       const struct sent *sent, size_t count)
{
    const int rank = trace->tracks[e->track].rank;
    const int from = e->tag >= 0 ? who_ended(sent, count, rank, e) : -1;
    const char *const region = region_around(trace, e);

    printf("  %10.3f %6d %12.3f  %s", (double)lasted(e) * 1e-3, rank, (double)e->begin * 1e-3,
           e->name);
    if (e->count > 1)
        printf(", %llu notifications", (unsigned long long)e->count);
    if (from >= 0)
        printf(", the last from rank %d", from);
    if (region != NULL)
        printf(", in %s", region);
    printf("%s\n", e->unfinished ? ", never ended" : "");
}

static bool print_longest(const struct trace *trace, int most)
{
    const struct trace_event **waits = calloc(trace->events_count + 1, sizeof(*waits));
    size_t n = 0, count = 0;
    struct sent *sent = find_sent(trace, &count);

    if (waits == NULL || sent == NULL) {
        fprintf(stderr, "weft-trace: there is no memory for %zu events\n", trace->events_count);
        free(waits);
        free(sent);
        return false;
    }
    for (size_t i = 0; i < trace->events_count; i++) {
        const struct trace_event *e = &trace->events[i];
        if (trace->tracks[e->track].rank >= 0 && trace_waits((enum trace_category)e->category))
            waits[n++] = e;
    }
    qsort(waits, n, sizeof(*waits), longest_first);
    if (n != 0 && most > 0)
        printf("\nlongest waits\n  %10s %6s %12s\n", "us", "rank", "at us");
    for (size_t i = 0; i < n && i < (size_t)most; i++)
        print_wait(trace, waits[i], sent, count);
    free(waits);
    free(sent);
    return true;
}

/* ---- sums
 * ----------------------------------------------------------------------------------------- */

static bool print_totals(const struct trace *trace, int most)
{
    struct trace_totals totals;

    if (!trace_totals(trace, &totals))
        return false;
    if (totals.tags_count != 0)
        printf("\nwaiting by tag, all ranks together\n%6s %8s %14s %12s\n", "tag", "waits", "us",
               "longest us");
    for (size_t i = 0; i < totals.tags_count; i++) {
        const struct trace_tag *tag = &totals.tags[i];
        printf("%6d %8llu %14.3f %12.3f\n", tag->tag, (unsigned long long)tag->waits,
               (double)tag->ns * 1e-3, (double)tag->longest * 1e-3);
    }
    if (totals.pairs_count != 0 && most > 0)
        printf("\nsent from rank to rank, %zu pairs\n%6s %6s %10s %16s %14s\n", totals.pairs_count,
               "from", "to", "puts", "bytes", "notifications");
    for (size_t i = 0; i < totals.pairs_count && i < (size_t)most; i++) {
        const struct trace_pair *p = &totals.pairs[i];
        printf("%6d %6d %10llu %16llu %14llu\n", p->from, p->to, (unsigned long long)p->puts,
               (unsigned long long)p->bytes, (unsigned long long)p->notices);
    }
    if (totals.regions_count != 0)
        printf("\nregions, all ranks together\n%-24s %8s %14s %8s\n", "name", "times", "us",
               "waiting");
    for (size_t i = 0; i < totals.regions_count; i++) {
        const struct trace_region *r = &totals.regions[i];
        printf("%-24s %8llu %14.3f %7.1f%%\n", r->name, (unsigned long long)r->count,
               (double)r->ns * 1e-3, percent(r->waiting, r->ns));
    }
    trace_totals_free(&totals);
    return true;
}

bool trace_summary(const struct trace *trace, int most)
{
    size_t ranks = 0;
    const struct trace_track **tracks = trace_ranks(trace, &ranks);

    if (tracks == NULL) {
        fprintf(stderr, "weft-trace: there is no memory for %zu tracks\n", trace->tracks_count);
        return false;
    }
    printf("%zu rank%s of %zu process%s, %zu event%s; %s\n\n", ranks, ranks == 1 ? "" : "s",
           trace->processes, trace->processes == 1 ? "" : "es", trace->events_count,
           trace->events_count == 1 ? "" : "s",
           trace->clocks[0] != 0 ? trace->clocks : "no word on clocks");
    printf("%6s %12s %8s %8s %8s %8s %8s %8s\n", "rank", "us", "waiting", "wait", "barrier",
           "other", "waits", "lost");
    for (size_t i = 0; i < ranks; i++) {
        const struct share s = share_of(trace, tracks[i]);
        printf("%6d %12.3f %7.1f%% %7.1f%% %7.1f%% %7.1f%% %8zu %8llu\n", tracks[i]->rank,
               (double)s.covered * 1e-3,
               percent(s.in[CLASS_WAIT] + s.in[CLASS_BARRIER] + s.in[CLASS_OTHER], s.covered),
               percent(s.in[CLASS_WAIT], s.covered), percent(s.in[CLASS_BARRIER], s.covered),
               percent(s.in[CLASS_OTHER], s.covered), s.waits, (unsigned long long)tracks[i]->lost);
    }
    free(tracks);
    return print_longest(trace, most) && print_totals(trace, most);
}
