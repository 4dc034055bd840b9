/*
 * fuzz_mpi.c - headers of the network mpi: what is taken is whole, and says itself again to the
 * byte; its payload is there, or of a length that a message of its own may have.
 */
#include "fuzz.h"

#include "net/mpi/message.h"
#include "net/rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char again[WEFT_NET_MPI_HEADER_BYTES];
    struct weft_net_mpi_message message;

    if (weft_net_mpi_message_get(&message, data, size) != NULL)
        return 0;
    MUST(size >= WEFT_NET_MPI_HEADER_BYTES);
    MUST(message.kind >= WEFT_NET_MPI_PUT && message.kind <= WEFT_NET_MPI_ROWS);
    if (message.kind == WEFT_NET_MPI_ROWS) {
        struct weft_net_rows rows;
        memcpy(&rows, data + WEFT_NET_MPI_HEADER_BYTES, sizeof(rows));
        MUST(size >= WEFT_NET_MPI_HEADER_BYTES + sizeof(rows) && rows.rows > 0 &&
             (size - WEFT_NET_MPI_HEADER_BYTES - sizeof(rows)) % rows.rows == 0 &&
             message.offset + rows.rows * rows.pitch >= rows.rows);
    }
    if (message.kind == WEFT_NET_MPI_PUT || message.kind == WEFT_NET_MPI_ROWS)
        MUST(message.bytes == size - WEFT_NET_MPI_HEADER_BYTES);
    else
        MUST(size == WEFT_NET_MPI_HEADER_BYTES && message.bytes <= WEFT_NET_MPI_PIECE);
    weft_net_mpi_message_put(again, &message);
    MUST(memcmp(again, data, sizeof(again)) == 0);
    return 0;
}
