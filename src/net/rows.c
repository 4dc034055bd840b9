/* rows.c - packing them; see rows.h. Pure: any thread. */
#include "net/rows.h"

#include "order/atomic.h"

#include <string.h>

size_t weft_net_rows_pack(unsigned char *to, const struct weft_net_put *put)
{
    const struct weft_net_rows rows = {put->pitch, put->rows};

    memcpy(to, &rows, sizeof(rows));
    for (size_t i = 0; i < put->rows; i++)
        weft_read_shared(to + sizeof(rows) + i * put->bytes,
                         (const unsigned char *)put->source + i * put->source_pitch, put->bytes);
    return sizeof(rows) + put->rows * put->bytes;
}
