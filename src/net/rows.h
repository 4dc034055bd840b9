/*
 * net/rows.h - several rows of a put as one message: this, and behind it the rows, one after the
 * other. Pure functions, so that they can be fuzzed.
 */
#ifndef WEFT_NET_ROWS_H
#define WEFT_NET_ROWS_H

#include "net/net.h"

#include <assert.h>

struct weft_net_rows {
    uint64_t pitch; /* from a row to the next in the region */
    uint64_t rows;
};
static_assert(sizeof(struct weft_net_rows) == 16, "the same on both sides");

/* Both, of a put that has several rows. Returns how many bytes they take. */
size_t weft_net_rows_pack(unsigned char *to, const struct weft_net_put *put);

/* NULL: so many bytes of data are these rows, from `offset` on; else what is wrong with them. */
static inline const char *weft_net_rows_wrong(const struct weft_net_rows *r, uint64_t bytes,
                                              uint64_t offset)
{
    if (r->rows == 0 || r->rows > bytes || bytes % r->rows != 0)
        return "rows that are not its data";
    if (r->pitch < bytes / r->rows || r->pitch > UINT64_MAX / r->rows)
        return "rows that overlap, or wrap";
    return offset > UINT64_MAX - r->rows * r->pitch ? "an offset that wraps" : NULL;
}

#endif
