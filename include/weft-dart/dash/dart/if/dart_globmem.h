/* dart_globmem.h - global pointers, and memory for them. */
#ifndef DART_GLOBMEM_H
#define DART_GLOBMEM_H

#include <dash/dart/if/dart_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 16 bytes of plain data. unitid: in the team; segment 0 is that of dart_memalloc. */
typedef struct {
    dart_unit_t unitid : 24;
    unsigned int flags : 8;
    int16_t segid;
    int16_t teamid;
    union {
        uint64_t offset;
        void *addr;
    } addr_or_offs;
} dart_gptr_t;

#ifdef __cplusplus
#define DART_GPTR_NULL (dart_gptr_t{-1, 0, 0, DART_TEAM_NULL, {0}})
#else
#define DART_GPTR_NULL                                                                             \
    ((dart_gptr_t){                                                                                \
        .unitid = -1, .flags = 0, .segid = 0, .teamid = DART_TEAM_NULL, .addr_or_offs.offset = 0})
#endif
#define DART_GPTR_ISNULL(gptr)                                                                     \
    ((gptr).unitid < 0 && (gptr).segid == 0 && (gptr).teamid == DART_TEAM_NULL &&                  \
     (gptr).addr_or_offs.offset == 0)
#define DART_GPTR_EQUAL(a, b)                                                                      \
    ((a).unitid == (b).unitid && (a).segid == (b).segid && (a).teamid == (b).teamid &&             \
     (a).addr_or_offs.offset == (b).addr_or_offs.offset)
#define DART_SEGMENT_LOCAL ((int16_t)0)

/* ---- pointers: local, non-blocking ----------------------------------------------------------- */

/* Gives the address in this unit's memory, a GPU's too. NULL: another unit has it. */
dart_ret_t dart_gptr_getaddr(const dart_gptr_t gptr, void **addr) DART_NOTHROW;
/* Makes the pointer lead to addr. Its segment and unit, which is this one, stay. */
dart_ret_t dart_gptr_setaddr(dart_gptr_t *gptr, void *addr) DART_NOTHROW;
DART_INLINE DART_NOTHROW dart_ret_t dart_gptr_incaddr(dart_gptr_t *gptr, int64_t offs)
{
    gptr->addr_or_offs.offset += (uint64_t)offs;
    return DART_OK;
}
DART_INLINE DART_NOTHROW dart_ret_t dart_gptr_setunit(dart_gptr_t *gptr, dart_team_unit_t unit)
{
    gptr->unitid = unit.id;
    return DART_OK;
}
/* 16 bits that this unit notes of a segment; the pointer has the lower 8. */
dart_ret_t dart_gptr_getflags(dart_gptr_t gptr, uint16_t *flags) DART_NOTHROW;
dart_ret_t dart_gptr_setflags(dart_gptr_t *gptr, uint16_t flags) DART_NOTHROW;

/* ---- memory ---------------------------------------------------------------------------------- */

/*
 * Allocates memory of this unit, which all units reach. Local, non-blocking; aligned to the next
 * power of two up to 4096 bytes. free: by the unit that has it; DART_GPTR_NULL is ignored, as by
 * the frees below.
 */
dart_ret_t dart_memalloc(size_t nelem, dart_datatype_t type, dart_gptr_t *gptr) DART_NOTHROW;
dart_ret_t dart_memfree(dart_gptr_t gptr) DART_NOTHROW;

/*
 * Allocates a segment with as much memory at each unit of the team as the largest request. *gptr:
 * the first unit's. Collective over the team; not between dart_tapi_begin and dart_tapi_end. nelem
 * may be 0.
 */
dart_ret_t dart_team_memalloc_aligned(dart_team_t team, size_t nelem, dart_datatype_t type,
                                      dart_gptr_t *gptr) DART_NOTHROW;
/* gptr: any of the segment. Collective. */
dart_ret_t dart_team_memfree(dart_gptr_t gptr) DART_NOTHROW;
/*
 * Makes a segment of memory that the program has, which stays until it is deregistered. Collective;
 * nelem may differ. On a GPU: memory that it reaches.
 */
dart_ret_t dart_team_memregister_aligned(dart_team_t team, size_t nelem, dart_datatype_t type,
                                         void *addr, dart_gptr_t *gptr) DART_NOTHROW;
dart_ret_t dart_team_memregister(dart_team_t team, size_t nelem, dart_datatype_t type, void *addr,
                                 dart_gptr_t *gptr) DART_NOTHROW;
/*
 * Deregisters memory. Local, non-blocking. No unit uses this unit's part any more, nor this unit
 * the segment. The number is given again when all units have done so.
 */
dart_ret_t dart_team_memderegister(dart_gptr_t gptr) DART_NOTHROW;

/* ---- memory of a pool at each unit: new and destroy are collective over the team ------------- */
typedef struct dart_allocator_struct *dart_allocator_t;
/* pool_size: bytes at each unit. */
dart_ret_t dart_allocator_new(size_t pool_size, dart_team_t team,
                              dart_allocator_t *allocator) DART_NOTHROW;
/*
 * Allocates memory of this unit's pool, which the team reaches, aligned to the next power of two
 * from 8 up to 64 bytes. Local. *gptr becomes DART_GPTR_NULL with DART_ERR_NOMEM, and by free.
 */
dart_ret_t dart_allocator_alloc(size_t nelem, dart_datatype_t type, dart_gptr_t *gptr,
                                dart_allocator_t allocator) DART_NOTHROW;
dart_ret_t dart_allocator_free(dart_gptr_t *gptr, dart_allocator_t allocator) DART_NOTHROW;
dart_ret_t dart_allocator_destroy(dart_allocator_t *allocator) DART_NOTHROW;

#ifdef __cplusplus
}
#endif
#endif
