/*
 * net/conformance.h - what the suite asks of a table: all ends send to all (conformance_suite.c),
 * and one sends what nobody may (conformance_malice.c).
 */
#ifndef WEFT_TESTS_CONFORMANCE_H
#define WEFT_TESTS_CONFORMANCE_H

#include "support/net_ends.h"

#include "abi/notice.h"

/* Any 28 bits, as a notice; never 0. */
static inline uint32_t notice_of(uint32_t number)
{
    return weft_notice(WEFT_NOTICE_COUNT, number & 0xff, number >> 8);
}

/* All notices of this part came, each once, in the order sent. */
void check_notices(struct end *end, int sender, uint32_t count);

/* The parts of the suite, one after the other; each runs on all ends at once. */
void suite(struct end *end, int unused);

/*
 * End 0 suffers, the last end sends; they are one where there is one. Good puts come before.
 * number: which of so many malices.
 */
void suffer(struct end *end, int number);
int malices(void);

#endif
