/*
 * A device for memory that stays registered (device/keep.h). Registering is vmsplice(2) into a
 * pipe: the pipe holds the pages that were there then, as a GPU does, and what is read out of it is
 * what a GPU would read. So a registration that is kept too long gives bytes of memory that is
 * gone.
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

enum { PAGE = 4096, PINS = 64, MOST = 1 << 19 /* bytes of one registration */ };

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

static uintptr_t last_page(const struct pin *p)
{
    return ((uintptr_t)p->memory + p->bytes - 1) / PAGE;
}

/* As CUDA, it takes no page twice. */
static const char *pin(struct weft_device *device, void *memory, size_t bytes)
{
    struct pin *p = find(NULL);

    (void)device;
    for (int i = 0; i < PINS; i++)
        if (pins[i].memory != NULL && (uintptr_t)memory / PAGE <= last_page(&pins[i]) &&
            (uintptr_t)pins[i].memory / PAGE <= ((uintptr_t)memory + bytes - 1) / PAGE)
            return "a page is registered already";
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

static void register_it(struct weft_keep *keep, const void *memory, size_t bytes)
{
    for (int use = 0; !weft_keep_hold(keep, memory, bytes, false); use++)
        assert_true(use < 1000000);
    weft_keep_release(keep);
}

#endif
