/* remote/session/inside.h - what the parts of a session share. One thread calls all of it. */
#ifndef WEFT_REMOTE_SESSION_INSIDE_H
#define WEFT_REMOTE_SESSION_INSIDE_H

#include "remote/session/session.h"

#include <sys/queue.h>

enum {
    SESSION_HELD_MOST = 32 << 20,  /* bytes of records held */
    SESSION_CHUNKS = 64,           /* pinned memory for copies inside records */
    SESSION_ARRAY_UNIT = 64 << 10, /* bytes: an array counts as so many of these */
    SESSION_PENDING = 1024,        /* waiting calls, copies and events of one program */
    SESSION_MARKS = 128,           /* the network has fewer under way */
    SESSION_SIDE_MOST = 1 << 17    /* elements in one direction: no device takes more */
};

/* How a record was taken, beside CUDA's errors. */
enum {
    SESSION_LATER = -1, /* the answer comes later */
    SESSION_AGAIN = -2, /* no room: it stays in the ring */
    SESSION_WRONG = -3, /* no program of weft's sends this: the session ends */
    SESSION_GATE = -4   /* a closed gate: what comes after it is held */
};

struct weft_session;

struct session_kernel {
    CUfunction function;
    uint32_t count, bytes; /* number of parameters; bytes of all */
    struct weft_parameter parameters[];
};

struct session_device {
    CUdevice ordinal;  /* the driver's */
    CUcontext context; /* made at its first use; NULL: not yet */
    struct weft_session_arena arena;
    uint64_t arena_key;
    struct weft_ranges globals;      /* the program's variables there */
    struct weft_ranges reached;      /* slabs of other servers that it reaches */
    CUstream in, out;                /* of copies between processes: to the device, and from it */
    bool unmarked;                   /* something was delivered since the last mark */
    CUevent events[SESSION_PENDING]; /* free events */
    uint32_t event_count;
};

/* What to do when a wait's events have passed, or failed with result. */
struct session_wait;
typedef CUresult session_then(struct weft_session *session, struct session_wait *wait,
                              CUresult result);

/* A call, or a callback, that waits for events. */
struct session_wait {
    struct session_wait *next;
    int device;
    int lane;           /* of the thread that waits; -1: none does */
    session_then *then; /* NULL: nothing is to be done */
    uint64_t value;     /* an argument of `then` */
    bool borrowed;      /* its event is the program's, and is not given back */
    bool orphan;        /* its event is borrowed, and the program has destroyed it meanwhile */
    bool passed;
    CUresult result;
    int chunk; /* the chunk of its copy, whose bytes go with the answer; -1: none */
    uint32_t count;
    CUevent events[];
};

/* A copy's gate in a stream, by the copy's number. */
struct session_gate {
    bool closed;
    struct session_held *held; /* the closed gate's record; NULL: not there yet */
    uint64_t mark;             /* 1 + the mark with which the copy is there; 0: PUT has not come */
    bool done;                 /* the copy is there, perhaps before the gate */
    bool go, told;             /* GO has come; the program has told what to send */
    struct weft_send send;
};

/* What a record's order depends on. */
struct session_touch {
    uint64_t stream, events[2], function; /* handles; 0: none, or the default stream */
    bool in_stream, blocking; /* blocking: the stream is, or waits for, the default one */
    enum weft_class class;
};

/* A record that waits, or a closed gate. */
TAILQ_HEAD(session_helds, session_held);
struct session_held {
    TAILQ_ENTRY(session_held) order; /* in the session's `held` */
    TAILQ_ENTRY(session_held) turn;  /* in `after` of another, or in the session's `ready` */
    struct session_helds after;      /* records that wait for this one to go */
    struct session_touch touch;
    _Alignas(WEFT_RECORD_UNIT) struct weft_record record; /* with its words and extra bytes */
};

struct weft_session {
    struct weft_record_links links;
    const struct weft_cuda_table *table;
    const struct weft_session_limits *limits;
    int count;
    struct session_device device[WEFT_LINK_DEVICES];
    int current; /* device whose context the driver has; -1: none */
    struct weft_handles handles;
    CUresult sticky; /* error of a record without an answer: goes with the next answer */
    bool ends;
    uint64_t looked; /* when it was last looked whether the program is idle */
    uint64_t idle;   /* ns for which the program had asked for nothing at `looked` */
    bool asks;       /* the program has asked for something since `looked` */
    struct session_wait *waits, **last_wait;
    uint32_t wait_count;
    struct session_helds held, ready; /* hold.c: all that is held; those whose turn has come */
    uint64_t held_bytes;
    unsigned char (*chunks)[WEFT_COPY_INSIDE];
    bool chunk_used[SESSION_CHUNKS];   /* a wait has the chunk */
    unsigned char *image;              /* code that the program is sending */
    uint64_t image_whole, image_bytes; /* bytes of it announced; bytes that have come */
    struct session_share *shares;
    int door;                /* socket where other servers leave descriptors of memory; -1: none */
    struct weft_ranges kept; /* addresses reserved for other servers' arenas */
    uint64_t tickets;        /* descriptors that this session has numbered so far */
    bool prints;             /* code that was loaded may print */
    uint64_t output[2];      /* bytes of limits->output that the program has been sent */
    /* copies between processes */
    struct session_gate *gates;       /* by the copy's number */
    uint16_t delivering[WEFT_COPIES]; /* a ring of copies whose gates have marks */
    uint32_t first_delivering, last_delivering;
    struct weft_sources sources;
    struct {
        CUevent event[WEFT_LINK_DEVICES];
    } marks[SESSION_MARKS];
    uint64_t mark;
    void *stage_memory; /* pinned staging memory, where the network has none */
};

/* ---- session.c */
/* Makes a session with its devices, but without its network; NULL: that is said. */
struct weft_session *session_make(const struct weft_config *config,
                                  const struct weft_cuda_table *table,
                                  const struct weft_session_limits *limits);
void session_free(struct weft_session *session);
/* Executes what has come, as far as answers have room. Errors: PROTOCOL, said. */
weft_status session_take_records(struct weft_session *session, bool *did);
/* Makes a device's context current. Errors: the driver's. */
CUresult session_use(struct weft_session *session, int device);
/* Sends an answer. False: there is no room, and nothing happened. */
bool session_answer(struct weft_session *session, int lane, CUresult result, const uint64_t *words,
                    uint32_t count, const void *extra, uint32_t bytes);
/* Sends the program what kernels have printed, before the answer that lets it go on, since it may
 * print what comes behind. False: there is no room for all of it yet. */
bool session_print(struct weft_session *session);
/* Sends a good answer, for which there was room when the record was taken. Returns
 * SESSION_LATER. */
int session_reply(struct weft_session *session, const struct weft_record *record,
                  const uint64_t *words, uint32_t count, const void *extra, uint32_t bytes);
/* Makes a handle for what the program made, unless *result says that it was not. 0: that, or no
 * memory for a handle, which *result says then; and the object is gone again. */
uint64_t session_name(struct weft_session *session, enum weft_argument kind, int device,
                      void *object, uint32_t flags, CUresult *result);
/* Destroys what the program made, and its handle. Errors: the driver's. */
CUresult session_drop(struct weft_session *session, struct weft_place *place);
/* Returns the device whose memory, which the program may touch, all of it is; -1: none's. */
int session_device_of(const struct weft_session *session, uint64_t address, uint64_t bytes);

/* memory.c: returns the bytes from where rows begin to where they end; 0: they make no sense. */
uint64_t session_extent(uint64_t pitch, uint64_t width, uint64_t rows);
/* array.c: returns the driver's array of a handle, on that device; NULL: none. */
CUarray session_array(const struct weft_session *session, int device, CUarray handle);
/* memory.c: returns whose rows they are; -1: nobody's, or they make no sense. */
int session_rows_at(const struct weft_session *session, uint64_t address, uint64_t pitch,
                    uint64_t width, uint64_t rows);

/* Whether there is room for the longest answer that is given at once. */
bool session_can_answer(struct weft_session *session);
/* Answers a record that was executed, or keeps its error. Errors: PROTOCOL, said. */
weft_status session_done(struct weft_session *session, const struct weft_record *record,
                         int result);

/* ---- execute.c */
/* Whether a record has the device, words and bytes of its call. */
bool session_is_formed(const struct weft_session *session, const struct weft_record *record);
/* Executes a well-formed record. Returns a CUresult, or one of the values SESSION_. */
int session_execute(struct weft_session *session, struct weft_record *record);
/* Returns the arguments' kinds, and *class, of a call of the list. */
const uint8_t *session_arguments(uint32_t call, enum weft_class *class);

/*
 * ---- hold.c: records that wait in the session, with all that comes after them in CUDA's order. A
 * record is held behind a closed gate, and where there is no memory for its data. Others overtake
 * it.
 */
/* Executes a record, or holds it. Returns what session_execute does; SESSION_AGAIN: it can neither
 * be executed nor held now. */
int session_take(struct weft_session *session, struct weft_record *record);
/* Removes a held record that is done with: those behind it line up anew. */
void session_release(struct weft_session *session, struct session_held *held);
/* Executes what has to wait no more, while answers have room. Errors: PROTOCOL, said. */
weft_status session_held_poll(struct weft_session *session, bool *did);
void session_held_drop(struct weft_session *session);

/* ---- wait.c */
/* Records an event of the session's own in a stream. */
CUresult session_record(struct weft_session *session, int device, CUstream stream, CUevent *event);
/* Whether an event of the session's has passed; then it is taken back. Errors: NOT_READY, the
 * driver's. */
CUresult session_passed(struct weft_session *session, int device, CUevent event);
/* Makes a wait with room for so many events, not yet in the list. SESSION_AGAIN: the list is full;
 * each record that may wait is one that hold.c knows to hold. */
int session_wait_make(struct weft_session *session, int device, int lane, uint32_t events,
                      session_then *then, uint64_t value, struct session_wait **made);
CUresult session_wait_record(struct weft_session *session, struct session_wait *wait,
                             CUstream stream);
/* Begins a wait: SESSION_LATER; if result is an error, drops it and returns the error. */
int session_wait_begin(struct weft_session *session, struct session_wait *wait, CUresult result);
void session_wait_drop(struct weft_session *session, struct session_wait *wait);
/* Begins a wait for an event of the program's own. Returns as session_wait_begin. */
int session_wait_event(struct weft_session *session, int device, int lane, CUevent event,
                       session_then *then, uint64_t value);
/* Whether a wait is for this event; goes: the last such wait destroys it. */
bool session_event_waited(struct weft_session *session, CUevent event, bool goes);
/* Destroys the program's event: at once, or when nothing waits for it any more. */
CUresult session_event_destroy(struct weft_session *session, CUevent event);
/* Begins a wait for what a stream has been given so far. Returns as session_wait_begin. */
int session_wait_stream(struct weft_session *session, int device, int lane, CUstream stream,
                        session_then *then, uint64_t value);
/* Begins a wait for all that the device has been given so far. Returns as session_wait_begin. */
int session_wait_device(struct weft_session *session, int device, int lane, session_then *then,
                        uint64_t value);
void session_waits_poll(struct weft_session *session, bool *did);

/* ---- share.c */
/* Pins memory of this process for all its devices; perhaps it is pinned already. */
CUresult session_pin(struct weft_session *session, void *memory, size_t bytes);
/* Returns pinned memory of the program, by its address there; NULL: not all of it was shared. */
void *session_shared(const struct weft_session *session, uint64_t address, uint64_t bytes);
void session_shares_close(struct weft_session *session); /* the devices are idle */

/* ---- reach.c */
/* Lets other servers of this host leave descriptors. Where that cannot be, none do. */
void session_reach_open(struct weft_session *session);
void session_reach_close(struct weft_session *session); /* the devices are idle */
/* memory.c: whether an arena may have these addresses. */
bool session_is_arena(uint64_t base, uint64_t span);

/*
 * ---- memory.c, near.c, reach.c, array.c, module.c, copies.c, device.c: the calls; execute.c has
 * those that are the driver's. Arguments have the names that they have in calls.def. A value of an
 * answer is set on CUDA_SUCCESS.
 */
#define SESSION_IN(type)                type
#define SESSION_OUT(type)               type
#define SESSION_STREAM(type)            type
#define SESSION_EVENT(type)             struct weft_place *
#define SESSION_FUNCTION(type)          struct weft_place *
#define SESSION_LIBRARY(type)           struct weft_place *
#define SESSION_GIVE(type)              type
#define SESSION_TAKE(type)              type
#define SESSION_ARRAY(type)             struct weft_place *
#define SESSION_FIELD(kind, type, name) SESSION_##kind(type) name;
#define SESSION_DO(name)                                                                           \
    int session_do_##name(struct weft_session *session __attribute__((unused)),                    \
                          struct weft_record *record __attribute__((unused)),                      \
                          struct session_call_##name *call __attribute__((unused)))
#define WEFT_CALL(name, class, ...)                                                                \
    struct session_call_##name {                                                                   \
        WEFT_EACH(SESSION_FIELD, __VA_ARGS__)                                                      \
    };                                                                                             \
    SESSION_DO(name);
#define WEFT_CALL_BY_HAND WEFT_CALL
#include "remote/wire/calls.def"

weft_status session_copies_open(struct weft_session *session);
void session_copies_close(struct weft_session *session);
weft_status session_copies_poll(struct weft_session *session, bool *did);
weft_status session_copy_notice(void *context, int process, enum weft_copy_step step,
                                uint32_t number);
/* Fills in what the network calls when pieces of copies arrive. */
void session_device(struct weft_session *session, struct weft_net_device *device);

#endif
