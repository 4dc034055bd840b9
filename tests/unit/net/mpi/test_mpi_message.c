/* net/mpi/message.c: what is written is read, and what cannot be is refused with a reason. */
#include "net/mpi/message.h"
#include "net/rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = WEFT_NET_MPI_HEADER_BYTES + 64 };

static const struct weft_net_mpi_message put = {.kind = WEFT_NET_MPI_PUT,
                                                .sequence = 0xfffffff0,
                                                .acked = 7,
                                                .notice = 0x12345678,
                                                .key = 0x0000000100000002,
                                                .offset = 1ull << 40,
                                                .bytes = 24};

static bool same(const struct weft_net_mpi_message *a, const struct weft_net_mpi_message *b)
{
    return a->kind == b->kind && a->sequence == b->sequence && a->acked == b->acked &&
           a->notice == b->notice && a->key == b->key && a->offset == b->offset &&
           a->bytes == b->bytes;
}

static void test_round_trip(void **state)
{
    const struct weft_net_mpi_message large = {
        .kind = WEFT_NET_MPI_LARGE, .sequence = 1, .bytes = WEFT_NET_MPI_PIECE};
    const struct weft_net_mpi_message ack = {.kind = WEFT_NET_MPI_ACK, .acked = 0xffffffff};
    unsigned char wire[ROOM] = {0};
    struct weft_net_mpi_message m;

    (void)state;
    weft_net_mpi_message_put(wire, &put);
    assert_null(weft_net_mpi_message_get(&m, wire, WEFT_NET_MPI_HEADER_BYTES + 24));
    assert_true(same(&m, &put));
    weft_net_mpi_message_put(wire, &large);
    assert_null(weft_net_mpi_message_get(&m, wire, WEFT_NET_MPI_HEADER_BYTES));
    assert_true(same(&m, &large));
    weft_net_mpi_message_put(wire, &ack);
    assert_null(weft_net_mpi_message_get(&m, wire, WEFT_NET_MPI_HEADER_BYTES));
    assert_true(same(&m, &ack));
}

static void test_lengths(void **state)
{
    unsigned char wire[ROOM] = {0};
    struct weft_net_mpi_message m, large = {.kind = WEFT_NET_MPI_LARGE, .bytes = 1};

    (void)state;
    weft_net_mpi_message_put(wire, &put);
    for (size_t size = 0; size <= ROOM; size++)
        if (size != WEFT_NET_MPI_HEADER_BYTES + 24)
            assert_non_null(weft_net_mpi_message_get(&m, wire, size));
    weft_net_mpi_message_put(wire, &large);
    assert_non_null(weft_net_mpi_message_get(&m, wire, WEFT_NET_MPI_HEADER_BYTES + 1));
    large.bytes = 0;
    weft_net_mpi_message_put(wire, &large);
    assert_non_null(weft_net_mpi_message_get(&m, wire, WEFT_NET_MPI_HEADER_BYTES));
    large.bytes = WEFT_NET_MPI_PIECE + 1;
    weft_net_mpi_message_put(wire, &large);
    assert_non_null(weft_net_mpi_message_get(&m, wire, WEFT_NET_MPI_HEADER_BYTES));
}

/* Acknowledgements carry nothing else; kinds and versions that are not known are refused. */
static void test_kinds(void **state)
{
    static const struct weft_net_mpi_message wrong[] = {
        {.kind = WEFT_NET_MPI_ACK, .notice = 1},
        {.kind = WEFT_NET_MPI_ACK, .sequence = 1},
        {.kind = WEFT_NET_MPI_ACK, .key = 1},
        {.kind = WEFT_NET_MPI_BYE, .offset = 1},
        {.kind = WEFT_NET_MPI_BYE, .bytes = 1},
        {.kind = (enum weft_net_mpi_kind)0},
        {.kind = WEFT_NET_MPI_ROWS},
        {.kind = (enum weft_net_mpi_kind)6},
    };
    unsigned char wire[ROOM] = {0};
    struct weft_net_mpi_message m;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        weft_net_mpi_message_put(wire, &wrong[i]);
        assert_non_null(weft_net_mpi_message_get(&m, wire, WEFT_NET_MPI_HEADER_BYTES));
    }
    weft_net_mpi_message_put(wire, &put);
    for (int bit = 0; bit < 32; bit++) {
        wire[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_non_null(weft_net_mpi_message_get(&m, wire, WEFT_NET_MPI_HEADER_BYTES + 24));
        wire[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
}

/* Rows are whole, of one length, and do not overlap or wrap. */
static void test_rows(void **state)
{
    static const struct weft_net_rows good = {6, 2},
                                      wrong[] = {{6, 0}, {6, 3}, {6, 16}, {3, 2}, {1ull << 63, 2}};
    struct weft_net_mpi_message m, rows = {.kind = WEFT_NET_MPI_ROWS, .bytes = 24};
    unsigned char wire[WEFT_NET_MPI_HEADER_BYTES + 24] = {0};

    (void)state;
    weft_net_mpi_message_put(wire, &rows);
    memcpy(wire + WEFT_NET_MPI_HEADER_BYTES, &good, sizeof(good));
    assert_null(weft_net_mpi_message_get(&m, wire, sizeof(wire)));
    assert_non_null(weft_net_mpi_message_get(&m, wire, sizeof(wire) - 1));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        memcpy(wire + WEFT_NET_MPI_HEADER_BYTES, &wrong[i], sizeof(wrong[i]));
        assert_non_null(weft_net_mpi_message_get(&m, wire, sizeof(wire)));
    }
    rows.offset = UINT64_MAX - 10;
    weft_net_mpi_message_put(wire, &rows);
    memcpy(wire + WEFT_NET_MPI_HEADER_BYTES, &good, sizeof(good));
    assert_non_null(weft_net_mpi_message_get(&m, wire, sizeof(wire)));
}

/* Flipped bits behind the magic number: refused, or read back as what they now say. */
static void test_noise(void **state)
{
    (void)state;
    srand(1);
    for (int i = 0; i < 200000; i++) {
        unsigned char wire[ROOM] = {0}, again[WEFT_NET_MPI_HEADER_BYTES];
        struct weft_net_mpi_message m;
        weft_net_mpi_message_put(wire, &put);
        for (int flips = rand() % 8; flips >= 0; flips--)
            wire[4 + rand() % (WEFT_NET_MPI_HEADER_BYTES - 4)] ^= (unsigned char)(1 << rand() % 8);
        const size_t size = (size_t)(rand() % (ROOM + 1));
        if (weft_net_mpi_message_get(&m, wire, size) != NULL)
            continue;
        weft_net_mpi_message_put(again, &m);
        assert_memory_equal(again, wire, sizeof(again));
        assert_true(m.kind != WEFT_NET_MPI_PUT || m.bytes == size - WEFT_NET_MPI_HEADER_BYTES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_kinds),      cmocka_unit_test(test_rows),
        cmocka_unit_test(test_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
