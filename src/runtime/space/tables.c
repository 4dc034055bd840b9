/* runtime/space/tables.c - see the header. */
#include "runtime/space/tables.h"

#include "base/say.h"

#include <assert.h>
#include <stdlib.h>

/* Every index fits into a handle: tests/unit/runtime/space/test_handles.c. */
static_assert((WEFT_COMM_HOST & WEFT_HANDLE_COMM) != 0, "a communicator is told from a rank");

void weft_tables_close(struct weft_state *state)
{
    for (uint32_t i = 0; state->windows != NULL && i < state->windows_count; i++)
        free(state->windows[i].entry);
    for (uint32_t i = 0; state->comms != NULL && i < state->comms_count; i++)
        free(state->comms[i].member);
}

/* Makes the entry's next handle: its index with a generation that it has not had lately. */
static uint32_t next_handle(uint32_t index, uint32_t *generation)
{
    *generation = (*generation + 1) & ((1u << WEFT_GENERATION_BITS) - 1);
    return index | *generation << WEFT_HANDLE_BITS;
}

/* Finds who is here, who leads, and which other processes take part. leader_of: a process's place
 * among the leaders; -1: none. */
static void place_members(const struct weft_state *state, struct weft_comm_entry *entry,
                          int32_t *leader_of)
{
    for (uint32_t s = 0; s < entry->slots; s++)
        entry->rank_of_slot[s] = -1;
    entry->members_here = 0;
    entry->leaders = 0;

    memset(leader_of, -1, (size_t)state->processes * sizeof(*leader_of));
    for (int32_t i = 0; i < entry->members; i++) {
        const struct weft_member m = entry->member[i];
        leader_of[m.process] = 0;
        if (m.process != state->process)
            continue;
        if (entry->members_here++ == 0 || m.slot < entry->leader_slot)
            entry->leader_slot = m.slot;
        entry->rank_of_slot[m.slot] = i;
    }
    for (int32_t p = 0; p < state->processes; p++) {
        if (leader_of[p] < 0)
            continue;
        leader_of[p] = entry->leaders;
        entry->leader[entry->leaders++] = p;
    }
    entry->leader_index = leader_of[state->process];
}

/* Sorts the ranks by process: counted, then placed from the last to the first. */
static void sort_members(struct weft_comm_entry *entry, const int32_t *leader_of)
{
    for (int32_t i = 0; i < entry->members; i++)
        entry->first[leader_of[entry->member[i].process]]++;
    entry->least = entry->members;
    for (int32_t p = 0; p < entry->leaders; p++) {
        if (entry->first[p] < entry->least)
            entry->least = entry->first[p];
        if (p > 0)
            entry->first[p] += entry->first[p - 1];
    }
    for (int32_t i = entry->members - 1; i >= 0; i--)
        entry->by_process[--entry->first[leader_of[entry->member[i].process]]] = i;
    entry->first[entry->leaders] = entry->members;
}

weft_status weft_comm_make(struct weft_state *state, weft_comm fixed, bool local,
                           const struct weft_member *member, int32_t members, weft_comm *comm)
{
    const uint32_t half = weft_tables_local(state->comms_count);
    uint32_t index = weft_handle_index(fixed);

    if (fixed == WEFT_COMM_NONE) {
        const uint32_t end = local ? state->comms_count : half;
        for (index = local ? half : WEFT_FIRST_COMM; index < end; index++)
            if (state->comms[index].handle == WEFT_COMM_NONE)
                break;
        if (index == end)
            return WEFT_ERR_LIMIT;
    }

    const size_t processes = (size_t)state->processes;
    /* The host programs' outlives kernels; the others are made anew for each. */
    const uint32_t slots = member[0].slot == WEFT_HOST_SLOT
                               ? WEFT_SLOTS
                               : (uint32_t)state->process_table[state->process].ranks + 1;
    struct weft_comm_entry made = {.members = members, .slots = slots};
    const size_t bytes = weft_comm_bytes((size_t)members, slots, processes);
    unsigned char *lists = calloc(1, bytes + processes * sizeof(int32_t));
    if (lists == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for a communicator of %d ranks", members);
    weft_comm_place(&made, lists, processes);
    memcpy(made.member, member, (size_t)members * sizeof(*member));
    int32_t *const leader_of = (int32_t *)(void *)(lists + bytes); /* scratch behind the lists */
    place_members(state, &made, leader_of);
    sort_members(&made, leader_of);

    struct weft_comm_entry *entry = &state->comms[index];
    made.generation = entry->generation;
    made.handle = fixed;
    if (fixed == WEFT_COMM_NONE)
        made.handle = WEFT_HANDLE_COMM | next_handle(index, &made.generation);
    free(entry->member);
    *entry = made;
    *comm = made.handle;
    return WEFT_OK;
}

void weft_comm_clear(struct weft_state *state, weft_comm comm)
{
    struct weft_counter *counter =
        &state->exposed->counters[WEFT_BARRIER_AT + weft_handle_index(comm) * WEFT_BARRIER_WORDS];

    for (int i = 0; i < WEFT_BARRIER_WORDS; i++) {
        weft_store_relaxed_u32(&counter[i].local, state->start_here);
        weft_store_relaxed_u32(&counter[i].peer, state->start_others);
        weft_store_relaxed_u32(&counter[i].host, 0);
    }
}

weft_status weft_window_make(struct weft_state *state, bool local, weft_comm comm,
                             struct weft_window_entry *entry, weft_win *win)
{
    const struct weft_comm_entry *members = weft_comm_find(state, comm);
    const uint32_t half = weft_tables_local(state->windows_count);
    const uint32_t end = local ? state->windows_count : half;
    uint32_t index = local ? half : 1;

    while (index < end && state->windows[index].handle != WEFT_WIN_NONE)
        index++;
    if (index == end)
        return WEFT_ERR_LIMIT;
    struct weft_window *window = &state->windows[index];
    free(window->entry);
    window->entry = entry;
    window->comm = comm;
    window->members = members->members;
    window->member = members->member;
    window->handle = next_handle(index, &window->generation);
    *win = window->handle;
    return WEFT_OK;
}

struct weft_comm_entry *weft_comm_find(const struct weft_state *state, weft_comm comm)
{
    const uint32_t index = weft_handle_index(comm);
    if (comm == WEFT_COMM_NONE || index >= state->comms_count || state->comms[index].handle != comm)
        return NULL;
    return &state->comms[index];
}

struct weft_window *weft_window_find(const struct weft_state *state, weft_win win)
{
    const uint32_t index = weft_handle_index(win);
    if (win == WEFT_WIN_NONE || index >= state->windows_count ||
        state->windows[index].handle != win)
        return NULL;
    return &state->windows[index];
}
