/*
 * Memory that goes while it is registered (device/keep.h): nothing of it is used afterwards, also
 * by a message of another thread, and who unmaps it waits for no lock of the driver.
 */
#include "keep_run.h"

#include <linux/userfaultfd.h>
#include <sys/ioctl.h>

#include <sys/wait.h>

#ifdef __SANITIZE_THREAD__
enum { ROUNDS = 10000 /* of each thread */ };
#else
enum { ROUNDS = 50000 };
#endif
enum { SLOTS = 3, THREADS = 2 };

struct user {
    pthread_t thread;
    unsigned seed;
    uint64_t held, wrong;
};

static void write_on(unsigned char *into, size_t bytes, uint64_t number)
{
    for (size_t at = 0; at + 8 <= bytes; at += PAGE / 2)
        memcpy(into + at, &number, 8);
    memcpy(into + bytes - 8, &number, 8);
}

/* A message. */
static void use(struct user *user, const unsigned char *from, size_t bytes)
{
    static _Thread_local unsigned char got[MOST];

    if (!weft_keep_hold(&keep, from, bytes, false))
        return;
    read_pages(from, got, bytes);
    weft_keep_release(&keep);
    user->held++;
    for (size_t at = 0; at + 8 <= bytes; at += PAGE / 2)
        user->wrong += memcmp(got + at, from + at, 8) != 0;
    user->wrong += memcmp(got + bytes - 8, from + bytes - 8, 8) != 0;
}

/* Frees it, moves it, empties it or replaces it; often it is at the same address again. */
static unsigned char *change(unsigned char *mapped, size_t bytes, unsigned how)
{
    void *moved = NULL;

    switch (how % 4) {
    case 0:
        munmap(mapped, bytes);
        return map(bytes);
    case 1:
        madvise(mapped, bytes, MADV_DONTNEED);
        return mapped;
    case 2: /* to where something else was, and back */
        moved = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        moved = mremap(mapped, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, moved);
        if (moved == MAP_FAILED)
            abort();
        return moved;
    default:
        if (mmap(mapped, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                 0) != mapped)
            abort();
        return mapped;
    }
}

static void *use_and_free(void *argument)
{
    struct user *user = argument;
    unsigned char *mapped[SLOTS], *heap[SLOTS] = {NULL};
    const size_t bytes = 8 * PAGE, heap_bytes = 10 * PAGE; /* below what malloc maps */

    for (int i = 0; i < SLOTS; i++)
        mapped[i] = map(bytes);
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        const unsigned slot = (unsigned)rand_r(&user->seed) % SLOTS;
        const unsigned how = (unsigned)rand_r(&user->seed) % 256;
        if (how < 4)
            mapped[slot] = change(mapped[slot], bytes, how);
        write_on(mapped[slot], bytes, round);
        use(user, mapped[slot], bytes);
        if (how == 5 || heap[slot] == NULL) {
            free(heap[slot]);
            heap[slot] = malloc(heap_bytes);
        }
        write_on(heap[slot], heap_bytes, round);
        use(user, heap[slot], heap_bytes);
    }
    for (int i = 0; i < SLOTS; i++) {
        munmap(mapped[i], bytes);
        free(heap[i]);
    }
    return NULL;
}

/* 100,000 messages in all, with ThreadSanitizer 20,000, each of both kinds of memory. */
static void nothing_stale_is_used(void **state)
{
    struct user user[THREADS];
    uint64_t held = 0;

    (void)state;
    for (int i = 0; i < THREADS; i++) {
        user[i] = (struct user){.seed = 17 + (unsigned)i};
        assert_int_equal(pthread_create(&user[i].thread, NULL, use_and_free, &user[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(user[i].thread, NULL);
        assert_int_equal(user[i].wrong, 0);
        held += user[i].held;
    }
    assert_true(held > 0); /* how often, the scheduler decides */
}

/* Once memory is unmapped, nothing of it is registered: also what others copy is right. */
static void unmapping_waits_for_the_drop(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        unsigned char *gone = map(BYTES);
        register_it(gone, BYTES);
        assert_int_equal(pinned_now(), 1);
        munmap(gone, BYTES);
        assert_int_equal(pinned_now(), 0);
    }
}

/* So is malloc's, when `free` trims the heap. */
static void who_unmaps_may_have_a_lock_of_the_driver(void **state)
{
    unsigned char *gone = map(BYTES);

    (void)state;
    register_it(gone, BYTES);
    alarm(200);
    pthread_mutex_lock(&driver);
    munmap(gone, BYTES);
    pthread_mutex_unlock(&driver);
    alarm(0);
    register_it(memory, BYTES); /* once this is registered, the other is not */
    assert_int_equal(pinned_now(), 1);
}

static void *unmap(void *argument)
{
    munmap(argument, BYTES);
    return NULL;
}

/* What is not held is registered neither: the device would copy what was there. */
static void what_is_gone_is_not_registered(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        unsigned char *gone = map(BYTES), in_core;
        pthread_t thread;
        register_it(gone, BYTES);
        assert_true(weft_keep_hold(&keep, gone, BYTES, false));
        assert_int_equal(pthread_create(&thread, NULL, unmap, gone), 0);
        while (mincore(gone, PAGE, &in_core) == 0) /* until it is gone, and its event there */
            continue;
        weft_keep_release(&keep);
        assert_false(weft_keep_hold(&keep, gone, BYTES, false));
        assert_int_equal(pinned_now(), 0);
        pthread_join(thread, NULL);
    }
}

/* Else every unmapping of it would drop all. */
static void what_is_refused_is_not_watched(void **state)
{
    unsigned char *refused = map(BYTES);

    (void)state;
    refuses = true;
    for (int i = 0; i < 3; i++)
        assert_false(hold(refused, BYTES));
    refuses = false;
    register_it(memory, BYTES);
    munmap(refused, BYTES);
    assert_int_equal(pinned_now(), 1);
}

/* Its memory is not watched, and the registration stays. */
static void a_child_of_fork_frees_its_own(void **state)
{
    int status;

    (void)state;
    hold(memory, BYTES);
    assert_true(hold(memory, BYTES));
    const pid_t child = fork();
    if (child == 0) {
        munmap(memory, BYTES);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(pinned, 1);
}

/*
 * Neighbours are one registration. Memory of one of them has gone and come again, and nobody knows
 * yet: as between munmap in the kernel and the reading of its event.
 */
static void one_of_two_neighbours_goes(void **state)
{
    unsigned char *const second = memory + 2 * PAGE, got[8];
    struct uffdio_range gone = {(uintptr_t)second, 2 * PAGE};

    (void)state;
    register_it(memory, PAGE + 100);
    register_it(memory + PAGE + 200, 4 * PAGE);
    assert_int_equal(pinned, 1);
    assert_int_equal(ioctl(keep.events, UFFDIO_UNREGISTER, &gone), 0);
    assert_ptr_equal(mmap(second, 2 * PAGE, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
                     second);
    memset(second, 7, 2 * PAGE);
    if (weft_keep_hold(&keep, second, 2 * PAGE, false)) {
        read_pages(second, got, sizeof(got));
        weft_keep_release(&keep);
        assert_memory_equal(got, second, sizeof(got));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_of_two_neighbours_goes),
        TEST(unmapping_waits_for_the_drop),
        TEST(who_unmaps_may_have_a_lock_of_the_driver),
        TEST(what_is_gone_is_not_registered),
        TEST(what_is_refused_is_not_watched),
        TEST(a_child_of_fork_frees_its_own),
        TEST(nothing_stale_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
