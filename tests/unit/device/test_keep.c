/*
 * Memory that stays registered (device/keep.h). Registering is vmsplice(2) into a pipe: the pipe
 * holds the pages that were there then, as a GPU does, and what is read out of it is what a GPU
 * would read. So a registration that is kept too long gives bytes of memory that is gone.
 */
#include "device/keep.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { PINS = 64, SLOTS = 3, THREADS = 2, ROUNDS = 50000 /* of each thread */, MOST = 1 << 17 };
enum { PAGE = 4096 };

static struct pin {
    unsigned char *memory; /* NULL: none */
    size_t bytes;
    int pages[2]; /* the pipe */
} pins[PINS];
static int pinned, ever_pinned;
static bool refuses;
static pthread_mutex_t driver = PTHREAD_MUTEX_INITIALIZER;

/* With the keep's lock, as all below. */
static struct pin *find(const void *memory)
{
    for (int i = 0; i < PINS; i++)
        if (pins[i].memory == memory)
            return &pins[i];
    return NULL;
}

static const char *pin(struct weft_device *device, void *memory, size_t bytes)
{
    struct pin *p = find(NULL);

    (void)device;
    if (refuses)
        return "it is refused";
    if (p == NULL || pipe2(p->pages, O_CLOEXEC | O_NONBLOCK) != 0 ||
        fcntl(p->pages[1], F_SETPIPE_SZ, MOST) < 0)
        abort();
    *p = (struct pin){memory, bytes, {p->pages[0], p->pages[1]}};
    if (vmsplice(p->pages[1], &(struct iovec){memory, bytes}, 1, 0) != (ssize_t)bytes)
        abort();
    __atomic_fetch_add(&pinned, 1, __ATOMIC_RELAXED);
    ever_pinned++;
    return NULL;
}

static void unpin(struct weft_device *device, void *memory)
{
    struct pin *p = find(memory);

    (void)device;
    if (p == NULL)
        abort();
    pthread_mutex_lock(&driver);
    close(p->pages[0]);
    close(p->pages[1]);
    p->memory = NULL;
    pthread_mutex_unlock(&driver);
    __atomic_fetch_sub(&pinned, 1, __ATOMIC_RELAXED);
}

/* What the device reads of memory that is registered, maybe with more around it. */
static void read_pages(const unsigned char *memory, unsigned char *into, size_t bytes)
{
    static unsigned char all[MOST];
    const struct pin *p = NULL;
    int copy[2];

    for (int i = 0; i < PINS; i++)
        if (pins[i].memory != NULL && memory >= pins[i].memory &&
            memory + bytes <= pins[i].memory + pins[i].bytes)
            p = &pins[i];
    if (p == NULL || pipe2(copy, O_CLOEXEC | O_NONBLOCK) != 0 ||
        fcntl(copy[1], F_SETPIPE_SZ, MOST) < 0 ||
        tee(p->pages[0], copy[1], p->bytes, 0) != (ssize_t)p->bytes ||
        read(copy[0], all, p->bytes) != (ssize_t)p->bytes)
        abort();
    memcpy(into, all + (memory - p->memory), bytes);
    close(copy[0]);
    close(copy[1]);
}

static void open_keep(struct weft_keep *keep, size_t most)
{
    *keep = (struct weft_keep){.pin = pin, .unpin = unpin, .most = most};
    ever_pinned = 0;
}

static unsigned char *map(size_t bytes)
{
    unsigned char *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        abort();
    memset(memory, 1, bytes);
    return memory;
}

/* ---- memory that goes ------------------------------------------------------------------------ */

struct user {
    struct weft_keep *keep;
    pthread_t thread;
    unsigned seed;
    uint64_t held, wrong;
};

static void write_on(unsigned char *memory, size_t bytes, uint64_t number)
{
    for (size_t at = 0; at + 8 <= bytes; at += PAGE / 2)
        memcpy(memory + at, &number, 8);
    memcpy(memory + bytes - 8, &number, 8);
}

/* A message. */
static void use(struct user *user, const unsigned char *memory, size_t bytes)
{
    static _Thread_local unsigned char got[MOST];

    if (!weft_keep_hold(user->keep, memory, bytes, false))
        return;
    read_pages(memory, got, bytes);
    weft_keep_release(user->keep);
    user->held++;
    for (size_t at = 0; at + 8 <= bytes; at += PAGE / 2)
        user->wrong += memcmp(got + at, memory + at, 8) != 0;
    user->wrong += memcmp(got + bytes - 8, memory + bytes - 8, 8) != 0;
}

/* Frees it, moves it, empties it or replaces it; often it is at the same address again. */
static unsigned char *change(unsigned char *memory, size_t bytes, unsigned how)
{
    void *moved = NULL;

    switch (how % 4) {
    case 0:
        munmap(memory, bytes);
        return map(bytes);
    case 1:
        madvise(memory, bytes, MADV_DONTNEED);
        return memory;
    case 2: /* to where something else was, and back */
        moved = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        moved = mremap(memory, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, moved);
        if (moved == MAP_FAILED)
            abort();
        return moved;
    default:
        if (mmap(memory, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                 0) != memory)
            abort();
        return memory;
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

/* 100,000 messages in all, each of both kinds of memory. */
static void nothing_stale_is_used(void **state)
{
    struct weft_keep keep;
    struct user user[THREADS];
    uint64_t held = 0;

    (void)state;
    open_keep(&keep, 64 << 20);
    for (int i = 0; i < THREADS; i++) {
        user[i] = (struct user){.keep = &keep, .seed = 17 + (unsigned)i};
        assert_int_equal(pthread_create(&user[i].thread, NULL, use_and_free, &user[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(user[i].thread, NULL);
        assert_int_equal(user[i].wrong, 0);
        held += user[i].held;
    }
    assert_true(held > 0); /* how often, the scheduler decides */
    weft_keep_close(&keep);
    assert_int_equal(pinned, 0);
}

/* Once memory is unmapped, nothing of it is registered: also what others copy is right. */
static void unmapping_waits_for_the_drop(void **state)
{
    struct weft_keep keep;
    enum { BYTES = 16 * PAGE };

    (void)state;
    open_keep(&keep, 64 << 20);
    for (int i = 0; i < 200; i++) {
        unsigned char *memory = map(BYTES);
        for (int use = 0; !weft_keep_hold(&keep, memory, BYTES, false); use++)
            assert_true(use < 1000000);
        assert_int_equal(__atomic_load_n(&pinned, __ATOMIC_RELAXED), 1);
        weft_keep_release(&keep);
        munmap(memory, BYTES);
        assert_int_equal(__atomic_load_n(&pinned, __ATOMIC_RELAXED), 0);
    }
    weft_keep_close(&keep);
}

static void register_it(struct weft_keep *keep, const void *memory, size_t bytes)
{
    for (int use = 0; !weft_keep_hold(keep, memory, bytes, false); use++)
        assert_true(use < 1000000);
    weft_keep_release(keep);
}

/* So is malloc's, when `free` trims the heap. */
static void who_unmaps_may_have_a_lock_of_the_driver(void **state)
{
    struct weft_keep keep;
    enum { BYTES = 16 * PAGE };
    unsigned char *memory = map(BYTES);

    (void)state;
    open_keep(&keep, 64 << 20);
    register_it(&keep, memory, BYTES);
    alarm(60);
    pthread_mutex_lock(&driver);
    munmap(memory, BYTES);
    pthread_mutex_unlock(&driver);
    alarm(0);
    memory = map(BYTES); /* once this is registered, the other is not */
    register_it(&keep, memory, BYTES);
    assert_int_equal(__atomic_load_n(&pinned, __ATOMIC_RELAXED), 1);
    weft_keep_close(&keep);
    munmap(memory, BYTES);
}

static void *unmap(void *argument)
{
    munmap(argument, 16 * PAGE);
    return NULL;
}

/* What is not held is registered neither: the device would copy what was there. */
static void what_is_gone_is_not_registered(void **state)
{
    struct weft_keep keep;
    enum { BYTES = 16 * PAGE };

    (void)state;
    open_keep(&keep, 64 << 20);
    for (int i = 0; i < 50; i++) {
        unsigned char *memory = map(BYTES), in_core;
        pthread_t thread;
        register_it(&keep, memory, BYTES);
        assert_true(weft_keep_hold(&keep, memory, BYTES, false));
        assert_int_equal(pthread_create(&thread, NULL, unmap, memory), 0);
        while (mincore(memory, PAGE, &in_core) == 0) /* until it is gone, and its event there */
            continue;
        weft_keep_release(&keep);
        if (weft_keep_hold(&keep, memory, BYTES, false))
            fail();
        assert_int_equal(__atomic_load_n(&pinned, __ATOMIC_RELAXED), 0);
        pthread_join(thread, NULL);
    }
    weft_keep_close(&keep);
}

/* ---- what is registered ---------------------------------------------------------------------- */

static void from_the_second_use_on(void **state)
{
    struct weft_keep keep;
    enum { BYTES = 16 * PAGE };
    unsigned char *memory = map(2 * BYTES);

    (void)state;
    open_keep(&keep, BYTES + BYTES / 2);
    assert_false(weft_keep_hold(&keep, memory, BYTES, false));
    for (int i = 0; i < 100; i++) {
        assert_true(weft_keep_hold(&keep, memory, BYTES, false));
        weft_keep_release(&keep);
    }
    assert_true(weft_keep_hold(&keep, memory + 100, BYTES - 100, false)); /* a part of it */
    weft_keep_release(&keep);
    assert_int_equal(ever_pinned, 1);
    weft_keep_drop(&keep);
    for (int i = 0; i < 10; i++) /* pieces of one message */
        assert_false(weft_keep_hold(&keep, memory, BYTES, i != 0));
    assert_true(weft_keep_hold(&keep, memory, BYTES, false));
    weft_keep_release(&keep);
    assert_false(weft_keep_hold(&keep, memory, 2 * BYTES, false)); /* more than `most` */
    assert_true(weft_keep_drop(&keep));
    assert_false(weft_keep_drop(&keep));
    for (int i = 0; i < 2; i++)
        if (weft_keep_hold(&keep, memory, BYTES, false))
            weft_keep_release(&keep);
    assert_int_equal(pinned, 1);
    weft_keep_turn(&keep, true);
    assert_int_equal(pinned, 0);
    assert_false(weft_keep_hold(&keep, memory, BYTES, false));
    assert_false(weft_keep_hold(&keep, memory, BYTES, false));
    weft_keep_turn(&keep, false);
    weft_keep_close(&keep);
    munmap(memory, 2 * BYTES);
}

/* Two ranges that overlap, or have no room together, are not registered in turns for ever. */
static void those_that_displace_each_other_become_rare(void **state)
{
    struct weft_keep keep;
    enum { BYTES = 16 * PAGE, USES = 4000 };
    unsigned char *memory = map(4 * BYTES);

    (void)state;
    for (size_t apart = BYTES / 2; apart <= 2 * BYTES; apart += 3 * BYTES / 2) {
        open_keep(&keep, BYTES + BYTES / 2);
        for (int i = 0; i < USES; i++)
            if (weft_keep_hold(&keep, memory + (size_t)(i % 2) * apart, BYTES, false))
                weft_keep_release(&keep);
        assert_in_range(ever_pinned, 2, 40);
        weft_keep_close(&keep);
    }
    munmap(memory, 4 * BYTES);
}

/* A window of messages: each two have a page in common, which cannot be registered twice. */
static void neighbours_are_one_registration(void **state)
{
    struct weft_keep keep;
    enum { COUNT = 20, EACH = PAGE + 100, APART = EACH + 16 };
    unsigned char *memory = map(COUNT * APART), *other = map(PAGE);

    (void)state;
    open_keep(&keep, 64 << 20);
    register_it(&keep, other, PAGE);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < COUNT; i++) {
            const bool held = weft_keep_hold(&keep, memory + i * APART, EACH, false);
            if (held)
                weft_keep_release(&keep);
            assert_int_equal(held, round != 0);
        }
    assert_int_equal(ever_pinned, 1 + COUNT);
    assert_int_equal(pinned, 2); /* the other stayed */
    weft_keep_close(&keep);
    assert_int_equal(pinned, 0);
    munmap(memory, COUNT * APART);
    munmap(other, PAGE);
}

/* One that grows is registered as soon as any, and those beside it again. */
static void growing_is_not_displacing(void **state)
{
    struct weft_keep keep;
    enum { LEAST = 4 * PAGE, LARGEST = 32 * PAGE };
    unsigned char *memory = map(2 * LARGEST);
    int uses = 0;

    (void)state;
    open_keep(&keep, 64 << 20);
    for (size_t bytes = LEAST; bytes <= LARGEST; bytes *= 2)
        for (int i = 0; i < 4; i++)
            for (int side = 0; side < 2; side++)
                if (weft_keep_hold(&keep, memory + side * bytes, bytes, false)) {
                    weft_keep_release(&keep);
                    uses++;
                }
    assert_in_range(uses, 4 * 4, 4 * 6); /* four sizes, of 8 each; at most half are the first */
    weft_keep_close(&keep);
    munmap(memory, 2 * LARGEST);
}

/* A hole in a file makes no event. */
static void shared_memory_is_not_registered(void **state)
{
    struct weft_keep keep;
    enum { BYTES = 16 * PAGE };
    void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_true(memory != MAP_FAILED);
    memset(memory, 1, BYTES);
    open_keep(&keep, 64 << 20);
    for (int i = 0; i < 5000; i++)
        assert_false(weft_keep_hold(&keep, memory, BYTES, false));
    assert_in_range(ever_pinned, 0, 20);
    assert_int_equal(pinned, 0);
    weft_keep_close(&keep);
    munmap(memory, BYTES);
}

/* Else every unmapping of it would drop all. */
static void what_is_refused_is_not_watched(void **state)
{
    struct weft_keep keep;
    enum { BYTES = 16 * PAGE };
    unsigned char *kept = map(BYTES), *refused = map(BYTES);

    (void)state;
    open_keep(&keep, 64 << 20);
    refuses = true;
    for (int i = 0; i < 3; i++)
        assert_false(weft_keep_hold(&keep, refused, BYTES, false));
    refuses = false;
    register_it(&keep, kept, BYTES);
    munmap(refused, BYTES);
    assert_int_equal(__atomic_load_n(&pinned, __ATOMIC_RELAXED), 1);
    weft_keep_close(&keep);
    munmap(kept, BYTES);
}

/* Its memory is not watched, and the registration stays. */
static void a_child_of_fork_frees_its_own(void **state)
{
    struct weft_keep keep;
    enum { BYTES = 16 * PAGE };
    unsigned char *memory = map(BYTES);
    int status;

    (void)state;
    open_keep(&keep, 64 << 20);
    for (int i = 0; i < 2; i++)
        if (weft_keep_hold(&keep, memory, BYTES, false))
            weft_keep_release(&keep);
    const pid_t child = fork();
    if (child == 0) {
        munmap(memory, BYTES);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(pinned, 1);
    weft_keep_close(&keep);
    munmap(memory, BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_the_second_use_on),
        cmocka_unit_test(those_that_displace_each_other_become_rare),
        cmocka_unit_test(neighbours_are_one_registration),
        cmocka_unit_test(growing_is_not_displacing),
        cmocka_unit_test(shared_memory_is_not_registered),
        cmocka_unit_test(unmapping_waits_for_the_drop),
        cmocka_unit_test(who_unmaps_may_have_a_lock_of_the_driver),
        cmocka_unit_test(what_is_gone_is_not_registered),
        cmocka_unit_test(what_is_refused_is_not_watched),
        cmocka_unit_test(a_child_of_fork_frees_its_own),
        cmocka_unit_test(nothing_stale_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
