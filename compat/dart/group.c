/* compat/dart/group.c - groups: sets of numbers. */
#include "internal.h"

static int count(const struct dart_group_struct *group)
{
    int members = 0;

    for (int w = 0; w < WEFTDART_WORDS; w++)
        members += __builtin_popcountll(group->bit[w]);
    return members;
}

/* Returns the member after `unit`; -1: there is none. */
static int next(const struct dart_group_struct *group, int unit)
{
    for (unit++; unit < WEFTDART_UNITS; unit++)
        if (weftdart_in(group, unit))
            return unit;
    return -1;
}

static dart_ret_t check_unit(dart_global_unit_t unit)
{
    return unit.id >= 0 && unit.id < WEFTDART_UNITS ? DART_OK : INVALID("unit %d", unit.id);
}

dart_ret_t weftdart_new_group(const struct dart_group_struct *members, dart_group_t *made)
{
    TRY_THERE(made);
    struct dart_group_struct *const group = malloc(sizeof(*group));
    TRY_MEMORY(group);
    *group = *members;
    *made = group;
    return DART_OK;
}

CALL(dart_group_create, (dart_group_t * group),
     weftdart_new_group(&(struct dart_group_struct){{0}}, group))

dart_ret_t dart_group_destroy(dart_group_t *group)
{
    TRY_PLACES(group);
    free(*group);
    *group = DART_GROUP_NULL;
    return DART_OK;
}

dart_ret_t weftdart_join(const struct dart_group_struct *a, const struct dart_group_struct *b,
                         bool both, struct dart_group_struct *made)
{
    TRY_THERE(a, b, made);
    for (int w = 0; w < WEFTDART_WORDS; w++)
        made->bit[w] = both ? a->bit[w] & b->bit[w] : a->bit[w] | b->bit[w];
    return DART_OK;
}

/* Makes a new group of the members of either, or of both. */
static dart_ret_t new_join(const struct dart_group_struct *a, const struct dart_group_struct *b,
                           bool both, dart_group_t *made)
{
    struct dart_group_struct joined;

    TRY(weftdart_join(a, b, both, &joined));
    return weftdart_new_group(&joined, made);
}

CALL(dart_group_clone, (const dart_group_t group, dart_group_t *copy),
     new_join(group, group, false, copy))

CALL(dart_group_union, (const dart_group_t a, const dart_group_t b, dart_group_t *made),
     new_join(a, b, false, made))

CALL(dart_group_intersect, (const dart_group_t a, const dart_group_t b, dart_group_t *made),
     new_join(a, b, true, made))

dart_ret_t dart_group_addmember(dart_group_t group, dart_global_unit_t unit)
{
    TRY_PLACES(group);
    TRY(check_unit(unit));
    weftdart_add(group, unit.id);
    return DART_OK;
}

dart_ret_t dart_group_delmember(dart_group_t group, dart_global_unit_t unit)
{
    TRY_PLACES(group);
    TRY(check_unit(unit));
    group->bit[unit.id / 64] &= ~((uint64_t)1 << unit.id % 64);
    return DART_OK;
}

dart_ret_t dart_group_ismember(const dart_group_t group, dart_global_unit_t unit, int32_t *ismember)
{
    TRY_PLACES(group, ismember);
    TRY(check_unit(unit));
    *ismember = weftdart_in(group, unit.id);
    return DART_OK;
}

dart_ret_t dart_group_size(const dart_group_t group, size_t *size)
{
    TRY_PLACES(group, size);
    *size = (size_t)count(group);
    return DART_OK;
}

dart_ret_t dart_group_getmembers(const dart_group_t group, dart_global_unit_t *units)
{
    TRY_PLACES(group, units);
    for (int unit = next(group, -1); unit >= 0; unit = next(group, unit))
        (units++)->id = unit;
    return DART_OK;
}

dart_ret_t dart_group_split(const dart_group_t group, size_t n, size_t *count_made,
                            dart_group_t *groups)
{
    TRY_PLACES(group, count_made, groups);
    const size_t members = (size_t)count(group), most = n < members ? n : members;
    if (n == 0)
        return INVALID("into 0 groups");
    int unit = -1;
    for (size_t i = 0; i < most; i++) {
        TRY(dart_group_create(&groups[i]));
        for (size_t left = members / most + (i < members % most); left > 0; left--) {
            unit = next(group, unit);
            weftdart_add(groups[i], unit);
        }
    }
    *count_made = most;
    return DART_OK;
}

dart_ret_t dart_group_locality_split(const dart_group_t group, dart_domain_locality_t *domain,
                                     dart_locality_scope_t scope, size_t n, size_t *count_made,
                                     dart_group_t *groups)
{
    FREED dart_domain_locality_t **domains = NULL;
    int found;

    TRY_PLACES(group, domain, count_made, groups);
    if (n == 0)
        return INVALID("into 0 groups");
    *count_made = 0;
    TRY(dart_domain_scope_domains(domain, scope, &found, &domains));
    const size_t most = n < (size_t)found ? n : (size_t)found;
    for (size_t i = 0; i < most; i++) {
        const size_t first = i * (size_t)found / most, end = (i + 1) * (size_t)found / most;
        TRY(dart_group_create(&groups[i]));
        for (size_t d = first; d < end; d++)
            for (int u = 0; u < domains[d]->num_units; u++)
                if (weftdart_in(group, domains[d]->unit_ids[u].id))
                    weftdart_add(groups[i], domains[d]->unit_ids[u].id);
    }
    *count_made = most;
    return DART_OK;
}
