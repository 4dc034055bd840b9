/*
 * coll/far.h - ranks of other processes: a window over each member's own memory (abi/coll.h), made
 * by the first call on the communicator, out of which the others load, or fetch what they cannot
 * map.
 */
#ifndef WEFT_COLL_FAR_H
#define WEFT_COLL_FAR_H

#include "coll/fold.h"

/* A rank's room for pieces, in four parts: two in turns, what is combined, what is fetched. */
struct weft_coll_room {
    uint64_t turn[2], part, fetched; /* where the four parts are in each rank's memory */
    size_t bytes;                    /* bytes of each part */
};

WEFT_INLINE struct weft_coll_room weft_coll_room(const weft_self *self)
{
    const uint64_t at = weft_coll_pieces_at(self->state->comms_count);
    const size_t bytes = (self->exchange_bytes - at) / 4 / 16 * 16;
    const struct weft_coll_room room = {.turn = {at, at + bytes},
                                        .part = at + 2 * bytes,
                                        .fetched = at + 3 * bytes,
                                        .bytes = bytes};
    return room;
}

/* Returns how many elements fit into each of `pieces` pieces of the room. Fails if none does. */
WEFT_INLINE size_t weft_coll_fits(weft_self *self, const struct weft_coll *c, size_t pieces)
{
    const size_t bytes = weft_coll_room(self).bytes;
    const size_t fits = weft_coll_over(bytes, c->size * pieces);

    if (WEFT_UNLIKELY(fits == 0))
        weft_coll_fail(self, c->call.what, WEFT_ERR_LIMIT,
                       "%s: no room for %lld elements in %lld bytes, a quarter of "
                       "WEFT_COLL_SCRATCH",
                       (int64_t)pieces, (int64_t)bytes, 0, 0);
    return fits;
}

/* Returns the address of a place in this rank's own memory. */
WEFT_INLINE unsigned char *weft_coll_own(const weft_self *self, uint64_t at)
{
    return weft_coll_memory(self, self->slot) + at;
}

/* Returns the rank of a column in a process: each column has one rank of each process. */
WEFT_INLINE int32_t weft_coll_rank_of(const struct weft_coll *c, int32_t process, int32_t column)
{
    return c->entry->by_process[c->entry->first[process] + column];
}

/* Begins to fetch a rank's bytes, unless it is mapped. The caller flushes. */
WEFT_INLINE void weft_coll_ask(weft_self *self, const struct weft_coll *c, int32_t rank,
                               uint64_t at, unsigned char *to, size_t bytes)
{
    if (c->window->entry[rank].address == NULL)
        weft_get_begin(self, c->win, rank, at, to, bytes);
}

/* Returns where `bytes` bytes at a place of one rank's memory in each process are. Mapped ones are
 * loaded from when they are wanted; the others were fetched on return. All threads call it. */
WEFT_COLD struct weft_coll_from weft_coll_column(weft_self *self, const struct weft_coll *c,
                                                 int32_t column, uint64_t at, size_t bytes)
{
    struct weft_coll_from from = {.kind = WEFT_COLL_COLUMN,
                                  .members = c->leaders,
                                  .column = column,
                                  .at = at,
                                  .stride = bytes};

    WEFT_IN_SHARED(self);
    from.fetched = weft_coll_own(self, weft_coll_room(self).fetched);
    if (c->mapped)
        return from;
    if (WEFT_UNLIKELY((size_t)c->leaders * bytes > weft_coll_room(self).bytes))
        weft_coll_fail(self, c->call.what, WEFT_ERR_LIMIT,
                       "%s: no room for %lld bytes of each of %lld processes in %lld bytes, a "
                       "quarter of WEFT_COLL_SCRATCH",
                       (int64_t)bytes, c->leaders, (int64_t)weft_coll_room(self).bytes, 0);
    for (int32_t p = 0; p < c->leaders; p++)
        weft_coll_ask(self, c, weft_coll_rank_of(c, p, column), at,
                      from.fetched + (size_t)p * bytes, bytes);
    weft_flush(self, c->win);
    return from;
}

/* The first member of each process compares its call with the next process's. from: cells. */
WEFT_INLINE void weft_coll_agree_far(weft_self *self, const struct weft_coll *c,
                                     const struct weft_coll_from *from)
{
    const int32_t next = c->lead + 1 < c->leaders ? c->lead + 1 : 0;
    const void *const cell = weft_coll_at(self, c, from, next);
    struct weft_coll_call other;

    if (WEFT_UNLIKELY(!weft_coll_is_same(c, (const struct weft_coll_cell *)cell, &other)))
        weft_coll_differ(self, c, weft_coll_rank_of(c, next, 0), &other);
}

/* Returns how much is used of a cell with so many bytes of data: such pieces, one behind the other,
 * are aligned. */
WEFT_INLINE size_t weft_coll_cell_bytes(size_t bytes)
{
    return (offsetof(struct weft_coll_cell, data) + bytes + 15) / 16 * 16;
}

/* Checks, after a call was published, that all members make the same. Fails if they do not. */
WEFT_INLINE void weft_coll_agree(weft_self *self, const struct weft_coll *c)
{
    weft_coll_agree_here(self, c);
    if (c->leaders == 1 || c->mine != 0)
        return;
    const int32_t next = c->lead + 1 < c->leaders ? c->lead + 1 : 0;
    struct weft_coll_from from = {.kind = WEFT_COLL_COLUMN, .members = c->leaders};
    from.at = weft_coll_cell_at(self, c, c->call.barriers);
    from.fetched = weft_coll_own(self, weft_coll_room(self).fetched);
    if (c->window->entry[weft_coll_rank_of(c, next, 0)].address == NULL)
        weft_get(self, c->win, weft_coll_rank_of(c, next, 0), from.at, from.fetched,
                 sizeof(struct weft_coll_call));
    weft_coll_agree_far(self, c, &from);
}

/* Does a call of a few elements in several processes. Each first member puts its process's
 * together, in its cell; then everybody puts these together, or, where not all are mapped, the
 * first members do for their processes. root >= 0: nothing is put together, that rank's are for
 * all. */
WEFT_COLD void weft_coll_few_far(weft_self *self, struct weft_coll *c, int32_t root)
{
    const size_t bytes = c->count * c->size, data_at = offsetof(struct weft_coll_cell, data);
    const size_t used = weft_coll_cell_bytes(bytes);
    struct weft_coll_from from = {.kind = WEFT_COLL_CELLS, .members = c->here};
    int32_t source = 0; /* whose of the processes is for all */

    WEFT_IN_SHARED(self);
    weft_coll_publish(self, c, c->source, root < 0 || root == c->me ? bytes : 0);
    struct weft_coll_cell *next = weft_coll_next(self, c, c->call.barriers + 1);
    if (c->mine != 0 || root >= 0 || c->count == 0) /* weft_coll_fold looks itself */
        weft_coll_agree_here(self, c);
    if (c->mine == 0 && root < 0)
        weft_coll_fold(self, c, &from, next->data, c->count, false);
    else if (c->mine == 0 && weft_coll_is_here(self, c, root))
        weft_coll_push(self, next->data, weft_coll_cell_of_rank(self, c, root)->data, bytes);
    while (root >= 0 && c->entry->leader[source] != c->entry->member[root].process)
        source++;
    weft_coll_publish(self, c, NULL, 0);

    if (c->mapped || c->mine == 0) {
        next = weft_coll_next(self, c, c->call.barriers + 1);
        from = weft_coll_column(self, c, 0, weft_coll_cell_at(self, c, c->call.barriers), used);
        weft_coll_agree_far(self, c, &from);
        from.at += data_at;
        from.fetched += data_at;
        unsigned char *const to = c->mapped ? c->target : next->data;
        if (to != NULL && root < 0)
            weft_coll_fold(self, c, &from, to, c->count, c->mapped);
        else if (to != NULL && c->mapped)
            weft_coll_fetch(self, to, weft_coll_at(self, c, &from, source), bytes);
        else if (to != NULL)
            weft_coll_push(self, to, weft_coll_at(self, c, &from, source), bytes);
    }
    if (!c->mapped) {
        weft_coll_publish(self, c, NULL, 0);
        if (c->target != NULL)
            weft_coll_fetch(self, c->target, weft_coll_cell(self, c, 0)->data, bytes);
    }
    weft_join(self);
}

/* ---- the window ---------------------------------------------------------------------------- */

/* Returns 1 if this rank maps the memory of all others, else 0. */
WEFT_INLINE uint32_t weft_coll_maps_all(const struct weft_coll *c)
{
    for (int32_t i = 0; i < c->members; i++)
        if (c->window->entry[i].address == NULL)
            return 0;
    return 1;
}

/* Connects a communicator at its first call: members make the window, and find who maps whom. */
WEFT_COLD void weft_coll_connect(weft_self *self, struct weft_coll *c,
                                 struct weft_coll_known *known)
{
    struct weft_coll asked = *c;
    uint32_t *const mapped = (uint32_t *)(void *)weft_coll_own(self, weft_coll_room(self).part);

    c->win =
        weft_win_create(self, c->comm, weft_coll_memory(self, self->slot), self->exchange_bytes);
    if (c->win == WEFT_WIN_NONE)
        weft_coll_fail(self, c->call.what, self->failure,
                       "%s: no window could be made for communicator 0x%llx", c->comm, 0, 0, 0);
    c->window = &self->state->windows[weft_handle_index(c->win)];
    asked.win = c->win;
    asked.window = c->window;
    asked.call.type = WEFT_U32;
    asked.call.operation = WEFT_MIN;
    asked.size = sizeof(*mapped);
    asked.count = asked.call.count = 1;
    asked.call.root = -1;
    asked.source = asked.target = (unsigned char *)mapped;
    const uint32_t maps = weft_coll_maps_all(c);
    if (weft_leads(self))
        *mapped = maps;
    weft_coll_few_far(self, &asked, -1);
    if (weft_leads(self)) {
        const struct weft_coll_known made = {.comm = c->comm, .win = c->win, .mapped = *mapped};
        *known = made;
    }
    weft_join(self);
}

/* ---- every call ---------------------------------------------------------------------------- */

/* Begins every call: checks arguments, and connects the communicator at its first call. root < 0:
 * there is none. All threads call it. */
WEFT_COLD void weft_coll_begin(weft_self *self, struct weft_coll *c, enum weft_coll_what what,
                               weft_comm comm, int root, const void *source, void *target,
                               size_t count, weft_type type, int operation)
{
    const struct weft_coll_call call = {.what = (uint8_t)what,
                                        .type = (uint8_t)type,
                                        .operation = (uint8_t)operation,
                                        .root = root,
                                        .count = count};

    WEFT_IN_SHARED(self);
    weft_region_begin(self, weft_coll_name(what) + sizeof("weft"));
    c->call = call;
    c->source = (unsigned char *)(uintptr_t)source;
    c->target = (unsigned char *)target;
    c->count = count;
    weft_coll_look_up(self, c, comm);
    c->size = (uint32_t)type < WEFT_TYPES ? weft_type_bytes(type) : 1;
    weft_coll_check_arguments(self, c, (int)type, operation, root);
    if (root >= 0 && root != c->me)
        c->target = NULL;
    if (c->leaders == 1)
        return;
    struct weft_coll_known *const known = weft_coll_known_of(self, comm);
    if (!weft_coll_has_window(self, known, comm))
        weft_coll_connect(self, c, known);
    c->win = known->win;
    c->window = &self->state->windows[weft_handle_index(c->win)];
    c->mapped = known->mapped != 0;
}

#endif
