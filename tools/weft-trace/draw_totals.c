/*
 * weft-trace/draw_totals.c - below the picture of a timeline: bytes from rank to rank, as a square
 * of cells, and how long each tag was waited for, as bars. Both of the whole file.
 */
#include "draw_totals.h"

enum { SIDE = 260, MOST_CELL = 20, BAR = 14, BARS = 12, BARS_WIDTH = 200, HEAD = 22, LABEL = 60 };

static int cell_of(int ranks)
{
    return ranks * MOST_CELL < SIDE ? MOST_CELL : SIDE / ranks > 2 ? SIDE / ranks : 2;
}

int trace_totals_height(const struct trace_totals *totals, int ranks)
{
    const int square = ranks * cell_of(ranks);
    const int tags = totals->tags_count < BARS ? (int)totals->tags_count : BARS;

    if (totals->pairs_count == 0 && tags == 0)
        return 0;
    return HEAD + 20 + (square > tags * BAR ? square : tags * BAR);
}

static void draw_pairs(const struct trace_totals *totals, FILE *out, int first, int ranks, int x,
                       int y)
{
    const int cell = cell_of(ranks), side = ranks * cell;
    const uint64_t most = totals->pairs[0].bytes;

    fprintf(out,
            "<text x=\"%d\" y=\"%d\">bytes from rank (row) to rank (column); darkest: %llu</text>\n"
            "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#999\"/>\n",
            x, y - 8, (unsigned long long)most, x, y, side, side);
    for (size_t i = 0; i < totals->pairs_count; i++) {
        const struct trace_pair *p = &totals->pairs[i];
        const int row = p->from - first, column = p->to - first;
        if (row < 0 || row >= ranks || column < 0 || column >= ranks)
            continue;
        fprintf(out,
                "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#08519c\" "
                "fill-opacity=\"%.2f\"><title>rank %d to rank %d: %llu bytes in %llu puts, %llu "
                "notifications</title></rect>\n",
                x + column * cell, y + row * cell, cell, cell,
                most == 0 ? 0.1 : 0.1 + 0.9 * (double)p->bytes / (double)most, p->from, p->to,
                (unsigned long long)p->bytes, (unsigned long long)p->puts,
                (unsigned long long)p->notices);
    }
}

static void draw_tags(const struct trace_totals *totals, FILE *out, int x, int y)
{
    const double most = totals->tags[0].ns > 0 ? (double)totals->tags[0].ns : 1;

    fprintf(out, "<text x=\"%d\" y=\"%d\">waiting by tag, all ranks together, us</text>\n", x,
            y - 8);
    for (int i = 0; i < (int)totals->tags_count && i < BARS; i++) {
        const struct trace_tag *tag = &totals->tags[i];
        const double width = BARS_WIDTH * (double)tag->ns / most;
        fprintf(out,
                "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">tag %d</text>"
                "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"#fd8d3c\"/>"
                "<text x=\"%.1f\" y=\"%d\">%.1f in %llu</text>\n",
                x + LABEL - 6, y + BAR * i + BAR - 3, tag->tag, x + LABEL, y + BAR * i, width,
                BAR - 2, x + LABEL + width + 6, y + BAR * i + BAR - 3, (double)tag->ns * 1e-3,
                (unsigned long long)tag->waits);
    }
}

void trace_totals_draw(const struct trace_totals *totals, FILE *out, int first, int ranks, int x,
                       int y)
{
    if (totals->pairs_count > 0)
        draw_pairs(totals, out, first, ranks, x, y + HEAD);
    if (totals->tags_count > 0)
        draw_tags(totals, out, x + SIDE + 2 * LABEL, y + HEAD);
}
