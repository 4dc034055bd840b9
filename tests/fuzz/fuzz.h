/*
 * fuzz/fuzz.h - what a fuzz target is: one function that takes any bytes. libFuzzer calls it with
 * bytes that it makes up (tools/fuzz); replay.c with the files of the corpus, as a test.
 */
#ifndef WEFT_TESTS_FUZZ_H
#define WEFT_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold whatever comes. */
#define MUST(x)                                                                                    \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #x);                      \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* Bytes that are used up from the front; then zeros. */
struct fuzz_bytes {
    const uint8_t *data;
    size_t size;
};

static inline unsigned fuzz_byte(struct fuzz_bytes *bytes)
{
    if (bytes->size == 0)
        return 0;
    bytes->size--;
    return *bytes->data++;
}

static inline uint32_t fuzz_word(struct fuzz_bytes *bytes)
{
    uint32_t word = 0;

    for (int i = 0; i < 4; i++)
        word |= (uint32_t)fuzz_byte(bytes) << 8 * i;
    return word;
}

/* A small one, one near the largest, or any. */
static inline uint64_t fuzz_number(struct fuzz_bytes *in)
{
    const unsigned how = fuzz_byte(in);

    if (how < 128)
        return how;
    if (how < 192)
        return UINT64_MAX - (how - 128);
    return (uint64_t)fuzz_word(in) << 32 | fuzz_word(in);
}

#endif
