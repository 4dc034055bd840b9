/*
 * net/receipt.h - receipts: of what one end numbers and sends, so many have taken effect at the
 * other end, which says so. All numbers go round.
 */
#ifndef WEFT_NET_RECEIPT_H
#define WEFT_NET_RECEIPT_H

#include <stdbool.h>
#include <stdint.h>

enum weft_receipt {
    WEFT_RECEIPT_OLD, /* nothing new: one that was overtaken may come late */
    WEFT_RECEIPT_NEW,
    WEFT_RECEIPT_FALSE /* more than were sent */
};

/* Of `sent` the other end says that `said` have taken effect; `known`: what it said before. */
static inline enum weft_receipt weft_receipt_check(uint32_t known, uint32_t sent, uint32_t said)
{
    if ((int32_t)(said - known) <= 0)
        return WEFT_RECEIPT_OLD;
    return said - known <= sent - known ? WEFT_RECEIPT_NEW : WEFT_RECEIPT_FALSE;
}

/* A receipt waits to be taken along by what goes there anyway, but not for ever. */
static inline bool weft_receipt_due(uint32_t owed, uint32_t most, uint64_t waits, uint64_t patience)
{
    return owed >= most || waits >= patience;
}

#endif
