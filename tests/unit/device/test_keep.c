/* Memory that stays registered (device/keep.h) goes: nothing of it is used any more. */
#include "keep_run.h"

enum { SLOTS = 3, THREADS = 2, ROUNDS = 50000 /* of each thread */ };

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
    open_keep(&keep, MOST); /* neighbours in the heap become one registration */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unmapping_waits_for_the_drop),
        cmocka_unit_test(who_unmaps_may_have_a_lock_of_the_driver),
        cmocka_unit_test(what_is_gone_is_not_registered),
        cmocka_unit_test(nothing_stale_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
