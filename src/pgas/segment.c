/*
 * pgas/segment.c - segments: memory that a group of host programs makes, adopts and frees together.
 * Runs in the program's threads, one at a time.
 *
 * By one allgather all members have what each of them brings, and decide alike: the number is the
 * lowest that none of them uses. Numbers are the group's own; the generation tells most segments of
 * other groups apart.
 */
#include "pgas/buddy_heap.h"
#include "pgas/pgas.h"

#include "runtime/space/tables.h"

#include <stddef.h>
#include <string.h>

/* The members of a call, and what they bring. */
struct meeting {
    struct weft_pgas *pgas;
    const char *call;
    weft_comm group;
    int members, me;
    const int *place;          /* place of each member */
    struct weft_gbrought *all; /* what each member brings */
};

/* Others may meet now. */
static weft_status part(struct weft_pgas *pgas, weft_status status)
{
    __atomic_store_n(&pgas->meeting, false, __ATOMIC_RELEASE);
    return status;
}

/* Finds the members, until they part. Errors: COMM; STATE: another thread has not parted yet. */
static weft_status gather(weft_job *job, const char *call, weft_comm group, struct meeting *m)
{
    WEFT_TRY(weft_job_idle(job, call));
    WEFT_TRY(weft_pgas_enter(job, call, &m->pgas));
    if (__atomic_exchange_n(&m->pgas->meeting, true, __ATOMIC_ACQUIRE))
        return weft_refused(job, WEFT_ERR_STATE,
                            "%s: another thread of process %d is in such a call", call,
                            job->numbers.process);
    m->call = call;
    m->group = group;
    m->place = m->pgas->member;
    m->all = m->pgas->brought;
    weft_lock(&job->space.tables);
    const struct weft_comm_entry *const entry = weft_comm_find(&job->space.state, group);
    m->me = entry != NULL && weft_comm_is_host(entry) ? entry->rank_of_slot[WEFT_HOST_SLOT] : -1;
    m->members = m->me >= 0 ? entry->members : 0;
    for (int i = 0; i < m->members; i++)
        m->pgas->member[i] = entry->member[i].process;
    weft_unlock(&job->space.tables);
    if (m->me >= 0)
        return WEFT_OK;
    return part(m->pgas, weft_refused(job, WEFT_ERR_COMM,
                                      "%s: 0x%x is no group of host programs with process %d", call,
                                      group, job->numbers.process));
}

/* Marks what this place has of a segment. */
static void mark(struct weft_pgas *pgas, uint32_t number, enum weft_gknown known)
{
    struct weft_gbits *const bits = &pgas->bits[number / 64];
    const uint64_t bit = (uint64_t)1 << number % 64;

    bits->used = known != WEFT_GSEGMENT_FREE ? bits->used | bit : bits->used & ~bit;
    bits->dropped = known == WEFT_GSEGMENT_DROPPED ? bits->dropped | bit : bits->dropped & ~bit;
    pgas->changed = number < pgas->changed ? number : pgas->changed;
    pgas->changed_end = number >= pgas->changed_end ? number + 1 : pgas->changed_end;
    weft_gsegment_at(&pgas->space, number)->known = (uint16_t)known;
}

weft_status weft_pgas_launch(weft_job *job)
{
    struct weft_pgas *const pgas = job->pgas;

    if (pgas == NULL || pgas->changed >= pgas->changed_end)
        return WEFT_OK;
    const size_t each = weft_gsegment_bytes(pgas->space.places);
    WEFT_TRY(weft_job_copy(job, pgas->table_on_device + pgas->changed * each,
                           weft_gsegment_at(&pgas->space, pgas->changed),
                           (pgas->changed_end - pgas->changed) * each));
    pgas->changed = pgas->space.segments;
    pgas->changed_end = 0;
    return WEFT_OK;
}

weft_status weft_pgas_hush(weft_job *job, struct weft_gtalk *talk)
{
    if (talk->team != NULL)
        WEFT_TRY(weft_team_close(&talk->team));
    return talk->messages != WEFT_COMM_NONE ? weft_message_group_give(job, &talk->messages)
                                            : WEFT_OK;
}

weft_status weft_pgas_group_freed(weft_job *job, weft_comm group)
{
    struct weft_pgas *const pgas = job->pgas;

    return pgas != NULL ? weft_pgas_hush(job, &pgas->talks[weft_handle_index(group)]) : WEFT_OK;
}

/* Finds the team of a group. Another group that was at its place in the table was freed by all
 * members, who gave the number back then: so members who are ahead are not mistaken for those. */
static weft_status find_team(weft_job *job, const struct meeting *m, weft_team **team)
{
    const uint32_t index = weft_handle_index(m->group);
    struct weft_gtalk *const talk = &m->pgas->talks[index];

    if (talk->messages == WEFT_COMM_NONE)
        WEFT_TRY(weft_message_group_take(job, WEFT_MESSAGE_GROUPS - 1 - index, m->place, m->members,
                                         &talk->messages));
    if (talk->team == NULL)
        WEFT_TRY(weft_team_open(job, talk->messages, m->members, m->me, "an allocation", NULL,
                                &talk->team));
    *team = talk->team;
    return WEFT_OK;
}

/* Gives all members what each of them brings. */
static weft_status exchange(weft_job *job, struct meeting *m, struct weft_gbrought *mine)
{
    weft_team *team;

    memcpy(mine->bits, m->pgas->bits, sizeof(mine->bits));
    mine->generation = m->pgas->serial + 1;
    WEFT_TRY(find_team(job, m, &team));
    return weft_team_allgather(team, mine, sizeof(*mine), m->all, NULL);
}

/* Finds a number that none of the members uses; 0: there is none. */
static uint32_t free_number(const struct meeting *m)
{
    for (uint32_t w = 0; w < WEFT_GSEGMENT_WORDS; w++) {
        uint64_t free = ~m->pgas->bits[w].used;
        for (int i = 0; i < m->members; i++)
            free &= ~m->all[i].bits[w].used;
        if (free != 0)
            return w * 64 + (uint32_t)__builtin_ctzll(free);
    }
    return 0;
}

/* Segments that all of their places have dropped, which are all here, are free from now on. */
static void end_dropped(const struct meeting *m)
{
    struct weft_pgas *const pgas = m->pgas;

    for (uint32_t i = 0; i < pgas->space.segments; i++) {
        const struct weft_gpart *const part = weft_gsegment_at(&pgas->space, i)->part;
        const uint64_t bit = (uint64_t)1 << i % 64;
        uint32_t left = 0;
        if ((pgas->bits[i / 64].dropped & bit) == 0)
            continue;
        for (int q = 0; q < pgas->space.places; q++)
            left += part[q].present;
        for (int k = 0; k < m->members; k++)
            left -= part[m->place[k]].present && (m->all[k].bits[i / 64].dropped & bit) != 0;
        if (left != 0)
            continue;
        mark(pgas, i, WEFT_GSEGMENT_FREE);
        weft_buddy_give(pgas->buddy, part[pgas->space.me].at, 0);
    }
}

static const char *name_of(uint32_t call)
{
    static const char *const names[] = {"nothing",          "weft_galloc", "weft_galloc_v",
                                        "weft_galloc_most", "weft_gadopt", "weft_gfree"};

    return call < sizeof(names) / sizeof(names[0]) ? names[call] : "garbage";
}

/* Checks that all members mean the same. */
static weft_status compare(weft_job *job, const struct meeting *m)
{
    const struct weft_gbrought *const a = &m->all[0];
    const int p = m->place[0];

    for (int i = 1; i < m->members; i++) {
        const struct weft_gbrought *const b = &m->all[i];
        const int q = m->place[i];
        if (a->call != b->call || a->segment != b->segment)
            return weft_refused(job, WEFT_ERR_MISMATCH,
                                "%s: place %d is in %s of segment %u, place %d in %s of segment %u",
                                m->call, p, name_of(a->call), a->segment, q, name_of(b->call),
                                b->segment);
        if (a->call == WEFT_GCALL_ALLOC && a->bytes != b->bytes)
            return weft_refused(job, WEFT_ERR_MISMATCH,
                                "%s: place %d asks for %llu bytes, place %d for %llu", m->call, p,
                                (unsigned long long)a->bytes, q, (unsigned long long)b->bytes);
    }
    return WEFT_OK;
}

/* Takes a block of the heap. */
static void take(struct weft_pgas *pgas, struct weft_gbrought *mine)
{
    struct weft_buddy_numbers n = {.free = 0};

    mine->at = weft_buddy_take(pgas->buddy, mine->bytes, 0);
    mine->status = mine->at == WEFT_BUDDY_NONE ? WEFT_ERR_MEMORY : WEFT_OK;
    if (mine->status != WEFT_OK)
        weft_buddy_count(pgas->buddy, &n);
    mine->left = n.free;
}

/* Finds the member that has no room; -1: all have. */
static int find_full(const struct meeting *m)
{
    for (int i = 0; i < m->members; i++)
        if (m->all[i].status != WEFT_OK)
            return i;
    return -1;
}

/* Says whether sizes of weft_galloc_most differ. Then the block goes back, for one of the most. */
static bool ask_for_most(const struct meeting *m, struct weft_gbrought *mine)
{
    uint64_t most = 0, least = UINT64_MAX;

    for (int i = 0; mine->call == WEFT_GCALL_ALLOC_MOST && i < m->members; i++) {
        const uint64_t bytes = m->all[i].bytes;
        most = bytes > most ? bytes : most;
        least = bytes < least ? bytes : least;
    }
    if (most <= least)
        return false;
    if (mine->at != WEFT_BUDDY_NONE)
        weft_buddy_give(m->pgas->buddy, mine->at, 0);
    mine->at = WEFT_BUDDY_NONE;
    mine->bytes = most;
    return true;
}

/* Makes the call together with all members. Without room they do so again, when what was dropped
 * has ended; and where sizes are not yet the largest. */
static weft_status meet(weft_job *job, struct meeting *m, struct weft_gbrought *mine)
{
    bool more = false;
    int full = -1;

    for (int i = 0; i == 0 || more || (i == 1 && (full >= 0 || free_number(m) == 0)); i++) {
        if (mine->at == WEFT_BUDDY_NONE)
            take(m->pgas, mine);
        WEFT_TRY(exchange(job, m, mine));
        WEFT_TRY(compare(job, m));
        end_dropped(m);
        full = find_full(m);
        more = i == 0 && ask_for_most(m, mine);
    }
    return full < 0 ? WEFT_OK
                    : weft_refused(job, WEFT_ERR_MEMORY,
                                   "%s: place %d has %llu of %llu bytes in its heap (WEFT_HEAP)",
                                   m->call, m->place[full], (unsigned long long)m->all[full].left,
                                   (unsigned long long)m->all[full].bytes);
}

/* Makes the segment that all have agreed upon. heap: its parts lie there. */
static weft_status enter(weft_job *job, struct meeting *m, weft_win win, bool heap,
                         weft_gspan *span)
{
    struct weft_pgas *const pgas = m->pgas;
    const uint32_t number = free_number(m);
    struct weft_gsegment *const segment = weft_gsegment_at(&pgas->space, number);

    if (number == 0)
        return weft_refused(job, WEFT_ERR_LIMIT, "%s: all segments are in use (WEFT_SEGMENTS=%u)",
                            m->call, pgas->space.segments);
    for (int i = 0; i < m->members; i++)
        if (m->all[i].generation > pgas->serial)
            pgas->serial = m->all[i].generation;
    segment->generation = (uint16_t)(1 + (pgas->serial * 61 + (uint32_t)m->place[0]) % 65535);
    segment->win = win;
    memset(segment->part, 0, (size_t)pgas->space.places * sizeof(*segment->part));
    for (int i = 0; i < m->members; i++) {
        const struct weft_gbrought *const b = &m->all[i];
        const uint64_t last = b->call == WEFT_GCALL_ALLOC_MOST ? -b->bytes & 7 : 0; /* of a word */
        segment->part[m->place[i]] = (struct weft_gpart){.at = heap ? b->at : 0,
                                                         .bytes = b->bytes + last,
                                                         .member = heap ? m->place[i] : i,
                                                         .present = 1};
    }
    mark(pgas, number, WEFT_GSEGMENT_KNOWN);
    *span = (weft_gspan){.base = weft_gptr_make(m->place[0], number, segment->generation, 0),
                         .bytes = m->all[m->me].bytes,
                         .group = m->group,
                         .members = m->members};
    return WEFT_OK;
}

/* Makes a segment. base: of WEFT_GCALL_ADOPT. */
static weft_status make_segment(weft_job *job, enum weft_gcall what, weft_comm group, void *base,
                                size_t bytes, weft_gspan *span)
{
    const bool heap = what != WEFT_GCALL_ADOPT;
    struct weft_gbrought mine = {.call = what, .bytes = bytes, .at = heap ? WEFT_BUDDY_NONE : 0};
    weft_win win = WEFT_WIN_NONE;
    struct meeting m;

    WEFT_TRY(gather(job, name_of(what), group, &m));
    weft_status status = weft_host_place(job, m.call, "span", span);
    if (status == WEFT_OK)
        status = meet(job, &m, &mine);
    if (status == WEFT_OK && !heap)
        status = weft_host_group_win_create(job, group, base, bytes, &win);
    if (status == WEFT_OK)
        status = enter(job, &m, heap ? m.pgas->space.win : win, heap, span);
    if (status != WEFT_OK && win != WEFT_WIN_NONE)
        weft_host_win_free(job, &win);
    else if (status != WEFT_OK && heap && mine.at != WEFT_BUDDY_NONE)
        weft_buddy_give(m.pgas->buddy, mine.at, 0);
    return part(m.pgas, status);
}

weft_status weft_galloc(weft_job *job, weft_comm group, size_t bytes, weft_gspan *span)
{
    return make_segment(job, WEFT_GCALL_ALLOC, group, NULL, bytes, span);
}

weft_status weft_galloc_v(weft_job *job, weft_comm group, size_t bytes, weft_gspan *span)
{
    return make_segment(job, WEFT_GCALL_ALLOC_V, group, NULL, bytes, span);
}

weft_status weft_galloc_most(weft_job *job, weft_comm group, size_t bytes, weft_gspan *span)
{
    return make_segment(job, WEFT_GCALL_ALLOC_MOST, group, NULL, bytes, span);
}

weft_status weft_gadopt(weft_job *job, weft_comm group, void *base, size_t bytes, weft_gspan *span)
{
    return make_segment(job, WEFT_GCALL_ADOPT, group, base, bytes, span);
}

/* Adopted memory: the group ends it together. Else all have dropped it one day (end_dropped). */
static weft_status drop(weft_job *job, struct meeting *m, weft_gspan *span)
{
    struct weft_gbrought mine = {.call = WEFT_GCALL_FREE, .segment = span->base.segment};
    struct weft_gplace place;

    WEFT_TRY(weft_pgas_find(job, m->call, span->base, 0, 0, 1, &place));
    const bool adopted = place.win != m->pgas->space.win;
    if (adopted)
        WEFT_TRY(meet(job, m, &mine));
    struct weft_gsegment *const segment = weft_gsegment_at(&m->pgas->space, mine.segment);
    segment->generation++;
    mark(m->pgas, mine.segment, adopted ? WEFT_GSEGMENT_FREE : WEFT_GSEGMENT_DROPPED);
    *span = (weft_gspan){.members = 0};
    return adopted ? weft_host_win_free(job, &segment->win) : WEFT_OK;
}

weft_status weft_gfree(weft_job *job, weft_gspan *span)
{
    struct meeting m;

    WEFT_TRY(weft_job_owned(job, "weft_gfree"));
    WEFT_TRY(weft_host_place(job, "weft_gfree", "span", span));
    WEFT_TRY(gather(job, "weft_gfree", span->group, &m));
    return part(m.pgas, drop(job, &m, span));
}

/* ---- spans ----------------------------------------------------------------------------------- */

weft_gptr weft_gspan_member(weft_job *job, const weft_gspan *span, int member)
{
    int place = -1;

    if (job == NULL || span == NULL || member < 0 || member >= span->members)
        return weft_gptr_null();
    weft_lock(&job->space.tables);
    const struct weft_comm_entry *const entry = weft_comm_find(&job->space.state, span->group);
    if (entry != NULL && member < entry->members)
        place = entry->member[member].process;
    weft_unlock(&job->space.tables);
    return place < 0 ? weft_gptr_null() : weft_gptr_at_place(span->base, place);
}

weft_gptr weft_gspan_at(weft_job *job, const weft_gspan *span, uint64_t at)
{
    if (span == NULL || span->bytes == 0 || at / span->bytes >= (uint64_t)span->members)
        return weft_gptr_null();
    const weft_gptr g = weft_gspan_member(job, span, (int)(at / span->bytes));
    return weft_gptr_is_null(g) ? g : weft_gptr_add(g, (int64_t)(at % span->bytes));
}
