/*
 * coll/host/shared.c - see the header: rows, and one step. The calling thread does all; it takes
 * rows under the lock.
 */
#include "coll/host/shared.h"

#include "coll/host/ways.h"
#include "msg/copy.h"

#include <stdlib.h>
#include <string.h>

enum {
    LOOKS = 2000,   /* looks at parts before others are helped */
    LOOKS_FEW = 100 /* LOOKS where processes share processors */
};

/* ---- agreeing -------------------------------------------------------------------------------- */

static bool all_have_left(const struct weft_team_parts *parts)
{
    for (int i = 0; i < parts->members; i++) {
        const uint32_t left = weft_load_acquire_u32(&parts->of[i].row->left, ORDER_shared_seen);
        if ((int32_t)(left - (parts->of[i].base + parts->step)) < 0)
            return false;
    }
    return true;
}

/* Takes a row for the team; -1: none is free. */
static int take_row(struct weft_teams *teams, struct weft_team_parts *made)
{
    int row = -1;

    weft_lock(&teams->lock);
    for (int i = 0; i < WEFT_MSG_ROWS && row < 0; i++) {
        struct weft_team_parts *was = teams->parts[i];
        if (was != NULL && (!was->closed || !all_have_left(was)))
            continue;
        free(was);
        teams->parts[row = i] = made;
    }
    weft_unlock(&teams->lock);
    return row;
}

static void give_row(struct weft_teams *teams, struct weft_team_parts *made)
{
    weft_lock(&teams->lock);
    if (made->row >= 0)
        teams->parts[made->row] = NULL;
    weft_unlock(&teams->lock);
    free(made);
}

/* Finds who the members are; whether this one maps all, and reads their memory. False: they are on
 * several hosts, or messages cannot begin. */
static bool find_members(weft_team *team, struct weft_team_parts *parts, bool *map, bool *reads)
{
    const struct weft_job *job = team->job;
    struct weft_messages *m = team->of->messages;
    struct weft_msg_call call = {0};
    bool here = true;

    *map = *reads = true;
    if (weft_msg_begin_in(&call, team->job, "weft_team_open", team->comm) != WEFT_OK)
        return false;
    for (int i = 0; i < team->members; i++) {
        const int p = parts->of[i].process = weft_context_process(call.context, i);
        here &= job->processes[p].node == job->numbers.node;
        *map &= i == team->me || m->peers[p].box != NULL;
        *reads &= i == team->me || m->peers[p].reads;
    }
    weft_msg_unlock(m);
    return here;
}

struct said {
    int32_t row;         /* -1: this member has none, or does not map all */
    uint32_t base, most; /* its number of step 0; bytes of a part that it can take at most */
};

/* Exchanges by messages where all members post, before a call of that kind. */
static weft_status say(weft_team *team, enum weft_team_kind kind, const struct said *mine,
                       struct said all[])
{
    weft_status status;
    weft_team_op *plan = weft_plan_open(team, WEFT_TEAM_KINDS, kind, &status);

    if (plan == NULL)
        return status;
    const struct weft_pieces in = weft_pieces_even(all, sizeof(*mine), team->members);
    weft_pieces_allgather(plan, mine, &in);
    status = weft_plan_begin(plan, NULL);
    team->number--; /* it is part of the call that asks */
    return status;
}

weft_status weft_shared_agree(weft_team *team, enum weft_team_kind kind)
{
    struct weft_messages *m = team->of->messages;
    const size_t n = (size_t)team->members;
    struct weft_team_parts *made = calloc(1, sizeof(*made) + n * sizeof(made->of[0]));
    struct said mine = {.row = -1}, all[WEFT_SHARED_MEMBERS];
    bool map, reads, agreed = true;

    team->asked = true;
    if (made == NULL)
        return weft_refused(team->job, WEFT_ERR_MEMORY, "a collective of %zu: no memory", n);
    *made = (struct weft_team_parts){
        .most = SIZE_MAX, .row = -1, .members = team->members, .me = team->me};
    if (!find_members(team, made, &map, &reads)) {
        free(made);
        return WEFT_OK;
    }
    if (map && (mine.row = made->row = take_row(team->of, made)) >= 0) {
        struct weft_shared_row *row = &m->box->rows[mine.row];
        mine.base = weft_load_relaxed_u32(&row->left);
        mine.most = team->job->device_ops->whose != NULL ? WEFT_SHARED_BESIDE
                    : reads                              ? UINT32_MAX
                                                         : WEFT_SHARED_TWICE;
    }
    const weft_status status = say(team, kind, &mine, all);
    for (size_t i = 0; i < n && status == WEFT_OK; i++) {
        const int p = made->of[i].process;
        struct weft_msg_box *box = p == team->job->numbers.process ? m->box : m->peers[p].box;
        agreed &= all[i].row >= 0 && all[i].row < WEFT_MSG_ROWS;
        if (!agreed)
            break;
        made->of[i].row = &box->rows[all[i].row];
        made->of[i].base = all[i].base;
        made->most = all[i].most < made->most ? all[i].most : made->most;
    }
    if (status == WEFT_OK && agreed)
        team->parts = made;
    else
        give_row(team->of, made);
    return status;
}

void weft_shared_leave(weft_team *team)
{
    struct weft_team_parts *parts = team->parts;

    if (parts == NULL)
        return;
    weft_store_release_u32(&parts->of[parts->me].row->left, parts->of[parts->me].base + parts->step,
                           ORDER_shared_post);
    parts->closed = true;
    team->parts = NULL;
}

/* ---- looking --------------------------------------------------------------------------------- */

/* A step that a call waits for, from `member` on. */
struct awaited {
    const struct weft_team_parts *parts;
    uint32_t step;
    int member, end;
};

static const struct weft_shared_part *part_of(const struct weft_team_parts *parts, int member,
                                              uint32_t step)
{
    return &parts->of[member].row->part[(parts->of[member].base + step) % WEFT_SHARED_PARTS];
}

static uint64_t look(const struct weft_team_parts *parts, int member, uint32_t step)
{
    return weft_shared_look(parts->of[member].row, parts->of[member].base + step);
}

static bool are_posted(struct weft_messages *m, void *what)
{
    struct awaited *awaited = what;
    const struct weft_team_parts *parts = awaited->parts;

    (void)m;
    for (; awaited->member < awaited->end; awaited->member++)
        if (!weft_shared_reached(look(parts, awaited->member, awaited->step),
                                 parts->of[awaited->member].base + awaited->step))
            return false;
    return true;
}

/* Waits for a member's step as for a message of that member, which the watchdog can name. */
static weft_status await_long(weft_team *team, int tag, struct awaited *awaited)
{
    struct weft_messages *m = team->of->messages;

    for (unsigned waits = 0;; waits++) {
        const double patience = weft_team_patience(team, waits);
        struct weft_msg_call call = {0};
        WEFT_TRY(weft_msg_begin_in(&call, team->job, weft_team_name(team, tag), team->comm));
        call.process = team->parts->of[awaited->member].process;
        call.tag = tag;
        struct weft_transfer *stands = weft_msg_make(&call, WEFT_TRANSFER_PROBES);
        if (stands == NULL) { /* others go on, and copy */
            weft_job_fail(team->job, WEFT_ERR_MEMORY, "%s: process %d has no memory to wait",
                          call.name, team->job->numbers.process);
            return WEFT_ERR_MEMORY;
        }
        weft_status status = weft_msg_wait(m, call.name, are_posted, awaited,
                                           weft_transfer_number(stands), patience);
        if (status != WEFT_OK)
            weft_msg_lock(m);
        weft_transfer_give(&m->transfers, stands);
        weft_msg_unlock(m);
        if (status != WEFT_ERR_TIMEOUT)
            return status;
        if (!weft_job_is_failing(team->job)) /* else the next wait says why */
            status = weft_team_strangers(team, WEFT_ANY);
        if (status != WEFT_OK && status != WEFT_ERR_TIMEOUT)
            return status;
    }
}

/*
 * Prefetches the next parts of members who are ahead: theirs of this step were there at the first
 * look. A member in step is about to write its next part, which would be taken away from it. In
 * line: a function of prefetches alone is none to the compiler.
 */
WEFT_HOT void fetch_next(const struct weft_team_parts *parts, int first, int end)
{
    for (int i = first; i < end; i++)
        if (i != parts->me)
            __builtin_prefetch(part_of(parts, i, parts->step + 1));
}

static weft_status await(weft_team *team, int tag, uint32_t step, int first, int end)
{
    struct awaited awaited = {.parts = team->parts, .step = step, .member = first, .end = end};
    const int looks = weft_model != NULL ? 0 : team->job->proxy.spin_ns != 0 ? LOOKS : LOOKS_FEW;

    for (int i = 0; i < looks; i++) {
        if (!are_posted(NULL, &awaited))
            continue;
        if (i == 0 && step == team->parts->step)
            fetch_next(team->parts, first, end);
        return WEFT_OK;
    }
    return await_long(team, tag, &awaited);
}

weft_status weft_shared_differ(weft_team *team)
{
    const struct weft_team_parts *parts = team->parts;

    if (parts == NULL)
        return WEFT_OK;
    for (int i = 0; i < parts->members; i++)
        for (uint32_t back = WEFT_SHARED_PARTS; back-- > 0;) {
            const uint32_t step = parts->step + 1 - back;
            const uint64_t theirs = look(parts, i, step), mine = look(parts, parts->me, step);
            if (back > parts->step || theirs >> 63 == 0 ||
                (uint32_t)theirs != parts->of[i].base + step)
                continue;
            WEFT_TRY(back != 0 ? weft_team_compare(team, weft_shared_tag(mine), i,
                                                   weft_shared_tag(theirs))
                               : weft_team_stranger(team, i, weft_shared_tag(theirs), true));
        }
    return WEFT_OK;
}

/* ---- a step ---------------------------------------------------------------------------------- */

/* Stores this member's part for the next step, once there is room, and rings the others. */
static weft_status post(weft_team *team, int tag, const struct weft_shared_given *given)
{
    struct weft_team_parts *parts = team->parts;
    struct weft_msg_peer *const peers = team->of->messages->peers;
    const uint32_t step = parts->step + 1;
    const bool is_large = given->bytes != 0 && given->most > WEFT_SHARED_BESIDE;
    uint32_t *const large = &parts->free[step % WEFT_SHARED_LARGE];
    uint32_t needed = step - WEFT_SHARED_PARTS + 1;
    uint32_t until =
        needed + WEFT_SHARED_PARTS / 2; /* others' lines are looked at for several steps */
    bool rung = false;

    if ((int32_t)(*large - needed) < 0)
        *large = needed; /* of few bytes, too: steps wrap */
    if (is_large)
        needed = *large;
    if ((int32_t)(needed - parts->least) > 0) {
        until = (int32_t)(needed - until) > 0 ? needed : until;
        WEFT_TRY(await(team, tag, until, 0, parts->members));
        parts->least = until;
    }
    if (is_large)
        *large = step + 1;
    parts->step = step;
    weft_shared_post(parts->of[parts->me].row, parts->of[parts->me].base + step, tag, given);
    parts->before = parts->before * 0x9e3779b1u + (uint32_t)tag;
    for (int i = 0; i < parts->members; i++) {
        struct weft_bell *const bell = peers[parts->of[i].process].bell;
        if (i == parts->me)
            continue;
        if (rung)
            weft_bell_nudge(bell);
        else
            weft_bell_ring(bell); /* its fence is all others', too */
        rung = true;
    }
    return WEFT_OK;
}

/* Checks that the parts of others are of the same call. If not, the job fails. */
static weft_status check(weft_team *team, int tag, const struct weft_shared_given *given, int first,
                         int end)
{
    const struct weft_team_parts *parts = team->parts;

    for (int i = first; i < end; i++) {
        if (i == parts->me)
            continue;
        const struct weft_shared_part *part = part_of(parts, i, parts->step);
        const int theirs = weft_shared_tag(look(parts, i, parts->step));
        uint32_t head[2];
        weft_read_shared(head, &part->bytes, sizeof(head));
        if (theirs != tag || head[1] != given->before) {
            WEFT_TRY(weft_team_strangers(team, i));
            WEFT_TRY(weft_shared_differ(team)); /* a message was there, but of a later call */
            WEFT_TRY(weft_team_compare(team, tag, i, theirs));
        }
        if (head[0] != given->of_call)
            return weft_team_unequal(team, tag, i, head[0], given->of_call);
    }
    return weft_job_is_failing(team->job) ? weft_job_agree_failure(team->job) : WEFT_OK;
}

weft_status weft_shared_step(weft_team *team, int tag, struct weft_shared_given *given, int first,
                             int end)
{
    struct weft_team_parts *parts = team->parts;

    given->before = parts->before;
    WEFT_TRY(post(team, tag, given));
    if (first != end)
        WEFT_TRY(await(team, tag, parts->step, first, end));
    WEFT_TRY(check(team, tag, given, first, end));
    if (end - first == parts->members)
        parts->least = parts->step;
    return WEFT_OK;
}
