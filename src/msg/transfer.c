/* msg/transfer.c - see the header. Callers hold the lock. */
#include "msg/transfer.h"

#include <stdlib.h>
#include <string.h>

bool weft_transfer_grow(struct weft_transfer_table *table)
{
    const size_t bytes = WEFT_TRANSFER_BLOCK * sizeof(struct weft_transfer);
    struct weft_transfer *block = aligned_alloc(_Alignof(struct weft_transfer), bytes);
    struct weft_transfer **blocks =
        realloc(table->blocks, (table->count + 1) * sizeof(struct weft_transfer *));

    if (blocks != NULL)
        table->blocks = blocks;
    if (block == NULL || blocks == NULL) {
        free(block);
        return false;
    }
    memset(block, 0, bytes);
    blocks[table->count] = block;
    for (uint32_t i = WEFT_TRANSFER_BLOCK; i-- > 0;) {
        block[i].index = table->count * WEFT_TRANSFER_BLOCK + i;
        block[i].link.stqe_next = table->idle;
        table->idle = &block[i];
    }
    table->count++;
    return true;
}

struct weft_transfer *weft_transfer_next(const struct weft_transfer_table *table,
                                         const struct weft_transfer *transfer)
{
    struct weft_transfer *next;

    for (uint32_t i = transfer == NULL ? 0 : transfer->index + 1;
         (next = weft_transfer_at(table, i)) != NULL; i++)
        if (next->state != WEFT_TRANSFER_FREE)
            return next;
    return NULL;
}

void weft_transfer_table_close(struct weft_transfer_table *table)
{
    for (uint32_t i = 0; i < table->count; i++)
        free(table->blocks[i]);
    free(table->blocks);
}

bool weft_transfer_uses(const struct weft_transfer_table *table,
                        const struct weft_msg_context *context)
{
    const struct weft_transfer *transfer = NULL;

    while ((transfer = weft_transfer_next(table, transfer)) != NULL)
        if (transfer->context == context)
            return true;
    return false;
}
