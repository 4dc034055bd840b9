/*
 * compat/mpi/win.h - windows: win.c makes them, sync.c has epochs and locks, rma.c what is put, got
 * and updated.
 *
 * A process's part of a window is an exposure of weft (weft/host.h), which puts, gets and updates
 * reach without the target's help. What is not mapped of a process of this node is put and got by
 * the kernel, where it allows that. Locks are words of each process that origins update.
 */
#ifndef WEFTMPI_WIN_H
#define WEFTMPI_WIN_H

#include "request.h"

#include <sys/types.h>

enum weftmpi_epoch { WEFTMPI_CLOSED, WEFTMPI_FENCE, WEFTMPI_STARTED, WEFTMPI_LOCKED_ALL };

/* What this process knows of a member's part of a window. */
struct weftmpi_target {
    weft_win win;   /* NONE: no bytes */
    size_t at;      /* where the part begins in `win` */
    MPI_Aint bytes; /* of the part; dynamic: any address is meant */
    MPI_Aint unit;
    uintptr_t home;    /* address of the part, at the member */
    pid_t pid;         /* the member's, for copies by the kernel; 0: weft copies */
    weft_win locks;    /* the member's words of locks */
    size_t lock_words; /* offset of this window's words in `locks` */
    int lock;          /* held by this process: 0, MPI_LOCK_EXCLUSIVE, MPI_LOCK_SHARED */
    bool nocheck;      /* no word was updated for the lock (MPI_MODE_NOCHECK) */
    bool started;
    bool dirty; /* something may be under way; not kept with several threads */
    void *shared;
};

struct weftmpi_win {
    struct weftmpi_object object;
    struct weftmpi_comm *comm; /* its own: messages of post and complete, barriers */
    int flavor, model, unit;
    void *base;
    MPI_Aint bytes;
    void *memory;    /* allocated for it; NULL: the program's, or another process's */
    bool in_turn;    /* all updates of it are under the target's lock */
    uint32_t number; /* number of the exposure; 0: none */
    int slot;        /* slot of its words of locks; -1: none */
    enum weftmpi_epoch epoch;
    int locks;                   /* targets that are locked one by one */
    int posted;                  /* origins of the exposure epoch; -1: there is none */
    MPI_Request *completes;      /* for the messages with which the epoch's origins complete */
    struct weftmpi_table *table; /* of a dynamic window: what is attached */
    struct weftmpi_target *targets;
    bool unnamed;
    char name[MPI_MAX_OBJECT_NAME];
};

/* WIN_OF: the window of a handle, whose errors are the call's: declares it. _IN: enters the call,
 * too. */
#define WIN_IN(win, handle)                                                                        \
    ENTER;                                                                                         \
    WIN_OF(win, handle)
#define WIN_OF(name, handle)                                                                       \
    TRY(weftmpi_is_open());                                                                        \
    OBJECT_IN(name, win, WEFTMPI_WIN, handle);                                                     \
    weftmpi_call.on = name

static inline bool weftmpi_win_is_locked(const struct weftmpi_win *win)
{
    return win->epoch == WEFTMPI_LOCKED_ALL || win->locks != 0;
}

enum { WEFTMPI_REGIONS = 2048 };
/* What a process has attached, as origins get it. A row of 0 bytes is free. */
struct weftmpi_table {
    uint64_t used; /* rows that were ever used */
    struct weftmpi_region {
        uint64_t base, bytes, number;
    } regions[WEFTMPI_REGIONS];
};

/* ---- locks, flushes: sync.c ------------------------------------------------------------------ */

/*
 * Who wants a lock takes a ticket; writers wait until `write` has come to theirs, readers `read`.
 * All are equal when nobody has it. `updating` is 1 while a process updates elements that no
 * processor updates at once; who finds it 0 is next, since a turn of one that does not run would
 * hold up all.
 */
enum weftmpi_lock_word {
    WEFTMPI_TICKETS,
    WEFTMPI_WRITE,
    WEFTMPI_READ,
    WEFTMPI_UPDATING,
    WEFTMPI_LOCK_WORDS = 8
};

enum { WEFTMPI_LOCKS_NUMBER = 1 }; /* of the exposure of a process's words */
/* Takes words of locks for a new window; -1: none are left, or no memory, which was said. */
int weftmpi_locks_take(void);
void weftmpi_locks_give(int slot);
/* Returns a number under which this process exposes something. */
uint32_t weftmpi_exposure_number(void);
/* Take the lock of updates, and give it back, behind what was done before. */
int weftmpi_updates_lock(const struct weftmpi_target *target);
int weftmpi_updates_unlock(const struct weftmpi_target *target);
/* Wait until everything of this process is there, at one member or at all. */
int weftmpi_flush_target(struct weftmpi_win *win, struct weftmpi_target *target);
int weftmpi_win_flush_all(struct weftmpi_win *win);

#endif
