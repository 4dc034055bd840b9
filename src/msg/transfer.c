/* msg/transfer.c - see the header. Lock held. */
#include "msg/transfer.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64 };

static bool grow(struct weft_transfer_table *table)
{
    struct weft_transfer *block = calloc(BLOCK, sizeof(*block));
    struct weft_transfer **blocks =
        realloc(table->blocks, (table->count + 1) * sizeof(struct weft_transfer *));

    if (blocks != NULL)
        table->blocks = blocks;
    if (block == NULL || blocks == NULL) {
        free(block);
        return false;
    }
    blocks[table->count] = block;
    for (uint32_t i = BLOCK; i-- > 0;) {
        block[i].index = table->count * BLOCK + i;
        block[i].link.stqe_next = table->idle;
        table->idle = &block[i];
    }
    table->count++;
    return true;
}

struct weft_transfer *weft_transfer_take(struct weft_transfer_table *table,
                                         enum weft_transfer_state state)
{
    if (table->idle == NULL && !grow(table))
        return NULL;
    struct weft_transfer *transfer = table->idle;
    const uint32_t index = transfer->index, generation = transfer->generation + 1;

    table->idle = transfer->link.stqe_next;
    table->used++;
    memset(transfer, 0, sizeof(*transfer));
    transfer->index = index;
    transfer->generation = generation == 0 ? 1 : generation; /* an operation is never all zero */
    transfer->state = state;
    return transfer;
}

void weft_transfer_give(struct weft_transfer_table *table, struct weft_transfer *transfer)
{
    transfer->state = WEFT_TRANSFER_FREE;
    transfer->link.stqe_next = table->idle;
    table->idle = transfer;
    table->used--;
}

static struct weft_transfer *at(const struct weft_transfer_table *table, uint32_t index)
{
    return index / BLOCK < table->count ? &table->blocks[index / BLOCK][index % BLOCK] : NULL;
}

struct weft_transfer *weft_transfer_find(const struct weft_transfer_table *table, uint64_t number)
{
    struct weft_transfer *transfer = at(table, (uint32_t)number);

    return transfer != NULL && transfer->state != WEFT_TRANSFER_FREE &&
                   transfer->generation == (uint32_t)(number >> 32)
               ? transfer
               : NULL;
}

struct weft_transfer *weft_transfer_next(const struct weft_transfer_table *table,
                                         const struct weft_transfer *transfer)
{
    struct weft_transfer *next;

    for (uint32_t i = transfer == NULL ? 0 : transfer->index + 1; (next = at(table, i)) != NULL;
         i++)
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
