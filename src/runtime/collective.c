/*
 * runtime/collective.c - windows and communicators are made and freed by agreement.
 *
 * 1. Each rank's command is gathered by its process (progress task) until all members of the
 *    communicator that live here have asked.
 * 2. One control frame carries all of the process's contributions. Where all members live in one
 *    process there is nothing to agree on, and step 3 follows at once.
 * 3. When the frames of all processes with members have arrived (monitor task), every process of
 *    the job - members or not - does the same to its tables, so that all give the same handle.
 * 4. The answer is written to each member's link (reply_post).
 *
 * A communicator has at most one collective under way: its members wait for the answer.
 */
#include "runtime/job.h"

#include "base/say.h"
#include "window/tables.h"

#include <stdlib.h>
#include <string.h>

/* What one member brings. The same layout in all processes. */
struct contribution {
    int32_t member;
    uint32_t segment;
    uint64_t a, b; /* create: status, bytes; free: window; split: color, key */
    uint64_t base, segment_offset, key, key_offset;
};

struct collective_frame {
    uint32_t op;
    weft_comm comm;
    uint32_t count, unused;
    struct contribution from[];
};

/* One collective under way on one communicator. */
struct weft_gathering {
    uint32_t op; /* 0: none */
    int32_t here, arrived;
    bool *asked;               /* by member: asked here */
    struct contribution *mine; /* of the members here */
    struct contribution *all;  /* by member, of all processes */
    int32_t processes;         /* whose frames have come */
    bool *came;                /* by process */
};

weft_status weft_collective_open(struct weft_job *job)
{
    job->gatherings = calloc(job->state.comms_count, sizeof(*job->gatherings));
    if (job->gatherings == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for %u communicators", job->state.comms_count);
    return WEFT_OK;
}

static void clear(struct weft_gathering *g)
{
    free(g->asked);
    free(g->mine);
    free(g->all);
    free(g->came);
    *g = (struct weft_gathering){0};
}

void weft_collective_close(struct weft_job *job)
{
    for (uint32_t i = 0; job->gatherings != NULL && i < job->state.comms_count; i++)
        clear(&job->gatherings[i]);
    free(job->gatherings);
}

/* The gathering of a communicator, begun if this is its first contribution; NULL: no memory. */
static struct weft_gathering *gathering_of(struct weft_job *job, const struct weft_comm_entry *comm)
{
    struct weft_gathering *g = &job->gatherings[weft_handle_index(comm->handle)];

    if (g->all != NULL)
        return g;
    g->asked = calloc((size_t)comm->members, sizeof(*g->asked));
    g->mine = calloc((size_t)comm->members_here + 1, sizeof(*g->mine));
    g->all = calloc((size_t)comm->members, sizeof(*g->all));
    g->came = calloc((size_t)job->numbers.processes, sizeof(*g->came));
    if (g->asked != NULL && g->mine != NULL && g->all != NULL && g->came != NULL)
        return g;
    clear(g);
    weft_job_fail(job, WEFT_ERR_MEMORY, "no memory to gather from %d ranks", comm->members);
    return NULL;
}

/* ---- 3. applying, the same everywhere ---------------------------------------------------- */

static void answer(struct weft_job *job, const struct weft_member *member, weft_status status,
                   uint32_t value)
{
    if (member->process != job->numbers.process)
        return;
    struct weft_link *link = job->selves[member->slot]->link;
    const struct weft_answer answer = {value, (uint32_t)status};
    weft_write_shared(&link->answer, &answer, sizeof(answer));
    weft_store_release_u32(&link->reply, weft_load_relaxed_u32(&link->reply) + 1, ORDER_reply_post);
}

static void answer_all(struct weft_job *job, const struct weft_comm_entry *comm, weft_status status,
                       uint32_t value)
{
    for (int32_t i = 0; i < comm->members; i++)
        answer(job, &comm->member[i], status, value);
}

/* Fills a window's entries; returns why the window cannot be, the same on every process. */
static weft_status fill_entries(struct weft_job *job, const struct weft_comm_entry *comm,
                                const struct contribution *all, struct weft_window_entry *entry)
{
    for (int32_t i = 0; i < comm->members; i++) {
        const struct weft_member m = comm->member[i];
        const struct contribution *c = &all[i];
        const bool here = m.process == job->numbers.process;

        if (c->a != WEFT_OK)
            return c->a < WEFT_STATUS_COUNT ? (weft_status)c->a : WEFT_ERR_PROTOCOL;
        entry[i].bytes = c->b;
        entry[i].key = c->key;
        entry[i].key_offset = c->key_offset;
        if (here)
            entry[i].address = (unsigned char *)(uintptr_t)c->base;
        else if (c->segment != WEFT_NO_SEGMENT)
            entry[i].address =
                weft_memory_mapped(job, m.process, c->segment, c->segment_offset, c->b);
        if (c->segment != WEFT_NO_SEGMENT || c->b == 0 || comm->leaders == 1)
            continue;
        if (job->config.path == WEFT_PATH_DIRECT)
            return WEFT_ERR_UNSUPPORTED;
        if (here) /* others can only reach it through this process's receive thread */
            weft_store_relaxed_u32(&job->state.proxied, 1);
    }
    return WEFT_OK;
}

static void apply_win_create(struct weft_job *job, const struct weft_comm_entry *comm,
                             const struct contribution *all)
{
    struct weft_window_entry *entry = calloc((size_t)comm->members + 1, sizeof(*entry));
    weft_win win = WEFT_WIN_NONE;
    weft_status status = WEFT_ERR_MEMORY;

    if (entry != NULL)
        status = fill_entries(job, comm, all, entry);
    if (status == WEFT_OK)
        status = weft_window_make(&job->state, weft_comm_is_local(&job->state, comm), comm->handle,
                                  entry, &win);
    if (status != WEFT_OK) {
        free(entry);
        if (comm->leader_index == 0)
            weft_say(WEFT_SAY_WARN, "window creation failed: %s: %s%s", weft_status_name(status),
                     weft_status_text(status),
                     status == WEFT_ERR_LIMIT         ? " (WEFT_WINDOWS)"
                     : status == WEFT_ERR_UNSUPPORTED ? " (WEFT_PATH=direct, and memory that "
                                                        "weft_malloc did not give)"
                                                      : "");
    }
    weft_memory_adopt(job, comm->handle, win);
    answer_all(job, comm, status, win);
}

static void apply_win_free(struct weft_job *job, const struct weft_comm_entry *comm,
                           const struct contribution *all)
{
    const weft_win win = (weft_win)all[0].a;

    for (int32_t i = 1; i < comm->members; i++) {
        if (all[i].a != win) {
            weft_job_fail(job, WEFT_ERR_MISMATCH,
                          "weft_win_free: members 0 and %d of a communicator free the windows "
                          "0x%x and 0x%llx",
                          i, win, (unsigned long long)all[i].a);
            return;
        }
    }
    weft_window_drop(&job->state, win);
    weft_memory_release(job, win);
    answer_all(job, comm, WEFT_OK, 0);
}

struct split_key {
    int64_t color, key;
    int32_t member;
};

static int by_color_key_member(const void *a, const void *b)
{
    const struct split_key *x = a, *y = b;
    if (x->color != y->color)
        return x->color < y->color ? -1 : 1;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->member < y->member ? -1 : 1;
}

/* Makes one communicator of each color, in ascending order, and answers its members. */
static void apply_split(struct weft_job *job, const struct weft_comm_entry *parent,
                        const struct contribution *all)
{
    const int32_t n = parent->members;
    const bool local = weft_comm_is_local(&job->state, parent);
    struct split_key *keys = malloc((size_t)n * sizeof(*keys));
    struct weft_member *list = malloc((size_t)n * sizeof(*list));
    struct weft_member *members = malloc((size_t)n * sizeof(*members));

    if (keys == NULL || list == NULL || members == NULL) {
        weft_job_fail(job, WEFT_ERR_MEMORY, "no memory to split %d ranks", n);
        goto free_scratch;
    }
    memcpy(members, parent->member, (size_t)n * sizeof(*members)); /* the table may change below */
    for (int32_t i = 0; i < n; i++)
        keys[i] = (struct split_key){(int64_t)all[i].a, (int64_t)all[i].b, i};
    qsort(keys, (size_t)n, sizeof(*keys), by_color_key_member);
    for (int32_t i = 0, end; i < n; i = end) {
        weft_comm made = WEFT_COMM_NONE;
        weft_status status = WEFT_OK;
        for (end = i; end < n && keys[end].color == keys[i].color; end++)
            list[end - i] = members[keys[end].member];
        if (keys[i].color >= 0)
            status = weft_comm_make(&job->state, WEFT_COMM_NONE, local, list, end - i, &made);
        for (int32_t j = i; j < end; j++)
            answer(job, &members[keys[j].member], status, made);
    }
free_scratch:
    free(keys);
    free(list);
    free(members);
}

static void apply(struct weft_job *job, struct weft_comm_entry *comm, struct weft_gathering *g)
{
    const uint32_t op = g->op;
    struct contribution *all = g->all;

    g->all = NULL;
    clear(g);
    switch (op) {
    case WEFT_COLLECTIVE_WIN_CREATE:
        apply_win_create(job, comm, all);
        break;
    case WEFT_COLLECTIVE_WIN_FREE:
        apply_win_free(job, comm, all);
        break;
    case WEFT_COLLECTIVE_COMM_SPLIT:
        apply_split(job, comm, all);
        break;
    default:
        weft_comm_drop(&job->state, comm->handle); /* the list of members outlives the handle */
        answer_all(job, comm, WEFT_OK, 0);
    }
    free(all);
    weft_bell_ring(&job->state.exposed->bell);
}

/* ---- 2. one frame a process ------------------------------------------------------------------ */

static const char *op_name(uint32_t op)
{
    static const char *const names[] = {"?", "weft_win_create", "weft_win_free", "weft_comm_split",
                                        "weft_comm_free"};
    return op < sizeof(names) / sizeof(names[0]) ? names[op] : "?";
}

/* Whether a frame is what a member process may send now; says why not. Table lock held. */
static bool accept(struct weft_job *job, const struct weft_frame *frame,
                   const struct collective_frame *f, const struct weft_comm_entry *comm,
                   struct weft_gathering *g)
{
    if (g->op != 0 && g->op != f->op) {
        weft_job_fail(job, WEFT_ERR_MISMATCH,
                      "on one communicator process %d calls %s while others call %s", frame->source,
                      op_name(f->op), op_name(g->op));
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

void weft_collective_frame(struct weft_job *job, const struct weft_frame *frame)
{
    const struct collective_frame *f = frame->payload;

    weft_lock(&job->tables);
    struct weft_comm_entry *comm =
        frame->bytes >= sizeof(*f) ? weft_comm_find(&job->state, f->comm) : NULL;
    if (comm == NULL || (frame->bytes - sizeof(*f)) / sizeof(f->from[0]) != f->count) {
        weft_job_fail(job, WEFT_ERR_PROTOCOL, "process %d sent a malformed collective of %u bytes",
                      frame->source, frame->bytes);
    } else {
        struct weft_gathering *g = gathering_of(job, comm);
        if (g != NULL && accept(job, frame, f, comm, g)) {
            g->op = f->op;
            g->came[frame->source] = true;
            if (++g->processes == comm->leaders)
                apply(job, comm, g);
        }
    }
    weft_unlock(&job->tables);
}

/* All members here have asked: tell the others, or go ahead where there are none. */
static void contribute(struct weft_job *job, struct weft_comm_entry *comm, struct weft_gathering *g,
                       uint32_t op)
{
    const size_t count = (size_t)g->arrived;
    const size_t bytes = sizeof(struct collective_frame) + count * sizeof(*g->mine);

    if (weft_comm_is_local(&job->state, comm)) {
        for (size_t i = 0; i < count; i++)
            g->all[g->mine[i].member] = g->mine[i];
        g->op = op;
        apply(job, comm, g);
        return;
    }
    struct collective_frame *frame = malloc(bytes);
    if (frame == NULL || bytes > WEFT_FRAME_MAX) {
        free(frame);
        weft_job_fail(job, WEFT_ERR_LIMIT, "%zu ranks of a process are too many for one collective",
                      count);
        return;
    }
    *frame = (struct collective_frame){.op = op, .comm = comm->handle, .count = (uint32_t)count};
    memcpy(frame->from, g->mine, count * sizeof(*g->mine));
    g->arrived = 0;
    memset(g->asked, 0, (size_t)comm->members * sizeof(*g->asked));
    weft_control_send(job->control, WEFT_FRAME_COLLECTIVE, frame, bytes);
    free(frame);
}

/* ---- 1. a rank asks ------------------------------------------------------------------------- */

static struct contribution contribution_of(struct weft_job *job, weft_comm comm, int32_t member,
                                           const struct weft_command *command)
{
    struct contribution c = {.member = member, .segment = WEFT_NO_SEGMENT};
    void *base = (void *)(uintptr_t)command->source;
    struct weft_place place = {.segment = WEFT_NO_SEGMENT};

    c.a = command->offset;
    c.b = command->width;
    if (command->tag != WEFT_COLLECTIVE_WIN_CREATE)
        return c;
    c.a = WEFT_OK;
    if (command->width != 0) {
        if (base == NULL || command->width > UINTPTR_MAX - (uintptr_t)base)
            c.a = WEFT_ERR_ARGUMENT;
        else
            c.a = weft_memory_place(job, comm, base, command->width, &place);
    }
    c.base = command->source;
    c.segment = place.segment;
    c.segment_offset = place.segment_offset;
    c.key = place.key;
    c.key_offset = place.key_offset;
    return c;
}

void weft_collective_ask(struct weft_job *job, uint32_t slot, const struct weft_command *command)
{
    char name[40];

    weft_slot_name(job, slot, name, sizeof(name));
    weft_lock(&job->tables);
    struct weft_comm_entry *comm = weft_comm_find(&job->state, command->object);
    const int32_t member = comm != NULL ? comm->rank_of_slot[slot] : -1;
    struct weft_gathering *g = member >= 0 ? gathering_of(job, comm) : NULL;

    if (member < 0) {
        weft_job_fail(job, WEFT_ERR_COMM, "%s: %s on communicator 0x%x, which lacks it", name,
                      op_name(command->tag), command->object);
    } else if (g != NULL && g->arrived > 0 && g->here != (int32_t)command->tag) {
        weft_job_fail(job, WEFT_ERR_MISMATCH,
                      "%s calls %s while other ranks of communicator 0x%x call %s", name,
                      op_name(command->tag), command->object, op_name((uint32_t)g->here));
    } else if (g != NULL && !g->asked[member]) {
        g->here = (int32_t)command->tag;
        g->asked[member] = true;
        g->mine[g->arrived++] = contribution_of(job, comm->handle, member, command);
        if (g->arrived == comm->members_here)
            contribute(job, comm, g, command->tag);
    }
    weft_unlock(&job->tables);
}

void weft_collective_sweep(struct weft_job *job)
{
    struct weft_state *state = &job->state;

    weft_lock(&job->tables);
    for (uint32_t i = 0; i < state->windows_count; i++) {
        const weft_win win = state->windows[i].handle;
        if (win == WEFT_WIN_NONE || state->windows[i].comm == WEFT_COMM_HOST)
            continue;
        weft_window_drop(state, win);
        weft_memory_release(job, win);
    }
    for (uint32_t i = WEFT_COMM_HOST + 1; i < state->comms_count; i++)
        weft_comm_drop(state, state->comms[i].handle);
    weft_unlock(&job->tables);
}
