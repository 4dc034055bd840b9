/*
 * rdma/test_verbs_words.c - aligned words that are polled while they are put arrive undivided,
 * whatever the device: they travel in packets, and the receiver stores them.
 */
#include "verbs_pair.h"

#include <pthread.h>

enum { PUTS = 6000 };

static uint32_t stop;
static uint64_t divided, looks;

static uint64_t load(const unsigned char *at, size_t bytes)
{
    return bytes == 2   ? __atomic_load_n((const uint16_t *)(const void *)at, __ATOMIC_RELAXED)
           : bytes == 4 ? __atomic_load_n((const uint32_t *)(const void *)at, __ATOMIC_RELAXED)
                        : __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_RELAXED);
}

/* Every word that is put has equal bytes. */
static void *poll_words(void *unused)
{
    while (__atomic_load_n(&stop, __ATOMIC_ACQUIRE) == 0)
        for (size_t bytes = 2; bytes <= 8; bytes *= 2) {
            const uint64_t word = load(pair[1].memory + bytes * 64, bytes);
            uint64_t all = 0;
            memset(&all, (int)(word & 0xff), bytes);
            divided += word != all;
            looks++;
        }
    return unused;
}

static void run(void)
{
    static uint64_t values[PUTS];
    pthread_t poller;

    pair_open("", NULL);
    stop = 0;
    divided = looks = 0;
    if (pthread_create(&poller, NULL, poll_words, NULL) != 0)
        exit(1);
    for (int i = 0; i < PUTS; i++) {
        const size_t bytes = (size_t)2 << i % 3;
        memset(&values[i], i % 255 + 1, sizeof(values[i]));
        pair_put(0, bytes * 64, &values[i], bytes, 0);
    }
    PAIR_UNTIL(pair[0].delivered == PUTS);
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    pthread_join(poller, NULL);
    printf("%llu of %llu looks saw a divided word\n", (unsigned long long)divided,
           (unsigned long long)looks);
    CHECK(load(pair[1].memory + 64 * 8, 8) == values[PUTS - 1]);
    pair_close();
}

int main(void)
{
    setbuf(stdout, NULL);
    run();
    CHECK(divided == 0 && looks > PUTS);
    printf("%d checks failed\n", failures);
    return failures != 0;
}
