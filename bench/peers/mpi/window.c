/*
 * window.c - windows for the programs that put, and the notified put: see peer.h.
 */
#include "peer.h"

/* Collective. Memory from MPI_Win_allocate: MPI places it where it serves its puts best. */
static void open_window(struct peer_pair *pair, struct peer_window *window, size_t bytes)
{
    window->flag = (MPI_Aint)((bytes + 127) / 128 * 128); /* not in a line of the data */
    MPI_Win_allocate(window->flag + (MPI_Aint)sizeof(uint64_t), 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                     &pair->target, &window->win);
    pair->window = window;
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window->win);
    *(volatile uint64_t *)((unsigned char *)pair->target + window->flag) = 0;
    MPI_Win_sync(window->win);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void close_window(struct peer_window *window)
{
    MPI_Win_unlock_all(window->win);
    MPI_Win_free(&window->win);
}

void peer_notify(struct peer_pair *pair)
{
    struct peer_window *window = pair->window;
    const int other = pair->other;
    MPI_Win_flush(other, window->win);
    window->sent++;
    switch (window->form) {
    case PEER_PUT:
        MPI_Put(&window->sent, 1, MPI_UINT64_T, other, window->flag, 1, MPI_UINT64_T, window->win);
        MPI_Win_flush(other, window->win);
        break;
    case PEER_ACCUMULATE:
        MPI_Accumulate(&window->sent, 1, MPI_UINT64_T, other, window->flag, 1, MPI_UINT64_T,
                       MPI_REPLACE, window->win);
        MPI_Win_flush(other, window->win);
        break;
    case PEER_SEND:
        MPI_Send(NULL, 0, MPI_BYTE, other, 0, MPI_COMM_WORLD);
        break;
    }
}

void peer_wait(struct peer_pair *pair)
{
    struct peer_window *window = pair->window;
    const volatile uint64_t *flag =
        (const volatile uint64_t *)((unsigned char *)pair->target + window->flag);
    window->received++;
    if (window->form == PEER_SEND) {
        MPI_Recv(NULL, 0, MPI_BYTE, pair->other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        while (*flag < window->received)
            MPI_Win_sync(window->win); /* also drives a transport that is not shared memory */
    }
    MPI_Win_sync(window->win); /* what was put before is read after */
}

static const char *const forms[] = {"put", "accumulate", "send", NULL};
const struct peer_windows peer_windows = {forms, open_window, close_window};
