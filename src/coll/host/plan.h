/*
 * coll/host/plan.h - a collective as rounds of steps. A round begins all its messages, waits for
 * all of them, and then takes its local steps in order. An algorithm writes the plan of one member
 * when the call is made; plan.c carries it out.
 */
#ifndef WEFT_COLL_HOST_PLAN_H
#define WEFT_COLL_HOST_PLAN_H

#include "msg/msg.h"
#include "weft/team.h"

#include <stdbool.h>
#include <sys/queue.h>

enum weft_step_kind {
    WEFT_STEP_SEND,
    WEFT_STEP_RECEIVE,
    WEFT_STEP_COMBINE, /* into = from op into */
    WEFT_STEP_COPY,
    WEFT_STEP_COPY_DEVICE, /* a copy from, to or within memory of the device */
    WEFT_STEP_NEXT         /* a round ends */
};

struct weft_step {
    enum weft_step_kind kind;
    int member;
    const void *from;
    void *into;
    size_t size; /* bytes; of COMBINE: elements */
    weft_message_op op;
};

enum { WEFT_TEAM_HISTORY = 64 };

/* What the teams of one job share. Locks that come before: progress_lock (runtime/service/proxy.h).
 */
struct weft_teams {
    struct weft_messages *messages; /* its `plans` counts `active` */
    struct weft_lock lock;          /* guards all below, and ops that no thread waits for */
    LIST_HEAD(, weft_team_op) active;
    LIST_HEAD(, weft_team) open; /* the job's end closes what the program has left */
    weft_team *launches;         /* the team whose calls are launched; NULL: no team */
    struct weft_team_parts *parts[WEFT_MSG_ROWS]; /* by row: who has it; NULL: nobody */
    double (*meanwhile)(void);                    /* weft_team_meanwhile; or NULL */
    struct weft_ccl *ccl;                         /* for launched calls; NULL: not opened yet */
};

struct weft_team {
    struct weft_teams *of;
    LIST_ENTRY(weft_team) link;
    int under_way; /* collectives of the team that are active */
    weft_job *job;
    weft_comm comm;
    int members, me;
    bool launches; /* its calls are launched where ccl/ supports them */
    const char *name;
    const char *const *names;
    uint32_t number;                /* number of the next collective */
    int history[WEFT_TEAM_HISTORY]; /* the latest tags, by number; negative: it went by parts */
    bool asked;                     /* weft_shared_agree was called */
    struct weft_team_parts *parts;  /* what the members share (shared.h); NULL: they do not */
};

struct weft_team_op {
    weft_team *team;
    LIST_ENTRY(weft_team_op) link; /* among the active */
    int tag;                       /* what this collective is: team.c */
    weft_combine combine;
    struct weft_step *steps;
    size_t count, room; /* steps that are written; that fit */
    size_t at;          /* the first step of the round under way */
    bool begun;         /* the messages of that round have begun */
    bool waited;        /* a thread is in weft_team_wait for it: it alone drives */
    bool launched;      /* it has no steps, and is complete when the stream has passed `mark` */
    uint64_t mark;
    weft_status failed; /* not OK: why it could not be written or carried out */
    void *there, *near; /* at the end near_bytes bytes are copied from near to there */
    size_t near_bytes;
    SLIST_HEAD(, weft_scratch) scratch;
    size_t used;                         /* bytes of `few` that are taken */
    _Alignas(16) unsigned char few[256]; /* scratch memory that is used first */
};

/* ---- written by algorithms; what fails is kept in the op's `failed` -------------------------- */

/* Notes that the plan cannot be written, and says why, unless there was a reason before. */
#define weft_plan_fail(op, status, why, ...)                                                       \
    do                                                                                             \
        if ((op)->failed == WEFT_OK)                                                               \
            (op)->failed = weft_refused((op)->team->job, status, "%s: " why,                       \
                                        weft_team_name((op)->team, (op)->tag), ##__VA_ARGS__);     \
    while (0)
/* Add a message to, or from, another member. Messages of 0 bytes are sent, too. */
void weft_plan_send(weft_team_op *op, int member, const void *from, size_t bytes);
void weft_plan_receive(weft_team_op *op, int member, void *into, size_t bytes);
/* Adds a step that combines elements in memory of the host: into = from op into. */
void weft_plan_combine(weft_team_op *op, const void *from, void *into, size_t count);
/* Adds a copy between any memories that a message takes; none where both are one place. */
void weft_plan_copy(weft_team_op *op, void *into, const void *from, size_t bytes);
void weft_plan_next(weft_team_op *op);
/* Returns memory until the collective is over; never NULL, but not to be used once `failed`. */
void *weft_plan_scratch(weft_team_op *op, size_t bytes);

/* ---- device.c ------------------------------------------------------------------------------- */

/* Tells whether a call's buffer is the device's: *far. ARGUMENT, said: no message takes it. */
weft_status weft_team_place(const weft_team *team, int tag, const void *memory, size_t bytes,
                            bool *far);
/* Whether memory is the device's. The plan fails where no message takes it. */
bool weft_plan_is_far(weft_team_op *op, const void *memory, size_t bytes);
/* Puts scratch in the place of a source and a target in memory of the device. The source is copied
 * there first; at the end, by weft_plan_begin, the result is copied to the target. */
void weft_plan_near(weft_team_op *op, const void **source, size_t out, void **target, size_t in);
/* Whether a reduction goes to the team's stream. The plan fails if only its buffers forbid it. */
bool weft_plan_launches(weft_team_op *plan, const void *source, size_t out, const void *target,
                        size_t in);
/* Looks whether the stream has passed a launched op, and then sets `at`; the first look marks its
 * end. Lock held. Returns the job's status. */
weft_status weft_plan_look(weft_team_op *op);

/* ---- plan.c ---------------------------------------------------------------------------------- */

/* Moves all ops that no thread waits for. task: the receive task calls, and ops whose combine is
 * for calls alone stay. Takes the lock. True: anything moved. */
bool weft_plan_drive(struct weft_teams *teams, bool task);
/* Frees an active op that is over, or for which nobody asks any more. Lock held. */
void weft_plan_drop(weft_team_op *op);

/* Makes an op for the team's next collective; NULL: *status says why. root: of collectives that
 * have one; else what all members give alike (weft_combine's check, or 0). */
weft_team_op *weft_plan_open(weft_team *team, enum weft_team_kind kind, uint32_t root,
                             weft_status *status);
/* Begins a plan that is written, and takes the op, also where it fails. op NULL: waits for it. */
weft_status weft_plan_begin(weft_team_op *plan, weft_team_op **op);
/* Returns how long a thread should wait for others, after so many waits, before it looks again. */
double weft_team_patience(const weft_team *team, unsigned waits);
/* Returns RANK, said, if the root is no member. */
weft_status weft_plan_root(weft_team *team, enum weft_team_kind kind, int root);

/* ---- mismatch.c ------------------------------------------------------------------------------ */

int weft_team_tag(uint32_t number, enum weft_team_kind kind, uint32_t root);
/* Returns the root of a WEFT_TEAM_REDUCE for tags and weft_plan_open: it tells of the check,
 * too. */
uint32_t weft_team_root(int root, uint32_t check);
/* Writes what a tag of a team stands for: "MPI_Allreduce 12 on MPI_COMM_WORLD". */
void weft_team_words(const void *team, int tag, char *text, size_t bytes);
/* Returns what texts call the collective with a tag. */
const char *weft_team_name(const weft_team *team, int tag);
/* Looks at the first message from a member, or WEFT_ANY, which no receive has taken. Fails the job
 * if it is of a collective that this member has called, and that was another one here. */
weft_status weft_team_strangers(weft_team *team, int from);
/* Fails the job if a tag from a member is of another call than here; parts: it came by a part. */
weft_status weft_team_stranger(weft_team *team, int from, int tag, bool parts);
/* Fails the job if two tags of one call, this member's and another's, differ. */
weft_status weft_team_compare(const weft_team *team, int mine, int from, int theirs);
/* Fails the job because `bytes` bytes came from a member where others were expected. */
weft_status weft_team_unequal(const weft_team *team, int tag, int from, size_t bytes,
                              size_t expected);

#endif
