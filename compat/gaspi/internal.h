/*
 * compat/gaspi/internal.h - what the files of the library share. GASPI over weft's public API
 * alone: a rank is a process of the job; a segment is one or two exposures; a queue remembers the
 * last put and get posted to it; a group is a team of host programs.
 */
#ifndef WEFTGASPI_INTERNAL_H
#define WEFTGASPI_INTERNAL_H

#include "../common.h"

#include <GASPI.h>
#include <GASPI_Ext.h>
#include <GASPI_Threads.h>
#include <PGASPI.h>
#include <pthread.h>

/* Procedures have GASPI's parameters, and need not look at all of them. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* Defines pgaspi_<name>, and gaspi_<name>, which a tool may define itself. */
#define API_OF(type, name, parameters)                                                             \
    extern __typeof__(gaspi_##name) gaspi_##name __attribute__((weak, alias("pgaspi_" #name)));    \
    type pgaspi_##name parameters
#define API(name, parameters) API_OF(gaspi_return_t, name, parameters)

/* Checks what a caller has to keep to; else returns code. Each place says its first refusal by a
 * line, with the call's name and, where they are given, numbers. */
#define NEED(condition, code, ...)                                                                 \
    do {                                                                                           \
        static bool said;                                                                          \
        if (!(condition))                                                                          \
            return weftgaspi_refuse(&said, code, "" __VA_ARGS__);                                  \
    } while (0)
extern __thread const char *weftgaspi_call; /* that this thread is in; NULL: nothing is said */
gaspi_return_t weftgaspi_refuse(bool *said, gaspi_return_t code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#pragma GCC diagnostic ignored "-Wformat-zero-length"

/* Counts the entries of a table that are there. */
#define COUNT_THERE(table)                                                                         \
    ({                                                                                             \
        gaspi_number_t there = 0;                                                                  \
        for (size_t at = 0; at < sizeof(table) / sizeof((table)[0]); at++)                         \
            there += (table)[at].there;                                                            \
        there;                                                                                     \
    })

/* Procedures begin with TRY_PLACES, which checks that no place is NULL, or TRY_OPEN: also that the
 * library is open. */
#define TRY_PLACES(...)                                                                            \
    do {                                                                                           \
        weftgaspi_call = __func__;                                                                 \
        NEED(ALL_THERE(__VA_ARGS__), GASPI_ERR_NULLPTR);                                           \
    } while (0)
#define TRY_OPEN(...)                                                                              \
    do {                                                                                           \
        weftgaspi_call = __func__;                                                                 \
        NEED(weftgaspi.job != NULL, GASPI_ERR_NOINIT);                                             \
        TRY_PLACES(__VA_ARGS__);                                                                   \
    } while (0)

/* Defines a procedure that is an expression, its code. */
#define CALL(name, parameters, expression)                                                         \
    API(name, parameters)                                                                          \
    {                                                                                              \
        TRY_OPEN();                                                                                \
        return expression;                                                                         \
    }
/* Defines a procedure that tells one number, behind `first`. */
#define SAY(name, type, number, first)                                                             \
    API(name, (type *const answer))                                                                \
    {                                                                                              \
        TRY_PLACES(answer);                                                                        \
        first;                                                                                     \
        *answer = (type)(number);                                                                  \
        return GASPI_SUCCESS;                                                                      \
    }
/* Defines a procedure that tells one number of what IN finds by its id, and calls `of`. */
#define ASK_OF(name, IN, id_type, type, number)                                                    \
    API(name, (const id_type id, type *const answer))                                              \
    {                                                                                              \
        TRY_OPEN(answer);                                                                          \
        LOCKED;                                                                                    \
        IN(of, id);                                                                                \
        *answer = (type)(number);                                                                  \
        return GASPI_SUCCESS;                                                                      \
    }
/* ASK takes no lock: for what stays as it is while the library is open. */
#define ASK(name, type, number)        SAY(name, type, number, TRY_OPEN())
#define ASK_LOCKED(name, type, number) SAY(name, type, number, TRY_OPEN(); LOCKED)

enum {
    WEFTGASPI_SEGMENTS = 255, /* most; also the bounds of the configuration's fields */
    WEFTGASPI_GROUPS = 255,
    WEFTGASPI_QUEUES = 16,
    WEFTGASPI_QUEUE_MOST = 4096,
    WEFTGASPI_PASSIVE_QUEUE = 1024
};

/* ---- start.c: the job ------------------------------------------------------------------------ */

extern struct weftgaspi_state {
    weft_job *job;        /* NULL: not open */
    pthread_mutex_t lock; /* of all tables; not held where a call waits */
    pthread_cond_t left;  /* a thread has left a call of a group */
    gaspi_config_t config;
    int rank, ranks;
    bool on_gpu;     /* segments lie in a GPU's memory, which this program cannot load from */
    int tag;         /* counted with every notification, so that waiters wake */
    weft_comm talk;  /* messages of the library's own */
    void *gpu_table; /* what kernels use: gpu.c */
    struct weftgaspi_peer *peer; /* by rank */
} weftgaspi;

/* Tags of messages on weftgaspi.talk. */
enum { WEFTGASPI_TAG_PASSIVE, WEFTGASPI_TAG_COMMIT, WEFTGASPI_TAG_COMMITTED };

/* Holds the lock until the end of the block. */
#define LOCKED                                                                                     \
    __attribute__((cleanup(weftgaspi_unlock_block), unused)) const bool locked =                   \
        (pthread_mutex_lock(&weftgaspi.lock), true)
static inline void weftgaspi_unlock_block(const bool *locked)
{
    pthread_mutex_unlock(&weftgaspi.lock);
}

#define NEED_NOTIFICATION(id)                                                                      \
    NEED((id) < weftgaspi.config.notification_num, GASPI_ERR_INV_NOTIF_ID,                         \
         "notification %u of %u", id, weftgaspi.config.notification_num)

#define TRY_WEFT(expression) TRY(weftgaspi_result(expression, -1))
/* _now and _until: the time, and when a limit is reached (INFINITY: never), both in seconds. */
double weftgaspi_now(void);
double weftgaspi_until(gaspi_timeout_t timeout_ms);
double weftgaspi_left(double until); /* 0 or more */
/* Returns what a status of weft is to GASPI. A loss is noted in the state vector; rank: who it was
 * with. */
gaspi_return_t weftgaspi_result(weft_status status, int rank);
#define NEED_RANK(rank)                                                                            \
    NEED((rank) < weftgaspi.ranks, GASPI_ERR_INV_RANK, "rank %u of %d", rank, weftgaspi.ranks)

/* ---- segment.c ------------------------------------------------------------------------------- */

struct weftgaspi_segment {
    bool there, bound;
    unsigned char *head, *data; /* in one piece unless bound */
    size_t bytes;
    uint64_t entry; /* what other ranks read: bytes, generation, whether it is bound */
};

/* A segment of a rank as this process reaches it. */
struct weftgaspi_place {
    uint64_t entry; /* the segment's, when the windows were found */
    weft_win head, data;
    size_t data_offset, bytes;
    bool told; /* this process's own segment of that number is registered at the rank */
};

/* Finds a segment. The caller holds the lock. */
struct weftgaspi_segment *weftgaspi_segment_of(gaspi_segment_id_t segment); /* NULL: none */
/* Finds the segment s, or returns the error. */
#define TRY_SEGMENT(s, segment)                                                                    \
    struct weftgaspi_segment *const s = weftgaspi_segment_of(segment);                             \
    NEED(s != NULL, GASPI_ERR_INV_SEG, "segment %u", segment)
gaspi_return_t weftgaspi_check_local(gaspi_segment_id_t segment, gaspi_offset_t offset,
                                     gaspi_size_t bytes, void **address);
/* Finds how to reach a segment of a rank. INV_SEG: the rank has not registered it here. */
gaspi_return_t weftgaspi_place_of(gaspi_rank_t rank, gaspi_segment_id_t segment,
                                  struct weftgaspi_place *place);
gaspi_return_t weftgaspi_segments_open(void);
void weftgaspi_segments_close(void);
/* Whether another process wants this one to end. */
bool weftgaspi_dismissed(void);

/* ---- queue.c, notify.c ----------------------------------------------------------------------- */

struct weftgaspi_queue {
    bool there;
    int number;
    uint64_t posted, done;
    /* Of notifications under way, by request: a purged queue's are still read. */
    uint32_t values[WEFTGASPI_QUEUE_MOST];
};

/* The functions of queue.c and notify.c need the lock. */
struct weftgaspi_queue *weftgaspi_queue_of(gaspi_queue_id_t queue); /* NULL: none */
/* Finds the queue q, or returns the error. */
#define TRY_QUEUE(q, queue)                                                                        \
    struct weftgaspi_queue *const q = weftgaspi_queue_of(queue);                                   \
    NEED(q != NULL, GASPI_ERR_INV_QUEUE, "queue %u", queue)
/* Has a notification set when the operation is done. */
gaspi_return_t weftgaspi_reads_add(weft_op op, gaspi_segment_id_t segment,
                                   gaspi_notification_id_t id);
void weftgaspi_queues_open(void);
void weftgaspi_queues_close(void);
/* Sets notifications of reads that are done. True: some are still under way. Lock held. */
bool weftgaspi_reads_done(void);
/* Sets one of this process's own notifications, and wakes who waits. Lock held. */
gaspi_return_t weftgaspi_notify_self(gaspi_segment_id_t segment, gaspi_notification_id_t id,
                                     gaspi_notification_t value);

/* ---- group.c --------------------------------------------------------------------------------- */

enum weftgaspi_collective_kind {
    WEFTGASPI_NONE,
    WEFTGASPI_BARRIER,
    WEFTGASPI_ALLREDUCE,
    WEFTGASPI_ALLREDUCE_USER
};

struct weftgaspi_commit; /* what is under way of a commit */

struct weftgaspi_group {
    bool there;
    bool waiting; /* a thread is in a call of it: weftgaspi_group_enter, _leave */
    int size, *ranks;
    uint32_t number; /* of its group of messages */
    weft_comm comm;
    weft_team *team; /* NULL: it is not committed */
    struct weftgaspi_commit *commit;
    weft_team_op *op;
    void *result; /* of the program's operation */
    struct weftgaspi_collective {
        enum weftgaspi_collective_kind kind;
        const void *send;
        void *receive;
        size_t number;
        weft_combine combine;
        struct weftgaspi_user {
            gaspi_reduce_operation_t operation;
            gaspi_reduce_state_t state;
            gaspi_timeout_t timeout;
            gaspi_return_t code;
            void *result;
        } user;
    } call; /* the collective under way */
};

gaspi_return_t weftgaspi_groups_open(void);
void weftgaspi_groups_close(void);
struct weftgaspi_group *weftgaspi_group_of(gaspi_group_t group); /* NULL: none. Lock held. */
/* Finds the group for a call that may wait, once no other thread is in one: TIMEOUT, INV_GROUP. The
 * lock is held, and given up meanwhile. Every success has its leave. */
gaspi_return_t weftgaspi_group_enter(gaspi_group_t group, double until,
                                     struct weftgaspi_group **found);
void weftgaspi_group_leave(struct weftgaspi_group *g);

/* ---- passive.c ------------------------------------------------------------------------------- */
void weftgaspi_passive_close(void);

/* ---- text.c ---------------------------------------------------------------------------------- */
bool weftgaspi_bound_to_socket(void); /* by gaspi_run -N */

/* ---- statistic.c ----------------------------------------------------------------------------- */

/* X(name, its text, what it counts, whether it is by rank) */
#define WEFTGASPI_COUNTER_MAP(X)                                                                   \
    X(WRITES, "writes", "writes posted", false)                                                    \
    X(READS, "reads", "reads posted", false)                                                       \
    X(NOTIFIES, "notifications", "notifications posted", false)                                    \
    X(ATOMICS, "atomics", "atomic operations done", false)                                         \
    X(PASSIVES, "passive sends", "passive messages begun", false)                                  \
    X(COLLECTIVES, "collectives", "barriers and reductions begun", false)                          \
    X(WAITS, "waits", "calls of gaspi_wait", false)                                                \
    X(WAITED, "waited", "microseconds in gaspi_wait", false)                                       \
    X(WRITTEN, "bytes written", "bytes of writes, by rank", true)                                  \
    X(READ, "bytes read", "bytes of reads, by rank", true)
#define WEFTGASPI_COUNTER(name, text, what, by_rank) WEFTGASPI_##name,
enum weftgaspi_counter { WEFTGASPI_COUNTER_MAP(WEFTGASPI_COUNTER) WEFTGASPI_COUNTERS };
/* Adds to a counter; rank: of those by rank. Any thread. */
void weftgaspi_count(enum weftgaspi_counter counter, int rank, uint64_t more);

/* ---- what is known of a rank ----------------------------------------------------------------- */

struct weftgaspi_peer {
    bool corrupt;
    weft_op reached; /* a read that gaspi_proc_ping began and did not wait for to the end */
    uint64_t counters[WEFTGASPI_COUNTERS]; /* rank 0 has those that are not by rank */
    /* The newest put and the newest get of a queue, which stand for those before them. */
    weft_op newest[WEFTGASPI_QUEUES][2];
    struct weftgaspi_place places[WEFTGASPI_SEGMENTS]; /* segments found before, or told of */
};
static inline weft_op *weftgaspi_newest(int rank, const struct weftgaspi_queue *queue, bool get)
{
    return &weftgaspi.peer[rank].newest[queue->number][get];
}

#endif
