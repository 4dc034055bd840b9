/*
 * task/recorded.h - what a host program has recorded, and which of its tasks wait for which.
 */
#ifndef WEFT_TASK_RECORDED_H
#define WEFT_TASK_RECORDED_H

#include "device/device.h"
#include "task/place.h"
#include "weft/task.h"

#include <stdbool.h>
#include <stdlib.h>

/* A piece of data. storage: the place in whose memory it is: its own, or one that has a copy. */
struct weft_recorded_data {
    weft_task_data_desc desc;
    int32_t storage;
    bool covered, returned; /* plan.c: written over later in the epoch; put into its window */
};

struct weft_recorded_task {
    uint64_t count, spot;     /* calls; place in the order in which homes are given */
    uint32_t number;          /* number as it was recorded; a copy has its writer's */
    uint32_t body;            /* WEFT_TASK_COPY: the first of its data goes into the second */
    uint32_t data, datas;     /* index and number of its pieces of data */
    uint32_t scratch;         /* bit i: piece i is SCRATCH */
    uint32_t arguments, room; /* offset of its arguments; bytes, a multiple of 16 */
    uint32_t edge, edges; /* index and number of the tasks that it waits for, by weft_edges_find */
    uint32_t flags;
    int32_t home; /* place that runs it */
    bool moves;   /* homes.c chooses its home */
};

struct weft_recorded {
    struct weft_recorded_task *task;
    struct weft_recorded_data *data;
    unsigned char *arguments;
    weft_win *win;  /* windows of its data, each once */
    uint32_t *edge; /* tasks that are waited for, by weft_edges_find */
    uint64_t edges;
    uint32_t tasks, datas, wins, arguments_bytes; /* numbers of each; arguments: bytes */
};

static inline bool weft_recorded_has_bytes(const struct weft_recorded_data *data)
{
    return data->desc.mode != WEFT_TASK_SCRATCH && data->desc.bytes != 0;
}
static inline bool weft_recorded_writes(const struct weft_recorded_data *data)
{
    return weft_recorded_has_bytes(data) && (data->desc.mode & WEFT_TASK_OUT) != 0;
}

/* Makes room for one more in a list of `count`: 256, or to the next power of two. */
static inline bool weft_recorded_grow(void **list, uint64_t count, size_t bytes)
{
    if (count != 0 && (count < 256 || (count & (count - 1)) != 0))
        return true;
    const uint64_t more = count == 0 ? 256 : 2 * count;
    void *const grown = more > UINT32_MAX ? NULL : realloc(*list, more * bytes);
    if (grown != NULL)
        *list = grown;
    return grown != NULL;
}

#define WEFT_RECORDED_ROOM(list, count)                                                            \
    weft_recorded_grow((void **)&(list), (count), sizeof(*(list)))

/* Tells of two accesses in walks over two epochs, each in the order of recording: a live one
 * overlaps a later one, and either writes. later: epochs between; covered: it is live no more. */
typedef void weft_edges_met(void *context, uint32_t data, uint32_t with, int later, bool covered);
/*
 * Finds what tasks wait for: each names some of the edges, which are tasks; with WEFT_TASK_BEFORE,
 * in the epoch before. Every pair of accesses to a storage that overlap, one of which writes, is in
 * order. With `met` it finds no edges, but tells of all that meet, in whatever storage they are.
 * Errors: MEMORY, which is not said.
 */
weft_status weft_edges_find(struct weft_recorded *recorded, weft_edges_met *met, void *context);

/* A part of a piece: rows before rows_end, and bytes of each before `end`. All 0: nothing. */
struct weft_rect {
    uint64_t row, rows_end, at, end;
};
/* Lets rect, a part of one piece, have all bytes, too, that another has of it. They overlap. */
void weft_rect_join(struct weft_rect *rect, const weft_task_data_desc *of,
                    const weft_task_data_desc *with);

/* ---- recordings ------------------------------------------------------------------------------ */

/* Tables of some tasks, as this place's ranks have them. */
struct weft_recorded_run {
    unsigned char *memory; /* memory of the device with the tables */
    struct weft_share share;
    uint64_t steps, epochs; /* steps of an epoch; epochs that have run */
};

/* Runs of a recording of all places: FETCH copies what is read elsewhere; EPOCHS; RETURN copies
 * back what was written elsewhere. A recording of one place has EPOCHS alone. */
enum { WEFT_RECORDED_FETCH, WEFT_RECORDED_EPOCHS, WEFT_RECORDED_RETURN, WEFT_RECORDED_RUNS };

/* Memory of a window at a place, bytes `from` to `end`, of which place `storage` has a copy. */
struct weft_recorded_block {
    int32_t storage, place;
    weft_win win;
    bool read;
    uint64_t from, end;
    uint64_t at; /* offset of the copy in the plan's window at `storage` */
};

/* Copies between places: all tasks, and what this place's ranks have of them. */
struct weft_plan {
    struct weft_recorded list[WEFT_RECORDED_RUNS]; /* EPOCHS: what was recorded, with copies */
    struct weft_recorded_block *block;
    uint64_t blocks, copies, copied; /* number; copies of an epoch by this place; their bytes */
    uint64_t bytes; /* bytes of this place's part of the window: words, then copies */
    weft_win win;
    unsigned char *memory;
    struct weft_recorded_run run[WEFT_RECORDED_RUNS]; /* one place's recording has EPOCHS alone */
};

/* What a place tells the other places. */
struct weft_told {
    double speed; /* first guess, in bytes a ns */
    bool steals;
    unsigned char reaches[]; /* by window and place: 1: its ranks load and store there */
};

struct weft_recording {
    weft_job *job;
    struct weft_recording *next; /* next of the job's recordings */
    struct weft_recorded recorded;
    uint64_t epochs; /* epochs that have run */
    bool shared, ready, freed;
    /* Of a recording of all places: */
    struct weft_told *told; /* by place, told_bytes each */
    size_t told_bytes;
    double best_ns;
    uint64_t round; /* epochs of the next round; 0: homes stay */
    uint64_t plans;
    bool alone;      /* 1: one place was tried alone */
    uint64_t needed; /* `bytes` of the last plan */
    struct weft_plan plan;
    struct weft_speeds {
        double planned, best, measured; /* speeds of the plan; of the best plan; as measured last */
    } speed[];                          /* by place */
};

/* Returns the tasks that are planned, else recorded, for messages. */
static inline const struct weft_recorded *weft_recorded_of(const struct weft_recording *r)
{
    const struct weft_recorded *const all = &r->plan.list[WEFT_RECORDED_EPOCHS];

    return all->tasks != 0 ? all : &r->recorded;
}

/* Runs epochs, as many at a time as tickets can say, and waits until they are over. */
void weft_recorded_run(struct weft_recording *r, weft_self *self, int which, uint64_t epochs,
                       bool timed);
/* Compares what places have recorded, and exchanges what they tell. Collective, blocking. Errors,
 * which are said: MISMATCH, MEMORY, and the job's own. */
weft_status weft_agree(struct weft_recording *r, const char *call);
/* Agrees on the first place's error, if any has one: the same at all. Collective. */
weft_status weft_agree_on(weft_job *job, weft_status mine);
const struct weft_told *weft_told_by(const struct weft_recording *r, int place);
/* Ranks of this place that run at the same time. */
double weft_width_of(const weft_job *job);
/* Compares what places have recorded, chooses homes, and makes the plan. Collective, blocking, with
 * a pause of the kernel. Errors, which are said: MISMATCH, MEMORY, ARGUMENT, and the job's own. */
weft_status weft_homes_find(struct weft_recording *r, const char *call);
/* Runs some of so many epochs at all places; *epochs: what is left. *again: windows have all data,
 * and there are to be other homes. Collective, blocking. */
weft_status weft_homes_run(struct weft_recording *r, weft_self *self, uint64_t *epochs,
                           bool *again);
/* Chooses other homes; without room for them homes stay. As weft_homes_find. */
weft_status weft_homes_again(struct weft_recording *r, const char *call);
/* Makes r->plan, which is all 0, without memory of the device. Local. Errors: MEMORY, not said. */
weft_status weft_plan(struct weft_recording *r);
/* Makes the plan's window and tables, while no kernel runs. Collective, blocking; the same status
 * at all places. Errors, which are not said: MEMORY, DEVICE, and those of weft_host_win_create. */
weft_status weft_plan_settle(struct weft_recording *r);
/* Frees all that a plan has. With memory of the device: while no kernel runs that forbids to free
 * it; with a window: collective. */
void weft_plan_free(weft_job *job, struct weft_plan *plan);
/* Offset of the copy of a piece in the plan's window, at its storage. */
uint64_t weft_recorded_copy(const struct weft_recording *r, const struct weft_recorded_data *data);

void weft_recorded_free(struct weft_recorded *recorded);
/* Makes the tables of this place's tasks. Errors: MEMORY, DEVICE, which are not said. */
weft_status weft_recording_tables(struct weft_recording *r, const struct weft_recorded *all,
                                  int which);

#endif
