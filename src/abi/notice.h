/*
 * abi/notice.h - the 32 bits that travel with a put and say whom to notify at the target.
 */
#ifndef WEFT_ABI_NOTICE_H
#define WEFT_ABI_NOTICE_H

#include "order/inline.h"

#include <stdint.h>

/*
 * kind: 4 bits, tag: 8 bits, slot: 20 bits. No notice at all is 0. This is the one list of kinds;
 * whoever applies one registers it (net/net.h). Kept free for layers to come: 6 QUEUE, 7 TASK;
 * 10 to 15 are free. 8 and 9 are remote's (remote/link/links.h).
 */
enum weft_notice_kind {
    WEFT_NOTICE_NONE = 0,
    WEFT_NOTICE_COUNT = 1,   /* one more of `tag` for the rank in `slot` of the target process */
    WEFT_NOTICE_BARRIER = 2, /* one more in barrier word `slot`; the tag is 0 */
    WEFT_NOTICE_ASK = 3,     /* an ask lies in place `slot` of the mailbox (abi/ask.h) */
    WEFT_NOTICE_ANSWER = 4,  /* the ask in place `slot` of this process has been answered */
    WEFT_NOTICE_MESSAGE = 5, /* a frame of process `slot`, or a wake-up (msg/far.c) */
    WEFT_NOTICE_RECORDS = 8, /* `slot` times 16 bytes of records; the tag is the sender */
    WEFT_NOTICE_COPY = 9     /* a copy: 16 bits of `slot`; above, what happened; tag: the sender */
};

#define WEFT_NOTICE_SLOTS (1u << 20)

/* Slot 0 of a process is its host program, slot 1 + i its rank i. */
#define WEFT_HOST_SLOT 0u
#define WEFT_SLOTS     4097u /* slots of every process: the host program, and ranks at most */

WEFT_INLINE uint32_t weft_notice(enum weft_notice_kind kind, uint32_t tag, uint32_t slot)
{
    return (uint32_t)kind << 28 | (tag & 0xffu) << 20 | (slot & (WEFT_NOTICE_SLOTS - 1));
}
WEFT_INLINE uint32_t weft_notice_kind_of(uint32_t notice)
{
    return notice >> 28;
}
WEFT_INLINE uint32_t weft_notice_tag(uint32_t notice)
{
    return notice >> 20 & 0xffu;
}
WEFT_INLINE uint32_t weft_notice_slot(uint32_t notice)
{
    return notice & (WEFT_NOTICE_SLOTS - 1);
}

#endif
