/* net/registry.c - the back ends, one line each, and the defaults for what they leave out. Any
 * thread. */
#include "net/net.h"

#include <pthread.h>
#include <string.h>

static const struct weft_net_ops *const tables[] = {
    &weft_net_shm,
#ifdef WEFT_HAVE_OFI
    &weft_net_ofi,
#endif
#ifdef WEFT_HAVE_VERBS
    &weft_net_verbs,
#endif
    &weft_net_mpi,   &weft_net_null,
};

enum { TABLES = sizeof(tables) / sizeof(tables[0]) };

static bool always_here(char *text, size_t bytes)
{
    (void)bytes;
    text[0] = 0;
    return true;
}

/* For back ends whose puts always report `landed` without being asked. */
static weft_status flush_is_automatic(struct weft_net *net, int process)
{
    (void)net, (void)process;
    return WEFT_OK;
}

/* For back ends whose keys say it all. */
static void no_place(struct weft_net *net, uint64_t key, uint64_t place[2])
{
    (void)net, (void)key;
    place[0] = place[1] = 0;
}

static struct weft_bell *no_bell(struct weft_net *net, enum weft_net_side side)
{
    (void)net, (void)side;
    return NULL;
}

static struct weft_net_ops complete[TABLES];

static void fill_in(void)
{
    for (int i = 0; i < TABLES; i++) {
        struct weft_net_ops *ops = &complete[i];
        *ops = *tables[i];
        if (ops->here == NULL)
            ops->here = always_here;
        if (ops->flush == NULL)
            ops->flush = flush_is_automatic;
        if (ops->place == NULL)
            ops->place = no_place;
        if (ops->bell == NULL)
            ops->bell = no_bell;
    }
}

const struct weft_net_ops *weft_net_at(int i)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, fill_in);
    return i >= 0 && i < TABLES ? &complete[i] : NULL;
}

const struct weft_net_ops *weft_net_find(const char *name)
{
    for (int i = 0; i < TABLES; i++)
        if (strcmp(tables[i]->name, name) == 0)
            return weft_net_at(i);
    return NULL;
}
