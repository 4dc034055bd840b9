/*
 * device/cpu/team.h - the threads of a rank, where WEFT_CPU_THREADS gives it several.
 *
 * Each is a fiber, and they share what runs their rank: its worker, or in random mode its task. One
 * runs at a time, until it meets the others: in weft_sync, and in each call that all threads make
 * together, or those of a warp. There it gives way to one that is not there yet: to the highest
 * number, in random mode to any. Who comes last sees whether all have come with the same call,
 * makes it for all, and is the first to go on; in random mode anyone may be. While one warp makes
 * its call, no other thread runs, unless that call waits for notifications (weft_team_pass).
 *
 * So a thread runs far ahead of the others wherever nothing keeps it from that, and a barrier that
 * the kernel lacks shows. To ThreadSanitizer a meeting orders what the threads did before it, and
 * nothing else does.
 */
#ifndef WEFT_DEVICE_CPU_TEAM_H
#define WEFT_DEVICE_CPU_TEAM_H

#include "weft/device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_fiber;
struct weft_thread_value;
struct weft_port;
struct weft_thread_team;

enum { WEFT_TEAM_MOST = 256, WEFT_TEAM_WARP = 32, WEFT_TEAM_TEXT = 200 };

/* Reads weft_strand, relaxed: fibers of one thread have one, and ThreadSanitizer takes them for
 * several threads. */
static inline struct weft_strand weft_strand_get(void)
{
    const struct weft_strand strand = {weft_thread(NULL), weft_threads(NULL),
                                       __atomic_load_n(&weft_strand.rank, __ATOMIC_RELAXED)};
    return strand;
}

static inline void weft_strand_set_rank(int rank)
{
    __atomic_store_n(&weft_strand.rank, rank, __ATOMIC_RELAXED);
}

static inline void weft_strand_set(int thread, int threads, int rank)
{
    __atomic_store_n(&weft_strand.thread, thread, __ATOMIC_RELAXED);
    __atomic_store_n(&weft_strand.threads, threads, __ATOMIC_RELAXED);
    weft_strand_set_rank(rank);
}

/* A call as one thread makes it. */
struct weft_call {
    const char *name;
    const char *arguments; /* names of its arguments, ", " between two */
    int count;             /* number of its arguments */
    const uint64_t *value;
    const int *targets;             /* an argument of `listed` elements; NULL: none */
    const weft_put_item *items;     /* an argument of `listed` elements; NULL: none */
    int listed;                     /* elements of targets or items */
    int lanes;                      /* how many threads make it together; 0: all */
    void *result;                   /* where the call's result goes; NULL: nowhere */
    size_t bytes;                   /* of the result */
    struct weft_thread_value *part; /* [0]: from the thread; [1]: its result (rank/block.h) */
};

/* What is wrong with a call. */
struct weft_disagreement {
    weft_status status; /* MISMATCH, or ARGUMENT: each thread brings memory of its own stack */
    char text[WEFT_TEAM_TEXT];
};

enum weft_met {
    WEFT_MET_LAST,   /* the caller makes the call, writes its result, and says weft_team_made */
    WEFT_MET_MADE,   /* it is made, and the result is there */
    WEFT_MET_AT_ODDS /* the threads make different calls, and *why says which */
};

/* Makes a team for a port's rank, which is alone so far: `threads` (2 .. WEFT_TEAM_MOST) fibers
 * that will run(argument), each as another thread. NULL: no memory. */
struct weft_thread_team *weft_team_create(struct weft_port *port, int threads, size_t stack_bytes,
                                          void (*run)(void *), void *argument);
/* Frees a team, but not the fibers, when no thread runs any more. */
void weft_team_free(struct weft_thread_team *team);
/* Returns the fiber of a thread; NULL beyond the last. */
struct weft_fiber *weft_team_fiber(const struct weft_thread_team *team, int thread);

/* Runs the threads until the rank has ended. A task of random mode calls it. */
void weft_team_run(struct weft_thread_team *team);

/* Switches from a thread to the rank's worker; returns when that switches to the rank. */
void weft_team_rest(const struct weft_thread_team *team);

/* Gives way to the others, for a thread that has done all. Returns to the last one alone. */
void weft_team_leave(struct weft_thread_team *team);

/* Each thread of a rank calls it in a call, and waits for the others that make it. After LAST and
 * AT_ODDS the rank has one thread, its caller (weft_strand); after LAST until weft_team_made. */
enum weft_met weft_team_meet(struct weft_thread_team *team, struct weft_call *call,
                             struct weft_disagreement *why);
/* Gives all threads the call's result. The last one (LAST) calls it when the call is made. */
void weft_team_made(struct weft_thread_team *team);
/* Lets another thread run, in a call of a warp that found nothing; the last one (LAST) calls it.
 * waits: it can do nothing else. False: no other can run. */
bool weft_team_pass(struct weft_thread_team *team, bool waits);
/* Returns the call as a thread made it. The last one (LAST) asks, before weft_team_made. */
const struct weft_call *weft_team_call(const struct weft_thread_team *team, int thread);

/* Returns memory of the team's for a key, the same each time. NULL: there is none. */
void *weft_team_share(struct weft_thread_team *team, const void *key, size_t bytes);
/* Whether an address lies in what the team shares (holds: or on a thread's stack). */
bool weft_team_shares(const struct weft_thread_team *team, const void *address);
bool weft_team_holds(const struct weft_thread_team *team, const void *address);

#endif
