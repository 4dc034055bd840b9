/*
 * compat/mpi/sync.c - epochs of windows. Fences are a flush and a barrier; post, start, complete
 * and wait are empty messages; locks are words of the target that origins update, so that the
 * target's program takes no part.
 */
#include "win.h"

#include <math.h>
#include <sched.h>

enum { TAG_POST, TAG_COMPLETE };

/* ---- words of locks -------------------------------------------------------------------------- */

enum {
    SLOTS = 4096,
    LOOKS = 100,  /* looks at a lock before a waiting thread lets others run */
    YIELDS = 1000 /* looks at a lock before a waiting thread sleeps between them */
};

static uint64_t *words;       /* of this process; NULL: not yet */
static bool slot_used[SLOTS]; /* by a window */
static uint32_t last_number = WEFTMPI_LOCKS_NUMBER;

uint32_t weftmpi_exposure_number(void)
{
    LOCKED;
    return ++last_number;
}

int weftmpi_locks_take(void)
{
    const size_t bytes = (size_t)SLOTS * WEFTMPI_LOCK_WORDS * sizeof(uint64_t);
    weft_status status = WEFT_OK;
    LOCKED;
    if (words == NULL) {
        words = weft_malloc(weftmpi.job, bytes); /* which goes with the job */
        status = words != NULL ? weft_expose(weftmpi.job, words, bytes, WEFTMPI_LOCKS_NUMBER)
                               : WEFT_ERR_MEMORY;
    }
    for (int i = 0; i < SLOTS && status == WEFT_OK; i++)
        if (!slot_used[i]) {
            slot_used[i] = true;
            return i;
        }
    weftmpi_failed(status != WEFT_OK ? status : WEFT_ERR_LIMIT);
    return -1;
}

void weftmpi_locks_give(int slot)
{
    slot_used[slot] = false; /* its words are equal again, which is as good as 0 */
}

static size_t place(const struct weftmpi_target *target, enum weftmpi_lock_word word)
{
    return target->lock_words + (size_t)word * sizeof(uint64_t);
}

/* Adds to a word, and gives what it was before. */
static int add(const struct weftmpi_target *target, enum weftmpi_lock_word word, uint64_t value,
               uint64_t *before)
{
    return weftmpi_failed(
        weft_host_fetch_add(weftmpi.job, target->locks, 0, place(target, word), value, before));
}

/* Waits a moment between two looks at a lock. */
static void wait_again(int round)
{
    weftmpi_drive();
    if (round > YIELDS)
        weftmpi_pause();
    else if (round > LOOKS)
        sched_yield();
}

/* Takes a ticket, and waits until a word (turn) has come to it. */
static int take_turn(const struct weftmpi_target *target, enum weftmpi_lock_word turn)
{
    uint64_t ticket, now = 0;

    TRY(add(target, WEFTMPI_TICKETS, 1, &ticket));
    for (int round = 0;; round++) {
        TRY(add(target, turn, 0, &now));
        if (now == ticket)
            return MPI_SUCCESS;
        wait_again(round);
    }
}

/* Adds to a word when all before is done. */
static int add_behind(const struct weftmpi_target *target, enum weftmpi_lock_word word,
                      uint64_t value)
{
    return weftmpi_failed(weft_host_add(weftmpi.job, target->locks, 0, place(target, word), value));
}

int weftmpi_updates_lock(const struct weftmpi_target *target)
{
    uint64_t held = 1;

    for (int round = 0;; round++) {
        TRY(weftmpi_failed(weft_host_compare_swap(weftmpi.job, target->locks, 0,
                                                  place(target, WEFTMPI_UPDATING), 0, 1, &held)));
        if (held == 0)
            return MPI_SUCCESS;
        wait_again(round);
    }
}

int weftmpi_updates_unlock(const struct weftmpi_target *target)
{
    return add_behind(target, WEFTMPI_UPDATING, UINT64_MAX);
}

/* ---- flush ----------------------------------------------------------------------------------- */

int weftmpi_flush_target(struct weftmpi_win *win, struct weftmpi_target *target)
{
    const bool alone = weftmpi.level != MPI_THREAD_MULTIPLE;

    if (win->flavor == MPI_WIN_FLAVOR_DYNAMIC || target->win == WEFT_WIN_NONE ||
        (alone && !target->dirty))
        return MPI_SUCCESS; /* of a dynamic window every operation is flushed by itself */
    if (alone)
        target->dirty = false;
    return weftmpi_failed(weft_host_flush(weftmpi.job, target->win));
}

int weftmpi_win_flush_all(struct weftmpi_win *win)
{
    for (int i = 0; i < win->comm->size; i++)
        TRY(weftmpi_flush_target(win, &win->targets[i]));
    return MPI_SUCCESS;
}

/* Checks that an epoch may open: no other is open (`busy`), and only known assertions are made. */
static int check_epoch(int assertion, int known, bool busy)
{
    TRY(HOLDS((assertion & ~known) == 0, MPI_ERR_ASSERT, "assertion %d", assertion));
    return busy ? weftmpi_fail(MPI_ERR_RMA_SYNC, "another epoch is open") : MPI_SUCCESS;
}

/* ---- fence ----------------------------------------------------------------------------------- */

API(Win_fence, (int assertion, MPI_Win handle))
{
    WIN_IN(win, handle);
    TRY(check_epoch(
        assertion, MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED,
        weftmpi_win_is_locked(win) || win->epoch == WEFTMPI_STARTED || win->posted >= 0));
    TRY(weftmpi_win_flush_all(win));
    win->epoch = (assertion & MPI_MODE_NOSUCCEED) != 0 ? WEFTMPI_CLOSED : WEFTMPI_FENCE;
    return weftmpi_barrier(win->comm);
}

/* ---- post, start, complete, wait ------------------------------------------------------------- */

/* Gives the rank in the window of each member of a group. */
static int ranks_of(struct weftmpi_win *win, MPI_Group handle, int **ranks, int *count)
{
    OBJECT_IN(group, group, WEFTMPI_GROUP, handle);

    *count = group->size;
    *ranks = weftmpi_room(NULL, (size_t)group->size * sizeof(**ranks));
    for (int i = 0; i < group->size; i++) {
        (*ranks)[i] = weftmpi_group_rank(win->comm->group, group->processes[i]);
        TRY(HOLDS((*ranks)[i] >= 0, MPI_ERR_GROUP, "member %d is not in the window", i));
    }
    return MPI_SUCCESS;
}

/*
 * Sends an empty message. What becomes of such messages on the window's own communicator, whose
 * handler returns, is the window's error (told). One that is sent goes by itself; one that is
 * received without a request is waited for.
 */
static int send_empty(struct weftmpi_win *win, int rank, int tag)
{
    MPI_Request request;
    CALLS_BACK;

    TRY(PMPI_Isend(NULL, 0, MPI_BYTE, rank, tag, win->comm->object.handle, &request));
    return request == MPI_REQUEST_NULL ? MPI_SUCCESS : PMPI_Request_free(&request);
}

static int receive_empty(struct weftmpi_win *win, int rank, int tag, MPI_Request *request)
{
    const MPI_Comm comm = win->comm->object.handle;
    CALLS_BACK;

    return request != NULL ? PMPI_Irecv(NULL, 0, MPI_BYTE, rank, tag, comm, request)
                           : PMPI_Recv(NULL, 0, MPI_BYTE, rank, tag, comm, MPI_STATUS_IGNORE);
}

static int told(int error)
{
    return HOLDS(error == MPI_SUCCESS, error == MPI_ERR_IN_STATUS ? MPI_ERR_OTHER : error, "%s",
                 weft_error(weftmpi.job));
}

API(Win_post, (MPI_Group group, int assertion, MPI_Win handle))
{
    FREED int *ranks = NULL;
    int count;
    WIN_IN(win, handle);
    TRY(check_epoch(assertion, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT,
                    win->posted >= 0 || weftmpi_win_is_locked(win)));
    TRY(ranks_of(win, group, &ranks, &count));
    win->completes = weftmpi_zeros((size_t)count * sizeof(*win->completes));
    win->posted = count;
    if (win->epoch == WEFTMPI_FENCE) /* the fence before ended its epoch */
        win->epoch = WEFTMPI_CLOSED;
    for (int i = 0; i < count; i++)
        TRY(told(receive_empty(win, ranks[i], TAG_COMPLETE, &win->completes[i])));
    for (int i = 0; i < count && (assertion & MPI_MODE_NOCHECK) == 0; i++)
        TRY(told(send_empty(win, ranks[i], TAG_POST)));
    return MPI_SUCCESS;
}

API(Win_start, (MPI_Group group, int assertion, MPI_Win handle))
{
    FREED int *ranks = NULL;
    int count;
    WIN_IN(win, handle);
    TRY(check_epoch(assertion, MPI_MODE_NOCHECK,
                    win->epoch == WEFTMPI_STARTED || weftmpi_win_is_locked(win)));
    TRY(ranks_of(win, group, &ranks, &count));
    win->epoch = WEFTMPI_STARTED;
    for (int i = 0; i < count; i++) {
        win->targets[ranks[i]].started = true;
        if ((assertion & MPI_MODE_NOCHECK) == 0)
            TRY(told(receive_empty(win, ranks[i], TAG_POST, NULL)));
    }
    return MPI_SUCCESS;
}

API(Win_complete, (MPI_Win handle))
{
    WIN_IN(win, handle);
    TRY(HOLDS(win->epoch == WEFTMPI_STARTED, MPI_ERR_RMA_SYNC, "no epoch was started"));
    win->epoch = WEFTMPI_CLOSED;
    for (int i = 0; i < win->comm->size; i++) {
        if (!win->targets[i].started)
            continue;
        win->targets[i].started = false;
        TRY(weftmpi_flush_target(win, &win->targets[i]));
        TRY(told(send_empty(win, i, TAG_COMPLETE)));
    }
    return MPI_SUCCESS;
}

static int look_at_completes(struct weftmpi_win *win, bool blocks, int *over)
{
    CALLS_BACK;

    if (blocks)
        TRY(PMPI_Waitall(win->posted, win->completes, MPI_STATUSES_IGNORE));
    return PMPI_Testall(win->posted, win->completes, over, MPI_STATUSES_IGNORE);
}

/* Tells whether all origins have completed; waits until they have (`blocks`). */
static int wait_for_completes(struct weftmpi_win *win, bool blocks, int *over)
{
    TRY(PLACES(over));
    TRY(HOLDS(win->posted >= 0, MPI_ERR_RMA_SYNC, "no epoch was posted"));
    TRY(told(look_at_completes(win, blocks, over)));
    if (*over) {
        free(win->completes);
        win->completes = NULL;
        win->posted = -1;
    }
    return MPI_SUCCESS;
}

ON(Win_wait, WIN_IN, (MPI_Win handle), wait_for_completes(of, true, &(int){0}))
ON(Win_test, WIN_IN, (MPI_Win handle, int *flag), wait_for_completes(of, false, flag))

/* ---- locks ----------------------------------------------------------------------------------- */

static int take_lock(struct weftmpi_target *target, int kind, bool nocheck)
{
    target->lock = kind;
    target->nocheck = nocheck;
    if (nocheck)
        return MPI_SUCCESS;
    if (kind == MPI_LOCK_EXCLUSIVE)
        return take_turn(target, WEFTMPI_WRITE);
    TRY(take_turn(target, WEFTMPI_READ));
    return add_behind(target, WEFTMPI_READ, 1); /* other readers need not wait */
}

static int leave_lock(struct weftmpi_win *win, struct weftmpi_target *target)
{
    const int kind = target->lock;

    TRY(weftmpi_flush_target(win, target));
    target->lock = 0;
    if (target->nocheck)
        return MPI_SUCCESS;
    if (kind == MPI_LOCK_EXCLUSIVE)
        TRY(add_behind(target, WEFTMPI_READ, 1));
    return add_behind(target, WEFTMPI_WRITE, 1);
}

API(Win_lock, (int kind, int rank, int assertion, MPI_Win handle))
{
    WIN_IN(win, handle);
    TRY(HOLDS(kind == MPI_LOCK_EXCLUSIVE || kind == MPI_LOCK_SHARED, MPI_ERR_LOCKTYPE, "lock %d",
              kind));
    TRY(check_epoch(assertion, MPI_MODE_NOCHECK,
                    rank != MPI_PROC_NULL && (win->epoch == WEFTMPI_LOCKED_ALL ||
                                              win->epoch == WEFTMPI_STARTED || win->posted >= 0)));
    if (rank == MPI_PROC_NULL)
        return MPI_SUCCESS;
    TRY(weftmpi_check_rank(rank, win->comm->size));
    TRY(HOLDS(win->targets[rank].lock == 0, MPI_ERR_RMA_SYNC, "the rank is locked already"));
    win->epoch = WEFTMPI_CLOSED; /* after a fence */
    __atomic_add_fetch(&win->locks, 1, __ATOMIC_RELAXED);
    return take_lock(&win->targets[rank], kind, (assertion & MPI_MODE_NOCHECK) != 0);
}

API(Win_unlock, (int rank, MPI_Win handle))
{
    WIN_IN(win, handle);
    if (rank == MPI_PROC_NULL)
        return MPI_SUCCESS;
    TRY(weftmpi_check_rank(rank, win->comm->size));
    TRY(HOLDS(win->targets[rank].lock != 0 && win->epoch != WEFTMPI_LOCKED_ALL, MPI_ERR_RMA_SYNC,
              "the rank is not locked"));
    __atomic_sub_fetch(&win->locks, 1, __ATOMIC_RELAXED);
    return leave_lock(win, &win->targets[rank]);
}

API(Win_lock_all, (int assertion, MPI_Win handle))
{
    WIN_IN(win, handle);
    TRY(check_epoch(assertion, MPI_MODE_NOCHECK,
                    weftmpi_win_is_locked(win) || win->epoch == WEFTMPI_STARTED ||
                        win->posted >= 0));
    win->epoch = WEFTMPI_LOCKED_ALL;
    for (int i = 0; i < win->comm->size; i++)
        TRY(take_lock(&win->targets[i], MPI_LOCK_SHARED, (assertion & MPI_MODE_NOCHECK) != 0));
    return MPI_SUCCESS;
}

API(Win_unlock_all, (MPI_Win handle))
{
    WIN_IN(win, handle);
    TRY(HOLDS(win->epoch == WEFTMPI_LOCKED_ALL, MPI_ERR_RMA_SYNC, "not all are locked"));
    win->epoch = WEFTMPI_CLOSED;
    for (int i = 0; i < win->comm->size; i++)
        TRY(leave_lock(win, &win->targets[i]));
    return MPI_SUCCESS;
}

/* ---- flush and sync -------------------------------------------------------------------------- */

static int flush(struct weftmpi_win *win, int rank)
{
    if (rank == MPI_PROC_NULL)
        return MPI_SUCCESS;
    TRY(weftmpi_check_rank(rank, win->comm->size));
    return win->targets[rank].lock != 0 ? weftmpi_flush_target(win, &win->targets[rank])
                                        : weftmpi_fail(MPI_ERR_RMA_SYNC, "nothing is locked");
}

static int flush_all(struct weftmpi_win *win)
{
    return weftmpi_win_is_locked(win) ? weftmpi_win_flush_all(win)
                                      : weftmpi_fail(MPI_ERR_RMA_SYNC, "nothing is locked");
}

ON(Win_flush, WIN_IN, (int rank, MPI_Win handle), flush(of, rank))
ON(Win_flush_local, WIN_IN, (int rank, MPI_Win handle), flush(of, rank))
ON(Win_flush_all, WIN_IN, (MPI_Win handle), flush_all(of))
ON(Win_flush_local_all, WIN_IN, (MPI_Win handle), flush_all(of))

/* Orders stores of this thread before, and loads after: a barrier of the processor. */
API(Win_sync, (MPI_Win handle))
{
    static int word;
    WIN_IN(win, handle);
    (void)win;
    __atomic_fetch_add(&word, 0, __ATOMIC_SEQ_CST);
    return MPI_SUCCESS;
}
