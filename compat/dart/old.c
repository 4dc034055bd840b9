/*
 * compat/dart/old.c - the byte-count interface (dart_2014.h), by the other one. There a pointer has
 * the number of its unit in DART_TEAM_ALL, and of no team: its segment knows that.
 */
#include "internal.h"

#include <dart_tapi.h>

/* As dart_2014.h has it. */
struct old_gptr {
    int32_t unitid;
    int16_t segid;
    uint16_t flags;
    uint64_t offset;
};
static_assert(sizeof(struct old_gptr) == sizeof(dart_gptr_t), "both have 16 bytes");

/* Defines a function, which dart_2014.h declares with types of its own. */
#define OLD_NAMED(name, ...)                                                                       \
    dart_ret_t name(__VA_ARGS__);                                                                  \
    dart_ret_t name(__VA_ARGS__)
#define OLD(name, ...) OLD_NAMED(dart_2014_##name, __VA_ARGS__)
/* Define a function that is another call; PASS_AT: `old` becomes gptr before; PASS_TO: gptr becomes
 * *old behind it. */
#define PASS(call, name, ...)                                                                      \
    OLD(name, __VA_ARGS__)                                                                         \
    {                                                                                              \
        return NAMED(call);                                                                        \
    }
#define PASS_AT(call, name, ...)                                                                   \
    OLD(name, __VA_ARGS__)                                                                         \
    {                                                                                              \
        dart_gptr_t gptr;                                                                          \
                                                                                                   \
        TRY(NAMED(to_new(old, &gptr)));                                                            \
        return call;                                                                               \
    }
#define PASS_TO(call, name, ...)                                                                   \
    OLD(name, __VA_ARGS__)                                                                         \
    {                                                                                              \
        dart_gptr_t gptr;                                                                          \
                                                                                                   \
        TRY_PLACES(old);                                                                           \
        TRY(call);                                                                                 \
        return to_old(gptr, old);                                                                  \
    }

static dart_ret_t to_new(struct old_gptr old, dart_gptr_t *gptr)
{
    const char *const call = weftdart_call;
    dart_team_unit_t unit;

    *gptr = DART_GPTR_NULL;
    if (old.unitid < 0 && old.segid == 0 && old.flags == 0 && old.offset == 0)
        return DART_OK;
    TRY_SEGMENT(segment, old.segid);
    TRY(dart_team_unit_g2l(segment->team, DART_GLOBAL_UNIT_ID(old.unitid), &unit));
    weftdart_call = call;
    if (unit.id < 0)
        return INVALID("unit %d has no part of segment %d", old.unitid, old.segid);
    *gptr = (dart_gptr_t){.unitid = unit.id & 0x7fffff,
                          .segid = old.segid,
                          .teamid = segment->team,
                          .addr_or_offs = {.offset = old.offset}};
    return DART_OK;
}

static dart_ret_t to_old(dart_gptr_t gptr, struct old_gptr *old)
{
    dart_global_unit_t unit;

    TRY(dart_team_unit_l2g(gptr.teamid, DART_TEAM_UNIT_ID(gptr.unitid), &unit));
    *old = (struct old_gptr){
        .unitid = unit.id, .segid = gptr.segid, .offset = gptr.addr_or_offs.offset};
    return DART_OK;
}

/* Turns a number into a team; what is no number of a team stays none. */
static dart_team_t to_team(int32_t team)
{
    return team >= 0 && team < WEFTDART_TEAMS ? (dart_team_t)team : DART_TEAM_NULL;
}

/* ---- groups: memory of the program ----------------------------------------------------------- */

OLD_NAMED(dart_group_sizeof, size_t *size)
{
    TRY_PLACES(size);
    *size = sizeof(struct dart_group_struct);
    return DART_OK;
}

OLD_NAMED(dart_group_init, struct dart_group_struct *group)
{
    TRY_PLACES(group);
    memset(group, 0, sizeof(*group));
    return DART_OK;
}

OLD_NAMED(dart_group_fini, struct dart_group_struct *group)
{
    return dart_group_init(group);
}

OLD_NAMED(dart_group_copy, const struct dart_group_struct *group, struct dart_group_struct *copy)
{
    return NAMED(weftdart_join(group, group, false, copy));
}

PASS(weftdart_join(a, b, false, made), group_union, struct dart_group_struct *a,
     struct dart_group_struct *b, struct dart_group_struct *made)
PASS(weftdart_join(a, b, true, made), group_intersect, struct dart_group_struct *a,
     struct dart_group_struct *b, struct dart_group_struct *made)
PASS(dart_group_addmember(group, DART_GLOBAL_UNIT_ID(unit)), group_addmember,
     struct dart_group_struct *group, int32_t unit)
PASS(dart_group_delmember(group, DART_GLOBAL_UNIT_ID(unit)), group_delmember,
     struct dart_group_struct *group, int32_t unit)
PASS(dart_group_ismember(group, DART_GLOBAL_UNIT_ID(unit), ismember), group_ismember,
     struct dart_group_struct *group, int32_t unit, int32_t *ismember)
PASS(dart_group_size(group, size), group_size, struct dart_group_struct *group, size_t *size)
PASS(dart_group_getmembers(group, (dart_global_unit_t *)units), group_getmembers,
     struct dart_group_struct *group, int32_t *units)

OLD(group_split, struct dart_group_struct *group, size_t n, struct dart_group_struct **groups)
{
    size_t count;

    TRY_PLACES(groups);
    FREED dart_group_t *const made = n < SIZE_MAX ? calloc(n + 1, sizeof(*made)) : NULL;
    TRY_MEMORY(made);
    const dart_ret_t code = dart_group_split(group, n, &count, made);
    for (size_t i = 0; i < n; i++) {
        if (code == DART_OK)
            *groups[i] = made[i] != NULL ? *made[i] : (struct dart_group_struct){{0}};
        dart_group_destroy(&made[i]);
    }
    return code;
}

/* ---- teams ----------------------------------------------------------------------------------- */

PASS(weftdart_members(to_team(team), group), team_get_group, int32_t team,
     struct dart_group_struct *group)

OLD(team_create, int32_t team, struct dart_group_struct *group, int32_t *newteam)
{
    dart_team_t made;

    TRY_PLACES(newteam);
    TRY(dart_team_create(to_team(team), group, &made));
    *newteam = made;
    return DART_OK;
}

OLD(team_destroy, int32_t team)
{
    dart_team_t id = to_team(team);
    return dart_team_destroy(&id);
}

PASS(dart_team_myid(to_team(team), (dart_team_unit_t *)myid), team_myid, int32_t team,
     int32_t *myid)
PASS(dart_team_size(to_team(team), size), team_size, int32_t team, size_t *size)
PASS(dart_myid((dart_global_unit_t *)myid), myid, int32_t *myid)
PASS(dart_size(size), size, size_t *size)
PASS(dart_team_unit_l2g(to_team(team), DART_TEAM_UNIT_ID(localid), (dart_global_unit_t *)globalid),
     team_unit_l2g, int32_t team, int32_t localid, int32_t *globalid)
PASS(dart_team_unit_g2l(to_team(team), DART_GLOBAL_UNIT_ID(globalid), (dart_team_unit_t *)localid),
     team_unit_g2l, int32_t team, int32_t globalid, int32_t *localid)

/* ---- global memory --------------------------------------------------------------------------- */

PASS_AT(dart_gptr_getaddr(gptr, addr), gptr_getaddr, struct old_gptr old, void **addr)

OLD(gptr_setaddr, struct old_gptr *old, void *addr)
{
    dart_gptr_t gptr;

    TRY_PLACES(old);
    TRY(to_new(*old, &gptr));
    TRY(dart_gptr_setaddr(&gptr, addr));
    old->offset = gptr.addr_or_offs.offset;
    return DART_OK;
}

OLD(gptr_incaddr, struct old_gptr *old, int64_t offs)
{
    dart_gptr_t gptr;

    TRY_PLACES(old);
    TRY(to_new(*old, &gptr));
    if (DART_GPTR_ISNULL(gptr))
        return INVALID("the pointer is DART_GPTR_NULL");
    TRY_SEGMENT(segment, gptr.segid);
    if (gptr.segid == DART_SEGMENT_LOCAL) {
        old->offset += (uint64_t)offs;
        return DART_OK;
    }
    TRY_TEAM(team, gptr.teamid);
    const uint64_t bytes = segment->bytes, size = (uint64_t)team->members;
    const uint64_t at = (uint64_t)gptr.unitid * bytes + old->offset + (uint64_t)offs;
    if (bytes == 0 || at / bytes >= size)
        return INVALID("by %lld, from offset %llu of unit %d of %d", (long long)offs,
                       (unsigned long long)old->offset, gptr.unitid, team->members);
    gptr.unitid = (int32_t)(at / bytes) & 0x7fffff;
    gptr.addr_or_offs.offset = at % bytes;
    return to_old(gptr, old);
}

OLD(gptr_setunit, struct old_gptr *old, int32_t unit)
{
    TRY_PLACES(old);
    old->unitid = unit;
    return DART_OK;
}

PASS_TO(dart_memalloc(nbytes, DART_TYPE_BYTE, &gptr), memalloc, size_t nbytes, struct old_gptr *old)
PASS_AT(dart_memfree(gptr), memfree, struct old_gptr old)
PASS_TO(dart_team_memalloc_aligned(to_team(team), nbytes, DART_TYPE_BYTE, &gptr),
        team_memalloc_aligned, int32_t team, size_t nbytes, struct old_gptr *old)

OLD(team_memfree, int32_t team, struct old_gptr old)
{
    dart_gptr_t gptr;

    TRY(NAMED(to_new(old, &gptr)));
    if (gptr.teamid != team && !DART_GPTR_ISNULL(gptr))
        return INVALID("segment %d is team %d's, not team %d's", old.segid, gptr.teamid, team);
    return dart_team_memfree(gptr);
}

/* ---- communication --------------------------------------------------------------------------- */

PASS_AT(dart_get_blocking(dest, gptr, nbytes, DART_TYPE_BYTE, DART_TYPE_BYTE), get_blocking,
        void *dest, struct old_gptr old, size_t nbytes)
PASS_AT(dart_put_blocking(gptr, src, nbytes, DART_TYPE_BYTE, DART_TYPE_BYTE), put_blocking,
        struct old_gptr old, const void *src, size_t nbytes)
PASS_AT(dart_get_handle(dest, gptr, nbytes, DART_TYPE_BYTE, DART_TYPE_BYTE, handle), get,
        void *dest, struct old_gptr old, size_t nbytes, dart_handle_t *handle)
PASS_AT(dart_put_handle(gptr, src, nbytes, DART_TYPE_BYTE, DART_TYPE_BYTE, handle), put,
        struct old_gptr old, const void *src, size_t nbytes, dart_handle_t *handle)
PASS(dart_wait(&handle), wait, dart_handle_t handle)
PASS(dart_waitall(handles, n), waitall, dart_handle_t *handles, size_t n)
PASS(weftdart_test(handles, n, WEFT_REMOTE, false, finished), testall, dart_handle_t *handles,
     size_t n, int32_t *finished)
PASS(dart_2014_testall(&handle, 1, finished), test, dart_handle_t handle, int32_t *finished)
PASS(dart_barrier(to_team(team)), barrier, int32_t team)
PASS(dart_bcast(buf, nbytes, DART_TYPE_BYTE, DART_TEAM_UNIT_ID(root), to_team(team)), bcast,
     void *buf, size_t nbytes, int32_t root, int32_t team)
PASS(dart_scatter(sendbuf, recvbuf, nbytes, DART_TYPE_BYTE, DART_TEAM_UNIT_ID(root), to_team(team)),
     scatter, const void *sendbuf, void *recvbuf, size_t nbytes, int32_t root, int32_t team)
PASS(dart_gather(sendbuf, recvbuf, nbytes, DART_TYPE_BYTE, DART_TEAM_UNIT_ID(root), to_team(team)),
     gather, const void *sendbuf, void *recvbuf, size_t nbytes, int32_t root, int32_t team)
PASS(dart_allgather(sendbuf, recvbuf, nbytes, DART_TYPE_BYTE, to_team(team)), allgather,
     const void *sendbuf, void *recvbuf, size_t nbytes, int32_t team)

/* ---- tasks ----------------------------------------------------------------------------------- */

OLD(tapi_task_create, uint32_t body, struct old_gptr in, size_t in_bytes, struct old_gptr out,
    size_t out_bytes, const dart_tapi_config_t *config, int sync, dart_tapi_task_t *task)
{
    dart_gptr_t from = DART_GPTR_NULL, to = DART_GPTR_NULL;

    if (in_bytes != 0)
        TRY(NAMED(to_new(in, &from)));
    if (out_bytes != 0)
        TRY(NAMED(to_new(out, &to)));
    return dart_tapi_task_create(body, from, in_bytes, to, out_bytes, config, sync, task);
}
