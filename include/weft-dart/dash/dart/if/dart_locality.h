/*
 * dart_locality.h - where a team's units are: a tree of four levels. These are the team, its hosts,
 * the units of each host, and each unit's core domain, whose tag is that of the unit. All calls are
 * local and non-blocking. After an error pointers that they return are NULL, and numbers are 0.
 */
#ifndef DART_LOCALITY_H
#define DART_LOCALITY_H

#include <dash/dart/if/dart_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The tree is made when it is asked for. finalize frees it, and so do dart_team_destroy and
 * dart_exit.
 */
dart_ret_t dart_team_locality_init(dart_team_t team) DART_NOTHROW;
dart_ret_t dart_team_locality_finalize(dart_team_t team) DART_NOTHROW;
/* Gives the team's domain of that tag, which belongs to the team. Errors: NOTFOUND. */
dart_ret_t dart_domain_team_locality(dart_team_t team, const char *tag,
                                     dart_domain_locality_t **domain) DART_NOTHROW;
/* `unit`: in the team. *locality belongs to the team. */
dart_ret_t dart_unit_locality(dart_team_t team, dart_team_unit_t unit,
                              dart_unit_locality_t **locality) DART_NOTHROW;

/*
 * Make domains of the program's own: an empty one, or a copy with all below. The program destroys
 * them.
 */
dart_ret_t dart_domain_create(dart_domain_locality_t **domain) DART_NOTHROW;
dart_ret_t dart_domain_clone(const dart_domain_locality_t *domain,
                             dart_domain_locality_t **copy) DART_NOTHROW;
dart_ret_t dart_domain_destroy(dart_domain_locality_t *domain) DART_NOTHROW;
/* Makes domain, one of the program's own, a copy of source. */
dart_ret_t dart_domain_assign(dart_domain_locality_t *domain,
                              const dart_domain_locality_t *source) DART_NOTHROW;
dart_ret_t dart_domain_find(const dart_domain_locality_t *domain, const char *tag,
                            dart_domain_locality_t **found) DART_NOTHROW;
/* Gives the domains of a scope. The program frees the array, and the texts of tags, by free(). */
dart_ret_t dart_domain_scope_tags(const dart_domain_locality_t *domain, dart_locality_scope_t scope,
                                  int *count, char ***tags) DART_NOTHROW;
dart_ret_t dart_domain_scope_domains(const dart_domain_locality_t *domain,
                                     dart_locality_scope_t scope, int *count,
                                     dart_domain_locality_t ***domains) DART_NOTHROW;

/*
 * Keep only a part of a domain of the program's own: what is above, at or below one of the tags, or
 * all that is not at or below one. Tags stay as they are. A domain that loses all below it is
 * removed, too.
 */
dart_ret_t dart_domain_select(dart_domain_locality_t *domain, int count,
                              const char **tags) DART_NOTHROW;
dart_ret_t dart_domain_exclude(dart_domain_locality_t *domain, int count,
                               const char **tags) DART_NOTHROW;
/*
 * Splits a domain into `parts` copies, each with its share of the domains of the scope; at most as
 * many copies as there are such domains. split: room for the copies; what it holds is not freed.
 * Errors: NOTFOUND.
 */
dart_ret_t dart_domain_split_scope(const dart_domain_locality_t *domain,
                                   dart_locality_scope_t scope, int parts,
                                   dart_domain_locality_t *split) DART_NOTHROW;

/* These are not supported: they return DART_ERR_INVAL, and print a line. */
dart_ret_t dart_domain_add_subdomain(dart_domain_locality_t *domain,
                                     dart_domain_locality_t *subdomain, int index) DART_NOTHROW;
dart_ret_t dart_domain_move_subdomain(dart_domain_locality_t *domain,
                                      dart_domain_locality_t *parent, int index) DART_NOTHROW;
dart_ret_t dart_domain_group(dart_domain_locality_t *domain, int count, const char **tags,
                             char *group_tag) DART_NOTHROW;

#ifdef __cplusplus
}
#endif
#endif
