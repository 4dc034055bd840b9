/*
 * rank/wait/deliver.h - what the lines of an eager message bring, to where it belongs.
 *
 * Payloads of 1, 2, 4 and 8 bytes that are aligned there arrive undivided, as they do by a put.
 */
#ifndef WEFT_RANK_WAIT_DELIVER_H
#define WEFT_RANK_WAIT_DELIVER_H

#include "abi/channel.h"
#include "order/atomic.h"
#include "rank/state.h"

#ifdef __CUDACC__

/* One store of one thread, of 1, 2, 4 or 8 bytes that are aligned. */
WEFT_INLINE void weft_store_undivided(unsigned char *target, uint64_t value, size_t bytes)
{
    if (bytes == 8)
        *(volatile uint64_t *)target = value;
    else if (bytes == 4)
        *(volatile uint32_t *)target = (uint32_t)value;
    else if (bytes == 2)
        *(volatile uint16_t *)target = (uint16_t)value;
    else
        *(volatile unsigned char *)target = (unsigned char)value;
}

/* Stores one to eight bytes; they are the whole payload: undivided where a put would be. */
WEFT_COLD void weft_deliver_bytes(unsigned char *target, uint64_t value, uint32_t bytes, bool whole)
{
    (void)whole;
    if (weft_is_small(target, bytes))
        weft_store_undivided(target, value, bytes);
    for (uint32_t i = 0; i < bytes && !weft_is_small(target, bytes); i++)
        target[i] = (unsigned char)(value >> 8 * i);
}

#else

/* The rank sees it at once: it is its own store. */
static inline void weft_deliver_bytes(unsigned char *target, uint64_t value, uint32_t bytes,
                                      bool whole)
{
    if (whole && weft_is_small(target, bytes))
        weft_store_small(target, (const unsigned char *)&value, bytes, ORDER_none);
    else
        weft_write_shared(target, &value, bytes);
    weft_used_shared(target, bytes);
}

#endif

/* One word of a payload, the k-th 4 bytes of it. */
WEFT_INLINE void weft_deliver_word(const struct weft_head *head, uint32_t k, uint32_t value)
{
    unsigned char *target = (unsigned char *)(uintptr_t)head->address + 4 * (size_t)k;
    const uint32_t left = head->bytes - 4 * k;

    if (4 * k < head->bytes)
        weft_deliver_bytes(target, value, left < 4 ? left : 4, head->bytes <= 4);
}

/* Stores what a line of a message brings. A payload of 8 bytes may not be divided. */
WEFT_COLD void weft_deliver_odd(struct weft_head copy, uint32_t at, uint32_t one, uint32_t two)
{
    const struct weft_head *head = &copy;

    if (at == 0) {
        if ((head->bytes + 3) / 4 % 2 != 0)
            weft_deliver_word(head, (head->bytes + 3) / 4 - 1, head->left);
    } else if (head->bytes == 8) {
        weft_deliver_bytes((unsigned char *)(uintptr_t)head->address, (uint64_t)two << 32 | one, 8,
                           true);
    } else {
        weft_deliver_word(head, 2 * at - 2, one);
        weft_deliver_word(head, 2 * at - 1, two);
    }
}

#ifdef __CUDACC__

/* Stores two words of a line where they belong, together where that is aligned. */
WEFT_INLINE void weft_deliver_pair(uint64_t target, const struct weft_ring_line *line, bool wide)
{
    const uint32_t one = (uint32_t)line->word[0], two = (uint32_t)line->word[1];

    if (wide) {
        *(volatile uint64_t *)target = (uint64_t)two << 32 | one;
    } else {
        *(volatile uint32_t *)target = one;
        *(volatile uint32_t *)(target + 4) = two;
    }
}

/* Stores what a line brings where target and size are multiples of 4. */
WEFT_INLINE void weft_deliver_words(const struct weft_head *head, const struct weft_ring_line *line,
                                    uint32_t at)
{
    const uint32_t one = at == 0 ? head->left : (uint32_t)line->word[0];
    const uint32_t two = (uint32_t)line->word[1];
    const uint64_t target = head->address + (at == 0 ? head->bytes - 4 : 8 * at - 8);
    const bool some = weft_line_has(head->bytes, at);
    const bool wide = (head->address & 7) == 0 && at != 0;

    if (some && wide)
        *(volatile uint64_t *)target = (uint64_t)two << 32 | one;
    if (some && !wide)
        *(volatile uint32_t *)target = one;
    if (some && !wide && at != 0)
        *(volatile uint32_t *)(target + 4) = two;
}

#endif

WEFT_INLINE void weft_deliver_line(const struct weft_head *head, uint32_t at,
                                   const struct weft_ring_line *line)
{
#ifdef __CUDACC__
    /* The usual ones straight away. */
    if (((head->address | head->bytes) & 3) == 0) {
        weft_deliver_words(head, line, at);
        return;
    }
#endif
    weft_deliver_odd(*head, at, (uint32_t)line->word[0], (uint32_t)line->word[1]);
}

#endif
