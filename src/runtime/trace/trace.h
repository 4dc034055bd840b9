/* runtime/trace/trace.h - what the files of a job's timeline share. */
#ifndef WEFT_RUNTIME_TRACE_TRACE_H
#define WEFT_RUNTIME_TRACE_TRACE_H

#include "runtime/trace/timeline.h"

enum { WEFT_TRACE_RUNS = 1024 }; /* last runs whose clocks are kept */

/* One moment by the clock of ranks and by the host's. */
struct weft_trace_clock {
    uint64_t device, host;
};

struct weft_trace {
    struct weft_trace_file *file;
    char path[128];
    bool owns_clock; /* 1: the ranks' clock is the device's, not the host's */
    uint64_t now;    /* time by the host's clock at which it is written */
    int64_t offset; /* ns from this process's clock to the job's axis, which begins when it opens */
    uint64_t apart_ns;  /* ns that the hosts' clocks may still be apart */
    uint64_t most;      /* events of a log, at most */
    uint32_t wrote;     /* how often the trace was written */
    weft_status status; /* first error of writing it */

    struct weft_tracer services[2];  /* by side; written under its progress lock */
    struct weft_trace_log *host_log; /* log of the host program */
    unsigned char *memory;           /* logs of the ranks in device memory, each_bytes apart */
    struct weft_share share;
    size_t each_bytes;
    uint32_t ranks;

    struct weft_trace_clock runs[WEFT_TRACE_RUNS]; /* ring of the last runs' clocks */
    uint32_t runs_count;
    uint64_t launched, ended; /* times of the last run by the host's clock */
    uint64_t seen;            /* time at which the clock of its first rank was seen */
    double tick_ns;           /* ns of a rank's tick, as far as logs have said (ticks.h) */
    uint64_t lost;            /* events that are lost */
    uint32_t lost_by;         /* ranks and services that have lost events */
};

/* ---- file.c: lines, one event each, in one file ---- */

/*
 * Opens the file, or makes it. first: of the processes that may share it, this one begins it anew.
 * id: of the job. Errors: SYSTEM, said.
 */
weft_status weft_trace_file_open(struct weft_trace_file **file, const char *path, uint64_t id,
                                 bool first);
void weft_trace_file_close(struct weft_trace_file *file);

/*
 * Lines between begin and end come after what other processes have written; nobody else writes
 * meanwhile. After an error the file is as it was before begin, and end returns it, said.
 */
weft_status weft_trace_file_begin(struct weft_trace_file *file);
/* One line: a JSON object, without the newline and the comma. */
void weft_trace_line(struct weft_trace_file *file, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
weft_status weft_trace_file_end(struct weft_trace_file *file);
/* Writes text as it may stand inside of a JSON string. */
void weft_trace_quote(char *out, size_t bytes, const char *text);

/* ---- clock.c ---- */

/* Makes process 0's id that of all, and finds where the job's axis begins. Collective. */
weft_status weft_trace_align(struct weft_job *job, uint64_t *id);
/* Converts a time of a device or the host to ns on the job's axis; of a device: not after now. */
uint64_t weft_trace_axis(const struct weft_trace *trace, uint64_t time, bool device);

/* ---- write.c: what lines say ---- */

/* Numbers of tracks beside those of the ranks, which count from 1. */
enum {
    WEFT_TRACE_TID_HOST = 1000000,
    WEFT_TRACE_TID_PROGRESS,
    WEFT_TRACE_TID_RECEIVE,
    WEFT_TRACE_TID_NETWORK
};

/* A track and where its lines go. */
struct weft_trace_track {
    struct weft_job *job;
    struct weft_trace_file *file;
    int pid, tid;
};

struct weft_trace_track weft_trace_track_of(struct weft_job *job, int tid);
void weft_trace_name_track(const struct weft_trace_track *track, const char *name);
/* Something that took time; ns on the job's axis. args: the inside of an object, or "". */
void weft_trace_span(const struct weft_trace_track *track, const char *name, const char *category,
                     uint64_t begin, uint64_t end, const char *args);
/* Writes an event as weft_trace_span. */
void weft_trace_event_line(const struct weft_trace_track *track,
                           const struct weft_trace_event *event, uint64_t begin, uint64_t end);
/* Says, and counts, how many events are no longer there; where the first one is that still is. */
void weft_trace_lost(const struct weft_trace_track *track, uint64_t lost, uint64_t at);

/* Writes the names of a process's tracks. */
void weft_trace_names(struct weft_job *job);
/* Writes a service's track, and what it did on the network. */
void weft_trace_service(struct weft_job *job, enum weft_net_side side);

/* ---- rank.c ---- */

/* Writes all of a log that lies in host memory, as the track of a slot. */
void weft_trace_slot(struct weft_job *job, uint32_t slot, const struct weft_trace_log *log);

#endif
