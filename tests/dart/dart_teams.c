/*
 * tests/dart/dart_teams.c - groups; teams of teams, many and again; their numbers and memory;
 * locality.
 */
#include <dash/dart/if/dart.h>

#include "dart_test.h"

static dart_group_t group_of(int first, int count, int step)
{
    dart_group_t group;

    GOOD(dart_group_create(&group));
    for (int i = 0; i < count; i++)
        GOOD(dart_group_addmember(group, DART_GLOBAL_UNIT_ID(first + i * step)));
    return group;
}

static void check_members(dart_group_t group, size_t count, const int *members)
{
    dart_global_unit_t units_of[64];
    size_t size;

    GOOD(dart_group_size(group, &size));
    CHECK(size == count);
    GOOD(dart_group_getmembers(group, units_of));
    for (size_t i = 0; i < count; i++)
        CHECK(units_of[i].id == members[i]);
}

static void groups(void)
{
    dart_group_t a = group_of(0, 5, 3), b = group_of(33, 4, -7), both, made, parts[4];
    int32_t there;
    size_t count;

    check_members(a, 5, (int[]){0, 3, 6, 9, 12});
    check_members(b, 4, (int[]){12, 19, 26, 33});
    GOOD(dart_group_union(a, b, &both));
    check_members(both, 8, (int[]){0, 3, 6, 9, 12, 19, 26, 33});
    GOOD(dart_group_intersect(a, b, &made));
    check_members(made, 1, (int[]){12});
    GOOD(dart_group_destroy(&made));
    GOOD(dart_group_clone(a, &made));
    GOOD(dart_group_delmember(made, DART_GLOBAL_UNIT_ID(3)));
    GOOD(dart_group_delmember(made, DART_GLOBAL_UNIT_ID(4)));
    check_members(made, 4, (int[]){0, 6, 9, 12});
    GOOD(dart_group_ismember(made, DART_GLOBAL_UNIT_ID(3), &there));
    CHECK(!there);
    GOOD(dart_group_ismember(a, DART_GLOBAL_UNIT_ID(3), &there));
    CHECK(there);
    GOOD(dart_group_split(both, 3, &count, parts));
    CHECK(count == 3);
    check_members(parts[0], 3, (int[]){0, 3, 6});
    check_members(parts[1], 3, (int[]){9, 12, 19});
    check_members(parts[2], 2, (int[]){26, 33});
    for (int i = 0; i < 3; i++)
        GOOD(dart_group_destroy(&parts[i]));
    BAD(dart_group_addmember(a, DART_GLOBAL_UNIT_ID(-1)));
    BAD(dart_group_size(DART_GROUP_NULL, &count));
    GOOD(dart_group_destroy(&a));
    GOOD(dart_group_destroy(&b));
    GOOD(dart_group_destroy(&both));
    GOOD(dart_group_destroy(&made));
    CHECK(made == DART_GROUP_NULL);
}

/* Memory of a team, in which unit i of it writes to unit i + 1. */
static void use(dart_team_t team, int me, int members)
{
    dart_gptr_t g, own;
    void *address;
    int value = 1000 * team + me;

    GOOD(dart_team_memalloc_aligned(team, 4, DART_TYPE_INT, &g));
    CHECK(g.teamid == team && g.unitid == 0);
    own = g;
    GOOD(dart_gptr_setunit(&g, DART_TEAM_UNIT_ID((me + 1) % members)));
    GOOD(dart_put_blocking(g, &value, 1, DART_TYPE_INT, DART_TYPE_INT));
    GOOD(dart_barrier(team));
    GOOD(dart_gptr_setunit(&own, DART_TEAM_UNIT_ID(me)));
    GOOD(dart_gptr_getaddr(own, &address));
    CHECK(address != NULL);
    GOOD(dart_get_blocking(&value, own, 1, DART_TYPE_INT, DART_TYPE_INT));
    CHECK(value == 1000 * team + (me + members - 1) % members);
    BAD(dart_team_destroy(&(dart_team_t){team}));
    GOOD(dart_team_memfree(own));
}

/* Halves, and below them the halves of the first half, which the others know nothing of. */
static void teams(void)
{
    const int first = (units + 1) / 2, lower = unit < first;
    dart_group_t half = lower ? group_of(0, first, 1) : group_of(first, units - first, 1), all;
    dart_team_t team, quarter, copy, other;
    dart_team_unit_t me;
    dart_global_unit_t global;
    size_t size;

    GOOD(dart_team_create(DART_TEAM_ALL, half, &team));
    GOOD(dart_team_myid(team, &me));
    GOOD(dart_team_size(team, &size));
    CHECK(me.id == (lower ? unit : unit - first));
    CHECK(size == (size_t)(lower ? first : units - first));
    GOOD(dart_team_unit_l2g(team, me, &global));
    CHECK(global.id == unit);
    GOOD(dart_team_unit_g2l(team, DART_GLOBAL_UNIT_ID(lower ? units : 0), &me));
    CHECK(me.id == DART_UNDEFINED_UNIT_ID);
    BAD(dart_team_unit_l2g(team, DART_TEAM_UNIT_ID(units), &global));
    GOOD(dart_team_myid(team, &me));
    use(team, me.id, (int)size);
    if (lower) {
        dart_group_t one = group_of(unit / 2 * 2, unit / 2 * 2 + 1 < first ? 2 : 1, 1);
        GOOD(dart_team_create(team, one, &quarter));
        CHECK(quarter != team && quarter != DART_TEAM_ALL);
        GOOD(dart_team_size(quarter, &size));
        use(quarter, unit % 2, (int)size);
        GOOD(dart_team_destroy(&quarter));
        CHECK(quarter == DART_TEAM_NULL);
        GOOD(dart_group_destroy(&one));
    }
    /* One after the other, as units that are not in it see it. */
    GOOD(dart_team_create(DART_TEAM_ALL, lower ? half : DART_GROUP_NULL, &other));
    CHECK((other == DART_TEAM_NULL) == !lower && other != team);
    if (lower)
        GOOD(dart_team_destroy(&other));
    GOOD(dart_team_clone(team, &copy));
    GOOD(dart_team_get_group(copy, &all));
    GOOD(dart_team_size(copy, &size));
    GOOD(dart_group_size(all, &size));
    CHECK(size == (size_t)(lower ? first : units - first));
    GOOD(dart_group_destroy(&all));
    GOOD(dart_team_destroy(&copy));
    GOOD(dart_team_destroy(&team));
    CODE(DART_ERR_NOTFOUND, dart_team_size(team, &size));
    BAD(dart_team_destroy(&(dart_team_t){DART_TEAM_ALL}));
    GOOD(dart_group_destroy(&half));
}

/* Unit 1 does not want unit 2. */
static void disagree(void)
{
    dart_group_t group = group_of(0, unit == 1 ? 2 : 3, 1);
    dart_team_t team = 77;

    if (unit < 3)
        BAD(dart_team_create(DART_TEAM_ALL, group, &team));
    else
        GOOD(dart_team_create(DART_TEAM_ALL, group, &team));
    CHECK(team == (unit < 3 ? 77 : DART_TEAM_NULL));
    GOOD(dart_group_destroy(&group));
}

/* Not freed; and made and freed more often than there are numbers. */
static void many(void)
{
    dart_group_t all;
    dart_team_t team, before = -1;

    GOOD(dart_team_get_group(DART_TEAM_ALL, &all));
    for (int i = 0; i < 100; i++) {
        GOOD(dart_team_create(DART_TEAM_ALL, all, &team));
        CHECK(team > before);
        before = team;
    }
    GOOD(dart_barrier(team));
    for (int i = 0; i < 300; i++) {
        GOOD(dart_team_create(DART_TEAM_ALL, all, &team));
        CHECK(team == before + 1);
        GOOD(dart_team_destroy(&team));
    }
    GOOD(dart_group_destroy(&all));
}

static void locality(void)
{
    dart_domain_locality_t *domain, *host, *copy, **list;
    dart_unit_locality_t *place;
    dart_group_t all, parts[64];
    size_t count;
    int found;
    char **tags;

    GOOD(dart_domain_team_locality(DART_TEAM_ALL, ".", &domain));
    CHECK(domain->scope == DART_LOCALITY_SCOPE_GLOBAL && domain->num_units == units);
    CHECK(domain->num_nodes >= 1 && domain->num_domains == domain->num_nodes);
    GOOD(dart_unit_locality(DART_TEAM_ALL, DART_TEAM_UNIT_ID(unit), &place));
    CHECK(place->unit.id == unit && place->hwinfo.num_scopes == 4 && place->hwinfo.num_cores > 0);
    GOOD(dart_domain_find(domain, place->domain_tag, &host));
    CHECK(host->scope == DART_LOCALITY_SCOPE_CORE && host->level == 3 &&
          host->unit_ids[0].id == unit && host->num_domains == 0 && host->children == NULL &&
          host->parent->scope == DART_LOCALITY_SCOPE_UNIT);
    GOOD(dart_domain_scope_tags(domain, DART_LOCALITY_SCOPE_UNIT, &found, &tags));
    CHECK(found == units);
    for (int i = 0; i < found; i++)
        free(tags[i]);
    free(tags);
    GOOD(dart_domain_scope_domains(domain, DART_LOCALITY_SCOPE_NODE, &found, &list));
    CHECK(found == domain->num_nodes && list[0]->parent == domain);
    free(list);
    GOOD(dart_team_get_group(DART_TEAM_ALL, &all));
    GOOD(dart_group_locality_split(all, domain, DART_LOCALITY_SCOPE_UNIT, 2, &count, parts));
    CHECK(count == (units > 1 ? 2u : 1u));
    for (size_t i = 0; i < count; i++)
        GOOD(dart_group_destroy(&parts[i]));
    GOOD(dart_group_destroy(&all));
    GOOD(dart_domain_clone(domain, &copy));
    GOOD(dart_domain_create(&host));
    GOOD(dart_domain_assign(host, copy));
    GOOD(dart_domain_destroy(copy));
    CHECK(host->num_units == units && strcmp(host->children[0]->domain_tag, ".0") == 0);
    GOOD(dart_domain_assign(host, host->children[0])); /* its own child, then itself */
    GOOD(dart_domain_assign(host, host));
    CHECK(host->parent == NULL && strcmp(host->domain_tag, ".0") == 0 &&
          host->children[0]->parent == host);
    BAD(dart_domain_add_subdomain(host, host, 0));
    BAD(dart_domain_move_subdomain(host, host, 0));
    BAD(dart_domain_group(host, 0, NULL, NULL));
    GOOD(dart_domain_destroy(host));
    GOOD(dart_team_locality_finalize(DART_TEAM_ALL));
    GOOD(dart_team_locality_init(DART_TEAM_ALL));
}

/* What is not found is nothing, whatever was in its place. */
static void not_found(void)
{
    dart_domain_locality_t *top, *one = (void *)&top, **list = &one;
    dart_unit_locality_t *place = (void *)&top;
    dart_group_t all, parts[2];
    char **tags = (char **)&top;
    size_t groups = 7;
    int count = 77;

    GOOD(dart_domain_team_locality(DART_TEAM_ALL, ".", &top));
    CODE(DART_ERR_NOTFOUND,
         dart_domain_scope_domains(top, DART_LOCALITY_SCOPE_NUMA, &count, &list));
    CHECK(count == 0 && list == NULL);
    count = 77;
    CODE(DART_ERR_NOTFOUND, dart_domain_scope_tags(top, DART_LOCALITY_SCOPE_NUMA, &count, &tags));
    CHECK(count == 0 && tags == NULL);
    CODE(DART_ERR_NOTFOUND, dart_domain_find(top, ".99", &one));
    CHECK(one == NULL);
    one = top;
    CODE(DART_ERR_NOTFOUND, dart_domain_team_locality(DART_TEAM_ALL, ".99", &one));
    CHECK(one == NULL);
    one = top;
    CODE(DART_ERR_NOTFOUND, dart_domain_team_locality(249, ".", &one));
    CHECK(one == NULL);
    CODE(DART_ERR_NOTFOUND, dart_unit_locality(249, DART_TEAM_UNIT_ID(0), &place));
    CHECK(place == NULL);
    place = (void *)&top;
    BAD(dart_unit_locality(DART_TEAM_ALL, DART_TEAM_UNIT_ID(units), &place));
    CHECK(place == NULL);
    GOOD(dart_team_get_group(DART_TEAM_ALL, &all));
    CODE(DART_ERR_NOTFOUND,
         dart_group_locality_split(all, top, DART_LOCALITY_SCOPE_NUMA, 2, &groups, parts));
    CHECK(groups == 0);
    GOOD(dart_group_destroy(&all));
}

/* A copy's units are those of its cores, in order, and so all the way up. */
static int check_tree(const dart_domain_locality_t *domain)
{
    int cores = domain->num_domains == 0;

    CHECK((domain->num_domains == 0) == (domain->children == NULL));
    for (int i = 0, u = 0; i < domain->num_domains; i++) {
        const dart_domain_locality_t *const child = domain->children[i];
        CHECK(child->parent == domain && child->relative_index == i);
        for (int j = 0; j < child->num_units; j++)
            CHECK(domain->unit_ids[u++].id == child->unit_ids[j].id);
        cores += check_tree(child);
    }
    CHECK(domain->num_units == cores);
    CHECK(domain->scope != DART_LOCALITY_SCOPE_GLOBAL || domain->num_nodes == domain->num_domains);
    return cores;
}

/* Parts of a domain: without this unit's, of this unit alone, and all split up. */
static void parts(void)
{
    dart_domain_locality_t *team, *copy, *found, split[64];
    dart_unit_locality_t *place;
    int all = 0;

    GOOD(dart_domain_team_locality(DART_TEAM_ALL, ".", &team));
    CHECK(check_tree(team) == units);
    GOOD(dart_unit_locality(DART_TEAM_ALL, DART_TEAM_UNIT_ID(unit), &place));
    const char *tags[] = {"no such domain", place->domain_tag};
    GOOD(dart_domain_clone(team, &copy));
    GOOD(dart_domain_exclude(copy, 1, tags));
    CHECK(copy->num_units == units);
    if (units > 1) {
        GOOD(dart_domain_exclude(copy, 2, tags));
        CHECK(check_tree(copy) == units - 1 && team->num_units == units);
        CODE(DART_ERR_NOTFOUND, dart_domain_find(copy, place->domain_tag, &found));
    }
    GOOD(dart_domain_assign(copy, team));
    GOOD(dart_domain_select(copy, 2, tags));
    CHECK(check_tree(copy) == 1 && copy->unit_ids[0].id == unit && copy->num_domains == 1);
    GOOD(dart_domain_find(copy, place->domain_tag, &found));
    BAD(dart_domain_select(copy, 1, NULL));
    BAD(dart_domain_exclude(copy, -1, tags));
    GOOD(dart_domain_destroy(copy));

    for (int n = 1; n <= units; n++) {
        GOOD(dart_domain_split_scope(team, DART_LOCALITY_SCOPE_CORE, n, split));
        all = 0;
        for (int i = 0; i < n; i++) {
            CHECK(split[i].num_units >= units / n && split[i].unit_ids[0].id == all);
            all += check_tree(&split[i]);
            GOOD(dart_domain_clone(&split[i], &copy));
            GOOD(dart_domain_destroy(copy));
            GOOD(dart_domain_create(&copy));
            GOOD(dart_domain_assign(&split[i], copy)); /* frees what it holds */
            GOOD(dart_domain_destroy(copy));
            free(split[i].unit_ids);
        }
        CHECK(all == units);
    }
    BAD(dart_domain_split_scope(team, DART_LOCALITY_SCOPE_CORE, units + 1, split));
    BAD(dart_domain_split_scope(team, DART_LOCALITY_SCOPE_CORE, 0, split));
    CODE(DART_ERR_NOTFOUND, dart_domain_split_scope(team, DART_LOCALITY_SCOPE_NUMA, 1, split));
}

static void run(void)
{
    groups();
    if (units > 1)
        teams();
    if (units > 2)
        disagree();
    many();
    locality();
    not_found();
    parts();
}
