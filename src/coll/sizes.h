/*
 * coll/sizes.h - blocks of different sizes: by the ways of coll/blocks.h, with more rounds for
 * larger blocks. To the checks and in errors they are the calls for equal ones, with an operation
 * that those never have.
 *
 * Of weft_alltoall_sizes no rank knows all sizes. So each rank first has a table in its memory of
 * what it sends to each, which the others read after the barrier that every call begins with.
 */
#ifndef WEFT_COLL_SIZES_H
#define WEFT_COLL_SIZES_H

#include "coll/blocks.h"

enum { WEFT_COLL_WITH_SIZES = WEFT_MAX };

/* Checks blocks and returns the sum of all sizes. own >= 0: only that block's memory is used. */
WEFT_COLD size_t weft_coll_check_blocks(weft_self *self, const struct weft_coll *c,
                                        const struct weft_coll_blocks *b,
                                        const unsigned char *memory, int32_t own)
{
    const size_t most = SIZE_MAX >> 24;
    size_t all = 0, used = 0;

    if (b->sizes == NULL || b->offsets == NULL)
        weft_coll_fail(self, c->call.what, WEFT_ERR_ARGUMENT, "%s: sizes 0x%llx, offsets 0x%llx",
                       (int64_t)(uintptr_t)b->sizes, (int64_t)(uintptr_t)b->offsets, 0, 0);
    for (int32_t i = 0; i < c->members; i++) {
        if (b->sizes[i] > most || b->offsets[i] > most)
            weft_coll_fail(self, c->call.what, WEFT_ERR_ARGUMENT,
                           "%s: block %lld of %llu elements at %llu: there is no such thing", i,
                           (int64_t)b->sizes[i], (int64_t)b->offsets[i], 0);
        all += b->sizes[i];
        used += own < 0 || i == own ? b->sizes[i] : 0;
    }
    if (used != 0 && (memory == NULL || weft_is_private(self, memory)))
        weft_fail_memory(self, weft_coll_name(c->call.what), memory);
    return all;
}

/* ---- weft_alltoall_sizes --------------------------------------------------------------------- */

/* What a rank says to a member: a block's bytes; `more`: where it is, or, of another process, the
 * bytes of the largest block that leaves this one's process. */
struct weft_coll_word {
    uint64_t bytes, more;
};

static_assert(sizeof(struct weft_coll_word) == 16, "as room is counted");

/* Writes this rank's table; it lies where nothing else of this call does. */
WEFT_INLINE void weft_coll_tell_sizes(weft_self *self, const struct weft_coll *c,
                                      const struct weft_coll_blocks *sends, uint64_t table)
{
    uint64_t most = 0;

    weft_coll_fits(self, c, (size_t)c->members * sizeof(uint64_t) / c->size); /* in two parts */
    for (int32_t i = 0; i < c->members; i++)
        if (!weft_coll_is_here(self, c, i) && sends->sizes[i] * c->size > most)
            most = sends->sizes[i] * c->size;
    weft_for (i, c->members) {
        const bool here = weft_coll_is_here(self, c, (int32_t)i);
        const uint64_t place =
            (uint64_t)(uintptr_t)c->source + sends->offsets[i] * (uint64_t)c->size;
        const struct weft_coll_word word = {sends->sizes[i] * c->size, here ? place : most};
        unsigned char *const to = weft_coll_own(self, table + i * sizeof(word));
#ifdef __CUDACC__
        *(struct weft_coll_word *)(void *)to = word;
#else
        weft_write_shared(to, &word, sizeof(word));
#endif
    }
}

/* Returns entry i of a member's table, which others of this process can read. */
WEFT_INLINE struct weft_coll_word weft_coll_word_at(const unsigned char *table, int32_t i)
{
    struct weft_coll_word word;
#ifdef __CUDACC__
    word = ((const struct weft_coll_word *)(const void *)table)[i];
#else
    weft_read_shared(&word, table + (size_t)i * sizeof(word), sizeof(word));
#endif
    return word;
}

/* Compares what all send to this rank with what it expects. Returns the bytes of the largest block
 * that goes to another process, of anybody. fetched: room for words of what is not mapped. */
WEFT_INLINE uint64_t weft_coll_hear_sizes(weft_self *self, const struct weft_coll *c,
                                          const struct weft_coll_blocks *receives, uint64_t table,
                                          uint64_t fetched)
{
    const uint64_t mine = table + (uint64_t)c->me * sizeof(struct weft_coll_word);
    const int32_t others = c->members - c->here;
    uint64_t most = 0;

    for (int32_t i = 0; i < others; i++) {
        const int32_t rank = weft_coll_other(c, i);
        weft_coll_ask(self, c, rank, mine,
                      weft_coll_own(self, fetched + (uint64_t)rank * sizeof(struct weft_coll_word)),
                      sizeof(struct weft_coll_word));
    }
    if (others != 0 && !c->mapped)
        weft_flush(self, c->win);
    weft_for (i, c->members) {
        const int32_t rank = (int32_t)i;
        const bool here = weft_coll_is_here(self, c, rank);
        const unsigned char *const memory =
            here ? weft_coll_memory(self, c->entry->member[rank].slot)
                 : c->window->entry[rank].address;
        const struct weft_coll_word word =
            memory != NULL ? weft_coll_word_at(memory + table, c->me)
                           : weft_coll_word_at(weft_coll_own(self, fetched), rank);
        const uint64_t larger = !here ? word.more
                                : others == 0
                                    ? 0
                                    : weft_coll_word_at(memory + table, weft_coll_other(c, 0)).more;
        if (WEFT_UNLIKELY(word.bytes != receives->sizes[rank] * c->size))
            weft_coll_fail(self, c->call.what, WEFT_ERR_MISMATCH,
                           "%s: rank %lld sends %llu elements to rank %lld, which expects %llu",
                           rank, (int64_t)(word.bytes / c->size), c->me,
                           (int64_t)receives->sizes[rank]);
        most = larger > most ? larger : most;
    }
    weft_block_reduce(self, &most, WEFT_U64, WEFT_MAX, NULL);
    return most;
}

/* Exchanges blocks of different sizes. */
WEFT_COLD void weft_coll_alltoall_sizes(weft_self *self, struct weft_coll *c,
                                        const struct weft_coll_blocks *sends,
                                        const struct weft_coll_blocks *receives)
{
    const struct weft_coll_room room = weft_coll_room(self);

    WEFT_IN_SHARED(self);
    weft_coll_tell_sizes(self, c, sends, room.part);
    weft_coll_publish(self, c, NULL, 0);
    weft_coll_agree(self, c);
    const uint64_t most = weft_coll_hear_sizes(self, c, receives, room.part, room.turn[0]);
    for (int32_t k = 0; k < c->here; k++) {
        const int32_t j = c->mine + k < c->here ? c->mine + k : c->mine + k - c->here;
        const struct weft_coll_word word =
            weft_coll_word_at(weft_coll_memory(self, weft_coll_slot_here(c, j)) + room.part, c->me);
        weft_coll_fetch(self, c->target + receives->offsets[weft_coll_rank_here(c, j)] * c->size,
                        (const unsigned char *)(uintptr_t)word.more, word.bytes);
    }
    weft_join(self); /* all threads have what was fetched */
    weft_coll_exchange_blocks(self, c, sends, receives, most);
}

/* ---- the calls ------------------------------------------------------------------------------- */

/* Begins and ends a gather of blocks of different sizes to the root; root < 0: to all. */
WEFT_COLD void weft_coll_gather_with_sizes(weft_self *self, enum weft_coll_what what,
                                           weft_comm comm, int root, const void *source,
                                           void *target, const size_t *sizes, const size_t *offsets,
                                           weft_type type)
{
    const struct weft_coll_blocks blocks = {sizes, offsets};
    struct weft_coll c;

    weft_coll_begin(self, &c, what, comm, root, source, target, 0, type, WEFT_COLL_WITH_SIZES);
    c.call.count = weft_coll_check_blocks(self, &c, &blocks, c.source, c.me);
    if (root < 0 || root == c.me)
        weft_coll_check_blocks(self, &c, &blocks, c.target, -1);
    weft_coll_publish(self, &c, NULL, 0);
    weft_coll_agree(self, &c);
    weft_coll_gather_blocks(self, &c, &blocks);
    weft_region_end(self);
}

WEFT_FN void weft_gather_sizes(weft_self *self, weft_comm comm, int root, const void *source,
                               void *target, const size_t *sizes, const size_t *offsets,
                               weft_type type)
{
    WEFT_TOGETHER(self, weft_gather_sizes(self, comm, root, source, target, sizes, offsets, type),
                  comm, root, source, target, type)
    weft_coll_gather_with_sizes(self, WEFT_COLL_GATHER, comm, root, source, target, sizes, offsets,
                                type);
}

WEFT_FN void weft_allgather_sizes(weft_self *self, weft_comm comm, const void *source, void *target,
                                  const size_t *sizes, const size_t *offsets, weft_type type)
{
    WEFT_TOGETHER(self, weft_allgather_sizes(self, comm, source, target, sizes, offsets, type),
                  comm, source, target, type)
    weft_coll_gather_with_sizes(self, WEFT_COLL_ALLGATHER, comm, -1, source, target, sizes, offsets,
                                type);
}

WEFT_FN void weft_alltoall_sizes(weft_self *self, weft_comm comm, const void *source,
                                 const size_t *sends, const size_t *send_offsets, void *target,
                                 const size_t *receives, const size_t *receive_offsets,
                                 weft_type type)
{
    WEFT_TOGETHER(self,
                  weft_alltoall_sizes(self, comm, source, sends, send_offsets, target, receives,
                                      receive_offsets, type),
                  comm, source, target, type)
    const struct weft_coll_blocks from = {sends, send_offsets}, to = {receives, receive_offsets};
    struct weft_coll c;

    weft_coll_begin(self, &c, WEFT_COLL_ALLTOALL, comm, -1, source, target, 0, type,
                    WEFT_COLL_WITH_SIZES);
    weft_coll_check_blocks(self, &c, &from, c.source, -1);
    weft_coll_check_blocks(self, &c, &to, c.target, -1);
    weft_coll_alltoall_sizes(self, &c, &from, &to);
    weft_region_end(self);
}

#endif
