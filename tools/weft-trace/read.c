/* weft-trace/read.c - a timeline's file, line by line, into tracks and their events. */
#include "read.h"

#include <stdlib.h>
#include <string.h>

#define HEAD  "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"weft_trace\":1,\"job\":\""
#define BEGIN "\"},\"traceEvents\":["

struct reader {
    FILE *in;
    const char *name;
    size_t number; /* of the line */
    char line[TRACE_LINE];
    size_t bytes; /* of it, without the newline */
    size_t tracks_room;
    struct trace *trace;
};

static bool wrong(const struct reader *r, const char *why)
{
    fprintf(stderr, "weft-trace: %s: line %zu: %s\n", r->name, r->number, why);
    return false;
}

/* False: there is none, or it is too long, which is said. */
static bool next_line(struct reader *r)
{
    r->number++;
    if (fgets(r->line, sizeof(r->line), r->in) == NULL)
        return wrong(r, ferror(r->in)    ? "it cannot be read"
                        : r->number == 1 ? "the file is empty"
                                         : "the file is cut off: its last line should be \"]}\"");
    r->bytes = strlen(r->line);
    if (r->bytes == 0 || r->line[r->bytes - 1] != '\n')
        return wrong(r, r->bytes + 1 < sizeof(r->line)
                            ? "the file is cut off, or has a byte of zero"
                            : "it is longer than any that weft writes");
    r->line[--r->bytes] = 0;
    return true;
}

static bool is_head(const char *line)
{
    const size_t head = strlen(HEAD);

    return strncmp(line, HEAD, head) == 0 && strspn(line + head, "0123456789abcdef") == 16 &&
           strcmp(line + head + 16, BEGIN) == 0;
}

enum { MOST_TRACKS = 1 << 17 };

static bool grow(const struct reader *r, void **list, size_t *room, size_t count, size_t each)
{
    if (count < *room)
        return true;
    const size_t more = *room == 0 ? 64 : 2 * *room;
    void *larger = realloc(*list, more * each);
    if (larger == NULL)
        return wrong(r, "there is no memory for more events");
    *list = larger;
    *room = more;
    return true;
}

/* The track of a line: mostly that of the line before. SIZE_MAX: no memory, said. */
static size_t find_track(struct reader *r, const struct trace_line *line)
{
    struct trace *trace = r->trace;
    void *list = trace->tracks;

    for (size_t i = trace->tracks_count; i-- > 0;)
        if (trace->tracks[i].pid == line->pid && trace->tracks[i].tid == line->tid)
            return i;
    if (trace->tracks_count == MOST_TRACKS) {
        wrong(r, "it is one more track than this program takes");
        return SIZE_MAX;
    }
    if (!grow(r, &list, &r->tracks_room, trace->tracks_count, sizeof(*trace->tracks)))
        return SIZE_MAX;
    trace->tracks = list;
    trace->tracks[trace->tracks_count] =
        (struct trace_track){.pid = line->pid, .tid = line->tid, .rank = -1};
    return trace->tracks_count++;
}

static bool take_name(struct reader *r, const struct trace_line *line)
{
    struct trace *trace = r->trace;

    if (strcmp(line->name, "process_name") == 0)
        trace->processes++;
    if (strcmp(line->name, "process_labels") == 0)
        memcpy(trace->clocks, line->text, sizeof(trace->clocks));
    if (strcmp(line->name, "thread_name") != 0)
        return true;
    const size_t track = find_track(r, line);
    if (track == SIZE_MAX)
        return false;
    memcpy(trace->tracks[track].name, line->text, TRACE_TEXT);
    int rank, used = 0;
    if (sscanf(line->text, "rank %9d%n", &rank, &used) == 1 && line->text[used] == 0 && rank >= 0)
        trace->tracks[track].rank = rank;
    return true;
}

static bool take_event(struct reader *r, const struct trace_line *line)
{
    struct trace *trace = r->trace;
    void *list = trace->events;
    const size_t track = find_track(r, line);

    if (track == SIZE_MAX ||
        !grow(r, &list, &trace->events_room, trace->events_count, sizeof(*trace->events)))
        return false;
    trace->events = list;
    if (line->category == TRACE_LOST && line->events > 0)
        trace->tracks[track].lost += (uint64_t)line->events;
    struct trace_event *event = &trace->events[trace->events_count++];
    *event = (struct trace_event){.begin = line->begin,
                                  .end = line->begin + line->lasted,
                                  .track = (uint32_t)track,
                                  .tag = (int32_t)line->tag,
                                  .to = (int32_t)line->to,
                                  .count = line->count > 0 ? (uint64_t)line->count : 0,
                                  .bytes = line->bytes > 0 ? (uint64_t)line->bytes : 0,
                                  .category = (uint8_t)line->category,
                                  .moment = line->phase == 'i',
                                  .unfinished = line->unfinished};
    snprintf(event->name, sizeof(event->name), "%.23s", line->name);
    return true;
}

static int by_track(const void *a, const void *b)
{
    const struct trace_event *x = a, *y = b;

    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end > y->end ? -1 : 1;
    return (int)x->category - (int)y->category; /* a run is around the rest */
}

static void sort(struct trace *trace)
{
    if (trace->events_count != 0)
        qsort(trace->events, trace->events_count, sizeof(*trace->events), by_track);
    for (size_t i = 0; i < trace->events_count; i++) {
        struct trace_track *track = &trace->tracks[trace->events[i].track];
        if (track->events++ == 0)
            track->first = i;
    }
}

static bool read_lines(struct reader *r)
{
    bool more = true;

    if (!next_line(r))
        return false;
    if (!is_head(r->line))
        return wrong(r, "this is no timeline of weft's, or of another version");
    while (more) {
        struct trace_line line;
        if (!next_line(r))
            return false;
        more = r->bytes > 0 && r->line[r->bytes - 1] == ',';
        const char *why = trace_parse(r->line, r->bytes - more, &line);
        if (why != NULL)
            return wrong(r, why);
        if (!(line.phase == 'M' ? take_name(r, &line) : take_event(r, &line)))
            return false;
    }
    if (!next_line(r))
        return false;
    if (strcmp(r->line, "]}") != 0)
        return wrong(r, "a comma is missing before it, or it should be \"]}\"");
    if (fgetc(r->in) != EOF)
        return wrong(r, "something follows it");
    return true;
}

bool trace_read(FILE *in, const char *name, struct trace *trace)
{
    struct reader *r = calloc(1, sizeof(*r));

    memset(trace, 0, sizeof(*trace));
    if (r == NULL) {
        fprintf(stderr, "weft-trace: %s: there is no memory to read it\n", name);
        return false;
    }
    r->in = in;
    r->name = name;
    r->trace = trace;
    const bool good = read_lines(r);
    free(r);
    if (good)
        sort(trace);
    else
        trace_free(trace);
    return good;
}

void trace_free(struct trace *trace)
{
    free(trace->tracks);
    free(trace->events);
    memset(trace, 0, sizeof(*trace));
}

bool trace_waits(enum trace_category category)
{
    return category == TRACE_WAIT || category == TRACE_BARRIER || category == TRACE_FLUSH ||
           category == TRACE_COLLECTIVE || category == TRACE_STUCK;
}

static int by_rank(const void *a, const void *b)
{
    const struct trace_track *const *x = a, *const *y = b;
    return (*x)->rank < (*y)->rank ? -1 : (*x)->rank > (*y)->rank;
}

const struct trace_track **trace_ranks(const struct trace *trace, size_t *count)
{
    const struct trace_track **tracks = calloc(trace->tracks_count + 1, sizeof(*tracks));

    *count = 0;
    for (size_t i = 0; tracks != NULL && i < trace->tracks_count; i++)
        if (trace->tracks[i].rank >= 0)
            tracks[(*count)++] = &trace->tracks[i];
    if (tracks != NULL)
        qsort(tracks, *count, sizeof(*tracks), by_rank);
    return tracks;
}
