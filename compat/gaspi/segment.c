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

static struct weftgaspi_segment segments[WEFTGASPI_SEGMENTS];
static unsigned generations[WEFTGASPI_SEGMENTS];
/* By rank and segment; then this process's notification_num, and a word that dismisses it. */
static uint64_t *directory;
static weft_win window; /* of the directories */
/* A segment that a call makes. */
struct creation {
    gaspi_segment_id_t segment;
    gaspi_group_t group;
    gaspi_size_t bytes;
    bool bound; /* to memory of the program */
    void *memory;
    bool under_way;        /* the collective call goes on, maybe for several calls */
    gaspi_uint own, worst; /* result of this rank; worst of all members; errors are not 0 */
};
/* By segment; where this process's arguments are refused, which others hear of, by group. */
static struct creation creations[WEFTGASPI_SEGMENTS + 1], refused[WEFTGASPI_GROUPS];

enum { GENERATIONS = 1 << 15 };
#define ENTRY(bytes, generation, bound) ((uint64_t)(bytes) << 16 | (generation) << 1 | (bound))
#define ENTRY_BYTES(entry)              ((size_t)((entry) >> 16))
#define ENTRY_BOUND(entry)              (((entry)&1) != 0)

static size_t word_of(int rank, int segment)
{
    return (size_t)rank * WEFTGASPI_SEGMENTS + (size_t)segment;
}

/* Returns the number under which a part of a segment is exposed: 0: head, 1: the data of a bound
 * one. */
static uint32_t number_of(int segment, uint64_t entry, int part)
{
    return (uint32_t)(entry >> 1 & (GENERATIONS - 1)) << 9 | (uint32_t)segment << 1 |
           (uint32_t)part;
}

/* Loads a word of this process's own directory. */
static uint64_t load_word(size_t word)
{
    uint64_t value = 0;

    if (!weftgaspi.on_gpu)
        return __atomic_load_n(&directory[word], __ATOMIC_ACQUIRE);
    return weft_host_get(weftgaspi.job, window, weftgaspi.rank, word * 8, &value, 8) == WEFT_OK
               ? value
               : 0;
}

/* Stores a word of another's directory; it is there on return. */
static gaspi_return_t store_word(int rank, size_t word, uint64_t value)
{
    TRY(weftgaspi_result(
        weft_host_put(weftgaspi.job, window, rank, word * 8, &value, sizeof(value)), rank));
    return weftgaspi_result(weft_host_flush(weftgaspi.job, window), rank);
}

/* Returns the words of a directory: the last two are not of segments. */
static size_t words(void)
{
    return word_of(weftgaspi.ranks, 0) + 2;
}

/* Returns the bytes of notifications, before a segment's data. */
static size_t head_bytes(void)
{
    return ((size_t)weftgaspi.config.notification_num * 4 + 4095) / 4096 * 4096 + 4096;
}

gaspi_return_t weftgaspi_segments_open(void)
{
    const uint64_t number = weftgaspi.config.notification_num;
    uint64_t first = 0; /* rank 0's */

    directory = weft_malloc(weftgaspi.job, words() * 8);
    if (directory == NULL)
        return GASPI_ERR_MEMALLOC;
    TRY_WEFT(weft_copy(weftgaspi.job, directory + words() - 2, &number, sizeof(number)));
    TRY_WEFT(weft_host_win_create(weftgaspi.job, directory, words() * 8, &window));
    /* Where notifications end, all must know of each other. */
    TRY(weftgaspi_result(
        weft_host_get(weftgaspi.job, window, 0, (words() - 2) * 8, &first, sizeof(first)), 0));
    if (first == number)
        return GASPI_SUCCESS;
    fprintf(stderr, "weft-gaspi: notification_num is %u on rank %d, and %u on rank 0\n",
            (unsigned)number, weftgaspi.rank, (unsigned)first);
    return GASPI_ERR_CONFIG;
}

/* Forgets all segments. The job's end frees what weft has. */
void weftgaspi_segments_close(void)
{
    memset(segments, 0, sizeof(segments));
    memset(creations, 0, sizeof(creations));
    memset(refused, 0, sizeof(refused));
}

/* Pings a rank: reads a word of its directory. */
API(proc_ping, (const gaspi_rank_t rank, const gaspi_timeout_t timeout_ms))
{
    static uint64_t word; /* a late answer finds it */
    const double until = weftgaspi_until(timeout_ms);
    weft_status status = WEFT_OK;

    TRY_OPEN();
    NEED_RANK(rank);
    weft_op *const asked = &weftgaspi.peer[rank].reached;
    pthread_mutex_lock(&weftgaspi.lock);
    if (asked->sequence == 0)
        status = weft_host_get_begin(weftgaspi.job, window, rank, 0, &word, 8, asked);
    const weft_op op = *asked;
    pthread_mutex_unlock(&weftgaspi.lock);
    if (status == WEFT_OK)
        status = weft_host_op_wait_for(weftgaspi.job, op, WEFT_LOCAL, weftgaspi_left(until));
    pthread_mutex_lock(&weftgaspi.lock);
    if (status != WEFT_ERR_TIMEOUT && asked->sequence == op.sequence)
        *asked = (weft_op){0, 0, 0};
    pthread_mutex_unlock(&weftgaspi.lock);
    return weftgaspi_result(status, rank);
}

extern __typeof__(gaspi_connect) pgaspi_connect __attribute__((alias("pgaspi_proc_ping")));
extern __typeof__(gaspi_connect) gaspi_connect __attribute__((weak, alias("pgaspi_proc_ping")));

bool weftgaspi_dismissed(void)
{
    return load_word(words() - 1) != 0;
}

API(proc_kill, (const gaspi_rank_t rank, const gaspi_timeout_t timeout_ms))
{
    TRY_OPEN();
    NEED_RANK(rank);
    NEED(rank != weftgaspi.rank, GASPI_ERR_INV_RANK);
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
        found.data_offset = head_bytes();
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

static gaspi_return_t expose(int segment, uint64_t entry, int part, void *base, size_t bytes)
{
    return weftgaspi_result(
        weft_expose(weftgaspi.job, base, bytes, number_of(segment, entry, part)), -1);
}

static void unexpose(int segment, uint64_t entry, int part)
{
    weft_unexpose(weftgaspi.job, number_of(segment, entry, part));
}

static gaspi_return_t make_segment(const struct creation *call)
{
    const int segment = call->segment;

    generations[segment] = generations[segment] % (GENERATIONS - 1) + 1;
    const size_t bytes = head_bytes() + (call->bound ? 0 : call->bytes);
    const uint64_t entry = ENTRY(call->bytes, (uint64_t)generations[segment], call->bound);
    unsigned char *const head = weft_malloc(weftgaspi.job, bytes);
    if (head == NULL)
        return GASPI_ERR_MEMALLOC;
    gaspi_return_t code = expose(segment, entry, 0, head, bytes);
    if (code == GASPI_SUCCESS && call->bound) {
        code = expose(segment, entry, 1, call->memory, call->bytes);
        if (code != GASPI_SUCCESS)
            unexpose(segment, entry, 0);
    }
    if (code != GASPI_SUCCESS) {
        weft_free(weftgaspi.job, head);
        return code;
    }
    segments[segment] =
        (struct weftgaspi_segment){.there = true,
                                   .bound = call->bound,
                                   .head = head,
                                   .data = call->bound ? call->memory : head + head_bytes(),
                                   .bytes = call->bytes,
                                   .entry = entry};
    return GASPI_SUCCESS;
}

static gaspi_return_t check_new(const struct creation *call)
{
    const gaspi_segment_id_t segment = call->segment;

    NEED(!call->bound || call->memory != NULL, GASPI_ERR_NULLPTR);
    NEED(segment < weftgaspi.config.segment_max, GASPI_ERR_INV_SEG, "segment %u of %u", segment,
         weftgaspi.config.segment_max);
    NEED(!creations[segment].under_way, GASPI_ERR_ACTIVE_COLL, "segment %u is being created",
         segment);
    NEED(!segments[segment].there, GASPI_ERR_INV_SEG, "segment %u is there", segment);
    NEED(call->bytes != 0 && call->bytes >> 48 == 0, GASPI_ERR_INV_SEGSIZE, "%lu bytes",
         call->bytes);
    return GASPI_SUCCESS;
}

static gaspi_return_t make_alone(const struct creation *call)
{
    LOCKED;
    TRY(check_new(call));
    return make_segment(call);
}

/* Allocates a segment: zeros, of the device, whatever the policy. */
CALL(segment_alloc,
     (const gaspi_segment_id_t segment, const gaspi_size_t size, const gaspi_alloc_t policy),
     make_alone(&(struct creation){.segment = segment, .bytes = size}))

#define BOUND(...)                                                                                 \
    (&(struct creation){                                                                           \
        .segment = segment, .bytes = size, .bound = true, .memory = pointer, __VA_ARGS__})
CALL(segment_bind,
     (const gaspi_segment_id_t segment, const gaspi_pointer_t pointer, const gaspi_size_t size,
      const gaspi_memory_description_t description),
     make_alone(BOUND()))

/* Tells a rank of this process's segment, once. The caller holds the lock. */
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

/* Takes a segment back from all ranks, and frees it. The caller holds the lock. */
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
    NEED(!creations[segment].under_way, GASPI_ERR_ACTIVE_COLL, "segment %u is being created",
         segment);
    return drop_segment(segment);
}

static gaspi_return_t make_and_tell(const struct creation *call,
                                    const struct weftgaspi_group *members)
{
    TRY(make_segment(call));
    for (int i = 0; i < members->size; i++)
        TRY(tell(call->segment, members->ranks[i]));
    return GASPI_SUCCESS;
}

/* Begins to create a segment, unless an earlier call that met its limit has begun it. */
static gaspi_return_t begin_creation(const struct creation *call, struct creation **begun)
{
    LOCKED;
    const struct weftgaspi_group *const members = weftgaspi_group_of(call->group);
    NEED(members != NULL && members->team != NULL, GASPI_ERR_INV_GROUP, "group %u", call->group);
    struct creation *const places[] = {&creations[call->segment], &refused[call->group]};
    for (int i = 0; i < 2; i++) {
        *begun = places[i];
        if ((*begun)->under_way && (*begun)->segment == call->segment &&
            (*begun)->group == call->group && (*begun)->bytes == call->bytes)
            return GASPI_SUCCESS;
    }
    gaspi_return_t own = check_new(call);
    if (own == GASPI_SUCCESS) {
        *begun = &creations[call->segment];
        own = make_and_tell(call, members);
    }
    **begun = *call;
    (*begun)->under_way = true;
    (*begun)->own = (gaspi_uint)own;
    return GASPI_SUCCESS;
}

/* Creates a segment in all of the group, or in none: also a member that cannot make it takes
 * part. */
static gaspi_return_t create(const struct creation *call, gaspi_timeout_t timeout_ms)
{
    struct creation *c = NULL;

    TRY(begin_creation(call, &c));
    const gaspi_return_t code = pgaspi_allreduce(&c->own, &c->worst, 1, GASPI_OP_MAX,
                                                 GASPI_TYPE_UINT, call->group, timeout_ms);
    if (code == GASPI_TIMEOUT)
        return code;
    LOCKED;
    c->under_way = false;
    if (code == GASPI_SUCCESS && c->worst == GASPI_SUCCESS)
        return GASPI_SUCCESS;
    if (c != &refused[call->group] && segments[c->segment].there)
        drop_segment(c->segment);
    if (code != GASPI_SUCCESS)
        return code;
    return c->own != GASPI_SUCCESS ? (gaspi_return_t)c->own : GASPI_ERROR;
}

CALL(segment_create,
     (const gaspi_segment_id_t segment, const gaspi_size_t size, const gaspi_group_t group,
      const gaspi_timeout_t timeout_ms, const gaspi_alloc_t policy),
     create(&(struct creation){.segment = segment, .group = group, .bytes = size}, timeout_ms))

CALL(segment_use,
     (const gaspi_segment_id_t segment, const gaspi_pointer_t pointer, const gaspi_size_t size,
      const gaspi_group_t group, const gaspi_timeout_t timeout_ms,
      const gaspi_memory_description_t description),
     create(BOUND(.group = group), timeout_ms))
