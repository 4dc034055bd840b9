/*
 * weft-trace/read.h - a timeline as weft writes it (runtime/trace/write.c), in memory.
 *
 * The file is hostile: whatever is not of weft's own form is refused with the number of its line.
 */
#ifndef WEFT_TRACE_READ_H
#define WEFT_TRACE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { TRACE_TEXT = 96, TRACE_LINE = 4096 };

enum trace_category {
    TRACE_RUN,
    TRACE_REGION, /* of the program's */
    TRACE_COMPUTE,
    TRACE_PUT,
    TRACE_WAIT,
    TRACE_BARRIER,
    TRACE_FLUSH,
    TRACE_COLLECTIVE,
    TRACE_STUCK,
    TRACE_SERVICE,
    TRACE_NETWORK,
    TRACE_LOST,
    TRACE_CATEGORIES
};

/* One line of the file. What is absent is -1. */
struct trace_line {
    char name[TRACE_TEXT], text[TRACE_TEXT]; /* text: of a track's name */
    char phase;                              /* 'X', 'i' or 'M' */
    enum trace_category category;
    uint64_t begin, lasted; /* ns */
    int64_t pid, tid;
    int64_t tag, to, count, events, bytes; /* of args */
    bool unfinished;
};

struct trace_event {
    uint64_t begin, end;
    uint32_t track;
    int32_t tag, to;
    uint64_t count, bytes;
    uint8_t category;
    bool moment, unfinished;
    char name[24];
};

/* A rank, or what else has a line of its own. */
struct trace_track {
    int64_t pid, tid;
    int rank; /* -1: it is no rank */
    char name[TRACE_TEXT];
    uint64_t lost;        /* events */
    size_t first, events; /* where its events are, by their beginnings; those that enclose others
                             come before them */
};

struct trace {
    struct trace_track *tracks; /* by pid and tid */
    size_t tracks_count;
    struct trace_event *events;
    size_t events_count, events_room;
    size_t processes;
    char clocks[TRACE_TEXT];
};

/* Takes one event's line apart, without its comma. NULL, or what is wrong with it. */
const char *trace_parse(const char *text, size_t bytes, struct trace_line *line);

/* Reads all of it. False: it is said on stderr, in one line that begins with the name. */
bool trace_read(FILE *in, const char *name, struct trace *trace);
void trace_free(struct trace *trace);

/* Tracks of ranks, in their order, for the caller to free; NULL: no memory. */
const struct trace_track **trace_ranks(const struct trace *trace, size_t *count);

/* "wait": how a category is written. */
const char *trace_category_name(enum trace_category category);
/* Whether a rank that does this waits for somebody. */
bool trace_waits(enum trace_category category);

#endif
