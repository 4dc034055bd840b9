/*
 * runtime/space/collective.c - windows and communicators are made and freed by agreement.
 *
 * 1. Each rank's command is gathered by its process (progress task) until all members of the
 *    communicator that live here have asked.
 * 2. One control frame carries all of the process's contributions. Where only this process knows
 *    the communicator there is nothing to agree on, and step 3 follows at once.
 * 3. When the frames of all processes with members have arrived (monitor task), every process of
 *    the job - members or not - does the same to its tables (collective_apply.c).
 * 4. The answer is written to each member's link (reply_post).
 *
 * A communicator has at most one collective under way: its members wait for the answer.
 */
#include "runtime/space/collective.h"

#include "base/say.h"
#include "runtime/job/exchange.h"
#include "runtime/space/tables.h"
#include "runtime/watch/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct collective_frame {
    uint32_t op;
    weft_comm comm;
    uint32_t count;
    uint32_t barriers; /* weft_barriers_entered of the sender */
    struct weft_contribution from[];
};
static_assert(sizeof(struct collective_frame) + WEFT_SLOTS * sizeof(struct weft_contribution) <=
                  WEFT_FRAME_MAX,
              "one frame carries what all ranks of a process bring");

/* One collective under way on one communicator. */
struct weft_gathering {
    uint32_t op; /* collective of this kind; 0: none */
    int32_t here, arrived;
    bool *asked;                   /* by member: it has asked in this process */
    struct weft_contribution *all; /* by member of all processes: what it brings */
    struct weft_objection why;     /* what is wrong with what the members here bring */
    int32_t processes;             /* processes whose frames have come */
    bool *came;                    /* by process: its frame has come */
    struct weft_elsewhere first;   /* process in the call that has entered the fewest barriers */
};

static weft_status collective_open(struct weft_job *job)
{
    job->space.gatherings =
        weft_job_keep(job, job->space.state.comms_count, sizeof(*job->space.gatherings));
    return job->space.gatherings != NULL ? WEFT_OK : WEFT_ERR_MEMORY;
}

static void clear(struct weft_gathering *g)
{
    free(g->asked);
    free(g->all);
    free(g->why.text);
    free(g->came);
    *g = (struct weft_gathering){0};
}

static void collective_close(struct weft_job *job)
{
    for (uint32_t i = 0; job->space.gatherings != NULL && i < job->space.state.comms_count; i++)
        clear(&job->space.gatherings[i]);
}

/* Finds a communicator's gathering, begun if this is its first contribution; NULL: no memory. */
static struct weft_gathering *gathering_of(struct weft_job *job, const struct weft_comm_entry *comm)
{
    struct weft_gathering *g = &job->space.gatherings[weft_handle_index(comm->handle)];

    if (g->all != NULL)
        return g;
    g->asked = calloc((size_t)comm->members, sizeof(*g->asked));
    g->all = calloc((size_t)comm->members, sizeof(*g->all));
    g->came = calloc((size_t)job->numbers.processes, sizeof(*g->came));
    if (g->asked != NULL && g->all != NULL && g->came != NULL)
        return g;
    clear(g);
    weft_job_fail(job, WEFT_ERR_MEMORY, "no memory to gather from %d ranks", comm->members);
    return NULL;
}

/* Everybody has asked: ends the gathering and does what was asked for. */
static void finish(struct weft_job *job, struct weft_comm_entry *comm, struct weft_gathering *g)
{
    const uint32_t op = g->op;
    struct weft_contribution *all = g->all;
    const struct weft_objection why = g->why;

    g->all = NULL;
    g->why.text = NULL;
    clear(g); /* the answered ranks may ask again at once */
    weft_collective_apply(job, comm, op, all, why);
    free(all);
    free(why.text);
}

/* ---- 2. one frame a process ------------------------------------------------------------------ */

const char *weft_collective_name(uint64_t op, bool host)
{
    static const char *const names[][2] = {{"weft_?", "weft_?"},
                                           {"weft_win_create", "weft_host_win_create"},
                                           {"weft_win_free", "weft_host_win_free"},
                                           {"weft_comm_split", "weft_host_split"},
                                           {"weft_comm_free", "weft_host_group_free"}}; /* by op */
    return names[op <= WEFT_COLLECTIVE_COMM_FREE ? op : 0][host];
}

/* Whether a frame is what a member process may send now; says why not. Table lock held. */
static bool accept(struct weft_job *job, const struct weft_frame *frame,
                   const struct collective_frame *f, const struct weft_comm_entry *comm,
                   struct weft_gathering *g)
{
    if (g->op != 0 && g->op != f->op) {
        const bool host = weft_comm_is_host(comm);
        weft_job_fail(job, WEFT_ERR_MISMATCH, "on %s process %d calls %s while others call %s",
                      weft_comm_name(comm->handle).text, frame->source,
                      weft_collective_name(f->op, host), weft_collective_name(g->op, host));
        return false;
    }
    int32_t theirs = 0;
    for (int32_t i = 0; i < comm->members; i++)
        theirs += comm->member[i].process == frame->source;
    bool good = f->op >= WEFT_COLLECTIVE_WIN_CREATE && f->op <= WEFT_COLLECTIVE_COMM_FREE &&
                !g->came[frame->source] && (int32_t)f->count == theirs && theirs > 0;
    for (uint32_t i = 0; good && i < f->count; i++) {
        const int32_t m = f->from[i].member;
        good = m >= 0 && m < comm->members && comm->member[m].process == frame->source;
        if (good)
            g->all[m] = f->from[i];
    }
    if (!good)
        weft_job_fail(job, WEFT_ERR_PROTOCOL, "process %d sent a malformed collective (op %u)",
                      frame->source, f->op);
    return good;
}

static void collective_frame(struct weft_job *job, const struct weft_frame *frame)
{
    const struct collective_frame *f = frame->payload;

    weft_lock(&job->space.tables);
    struct weft_comm_entry *comm =
        frame->bytes >= sizeof(*f) ? weft_comm_find(&job->space.state, f->comm) : NULL;
    if (comm == NULL || (frame->bytes - sizeof(*f)) / sizeof(f->from[0]) != f->count) {
        weft_job_fail(job, WEFT_ERR_PROTOCOL, "process %d sent a malformed collective of %u bytes",
                      frame->source, frame->bytes);
    } else {
        struct weft_gathering *g = gathering_of(job, comm);
        if (g != NULL && accept(job, frame, f, comm, g)) {
            g->op = f->op;
            g->came[frame->source] = true;
            if (g->processes == 0 || (int32_t)(f->barriers - g->first.barriers) < 0)
                g->first = (struct weft_elsewhere){
                    frame->source, weft_collective_name(f->op, weft_comm_is_host(comm)),
                    f->barriers};
            if (++g->processes == comm->leaders)
                finish(job, comm, g);
        }
    }
    weft_unlock(&job->space.tables);
}

bool weft_collective_elsewhere(const struct weft_job *job, struct weft_elsewhere *first)
{
    const struct weft_gathering *g = &job->space.gatherings[weft_handle_index(WEFT_COMM_HOST)];

    if (g->processes == 0 || g->came[job->numbers.process])
        return false;
    *first = g->first;
    return true;
}

/* Tells others that all members here have asked, or goes ahead where there are none. */
static void contribute(struct weft_job *job, struct weft_comm_entry *comm, struct weft_gathering *g,
                       uint32_t op)
{
    const size_t count = (size_t)comm->members_here;
    const size_t bytes = sizeof(struct collective_frame) + count * sizeof(*g->all);

    if (weft_comm_is_local(&job->space.state, comm)) {
        g->op = op;
        finish(job, comm, g);
        return;
    }
    WEFT_FREED struct collective_frame *frame = malloc(bytes);
    if (frame == NULL) {
        weft_job_fail(job, WEFT_ERR_MEMORY, "no memory for a collective of %zu ranks", count);
        return;
    }
    *frame = (struct collective_frame){
        .op = op, .comm = comm->handle, .barriers = weft_barriers_entered(job)};
    for (int32_t m = 0; m < comm->members; m++)
        if (g->asked[m])
            frame->from[frame->count++] = g->all[m];
    weft_control_send(job->control, WEFT_FRAME_COLLECTIVE, frame, bytes);
}

/* ---- 1. a rank asks ------------------------------------------------------------------------- */

void weft_contribution_place(struct weft_job *job, weft_comm claim, uint64_t base, uint64_t bytes,
                             struct weft_contribution *c)
{
    void *memory = (void *)(uintptr_t)base;
    struct weft_place place = {.segment = WEFT_NO_SEGMENT};

    c->a = WEFT_OK;
    c->b = bytes;
    if (bytes != 0 && memory == NULL)
        c->a = weft_err(WEFT_ERR_ARGUMENT, "base is NULL");
    else if (bytes != 0)
        c->a = weft_memory_place(job, claim, memory, bytes, &place);
    c->base = base;
    c->segment = place.segment;
    c->segment_offset = place.segment_offset;
    c->key = place.key;
    c->key_offset = place.key_offset;
}

static struct weft_contribution contribution_of(struct weft_job *job, weft_comm comm,
                                                struct weft_gathering *g, int32_t member,
                                                const struct weft_command *command)
{
    struct weft_contribution c = {
        .member = member, .segment = WEFT_NO_SEGMENT, .a = command->offset, .b = command->width};

    if (command->tag != WEFT_COLLECTIVE_WIN_CREATE)
        return c;
    weft_contribution_place(job, comm, command->source, command->width, &c);
    if (c.a != WEFT_OK && (g->why.text == NULL || member < g->why.member)) {
        free(g->why.text);
        g->why = (struct weft_objection){strdup(weft_err_last()), member};
    }
    return c;
}

static void collective_ask(struct weft_job *job, uint32_t slot, const struct weft_command *command)
{
    const struct weft_name name = weft_slot_name(job, slot), on = weft_comm_name(command->object);
    const char *const call = weft_collective_name(command->tag, slot == WEFT_HOST_SLOT);

    weft_lock(&job->space.tables);
    struct weft_comm_entry *comm = weft_comm_find(&job->space.state, command->object);
    const int32_t member = comm != NULL ? comm->rank_of_slot[slot] : -1;
    struct weft_gathering *g = member >= 0 ? gathering_of(job, comm) : NULL;

    if (member < 0) {
        weft_job_fail(job, WEFT_ERR_COMM, "%s: %s on %s, which lacks it", name.text, call, on.text);
    } else if (g != NULL && g->arrived > 0 && g->here != (int32_t)command->tag) {
        weft_job_fail(job, WEFT_ERR_MISMATCH, "%s calls %s while other ranks of %s call %s",
                      name.text, call, on.text,
                      weft_collective_name((uint32_t)g->here, slot == WEFT_HOST_SLOT));
    } else if (g != NULL && !g->asked[member]) {
        g->here = (int32_t)command->tag;
        g->asked[member] = true;
        g->all[member] = contribution_of(job, comm->handle, g, member, command);
        if (++g->arrived == comm->members_here)
            contribute(job, comm, g, command->tag);
    }
    weft_unlock(&job->space.tables);
}

static enum weft_taken collective_command(struct weft_job *job, uint32_t slot,
                                          const struct weft_command *command, bool alone)
{
    if (!alone)
        return WEFT_TAKEN_NOT;
    collective_ask(job, slot, command);
    weft_command_pop(&job->proxy.of_ranks[slot].commands, 0);
    return WEFT_TAKEN;
}

/*
 * Whether the window that a rank creates is that of its collectives (coll/call.h), whose first call
 * on a communicator makes it: the program knows of no window.
 */
static bool is_for_collectives(const struct weft_job *job, const struct weft_wait_seen *wait)
{
    const struct weft_comm_entry *comm = weft_comm_find(&job->space.state, (weft_comm)wait->have);
    const int32_t member = comm != NULL ? comm->rank_of_slot[wait->slot] : -1;
    uint64_t offset;

    if (wait->a != WEFT_COLLECTIVE_WIN_CREATE || member < 0)
        return false;
    const struct weft_gathering *g = &job->space.gatherings[weft_handle_index(comm->handle)];
    return g->all != NULL && g->asked[member] &&
           weft_contains(job->ranks.exchange,
                         (uint64_t)job->numbers.ranks_here * job->ranks.exchange_bytes,
                         (const void *)(uintptr_t)g->all[member].base, 1, &offset);
}

static void collective_waits_for(const struct weft_job *job, const struct weft_wait_seen *wait,
                                 char *text, size_t bytes)
{
    char list[256];

    if (wait->a == 0) { /* weft_fail: the error is on its way */
        snprintf(text, bytes, "to end");
        return;
    }
    weft_waiting_absent(job, WEFT_WAIT_REPLY, wait->a, (weft_comm)wait->have, list, sizeof(list));
    snprintf(text, bytes, "in %s of %s: not there: %s",
             is_for_collectives(job, wait)
                 ? "the first collective (weft/coll.h)"
                 : weft_collective_name(wait->a, wait->slot == WEFT_HOST_SLOT),
             weft_comm_name((weft_comm)wait->have).text, list);
}

const struct weft_service weft_collective_service = {
    .open = collective_open,
    .close = collective_close,
    .owns[WEFT_OWNS_FRAMES] = WEFT_KIND(WEFT_FRAME_COLLECTIVE),
    .owns[WEFT_OWNS_COMMANDS] = WEFT_KIND(WEFT_COMMAND_COLLECTIVE),
    .owns[WEFT_OWNS_WAITS] = WEFT_KIND(WEFT_WAIT_REPLY),
    .frame = collective_frame,
    .command = collective_command,
    .waits_for = collective_waits_for,
};
