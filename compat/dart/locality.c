/*
 * compat/dart/locality.c - where units are. What each unit knows of itself is gathered once, by
 * dart_init; a team's tree is made of that when somebody asks for it.
 */
#include "internal.h"

#include <stdio.h>
#include <unistd.h>

/* What a unit tells of itself. */
struct origin {
    char host[DART_LOCALITY_HOST_MAX_SIZE];
    int node, cores, memory_mib;
};
static struct origin *origins;                           /* by unit */
static pthread_mutex_t tree = PTHREAD_MUTEX_INITIALIZER; /* threads make and drop a team's */

dart_ret_t weftdart_locality_open(void)
{
    struct origin mine = {
        .node = weft_numbers_of(weftdart.job)->node,
        .cores = (int)sysconf(_SC_NPROCESSORS_ONLN),
        .memory_mib =
            (int)((uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) >> 20)};
    struct weftdart_team *all;

    gethostname(mine.host, sizeof(mine.host) - 1);
    origins = calloc((size_t)weftdart.units, sizeof(*origins));
    TRY_MEMORY(origins);
    TRY(weftdart_team_of(DART_TEAM_ALL, &all));
    return weftdart_result(weft_team_allgather(all->team, &mine, sizeof(mine), origins, NULL));
}

void weftdart_locality_close(void)
{
    free(origins);
    origins = NULL;
}

/* ---- a team's tree --------------------------------------------------------------------------- */

/* Adds a domain of what is `from` there, with room for so many units and children. */
static dart_domain_locality_t *add_domain(dart_domain_locality_t *parent,
                                          dart_locality_scope_t scope, int global_index,
                                          const struct origin *from, int domains, int units)
{
    dart_domain_locality_t *const made = calloc(1, sizeof(*made));

    if (made == NULL)
        return NULL;
    *made = (dart_domain_locality_t){.scope = scope,
                                     .global_index = global_index,
                                     .node_id = from->node,
                                     .num_nodes = 1,
                                     .num_cores = from->cores,
                                     .shared_mem_bytes = -1,
                                     .is_symmetric = 1};
    memcpy(made->host, from->host, sizeof(made->host));
    if (!weftdart_domain_room(made, domains, units)) {
        weftdart_domain_clear(made);
        free(made);
        return NULL;
    }
    snprintf(made->domain_tag, sizeof(made->domain_tag), ".");
    if (parent == NULL)
        return made;
    made->parent = parent;
    made->level = parent->level + 1;
    made->team = parent->team;
    made->relative_index = parent->num_domains;
    snprintf(made->domain_tag, sizeof(made->domain_tag), "%.15s.%d",
             parent->level == 0 ? "" : parent->domain_tag, made->relative_index);
    parent->children[parent->num_domains++] = made;
    return made;
}

/* Finds the host of a unit, below the team's domain; adds one if there is none yet. */
static dart_domain_locality_t *host_of(dart_domain_locality_t *team, const struct origin *from,
                                       int room)
{
    for (int i = 0; i < team->num_domains; i++)
        if (team->children[i]->node_id == from->node)
            return team->children[i];
    team->num_cores += from->cores;
    return add_domain(team, DART_LOCALITY_SCOPE_NODE, team->num_domains, from, room, room);
}

static void describe(dart_unit_locality_t *place, const struct weftdart_team *t, int member,
                     const dart_domain_locality_t *domain)
{
    const struct origin *const from = &origins[t->unit[member]];
    dart_hwinfo_t *const hardware = &place->hwinfo;

    memset(hardware, 0xff, sizeof(*hardware)); /* -1: not known */
    memcpy(hardware->host, from->host, sizeof(hardware->host));
    hardware->num_cores = from->cores;
    hardware->num_numa = 1;
    hardware->numa_id = 0;
    hardware->min_threads = hardware->max_threads = 1;
    hardware->system_memory_bytes = hardware->numa_memory_bytes = from->memory_mib;
    hardware->num_scopes = 0;
    for (const dart_domain_locality_t *d = domain; d != NULL; d = d->parent)
        hardware->scopes[hardware->num_scopes++] =
            (dart_locality_scope_pos_t){d->scope, d->relative_index};
    place->unit.id = member;
    place->team = t->id;
    memcpy(place->domain_tag, domain->domain_tag, sizeof(place->domain_tag));
}

static dart_ret_t make_tree(struct weftdart_team *t)
{
    static const struct origin nowhere = {.node = -1};

    if (t->domain != NULL)
        return DART_OK;
    t->domain = add_domain(NULL, DART_LOCALITY_SCOPE_GLOBAL, 0, &nowhere, t->members, t->members);
    t->places = calloc((size_t)t->members, sizeof(*t->places));
    if (t->domain == NULL || t->places == NULL)
        return weftdart_no_memory();
    t->domain->team = t->id;
    for (int m = 0; m < t->members; m++) {
        const struct origin *const from = &origins[t->unit[m]];
        dart_domain_locality_t *const host = host_of(t->domain, from, t->members);
        dart_domain_locality_t *const unit =
            host != NULL ? add_domain(host, DART_LOCALITY_SCOPE_UNIT, m, from, 1, 1) : NULL;
        dart_domain_locality_t *const core =
            unit != NULL ? add_domain(unit, DART_LOCALITY_SCOPE_CORE, m, from, 0, 1) : NULL;
        TRY_MEMORY(core);
        for (dart_domain_locality_t *d = core; d != NULL; d = d->parent)
            d->unit_ids[d->num_units++].id = t->unit[m];
        describe(&t->places[m], t, m, core);
    }
    t->domain->num_nodes = t->domain->num_domains;
    if (t->domain->num_nodes == 1) {
        memcpy(t->domain->host, t->domain->children[0]->host, sizeof(t->domain->host));
        t->domain->node_id = t->domain->children[0]->node_id;
    }
    return DART_OK;
}

void weftdart_locality_drop(struct weftdart_team *t)
{
    if (t->domain != NULL)
        weftdart_domain_clear(t->domain);
    free(t->domain);
    free(t->places);
    t->domain = NULL;
    t->places = NULL;
}

/* ---- the calls ------------------------------------------------------------------------------- */

/* Finds the team, and makes its tree. */
static dart_ret_t enter(dart_team_t team, struct weftdart_team **t)
{
    TRY(weftdart_team_of(team, t));
    pthread_mutex_lock(&tree);
    const dart_ret_t code = make_tree(*t);
    if (code != DART_OK)
        weftdart_locality_drop(*t);
    pthread_mutex_unlock(&tree);
    return code;
}

dart_ret_t dart_team_locality_init(dart_team_t team)
{
    struct weftdart_team *t;

    return NAMED(enter(team, &t));
}

dart_ret_t dart_team_locality_finalize(dart_team_t team)
{
    TRY_OPEN();
    TRY_TEAM(t, team);
    pthread_mutex_lock(&tree);
    weftdart_locality_drop(t);
    pthread_mutex_unlock(&tree);
    return DART_OK;
}

dart_ret_t dart_domain_team_locality(dart_team_t team, const char *tag,
                                     dart_domain_locality_t **domain)
{
    struct weftdart_team *t;

    TRY_PLACES(domain);
    *domain = NULL;
    TRY(enter(team, &t));
    return dart_domain_find(t->domain, tag, domain);
}

dart_ret_t dart_unit_locality(dart_team_t team, dart_team_unit_t unit,
                              dart_unit_locality_t **locality)
{
    struct weftdart_team *t;

    TRY_PLACES(locality);
    *locality = NULL;
    TRY(enter(team, &t));
    if (unit.id < 0 || unit.id >= t->members)
        return INVALID("unit %d of %d", unit.id, t->members);
    *locality = &t->places[unit.id];
    return DART_OK;
}
