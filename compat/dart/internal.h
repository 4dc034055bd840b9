/*
 * compat/dart/internal.h - what the files of the library share. DART over weft's public API alone:
 * a unit is a process of the job; a segment is a span of the global address space; a team is a
 * group of host programs, and a team for collectives.
 */
#ifndef WEFTDART_INTERNAL_H
#define WEFTDART_INTERNAL_H

#include "../common.h"

#include <dash/dart/if/dart.h>
#include <pthread.h>
#include <weft/pgas.h>

#define TRY_WEFT(expression) TRY(weftdart_result(expression))
/* Every call begins with NAMED, TRY_OPEN or TRY_PLACES, so that texts name it. NAMED: gives what an
 * expression gives; TRY_OPEN: the library is open; TRY_PLACES: no place is NULL. */
#define NAMED(expression) (weftdart_call = __func__, (expression))
/* Defines a call that is an expression, its code. */
#define CALL(name, parameters, expression)                                                         \
    dart_ret_t name parameters                                                                     \
    {                                                                                              \
        return NAMED(expression);                                                                  \
    }
#define TRY_OPEN()      TRY(NAMED(weftdart_open()))
#define TRY_PLACES(...) TRY(NAMED(THERE(__VA_ARGS__)))
/* Checks within a call that none of these places is NULL. */
#define TRY_THERE(...) TRY(THERE(__VA_ARGS__))
#define THERE(...)                                                                                 \
    (ALL_THERE(__VA_ARGS__) ? DART_OK : weftdart_null(#__VA_ARGS__, PLACES_OF(__VA_ARGS__)))
#define TRY_MEMORY(pointer) TRY((pointer) != NULL ? DART_OK : weftdart_no_memory())

enum {
    WEFTDART_UNITS = 4096, /* most */
    WEFTDART_TEAMS = 256,
    WEFTDART_SEGMENTS = 1024,
    WEFTDART_WORDS = WEFTDART_UNITS / 64
};

/* ---- start.c --------------------------------------------------------------------------------- */

extern struct weftdart_state {
    weft_job *job; /* NULL: not open */
    int unit, units;
} weftdart;

extern __thread const char *weftdart_call; /* that this thread is in */
/* Says on stderr why the call is refused, and returns code. */
dart_ret_t weftdart_refuse(dart_ret_t code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
#define INVALID(...) weftdart_refuse(DART_ERR_INVAL, __VA_ARGS__)
/* Refuses the call: the first of these places, with names in that order, is NULL. */
dart_ret_t weftdart_null(const char *names, const void *const places[]);
dart_ret_t weftdart_open(void);
/* Returns what a status of weft, which has been said, is to DART. */
dart_ret_t weftdart_result(weft_status status);
dart_ret_t weftdart_no_memory(void);

/* ---- type.c ---------------------------------------------------------------------------------- */

struct weftdart_block {
    size_t offset, length; /* in elements */
};

/* Blocks of elements that repeat every `extent` elements. */
struct weftdart_type {
    dart_datatype_t base;
    size_t size;                    /* of an element, in bytes */
    size_t count, extent, elements; /* blocks; elements in all of them */
    const struct weftdart_block *block;
    int native; /* 1 + the weft_type; 0: it is none */
};

/* Finds the type that has that number. */
dart_ret_t weftdart_type_of(dart_datatype_t type, const struct weftdart_type **found);
static inline bool weftdart_is_plain(const struct weftdart_type *type)
{
    return type->count == 1 && type->block->offset == 0 && type->extent == type->block->length;
}
/* Counts the bytes of elements of a type, which has to be plain. */
dart_ret_t weftdart_bytes(size_t nelem, dart_datatype_t type, size_t *bytes);
/* Tells how elements are combined, one by one or in pairs; *of: their number, then that of
 * pairs. */
dart_ret_t weftdart_combine(dart_datatype_t type, dart_operation_t op, size_t *of,
                            weft_combine *combine);

/* ---- group.c, team.c, collective.c ----------------------------------------------------------- */

struct dart_group_struct {
    uint64_t bit[WEFTDART_WORDS];
};
static inline bool weftdart_in(const struct dart_group_struct *group, int unit)
{
    return (group->bit[unit / 64] >> unit % 64 & 1) != 0;
}
static inline void weftdart_add(struct dart_group_struct *group, int unit)
{
    group->bit[unit / 64] |= (uint64_t)1 << unit % 64;
}
dart_ret_t weftdart_new_group(const struct dart_group_struct *members, dart_group_t *made);
/* Makes *made the members of either, or of both. */
dart_ret_t weftdart_join(const struct dart_group_struct *a, const struct dart_group_struct *b,
                         bool both, struct dart_group_struct *made);

struct weftdart_team {
    bool there;
    dart_team_t id;
    char name[16]; /* for texts */
    int members, me;
    int *unit;       /* by member */
    weft_comm group; /* the group of its segments */
    weft_comm talk;  /* the group of its collectives */
    weft_team *team;
    dart_domain_locality_t *domain; /* NULL: not made yet */
    dart_unit_locality_t *places;
};

dart_ret_t weftdart_teams_open(void);
void weftdart_teams_close(void);
/* Finds a team. NOTFOUND: this unit is in no team of that number. */
dart_ret_t weftdart_team_of(dart_team_t team, struct weftdart_team **found);
/* Finds the team t, or returns the error. */
#define TRY_TEAM(t, team)                                                                          \
    struct weftdart_team *t;                                                                       \
    TRY(weftdart_team_of(team, &t))
dart_ret_t weftdart_members(dart_team_t team, struct dart_group_struct *members);

/* ---- globmem.c ------------------------------------------------------------------------------- */

struct weftdart_segment {
    bool there, adopted;
    bool gone; /* this unit has deregistered it; it is freed when all have */
    uint16_t flags;
    dart_team_t team;
    size_t bytes; /* of each unit, as the program has asked */
    weft_gspan span;
};

/* Finds a segment. NOTFOUND: there is none of that number, which is negative of registered memory.
 * 0: the heap. */
dart_ret_t weftdart_segment_of(int segment, struct weftdart_segment **found);
/* Finds the segment s, or returns the error. */
#define TRY_SEGMENT(s, segment)                                                                    \
    struct weftdart_segment *s;                                                                    \
    TRY(weftdart_segment_of(segment, &s))
dart_ret_t weftdart_pointer(dart_gptr_t gptr, weft_gptr *pointer);
/* Tells where a pointer leads; so many bytes from there on have to be in the segment. */
dart_ret_t weftdart_where(dart_gptr_t gptr, size_t bytes, weft_gwhere *where);
void weftdart_segment_enter(dart_team_t team, size_t bytes, bool adopted, const weft_gspan *span);
/* Frees what all units have deregistered. Collective; it sends no messages if the team has no
 * memory that was registered. */
dart_ret_t weftdart_settle(struct weftdart_team *t);
/* Counts the segments of a team that are not freed. */
int weftdart_segments_of(dart_team_t team);
void weftdart_segments_close(void);

/* ---- transfer.c, domain.c, locality.c, tapi.c ------------------------------------------------ */

/* Tests whether all handles are done; frees: then frees the handles. */
dart_ret_t weftdart_test(dart_handle_t *handles, size_t n, weft_progress how, bool frees,
                         int32_t *done);

/* Frees what is below a domain, and what it holds; not the domain itself. */
void weftdart_domain_clear(dart_domain_locality_t *domain);
/* Makes room in a domain for so many domains and units. False: no memory. */
bool weftdart_domain_room(dart_domain_locality_t *domain, int domains, int units);
dart_ret_t weftdart_locality_open(void);
void weftdart_locality_drop(struct weftdart_team *team);
void weftdart_locality_close(void);

dart_ret_t weftdart_tapi_close(void);

#endif
