/* coll/host/shared.c - see the header. The calling thread alone; rows are taken under the lock. */
#include "coll/host/shared.h"

#include "coll/host/ways.h"
#include "msg/copy.h"

#include <stdlib.h>
#include <string.h>

enum {
    MEMBERS = 64,   /* most of a team */
    LOOKS = 2000,   /* at parts, before others are helped */
    LOOKS_FEW = 100 /* the same where processes share processors */
};

/* A team's rows. Stays until all have left it, since they may read this member's. */
struct weft_team_parts {
    uint32_t step;   /* of this member's latest part; from 0 on in each team */
    uint32_t least;  /* that all have reached, as far as is known */
    uint32_t before; /* what came of the tags so far */
    int row, members, me;
    bool closed;
    struct {
        struct weft_shared_row *row;
        uint32_t base; /* its step 0 */
        int process;
    } of[];
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

/* A row for the team; -1: there is none. */
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

/* Who the members are. False: they are many, or on several hosts. */
static bool find_members(weft_team *team, struct weft_team_parts *parts, bool *map)
{
    const struct weft_job *job = team->job;
    struct weft_messages *m = team->of->messages;
    struct weft_msg_call call = {0};

    *map = true;
    if (weft_msg_begin_in(&call, team->job, "weft_team_open", team->comm) != WEFT_OK)
        return false;
    for (int i = 0; i < team->members; i++)
        parts->of[i].process = weft_context_process(call.context, i);
    weft_msg_unlock(m);
    for (int i = 0; i < team->members; i++) {
        const int p = parts->of[i].process;
        if (job->processes[p].node != job->numbers.node)
            return false;
        *map &= i == team->me || m->peers[p].box != NULL;
    }
    return true;
}

struct said {
    int32_t row; /* -1: this member has none, or does not map all */
    uint32_t base;
};

/* All say where they post, before a call of that kind. */
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

static weft_status agree(weft_team *team, enum weft_team_kind kind)
{
    struct weft_messages *m = team->of->messages;
    const size_t n = (size_t)team->members;
    struct weft_team_parts *made = calloc(1, sizeof(*made) + n * sizeof(made->of[0]));
    struct said mine = {.row = -1}, all[MEMBERS];
    bool map, agreed = true;

    team->asked = true;
    if (made == NULL)
        return weft_refused(team->job, WEFT_ERR_MEMORY, "a collective of %zu: no memory", n);
    *made = (struct weft_team_parts){.row = -1, .members = team->members, .me = team->me};
    if (!find_members(team, made, &map)) {
        free(made);
        return WEFT_OK;
    }
    if (map && (mine.row = made->row = take_row(team->of, made)) >= 0) {
        struct weft_shared_row *row = &m->box->rows[mine.row];
        mine.base = weft_load_relaxed_u32(&row->left);
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

void weft_shared_close(struct weft_teams *teams)
{
    for (int i = 0; i < WEFT_MSG_ROWS; i++)
        free(teams->parts[i]);
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

/* As a wait for a message of that member, which who watches waits names. */
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
        if (stands == NULL)
            return WEFT_ERR_MEMORY;
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
 * Fetches the next parts of members who are ahead: theirs of this step were there at the first
 * look. A member in step is about to write its next part, which would be taken away from it.
 * In line: a function of prefetches alone is none to the compiler.
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

/* This member's part is there for the others. */
static weft_status post(weft_team *team, int tag, const void *data, size_t bytes)
{
    struct weft_team_parts *parts = team->parts;
    struct weft_msg_peer *const peers = team->of->messages->peers;
    const uint32_t step = parts->step + 1, over = step - WEFT_SHARED_PARTS + 1;
    bool rung = false;

    if ((int32_t)(over - parts->least) > 0) { /* others' lines are looked at for several calls */
        WEFT_TRY(await(team, tag, over + WEFT_SHARED_PARTS / 2, 0, parts->members));
        parts->least = over + WEFT_SHARED_PARTS / 2;
    }
    parts->step = step;
    weft_shared_post(parts->of[parts->me].row, parts->of[parts->me].base + step, tag, parts->before,
                     data, (uint32_t)bytes);
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

/* Whether others' parts that the call takes are of the same call. before: of the tags before it. */
static weft_status check(weft_team *team, const struct weft_shared *what, int tag, uint32_t before)
{
    const struct weft_team_parts *parts = team->parts;

    for (int i = what->first; i < what->end; i++) {
        if (i == parts->me)
            continue;
        const struct weft_shared_part *part = part_of(parts, i, parts->step);
        const int theirs = weft_shared_tag(look(parts, i, parts->step));
        uint32_t head[2];
        weft_read_shared(head, &part->bytes, sizeof(head));
        if (theirs != tag || head[1] != before) {
            WEFT_TRY(weft_team_strangers(team, i));
            WEFT_TRY(weft_shared_differ(team)); /* a message was there, but of a later call */
            WEFT_TRY(weft_team_compare(team, tag, i, theirs));
        }
        if (head[0] != what->each)
            return weft_team_unequal(team, tag, i, head[0], what->each);
    }
    return weft_job_is_failing(team->job) ? weft_job_agree_failure(team->job) : WEFT_OK;
}

/* What the call takes of a part, or of none. */
static void take(const weft_team *team, const struct weft_shared *what, int member, void *into)
{
    weft_read_shared(into, part_of(team->parts, member, team->parts->step)->data + what->at,
                     what->in);
}

/* Lower members' are the left operands. */
static void put_together(const weft_team *team, const struct weft_shared *what, void *target)
{
    _Alignas(64) unsigned char left[WEFT_SHARED_MOST];

    if (what->end == what->first || what->in == 0)
        return;
    const size_t count = what->in / what->combine->bytes;
    take(team, what, what->end - 1, target);
    for (int i = what->end - 2; i >= what->first; i--) {
        take(team, what, i, left);
        what->combine->combine(what->combine, left, target, count);
    }
}

/*
 * Of each piece, or of all put together. own: this member's, in memory of the host. far: the target
 * is memory of the device.
 */
static bool take_all(const weft_team *team, const struct weft_shared *what, const void *own,
                     bool far)
{
    _Alignas(64) unsigned char near[WEFT_SHARED_MOST];
    struct weft_messages *m = team->of->messages;

    if (what->combine != NULL) {
        put_together(team, what, far ? near : what->target);
        return !far || what->end == what->first || weft_msg_copy(m, what->target, near, what->in);
    }
    for (int i = what->first; i < what->end && what->in != 0; i++) {
        void *const into = weft_at(what->target, (size_t)(i - what->first) * what->in);
        const void *const from = i == team->me ? weft_at(own, what->at) : near;
        if (i != team->me)
            take(team, what, i, far ? near : into);
        else if (!far && into != from)
            memcpy(into, from, what->in);
        if (far && !weft_msg_copy(m, into, from, what->in))
            return false;
    }
    return true;
}

static inline weft_status place(const weft_team *team, int tag, const void *memory, size_t bytes,
                                bool *far)
{
    *far = false;
    return weft_msg_is_near(team->job, bytes) ? WEFT_OK
                                              : weft_team_place(team, tag, memory, bytes, far);
}

static weft_status run(weft_team *team, const struct weft_shared *what)
{
    _Alignas(64) unsigned char near[WEFT_SHARED_MOST];
    const int tag = weft_team_tag(team->number, what->kind, what->root);
    const int taken = what->end - what->first;
    const size_t in = what->in * (size_t)(what->combine != NULL && taken != 0 ? 1 : taken);
    const uint32_t before = team->parts->before;
    const void *source = what->source;
    bool far, into_far;

    WEFT_TRY(place(team, tag, source, what->out, &far));
    WEFT_TRY(place(team, tag, what->target, in, &into_far));
    team->history[team->number++ % WEFT_TEAM_HISTORY] = tag | INT32_MIN;
    if (far && !weft_msg_copy(team->of->messages, near, source, what->out))
        return WEFT_ERR_DEVICE;
    source = far ? near : source;
    WEFT_TRY(post(team, tag, source, what->out));
    if (taken != 0)
        WEFT_TRY(await(team, tag, team->parts->step, what->first, what->end));
    WEFT_TRY(check(team, what, tag, before));
    if (taken == team->members)
        team->parts->least = team->parts->step;
    return take_all(team, what, source, into_far) ? WEFT_OK : WEFT_ERR_DEVICE;
}

bool weft_shared_call(weft_team *team, const struct weft_shared *what, weft_status *status)
{
    if (what->each > WEFT_SHARED_MOST || team->members > MEMBERS ||
        (what->combine != NULL && team->launches && what->combine->known))
        return false;
    *status = weft_job_ready(team->job, team->names[what->kind]);
    if (*status == WEFT_OK && !team->asked)
        *status = agree(team, what->kind);
    if (*status == WEFT_OK && team->parts == NULL)
        return false;
    if (*status == WEFT_OK)
        *status = run(team, what);
    return true;
}
