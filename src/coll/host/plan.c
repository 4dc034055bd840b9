/* coll/host/plan.c - see plan.h: writes plans; whoever waits carries them out. */
#include "coll/host/plan.h"

#include "msg/copy.h"
#include "weft/ccl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing --------------------------------------------------------------------------------- */

static void add(weft_team_op *op, struct weft_step step)
{
    if (op->count == op->room) {
        const size_t room = op->room == 0 ? 16 : 2 * op->room;
        struct weft_step *steps = realloc(op->steps, room * sizeof(*steps));
        if (steps == NULL) {
            weft_plan_fail(op, WEFT_ERR_MEMORY, "no memory");
            return;
        }
        op->steps = steps;
        op->room = room;
    }
    op->steps[op->count++] = step;
}

void weft_plan_send(weft_team_op *op, int member, const void *from, size_t bytes)
{
    add(op,
        (struct weft_step){.kind = WEFT_STEP_SEND, .member = member, .from = from, .size = bytes});
}

void weft_plan_receive(weft_team_op *op, int member, void *into, size_t bytes)
{
    add(op, (struct weft_step){
                .kind = WEFT_STEP_RECEIVE, .member = member, .into = into, .size = bytes});
}

void weft_plan_combine(weft_team_op *op, const void *from, void *into, size_t count)
{
    if (count != 0)
        add(op, (struct weft_step){
                    .kind = WEFT_STEP_COMBINE, .from = from, .into = into, .size = count});
}

void weft_plan_copy(weft_team_op *op, void *into, const void *from, size_t bytes)
{
    if (bytes == 0 || into == from)
        return;
    const bool far = weft_plan_is_far(op, from, bytes) | weft_plan_is_far(op, into, bytes);
    add(op, (struct weft_step){.kind = far ? WEFT_STEP_COPY_DEVICE : WEFT_STEP_COPY,
                               .from = from,
                               .into = into,
                               .size = bytes});
}

void weft_plan_next(weft_team_op *op)
{
    add(op, (struct weft_step){.kind = WEFT_STEP_NEXT});
}

struct weft_scratch {
    SLIST_ENTRY(weft_scratch) link;
    _Alignas(64) unsigned char bytes[];
};

void *weft_plan_scratch(weft_team_op *op, size_t bytes)
{
    const size_t all = (sizeof(struct weft_scratch) + bytes + 63) & ~(size_t)63;

    if (bytes <= sizeof(op->few) - op->used) { /* an aligned allocation takes longer than a send */
        op->used += (bytes + 15) & ~(size_t)15;
        return op->few + op->used - ((bytes + 15) & ~(size_t)15);
    }
    struct weft_scratch *made = all < bytes ? NULL : aligned_alloc(64, all);

    if (made == NULL) {
        weft_plan_fail(op, WEFT_ERR_MEMORY, "no memory for %zu bytes", bytes);
        return op;
    }
    SLIST_INSERT_HEAD(&op->scratch, made, link);
    return made->bytes;
}

weft_team_op *weft_plan_open(weft_team *team, enum weft_team_kind kind, uint32_t root,
                             weft_status *status)
{
    if (team == NULL) {
        *status = weft_err(WEFT_ERR_ARGUMENT, "a collective of host programs: team is NULL");
        return NULL;
    }
    const int tag = weft_team_tag(team->number, kind, root);
    *status = weft_job_ready(team->job, weft_team_name(team, tag));
    if (*status != WEFT_OK)
        return NULL;
    weft_team_op *op = malloc(sizeof(*op));
    if (op == NULL) {
        *status =
            weft_refused(team->job, WEFT_ERR_MEMORY, "%s: no memory", weft_team_name(team, tag));
        return NULL;
    }
    *op = (weft_team_op){.team = team, .tag = tag};
    team->history[team->number++ % WEFT_TEAM_HISTORY] = tag;
    return op;
}

/* ---- carrying out ---------------------------------------------------------------------------- */

static weft_status begin_round(weft_team_op *op)
{
    weft_team *team = op->team;
    weft_status status = WEFT_OK;

    for (struct weft_step *step = op->steps + op->at;
         status == WEFT_OK && step < op->steps + op->count && step->kind != WEFT_STEP_NEXT;
         step++) {
        if (step->kind == WEFT_STEP_RECEIVE)
            status = weft_host_receive_begin(team->job, team->comm, step->member, op->tag,
                                             step->into, step->size, &step->op);
        else if (step->kind == WEFT_STEP_SEND)
            status = weft_host_send_begin(team->job, team->comm, step->member, op->tag, step->from,
                                          step->size, &step->op);
    }
    op->begun = true;
    return status;
}

/* Checks a message that has ended with `status`: whether it had the bytes that were expected. */
static weft_status ended(weft_team_op *op, const struct weft_step *step, weft_status status,
                         const weft_message *message)
{
    if (step->kind == WEFT_STEP_RECEIVE && (status == WEFT_OK || status == WEFT_ERR_BOUNDS) &&
        message->bytes != step->size)
        return weft_team_unequal(op->team, op->tag, step->member, message->bytes, step->size);
    return status;
}

/* Takes the local steps of a round whose messages are over; the op is then at the next round. */
static weft_status end_round(weft_team_op *op)
{
    const struct weft_step *step = op->steps + op->at;

    for (; step < op->steps + op->count && step->kind != WEFT_STEP_NEXT; step++) {
        if (step->kind == WEFT_STEP_COMBINE)
            op->combine.combine(&op->combine, step->from, step->into, step->size);
        else if (step->kind == WEFT_STEP_COPY)
            memmove(step->into, step->from, step->size);
        else if (step->kind == WEFT_STEP_COPY_DEVICE &&
                 !weft_msg_copy(op->team->of->messages, step->into, step->from, step->size))
            return WEFT_ERR_DEVICE;
    }
    op->at = (size_t)(step - op->steps) + 1;
    op->begun = false;
    return WEFT_OK;
}

/* Drives an op as far as it gets, without a look at what arrives. *open: the message that it waits
 * for; NULL: it is complete. */
static weft_status advance(weft_team_op *op, struct weft_step **open)
{
    struct weft_messages *m = op->team->of->messages;

    *open = NULL;
    if (op->launched)
        return weft_plan_look(op);
    while (op->at < op->count) {
        weft_status status = op->begun ? WEFT_OK : begin_round(op);
        struct weft_step *step = op->steps + op->at;
        for (; status == WEFT_OK && step < op->steps + op->count && step->kind != WEFT_STEP_NEXT;
             step++) {
            weft_message message;
            int done = 1;
            if (step->kind > WEFT_STEP_RECEIVE || weft_msg_is_none(step->op))
                continue;
            if (!weft_msg_is_over(m, step->op)) {
                *open = step;
                return weft_job_status(op->team->job);
            }
            status = weft_host_message_test(op->team->job, &step->op, &done, &message);
            status = ended(op, step, status, &message);
        }
        WEFT_TRY(status);
        WEFT_TRY(end_round(op));
    }
    return WEFT_OK;
}

/* ---- completion ------------------------------------------------------------------------------ */

/* Frees an op that is over, or was not begun, and is not among the active. */
static void close_op(weft_team_op *op)
{
    struct weft_scratch *first;

    while ((first = SLIST_FIRST(&op->scratch)) != NULL) {
        SLIST_REMOVE_HEAD(&op->scratch, link);
        free(first);
    }
    free(op->steps);
    free(op);
}

void weft_plan_drop(weft_team_op *op)
{
    LIST_REMOVE(op, link);
    op->team->under_way--;
    __atomic_fetch_sub(&op->team->of->messages->plans, 1, __ATOMIC_RELAXED);
    close_op(op);
}

bool weft_plan_drive(struct weft_teams *teams, bool task)
{
    struct weft_step *open;
    bool did = false;

    weft_lock(&teams->lock);
    for (weft_team_op *op = LIST_FIRST(&teams->active); op != NULL; op = LIST_NEXT(op, link)) {
        /* Atomic: nothing else of it is read together with this, since its waiter writes that. */
        if (__atomic_load_n(&op->waited, __ATOMIC_RELAXED))
            continue;
        const size_t before = op->at;
        if (op->failed != WEFT_OK || before >= op->count || (task && op->combine.in_calls))
            continue;
        op->failed = advance(op, &open);
        did |= op->at != before;
    }
    weft_unlock(&teams->lock);
    return did;
}

weft_status weft_plan_begin(weft_team_op *plan, weft_team_op **op)
{
    struct weft_teams *teams = plan->team->of;
    weft_team_op *waited = plan;
    struct weft_step *open;

    weft_plan_copy(plan, plan->there, plan->near, plan->near_bytes);
    if (plan->failed != WEFT_OK) {
        const weft_status status = plan->failed;
        close_op(plan);
        return status;
    }
    weft_lock(&teams->lock);
    LIST_INSERT_HEAD(&teams->active, plan, link);
    plan->team->under_way++;
    __atomic_fetch_add(&teams->messages->plans, 1, __ATOMIC_RELAXED);
    plan->failed = advance(plan, &open);
    weft_unlock(&teams->lock);
    if (op == NULL)
        return weft_team_wait(&waited);
    *op = plan;
    return WEFT_OK;
}

/* Drops the op if it is over, and clears *op. Returns the op's status. */
static weft_status end_if_over(weft_team_op **op, bool *over)
{
    struct weft_teams *teams = (*op)->team->of;

    weft_lock(&teams->lock);
    weft_status status = (*op)->failed;
    *over = status != WEFT_OK || (*op)->at >= (*op)->count;
    if (*over) {
        if (status == WEFT_OK && (*op)->launched)
            status = weft_ccl_check((*op)->team->of->ccl);
        weft_plan_drop(*op);
        *op = NULL;
    }
    weft_unlock(&teams->lock);
    return status;
}

/* Looks at what has arrived, and moves all plans. */
static void look(struct weft_messages *m)
{
    weft_msg_lock(m);
    weft_msg_glance(m);
    weft_msg_unlock(m);
    weft_msg_drive(m, false);
}

weft_status weft_team_test(weft_team_op **op, int *done)
{
    bool over;

    if (op == NULL || done == NULL)
        return weft_err(WEFT_ERR_ARGUMENT, "weft_team_test: %s is NULL",
                        op == NULL ? "op" : "done");
    *done = 1;
    if (*op == NULL)
        return WEFT_OK;
    struct weft_messages *m = (*op)->team->of->messages;
    look(m);
    const weft_status status = end_if_over(op, &over);
    *done = over;
    if (!over)
        weft_msg_idle(m);
    return status;
}

/* Makes the first waits short: another call of a member, if it comes, ends no wait. */
double weft_team_patience(const weft_team *team, unsigned waits)
{
    const double most = waits == 0 ? 1e-3 : waits < 3 ? 0.1 : INFINITY;

    return team->of->meanwhile != NULL ? fmin(most, team->of->meanwhile()) : most;
}

/* Waits for one of an op's messages. */
static void wait_message(weft_team_op *op, struct weft_step *open, double seconds)
{
    weft_message message;
    const weft_status status =
        weft_host_message_wait_for(op->team->job, &open->op, seconds, &message);

    if (status != WEFT_ERR_TIMEOUT)
        op->failed = ended(op, open, status, &message);
    else if (!weft_job_is_failing(op->team->job)) /* else the next wait says why it fails */
        op->failed = weft_team_strangers(op->team, open->member);
}

/* Marks an op as one that its waiter alone drives, or not. */
static void claim(weft_team_op *op, bool waited)
{
    weft_lock(&op->team->of->lock);
    op->waited = waited;
    weft_unlock(&op->team->of->lock);
}

weft_status weft_team_wait_for(weft_team_op **pointer, double seconds)
{
    weft_team_op *op = pointer != NULL ? *pointer : NULL;
    struct weft_step *open = NULL;
    bool over;

    if (pointer == NULL)
        return weft_err(WEFT_ERR_ARGUMENT, "weft_team_wait: op is NULL");
    if (op == NULL)
        return WEFT_OK;
    const uint64_t deadline =
        seconds < 1e9 ? weft_now_ns() + (uint64_t)(seconds * 1e9) : UINT64_MAX;
    for (int done = 0; op->launched;) {
        const weft_status status = weft_team_test(pointer, &done);
        if (status != WEFT_OK || done)
            return status;
        if (weft_now_ns() >= deadline)
            return WEFT_ERR_TIMEOUT;
    }
    if (seconds <= 0)
        look(op->team->of->messages);
    claim(op, true);
    for (unsigned waits = 0; op->failed == WEFT_OK; waits++) {
        const uint64_t now = deadline == UINT64_MAX ? 0 : weft_now_ns(); /* then it looks */
        op->failed = advance(op, &open);
        if (op->failed != WEFT_OK || open == NULL)
            break;
        if (now >= deadline) {
            claim(op, false);
            weft_msg_idle(op->team->of->messages);
            return WEFT_ERR_TIMEOUT;
        }
        const double left = deadline == UINT64_MAX ? INFINITY : (double)(deadline - now) * 1e-9;
        wait_message(op, open, fmin(left, weft_team_patience(op->team, waits)));
    }
    return end_if_over(pointer, &over);
}

weft_status weft_team_wait(weft_team_op **op)
{
    return weft_team_wait_for(op, INFINITY);
}
