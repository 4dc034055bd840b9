/*
 * support/check.h - checks inside kernels, and the little that test kernels share: random numbers,
 * patterns, atomics on the test's own memory. Compiles as C17 and as CUDA C.
 *
 * A test's user data begins with a struct test_check. A check that fails stores rank, line and
 * values there, the first of the device only, and goes on: a rank that stopped would leave the
 * others waiting. After the run the host prints what it finds (support/test.c).
 */
#ifndef WEFT_TESTS_CHECK_H
#define WEFT_TESTS_CHECK_H

#include <weft/device.h>

#include <stdbool.h>

#ifndef __CUDACC__
#include "order/atomic.h"
#endif

struct test_check {
    uint32_t failed; /* checks that failed on this device */
    uint32_t done;   /* ranks that came to their end */
    int32_t rank, line;
    int64_t got, want;
    char file[32];
};

/* Adds to a word that ranks of one device share; the old value. Any thread. */
WEFT_DEVICE_FN inline uint32_t test_add_u32(uint32_t *word, uint32_t value)
{
#ifdef __CUDACC__
    return atomicAdd(word, value);
#else
    return __atomic_fetch_add(word, value, __ATOMIC_ACQ_REL);
#endif
}

/* Reads a value that another rank may be putting at this moment; undivided, orders nothing. */
WEFT_DEVICE_FN inline uint64_t test_peek_u64(const uint64_t *address)
{
#ifdef __CUDACC__
    return *(const volatile uint64_t *)address;
#else
    return __atomic_load_n(address, __ATOMIC_RELAXED);
#endif
}

WEFT_DEVICE_FN inline void test_check_failed(weft_self *self, struct test_check *check,
                                             const char *file, int line, int64_t got, int64_t want)
{
    size_t base = 0;

    if (test_add_u32(&check->failed, 1) != 0)
        return;
    check->rank = weft_rank(self, WEFT_COMM_WORLD);
    check->line = line;
    check->got = got;
    check->want = want;
    for (size_t i = 0; file[i] != 0; i++) {
        if (file[i] == '/')
            base = i + 1;
    }
    for (size_t i = 0; i + 1 < sizeof(check->file) && file[base + i] != 0; i++)
        check->file[i] = file[base + i];
}

/* Any thread; integers. */
#define CHECK_EQ(self, check, got, want)                                                           \
    do {                                                                                           \
        const int64_t got_value = (int64_t)(got), want_value = (int64_t)(want);                    \
        if (got_value != want_value)                                                               \
            test_check_failed(self, check, __FILE__, __LINE__, got_value, want_value);             \
    } while (0)
#define CHECK(self, check, condition) CHECK_EQ(self, check, (condition) ? 1 : 0, 1)

/* The last statement of a test kernel: the host expects it of every rank. */
WEFT_DEVICE_FN inline void test_done(weft_self *self, struct test_check *check)
{
    if (weft_thread(self) == 0)
        test_add_u32(&check->done, 1);
}

/*
 * Random schedules check every access that they see for races; these make them see the test's own
 * loads and stores. A failed check ends the run with WEFT_ERR_RACE.
 */
WEFT_DEVICE_FN inline void test_will_read(const void *memory, size_t bytes)
{
#ifdef __CUDACC__
    (void)memory, (void)bytes;
#else
    weft_used_shared(memory, bytes);
#endif
}
WEFT_DEVICE_FN inline void test_will_write(const void *memory, size_t bytes)
{
#ifdef __CUDACC__
    (void)memory, (void)bytes;
#else
    weft_claim_shared(memory, bytes);
#endif
}

/* Gives this rank's part of memory that holds `each` bytes for every rank of the device. */
WEFT_DEVICE_FN inline unsigned char *test_mine(weft_self *self, void *memory, size_t each)
{
    return (unsigned char *)memory + (size_t)weft_rank(self, WEFT_COMM_DEVICE) * each;
}

/* splitmix64 (Steele, Lea, Flood 2014): good enough, and the same on host and device. */
WEFT_DEVICE_FN inline uint64_t test_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Draws the next number of a sequence, below `limit` (> 0). All threads of a rank draw the same. */
WEFT_DEVICE_FN inline uint32_t test_random(uint64_t *state, uint32_t limit)
{
    *state += 0x9e3779b97f4a7c15u;
    return (uint32_t)((test_mix(*state) >> 32) % limit);
}

/* Byte i of the pattern that `key` names. Never zero, so that memory nobody wrote is noticed. */
WEFT_DEVICE_FN inline unsigned char test_byte(uint64_t key, size_t i)
{
    return (unsigned char)(test_mix(key * 0x10001u + i) % 255u + 1u);
}

/* Fills with the pattern; for the source of a put (ends with a sync). All threads. */
WEFT_DEVICE_FN inline void test_fill(weft_self *self, void *memory, size_t bytes, uint64_t key)
{
    unsigned char *p = (unsigned char *)memory;

    weft_sync(self);
    test_will_write(memory, bytes);
    weft_for (i, bytes)
        p[i] = test_byte(key, i);
    weft_sync(self);
}

WEFT_DEVICE_FN inline void test_clear(weft_self *self, void *memory, size_t bytes)
{
    unsigned char *p = (unsigned char *)memory;

    weft_sync(self);
    test_will_write(memory, bytes);
    weft_for (i, bytes)
        p[i] = 0;
    weft_sync(self);
}

/* Counts bytes that differ from the pattern, as far as this thread looked: expected to be 0. */
WEFT_DEVICE_FN inline size_t test_differs(weft_self *self, const void *memory, size_t bytes,
                                          uint64_t key)
{
    const unsigned char *p = (const unsigned char *)memory;
    size_t wrong = 0;

    (void)self;
    test_will_read(memory, bytes);
    weft_for (i, bytes)
        wrong += p[i] != test_byte(key, i);
    return wrong;
}

/* Counts bytes that are not `value`. */
WEFT_DEVICE_FN inline size_t test_differs_from(weft_self *self, const void *memory, size_t bytes,
                                               unsigned char value)
{
    const unsigned char *p = (const unsigned char *)memory;
    size_t wrong = 0;

    (void)self;
    test_will_read(memory, bytes);
    weft_for (i, bytes)
        wrong += p[i] != value;
    return wrong;
}

/*
 * Each rank exposes so many bytes as its rank tells, the first none at all, and puts a pattern into
 * its right neighbour's. memory: this rank's, `each` bytes. All ranks, all threads.
 */
WEFT_DEVICE_FN inline void test_exchange(weft_self *self, struct test_check *check,
                                         unsigned char *memory, size_t each, int tag)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const int to = (me + 1) % n, from = (me + n - 1) % n;
    const size_t mine = (size_t)(me % 16) * 64, theirs = (size_t)(to % 16) * 64;
    unsigned char *source = memory + each / 2;

    test_clear(self, memory, each);
    test_fill(self, source, theirs, (uint64_t)me);
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, mine == 0 ? NULL : memory, mine);
    CHECK_EQ(self, check, weft_failure(self), WEFT_OK);
    CHECK(self, check, win != WEFT_WIN_NONE);
    weft_put_notify(self, win, to, 0, source, theirs, tag);
    weft_put_notify(self, win, to, theirs, NULL, 0, tag); /* nothing, at the very end */
    weft_wait(self, tag, 2);
    CHECK_EQ(self, check, test_differs(self, memory, mine, (uint64_t)from), 0);
    CHECK_EQ(self, check, test_differs_from(self, memory + mine, each / 2 - mine, 0), 0);
    weft_win_free(self, &win);
}

#endif
