/*
 * coll/host/plan.h - a collective as rounds of steps. A round begins all its messages, waits for
 * all of them, and then takes its local steps in order. An algorithm writes the plan of one member
 * when the call is made; plan.c carries it out.
 */
#ifndef WEFT_COLL_HOST_PLAN_H
#define WEFT_COLL_HOST_PLAN_H

#include "weft/team.h"

#include "base/task.h"

#include <stdbool.h>
#include <sys/queue.h>

enum weft_step_kind {
    WEFT_STEP_SEND,
    WEFT_STEP_RECEIVE,
    WEFT_STEP_COMBINE, /* into = from op into */
    WEFT_STEP_COPY,
    WEFT_STEP_NEXT /* a round ends */
};

struct weft_step {
    enum weft_step_kind kind;
    int member;
    const void *from;
    void *into;
    size_t size; /* bytes; of COMBINE: elements */
    weft_message_op op;
};

enum {
    WEFT_PLAN_SMALL = 2048, /* bytes of scratch memory that need no allocation */
    WEFT_TEAM_HISTORY = 64
};

/* What the teams of one job share. Locks that come before: duty (runtime/service/proxy.h). */
struct weft_teams {
    struct weft_messages *messages; /* its `plans` are the active */
    struct weft_lock lock;          /* of all below, and of ops that nobody waits for */
    weft_team_op *active;
    LIST_HEAD(, weft_team) open; /* the job's end closes what the program has left */
};

struct weft_team {
    struct weft_teams *of;
    LIST_ENTRY(weft_team) link;
    int under_way; /* of its collectives are active */
    weft_job *job;
    weft_comm comm;
    int members, me;
    const char *name;
    const char *const *names;
    uint32_t number;                /* of the next collective */
    int history[WEFT_TEAM_HISTORY]; /* the tags of the latest, by number */
    weft_team_op *spare;            /* one to be used again */
};

struct weft_team_op {
    weft_team *team;
    weft_team_op *next, **before; /* among the active */
    int tag;                      /* what this collective is: team.c */
    weft_combine combine;
    struct weft_step *steps;
    size_t count, room;  /* of steps */
    size_t at;           /* the first step of the round under way */
    bool begun;          /* its messages are */
    bool waited;         /* a thread is in weft_team_wait for it: it alone drives */
    weft_status failed;  /* the plan could not be written */
    const void *foreign; /* since the host cannot reach this memory; or NULL */
    void **scratch;
    size_t scratch_count, small_used;
    _Alignas(64) unsigned char small[WEFT_PLAN_SMALL];
};

/* ---- written by algorithms; what fails is kept in the op's `failed` -------------------------- */

/* Messages of 0 bytes are sent too. To or from this member itself: not here. */
void weft_plan_send(weft_team_op *op, int member, const void *from, size_t bytes);
void weft_plan_receive(weft_team_op *op, int member, void *into, size_t bytes);
void weft_plan_combine(weft_team_op *op, const void *from, void *into, size_t count);
/* Nothing where they are one place. */
void weft_plan_copy(weft_team_op *op, void *into, const void *from, size_t bytes);
void weft_plan_next(weft_team_op *op);
/* Memory until the collective is over; never NULL, but not to be used once `failed`. */
void *weft_plan_scratch(weft_team_op *op, size_t bytes);

/* ---- plan.c ---------------------------------------------------------------------------------- */

/*
 * Moves all that no thread waits for. task: the receive task does; it calls no combine that is for
 * calls alone. True: anything moved.
 */
bool weft_plan_drive(struct weft_teams *teams, bool task);
/* An active op is over, or nobody asks for it any more: takes and frees it. Lock held. */
void weft_plan_drop(weft_team_op *op);

/*
 * An op for the team's next collective; NULL: *status says why. root: of collectives that have
 * one; else what all members give alike (weft_combine's check, or 0).
 */
weft_team_op *weft_plan_open(weft_team *team, enum weft_team_kind kind, uint32_t root,
                             weft_status *status);
/* The plan is written: begins it. Takes the op, also where it fails. */
weft_status weft_plan_begin(weft_team_op *plan, weft_team_op **op);
/* A root that is no member. */
weft_status weft_plan_root(weft_team *team, enum weft_team_kind kind, int root);

/* ---- mismatch.c ------------------------------------------------------------------------------ */

int weft_team_tag(uint32_t number, enum weft_team_kind kind, uint32_t root);
/* "MPI_Allreduce 12 on MPI_COMM_WORLD": a team's collective with that tag. */
void weft_team_words(const void *team, int tag, char *text, size_t bytes);
/* What texts call the collective with that tag. */
const char *weft_team_name(const weft_team *team, int tag);
/*
 * Looks at the first message from that member, or WEFT_ANY, which no receive has taken: fails the
 * job if it is of a collective that this member has called, and that was another one here.
 */
weft_status weft_team_strangers(weft_team *team, int from);
/* A message of another size. */
weft_status weft_team_unequal(const weft_team_op *op, const struct weft_step *step, size_t bytes);

/* The largest power of two that is not above n > 0. */
static inline int weft_team_power(int n)
{
    return 1 << (31 - __builtin_clz((unsigned)n));
}

#endif
