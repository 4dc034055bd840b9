/*
 * compat/dart/globmem.c - global pointers and segments. A pointer of DART is one of weft with the
 * team in the place of the generation; the segment's record here has both.
 */
#include "internal.h"

static struct weftdart_segment segments[WEFTDART_SEGMENTS]; /* by number; 0: the heap */

dart_ret_t weftdart_segment_of(int segment, struct weftdart_segment **found)
{
    const int number = segment < 0 ? -segment : segment;

    TRY(weftdart_open());
    if (number >= WEFTDART_SEGMENTS ||
        (number > 0 && (!segments[number].there || segments[number].gone ||
                        segments[number].adopted != (segment < 0))))
        return weftdart_refuse(DART_ERR_NOTFOUND, "there is no segment %d", segment);
    *found = &segments[number];
    return DART_OK;
}

dart_ret_t weftdart_pointer(dart_gptr_t gptr, weft_gptr *pointer)
{
    if (DART_GPTR_ISNULL(gptr))
        return INVALID("the pointer is DART_GPTR_NULL");
    TRY_TEAM(team, gptr.teamid);
    TRY_SEGMENT(segment, gptr.segid);
    if (segment->team != gptr.teamid)
        return weftdart_refuse(DART_ERR_NOTFOUND, "segment %d is team %d's, not team %d's",
                               gptr.segid, segment->team, gptr.teamid);
    if (gptr.unitid < 0 || gptr.unitid >= team->members)
        return INVALID("unit %d of %d", gptr.unitid, team->members);
    *pointer = weft_gptr_make(team->unit[gptr.unitid], segment->span.base.segment,
                              segment->span.base.generation, gptr.addr_or_offs.offset);
    return DART_OK;
}

void weftdart_segment_enter(dart_team_t team, size_t bytes, bool adopted, const weft_gspan *span)
{
    segments[span->base.segment] = (struct weftdart_segment){
        .there = true, .adopted = adopted, .team = team, .bytes = bytes, .span = *span};
}

int weftdart_segments_of(dart_team_t team)
{
    int count = 0;

    for (int i = 1; i < WEFTDART_SEGMENTS; i++)
        count += segments[i].there && segments[i].team == team;
    return count;
}

void weftdart_segments_close(void)
{
    memset(segments, 0, sizeof(segments)); /* the memory goes with the heaps */
}

/* ---- pointers -------------------------------------------------------------------------------- */

dart_ret_t weftdart_where(dart_gptr_t gptr, size_t bytes, weft_gwhere *where)
{
    weft_gptr pointer;

    if (bytes > INT64_MAX)
        return INVALID("%zu bytes", bytes);
    TRY(weftdart_pointer(gptr, &pointer));
    TRY_WEFT(weft_host_gwhere(weftdart.job, weft_gptr_add(pointer, (int64_t)bytes), where));
    return weftdart_result(weft_host_gwhere(weftdart.job, pointer, where));
}

dart_ret_t dart_gptr_getaddr(const dart_gptr_t gptr, void **addr)
{
    weft_gwhere where;

    TRY_PLACES(addr);
    TRY(weftdart_where(gptr, 0, &where));
    *addr = where.address;
    return DART_OK;
}

dart_ret_t dart_gptr_setaddr(dart_gptr_t *gptr, void *addr)
{
    weft_gwhere where;

    TRY_PLACES(gptr);
    dart_gptr_t first = *gptr;
    first.addr_or_offs.offset = 0;
    TRY(weftdart_where(first, 0, &where));
    if (where.address == NULL)
        return INVALID("the pointer leads to unit %d of team %d", gptr->unitid, gptr->teamid);
    gptr->addr_or_offs.offset = (uint64_t)((uintptr_t)addr - (uintptr_t)where.address);
    return DART_OK;
}

dart_ret_t dart_gptr_getflags(dart_gptr_t gptr, uint16_t *flags)
{
    TRY_PLACES(flags);
    TRY_SEGMENT(segment, gptr.segid);
    *flags = segment->flags;
    return DART_OK;
}

dart_ret_t dart_gptr_setflags(dart_gptr_t *gptr, uint16_t flags)
{
    TRY_PLACES(gptr);
    TRY_SEGMENT(segment, gptr->segid);
    segment->flags = flags;
    gptr->flags = flags & 0xff;
    return DART_OK;
}

/* ---- memory ---------------------------------------------------------------------------------- */

dart_ret_t dart_memalloc(size_t nelem, dart_datatype_t type, dart_gptr_t *gptr)
{
    weft_gptr pointer;
    size_t bytes;

    TRY_PLACES(gptr);
    TRY_OPEN();
    TRY(weftdart_bytes(nelem, type, &bytes));
    TRY_WEFT(weft_host_local_alloc(weftdart.job, bytes, &pointer));
    *gptr = (dart_gptr_t){.unitid = weftdart.unit & 0x7fffff,
                          .segid = DART_SEGMENT_LOCAL,
                          .teamid = DART_TEAM_ALL,
                          .addr_or_offs = {.offset = pointer.offset}};
    return DART_OK;
}

dart_ret_t dart_memfree(dart_gptr_t gptr)
{
    weft_gptr pointer;

    TRY_OPEN();
    if (DART_GPTR_ISNULL(gptr))
        return DART_OK;
    TRY(weftdart_pointer(gptr, &pointer));
    return weftdart_result(weft_host_local_free(weftdart.job, pointer));
}

dart_ret_t weftdart_settle(struct weftdart_team *t)
{
    uint64_t gone[WEFTDART_SEGMENTS / 64] = {0};
    size_t words = WEFTDART_SEGMENTS / 64;
    weft_combine both;
    bool registered = false; /* the same at all units */

    for (int i = 1; i < WEFTDART_SEGMENTS; i++)
        if (segments[i].there && segments[i].adopted && segments[i].team == t->id) {
            registered = true;
            gone[i / 64] |= (uint64_t)segments[i].gone << i % 64;
        }
    if (!registered)
        return DART_OK;
    TRY(weftdart_combine(DART_TYPE_ULONG, DART_OP_BAND, &words, &both));
    TRY_WEFT(weft_team_allreduce(t->team, gone, gone, words, &both, NULL));
    for (int i = 1; i < WEFTDART_SEGMENTS; i++)
        if ((gone[i / 64] >> i % 64 & 1) != 0) {
            TRY_WEFT(weft_gfree(weftdart.job, &segments[i].span));
            segments[i].there = segments[i].gone = false;
        }
    return DART_OK;
}

/* Makes a segment. Collective. adopt: of memory of the program. */
static dart_ret_t make_segment(dart_team_t team, size_t nelem, dart_datatype_t type, bool adopt,
                               void *memory, dart_gptr_t *gptr)
{
    weft_gspan span;
    size_t bytes;

    TRY_THERE(gptr);
    TRY_TEAM(t, team);
    TRY(weftdart_bytes(nelem, type, &bytes));
    TRY(weftdart_settle(t));
    if (adopt)
        TRY_WEFT(weft_gadopt(weftdart.job, t->group, memory, bytes, &span));
    else
        TRY_WEFT(weft_galloc_most(weftdart.job, t->group, bytes, &span));
    weftdart_segment_enter(team, span.bytes, adopt, &span);
    const int number = (int)span.base.segment;
    *gptr = (dart_gptr_t){.segid = (int16_t)(adopt ? -number : number), .teamid = team};
    return DART_OK;
}

static dart_ret_t give(dart_gptr_t gptr, bool adopted)
{
    weft_gptr pointer;

    TRY(weftdart_open());
    if (DART_GPTR_ISNULL(gptr))
        return DART_OK;
    TRY(weftdart_pointer(gptr, &pointer));
    TRY_SEGMENT(segment, gptr.segid);
    if (gptr.segid == DART_SEGMENT_LOCAL || segment->adopted != adopted)
        return INVALID("segment %d is %s", gptr.segid,
                       gptr.segid == DART_SEGMENT_LOCAL ? "that of dart_memalloc"
                       : adopted                        ? "memory that was not registered"
                                                        : "memory that the program has registered");
    segment->gone = adopted; /* it is freed later: weftdart_settle */
    if (!adopted)
        TRY_WEFT(weft_gfree(weftdart.job, &segment->span));
    segment->there = adopted;
    return DART_OK;
}

CALL(dart_team_memalloc_aligned,
     (dart_team_t team, size_t nelem, dart_datatype_t type, dart_gptr_t *gptr),
     make_segment(team, nelem, type, false, NULL, gptr))

CALL(dart_team_memfree, (dart_gptr_t gptr), give(gptr, false))

#define REGISTER(name)                                                                             \
    CALL(name,                                                                                     \
         (dart_team_t team, size_t nelem, dart_datatype_t type, void *addr, dart_gptr_t *gptr),    \
         make_segment(team, nelem, type, true, addr, gptr))
REGISTER(dart_team_memregister_aligned)
REGISTER(dart_team_memregister)

CALL(dart_team_memderegister, (dart_gptr_t gptr), give(gptr, true))

/* ---- pools: blocks in a row, first fit ------------------------------------------------------- */

struct piece {
    struct piece *next;
    size_t at, bytes;
};

struct dart_allocator_struct {
    dart_gptr_t base; /* this unit's part */
    size_t bytes;
    pthread_mutex_t lock;
    struct piece *first; /* those in use, in the order of their places */
};

enum { POOL_LEAST = 8, POOL_ALIGN = 64 }; /* a piece is aligned to its size, from 8 to 64 */

static size_t round_up(size_t bytes, size_t step)
{
    return (bytes + step - 1) / step * step;
}

dart_ret_t dart_allocator_new(size_t pool_size, dart_team_t team, dart_allocator_t *allocator)
{
    TRY_PLACES(allocator);
    TRY_TEAM(t, team);
    struct dart_allocator_struct *const pool = calloc(1, sizeof(*pool));
    TRY_MEMORY(pool);
    pool->bytes = round_up(pool_size, POOL_ALIGN);
    if (pool->bytes < pool_size) /* no unit has so much: all are told */
        pool->bytes = pool_size;
    const dart_ret_t code =
        make_segment(team, pool->bytes, DART_TYPE_BYTE, false, NULL, &pool->base);
    if (code != DART_OK) {
        free(pool);
        return code;
    }
    pool->base.unitid = t->me & 0x7fffff;
    pthread_mutex_init(&pool->lock, NULL);
    *allocator = pool;
    return DART_OK;
}

/* Finds the place of a new piece of so many bytes, which are rounded up; NULL: there is none. */
static struct piece **find_room(struct dart_allocator_struct *pool, size_t *bytes, size_t *at)
{
    struct piece **link = &pool->first;
    size_t step = POOL_LEAST;

    if (*bytes > pool->bytes)
        return NULL;
    while (step < *bytes && step < POOL_ALIGN)
        step *= 2;
    *bytes = round_up(*bytes + (*bytes == 0), step);
    for (*at = 0; *link != NULL && (*link)->at < *at + *bytes; link = &(*link)->next)
        *at = round_up((*link)->at + (*link)->bytes, step);
    return *link != NULL || *at + *bytes <= pool->bytes ? link : NULL;
}

dart_ret_t dart_allocator_alloc(size_t nelem, dart_datatype_t type, dart_gptr_t *gptr,
                                dart_allocator_t allocator)
{
    size_t bytes, at;

    TRY_PLACES(gptr, allocator);
    TRY(weftdart_bytes(nelem, type, &bytes));
    *gptr = DART_GPTR_NULL;
    struct piece *const piece = malloc(sizeof(*piece));
    TRY_MEMORY(piece);
    pthread_mutex_lock(&allocator->lock);
    struct piece **const link = find_room(allocator, &bytes, &at);
    if (link != NULL) {
        *piece = (struct piece){*link, at, bytes};
        *link = piece;
    }
    pthread_mutex_unlock(&allocator->lock);
    if (link == NULL) {
        free(piece);
        return weftdart_refuse(DART_ERR_NOMEM, "%zu bytes of a pool of %zu", bytes,
                               allocator->bytes);
    }
    *gptr = allocator->base;
    gptr->addr_or_offs.offset = at;
    return DART_OK;
}

dart_ret_t dart_allocator_free(dart_gptr_t *gptr, dart_allocator_t allocator)
{
    struct piece *found = NULL;

    TRY_PLACES(gptr, allocator);
    pthread_mutex_lock(&allocator->lock);
    if (gptr->segid == allocator->base.segid && gptr->unitid == allocator->base.unitid)
        for (struct piece **link = &allocator->first; *link != NULL; link = &(*link)->next)
            if ((*link)->at == gptr->addr_or_offs.offset) {
                found = *link;
                *link = found->next;
                break;
            }
    pthread_mutex_unlock(&allocator->lock);
    if (found == NULL)
        return INVALID("offset %llu of segment %d at unit %d is not the beginning of a piece of "
                       "this unit's pool",
                       (unsigned long long)gptr->addr_or_offs.offset, gptr->segid, gptr->unitid);
    free(found);
    *gptr = DART_GPTR_NULL;
    return DART_OK;
}

dart_ret_t dart_allocator_destroy(dart_allocator_t *allocator)
{
    TRY_PLACES(allocator);
    TRY_PLACES(*allocator);
    struct dart_allocator_struct *const pool = *allocator;
    TRY(give(pool->base, false));
    for (struct piece *piece = pool->first, *next; piece != NULL; piece = next) {
        next = piece->next;
        free(piece);
    }
    pthread_mutex_destroy(&pool->lock);
    free(pool);
    *allocator = NULL;
    return DART_OK;
}
