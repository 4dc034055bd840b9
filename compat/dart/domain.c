/*
 * compat/dart/domain.c - domains, which are trees: copies, parts and lists of them. locality.c
 * makes those of a team.
 */
#include "internal.h"

void weftdart_domain_clear(dart_domain_locality_t *domain)
{
    for (int i = 0; i < domain->num_domains; i++) {
        weftdart_domain_clear(domain->children[i]);
        free(domain->children[i]);
    }
    free(domain->children);
    free(domain->unit_ids);
    *domain = (dart_domain_locality_t){.scope = DART_LOCALITY_SCOPE_UNDEFINED, .node_id = -1};
}

bool weftdart_domain_room(dart_domain_locality_t *domain, int domains, int units)
{
    domain->children = domains > 0 ? calloc((size_t)domains, sizeof(*domain->children)) : NULL;
    domain->unit_ids = calloc((size_t)units + 1, sizeof(*domain->unit_ids));
    return (domain->children != NULL || domains == 0) && domain->unit_ids != NULL;
}

/* Makes target, which is empty, a copy of source below `parent`. */
static dart_ret_t copy(dart_domain_locality_t *target, const dart_domain_locality_t *source,
                       dart_domain_locality_t *parent)
{
    *target = *source;
    target->parent = parent;
    target->num_domains = 0;
    if (!weftdart_domain_room(target, source->num_domains, source->num_units))
        return weftdart_no_memory();
    for (int i = 0; i < source->num_units; i++)
        target->unit_ids[i] = source->unit_ids[i];
    for (int i = 0; i < source->num_domains; i++) {
        dart_domain_locality_t *const child = calloc(1, sizeof(*child));
        TRY_MEMORY(child);
        target->children[target->num_domains++] = child;
        TRY(copy(child, source->children[i], target));
    }
    return DART_OK;
}

static dart_domain_locality_t *find_tagged(dart_domain_locality_t *domain, const char *tag)
{
    dart_domain_locality_t *found = strcmp(domain->domain_tag, tag) == 0 ? domain : NULL;

    for (int i = 0; i < domain->num_domains && found == NULL; i++)
        found = find_tagged(domain->children[i], tag);
    return found;
}

dart_ret_t dart_domain_find(const dart_domain_locality_t *domain, const char *tag,
                            dart_domain_locality_t **found)
{
    TRY_PLACES(domain, tag, found);
    *found = find_tagged((dart_domain_locality_t *)(uintptr_t)domain, tag);
    return *found != NULL
               ? DART_OK
               : weftdart_refuse(DART_ERR_NOTFOUND, "no domain %s in %s", tag, domain->domain_tag);
}

dart_ret_t dart_domain_create(dart_domain_locality_t **domain)
{
    TRY_PLACES(domain);
    dart_domain_locality_t *const made = calloc(1, sizeof(*made));
    TRY_MEMORY(made);
    weftdart_domain_clear(made);
    *domain = made;
    return DART_OK;
}

dart_ret_t dart_domain_destroy(dart_domain_locality_t *domain)
{
    if (domain != NULL)
        weftdart_domain_clear(domain);
    free(domain);
    return DART_OK;
}

dart_ret_t dart_domain_assign(dart_domain_locality_t *domain, const dart_domain_locality_t *source)
{
    TRY_PLACES(domain, source);
    dart_domain_locality_t before = *domain; /* goes last: the source may be below it, or it */
    const dart_ret_t code = copy(domain, source != domain ? source : &before, NULL);
    if (code != DART_OK)
        weftdart_domain_clear(domain);
    weftdart_domain_clear(&before);
    return code;
}

dart_ret_t dart_domain_clone(const dart_domain_locality_t *domain, dart_domain_locality_t **made)
{
    dart_domain_locality_t *clone;

    TRY_PLACES(domain, made);
    TRY(dart_domain_create(&clone));
    const dart_ret_t code = dart_domain_assign(clone, domain);
    if (code == DART_OK)
        *made = clone;
    else
        dart_domain_destroy(clone);
    return code;
}

/* Lists the domains of a scope, in order; returns their number. list NULL: only counts. */
static int collect(dart_domain_locality_t *domain, dart_locality_scope_t scope,
                   dart_domain_locality_t **list)
{
    int count = 0;

    if (domain->scope == scope) {
        if (list != NULL)
            *list = domain;
        return 1;
    }
    for (int i = 0; i < domain->num_domains; i++)
        count += collect(domain->children[i], scope, list != NULL ? list + count : NULL);
    return count;
}

dart_ret_t dart_domain_scope_domains(const dart_domain_locality_t *domain,
                                     dart_locality_scope_t scope, int *count,
                                     dart_domain_locality_t ***domains)
{
    TRY_PLACES(domain, count, domains);
    *count = 0;
    *domains = NULL;
    dart_domain_locality_t *const top = (dart_domain_locality_t *)(uintptr_t)domain;
    const int found = collect(top, scope, NULL);
    if (found == 0)
        return weftdart_refuse(DART_ERR_NOTFOUND, "%s has no domain of scope %d",
                               domain->domain_tag, (int)scope);
    dart_domain_locality_t **const list = calloc((size_t)found, sizeof(dart_domain_locality_t *));
    TRY_MEMORY(list);
    collect(top, scope, list);
    *count = found;
    *domains = list;
    return DART_OK;
}

dart_ret_t dart_domain_scope_tags(const dart_domain_locality_t *domain, dart_locality_scope_t scope,
                                  int *count, char ***tags)
{
    FREED dart_domain_locality_t **domains = NULL;
    int found;

    TRY_PLACES(count, tags);
    *count = 0;
    *tags = NULL;
    TRY(dart_domain_scope_domains(domain, scope, &found, &domains));
    char **const texts = calloc((size_t)found, sizeof(*texts));
    bool good = texts != NULL;
    for (int i = 0; good && i < found; i++)
        good = (texts[i] = strdup(domains[i]->domain_tag)) != NULL;
    if (!good)
        return NAMED(weftdart_no_memory()); /* what there is of the texts is lost */
    *count = found;
    *tags = texts;
    return DART_OK;
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Keeps of a domain what is above, at or below one of the tags (selects), or all that is not at or
 * below one. Domains that lose all that was below go, too. False: the domain itself is to go. */
static bool prune(dart_domain_locality_t *domain, int count, const char **tags, bool selects)
{
    int kept = 0, cores = 0;

    for (int i = 0; i < count; i++)
        if (strcmp(domain->domain_tag, tags[i]) == 0)
            return selects;
    if (domain->num_domains == 0)
        return !selects;
    domain->num_units = 0;
    for (int i = 0; i < domain->num_domains; i++) {
        dart_domain_locality_t *const child = domain->children[i];
        if (!prune(child, count, tags, selects)) {
            weftdart_domain_clear(child);
            free(child);
            continue;
        }
        for (int u = 0; u < child->num_units; u++)
            domain->unit_ids[domain->num_units++] = child->unit_ids[u];
        cores += child->num_cores;
        child->relative_index = kept;
        domain->children[kept++] = child;
    }
    domain->num_domains = kept;
    if (domain->scope == DART_LOCALITY_SCOPE_GLOBAL) {
        domain->num_nodes = kept;
        domain->num_cores = cores;
    }
    return kept > 0;
}

#define KEEP(name, selects)                                                                        \
    dart_ret_t name(dart_domain_locality_t *domain, int count, const char **tags)                  \
    {                                                                                              \
        TRY_PLACES(domain);                                                                        \
        if (count < 0 || (tags == NULL && count > 0))                                              \
            return INVALID("%d tags", count);                                                      \
        prune(domain, count, tags, selects);                                                       \
        return DART_OK;                                                                            \
    }
KEEP(dart_domain_select, true)
KEEP(dart_domain_exclude, false)

dart_ret_t dart_domain_split_scope(const dart_domain_locality_t *domain,
                                   dart_locality_scope_t scope, int parts,
                                   dart_domain_locality_t *split)
{
    int found, made = 0;
    char **tags;

    TRY_PLACES(split);
    TRY(dart_domain_scope_tags(domain, scope, &found, &tags));
    dart_ret_t code =
        NAMED(parts > 0 && parts <= found ? DART_OK : INVALID("%d parts of %d", parts, found));
    for (; made < parts && code == DART_OK; made++) {
        const int first = made * found / parts, end = (made + 1) * found / parts;
        code = copy(&split[made], domain, NULL);
        if (code == DART_OK)
            prune(&split[made], end - first, (const char **)tags + first, true);
    }
    while (code != DART_OK && made > 0)
        weftdart_domain_clear(&split[--made]);
    while (found > 0)
        free(tags[--found]);
    free(tags);
    return code;
}

/* ---- not there ------------------------------------------------------------------------------- */

#pragma GCC diagnostic ignored "-Wunused-parameter"
#define ABSENT(name, ...) CALL(name, (__VA_ARGS__), INVALID("it is not there"))
ABSENT(dart_domain_add_subdomain, dart_domain_locality_t *domain, dart_domain_locality_t *subdomain,
       int index)
ABSENT(dart_domain_move_subdomain, dart_domain_locality_t *domain, dart_domain_locality_t *parent,
       int index)
ABSENT(dart_domain_group, dart_domain_locality_t *domain, int count, const char **tags,
       char *group_tag)
