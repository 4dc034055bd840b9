/*
 * msg/unexpected.h - messages that no receive fits: what is kept of each, and the memory for it.
 *
 * A record has the message's head, and its bytes if they are few; more bytes are memory of their
 * own, whose senders stay within their credit (msg.h). Records are reused; their memory goes with
 * the pool.
 */
#ifndef WEFT_MSG_UNEXPECTED_H
#define WEFT_MSG_UNEXPECTED_H

#include "abi/message.h"
#include "msg/match.h"

#include <assert.h>

struct weft_unexpected {
    struct weft_kept kept; /* first: matching knows it by that */
    uint64_t bytes;        /* of the message */
    uint64_t request;      /* the sender's */
    struct weft_mail_head head;
    union {
        unsigned char within[WEFT_MAIL_WITHIN]; /* count bytes */
        unsigned char *payload;                 /* more of them */
        uint64_t offer;                         /* of OFFER */
        struct weft_unexpected *next;           /* free */
    } data;
};
static_assert(sizeof(struct weft_unexpected) <= 96, "a million of them fit 128 MiB");

struct weft_unexpected_pool {
    struct weft_unexpected *idle;
    struct weft_unexpected_block *blocks;
};

/* What came, with its payload copied. NULL: no memory. */
struct weft_unexpected *weft_unexpected_make(struct weft_unexpected_pool *pool, int32_t from,
                                             struct weft_mail_head head,
                                             const struct weft_mail_text *text,
                                             const void *payload);
void weft_unexpected_free(struct weft_unexpected_pool *pool, struct weft_unexpected *unexpected);
/* All records; those in use have been freed. */
void weft_unexpected_close(struct weft_unexpected_pool *pool);

static inline const unsigned char *weft_unexpected_payload(const struct weft_unexpected *unexpected)
{
    return unexpected->head.count <= WEFT_MAIL_WITHIN ? unexpected->data.within
                                                      : unexpected->data.payload;
}

#endif
