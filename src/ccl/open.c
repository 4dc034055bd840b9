/*
 * ccl/open.c - opens and closes a ccl. The rooms lie in one window over the group, from which each
 * member takes the addresses. What only one member may find, a second window tells all: of one byte
 * from a member that can go on, of none from others.
 */
#include "ccl/ccl.h"

#include "base/say.h"
#include "runtime/space/tables.h"

#include <stdlib.h>

static const char call_name[] = "weft_ccl_open";

/* Finds who is in the group. Errors: COMM, UNSUPPORTED, said. */
static weft_status find_group(weft_job *job, weft_comm group, struct weft_ccl_view *view)
{
    weft_status status = WEFT_ERR_COMM;

    weft_lock(&job->space.tables);
    const struct weft_comm_entry *const entry = weft_comm_find(&job->space.state, group);
    if (entry != NULL && weft_comm_is_host(entry) && entry->rank_of_slot[WEFT_HOST_SLOT] >= 0) {
        view->members = entry->members;
        view->me = entry->rank_of_slot[WEFT_HOST_SLOT];
        status = WEFT_OK;
    }
    weft_unlock(&job->space.tables);
    if (status != WEFT_OK)
        return weft_refused(job, status, "%s: 0x%x is no group of host programs with process %d",
                            call_name, group, job->numbers.process);
    if (view->members > WEFT_CCL_MEMBERS)
        return weft_refused(job, WEFT_ERR_UNSUPPORTED,
                            "%s: %d members, of which there are at most %d", call_name,
                            (int)view->members, WEFT_CCL_MEMBERS);
    return WEFT_OK;
}

/* Makes this member's memory and code; *bytes: of the room. */
static weft_status make(struct weft_ccl *ccl, uint64_t *bytes)
{
    static const char *const names[WEFT_DEVICE_KERNELS + 1] = {
        "weft_ccl_words_2",       "weft_ccl_words_4",     "weft_ccl_words_8", "weft_ccl_pieces_2",
        "weft_ccl_pieces_4",      "weft_ccl_pieces_8",    "weft_ccl_sizes",   "weft_ccl_pairs",
        "weft_ccl_dispatch_rows", "weft_ccl_combine_rows"};
    struct weft_job *const job = ccl->job;
    struct weft_ccl_view *const view = &ccl->view;
    const struct weft_config *const config = &job->config;
    const bool here = job->device_ops->host_access;
    const size_t columns = (size_t)view->columns;
    const uint64_t all = weft_ccl_lay_out(view);

    *bytes = all + columns * (sizeof(*view->counters) + WEFT_CCL_MEMBERS * sizeof(*view->pair)) +
             sizeof(*view);
    view->few = (uint32_t)config->ccl_words;
    view->piece = (uint32_t)config->ccl_piece & ~15u;
    view->stop = &job->space.state.signals->stop;
    ccl->each = config->ccl_each != 0 ? (uint64_t)config->ccl_each : here ? 0 : WEFT_CCL_EACH;
    ccl->room = weft_malloc(job, *bytes);
    view->trouble = job->device_ops->host_alloc(job->device, columns * WEFT_CCL_MEMBERS *
                                                                 sizeof(*view->trouble));
    if (ccl->room == NULL || view->trouble == NULL)
        return WEFT_ERR_MEMORY;
    view->counters = (struct weft_ccl_counters *)(void *)(ccl->room + all);
    view->pair = (struct weft_ccl_pair *)(void *)(view->counters + columns);
    ccl->kernels = (struct weft_ccl_view *)(void *)(view->pair + columns * WEFT_CCL_MEMBERS);
    if (here)
        return WEFT_OK;
    if (job->device_ops->load == NULL)
        return weft_refused(job, WEFT_ERR_UNSUPPORTED, "%s: this device runs no kernels of weft's",
                            call_name);
    ccl->code.image = weft_ccl_image;
    for (int i = 0; names[i] != NULL; i++)
        ccl->code.name[i] = names[i];
    return weft_refuse(job, job->device_ops->load(job->device, &ccl->code));
}

/* Finds where the rooms are, and whether all members have one like this; *mapped: all are mapped
 * here. */
static weft_status find_rooms(const struct weft_ccl *ccl, const char *name, weft_win win,
                              uint64_t bytes, unsigned char *room[], bool *mapped)
{
    const struct weft_window *const window = weft_host_window(ccl->job, name, win);

    *mapped = true;
    if (window == NULL)
        return WEFT_ERR_WINDOW;
    for (int m = 0; m < ccl->view.members; m++) {
        const struct weft_window_entry *const entry = &window->entry[m];
        const int process = window->member[m].process;
        if (entry->bytes == 0)
            return weft_refused(ccl->job, WEFT_ERR_MEMORY,
                                "%s: process %d has no memory or no code for it", name, process);
        if (entry->bytes != bytes)
            return weft_refused(ccl->job, WEFT_ERR_MISMATCH,
                                "%s: process %d asks for other numbers", name, process);
        if (m != ccl->view.me)
            room[m] = entry->address;
        if (room[m] == NULL || weft_process_kind(ccl->job, process) !=
                                   weft_process_kind(ccl->job, ccl->job->numbers.process))
            *mapped = false;
    }
    return WEFT_OK;
}

/* Agrees whether all members are mapped everywhere: each says it by a window of one byte, or of
 * none. */
static weft_status agree(const struct weft_ccl *ccl, const char *name, unsigned char *own,
                         bool mapped)
{
    int without = -1;
    weft_win vote;

    WEFT_TRY(weft_host_group_win_create(ccl->job, ccl->group, mapped ? own : NULL, mapped, &vote));
    const struct weft_window *const window = weft_host_window(ccl->job, name, vote);
    for (int m = 0; window != NULL && m < window->members; m++)
        if (window->entry[m].bytes == 0)
            without = window->member[m].process;
    WEFT_TRY(weft_host_win_free(ccl->job, &vote));
    return without < 0 ? WEFT_OK
                       : weft_refused(ccl->job, WEFT_ERR_UNSUPPORTED,
                                      "%s: process %d does not map the memory of all members", name,
                                      without);
}

weft_status weft_ccl_meet(const struct weft_ccl *ccl, const char *name, unsigned char *own,
                          uint64_t bytes, weft_win *win, unsigned char *room[])
{
    bool mapped;

    weft_host_caller(name);
    weft_status status =
        weft_host_group_win_create(ccl->job, ccl->group, own, own != NULL ? bytes : 0, win);
    room[ccl->view.me] = own;
    if (status == WEFT_OK)
        status = find_rooms(ccl, name, *win, bytes, room, &mapped);
    if (status == WEFT_OK)
        status = agree(ccl, name, own, mapped);
    weft_host_caller(NULL);
    return status;
}

void weft_ccl_part(const struct weft_ccl *ccl, const char *name, weft_win *win)
{
    if (*win == WEFT_WIN_NONE || weft_job_status(ccl->job) != WEFT_OK)
        return;
    weft_host_caller(name);
    weft_host_win_free(ccl->job, win);
    weft_host_caller(NULL);
}

/* Fills in what lies behind the room's columns. */
static weft_status fill(struct weft_ccl *ccl)
{
    struct weft_ccl_counters begin = {.words = (uint32_t)ccl->job->config.counter_start};
    weft_status status = WEFT_OK;

    for (int i = 0; i < ccl->view.columns && status == WEFT_OK; i++)
        status = weft_job_copy(ccl->job, &ccl->view.counters[i], &begin, sizeof(begin));
    if (status == WEFT_OK)
        status = weft_job_copy(ccl->job, ccl->kernels, &ccl->view, sizeof(ccl->view));
    return weft_refuse(ccl->job, status);
}

/* Frees all of a ccl but its window and memory of weft_malloc. */
static void free_own(struct weft_ccl *ccl)
{
    struct weft_job *const job = ccl->job;

    if (ccl->code.module != NULL)
        job->device_ops->unload(job->device, &ccl->code);
    weft_job_host_free(job, ccl->view.trouble);
    weft_ccl_forget_moes(ccl);
    free(ccl);
}

static void forget(struct weft_ccl *ccl)
{
    struct weft_job *const job = ccl->job;
    unsigned char *const room = ccl->room;
    struct weft_ccl **at = &job->ccls;

    weft_lock(&job->space.tables); /* under which the monitor looks at the list */
    while (*at != NULL && *at != ccl)
        at = &(*at)->next;
    if (*at == ccl)
        *at = ccl->next;
    weft_unlock(&job->space.tables);
    weft_ccl_part(ccl, "weft_ccl_close", &ccl->win);
    free_own(ccl);
    weft_free(job, room);
}

/* Frees the ccls that the program has left open. */
static void ccls_close(struct weft_job *job)
{
    while (job->ccls != NULL) {
        struct weft_ccl *const ccl = job->ccls;
        job->ccls = ccl->next;
        free_own(ccl);
    }
}

const struct weft_service weft_ccl_module = {.close = ccls_close};

weft_status weft_ccl_open(weft_job *job, weft_comm group, int columns, weft_ccl **ccl)
{
    struct weft_ccl *made;
    uint64_t bytes = 0;

    WEFT_TRY(weft_job_idle(job, call_name));
    if (ccl == NULL || columns < 0 || columns > WEFT_CCL_COLUMNS)
        return weft_refused(job, WEFT_ERR_ARGUMENT, "%s: %d columns, at most %d%s", call_name,
                            columns, WEFT_CCL_COLUMNS, ccl == NULL ? "; ccl is NULL" : "");
    made = calloc(1, sizeof(*made));
    if (made == NULL)
        return weft_refused(job, WEFT_ERR_MEMORY, "%s: no memory", call_name);
    made->job = job;
    made->group = group;
    made->view.columns = columns != 0 ? columns : WEFT_CCL_COLUMNS;
    weft_status status = find_group(job, group, &made->view);
    if (status == WEFT_OK) {
        const weft_status own = make(made, &bytes);
        status = weft_ccl_meet(made, call_name, own == WEFT_OK ? made->room : NULL, bytes,
                               &made->win, made->view.room);
        if (own != WEFT_OK)
            status = own;
    }
    if (status == WEFT_OK)
        status = fill(made);
    if (status != WEFT_OK) {
        forget(made);
        return status;
    }
    weft_lock(&job->space.tables);
    made->next = job->ccls;
    job->ccls = made;
    weft_unlock(&job->space.tables);
    *ccl = made;
    return WEFT_OK;
}

weft_status weft_ccl_close(weft_ccl **ccl)
{
    if (ccl == NULL || *ccl == NULL)
        return WEFT_OK;
    const weft_status status = weft_ccl_check(*ccl);
    if (weft_job_started((*ccl)->job))
        return weft_job_idle((*ccl)->job, "weft_ccl_close");
    forget(*ccl); /* its window ends when all are here: nobody sends any more */
    *ccl = NULL;
    return status;
}

int weft_ccl_members(const weft_ccl *ccl)
{
    return ccl != NULL ? ccl->view.members : -1;
}

int weft_ccl_me(const weft_ccl *ccl)
{
    return ccl != NULL ? ccl->view.me : -1;
}

const weft_ccl_view *weft_ccl_kernel(const weft_ccl *ccl)
{
    return ccl != NULL ? ccl->kernels : NULL;
}
