/* net/mpi/message.c - see the header. Pure: any thread. */
#include "net/mpi/message.h"

#include "net/rows.h"

#include <string.h>

static const uint32_t MAGIC = 0x7765f702; /* the last byte counts versions */

void weft_net_mpi_message_put(unsigned char wire[WEFT_NET_MPI_HEADER_BYTES],
                              const struct weft_net_mpi_message *message)
{
    struct weft_net_mpi_message w = *message;

    w.magic = MAGIC;
    memcpy(wire, &w, sizeof(w));
}

static const char *check_rows(const struct weft_net_mpi_message *w, const unsigned char *payload)
{
    struct weft_net_rows rows;

    if (w->bytes < sizeof(rows))
        return "no rows";
    memcpy(&rows, payload, sizeof(rows));
    return weft_net_rows_wrong(&rows, w->bytes - sizeof(rows), w->offset);
}

/* What a kind may carry: `payload` bytes behind the header. */
static const char *check(const struct weft_net_mpi_message *w, const unsigned char *behind,
                         size_t payload)
{
    if ((w->kind == WEFT_NET_MPI_PUT || w->kind == WEFT_NET_MPI_ROWS) && w->bytes != payload)
        return "its length is not what it announces";
    switch (w->kind) {
    case WEFT_NET_MPI_PUT:
        return NULL;
    case WEFT_NET_MPI_ROWS:
        return check_rows(w, behind);
    case WEFT_NET_MPI_LARGE:
        if (payload != 0)
            return "a header whose payload comes apart has one of its own";
        return w->bytes == 0 || w->bytes > WEFT_NET_MPI_PIECE ? "a piece of that length cannot be"
                                                              : NULL;
    case WEFT_NET_MPI_ACK:
    case WEFT_NET_MPI_BYE:
        if (payload != 0 || w->bytes != 0 || w->notice != 0 || w->key != 0 || w->offset != 0 ||
            w->sequence != 0)
            return "an acknowledgement that carries more";
        return NULL;
    default:
        return "no such kind";
    }
}

const char *weft_net_mpi_message_get(struct weft_net_mpi_message *message, const void *wire,
                                     size_t size)
{
    struct weft_net_mpi_message w;

    if (size < sizeof(w))
        return "shorter than a header";
    memcpy(&w, wire, sizeof(w));
    if (w.magic != MAGIC)
        return "no message of this weft";
    const char *wrong = check(&w, (const unsigned char *)wire + sizeof(w), size - sizeof(w));
    if (wrong == NULL)
        *message = w;
    return wrong;
}
