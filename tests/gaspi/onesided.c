/* tests/gaspi/onesided.c - writes, reads, notifications, lists, atomics. */
#include "gaspi_test.h"

enum { BYTES = 1 << 20 };

static unsigned char pattern(unsigned from, size_t i)
{
    return (unsigned char)(from * 37 + i * 11 + (i >> 8) * 3);
}

static void fill(unsigned char *memory, unsigned from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        memory[i] = pattern(from, i);
}

static size_t wrong(const unsigned char *memory, unsigned from, size_t first, size_t bytes)
{
    size_t bad = 0;

    for (size_t i = 0; i < bytes; i++)
        bad += memory[i] != pattern(from, first + i);
    return bad;
}

static void errors(void)
{
    gaspi_notification_id_t id;
    gaspi_notification_t value;

    CODE(GASPI_ERR_INV_RANK, gaspi_write(0, 0, ranks, 0, 0, 8, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_RANK, gaspi_read(0, 0, ranks, 0, 0, 8, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_RANK, gaspi_notify(0, ranks, 0, 1, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_QUEUE, gaspi_write(0, 0, rank, 0, 0, 8, 16, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_QUEUE, gaspi_write(0, 0, rank, 0, 0, 8, 6, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_QUEUE, gaspi_notify(0, rank, 0, 1, 200, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_QUEUE, gaspi_wait(16, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_SEG, gaspi_write(1, 0, rank, 0, 0, 8, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_SEG, gaspi_write(0, 0, rank, 1, 0, 8, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_SEG, gaspi_notify(255, rank, 0, 1, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_SEG, gaspi_notify_waitsome(1, 0, 1, &id, GASPI_TEST));
    CODE(GASPI_ERR_INV_SEG, gaspi_notify_reset(1, 0, &value));
    CODE(GASPI_ERR_INV_LOC_OFF, gaspi_write(0, 2 * BYTES - 7, rank, 0, 0, 8, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_LOC_OFF, gaspi_read(0, ~0ul, rank, 0, 0, 8, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_REM_OFF, gaspi_write(0, 0, rank, 0, 2 * BYTES - 7, 8, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_REM_OFF, gaspi_read(0, 0, rank, 0, ~0ul, 8, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_COMMSIZE, gaspi_read(0, 0, rank, 0, 0, (1ul << 30) + 1, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_NOTIF_VAL, gaspi_notify(0, rank, 0, 0, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_NOTIF_ID, gaspi_notify(0, rank, IDS, 1, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_NOTIF_ID, gaspi_write_notify(0, 0, rank, 0, 0, 8, IDS, 1, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_NOTIF_VAL, gaspi_write_notify(0, 0, rank, 0, 0, 8, 1, 0, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_NOTIF_ID, gaspi_read_notify(0, 0, rank, 0, 0, 8, IDS, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_NOTIF_ID, gaspi_notify_waitsome(0, IDS, 1, &id, GASPI_TEST));
    CODE(GASPI_ERR_INV_NOTIF_ID, gaspi_notify_reset(0, IDS, &value));
    CODE(GASPI_ERR_INV_NUM, gaspi_notify_waitsome(0, IDS - 100, 101, &id, GASPI_TEST));
    CODE(GASPI_ERR_NULLPTR, gaspi_notify_waitsome(0, 0, 1, NULL, GASPI_TEST));
}

void transfers(void)
{
    static const size_t sizes[] = {1, 3, 8, 64, 100, 4096, 65537, BYTES};
    unsigned char *const memory = segment(0, 2 * BYTES);
    gaspi_number_t posted;

    errors();
    GOOD(gaspi_queue_size(0, &posted));
    CHECK(posted == 0); /* nothing of what was wrong */
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        fill(memory, rank, BYTES);
        barrier();
        GOOD(gaspi_write(0, 0, after(rank), 0, BYTES, sizes[i], 1, GASPI_BLOCK));
        GOOD(gaspi_notify(0, after(rank), 9, 77, 2, GASPI_BLOCK)); /* another queue: still behind */
        CHECK(await(0, 9) == 77);
        CHECK(wrong(memory + BYTES, before(rank), 0, sizes[i]) == 0);
        GOOD(gaspi_wait(1, GASPI_BLOCK));
        GOOD(gaspi_wait(2, GASPI_BLOCK));
        barrier();
        memset(memory + BYTES, 0, BYTES);
        GOOD(gaspi_read(0, BYTES, before(rank), 0, 0, sizes[i], 1, GASPI_BLOCK));
        GOOD(gaspi_wait(1, GASPI_BLOCK));
        CHECK(wrong(memory + BYTES, before(rank), 0, sizes[i]) == 0);
        memset(memory + BYTES, 0, BYTES);
        GOOD(gaspi_read_notify(0, BYTES, before(rank), 0, 0, sizes[i], 4, 1, GASPI_BLOCK));
        CHECK(await(0, 4) == 1);
        CHECK(wrong(memory + BYTES, before(rank), 0, sizes[i]) == 0);
        GOOD(gaspi_wait(1, GASPI_BLOCK));
        barrier();
    }
    drop(0);
}

/* Transfers without bytes: alone, with notifications, as members of lists. */
void no_bytes(void)
{
    enum { WORDS = 8 };
    uint64_t *const memory = segment(0, sizeof(uint64_t) * 2 * WORDS);
    const gaspi_rank_t to = after(rank), end = sizeof(uint64_t) * 2 * WORDS;
    gaspi_segment_id_t s[WORDS];
    gaspi_offset_t here[WORDS], there[WORDS];
    gaspi_size_t sizes[WORDS], none[WORDS] = {0};
    gaspi_number_t posted;

    for (gaspi_offset_t i = 0; i < WORDS; i++) {
        s[i] = 0;
        here[i] = 8 * i;
        there[i] = 8 * (WORDS + i);
        sizes[i] = i % 3 == 1 ? 8 : 0; /* the first and the last are empty */
        memory[i] = 100 * (uint64_t)rank + i;
        memory[WORDS + i] = 7;
    }
    barrier();
    GOOD(gaspi_write(0, 0, to, 0, 8 * WORDS, 0, 0, GASPI_BLOCK));
    GOOD(gaspi_write(0, end, to, 0, end, 0, 0, GASPI_BLOCK));
    GOOD(gaspi_read(0, 8 * WORDS, to, 0, 0, 0, 0, GASPI_BLOCK));
    GOOD(gaspi_write_list(WORDS, s, here, to, s, there, none, 0, GASPI_BLOCK));
    GOOD(gaspi_read_list(WORDS, s, there, to, s, here, none, 0, GASPI_BLOCK));
    GOOD(gaspi_queue_size(0, &posted));
    CHECK(posted == 3 + 2 * WORDS);
    GOOD(gaspi_write_notify(0, 0, to, 0, 8 * WORDS, 0, 1, 11, 0, GASPI_BLOCK));
    GOOD(gaspi_read_notify(0, 8 * WORDS, to, 0, 0, 0, 2, 0, GASPI_BLOCK));
    GOOD(gaspi_write_list_notify(WORDS, s, here, to, s, there, none, 0, 3, 13, 0, GASPI_BLOCK));
    GOOD(gaspi_read_list_notify(WORDS, s, there, to, s, here, none, 0, 4, 0, GASPI_BLOCK));
    CHECK(await(0, 1) == 11 && await(0, 2) == 1 && await(0, 3) == 13 && await(0, 4) == 1);
    GOOD(gaspi_wait(0, GASPI_BLOCK));
    for (int i = 0; i < WORDS; i++)
        CHECK(memory[i] == 100 * (uint64_t)rank + (uint64_t)i && memory[WORDS + i] == 7);
    CODE(GASPI_ERR_INV_LOC_OFF, gaspi_write(0, end + 1, to, 0, 0, 0, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_REM_OFF, gaspi_read(0, 0, to, 0, end + 1, 0, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_NUM, gaspi_write_list(0, s, here, to, s, there, none, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_NUM,
         gaspi_read_list_notify(0, s, there, to, s, here, none, 0, 4, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_NUM,
         gaspi_write_list_notify(0, NULL, NULL, to, NULL, NULL, NULL, 0, 3, 1, 0, GASPI_BLOCK));
    barrier();
    GOOD(gaspi_write_list_notify(WORDS, s, here, to, s, there, sizes, 0, 5, 1, 0, GASPI_BLOCK));
    CHECK(await(0, 5) == 1);
    for (int i = 0; i < WORDS; i++)
        CHECK(memory[WORDS + i] == (i % 3 == 1 ? 100 * (uint64_t)before(rank) + (uint64_t)i : 7));
    GOOD(gaspi_wait(0, GASPI_BLOCK));
    barrier();
    GOOD(gaspi_read_list_notify(WORDS, s, there, to, s, here, sizes, 0, 6, 0, GASPI_BLOCK));
    CHECK(await(0, 6) == 1);
    for (int i = 0; i < WORDS; i++)
        CHECK(memory[WORDS + i] == (i % 3 == 1 ? 100 * (uint64_t)to + (uint64_t)i : 7));
    GOOD(gaspi_wait(0, GASPI_BLOCK));
    drop(0);
}

void notifications(void)
{
    static const gaspi_notification_id_t ids[] = {0, 1, 255, 256, 65535, 65536, IDS - 1};
    const int count = sizeof(ids) / sizeof(ids[0]);
    gaspi_notification_id_t found;
    gaspi_notification_t value;
    gaspi_time_t began, ended;

    segment(2, 64);
    CODE(GASPI_TIMEOUT, gaspi_notify_waitsome(2, 0, IDS, &found, GASPI_TEST));
    GOOD(gaspi_notify_reset(2, 5, &value));
    CHECK(value == 0);
    GOOD(gaspi_time_get(&began));
    CODE(GASPI_TIMEOUT, gaspi_notify_waitsome(2, 10, 20, &found, 50));
    GOOD(gaspi_time_get(&ended));
    barrier();
    for (int i = 0; i < count; i++)
        GOOD(gaspi_notify(2, after(rank), ids[i], 0xfffffff0u + (unsigned)i, 0, GASPI_BLOCK));
    for (int i = 0; i < count; i++)
        CHECK(await(2, ids[i]) == 0xfffffff0u + (unsigned)i);
    barrier();
    /* Any of a range, each once. */
    for (int i = 0; i < 100; i++)
        GOOD(gaspi_notify(2, after(rank), 300 + (gaspi_notification_id_t)i, 1 + (unsigned)i, 0,
                          GASPI_BLOCK));
    unsigned long sum = 0;
    for (int i = 0; i < 100; i++) {
        GOOD(gaspi_notify_waitsome(2, 300, 100, &found, GASPI_BLOCK));
        GOOD(gaspi_notify_reset(2, found, &value));
        CHECK(value == 1 + found - 300);
        sum += value;
    }
    CHECK(sum == 5050);
    CODE(GASPI_TIMEOUT, gaspi_notify_waitsome(2, 300, 100, &found, GASPI_TEST));
    /* It stays until it is reset. */
    GOOD(gaspi_notify(2, rank, 7, 9, 0, GASPI_BLOCK));
    GOOD(gaspi_notify_waitsome(2, 7, 1, &found, GASPI_BLOCK));
    GOOD(gaspi_notify_waitsome(2, 0, 100, &found, GASPI_BLOCK));
    CHECK(found == 7);
    GOOD(gaspi_notify_reset(2, 7, &value));
    CHECK(value == 9);
    /* None to wait for; a value that nobody asks for. */
    GOOD(gaspi_notify_waitsome(2, 0, 0, &found, GASPI_BLOCK));
    GOOD(gaspi_notify(2, rank, 7, 9, 0, GASPI_BLOCK));
    GOOD(gaspi_notify_waitsome(2, 7, 1, &found, GASPI_BLOCK));
    GOOD(gaspi_notify_reset(2, 7, NULL));
    CODE(GASPI_TIMEOUT, gaspi_notify_waitsome(2, 7, 1, &found, GASPI_TEST));
    GOOD(gaspi_wait(0, GASPI_BLOCK));
    drop(2);
}

/* Every notification is behind its data, whatever the size; all ranks to all, and no losses. */
void order(void)
{
    enum { ROUNDS = 100, WORDS = 512 };
    uint64_t *const memory = segment(0, sizeof(uint64_t) * WORDS * (1 + (size_t)ranks));
    unsigned out_of_order = 0;

    for (unsigned round = 1; round <= ROUNDS; round++) {
        const size_t words = round % 3 == 0 ? WORDS : round % 3 == 1 ? 1 : 9;
        for (int i = 0; i < WORDS; i++)
            memory[i] = (uint64_t)round << 32 | rank;
        for (gaspi_rank_t to = 0; to < ranks; to++)
            GOOD(gaspi_write_notify(0, 0, to, 0, 8 * WORDS * (1 + (gaspi_offset_t)rank), 8 * words,
                                    rank, round, round % 3, GASPI_BLOCK));
        for (gaspi_rank_t from = 0; from < ranks; from++) {
            const uint64_t *const got = memory + (size_t)WORDS * (1 + from);
            CHECK(await(0, from) == round);
            for (size_t i = 0; i < words; i++)
                out_of_order += got[i] != ((uint64_t)round << 32 | from);
        }
        GOOD(gaspi_wait((gaspi_queue_id_t)(round % 3), GASPI_BLOCK));
        barrier();
    }
    CHECK(out_of_order == 0);
    drop(0);
}

void lists(void)
{
    enum { MOST = 255 };
    uint32_t *const memory = segment(0, 4096);
    uint32_t *const other = segment(1, 4096);
    gaspi_segment_id_t local[MOST + 1], remote[MOST + 1];
    gaspi_offset_t from[MOST + 1], to[MOST + 1];
    gaspi_size_t size[MOST + 1];
    gaspi_number_t number;

    for (unsigned i = 0; i <= MOST; i++) {
        local[i] = 0;
        remote[i] = 1;
        from[i] = i * 4;
        to[i] = (MOST - i) * 4;
        size[i] = 4;
        memory[i] = rank * 1000u + i;
    }
    GOOD(gaspi_write_list_notify(MOST, local, from, after(rank), remote, to, size, 1, 3, 5, 0,
                                 GASPI_BLOCK));
    GOOD(gaspi_queue_size(0, &number));
    CHECK(number == MOST + 1);
    CHECK(await(1, 3) == 5);
    for (unsigned i = 0; i < MOST; i++)
        CHECK(other[MOST - i] == before(rank) * 1000u + i);
    GOOD(gaspi_wait(0, GASPI_BLOCK));
    barrier();
    memset(other, 0, 4096);
    barrier();
    GOOD(gaspi_write_list(MOST, local, from, after(rank), remote, to, size, 0, GASPI_BLOCK));
    GOOD(gaspi_notify(1, after(rank), 4, 6, 0, GASPI_BLOCK));
    CHECK(await(1, 4) == 6);
    CHECK(other[1] == before(rank) * 1000u + MOST - 1);
    GOOD(gaspi_wait(0, GASPI_BLOCK));
    barrier();
    memset(other, 0, 4096);
    GOOD(gaspi_read_list(MOST, remote, to, before(rank), local, from, size, 0, GASPI_BLOCK));
    GOOD(gaspi_wait(0, GASPI_BLOCK));
    for (unsigned i = 0; i < MOST; i++)
        CHECK(other[MOST - i] == before(rank) * 1000u + i);
    memset(other, 0, 4096);
    GOOD(gaspi_read_list_notify(MOST, remote, to, before(rank), local, from, size, 0, 8, 0,
                                GASPI_BLOCK));
    CHECK(await(0, 8) == 1);
    for (unsigned i = 0; i < MOST; i++)
        CHECK(other[MOST - i] == before(rank) * 1000u + i);
    GOOD(gaspi_wait(0, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_NUM,
         gaspi_write_list(MOST + 1, local, from, after(rank), remote, to, size, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_NUM,
         gaspi_read_list(0, local, from, after(rank), remote, to, size, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_NULLPTR,
         gaspi_write_list(3, NULL, from, after(rank), remote, to, size, 0, GASPI_BLOCK));
    to[2] = 4096;
    CODE(GASPI_ERR_INV_REM_OFF, gaspi_write_list_notify(3, local, from, after(rank), remote, to,
                                                        size, 1, 3, 5, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_SEG, gaspi_write_list_notify(2, local, from, after(rank), remote, to, size,
                                                    9, 3, 5, 0, GASPI_BLOCK));
    GOOD(gaspi_queue_size(0, &number));
    CHECK(number == 0); /* nothing of a list with one bad member */
    drop(1);
    drop(0);
}

void atomics(void)
{
    enum { ADDS = 200 };
    uint64_t *const memory = segment(0, 4096);
    gaspi_atomic_value_t old, last = 0, sum = 0, all;

    for (int i = 0; i < ADDS; i++) {
        GOOD(gaspi_atomic_fetch_add(0, 8, 0, 3, &old, GASPI_BLOCK));
        CHECK(i == 0 || old > last);
        last = old;
        sum += old;
    }
    GOOD(gaspi_allreduce(&sum, &all, 1, GASPI_OP_SUM, GASPI_TYPE_ULONG, GASPI_GROUP_ALL,
                         GASPI_BLOCK));
    const uint64_t n = (uint64_t)ADDS * ranks;
    CHECK(all == 3 * n * (n - 1) / 2); /* each old value once */
    if (rank == 0)
        CHECK(memory[1] == 3 * n);
    barrier();
    for (int i = 0; i < ADDS; i++) { /* a lock */
        do
            GOOD(gaspi_atomic_compare_swap(0, 16, 0, 0, 1 + (gaspi_atomic_value_t)rank, &old,
                                           GASPI_BLOCK));
        while (old != 0);
        GOOD(gaspi_atomic_fetch_add(0, 24, 0, 1, &old, GASPI_BLOCK));
        GOOD(gaspi_atomic_compare_swap(0, 16, 0, 1 + (gaspi_atomic_value_t)rank, 0, &old,
                                       GASPI_BLOCK));
        CHECK(old == 1 + (gaspi_atomic_value_t)rank);
    }
    barrier();
    GOOD(gaspi_atomic_fetch_add(0, 24, 0, 0, &old, GASPI_BLOCK));
    CHECK(old == n);
    CODE(GASPI_ERR_UNALIGN_OFF, gaspi_atomic_fetch_add(0, 4, 0, 1, &old, GASPI_BLOCK));
    CODE(GASPI_ERR_UNALIGN_OFF, gaspi_atomic_compare_swap(0, 1, 0, 1, 1, &old, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_REM_OFF, gaspi_atomic_fetch_add(0, 4096, 0, 1, &old, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_SEG, gaspi_atomic_fetch_add(1, 0, 0, 1, &old, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_RANK, gaspi_atomic_fetch_add(0, 0, ranks, 1, &old, GASPI_BLOCK));
    CODE(GASPI_ERR_NULLPTR, gaspi_atomic_fetch_add(0, 0, 0, 1, NULL, GASPI_BLOCK));
    CODE(GASPI_ERR_NULLPTR, gaspi_atomic_compare_swap(0, 0, 0, 1, 1, NULL, GASPI_BLOCK));
    drop(0);
}
