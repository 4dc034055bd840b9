/* base/sha256.c - see the header. */
#include "base/sha256.h"

#include <string.h>

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turned(uint32_t x, int by)
{
    return x >> by | x << (32 - by);
}

static void write_big(unsigned char *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> (24 - 8 * i));
}

static void take_block(uint32_t state[8], const unsigned char block[64])
{
    uint32_t w[64], s[8];

    for (int i = 0; i < 16; i++, block += 4)
        w[i] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 | (uint32_t)block[2] << 8 |
               block[3];
    for (int i = 16; i < 64; i++) {
        const uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (turned(a, 7) ^ turned(a, 18) ^ a >> 3) + w[i - 7] +
               (turned(b, 17) ^ turned(b, 19) ^ b >> 10);
    }
    memcpy(s, state, sizeof(s));
    for (int i = 0; i < 64; i++) {
        const uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]),
                       majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
        const uint32_t one = s[7] + (turned(s[4], 6) ^ turned(s[4], 11) ^ turned(s[4], 25)) +
                             choice + constants[i] + w[i];
        const uint32_t two = (turned(s[0], 2) ^ turned(s[0], 13) ^ turned(s[0], 22)) + majority;
        memmove(s + 1, s, 7 * sizeof(s[0]));
        s[4] += one;
        s[0] = one + two;
    }
    for (int i = 0; i < 8; i++)
        state[i] += s[i];
}

void weft_sha256_begin(struct weft_sha256 *sha)
{
    *sha = (struct weft_sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void weft_sha256_add(struct weft_sha256 *sha, const void *data, size_t bytes)
{
    const unsigned char *at = data;

    while (bytes > 0) {
        const size_t have = sha->bytes % 64, room = 64 - have, n = bytes < room ? bytes : room;
        memcpy(sha->block + have, at, n);
        sha->bytes += n;
        at += n;
        bytes -= n;
        if (sha->bytes % 64 == 0)
            take_block(sha->state, sha->block);
    }
}

void weft_sha256_end(struct weft_sha256 *sha, unsigned char digest[WEFT_SHA256_BYTES])
{
    static const unsigned char padding[64] = {0x80};
    const uint64_t bits = sha->bytes * 8;
    unsigned char length[8];

    weft_sha256_add(sha, padding, 1 + (119 - sha->bytes % 64) % 64);
    write_big(length, (uint32_t)(bits >> 32));
    write_big(length + 4, (uint32_t)bits);
    weft_sha256_add(sha, length, sizeof(length));
    for (int i = 0; i < 8; i++)
        write_big(digest + 4 * i, sha->state[i]);
}

void weft_hmac(unsigned char code[WEFT_SHA256_BYTES], const void *key, size_t key_bytes,
               const void *first, size_t first_bytes, const void *second, size_t second_bytes)
{
    unsigned char block[64] = {0}, pad[64], inner[WEFT_SHA256_BYTES];
    struct weft_sha256 sha;

    weft_sha256_begin(&sha);
    if (key_bytes > sizeof(block)) {
        weft_sha256_add(&sha, key, key_bytes);
        weft_sha256_end(&sha, block);
    } else {
        memcpy(block, key, key_bytes);
    }
    for (size_t i = 0; i < sizeof(pad); i++)
        pad[i] = block[i] ^ 0x36;
    weft_sha256_begin(&sha);
    weft_sha256_add(&sha, pad, sizeof(pad));
    weft_sha256_add(&sha, first, first_bytes);
    weft_sha256_add(&sha, second, second_bytes);
    weft_sha256_end(&sha, inner);
    for (size_t i = 0; i < sizeof(pad); i++)
        pad[i] = block[i] ^ 0x5c;
    weft_sha256_begin(&sha);
    weft_sha256_add(&sha, pad, sizeof(pad));
    weft_sha256_add(&sha, inner, sizeof(inner));
    weft_sha256_end(&sha, code);
}
