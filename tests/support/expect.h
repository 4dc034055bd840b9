/*
 * support/expect.h - what must be true in a function that returns 0 when all is well: the first
 * that is not is said, and ends it with 1.
 */
#ifndef WEFT_TESTS_EXPECT_H
#define WEFT_TESTS_EXPECT_H

#include <stdio.h>

#define EXPECT(x)                                                                                  \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #x);                      \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

#endif
