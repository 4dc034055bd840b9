/* device/keep.c - see the header. The lock is a leaf: what is called under it takes no other of the
 * library's, and may itself unmap memory, for which the watcher waits a while and no longer. */
#include "device/keep.h"

#include "base/say.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const uint64_t LONGEST_NS = 1000000000; /* that a thread which unmaps memory is held up */
enum { NEED = 2, NEED_MOST = 1024 };           /* uses before it is registered */

/* ---- what is registered: with the lock ------------------------------------------------------- */

/* Its pages are watched from now on; or those are watched no more that are its own. False: they
 * cannot be. */
static bool watches(const struct weft_keep *keep, const struct weft_keep_range *range, bool now)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), more = now ? 0 : page - 1;
    const uintptr_t start = (range->at + more) & ~(page - 1);
    const uintptr_t end = (range->at + range->bytes + page - 1 - more) & ~(page - 1);
    struct uffdio_register watched = {.range = {start, end - start},
                                      .mode = UFFDIO_REGISTER_MODE_WP}; /* of which none is */

    return ioctl(keep->events, now ? UFFDIO_REGISTER : UFFDIO_UNREGISTER, &watched) == 0;
}

static void drop(struct weft_keep *keep, struct weft_keep_range *range)
{
    if (range->pinned) {
        keep->unpin(keep->device, (void *)range->at);
        keep->bytes -= range->bytes;
        watches(keep, range, false); /* what is gone is watched no more */
    }
    range->pinned = false;
    range->uses = 0;
}

static void drop_all(struct weft_keep *keep)
{
    for (int i = 0; i < WEFT_KEEP_RANGES; i++) {
        drop(keep, &keep->range[i]);
        keep->range[i].at = 0;
    }
}

/* The one that was used longest ago; pinned: of those that are registered, NULL: there is none. */
static struct weft_keep_range *oldest(struct weft_keep *keep, bool pinned)
{
    struct weft_keep_range *found = NULL;

    for (struct weft_keep_range *r = keep->range; r < keep->range + WEFT_KEEP_RANGES; r++)
        if ((r->pinned || !pinned) &&
            (found == NULL || keep->clock - r->last > keep->clock - found->last))
            found = r;
    return found;
}

/* It makes room for another: it takes longer until it is registered again. */
static void displace(struct weft_keep *keep, struct weft_keep_range *range)
{
    drop(keep, range);
    range->need = range->need < NEED_MOST ? 2 * range->need : NEED_MOST;
}

/* What shares a page with another process, or with a file, may change under this one's address
 * without an event. Of memory whose pages are there. */
static bool is_private(uintptr_t at, size_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const int pages = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    const uintptr_t byte[] = {at, at + bytes - 1};
    bool is = pages >= 0;

    for (int i = 0; i < 2 && is; i++) {
        uint64_t said = 0; /* proc(5): bit 63: present, 61: of a file, or shared */
        is = pread(pages, &said, sizeof(said), (off_t)(byte[i] / page * sizeof(said))) ==
                 sizeof(said) &&
             said >> 63 != 0 && (said >> 61 & 1) == 0;
    }
    if (pages >= 0)
        close(pages);
    return is;
}

/* Watched before it is registered: what goes meanwhile is dropped when the lock is free. */
static void pin(struct weft_keep *keep, struct weft_keep_range *range)
{
    for (struct weft_keep_range *r = keep->range; r < keep->range + WEFT_KEEP_RANGES; r++)
        if (r->pinned && r->at < range->at + range->bytes && range->at < r->at + r->bytes)
            displace(keep, r);
    while (range->bytes > keep->most - keep->bytes)
        displace(keep, oldest(keep, true));
    displace(keep, range); /* if it cannot be */
    if (!watches(keep, range, true) ||
        keep->pin(keep->device, (void *)range->at, range->bytes) != NULL)
        return;
    range->pinned = true;
    keep->bytes += range->bytes;
    if (!is_private(range->at, range->bytes))
        drop(keep, range);
}

static struct weft_keep_range *find(struct weft_keep *keep, uintptr_t at, size_t bytes)
{
    struct weft_keep_range *same = NULL;

    for (struct weft_keep_range *r = keep->range; r < keep->range + WEFT_KEEP_RANGES; r++) {
        if (r->pinned && at >= r->at && at - r->at <= r->bytes && bytes <= r->bytes - (at - r->at))
            return r;
        if (r->at == at && r->bytes == bytes)
            same = r;
    }
    if (same == NULL) {
        same = oldest(keep, false);
        drop(keep, same);
        *same = (struct weft_keep_range){.at = at, .bytes = bytes, .need = NEED};
    }
    return same;
}

/* ---- memory goes ----------------------------------------------------------------------------- */

/*
 * An event that was read lets its thread go on, so before one is read all is dropped: what it is
 * about is not known yet. Who drops may itself be such a thread, in the driver, and so is not the
 * watcher.
 */
static void watch(void *argument)
{
    struct weft_keep *keep = argument;
    struct pollfd look[] = {{keep->events, POLLIN, 0}, {keep->end, POLLIN, 0}};
    struct uffd_msg event;

    while (look[1].revents == 0) {
        if (poll(look, 2, -1) < 0 || look[0].revents == 0)
            continue;
        __atomic_store_n(&keep->asked, keep->asked + 1, __ATOMIC_RELEASE);
        weft_bell_ring(&keep->asks);
        weft_bell_await(&keep->answers, &keep->dropped, keep->asked, weft_now_ns() + LONGEST_NS);
        if (read(keep->events, &event, sizeof(event)) < 0 && errno != EAGAIN)
            return;
    }
}

static void drop_asked(void *argument)
{
    struct weft_keep *keep = argument;

    while (!__atomic_load_n(&keep->ends, __ATOMIC_ACQUIRE)) {
        if (!weft_bell_await(&keep->asks, &keep->asked, keep->dropped + 1,
                             weft_now_ns() + LONGEST_NS))
            continue;
        const uint32_t asked = __atomic_load_n(&keep->asked, __ATOMIC_ACQUIRE);
        weft_lock(&keep->lock);
        drop_all(keep);
        weft_unlock(&keep->lock);
        __atomic_store_n(&keep->dropped, asked, __ATOMIC_RELEASE);
        weft_bell_ring(&keep->answers);
    }
}

static bool start(struct weft_keep *keep)
{
    struct uffdio_api api = {.api = UFFD_API,
                             .features = UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP |
                                         UFFD_FEATURE_EVENT_REMOVE};

    keep->end = eventfd(0, EFD_CLOEXEC);
    keep->events = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
    if (keep->end < 0 || keep->events < 0 || ioctl(keep->events, UFFDIO_API, &api) != 0)
        return false;
    if (weft_task_start(&keep->dropper, "weft drop", drop_asked, keep) != WEFT_OK)
        return false;
    if (weft_task_start(&keep->watcher, "weft keep", watch, keep) == WEFT_OK)
        return true;
    __atomic_store_n(&keep->ends, true, __ATOMIC_RELEASE);
    weft_task_join(&keep->dropper);
    return false;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static bool is_watched(struct weft_keep *keep)
{
    if (keep->state == WEFT_KEEP_NEW) {
        keep->state = start(keep) ? WEFT_KEEP_WATCHED : WEFT_KEEP_FAILED;
        if (keep->state == WEFT_KEEP_FAILED)
            weft_say(WEFT_SAY_INFO,
                     "memory of the program is registered for no message: userfaultfd: %s",
                     strerror(errno));
    }
    return keep->state == WEFT_KEEP_WATCHED;
}

/*
 * Whether what is registered there is still what is there: memory that is being unmapped may be
 * another thread's already, before its event is read. The kernel tells of both by refusing to
 * write-enable a page, which changes nothing.
 */
static bool is_there(const struct weft_keep *keep, const struct weft_keep_range *range)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    struct uffdio_writeprotect enable = {.range = {range->at & ~(page - 1), page}};

    return ioctl(keep->events, UFFDIO_WRITEPROTECT, &enable) == 0 &&
           __atomic_load_n(&keep->asked, __ATOMIC_ACQUIRE) ==
               __atomic_load_n(&keep->dropped, __ATOMIC_ACQUIRE);
}

bool weft_keep_hold(struct weft_keep *keep, const void *memory, size_t bytes)
{
    if (bytes > keep->most)
        return false;
    weft_lock(&keep->lock);
    struct weft_keep_range *range = find(keep, (uintptr_t)memory, bytes);
    range->last = ++keep->clock;
    if (!range->pinned && !keep->off && ++range->uses >= range->need && is_watched(keep))
        pin(keep, range);
    keep->held = range->pinned && is_there(keep, range);
    if (keep->held)
        return true;
    weft_unlock(&keep->lock);
    return false;
}

void weft_keep_release(struct weft_keep *keep)
{
    keep->held = false;
    weft_unlock(&keep->lock);
}

bool weft_keep_clear(struct weft_keep *keep)
{
    weft_lock(&keep->lock);
    const bool any = keep->bytes != 0;
    drop_all(keep);
    weft_unlock(&keep->lock);
    return any;
}

void weft_keep_switch(struct weft_keep *keep, bool off)
{
    weft_lock(&keep->lock);
    keep->off = off;
    if (off)
        drop_all(keep);
    weft_unlock(&keep->lock);
}

void weft_keep_close(struct weft_keep *keep)
{
    if (keep->state == WEFT_KEEP_WATCHED) {
        eventfd_write(keep->end, 1);
        weft_task_join(&keep->watcher);
        __atomic_store_n(&keep->ends, true, __ATOMIC_RELEASE);
        __atomic_store_n(&keep->asked, keep->asked + 1, __ATOMIC_RELEASE);
        weft_bell_ring(&keep->asks);
        weft_task_join(&keep->dropper);
        drop_all(keep);
    }
    if (keep->state != WEFT_KEEP_NEW) {
        close(keep->events);
        close(keep->end);
    }
}
