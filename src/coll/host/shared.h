/*
 * coll/host/shared.h - collectives that a thread waits for, among members on one host: each stores
 * its part in memory that the others map (ring/shared.h), and reads theirs. The caller does all of
 * it; no lock, no message. Reductions of more than a little take two steps: each member puts one
 * slice together, and takes the others' slices.
 *
 * Longer broadcasts and reductions go in pieces. Of other longer parts members say where they lie.
 * All then copy at once, straight from one member's memory into another's, and one more step says
 * that they have, or that the kernel did not let them: such calls then go by messages.
 *
 * By the first such call of a team its members agree, by messages, on whether all map all and may
 * copy so, and on where their rows are. Steps count these calls alone.
 */
#ifndef WEFT_COLL_HOST_SHARED_H
#define WEFT_COLL_HOST_SHARED_H

#include "coll/host/plan.h"
#include "ring/shared.h"

/* A team's rows. Stays until all have left it, since they may read this member's. */
struct weft_team_parts {
    size_t most;                      /* bytes of a member, up to which a call goes by parts */
    uint32_t step;                    /* number of this member's latest part; 0: none yet */
    uint32_t least;                   /* a step that all have reached, as far as is known */
    uint32_t before;                  /* hash of the tags of all steps so far */
    uint32_t free[WEFT_SHARED_LARGE]; /* step that all must reach before it is written again */
    int row, members, me;
    bool closed; /* this member has left the team */
    struct {
        struct weft_shared_row *row;
        uint32_t base; /* what the member's row counts as step 0 */
        int process;
    } of[];
};

enum {
    WEFT_SHARED_MEMBERS = 64,    /* members of a team that goes by parts, at most */
    WEFT_SHARED_TWICE = 16 << 10 /* bytes of a part, up to which it is stored and then read */
};

/* What one member does in a call. */
struct weft_shared {
    enum weft_team_kind kind;
    uint32_t root; /* as of weft_plan_open */
    const void *source;
    bool gives;     /* this member has a part */
    int first, end; /* it takes the parts of members first to end - 1 */
    size_t each;    /* bytes of a part; all members know it */
    size_t at, in;  /* the bytes that it takes of each part: where they begin, how many */
    void *target;   /* for the blocks one after the other, or for all of them combined */
    const weft_combine *combine; /* NULL: the blocks are not combined */
};

/* Does a call by parts, and waits for its end. False: the caller has to use messages. */
bool weft_shared_call(weft_team *team, const struct weft_shared *what, weft_status *status);
/* Fails the job if another member's steps are other calls than this one's. */
weft_status weft_shared_differ(weft_team *team);
/* Ends the team's use of parts. The caller has locked the teams. */
void weft_shared_leave(weft_team *team);

/* ---- shared.c, for shared_call.c ------------------------------------------------------------- */

/* Has the members agree where their rows are, before their first call, which is of that kind. */
weft_status weft_shared_agree(weft_team *team, enum weft_team_kind kind);
/* Waits for room, gives a part, and waits until members first to end - 1 have given theirs, to the
 * same call. */
weft_status weft_shared_step(weft_team *team, int tag, struct weft_shared_given *given, int first,
                             int end);
/* Returns what a member gave to the latest step, of parts of at most so many bytes. */
static inline const void *weft_shared_given_by(const weft_team *team, int member, size_t most)
{
    const struct weft_team_parts *parts = team->parts;

    return weft_shared_data(parts->of[member].row, parts->of[member].base + parts->step, most);
}

#endif
