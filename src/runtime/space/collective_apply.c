/*
 * runtime/space/collective_apply.c - what an agreed collective does to the tables. Every process of
 * the job does the same, at the same point of the control channel's order, and so gives the same
 * handles; then it answers those of its ranks that asked. The monitor runs it, or the progress task
 * where only this process is concerned; the caller holds the table lock.
 */
#include "runtime/space/collective.h"

#include "base/say.h"
#include "runtime/gda/queues.h"
#include "runtime/space/image.h"
#include "runtime/space/tables.h"
#include "runtime/watch/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void answer(struct weft_job *job, const struct weft_member *member, weft_status status,
                   uint32_t value)
{
    if (member->process != job->numbers.process)
        return;
    struct weft_link *link = job->ranks.selves[member->slot]->link;
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

/* One process without memory would have other tables than the rest: that ends the job. */
static void fail_memory(struct weft_job *job, const char *call, int32_t ranks)
{
    weft_job_fail(job, WEFT_ERR_MEMORY, "%s: process %d has no memory for the tables of %d ranks",
                  call, job->numbers.process, ranks);
}

/*
 * Says so where the first member lives, and where the member does that brought what cannot be
 * (whose; -1: nobody): what it means is for the program to decide. The host program's call says it
 * itself, on all processes (weft_host_win_create).
 */
static void say_no_window(struct weft_job *job, const struct weft_comm_entry *comm,
                          const struct weft_contribution *all, int32_t whose, weft_status status,
                          struct weft_objection objection)
{
    const bool here = whose >= 0 && comm->member[whose].process == job->numbers.process;
    const char *reason =
        objection.text != NULL && objection.member == whose ? objection.text : NULL;
    const bool host = weft_comm_is_host(comm);
    char why[WEFT_SAY_LINE / 2] = "", text[WEFT_SAY_LINE];

    if (status == WEFT_ERR_LIMIT)
        snprintf(why, sizeof(why), " (WEFT_WINDOWS=%d)", (int)job->config.windows);
    else if (whose >= 0)
        snprintf(why, sizeof(why), ": %s %d%s brings %llu bytes at 0x%llx%s%s%s",
                 host ? "process" : "rank", host ? comm->member[whose].process : whose,
                 host ? "" : " of it", (unsigned long long)all[whose].b,
                 (unsigned long long)all[whose].base,
                 status == WEFT_ERR_UNSUPPORTED
                     ? ", which weft_malloc did not give (WEFT_PATH=direct)"
                     : "",
                 reason != NULL ? ": " : "", reason != NULL ? reason : "");
    snprintf(text, sizeof(text), "weft_%swin_create on %s failed: %s%s", host ? "host_" : "",
             weft_comm_name(comm->handle).text, weft_status_text(status), why);
    if (host && comm->leader_index >= 0)
        memcpy(job->space.no_window, text, sizeof(text));
    else if (!host && (here || comm->leader_index == 0))
        weft_say(WEFT_SAY_WARN, "%s: %s", weft_status_name(status), text);
}

weft_status weft_entry_check(const struct weft_job *job, bool alone,
                             const struct weft_contribution *c)
{
    if (c->a != WEFT_OK)
        return c->a < WEFT_STATUS_COUNT ? (weft_status)c->a : WEFT_ERR_PROTOCOL;
    return c->segment == WEFT_NO_SEGMENT && c->b != 0 && !alone &&
                   job->config.path == WEFT_PATH_DIRECT
               ? WEFT_ERR_UNSUPPORTED
               : WEFT_OK;
}

void weft_entry_fill(struct weft_job *job, struct weft_member member, bool alone, bool brief,
                     const struct weft_contribution *c, struct weft_window_entry *entry)
{
    const bool here = member.process == job->numbers.process;

    entry->bytes = c->b;
    entry->home = c->base;
    entry->key = c->key;
    entry->key_offset = c->key_offset;
    if (c->b != 0)
        weft_queues_region(job, member.process, c->key, c->base - c->key_offset);
    if (here)
        entry->address = (unsigned char *)(uintptr_t)c->base;
    else if (c->segment != WEFT_NO_SEGMENT)
        entry->address =
            weft_memory_mapped(job, member.process, c->segment, c->segment_offset, c->b, brief);
    if (c->segment != WEFT_NO_SEGMENT || c->b == 0 || alone || !here)
        return;
    /* Others can only reach it through this process's receive task. */
    weft_store_relaxed_u32(&job->space.state.signals->proxied, 1);
    weft_say(WEFT_SAY_INFO,
             "%s: a window of %llu bytes in memory that weft_malloc did not give: other processes "
             "reach it through the host over %s",
             weft_slot_name(job, member.slot).text, (unsigned long long)c->b,
             weft_net_name(job->proxy.net));
}

static void apply_win_create(struct weft_job *job, const struct weft_comm_entry *comm,
                             const struct weft_contribution *all, struct weft_objection why)
{
    struct weft_window_entry *entry = calloc((size_t)comm->members + 1, sizeof(*entry));
    const bool alone = comm->leaders == 1;
    weft_status status = WEFT_OK;
    weft_win win = WEFT_WIN_NONE;
    int32_t whose = -1;

    if (entry == NULL) {
        fail_memory(job, "weft_win_create", comm->members);
        return;
    }
    for (int32_t i = 0; i < comm->members && status == WEFT_OK; i++) {
        status = weft_entry_check(job, alone, &all[i]);
        whose = status == WEFT_OK ? -1 : i;
    }
    if (status == WEFT_OK)
        status = weft_window_make(&job->space.state, weft_comm_is_local(&job->space.state, comm),
                                  comm->handle, entry, &win);
    /* Nothing is mapped before: who gets no window may free the memory at once. */
    for (int32_t i = 0; i < comm->members && status == WEFT_OK; i++)
        weft_entry_fill(job, comm->member[i], alone, comm->leader_index < 0, &all[i], &entry[i]);
    if (status != WEFT_OK) {
        free(entry);
        say_no_window(job, comm, all, whose, status, why);
    }
    weft_memory_adopt(job, comm->handle, win);
    if (win != WEFT_WIN_NONE)
        weft_image_window(job, win);
    answer_all(job, comm, status, win);
}

void weft_window_drop(struct weft_job *job, weft_win win)
{
    job->space.state.windows[weft_handle_index(win)].handle = WEFT_WIN_NONE;
    weft_image_window(job, win);
    weft_memory_release(job, win);
}

static void drop_comm(struct weft_job *job, weft_comm comm)
{
    const uint32_t index = weft_handle_index(comm);

    job->space.state.comms[index].handle = WEFT_COMM_NONE; /* its lists go when it is used again */
    weft_comm_clear(&job->space.state, comm);
    weft_image_comm(job, comm);
}

static void apply_win_free(struct weft_job *job, const struct weft_comm_entry *comm,
                           const struct weft_contribution *all)
{
    const weft_win win = (weft_win)all[0].a;

    for (int32_t i = 1; i < comm->members; i++) {
        if (all[i].a != win) {
            weft_job_fail(job, WEFT_ERR_MISMATCH,
                          "weft_win_free: members 0 and %d of %s free the windows 0x%x and 0x%llx",
                          i, weft_comm_name(comm->handle).text, win, (unsigned long long)all[i].a);
            return;
        }
    }
    const struct weft_window *window = weft_window_find(&job->space.state, win);
    if (all[0].a != win || window == NULL || window->comm != comm->handle) {
        weft_job_fail(job, WEFT_ERR_PROTOCOL, "weft_win_free: 0x%llx is no window of %s",
                      (unsigned long long)all[0].a, weft_comm_name(comm->handle).text);
        return;
    }
    weft_window_drop(job, win);
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
                        const struct weft_contribution *all)
{
    const int32_t n = parent->members;
    const bool local = weft_comm_is_local(&job->space.state, parent);
    WEFT_FREED struct split_key *keys = malloc((size_t)n * sizeof(*keys));
    WEFT_FREED struct weft_member *list = malloc((size_t)n * sizeof(*list));
    WEFT_FREED struct weft_member *members = malloc((size_t)n * sizeof(*members));

    if (keys == NULL || list == NULL || members == NULL) {
        fail_memory(job, "weft_comm_split", n);
        return;
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
            status = weft_comm_make(&job->space.state, WEFT_COMM_NONE, local, list, end - i, &made);
        if (status == WEFT_ERR_MEMORY) {
            fail_memory(job, "weft_comm_split", n);
            break;
        }
        if (made != WEFT_COMM_NONE)
            weft_image_comm(job, made);
        else if (status != WEFT_OK && list[0].process == job->numbers.process)
            weft_say(WEFT_SAY_WARN, "%s: weft_comm_split: no more communicators (WEFT_COMMS=%d)",
                     weft_status_name(status), (int)job->config.comms);
        for (int32_t j = i; j < end; j++)
            answer(job, &members[keys[j].member], status, made);
    }
}

/* A window refers to its communicator's members: none may outlive it. */
static void apply_comm_free(struct weft_job *job, const struct weft_comm_entry *comm)
{
    for (uint32_t i = 0; i < job->space.state.windows_count; i++) {
        const struct weft_window *window = &job->space.state.windows[i];
        if (window->handle == WEFT_WIN_NONE || window->comm != comm->handle)
            continue;
        weft_job_fail(job, WEFT_ERR_STATE, "weft_comm_free: window 0x%x of %s was not freed before",
                      window->handle, weft_comm_name(comm->handle).text);
        return;
    }
    drop_comm(job, comm->handle); /* the list of members outlives the handle */
    answer_all(job, comm, WEFT_OK, 0);
}

void weft_collective_apply(struct weft_job *job, struct weft_comm_entry *comm, uint32_t op,
                           const struct weft_contribution *all, struct weft_objection why)
{
    switch (op) {
    case WEFT_COLLECTIVE_WIN_CREATE:
        apply_win_create(job, comm, all, why);
        break;
    case WEFT_COLLECTIVE_WIN_FREE:
        apply_win_free(job, comm, all);
        break;
    case WEFT_COLLECTIVE_COMM_SPLIT:
        apply_split(job, comm, all);
        break;
    default:
        apply_comm_free(job, comm);
    }
    weft_bell_ring(&job->space.state.exposed->bell);
}

void weft_collective_sweep(struct weft_job *job)
{
    struct weft_state *state = &job->space.state;

    weft_lock(&job->space.tables);
    for (uint32_t i = 0; i < state->windows_count; i++)
        if (state->windows[i].handle != WEFT_WIN_NONE &&
            !weft_comm_is_host(&state->comms[weft_handle_index(state->windows[i].comm)]))
            weft_window_drop(job, state->windows[i].handle);
    for (uint32_t i = WEFT_FIRST_COMM; i < state->comms_count; i++)
        if (state->comms[i].handle != WEFT_COMM_NONE && !weft_comm_is_host(&state->comms[i]))
            drop_comm(job, state->comms[i].handle);
    weft_unlock(&job->space.tables);
}
