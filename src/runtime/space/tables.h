/*
 * runtime/space/tables.h - the host's side of the tables: making and freeing entries.
 *
 * Index spaces (abi/window.h) of a table for n entries of each: 1 .. n for what processes share,
 * n + 1 .. 2n for what lies in one process; nothing is at 0. Every process makes the shared entries
 * in the same order, so all find the same index. Callers hold the runtime's table lock.
 */
#ifndef WEFT_RUNTIME_SPACE_TABLES_H
#define WEFT_RUNTIME_SPACE_TABLES_H

#include "rank/state.h"

/* The first index that no built-in communicator has. */
#define WEFT_FIRST_COMM (weft_handle_index(WEFT_COMM_HOST) + 1)

/* Frees what entries of both tables refer to. */
void weft_tables_close(struct weft_state *state);

/*
 * Makes a communicator of `members` members, copied. fixed: one of the built-in handles, replaced
 * if it exists; else a free index of the space is taken. Errors: LIMIT (in silence), MEMORY.
 */
weft_status weft_comm_make(struct weft_state *state, weft_comm fixed, bool local,
                           const struct weft_member *member, int32_t members, weft_comm *comm);
/* Sets a communicator's barrier words back, while nobody counts in them: freed, or before a run. */
void weft_comm_clear(struct weft_state *state, weft_comm comm);

/* Makes a window over a communicator; takes ownership of entry (malloc'ed) on success. */
weft_status weft_window_make(struct weft_state *state, bool local, weft_comm comm,
                             struct weft_window_entry *entry, weft_win *win);

/* Find the entries of valid handles, else NULL. */
struct weft_comm_entry *weft_comm_find(const struct weft_state *state, weft_comm comm);
struct weft_window *weft_window_find(const struct weft_state *state, weft_win win);

/* Bytes of what a communicator's entry points to, in the order of weft_comm_place. */
static inline size_t weft_comm_bytes(size_t members, size_t slots, size_t processes)
{
    return members * sizeof(struct weft_member) +
           (slots + 2 * processes + members + 1) * sizeof(int32_t);
}

/* Points an entry of `members` members and `slots` slots to its lists. */
static inline void weft_comm_place(struct weft_comm_entry *entry, void *lists, size_t processes)
{
    entry->member = lists;
    entry->rank_of_slot = (int32_t *)(entry->member + entry->members);
    entry->leader = entry->rank_of_slot + entry->slots;
    entry->by_process = entry->leader + processes;
    entry->first = entry->by_process + entry->members;
}

/* The first local index of a table of 2n + 1 places. */
static inline uint32_t weft_tables_local(uint32_t places)
{
    return places / 2 + 1;
}

/* Whether its members are host programs: then it outlives runs. */
static inline bool weft_comm_is_host(const struct weft_comm_entry *entry)
{
    return entry->members > 0 && entry->member[0].slot == WEFT_HOST_SLOT;
}

/*
 * Whether only this process knows the communicator: then it alone makes and frees what belongs to
 * it. One that was split off a shared communicator is shared even if all members are here.
 */
static inline bool weft_comm_is_local(const struct weft_state *state,
                                      const struct weft_comm_entry *entry)
{
    return state->processes == 1 || entry->handle == WEFT_COMM_DEVICE ||
           weft_handle_index(entry->handle) >= weft_tables_local(state->comms_count);
}

#endif
