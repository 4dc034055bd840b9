/*
 * keep_run.h - a device for tests of memory that stays registered (device/keep.h). Registering is
 * vmsplice(2) into a pipe: the pipe holds the pages that were there then, as a GPU does, and what
 * is read out of it is what a GPU would read. So a registration that is kept too long gives bytes
 * of memory that is gone.
 */
#ifndef WEFT_TESTS_KEEP_RUN_H
#define WEFT_TESTS_KEEP_RUN_H

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
#include <unistd.h>

#include <cmocka.h>

enum { PINS = 64, MOST = 1 << 17, PAGE = 4096, BYTES = 16 * PAGE };

static struct weft_keep keep;
static unsigned char *memory; /* 4 * BYTES, for tests that do not unmap their own */

static struct pin {
    unsigned char *memory; /* NULL: none */
    size_t bytes;
    int pages[2]; /* the pipe */
} pins[PINS];
static int pinned, ever_pinned;
static bool refuses;
static pthread_mutex_t driver = PTHREAD_MUTEX_INITIALIZER;

/* With the keep's lock, as all below. */
static inline struct pin *find(const void *at)
{
    for (int i = 0; i < PINS; i++)
        if (pins[i].memory == at)
            return &pins[i];
    return NULL;
}

static inline const char *pin(struct weft_device *device, void *at, size_t bytes)
{
    struct pin *p = find(NULL);

    (void)device;
    if (refuses)
        return "it is refused";
    if (p == NULL || pipe2(p->pages, O_CLOEXEC | O_NONBLOCK) != 0 ||
        fcntl(p->pages[1], F_SETPIPE_SZ, MOST) < 0)
        abort();
    *p = (struct pin){at, bytes, {p->pages[0], p->pages[1]}};
    if (vmsplice(p->pages[1], &(struct iovec){at, bytes}, 1, 0) != (ssize_t)bytes)
        abort();
    __atomic_fetch_add(&pinned, 1, __ATOMIC_RELAXED);
    ever_pinned++;
    return NULL;
}

static inline void unpin(struct weft_device *device, void *at)
{
    struct pin *p = find(at);

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
static inline void read_pages(const unsigned char *from, unsigned char *into, size_t bytes)
{
    static unsigned char all[MOST];
    const struct pin *p = NULL;
    int copy[2];

    for (int i = 0; i < PINS; i++)
        if (pins[i].memory != NULL && from >= pins[i].memory &&
            from + bytes <= pins[i].memory + pins[i].bytes)
            p = &pins[i];
    if (p == NULL || pipe2(copy, O_CLOEXEC | O_NONBLOCK) != 0 ||
        fcntl(copy[1], F_SETPIPE_SZ, MOST) < 0 ||
        tee(p->pages[0], copy[1], p->bytes, 0) != (ssize_t)p->bytes ||
        read(copy[0], all, p->bytes) != (ssize_t)p->bytes)
        abort();
    memcpy(into, all + (from - p->memory), bytes);
    close(copy[0]);
    close(copy[1]);
}

static inline void open_keep(size_t most)
{
    keep = (struct weft_keep){.pin = pin, .unpin = unpin, .most = most};
    ever_pinned = 0;
}

static inline unsigned char *map(size_t bytes)
{
    unsigned char *mapped =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (mapped == MAP_FAILED)
        abort();
    memset(mapped, 1, bytes);
    return mapped;
}

static inline int set_up(void **state)
{
    (void)state;
    open_keep(64 << 20);
    memory = map(4 * BYTES);
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    weft_keep_close(&keep);
    munmap(memory, 4 * BYTES);
    return pinned; /* none */
}

static inline int pinned_now(void)
{
    return __atomic_load_n(&pinned, __ATOMIC_RELAXED);
}

/* A message: whether its memory was registered for it. */
static inline bool hold(const void *from, size_t bytes)
{
    if (!weft_keep_hold(&keep, from, bytes, false))
        return false;
    weft_keep_release(&keep);
    return true;
}

static inline void register_it(const void *from, size_t bytes)
{
    for (int use = 0; !hold(from, bytes); use++)
        assert_true(use < 1000000);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

#endif
