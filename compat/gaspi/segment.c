/*
 * compat/gaspi/segment.c - segments, and what each process knows of those of others.
 *
 * A segment is one exposure, [notifications of 4 bytes, and a page][data]; one bound to memory of
 * the program is two. The directory, a window of all processes, has a word for each segment of each
 * process that has registered it here: its size, whether it is bound, and a generation, which the
 * number of its exposures carries too. So a deleted segment is never taken for the next one.
 */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct weftgaspi_segment segments[WEFTGASPI_SEGMENTS];
static unsigned generations[WEFTGASPI_SEGMENTS];
/* By rank and segment; then this process's notification_num, and a word that dismisses it. */
static uint64_t *directory;
static weft_win window; /* of the directories */
/* What is under way of a segment's collective creation, which may take several calls. */
static struct creation {
    gaspi_size_t bytes;    /* 0: nothing */
    gaspi_uint own, worst; /* what came of it here, and of all members; errors are not 0 */
} creations[WEFTGASPI_SEGMENTS];

enum { GENERATIONS = 1 << 15 };
#define ENTRY(bytes, generation, bound) ((uint64_t)(bytes) << 16 | (generation) << 1 | (bound))
#define ENTRY_BYTES(entry)              ((size_t)((entry) >> 16))
#define ENTRY_BOUND(entry)              (((entry)&1) != 0)

static size_t word_of(int rank, int segment)
{
    return (size_t)rank * WEFTGASPI_SEGMENTS + (size_t)segment;
}

/* The number under which a part of a segment is exposed: 0: head, 1: the data of a bound one. */
static uint32_t number_of(int segment, uint64_t entry, int part)
{
    return (uint32_t)(entry >> 1 & (GENERATIONS - 1)) << 9 | (uint32_t)segment << 1 |
           (uint32_t)part;
}

/* A word of this process's own directory. */
static uint64_t load_word(size_t word)
{
    uint64_t value = 0;

    if (!weftgaspi.on_gpu)
        return __atomic_load_n(&directory[word], __ATOMIC_ACQUIRE);
    if (weft_host_get(weftgaspi.job, window, weftgaspi.rank, word * 8, &value, 8) != WEFT_OK)
        return 0;
    return value;
}

/* A word of another's directory; it is there on return. */
static gaspi_return_t store_word(int rank, size_t word, uint64_t value)
{
    weft_status status =
        weft_host_put(weftgaspi.job, window, rank, word * 8, &value, sizeof(value));

    if (status == WEFT_OK)
        status = weft_host_flush(weftgaspi.job, window);
    return weftgaspi_result(status, rank);
}

/* Of a directory: the last two are not of segments. */
static size_t words(void)
{
    return word_of(weftgaspi.ranks, 0) + 2;
}

size_t weftgaspi_head_bytes(void)
{
    return ((size_t)weftgaspi.config.notification_num * 4 + 4095) / 4096 * 4096 + 4096;
}

/* Where notifications end, all must know of each other. */
static gaspi_return_t agree(void)
{
    uint64_t number = 0;

    TRY(weftgaspi_result(
        weft_host_get(weftgaspi.job, window, 0, (words() - 2) * 8, &number, sizeof(number)), 0));
    if (number == weftgaspi.config.notification_num)
        return GASPI_SUCCESS;
    fprintf(stderr, "weft-gaspi: notification_num is %u on rank %d, and %u on rank 0\n",
            weftgaspi.config.notification_num, weftgaspi.rank, (unsigned)number);
    return GASPI_ERR_CONFIG;
}

gaspi_return_t weftgaspi_segments_open(void)
{
    const uint64_t number = weftgaspi.config.notification_num;

    directory = weft_malloc(weftgaspi.job, words() * 8);
    if (directory == NULL)
        return GASPI_ERR_MEMALLOC;
    TRY_WEFT(weft_copy(weftgaspi.job, directory + words() - 2, &number, sizeof(number)));
    TRY_WEFT(weft_host_win_create(weftgaspi.job, directory, words() * 8, &window));
    return agree();
}

/* The job's end frees what weft has. */
void weftgaspi_segments_close(void)
{
    memset(segments, 0, sizeof(segments));
    memset(creations, 0, sizeof(creations));
}

gaspi_return_t weftgaspi_reach(gaspi_rank_t rank, double until)
{
    static uint64_t word; /* a late answer finds it */
    weft_op *const asked = &weftgaspi.peer[rank].reached;
    weft_status status = WEFT_OK;

    weftgaspi_lock();
    if (asked->sequence == 0)
        status = weft_host_get_begin(weftgaspi.job, window, rank, 0, &word, 8, asked);
    const weft_op op = *asked;
    weftgaspi_unlock();
    if (status == WEFT_OK)
        status = weft_host_op_wait_for(weftgaspi.job, op, WEFT_LOCAL, weftgaspi_left(until));
    weftgaspi_lock();
    if (status != WEFT_ERR_TIMEOUT && asked->sequence == op.sequence)
        *asked = (weft_op){0, 0, 0};
    weftgaspi_unlock();
    return weftgaspi_result(status, rank);
}

bool weftgaspi_dismissed(void)
{
    return load_word(words() - 1) != 0;
}

gaspi_return_t weftgaspi_dismiss(gaspi_rank_t rank)
{
    return store_word(rank, words() - 1, 1);
}

/* ---- what other files ask -------------------------------------------------------------------- */

struct weftgaspi_segment *weftgaspi_segment_of(gaspi_segment_id_t segment)
{
    return segment < WEFTGASPI_SEGMENTS && segments[segment].there ? &segments[segment] : NULL;
}

gaspi_return_t weftgaspi_check_local(gaspi_segment_id_t segment, gaspi_offset_t offset,
                                     gaspi_size_t bytes, void **address)
{
    TRY_SEGMENT(s, segment);
    NEED(offset <= s->bytes && bytes <= s->bytes - offset, GASPI_ERR_INV_LOC_OFF,
         "%lu bytes at %lu of segment %u, which has %zu", bytes, offset, segment, s->bytes);
    *address = s->data + offset;
    return GASPI_SUCCESS;
}

static gaspi_return_t find_part(int rank, int segment, uint64_t entry, int part, weft_win *win)
{
    const double long_enough = 10; /* it is announced, and its frame on the way */

    return weftgaspi_result(
        weft_exposed(weftgaspi.job, rank, number_of(segment, entry, part), long_enough, win), rank);
}

gaspi_return_t weftgaspi_place_of(gaspi_rank_t rank, gaspi_segment_id_t segment,
                                  struct weftgaspi_place *place)
{
    NEED_RANK(rank);
    NEED(segment < WEFTGASPI_SEGMENTS, GASPI_ERR_INV_SEG, "segment %u", segment);
    struct weftgaspi_place *const known = &weftgaspi.peer[rank].places[segment];
    const uint64_t entry =
        rank == weftgaspi.rank ? segments[segment].entry : load_word(word_of(rank, segment));
    NEED(entry != 0, GASPI_ERR_INV_SEG, "rank %u has not registered segment %u here", rank,
         segment);
    if (known->entry != entry) {
        struct weftgaspi_place found = {
            .entry = entry, .bytes = ENTRY_BYTES(entry), .told = known->told};
        TRY(find_part(rank, segment, entry, 0, &found.head));
        found.data = found.head;
        found.data_offset = weftgaspi_head_bytes();
        if (ENTRY_BOUND(entry)) {
            TRY(find_part(rank, segment, entry, 1, &found.data));
            found.data_offset = 0;
        }
        *known = found;
    }
    *place = *known;
    return GASPI_SUCCESS;
}

/* ---- making and deleting --------------------------------------------------------------------- */

gaspi_number_t weftgaspi_segments_count(void)
{
    gaspi_number_t there = 0;

    for (int i = 0; i < WEFTGASPI_SEGMENTS; i++)
        there += segments[i].there;
    return there;
}

static gaspi_return_t expose(int segment, uint64_t entry, int part, void *base, size_t bytes)
{
    return weftgaspi_result(
        weft_expose(weftgaspi.job, base, bytes, number_of(segment, entry, part)), -1);
}

static void unexpose(int segment, uint64_t entry, int part)
{
    weft_unexpose(weftgaspi.job, number_of(segment, entry, part));
}

/* memory: NULL: the library's own. */
static gaspi_return_t make_segment(int segment, size_t bytes, void *memory)
{
    struct weftgaspi_segment *const s = &segments[segment];
    const bool bound = memory != NULL;

    generations[segment] = generations[segment] % (GENERATIONS - 1) + 1;
    const uint64_t entry = ENTRY(bytes, (uint64_t)generations[segment], bound);
    unsigned char *const head =
        weft_malloc(weftgaspi.job, weftgaspi_head_bytes() + (bound ? 0 : bytes));
    gaspi_return_t code = head == NULL ? GASPI_ERR_MEMALLOC : GASPI_SUCCESS;
    if (code == GASPI_SUCCESS)
        code = expose(segment, entry, 0, head, weftgaspi_head_bytes() + (bound ? 0 : bytes));
    if (code == GASPI_SUCCESS && bound) {
        code = expose(segment, entry, 1, memory, bytes);
        if (code != GASPI_SUCCESS)
            unexpose(segment, entry, 0);
    }
    if (code != GASPI_SUCCESS) {
        weft_free(weftgaspi.job, head);
        return code;
    }
    *s = (struct weftgaspi_segment){.there = true,
                                    .bound = bound,
                                    .head = head,
                                    .data = bound ? memory : head + weftgaspi_head_bytes(),
                                    .bytes = bytes,
                                    .entry = entry};
    return GASPI_SUCCESS;
}

static gaspi_return_t check_new(gaspi_segment_id_t segment, gaspi_size_t bytes)
{
    NEED(segment < weftgaspi.config.segment_max, GASPI_ERR_INV_SEG, "segment %u of %u", segment,
         weftgaspi.config.segment_max);
    NEED(creations[segment].bytes == 0, GASPI_ERR_ACTIVE_COLL, "segment %u is being created",
         segment);
    NEED(!segments[segment].there, GASPI_ERR_INV_SEG, "segment %u is there", segment);
    NEED(bytes != 0 && bytes >> 48 == 0, GASPI_ERR_INV_SEGSIZE, "%lu bytes", bytes);
    return GASPI_SUCCESS;
}

static gaspi_return_t make_alone(gaspi_segment_id_t segment, gaspi_size_t size, void *memory)
{
    LOCKED;
    TRY(check_new(segment, size));
    return make_segment(segment, size, memory);
}

API(segment_alloc,
    (const gaspi_segment_id_t segment, const gaspi_size_t size, const gaspi_alloc_t policy))
{
    TRY_OPEN();
    return make_alone(segment, size, NULL); /* whatever the policy: zeros, of the device */
}

API(segment_bind, (const gaspi_segment_id_t segment, const gaspi_pointer_t pointer,
                   const gaspi_size_t size, const gaspi_memory_description_t description))
{
    TRY_OPEN(pointer);
    return make_alone(segment, size, pointer);
}

/* Lock held. */
static gaspi_return_t tell(gaspi_segment_id_t segment, int rank)
{
    TRY_SEGMENT(s, segment);
    bool *const told = &weftgaspi.peer[rank].places[segment].told;
    if (*told || rank == weftgaspi.rank)
        return GASPI_SUCCESS;
    TRY(store_word(rank, word_of(weftgaspi.rank, segment), s->entry));
    *told = true;
    return GASPI_SUCCESS;
}

API(segment_register,
    (const gaspi_segment_id_t segment, const gaspi_rank_t rank, const gaspi_timeout_t timeout_ms))
{
    TRY_OPEN();
    NEED_RANK(rank);
    LOCKED;
    return tell(segment, rank);
}

/* Lock held. */
static gaspi_return_t drop_segment(gaspi_segment_id_t segment)
{
    TRY_SEGMENT(s, segment);
    for (int i = 0; i < weftgaspi.ranks; i++) {
        bool *const told = &weftgaspi.peer[i].places[segment].told;
        if (*told)
            store_word(i, word_of(weftgaspi.rank, segment), 0);
        *told = false;
    }
    unexpose(segment, s->entry, 0);
    if (s->bound)
        unexpose(segment, s->entry, 1);
    weft_free(weftgaspi.job, s->head);
    memset(s, 0, sizeof(*s));
    return GASPI_SUCCESS;
}

API(segment_delete, (const gaspi_segment_id_t segment))
{
    TRY_OPEN();
    LOCKED;
    NEED(segment == WEFTGASPI_SEGMENTS || creations[segment].bytes == 0, GASPI_ERR_ACTIVE_COLL,
         "segment %u is being created", segment);
    return drop_segment(segment);
}

static gaspi_return_t make_and_tell(gaspi_segment_id_t segment, gaspi_size_t size, void *memory,
                                    const struct weftgaspi_group *members)
{
    TRY(make_segment(segment, size, memory));
    for (int i = 0; i < members->size; i++)
        TRY(tell(segment, members->ranks[i]));
    return GASPI_SUCCESS;
}

/* Makes it unless an earlier call that met its limit has. */
static gaspi_return_t begin_creation(gaspi_segment_id_t segment, gaspi_size_t size, void *memory,
                                     gaspi_group_t group)
{
    LOCKED;
    const struct weftgaspi_group *const members = weftgaspi_group_of(group);
    NEED(members != NULL && members->team != NULL, GASPI_ERR_INV_GROUP, "group %u", group);
    if (segment < WEFTGASPI_SEGMENTS && size != 0 && creations[segment].bytes == size)
        return GASPI_SUCCESS;
    TRY(check_new(segment, size));
    creations[segment].bytes = size;
    creations[segment].own = (gaspi_uint)make_and_tell(segment, size, memory, members);
    return GASPI_SUCCESS;
}

/* All of the group have it then, or none: a member without memory takes part. */
static gaspi_return_t create(gaspi_segment_id_t segment, gaspi_size_t size, void *memory,
                             gaspi_group_t group, gaspi_timeout_t timeout_ms)
{
    TRY(begin_creation(segment, size, memory, group));
    struct creation *const c = &creations[segment];
    const gaspi_return_t code =
        pgaspi_allreduce(&c->own, &c->worst, 1, GASPI_OP_MAX, GASPI_TYPE_UINT, group, timeout_ms);
    if (code == GASPI_TIMEOUT)
        return code;
    LOCKED;
    c->bytes = 0;
    if (code == GASPI_SUCCESS && c->worst == GASPI_SUCCESS)
        return GASPI_SUCCESS;
    if (segments[segment].there)
        drop_segment(segment);
    if (code != GASPI_SUCCESS)
        return code;
    return c->own != GASPI_SUCCESS ? (gaspi_return_t)c->own : GASPI_ERROR;
}

API(segment_create,
    (const gaspi_segment_id_t segment, const gaspi_size_t size, const gaspi_group_t group,
     const gaspi_timeout_t timeout_ms, const gaspi_alloc_t policy))
{
    TRY_OPEN();
    return create(segment, size, NULL, group, timeout_ms);
}

API(segment_use, (const gaspi_segment_id_t segment, const gaspi_pointer_t pointer,
                  const gaspi_size_t size, const gaspi_group_t group,
                  const gaspi_timeout_t timeout_ms, const gaspi_memory_description_t description))
{
    TRY_OPEN(pointer);
    return create(segment, size, pointer, group, timeout_ms);
}
