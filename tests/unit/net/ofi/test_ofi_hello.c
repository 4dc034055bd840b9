/* what processes tell each other of ofi at the start: whose endpoints can talk. */
#include "net/ofi/bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct weft_ofi_hello mine = {.provider = "shm",
                                           .packet = WEFT_OFI_PACKET,
                                           .data_bits = 64,
                                           .name_format = 9,
                                           .name_bytes = 18,
                                           .name = "fi_shm://9999:0:0"};

static void refused(const struct weft_ofi_hello *theirs, const char *why)
{
    const char *reason;

    assert_false(weft_ofi_hello_fits(&mine, theirs, true, &reason));
    assert_string_equal(reason, why);
}

/* Addresses that are texts differ in length, for they hold a process's number; all others do not.
 */
static void test_addresses(void **state)
{
    struct weft_ofi_hello theirs = mine;
    const char *reason;

    (void)state;
    theirs.name_bytes = 19;
    memcpy(theirs.name, "fi_shm://10000:0:0", 19);
    assert_true(weft_ofi_hello_fits(&mine, &theirs, true, &reason));
    assert_false(weft_ofi_hello_fits(&mine, &theirs, false, &reason));
    assert_string_equal(reason, "the length of addresses");
    theirs.name_bytes = 18; /* without its end */
    refused(&theirs, "the length of addresses");
    theirs.name_bytes = WEFT_OFI_NAME_BYTES + 1;
    refused(&theirs, "the length of addresses");
    theirs.name_bytes = 0;
    refused(&theirs, "the length of addresses");
    theirs = mine;
    theirs.name_format++;
    refused(&theirs, "the format of addresses");
}

static void test_abilities(void **state)
{
    struct weft_ofi_hello theirs = mine;

    (void)state;
    theirs.data_bits = 32;
    refused(&theirs, "what the provider can do");
    theirs = mine;
    theirs.packet = 2 * WEFT_OFI_PACKET; /* of a process with a GPU */
    assert_true(weft_ofi_hello_fits(&mine, &theirs, true, &(const char *){NULL}));
    theirs.packet = WEFT_OFI_PACKET - 1;
    refused(&theirs, "the size of packets");
    theirs = mine;
    memset(theirs.provider, 's', sizeof(theirs.provider));
    refused(&theirs, "the provider");
}

static void test_data(void **state)
{
    const uint64_t data = weft_ofi_data(65535, 0xabcdef012345);

    (void)state;
    assert_int_equal(weft_ofi_data_process(data), 65535);
    assert_int_equal(weft_ofi_data_immediate(data), 0xabcdef012345);
    assert_int_equal(weft_ofi_data(65535, 0xffff), UINT32_MAX); /* as much as 4 bytes take */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_addresses),
                                       cmocka_unit_test(test_abilities),
                                       cmocka_unit_test(test_data)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
