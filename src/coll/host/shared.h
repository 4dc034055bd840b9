/*
 * coll/host/shared.h - small collectives that a thread waits for, among members on one host: each
 * stores its part in memory that the others map (ring/shared.h), and reads theirs. The caller does
 * all of it; no lock, no message.
 *
 * By the first such call of a team its members agree, by messages, on whether all map all, and on
 * where their rows are. Steps count these calls alone.
 */
#ifndef WEFT_COLL_HOST_SHARED_H
#define WEFT_COLL_HOST_SHARED_H

#include "coll/host/plan.h"
#include "ring/shared.h"

/* What one member does in a call. */
struct weft_shared {
    enum weft_team_kind kind;
    uint32_t root; /* as of weft_plan_open */
    const void *source;
    size_t out;     /* bytes of this member's part */
    int first, end; /* of the members whose parts it takes */
    size_t each;    /* bytes of their parts, which all members know */
    size_t at, in;  /* what it takes of each part */
    void *target;   /* one piece after the other; or all put together: */
    const weft_combine *combine;
};

/* Does it. False: it goes by messages; nothing has happened. */
bool weft_shared_call(weft_team *team, const struct weft_shared *what, weft_status *status);
/* Fails the job if another member's steps are other calls than this one's. */
weft_status weft_shared_differ(weft_team *team);
/* The team reads no parts any more. Teams locked. */
void weft_shared_leave(weft_team *team);
/* The rows of teams that were closed, or all: nothing runs any more. */
void weft_shared_close(struct weft_teams *teams);

#endif
