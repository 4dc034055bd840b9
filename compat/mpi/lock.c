/*
 * compat/mpi/lock.c - locks of windows: words of the target that origins update, so that the
 * target's program takes no part.
 */
#include "win.h"

#include <math.h>

/* ---- the words ------------------------------------------------------------------------------- */

enum { SLOTS = 4096 };

static uint64_t *words;       /* of this process; NULL: not yet */
static bool slot_used[SLOTS]; /* by a window */
static uint32_t last_number = WEFTMPI_LOCKS_NUMBER;

uint32_t weftmpi_exposure_number(void)
{
    LOCKED;
    return ++last_number;
}

/* Locked. */
static weft_status open_words(void)
{
    const size_t bytes = (size_t)SLOTS * WEFTMPI_LOCK_WORDS * sizeof(uint64_t);

    if (words != NULL)
        return WEFT_OK;
    words = weft_malloc(weftmpi.job, bytes); /* which goes with the job */
    return words != NULL ? weft_expose(weftmpi.job, words, bytes, WEFTMPI_LOCKS_NUMBER)
                         : WEFT_ERR_MEMORY;
}

int weftmpi_locks_take(void)
{
    LOCKED;
    const weft_status status = open_words();
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

/* Adds to a word, and what it was before. */
static int add(const struct weftmpi_target *target, enum weftmpi_lock_word word, uint64_t value,
               uint64_t *before)
{
    return weftmpi_failed(
        weft_host_fetch_add(weftmpi.job, target->locks, 0, place(target, word), value, before));
}

int weftmpi_take_turn(const struct weftmpi_target *target, enum weftmpi_lock_word tickets,
                      enum weftmpi_lock_word turn)
{
    uint64_t ticket, now = 0;

    TRY(add(target, tickets, 1, &ticket));
    for (int round = 0;; round++) {
        TRY(add(target, turn, 0, &now));
        if (now == ticket)
            return MPI_SUCCESS;
        weftmpi_drive();
        if (round > 10)
            weftmpi_pause();
    }
}

int weftmpi_next_turn(const struct weftmpi_target *target, enum weftmpi_lock_word turn)
{
    return weftmpi_failed(weft_host_add(weftmpi.job, target->locks, 0, place(target, turn), 1));
}

/* ---- locks ----------------------------------------------------------------------------------- */

static int take_lock(struct weftmpi_target *target, int kind, bool nocheck)
{
    target->lock = kind;
    target->nocheck = nocheck;
    if (nocheck)
        return MPI_SUCCESS;
    if (kind == MPI_LOCK_EXCLUSIVE)
        return weftmpi_take_turn(target, WEFTMPI_TICKETS, WEFTMPI_WRITE);
    TRY(weftmpi_take_turn(target, WEFTMPI_TICKETS, WEFTMPI_READ));
    return weftmpi_next_turn(target, WEFTMPI_READ); /* other readers need not wait */
}

static int leave_lock(struct weftmpi_win *win, struct weftmpi_target *target)
{
    const int kind = target->lock;

    TRY(weftmpi_win_flush(win, target));
    target->lock = 0;
    if (target->nocheck)
        return MPI_SUCCESS;
    if (kind == MPI_LOCK_EXCLUSIVE)
        TRY(weftmpi_next_turn(target, WEFTMPI_READ));
    return weftmpi_next_turn(target, WEFTMPI_WRITE);
}

API(Win_lock, (int kind, int rank, int assertion, MPI_Win handle))
{
    WIN_IN(win, handle);
    if (kind != MPI_LOCK_EXCLUSIVE && kind != MPI_LOCK_SHARED)
        return weftmpi_fail(MPI_ERR_LOCKTYPE, "lock %d", kind);
    TRY(weftmpi_check_epoch(assertion, MPI_MODE_NOCHECK,
                            rank != MPI_PROC_NULL &&
                                (win->epoch == WEFTMPI_LOCKED_ALL ||
                                 win->epoch == WEFTMPI_STARTED || win->posted >= 0)));
    if (rank == MPI_PROC_NULL)
        return MPI_SUCCESS;
    TRY(weftmpi_check_rank(rank, win->comm->size));
    if (win->targets[rank].lock != 0)
        return weftmpi_fail(MPI_ERR_RMA_SYNC, "the rank is locked already");
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
    if (win->targets[rank].lock == 0 || win->epoch == WEFTMPI_LOCKED_ALL)
        return weftmpi_fail(MPI_ERR_RMA_SYNC, "the rank is not locked");
    __atomic_sub_fetch(&win->locks, 1, __ATOMIC_RELAXED);
    return leave_lock(win, &win->targets[rank]);
}

API(Win_lock_all, (int assertion, MPI_Win handle))
{
    WIN_IN(win, handle);
    TRY(weftmpi_check_epoch(assertion, MPI_MODE_NOCHECK,
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
    if (win->epoch != WEFTMPI_LOCKED_ALL)
        return weftmpi_fail(MPI_ERR_RMA_SYNC, "not all are locked");
    win->epoch = WEFTMPI_CLOSED;
    for (int i = 0; i < win->comm->size; i++)
        TRY(leave_lock(win, &win->targets[i]));
    return MPI_SUCCESS;
}
