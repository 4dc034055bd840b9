/*
 * coll/call.h - the beginning of every collective: what is asked for is checked, written where the
 * other ranks see it, and compared with theirs.
 *
 * Who writes and who reads is ordered by barriers of the communicator alone. A rank writes the cell
 * of the parity of its next barrier, and others read it between that barrier and the one after
 * next, which nobody leaves before all have read: so two cells are enough, and no call waits for
 * readers of the call before. What lies elsewhere, in pieces or in the program's memory, is free
 * again only after a barrier at the call's end.
 */
#ifndef WEFT_COLL_CALL_H
#define WEFT_COLL_CALL_H

#include "rank/exchange.h"
#include "rank/path/dispatch.h"
#include "rank/together.h"
#include "weft/coll.h"
#ifdef __CUDACC__
#include "rank/api.h"
#endif

/* Name in capitals, function. */
#define WEFT_COLL_MAP(X)                                                                           \
    X(BROADCAST, "weft_broadcast")                                                                 \
    X(REDUCE, "weft_reduce")                                                                       \
    X(ALLREDUCE, "weft_allreduce")                                                                 \
    X(REDUCE_SCATTER, "weft_reduce_scatter")                                                       \
    X(SCAN, "weft_scan")                                                                           \
    X(GATHER, "weft_gather")                                                                       \
    X(ALLGATHER, "weft_allgather")                                                                 \
    X(ALLTOALL, "weft_alltoall")

enum weft_coll_what {
    WEFT_COLL_NONE,
#define WEFT_COLL_ENUM(what, name) WEFT_COLL_##what,
    WEFT_COLL_MAP(WEFT_COLL_ENUM)
#undef WEFT_COLL_ENUM
};

/* One call, as its rank sees it; the same for all threads. */
struct weft_coll {
    const struct weft_comm_entry *entry;
    const struct weft_window *window; /* over all members' memory; NULL: there is one process */
    struct weft_coll_call call;
    weft_comm comm;
    weft_win win;
    bool mapped;           /* every member maps the memory of every other */
    bool plain;            /* the j-th member of this process is its j-th rank */
    int32_t members, me;   /* members of the communicator; this rank's number among them */
    int32_t leaders, lead; /* processes with members; this process's number among them */
    int32_t here, mine;    /* members of this process; this rank's number among them */
    uint32_t size;         /* bytes of an element */
    uint64_t cell_at;      /* where the cells of this call are in each rank's memory */
    size_t count;
    unsigned char *source; /* the call only reads it */
    unsigned char *target; /* NULL: this rank gets nothing */
};

/* ---- what is wrong ------------------------------------------------------------------------- */

WEFT_COLD const char *weft_coll_name(uint32_t what)
{
    switch (what) {
#define WEFT_COLL_NAME(which, name)                                                                \
    case WEFT_COLL_##which:                                                                        \
        return name;
        WEFT_COLL_MAP(WEFT_COLL_NAME)
#undef WEFT_COLL_NAME
    default:
        return "no collective";
    }
}

/* Fails the call: text begins with "%s: ", for the call's name. Does not return. */
WEFT_COLD void weft_coll_fail(weft_self *self, uint32_t what, weft_status status, const char *text,
                              int64_t a, int64_t b, int64_t c, int64_t d)
{
    weft_fail_in(self, status, weft_coll_name(what), text, a, b, c, d);
}

/* Fails because two ranks make different calls: says the first thing in which they differ. */
WEFT_COLD void weft_coll_differ(weft_self *self, const struct weft_coll *c, int32_t rank,
                                const struct weft_coll_call *other)
{
    const struct weft_coll_call *const mine = &c->call;
    const char *const met = other->barriers != mine->barriers ? "a barrier"
                            : other->what != mine->what       ? weft_coll_name(other->what)
                                                              : NULL;
    const char *field = "count";
    int64_t values[2] = {(int64_t)mine->count, (int64_t)other->count};
    weft_log_kind kind = WEFT_LOG_INT;
    weft_log_arg args[8];

    if (other->root != mine->root)
        field = "root", values[0] = mine->root, values[1] = other->root;
    else if (other->type != mine->type)
        field = "type", kind = WEFT_LOG_TYPE, values[0] = mine->type, values[1] = other->type;
    else if (other->operation != mine->operation)
        field = "operation", kind = WEFT_LOG_OPERATION, values[0] = mine->operation,
        values[1] = other->operation;
    args[0] = weft_name(weft_coll_name(mine->what));
    args[1] = weft_value(c->comm, WEFT_LOG_COMM);
    args[2] = weft_number(c->me);
    args[3] = weft_name(met != NULL ? met : field);
    args[4] = met != NULL ? weft_number(rank) : weft_value((uint64_t)values[0], kind);
    args[5] = weft_number(rank);
    args[6] = weft_name(field);
    args[7] = weft_value((uint64_t)values[1], kind);
    if (met != NULL)
        weft_fail(self, WEFT_ERR_MISMATCH, "%s on %s by rank %d meets %s by rank %d", 5, args);
    weft_fail(self, WEFT_ERR_MISMATCH, "%s on %s: rank %d has %s %lld, rank %d has %s %lld", 8,
              args);
}

/* Returns a / b; a GPU takes some hundred instructions to divide, some twenty if both are small. */
WEFT_INLINE size_t weft_coll_over(size_t a, size_t b)
{
    return ((a | b) >> 32) == 0 ? (uint32_t)a / (uint32_t)b : a / b;
}

/* ---- where ranks' memory is ---------------------------------------------------------------- */

WEFT_INLINE unsigned char *weft_coll_memory(const weft_self *self, uint32_t slot)
{
    return self->exchange + (uint64_t)(slot - 1) * self->exchange_bytes;
}

/* Returns where the cell of the given parity is in each rank's memory. */
WEFT_INLINE uint64_t weft_coll_cell_at(const weft_self *self, const struct weft_coll *c,
                                       uint32_t barriers)
{
    return weft_coll_cells_at(self->state->comms_count) +
           (uint64_t)(weft_handle_index(c->comm) * 2 + (barriers & 1)) * WEFT_COLL_CELL;
}

/* Return the rank of the j-th member of this process, its slot, and the cell it published last. */
WEFT_INLINE int32_t weft_coll_rank_here(const struct weft_coll *c, int32_t j)
{
    return c->entry->by_process[c->entry->first[c->lead] + j];
}
WEFT_INLINE uint32_t weft_coll_slot_here(const struct weft_coll *c, int32_t j)
{
    return c->plain ? (uint32_t)j + 1 : c->entry->member[weft_coll_rank_here(c, j)].slot;
}
WEFT_INLINE struct weft_coll_cell *weft_coll_cell(const weft_self *self, const struct weft_coll *c,
                                                  int32_t j)
{
    return (struct weft_coll_cell *)(void *)(weft_coll_memory(self, weft_coll_slot_here(c, j)) +
                                             c->cell_at);
}

/* Returns the cell that a member of this process has published last, by its rank. */
WEFT_INLINE struct weft_coll_cell *weft_coll_cell_of_rank(const weft_self *self,
                                                          const struct weft_coll *c, int32_t rank)
{
    return (struct weft_coll_cell *)(void *)(weft_coll_memory(self, c->entry->member[rank].slot) +
                                             c->cell_at);
}

WEFT_INLINE bool weft_coll_is_here(const weft_self *self, const struct weft_coll *c, int32_t rank)
{
    return c->entry->member[rank].process == self->process;
}

/* Returns this rank's own cell for what is published next. */
WEFT_INLINE struct weft_coll_cell *weft_coll_next(const weft_self *self, const struct weft_coll *c,
                                                  uint32_t barriers)
{
    return (struct weft_coll_cell *)(void *)(weft_coll_memory(self, self->slot) +
                                             weft_coll_cell_at(self, c, barriers));
}

/* Reads what a cell of this process says of its rank's memory: &cell->source or &cell->target. */
WEFT_INLINE unsigned char *weft_coll_place(unsigned char *const *at)
{
#ifdef __CUDACC__
    return *at;
#else
    unsigned char *place;
    weft_read_shared(&place, at, sizeof(place));
    return place;
#endif
}

/* ---- copies -------------------------------------------------------------------------------- */

/* Copies what another rank wrote into memory of this one. All threads; orders nothing. */
WEFT_INLINE void weft_coll_fetch(weft_self *self, unsigned char *to, const unsigned char *from,
                                 size_t bytes)
{
#ifdef __CUDACC__
    const struct weft_shape shape = weft_one_row(bytes);
    weft_copy_direct(self, to, from, &shape);
#else
    (void)self;
    if (to != from && bytes != 0)
        weft_read_shared(to, from, bytes);
#endif
}

/* Copies into memory that others read after the next barrier. All threads call it. */
WEFT_INLINE void weft_coll_push(weft_self *self, unsigned char *to, const unsigned char *from,
                                size_t bytes)
{
#ifdef __CUDACC__
    weft_coll_fetch(self, to, from, bytes);
#else
    (void)self;
    if (to == from || bytes == 0)
        return;
    weft_used_shared(from, bytes);
    weft_write_shared(to, from, bytes);
#endif
}

/* ---- what all ranks see of a call ---------------------------------------------------------- */

/* Writes this rank's cell, with a small source if there is one, and meets the others. */
WEFT_INLINE void weft_coll_publish(weft_self *self, struct weft_coll *c, const unsigned char *data,
                                   size_t bytes)
{
    weft_join(self); /* the source is there, and nobody reads what follows */
    c->call.barriers = self->barriers[weft_handle_index(c->comm)];
    c->cell_at = weft_coll_cell_at(self, c, c->call.barriers);
    struct weft_coll_cell *const cell = weft_coll_next(self, c, c->call.barriers);

    if (weft_leads(self)) {
#ifdef __CUDACC__
        cell->call = c->call;
        cell->source = c->source;
        cell->target = c->target;
#else
        struct weft_coll_cell made = {.call = c->call, .source = c->source, .target = c->target};
        weft_write_shared(cell, &made, offsetof(struct weft_coll_cell, data));
#endif
    }
    weft_coll_push(self, cell->data, data, bytes);
    weft_barrier(self, c->comm);
}

/* Whether what another rank has published is the same call as this one's; it goes to *other. */
WEFT_INLINE bool weft_coll_is_same(const struct weft_coll *c, const struct weft_coll_cell *cell,
                                   struct weft_coll_call *other)
{
#ifdef __CUDACC__
    *other = cell->call;
#else
    weft_read_shared(other, &cell->call, sizeof(*other));
#endif
    return other->barriers == c->call.barriers && other->what == c->call.what &&
           other->type == c->call.type && other->operation == c->call.operation &&
           other->root == c->call.root && other->count == c->call.count;
}

/* Compares this rank's call with that of the next member of its process (of the last: the first).
 * Where any two differ, two neighbours do, of which one makes a collective call. Where all data
 * lies in cells, one thread looks while the others go on; else none may load by a count that is not
 * everybody's. */
WEFT_INLINE void weft_coll_agree_here(weft_self *self, const struct weft_coll *c)
{
    const int32_t next = c->mine + 1 < c->here ? c->mine + 1 : 0;
    const bool in_cells = c->count * c->size <= WEFT_COLL_DATA;
    struct weft_coll_call other;

    if (next == c->mine || (in_cells && weft_thread(self) != weft_threads(self) - 1))
        return;
    if (WEFT_UNLIKELY(!weft_coll_is_same(c, weft_coll_cell(self, c, next), &other)))
        weft_coll_differ(self, c, weft_coll_rank_here(c, next), &other);
}

/* ---- the beginning ------------------------------------------------------------------------- */

WEFT_INLINE bool weft_coll_has_root(uint32_t what)
{
    return what == WEFT_COLL_BROADCAST || what == WEFT_COLL_REDUCE || what == WEFT_COLL_GATHER;
}

/* Checks type, operation and root as the program gave them, and buffers. Fails if one is wrong. */
WEFT_COLD void weft_coll_check_arguments(weft_self *self, const struct weft_coll *c, int type,
                                         int operation, int root)
{
    const uint32_t what = c->call.what;
    /* Divided where it may matter: it takes a GPU some hundred instructions. */
    const bool too_many = c->count >> 29 != 0 && c->count > SIZE_MAX / 8 / (uint64_t)c->members;
    const uintptr_t places = (uintptr_t)c->source | (uintptr_t)c->target;

    if (self->exchange == NULL)
        weft_coll_fail(self, what, WEFT_ERR_STATE,
                       "%s: the file of the kernel does not include weft/coll.h", 0, 0, 0, 0);
    if (type < 0 || operation < 0 || operation > WEFT_PROD ||
        !weft_change_exists((uint32_t)operation, (uint32_t)type) || too_many)
        weft_coll_fail(self, what, WEFT_ERR_ARGUMENT,
                       "%s: type %lld, operation %lld, %llu elements: there is no such thing", type,
                       operation, (int64_t)c->count, 0);
    if (weft_coll_has_root(what) && (root < 0 || root >= c->members))
        weft_coll_fail(self, what, WEFT_ERR_RANK, "%s: root %lld is not one of %lld ranks", root,
                       c->members, 0, 0);
    if (c->count != 0 &&
        (c->source == NULL || (c->target == NULL && (c->call.root < 0 || c->call.root == c->me))))
        weft_coll_fail(self, what, WEFT_ERR_ARGUMENT, "%s: source 0x%llx, target 0x%llx",
                       (int64_t)(uintptr_t)c->source, (int64_t)(uintptr_t)c->target, 0, 0);
    if (c->count != 0 && weft_is_private(self, c->source))
        weft_fail_memory(self, weft_coll_name(what), c->source);
    if (c->count != 0 && weft_is_private(self, c->target) &&
        (c->call.root < 0 || c->call.root == c->me))
        weft_fail_memory(self, weft_coll_name(what), c->target);
    if ((places & (c->size - 1)) != 0)
        weft_coll_fail(self, what, WEFT_ERR_ARGUMENT,
                       "%s: source 0x%llx or target 0x%llx is not aligned to %lld bytes",
                       (int64_t)(uintptr_t)c->source, (int64_t)(uintptr_t)c->target, c->size, 0);
}

/* Fills in who takes part: the numbers of a call on the communicator. Fails if there is none. */
WEFT_INLINE void weft_coll_look_up(weft_self *self, struct weft_coll *c, weft_comm comm)
{
    const uint32_t index = weft_handle_index(comm);
    const struct weft_comm_entry *const entry = &self->state->comms[index];

    weft_check_stop(self);
    c->plain = comm == WEFT_COMM_WORLD || comm == WEFT_COMM_DEVICE;
    if (WEFT_UNLIKELY(!c->plain && (comm == WEFT_COMM_NONE || index >= self->state->comms_count ||
                                    entry->handle != comm || entry->rank_of_slot[self->slot] < 0)))
        weft_coll_fail(self, c->call.what, WEFT_ERR_COMM,
                       "%s: communicator 0x%llx does not exist or lacks the caller", comm, 0, 0, 0);
    c->entry = entry;
    c->comm = comm;
    c->win = WEFT_WIN_NONE;
    c->window = NULL;
    c->mapped = false;
    c->members = entry->members;
    c->me = comm == WEFT_COMM_WORLD ? self->rank
            : c->plain              ? (int32_t)self->slot - 1
                                    : entry->rank_of_slot[self->slot];
    c->leaders = entry->leaders;
    c->lead = entry->leader_index;
    c->here = entry->members_here;
    c->mine = (int32_t)self->slot - 1;
    if (c->plain)
        return;
    c->mine = c->me - weft_coll_rank_here(c, 0); /* if they follow each other */
    if (c->mine >= c->here || weft_coll_rank_here(c, c->mine) != c->me)
        for (c->mine = 0; weft_coll_rank_here(c, c->mine) != c->me; c->mine++)
            continue;
}

#endif
