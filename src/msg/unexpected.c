/* msg/unexpected.c - see the header. Lock held. */
#include "msg/unexpected.h"

#include "order/atomic.h"

#include <stdlib.h>
#include <string.h>

enum { RECORDS = 512 /* of a block */ };

struct weft_unexpected_block {
    struct weft_unexpected_block *next;
    struct weft_unexpected record[RECORDS];
};

/* A free record; NULL: no memory. */
static struct weft_unexpected *take_free(struct weft_unexpected_pool *pool)
{
    struct weft_unexpected *taken = pool->idle;

    if (taken == NULL) {
        struct weft_unexpected_block *block = malloc(sizeof(*block));
        if (block == NULL)
            return NULL;
        block->next = pool->blocks;
        pool->blocks = block;
        for (int i = RECORDS; i-- > 0;) {
            block->record[i].data.next = taken;
            taken = &block->record[i];
        }
    }
    pool->idle = taken->data.next;
    return taken;
}

static void give(struct weft_unexpected_pool *pool, struct weft_unexpected *record)
{
    record->data.next = pool->idle;
    pool->idle = record;
}

struct weft_unexpected *weft_unexpected_make(struct weft_unexpected_pool *pool, int32_t from,
                                             struct weft_mail_head head,
                                             const struct weft_mail_text *text, const void *payload)
{
    struct weft_unexpected *made = take_free(pool);

    if (made == NULL)
        return NULL;
    made->kept.from = from;
    made->kept.tag = text->tag;
    made->bytes = text->bytes;
    made->request = text->request;
    made->head = head;
    if (head.kind == WEFT_MAIL_OFFER) {
        made->data.offer = text->data.offer;
    } else if (head.count <= WEFT_MAIL_WITHIN) {
        if (head.count != 0)
            memcpy(made->data.within, payload, head.count);
    } else {
        made->data.payload = malloc(head.count);
        if (made->data.payload == NULL) {
            give(pool, made);
            return NULL;
        }
        weft_read_shared(made->data.payload, payload, head.count);
    }
    return made;
}

void weft_unexpected_free(struct weft_unexpected_pool *pool, struct weft_unexpected *unexpected)
{
    if (unexpected->head.kind == WEFT_MAIL_EAGER && unexpected->head.count > WEFT_MAIL_WITHIN)
        free(unexpected->data.payload);
    give(pool, unexpected);
}

void weft_unexpected_close(struct weft_unexpected_pool *pool)
{
    while (pool->blocks != NULL) {
        struct weft_unexpected_block *block = pool->blocks;
        pool->blocks = block->next;
        free(block);
    }
    pool->idle = NULL;
}
