/* net/registry.c - lists the transports, one line each. Any thread calls it. */
#include "net/transport.h"

#include <string.h>

static const struct weft_transport_ops *const tables[] = {
    &weft_transport_shm,
#ifdef WEFT_HAVE_OFI
    &weft_transport_ofi,
#endif
#ifdef WEFT_HAVE_VERBS
    &weft_transport_verbs,
#endif
    &weft_transport_mpi,   NULL,
};

const struct weft_transport_ops *weft_transport_at(int i)
{
    return tables[i];
}

const struct weft_transport_ops *weft_transport_find(const char *name)
{
    int i = 0;

    while (tables[i] != NULL && strcmp(tables[i]->name, name) != 0)
        i++;
    return tables[i];
}

bool weft_transport_is_here(const struct weft_transport_ops *transport, char *text, size_t bytes)
{
    text[0] = 0;
    return transport->here == NULL || transport->here(text, bytes);
}
