/*
 * the bytes that ofi takes from the fabric: messages and remote completion
 * data, good, malformed, a stranger's, and at random.
 */
#include "abi/notice.h"
#include "net/ofi/bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { TOKEN = 0x1234, PROCESSES = 5 };

static enum weft_ofi_parse parse(const void *bytes, size_t count, struct weft_ofi_message *message,
                                 const char **reason)
{
    *reason = NULL;
    return weft_ofi_parse(bytes, count, TOKEN, PROCESSES, message, reason);
}

static void test_good(void **state)
{
    struct {
        struct weft_ofi_header header;
        unsigned char data[8];
    } put = {
        .header = {.token = TOKEN, .kind = WEFT_OFI_PUT, .process = 4, .event = 7, .offset = 9}};
    struct weft_ofi_message m;
    const char *reason;

    (void)state;
    put.data[7] = 0x5a;
    assert_int_equal(parse(&put, sizeof(put), &m, &reason), WEFT_OFI_GOOD);
    assert_int_equal(m.bytes, 8);
    assert_int_equal(m.data[7], 0x5a);
    assert_int_equal(m.header.process, 4);
    assert_int_equal(m.header.event, 7);
    assert_int_equal(parse(&put, sizeof(put.header), &m, &reason), WEFT_OFI_GOOD);
    assert_int_equal(m.bytes, 0);
}

static void test_rows(void **state)
{
    struct {
        struct weft_ofi_header header;
        struct weft_net_rows rows;
        unsigned char data[8];
    } good = {.header = {.token = TOKEN, .kind = WEFT_OFI_ROWS, .offset = 9}, .rows = {6, 2}},
      bad[6];
    struct weft_ofi_message m;
    const char *reason;

    (void)state;
    assert_int_equal(parse(&good, sizeof(good), &m, &reason), WEFT_OFI_GOOD);
    assert_int_equal(m.rows.rows, 2);
    assert_int_equal(m.bytes, 8);
    assert_ptr_equal(m.data, good.data);
    for (int i = 0; i < 6; i++)
        bad[i] = good;
    bad[0].rows.rows = 0;
    bad[1].rows.rows = 3;
    bad[2].rows.rows = 16;
    bad[3].rows.pitch = 3;
    bad[4].rows.pitch = UINT64_MAX / 2 + 1;
    bad[5].header.offset = UINT64_MAX - 11;
    for (int i = 0; i < 6; i++)
        assert_int_equal(parse(&bad[i], sizeof(bad[i]), &m, &reason), WEFT_OFI_MALFORMED);
    for (size_t bytes = sizeof(good.header); bytes <= sizeof(good) - sizeof(good.data); bytes++)
        assert_int_equal(parse(&good, bytes, &m, &reason), WEFT_OFI_MALFORMED);
}

static void test_region(void **state)
{
    struct {
        struct weft_ofi_header header;
        struct weft_ofi_place place;
    } region = {.header = {.token = TOKEN, .kind = WEFT_OFI_REGION, .key = 3},
                .place = {.mr_key = 11, .address = 1000, .bytes = 24, .exposed = 1}};
    struct weft_ofi_message m;
    const char *reason;

    (void)state;
    assert_int_equal(parse(&region, sizeof(region), &m, &reason), WEFT_OFI_GOOD);
    assert_int_equal(m.place.mr_key, 11);
    assert_int_equal(m.place.bytes, 24);
    region.place.bytes = UINT64_MAX - 10;
    assert_int_equal(parse(&region, sizeof(region), &m, &reason), WEFT_OFI_MALFORMED);
    assert_int_equal(parse(&region, sizeof(region) - 1, &m, &reason), WEFT_OFI_MALFORMED);
}

static void test_malformed(void **state)
{
    const struct weft_ofi_header good = {.token = TOKEN, .kind = WEFT_OFI_PUT};
    struct weft_ofi_header bad[4] = {good, good, good, good};
    struct weft_ofi_message m = {.bytes = 77};
    const char *reason;

    (void)state;
    bad[0].process = PROCESSES;
    bad[1].flags = 0x80;
    bad[2].kind = WEFT_OFI_ROWS + 1;
    bad[3].kind = 0;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(parse(&bad[i], sizeof(bad[i]), &m, &reason), WEFT_OFI_MALFORMED);
        assert_non_null(reason);
        assert_int_equal(m.bytes, 77); /* untouched */
    }
    unsigned char wraps[sizeof(good) + 8] = {0};
    struct weft_ofi_header far = good;
    far.offset = UINT64_MAX - 7;
    memcpy(wraps, &far, sizeof(far));
    assert_int_equal(parse(wraps, sizeof(wraps), &m, &reason), WEFT_OFI_MALFORMED);
    struct weft_ofi_header ask = good;
    ask.kind = WEFT_OFI_ASK;
    memcpy(wraps, &ask, sizeof(ask));
    assert_int_equal(parse(wraps, sizeof(wraps), &m, &reason), WEFT_OFI_MALFORMED);
}

static void test_berth(void **state)
{
    const struct weft_ofi_arrival arrival = {.process = 4, .event = 7};
    struct {
        struct weft_ofi_berth berth;
        unsigned char data[8];
    } good =
        {.berth = {.header = {.token = TOKEN, .kind = WEFT_OFI_DOCKED, .process = 4, .event = 7},
                   .bytes = 8}},
      bad[9];
    struct weft_ofi_message m;
    const char *reason;

    (void)state;
    good.data[7] = 0x5a;
    assert_true(weft_ofi_parse_berth(&good, 8, TOKEN, &arrival, &m, &reason));
    assert_int_equal(m.bytes, 8);
    assert_int_equal(m.data[7], 0x5a);
    for (int i = 0; i < 9; i++)
        bad[i] = good;
    bad[0].berth.header.token++;
    bad[1].berth.header.kind = WEFT_OFI_PUT;
    bad[2].berth.header.process = 3;
    bad[3].berth.header.event = 6; /* what was there before */
    bad[4].berth.header.flags = 0x80;
    bad[5].berth.bytes = 0;
    bad[6].berth.bytes = 9;
    bad[7].berth.bytes = UINT64_MAX;
    bad[8].berth.header.offset = UINT64_MAX - 7;
    m.bytes = 77;
    for (int i = 0; i < 9; i++) {
        assert_false(weft_ofi_parse_berth(&bad[i], 8, TOKEN, &arrival, &m, &reason));
        assert_non_null(reason);
        assert_int_equal(m.bytes, 77); /* untouched */
    }
    /* It is no message. */
    assert_int_equal(parse(&good, sizeof(good), &m, &reason), WEFT_OFI_MALFORMED);
}

static void test_stranger(void **state)
{
    struct weft_ofi_header other = {.token = TOKEN + 1, .kind = WEFT_OFI_PUT};
    struct weft_ofi_message m;
    const char *reason;

    (void)state;
    assert_int_equal(parse(&other, sizeof(other), &m, &reason), WEFT_OFI_STRANGER);
    other.token = TOKEN;
    for (size_t n = 0; n < sizeof(other); n++)
        assert_int_equal(parse(&other, n, &m, &reason), WEFT_OFI_STRANGER);
}

static uint64_t next_random(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x;
}

/* Whatever is accepted keeps what the rest of ofi relies on. */
static void test_random(void **state)
{
    uint64_t x = 88172645463325252u, bytes[12];
    uint32_t good = 0;

    (void)state;
    for (int n = 0; n < 300000; n++) {
        struct weft_ofi_message m;
        const char *reason;
        const size_t count = next_random(&x) % (sizeof(bytes) + 1);
        for (size_t i = 0; i < 12; i++)
            bytes[i] = next_random(&x);
        bytes[0] = TOKEN;
        bytes[1] =
            (bytes[1] & 0xffffffff0007ff07u) & ~0xfe00u; /* often kinds and senders that are */
        if (parse(bytes, count, &m, &reason) != WEFT_OFI_GOOD)
            continue;
        good++;
        assert_true(m.header.process < PROCESSES);
        assert_int_equal(m.bytes, count - sizeof(m.header));
        assert_ptr_equal(m.data, (unsigned char *)bytes + sizeof(m.header));
        assert_true(m.header.kind != WEFT_OFI_PUT || m.header.offset + m.bytes >= m.header.offset);
    }
    assert_true(good > 1000);
}

static void test_wide(void **state)
{
    const struct weft_ofi_arrival in = {4, 0xdeadbeef, 0xfffe};
    struct weft_ofi_arrival out;
    uint64_t data;

    (void)state;
    assert_true(weft_ofi_data_pack(WEFT_OFI_WIDE, PROCESSES, &in, &data));
    assert_true(weft_ofi_data_parse(WEFT_OFI_WIDE, PROCESSES, data, &out));
    assert_int_equal(out.process, 4);
    assert_int_equal(out.notice, 0xdeadbeef);
    assert_int_equal(out.event, 0xfffe);
    assert_false(weft_ofi_data_parse(WEFT_OFI_WIDE, 4, data, &out));
    assert_false(weft_ofi_data_pack(WEFT_OFI_NO_DATA, PROCESSES, &in, &data));
    assert_false(weft_ofi_data_parse(WEFT_OFI_NO_DATA, PROCESSES, data, &out));
}

static void test_narrow(void **state)
{
    const uint32_t notice = weft_notice(WEFT_NOTICE_COUNT, 255, 4094);
    struct weft_ofi_arrival in = {1023, notice, 7}, out;
    uint64_t data;

    (void)state;
    assert_true(weft_ofi_data_pack(WEFT_OFI_NARROW, 1024, &in, &data));
    assert_true(data <= UINT32_MAX);
    assert_true(weft_ofi_data_parse(WEFT_OFI_NARROW, 1024, data, &out));
    assert_int_equal(out.process, in.process);
    assert_int_equal(out.notice, in.notice);
    assert_int_equal(out.event, 7 % 4);
    assert_false(weft_ofi_data_parse(WEFT_OFI_NARROW, 1023, data, &out));
    assert_false(weft_ofi_data_parse(WEFT_OFI_NARROW, 1024, data | 1ull << 32, &out));
    in = (struct weft_ofi_arrival){1, notice, UINT32_MAX};
    assert_true(weft_ofi_data_pack(WEFT_OFI_NARROW, 2, &in, &data));
    assert_true(weft_ofi_data_parse(WEFT_OFI_NARROW, 2, data, &out));
    assert_int_equal(out.process, 1);
    assert_int_equal(out.event, 2047);
    in.notice = 0;
    assert_true(weft_ofi_data_pack(WEFT_OFI_NARROW, 2, &in, &data));
    assert_true(weft_ofi_data_parse(WEFT_OFI_NARROW, 2, data, &out));
    assert_int_equal(out.notice, 0);
    assert_false(
        weft_ofi_data_parse(WEFT_OFI_NARROW, 2, data | 1u << 24, &out)); /* no notice, a tag */
    in.notice = weft_notice(WEFT_NOTICE_BARRIER, 0, 1);
    assert_false(weft_ofi_data_pack(WEFT_OFI_NARROW, 2, &in, &data));
    in.notice = weft_notice(WEFT_NOTICE_COUNT, 0, 4095); /* looks like none */
    assert_false(weft_ofi_data_pack(WEFT_OFI_NARROW, 2, &in, &data));
    in.notice = 0;
    assert_false(weft_ofi_data_pack(WEFT_OFI_NARROW, 4097, &in, &data));
}

static void test_spread(void **state)
{
    (void)state;
    assert_int_equal(weft_ofi_data_spread(WEFT_OFI_NO_DATA, 2), 0);
    assert_int_equal(weft_ofi_data_spread(WEFT_OFI_WIDE, 65536), 65536);
    assert_int_equal(weft_ofi_data_spread(WEFT_OFI_WIDE, 65537), 0);
    assert_int_equal(weft_ofi_data_spread(WEFT_OFI_NARROW, 1), 2048);
    assert_int_equal(weft_ofi_data_spread(WEFT_OFI_NARROW, 2), 2048);
    assert_int_equal(weft_ofi_data_spread(WEFT_OFI_NARROW, 64), 64);
    assert_int_equal(weft_ofi_data_spread(WEFT_OFI_NARROW, 65), 32);
    assert_int_equal(weft_ofi_data_spread(WEFT_OFI_NARROW, 4096), 1);
    assert_int_equal(weft_ofi_data_spread(WEFT_OFI_NARROW, 4097), 0);
}

/* Addresses that are texts differ in length, for they hold a process's number; all others do not.
 */
static void test_hello(void **state)
{
    const struct weft_ofi_hello mine = {.provider = "shm",
                                        .message_bytes = WEFT_OFI_NAME_BYTES,
                                        .form = WEFT_OFI_WIDE,
                                        .name_format = 9,
                                        .name_bytes = 18,
                                        .name = "fi_shm://9999:0:0"};
    struct weft_ofi_hello theirs = mine;
    const char *reason;

    (void)state;
    theirs.name_bytes = 19;
    memcpy(theirs.name, "fi_shm://10000:0:0", 19);
    assert_true(weft_ofi_hello_fits(&mine, &theirs, true, &reason));
    assert_false(weft_ofi_hello_fits(&mine, &theirs, false, &reason));
    assert_string_equal(reason, "the length of addresses");
    theirs.name_bytes = 18; /* without its end */
    assert_false(weft_ofi_hello_fits(&mine, &theirs, true, &reason));
    theirs.name_bytes = WEFT_OFI_NAME_BYTES + 1;
    assert_false(weft_ofi_hello_fits(&mine, &theirs, true, &reason));
    theirs.name_bytes = 0;
    assert_false(weft_ofi_hello_fits(&mine, &theirs, true, &reason));
    theirs = mine;
    theirs.name_format++;
    assert_false(weft_ofi_hello_fits(&mine, &theirs, true, &reason));
    assert_string_equal(reason, "the format of addresses");
    theirs = mine;
    theirs.form = WEFT_OFI_NARROW;
    assert_false(weft_ofi_hello_fits(&mine, &theirs, true, &reason));
    theirs = mine;
    theirs.message_bytes--;
    assert_false(weft_ofi_hello_fits(&mine, &theirs, true, &reason));
    theirs = mine;
    memset(theirs.provider, 's', sizeof(theirs.provider));
    assert_false(weft_ofi_hello_fits(&mine, &theirs, true, &reason));
    assert_string_equal(reason, "the provider");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),     cmocka_unit_test(test_rows),
        cmocka_unit_test(test_region),   cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_stranger), cmocka_unit_test(test_random),
        cmocka_unit_test(test_wide),     cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_spread),   cmocka_unit_test(test_hello),
        cmocka_unit_test(test_berth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
