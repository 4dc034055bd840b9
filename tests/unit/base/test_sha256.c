/* test_sha256.c - digests and codes that are published: FIPS 180-4, RFC 4231; lengths at block
 * ends. */
#include "base/sha256.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void expect(const unsigned char digest[WEFT_SHA256_BYTES], const char *hex)
{
    char text[2 * WEFT_SHA256_BYTES + 1];

    for (int i = 0; i < WEFT_SHA256_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    assert_string_equal(text, hex);
}

static void digest_of(unsigned char digest[WEFT_SHA256_BYTES], const char *text, size_t piece)
{
    struct weft_sha256 sha;
    const size_t bytes = strlen(text);

    weft_sha256_begin(&sha);
    for (size_t at = 0; at < bytes; at += piece)
        weft_sha256_add(&sha, text + at, bytes - at < piece ? bytes - at : piece);
    weft_sha256_end(&sha, digest);
}

static void test_digests(void **state)
{
    unsigned char digest[WEFT_SHA256_BYTES];

    (void)state;
    digest_of(digest, "", 1);
    expect(digest, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    digest_of(digest, "abc", 2);
    expect(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    digest_of(digest, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 64);
    expect(digest, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

/* The same bytes in pieces of any size give the same digest. */
static void test_pieces(void **state)
{
    unsigned char whole[WEFT_SHA256_BYTES], pieces[WEFT_SHA256_BYTES];
    char text[200];

    (void)state;
    for (size_t bytes = 50; bytes < sizeof(text); bytes++) {
        memset(text, 'x', bytes);
        text[bytes] = 0;
        digest_of(whole, text, bytes);
        digest_of(pieces, text, bytes % 7 + 1);
        assert_memory_equal(whole, pieces, sizeof(whole));
    }
}

static void test_codes(void **state)
{
    unsigned char code[WEFT_SHA256_BYTES], key[131];

    (void)state;
    weft_hmac(code, "Jefe", 4, "what do ya want ", 16, "for nothing?", 12);
    expect(code, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof(key));
    weft_hmac(code, key, sizeof(key), "Test Using Larger Than Block-Size Key - Hash Key First", 54,
              "", 0);
    expect(code, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_digests),
                                       cmocka_unit_test(test_pieces), cmocka_unit_test(test_codes)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
