/*
 * dart_team_group.h - groups and teams. Groups are sets of units, and local. Teams are units that
 * have agreed to work together. A group has numbers of DART_TEAM_ALL, in ascending order.
 */
#ifndef DART_TEAM_GROUP_H
#define DART_TEAM_GROUP_H

#include <dash/dart/if/dart_types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dart_group_struct *dart_group_t;
#define DART_GROUP_NULL ((dart_group_t)0)

/*
 * Local, non-blocking. Every group that a call returns is freed by dart_group_destroy, which sets
 * it to DART_GROUP_NULL. A group has numbers below 4096. addmember twice, and delmember of one that
 * is not in it, change nothing.
 */
dart_ret_t dart_group_create(dart_group_t *group) DART_NOTHROW;
dart_ret_t dart_group_destroy(dart_group_t *group) DART_NOTHROW;
dart_ret_t dart_group_clone(const dart_group_t group, dart_group_t *copy) DART_NOTHROW;
dart_ret_t dart_group_union(const dart_group_t a, const dart_group_t b,
                            dart_group_t *made) DART_NOTHROW;
dart_ret_t dart_group_intersect(const dart_group_t a, const dart_group_t b,
                                dart_group_t *made) DART_NOTHROW;
dart_ret_t dart_group_addmember(dart_group_t group, dart_global_unit_t unit) DART_NOTHROW;
dart_ret_t dart_group_delmember(dart_group_t group, dart_global_unit_t unit) DART_NOTHROW;
dart_ret_t dart_group_ismember(const dart_group_t group, dart_global_unit_t unit,
                               int32_t *ismember) DART_NOTHROW;
dart_ret_t dart_group_size(const dart_group_t group, size_t *size) DART_NOTHROW;
/* units: room for dart_group_size. */
dart_ret_t dart_group_getmembers(const dart_group_t group, dart_global_unit_t *units) DART_NOTHROW;
/*
 * Splits a group into up to n groups of consecutive units, of about equal size; *count: how many
 * there are.
 */
dart_ret_t dart_group_split(const dart_group_t group, size_t n, size_t *count,
                            dart_group_t *groups) DART_NOTHROW;
/*
 * Splits a group into one group for each domain of the scope within `domain`; into n groups if
 * there are more domains.
 */
dart_ret_t dart_group_locality_split(const dart_group_t group, dart_domain_locality_t *domain,
                                     dart_locality_scope_t scope, size_t n, size_t *count,
                                     dart_group_t *groups) DART_NOTHROW;

/* The team's members; to be destroyed. */
dart_ret_t dart_team_get_group(dart_team_t team, dart_group_t *group) DART_NOTHROW;
/*
 * Creates a team. Collective over `team`. group: the new team's members, the same at all of them;
 * units that are not in `team` are left out. Groups without a common unit become separate teams. A
 * unit that gives DART_GROUP_NULL, or a group without itself, gets DART_TEAM_NULL. The number is
 * the same at all members, and that of no other team of theirs. The whole job has at most 250
 * teams.
 */
dart_ret_t dart_team_create(dart_team_t team, const dart_group_t group,
                            dart_team_t *newteam) DART_NOTHROW;
/*
 * Destroys a team; *team becomes DART_TEAM_NULL. Collective over it. Its segments and locks were
 * freed.
 */
dart_ret_t dart_team_destroy(dart_team_t *team) DART_NOTHROW;
/* Creates another team of the same units. Collective over the team. */
dart_ret_t dart_team_clone(dart_team_t team, dart_team_t *newteam) DART_NOTHROW;

/* Local. Units of a team are numbered in the order of their numbers in DART_TEAM_ALL. */
dart_ret_t dart_team_myid(dart_team_t team, dart_team_unit_t *myid) DART_NOTHROW;
dart_ret_t dart_team_size(dart_team_t team, size_t *size) DART_NOTHROW;
dart_ret_t dart_myid(dart_global_unit_t *myid) DART_NOTHROW;
dart_ret_t dart_size(size_t *size) DART_NOTHROW;
/* g2l: DART_UNDEFINED_UNIT_ID for a unit that is not in the team. */
dart_ret_t dart_team_unit_l2g(dart_team_t team, dart_team_unit_t localid,
                              dart_global_unit_t *globalid) DART_NOTHROW;
dart_ret_t dart_team_unit_g2l(dart_team_t team, dart_global_unit_t globalid,
                              dart_team_unit_t *localid) DART_NOTHROW;

#ifdef __cplusplus
}
#endif
#endif
