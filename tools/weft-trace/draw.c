/*
 * weft-trace/draw.c - a picture of a timeline: a line for each rank, a colour for what it does.
 * SVG, which browsers show and rsvg-convert or Inkscape make a PNG of.
 */
#include "draw_totals.h"
#include "weft-trace.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROW = 18,
    GAP = 10,
    STRIP = 5,
    LEFT = 110,
    TOP = 50,
    BOTTOM = 30,
    DEFAULT_RANKS = 16,
    TICKS = 8
};
enum { MOST_RECTANGLES = 200000, MOST_SQUARE = 128 /* ranks */ };

static const char *const colours[TRACE_CATEGORIES] = {
    [TRACE_COMPUTE] = "#9ecae1",    [TRACE_PUT] = "#08519c",     [TRACE_WAIT] = "#fd8d3c",
    [TRACE_BARRIER] = "#a63603",    [TRACE_FLUSH] = "#fdd0a2",   [TRACE_STUCK] = "#e31a1c",
    [TRACE_COLLECTIVE] = "#756bb1", [TRACE_SERVICE] = "#74c476", [TRACE_NETWORK] = "#006d2c",
    [TRACE_LOST] = "#000000",
};

struct picture {
    FILE *out;
    const struct trace *trace;
    double from, scale; /* ns; pixels a ns */
    int width, rows;
    size_t rectangles;
};

static bool is_drawn(const struct trace_track *track, const struct draw_options *options)
{
    if (track->rank < 0)
        return options->host && track->events != 0;
    return track->rank >= options->first && track->rank <= options->last;
}

static double x_of(const struct picture *p, double ns)
{
    const double x = (ns - p->from) * p->scale;
    return x < 0 ? 0 : x > p->width ? p->width : x;
}

/* Nothing that XML would take for its own. */
static void text(FILE *out, const char *c)
{
    for (; *c != 0; c++)
        fputc(strchr("<>&\"'", *c) != NULL ? '?' : *c, out);
}

static void rectangle(struct picture *p, const struct trace_event *e, double x, double width, int y,
                      int height, const char *colour)
{
    fprintf(p->out, "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"%s\">", LEFT + x,
            y, width < 0.3 ? 0.3 : width, height, colour);
    fprintf(p->out, "<title>");
    text(p->out, e->name);
    fprintf(p->out, " %.3f us at %.3f</title></rect>\n", (double)(e->end - e->begin) * 1e-3,
            (double)e->begin * 1e-3);
    p->rectangles++;
}

/* By name, so that a name has one colour in all pictures. */
static const char *region_colour(const char *name)
{
    static const char *const palette[] = {"#1b9e77", "#7570b3", "#e7298a",
                                          "#66a61e", "#a6761d", "#666666"};
    unsigned sum = 0;

    for (; *name != 0; name++)
        sum = sum * 31 + (unsigned char)*name;
    return palette[sum % (sizeof(palette) / sizeof(palette[0]))];
}

/* A track. What is less than a quarter of a pixel after one of its kind is not drawn again. */
static void row(struct picture *p, const struct trace_track *track)
{
    const int y = TOP + p->rows++ * (ROW + GAP);
    double drawn[TRACE_CATEGORIES];

    for (int i = 0; i < TRACE_CATEGORIES; i++)
        drawn[i] = -1;
    fprintf(p->out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", LEFT - 6, y + ROW - 5);
    text(p->out, track->name);
    fprintf(p->out, "</text>\n");
    for (size_t i = 0; i < track->events; i++) {
        const struct trace_event *e = &p->trace->events[track->first + i];
        const double x = x_of(p, (double)e->begin), end = x_of(p, (double)e->end);
        const bool inner = e->category == TRACE_STUCK, region = e->category == TRACE_REGION;
        const char *colour = region ? region_colour(e->name) : colours[e->category];
        if (e->category == TRACE_RUN || colour == NULL || (double)e->end < p->from ||
            x >= p->width || (end <= drawn[e->category] + 0.25 && !(region && end - x >= 1)))
            continue;
        rectangle(p, e, x, end - x,
                  region  ? y - STRIP - 1
                  : inner ? y + 4
                          : y,
                  region  ? STRIP
                  : inner ? ROW - 8
                          : ROW,
                  colour);
        drawn[e->category] = end;
    }
}

static void axis(const struct picture *p)
{
    const int y = TOP + p->rows * (ROW + GAP);

    for (int i = 0; i <= TICKS; i++) {
        const double x = (double)p->width * i / TICKS;
        fprintf(p->out,
                "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#bbb\"/>"
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.1f%s</text>\n",
                LEFT + x, y, LEFT + x, y + 5, LEFT + x, y + 18, (p->from + x / p->scale) * 1e-3,
                i == TICKS ? " us" : "");
    }
}

static void legend(const struct picture *p)
{
    int x = LEFT;

    for (int i = 0; i < TRACE_CATEGORIES; i++) {
        if (colours[i] == NULL || i == TRACE_LOST || i == TRACE_FLUSH)
            continue;
        const char *name = trace_category_name((enum trace_category)i);
        fprintf(p->out,
                "<rect x=\"%d\" y=\"10\" width=\"12\" height=\"12\" fill=\"%s\"/>"
                "<text x=\"%d\" y=\"20\">%s</text>\n",
                x, colours[i], x + 16, name);
        x += 30 + 7 * (int)strlen(name);
    }
}

/* The regions' own line, above the tracks. */
static void region_legend(const struct picture *p, const struct trace_totals *totals)
{
    int x = LEFT;

    for (size_t i = 0; i < totals->regions_count && x < LEFT + p->width; i++) {
        const char *name = totals->regions[i].name;
        fprintf(p->out,
                "<rect x=\"%d\" y=\"30\" width=\"12\" height=\"%d\" fill=\"%s\"/>"
                "<text x=\"%d\" y=\"37\">",
                x, STRIP, region_colour(name), x + 16);
        text(p->out, name);
        fprintf(p->out, "</text>\n");
        x += 30 + 7 * (int)strlen(name);
    }
}

/* How many tracks, and from when to when; false: none. */
static bool extent(const struct trace *trace, const struct draw_options *options, int *rows,
                   double *from, double *until)
{
    *rows = 0;
    *from = 1e300;
    *until = 0;
    for (size_t i = 0; i < trace->tracks_count; i++) {
        const struct trace_track *track = &trace->tracks[i];
        if (!is_drawn(track, options))
            continue;
        ++*rows;
        for (size_t k = 0; track->rank >= 0 && k < track->events; k++) {
            const struct trace_event *e = &trace->events[track->first + k];
            *from = (double)e->begin < *from ? (double)e->begin : *from;
            *until = (double)e->end > *until ? (double)e->end : *until;
        }
    }
    *from = options->from > 0 ? options->from * 1e3 : *from;
    *until = options->until > 0 ? options->until * 1e3 : *until;
    return *rows > 0 && *until > *from;
}

/* The ranks, and then the rest; false: it is too much. */
static bool draw_tracks(struct picture *p, const struct trace_track **ranks, size_t count,
                        const struct draw_options *options)
{
    const struct trace *trace = p->trace;

    for (size_t i = 0; i < count && p->rectangles < MOST_RECTANGLES; i++)
        if (is_drawn(ranks[i], options))
            row(p, ranks[i]);
    for (size_t i = 0; i < trace->tracks_count && p->rectangles < MOST_RECTANGLES; i++)
        if (trace->tracks[i].rank < 0 && is_drawn(&trace->tracks[i], options))
            row(p, &trace->tracks[i]);
    return p->rectangles < MOST_RECTANGLES;
}

bool trace_draw(const struct trace *trace, FILE *out, const struct draw_options *given)
{
    struct draw_options options = *given;
    struct picture p = {.out = out, .trace = trace, .width = given->width};
    struct trace_totals totals;
    double until;
    int rows;

    if (options.last < 0)
        options.last = options.first + DEFAULT_RANKS - 1;
    size_t ranks_count;
    const struct trace_track **ranks = trace_ranks(trace, &ranks_count);
    if (ranks == NULL) {
        fprintf(stderr, "weft-trace: out of memory\n");
        return false;
    }
    if (!extent(trace, &options, &rows, &p.from, &until)) {
        fprintf(stderr,
                "weft-trace: nothing of ranks %d to %d lies between %.3f and %.3f us; the file has "
                "%zu rank%s\n",
                options.first, options.last, rows > 0 ? p.from / 1e3 : 0, until / 1e3, ranks_count,
                ranks_count == 1 ? "" : "s");
        free(ranks);
        return false;
    }
    p.scale = p.width / (until - p.from);
    if (!trace_totals(trace, &totals)) {
        free(ranks);
        return false;
    }
    const int last = ranks_count != 0 ? ranks[ranks_count - 1]->rank : options.first;
    const int64_t shown = (int64_t)(last < options.last ? last : options.last) - options.first + 1;
    const int square = shown < 1 ? 1 : shown < MOST_SQUARE ? (int)shown : MOST_SQUARE;
    const int below = TOP + rows * (ROW + GAP) + BOTTOM;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"11\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            LEFT + p.width + 40, below + trace_totals_height(&totals, square));
    legend(&p);
    region_legend(&p, &totals);
    const bool fits = draw_tracks(&p, ranks, ranks_count, &options);
    const bool empty = p.rectangles == 0;
    if (empty) {
        fprintf(stderr, "weft-trace: nothing lies between %.3f and %.3f us\n", p.from / 1e3,
                until / 1e3);
    } else if (fits) {
        axis(&p);
        trace_totals_draw(&totals, out, options.first, square, LEFT, below);
        fprintf(out, "</svg>\n");
    } else {
        fprintf(stderr, "weft-trace: too much for one picture: choose --ranks, --from, --until\n");
    }
    free(ranks);
    trace_totals_free(&totals);
    return fits && !empty;
}
