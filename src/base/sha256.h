/*
 * base/sha256.h - SHA-256 (FIPS 180-4), and HMAC with it (RFC 2104): who knows a secret proves it
 * without saying it. Any thread.
 */
#ifndef WEFT_BASE_SHA256_H
#define WEFT_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { WEFT_SHA256_BYTES = 32 };

struct weft_sha256 {
    uint32_t state[8];
    uint64_t bytes;
    unsigned char block[64];
};

void weft_sha256_begin(struct weft_sha256 *sha);
void weft_sha256_add(struct weft_sha256 *sha, const void *data, size_t bytes);
void weft_sha256_end(struct weft_sha256 *sha, unsigned char digest[WEFT_SHA256_BYTES]);

/* The code of two pieces of data, one behind the other. */
void weft_hmac(unsigned char code[WEFT_SHA256_BYTES], const void *key, size_t key_bytes,
               const void *first, size_t first_bytes, const void *second, size_t second_bytes);

#endif
