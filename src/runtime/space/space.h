/*
 * runtime/space/space.h - memory, windows and communicators of a job.
 */
#ifndef WEFT_RUNTIME_SPACE_SPACE_H
#define WEFT_RUNTIME_SPACE_SPACE_H

#include "base/say.h"
#include "base/task.h"
#include "boot/control.h"
#include "rank/state.h"
#include "runtime/service/service.h"

struct weft_job;
struct weft_gathering;

/* Memory that the program registered, or that a window registered for itself. */
struct weft_region {
    unsigned char *base; /* NULL: the entry is free */
    size_t bytes;
    uint64_t key;
    weft_comm claim; /* communicator for which a window is being made of it; NONE: none is */
    weft_win owner; /* window that it goes with; NONE, without a claim: the program registered it */
};

/* Memory that one process announced: a window with one member. */
struct weft_announced {
    int32_t process; /* -1: the entry is free */
    uint32_t number;
    weft_win win;       /* NONE: the window could not be made */
    weft_status status; /* why it could not be made; for the process that announced it */
};

/* What the job's processes expose to each other. */
struct weft_space {
    struct weft_state state; /* the tables, as ranks see them where the host shares memory */
    struct weft_share exposed_share; /* share of state.exposed */
    struct weft_lock tables; /* lock of state's tables, regions and segments, on the host's side */
    uint32_t serial;         /* calls of weft_malloc so far */
    struct weft_region *regions;
    uint32_t regions_count;
    struct weft_announced *announced;
    uint32_t announced_count;
    struct weft_gathering *gatherings; /* by communicator index: collective.c */
    char no_window[WEFT_SAY_LINE];     /* why the last window failed: whole when it is answered */
};

/* Number of counters, of ranks and of barriers: the layout of what a process exposes. */
static inline size_t weft_space_counters(const struct weft_space *space)
{
    return WEFT_BARRIER_AT + (size_t)space->state.comms_count * WEFT_BARRIER_WORDS;
}

/* ---- open.c ---- */

/* Bytes of a weft_exposed: with the channel area, if it is that of ranks. */
size_t weft_exposed_bytes(const struct weft_state *state, size_t counters, bool of_ranks);

/* ---- memory.c ---- */

/* Where a window's base is: in a device segment, a registered region, or neither. */
struct weft_place {
    uint32_t segment; /* WEFT_NO_SEGMENT: others cannot map the memory */
    uint64_t segment_offset;
    uint64_t key, key_offset;
};
#define WEFT_NO_SEGMENT UINT32_MAX

/* Whether the outer range has all of the inner one; *offset: where. */
bool weft_contains(const void *outer, uint64_t outer_bytes, const void *inner, uint64_t inner_bytes,
                   uint64_t *offset);
/* Finds [base, base + bytes), or registers it for a window of `comm`. Table lock held. */
weft_status weft_memory_place(struct weft_job *job, weft_comm comm, void *base, size_t bytes,
                              struct weft_place *place);
/* ---- regions.c ---- */

/* Whether memory lies in what weft_malloc gave. Table lock held. */
bool weft_memory_in_segment(const struct weft_job *job, const void *base, size_t bytes,
                            struct weft_place *place);

/* Finds a window with a part in this process's memory, or NONE. Table lock held. */
weft_win weft_memory_window(const struct weft_job *job, const unsigned char *memory, size_t bytes);

/*
 * Finds memory as a place that the network knows, and goes on to know while the rank in `slot` has
 * something under way. False: there is none. Table lock held.
 */
bool weft_memory_known(struct weft_job *job, uint32_t slot, const void *base, size_t bytes,
                       struct weft_place *place);

/*
 * Gives memory of weft_malloc's as a word for processes that map it: its address, bit 63, and its
 * number, so that memory at the same address later is not taken for it. 0: it is other memory. This
 * and weft_memory_offered do not wait for the tables: they find nothing while these are busy.
 */
uint64_t weft_memory_offer(struct weft_job *job, const void *memory, size_t bytes);
static inline bool weft_memory_is_offer(uint64_t word)
{
    return word >> 63 != 0;
}
/* Finds where this process maps what another one offers. NULL: it does not. Any word. */
void *weft_memory_offered(struct weft_job *job, int process, uint64_t offer, size_t bytes);

/* ---- memory.c ---- */

/* Gives memory the window that comm was creating of it, or none: it failed. Table lock held. */
void weft_memory_adopt(struct weft_job *job, weft_comm comm, weft_win win);
/* Gives up what was registered for a window that is gone. Table lock held. */
void weft_memory_release(struct weft_job *job, weft_win win);
/*
 * Finds where this process maps a range of another's segment; NULL: it is reached through the host.
 * Fails the job if it should be mapped and is not, unless it is brief: it may be freed already.
 * Table lock held.
 */
void *weft_memory_mapped(struct weft_job *job, int process, uint32_t segment, uint64_t offset,
                         uint64_t bytes, bool brief);
/* Allocates as weft_malloc, for a caller that goes on without: the error is not the job's. NULL:
 * *status says why, MEMORY or one of the job's. */
void *weft_memory_take(struct weft_job *job, size_t bytes, weft_status *status);

/* ---- exposure.c ---- */

/* Tells all processes of memory of this one. Errors: those of weft_memory_place, and the job's. */
weft_status weft_announce(struct weft_job *job, void *base, size_t bytes, uint32_t number);
weft_status weft_renounce(struct weft_job *job, uint32_t number);
/* Finds what a process has announced under a number; false: nothing. Any thread. */
bool weft_announced_find(struct weft_job *job, int process, uint32_t number,
                         struct weft_announced *found);
/* Whether a window is of announced memory. Table lock held. */
bool weft_announced_is(const struct weft_job *job, weft_win win);
/* Forgets memory whose window could not be made. */
void weft_announced_forget(struct weft_job *job, uint32_t number);

/* ---- collective.c ---- */

/* Name of a collective: "weft_win_create", or "weft_host_win_create"; "weft_?": it is none. */
const char *weft_collective_name(uint64_t op, bool host);
/*
 * Whether other host programs are in a collective of WEFT_COMM_HOST and this process's is not;
 * *first: of them, the one that has entered the fewest barriers. Table lock held.
 */
struct weft_elsewhere;
bool weft_collective_elsewhere(const struct weft_job *job, struct weft_elsewhere *first);
/* Frees what a finished run left behind. At one point of the control channel; in a job of one
 * process when the run has ended. */
void weft_collective_sweep(struct weft_job *job);

#endif
