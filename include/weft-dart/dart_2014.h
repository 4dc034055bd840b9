/*
 * dart_2014.h - DART's interface of 2014, in which sizes are bytes and units have their numbers in
 * DART_TEAM_ALL. It is that of DART-SYSV, and of Zhou and Fuerlinger's DART-CUDA (ISPDC 2015). A
 * program includes either this or dash/dart/if/dart.h, whose functions have the same names. That
 * header describes the functions that both have. dart_tapi.h adds tasks.
 */
#ifndef DART_2014_H
#define DART_2014_H
#ifdef DART_TYPES_H
#error "dart_2014.h and dash/dart/if/dart.h have functions of the same names: include one of them"
#endif

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The name stands for another in the library. */
#define DART_2014(name) __asm__("dart_2014_" #name)

typedef enum {
    DART_OK = 0,
    DART_PENDING = 1,
    DART_ERR_INVAL = 2,
    DART_ERR_NOTFOUND = 3,
    DART_ERR_NOTINIT = 4,
    DART_ERR_NOMEM = 5,
    DART_ERR_OTHER = 999
} dart_ret_t;

typedef int32_t dart_unit_t;
typedef int32_t dart_team_t;
#define DART_TEAM_NULL ((dart_team_t)(-1))
#define DART_TEAM_ALL  ((dart_team_t)0)

/*
 * A global pointer: 16 bytes of plain data. unitid: in DART_TEAM_ALL; segment 0 is that of
 * dart_memalloc.
 */
typedef struct {
    dart_unit_t unitid;
    int16_t segid;
    uint16_t flags;
    union {
        uint64_t offset;
        void *addr;
    } addr_or_offs;
} dart_gptr_t;

#ifdef __cplusplus
#define DART_GPTR_NULL (dart_gptr_t{-1, 0, 0, {0}})
#else
#define DART_GPTR_NULL                                                                             \
    ((dart_gptr_t){.unitid = -1, .segid = 0, .flags = 0, .addr_or_offs.offset = 0})
#endif
#define DART_GPTR_ISNULL(gptr)                                                                     \
    ((gptr).unitid < 0 && (gptr).segid == 0 && (gptr).flags == 0 && (gptr).addr_or_offs.offset == 0)
#define DART_GPTR_EQUAL(a, b)                                                                      \
    ((a).unitid == (b).unitid && (a).segid == (b).segid && (a).flags == (b).flags &&               \
     (a).addr_or_offs.offset == (b).addr_or_offs.offset)

/* dart_group_sizeof bytes, which the program has. */
typedef struct dart_group_struct dart_group_t;
typedef struct dart_handle_struct *dart_handle_t;

dart_ret_t dart_init(int *argc, char ***argv);
dart_ret_t dart_exit(void);

/* ---- groups and teams ------------------------------------------------------------------------ */
dart_ret_t dart_group_sizeof(size_t *size);
dart_ret_t dart_group_init(dart_group_t *group);
dart_ret_t dart_group_fini(dart_group_t *group);
dart_ret_t dart_group_copy(const dart_group_t *group, dart_group_t *copy);
dart_ret_t dart_group_union(const dart_group_t *a, const dart_group_t *b, dart_group_t *made)
    DART_2014(group_union);
dart_ret_t dart_group_intersect(const dart_group_t *a, const dart_group_t *b, dart_group_t *made)
    DART_2014(group_intersect);
dart_ret_t dart_group_addmember(dart_group_t *group, dart_unit_t unit) DART_2014(group_addmember);
dart_ret_t dart_group_delmember(dart_group_t *group, dart_unit_t unit) DART_2014(group_delmember);
dart_ret_t dart_group_ismember(const dart_group_t *group, dart_unit_t unit, int32_t *ismember)
    DART_2014(group_ismember);
dart_ret_t dart_group_size(const dart_group_t *group, size_t *size) DART_2014(group_size);
dart_ret_t dart_group_getmembers(const dart_group_t *group, dart_unit_t *units)
    DART_2014(group_getmembers);
/* groups: n pointers to groups; those that get no unit are empty. */
dart_ret_t dart_group_split(const dart_group_t *group, size_t n, dart_group_t **groups)
    DART_2014(group_split);

dart_ret_t dart_team_get_group(dart_team_t team, dart_group_t *group) DART_2014(team_get_group);
dart_ret_t dart_team_create(dart_team_t team, const dart_group_t *group, dart_team_t *newteam)
    DART_2014(team_create);
dart_ret_t dart_team_destroy(dart_team_t team) DART_2014(team_destroy);
dart_ret_t dart_team_myid(dart_team_t team, dart_unit_t *myid) DART_2014(team_myid);
dart_ret_t dart_team_size(dart_team_t team, size_t *size) DART_2014(team_size);
dart_ret_t dart_myid(dart_unit_t *myid) DART_2014(myid);
dart_ret_t dart_size(size_t *size) DART_2014(size);
dart_ret_t dart_team_unit_l2g(dart_team_t team, dart_unit_t localid, dart_unit_t *globalid)
    DART_2014(team_unit_l2g);
dart_ret_t dart_team_unit_g2l(dart_team_t team, dart_unit_t globalid, dart_unit_t *localid)
    DART_2014(team_unit_g2l);

/* ---- global memory --------------------------------------------------------------------------- */
dart_ret_t dart_gptr_getaddr(const dart_gptr_t gptr, void **addr) DART_2014(gptr_getaddr);
dart_ret_t dart_gptr_setaddr(dart_gptr_t *gptr, void *addr) DART_2014(gptr_setaddr);
/*
 * In a segment of a team, what goes beyond a unit's part continues in the team's next unit. INVAL:
 * beyond the last, or before the first.
 */
dart_ret_t dart_gptr_incaddr(dart_gptr_t *gptr, int64_t offs) DART_2014(gptr_incaddr);
dart_ret_t dart_gptr_setunit(dart_gptr_t *gptr, dart_unit_t unit) DART_2014(gptr_setunit);
dart_ret_t dart_memalloc(size_t nbytes, dart_gptr_t *gptr) DART_2014(memalloc);
dart_ret_t dart_memfree(dart_gptr_t gptr) DART_2014(memfree);
dart_ret_t dart_team_memalloc_aligned(dart_team_t team, size_t nbytes, dart_gptr_t *gptr)
    DART_2014(team_memalloc_aligned);
dart_ret_t dart_team_memfree(dart_team_t team, dart_gptr_t gptr) DART_2014(team_memfree);

/* ---- communication --------------------------------------------------------------------------- */
dart_ret_t dart_get_blocking(void *dest, dart_gptr_t gptr, size_t nbytes) DART_2014(get_blocking);
dart_ret_t dart_put_blocking(dart_gptr_t gptr, const void *src, size_t nbytes)
    DART_2014(put_blocking);
/* The handle holds memory until dart_wait or dart_waitall; dart_test does not free it. */
dart_ret_t dart_get(void *dest, dart_gptr_t gptr, size_t nbytes, dart_handle_t *handle)
    DART_2014(get);
dart_ret_t dart_put(dart_gptr_t gptr, const void *src, size_t nbytes, dart_handle_t *handle)
    DART_2014(put);
dart_ret_t dart_wait(dart_handle_t handle) DART_2014(wait);
dart_ret_t dart_test(dart_handle_t handle, int32_t *finished) DART_2014(test);
dart_ret_t dart_waitall(dart_handle_t *handles, size_t n) DART_2014(waitall);
dart_ret_t dart_testall(dart_handle_t *handles, size_t n, int32_t *finished) DART_2014(testall);

/* root: in the team. */
dart_ret_t dart_barrier(dart_team_t team) DART_2014(barrier);
dart_ret_t dart_bcast(void *buf, size_t nbytes, dart_unit_t root, dart_team_t team)
    DART_2014(bcast);
dart_ret_t dart_scatter(const void *sendbuf, void *recvbuf, size_t nbytes, dart_unit_t root,
                        dart_team_t team) DART_2014(scatter);
dart_ret_t dart_gather(const void *sendbuf, void *recvbuf, size_t nbytes, dart_unit_t root,
                       dart_team_t team) DART_2014(gather);
dart_ret_t dart_allgather(const void *sendbuf, void *recvbuf, size_t nbytes, dart_team_t team)
    DART_2014(allgather);

#ifdef __cplusplus
}
#endif
#endif
