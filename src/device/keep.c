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

static const uint64_t LONGEST_NS = 1000000000; /* an unmapping thread is held up, at most */
static const eventfd_t END = 1u << 31;         /* more than events add up to */
enum { NEED = 2, NEED_MOST = 1 << 20 }; /* uses before memory is registered: at first, at most */
enum { REFUSED = -4096 };               /* `uses` of memory that could not be registered */

/* ---- what is registered: with the lock ------------------------------------------------------- */

static uintptr_t page_of(uintptr_t at)
{
    return at & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
}

/* Watches a range's pages from now on, or (not `now`) no more. False: that cannot be done. */
static bool watches(const struct weft_keep *keep, const struct weft_keep_range *range, bool now)
{
    const uintptr_t start = page_of(range->at);
    const uintptr_t end = page_of(range->at + range->bytes + (uintptr_t)sysconf(_SC_PAGESIZE) - 1);
    struct uffdio_register watched = {.range = {start, end - start},
                                      .mode = UFFDIO_REGISTER_MODE_WP}; /* of which none is */

    return ioctl(keep->events, now ? UFFDIO_REGISTER : UFFDIO_UNREGISTER, &watched) == 0;
}

/* Drops all registrations. First nothing is watched any more, since the driver may unmap memory. */
static void drop_all(struct weft_keep *keep)
{
    for (struct weft_keep_range *r = keep->range; r < keep->range + WEFT_KEEP_RANGES; r++)
        if (r->pinned)
            watches(keep, r, false);
    for (struct weft_keep_range *r = keep->range; r < keep->range + WEFT_KEEP_RANGES; r++) {
        if (r->pinned)
            keep->unpin(keep->device, (void *)r->at);
        *r = (struct weft_keep_range){0};
    }
    __atomic_store_n(&keep->late, false, __ATOMIC_RELEASE);
}

/* Drops all registrations for the sake of others, and asks for more uses the next time. */
static void make_room(struct weft_keep *keep)
{
    drop_all(keep);
    keep->need = keep->need < NEED_MOST ? 2 * keep->need : NEED_MOST;
}

/* Whether a range, whose pages are there, is private memory. Pages of a file, or shared with
 * another process, may change without an event. */
static bool is_private(const struct weft_keep_range *range)
{
    const int pages = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    const uintptr_t byte[] = {range->at, range->at + range->bytes - 1};
    bool is = pages >= 0;

    for (int i = 0; i < 2 && is; i++) {
        uint64_t said = 0; /* proc(5): bit 63: present, 61: of a file, or shared */
        const uintptr_t page = byte[i] / (uintptr_t)sysconf(_SC_PAGESIZE);
        is = pread(pages, &said, sizeof(said), (off_t)(page * sizeof(said))) == sizeof(said) &&
             said >> 63 != 0 && (said >> 61 & 1) == 0;
    }
    if (pages >= 0)
        close(pages);
    return is;
}

/* Whether two ranges have a page in common, which cannot be registered twice. */
static bool meets(const struct weft_keep_range *a, const struct weft_keep_range *b)
{
    return page_of(a->at) <= page_of(b->at + b->bytes - 1) &&
           page_of(b->at) <= page_of(a->at + a->bytes - 1);
}

/*
 * Returns the range `all`, joined with all that it meets, and what those meet. That is what is
 * registered and, used, what has been used, so that a window of neighbours is registered at once.
 * What lies between two is on a page that both have.
 */
static struct weft_keep_range join(const struct weft_keep *keep, struct weft_keep_range all,
                                   bool used)
{
    size_t before;

    do {
        before = all.bytes;
        for (const struct weft_keep_range *r = keep->range; r < keep->range + WEFT_KEEP_RANGES; r++)
            if ((r->pinned || (used && r->uses > 0)) && meets(r, &all) &&
                (r->pinned || is_private(r))) {
                const uintptr_t end = all.at + all.bytes, its = r->at + r->bytes;
                all.at = r->at < all.at ? r->at : all.at;
                all.bytes = (its > end ? its : end) - all.at;
            }
    } while (all.bytes != before);
    return all;
}

/* Whether there is room to register a range beside the registered ones that it does not meet. */
static bool has_room(const struct weft_keep *keep, const struct weft_keep_range *all)
{
    size_t bytes = all->bytes;

    for (const struct weft_keep_range *r = keep->range; r < keep->range + WEFT_KEEP_RANGES; r++)
        bytes += r->pinned && !meets(r, all) ? r->bytes : 0;
    return bytes <= keep->most;
}

/* Registers `all` in place of what it meets. It is watched before: what goes meanwhile is dropped
 * when the lock is free. False: it is not registered. */
static bool pin_joined(struct weft_keep *keep, struct weft_keep_range *range,
                       struct weft_keep_range all)
{
    for (struct weft_keep_range *r = keep->range; r < keep->range + WEFT_KEEP_RANGES; r++)
        if (r->pinned && meets(r, &all)) {
            watches(keep, r, false);
            keep->unpin(keep->device, (void *)r->at);
            *r = (struct weft_keep_range){0};
        }
    const bool watched = watches(keep, &all, true);
    const bool pinned = watched && keep->pin(keep->device, (void *)all.at, all.bytes) == NULL;
    if (pinned && is_private(&all)) {
        *range = (struct weft_keep_range){.at = all.at, .bytes = all.bytes, .pinned = true};
        return true;
    }
    if (watched)
        watches(keep, &all, false);
    if (pinned)
        keep->unpin(keep->device, (void *)all.at);
    return false;
}

static void pin(struct weft_keep *keep, struct weft_keep_range *range)
{
    const struct weft_keep_range alone = {.at = range->at, .bytes = range->bytes, .uses = REFUSED};
    struct weft_keep_range all = join(keep, alone, true);

    *range = alone;
    if (has_room(keep, &all) && pin_joined(keep, range, all))
        return;
    all = join(keep, alone, false);
    if (!has_room(keep, &all)) {
        make_room(keep);
        all = alone;
    }
    if (!pin_joined(keep, range, all))
        *range = alone;
}

/* Finds the range that has these bytes, registered, or makes one that counts their uses. */
static struct weft_keep_range *find(struct weft_keep *keep, uintptr_t at, size_t bytes)
{
    struct weft_keep_range *same = NULL, *other = NULL;

    for (uint32_t i = 0; i < WEFT_KEEP_RANGES; i++) {
        struct weft_keep_range *r = &keep->range[(keep->next + i) % WEFT_KEEP_RANGES];
        if (r->pinned && at >= r->at && at - r->at <= r->bytes && bytes <= r->bytes - (at - r->at))
            return r;
        if (r->at == at && r->bytes == bytes)
            same = r;
        else if (!r->pinned && other == NULL)
            other = r;
    }
    if (same != NULL)
        return same;
    if (other == NULL) {
        make_room(keep);
        other = keep->range;
    }
    keep->next = (uint32_t)(other - keep->range) + 1;
    *other = (struct weft_keep_range){.at = at, .bytes = bytes};
    return other;
}

/* ---- memory goes ----------------------------------------------------------------------------- */

/*
 * An event that was read lets its thread go on, so before one is read all is dropped: what it is
 * about is not known yet. Another task drops: that thread may have a lock that the driver wants,
 * malloc's or the keep's own, and then goes on after a while.
 */
static void watch(void *argument)
{
    struct weft_keep *keep = argument;
    struct pollfd look[] = {{keep->events, POLLIN, 0}, {keep->end, POLLIN, 0}};
    struct uffd_msg event;

    while (look[1].revents == 0) {
        if (poll(look, 2, -1) < 0 || look[0].revents == 0)
            continue;
        const uint64_t deadline = weft_now_ns() + LONGEST_NS;
        __atomic_store_n(&keep->late, true, __ATOMIC_RELEASE);
        eventfd_write(keep->wake, 1);
        while (__atomic_load_n(&keep->late, __ATOMIC_ACQUIRE) && weft_now_ns() < deadline)
            usleep(10);
        if (read(keep->events, &event, sizeof(event)) < 0 && errno != EAGAIN)
            weft_say(WEFT_SAY_WARN, "userfaultfd: %s", strerror(errno));
    }
}

static void drop_when_told(void *argument)
{
    struct weft_keep *keep = argument;
    eventfd_t told;

    while (eventfd_read(keep->wake, &told) == 0 && told < END) {
        weft_lock(&keep->lock);
        drop_all(keep);
        weft_unlock(&keep->lock);
    }
}

static void end_dropper(struct weft_keep *keep)
{
    eventfd_write(keep->wake, END);
    weft_task_join(&keep->dropper);
}

static bool start(struct weft_keep *keep)
{
    struct uffdio_api api = {.api = UFFD_API,
                             .features = UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP |
                                         UFFD_FEATURE_EVENT_REMOVE};

    keep->need = NEED;
    keep->end = eventfd(0, EFD_CLOEXEC);
    keep->wake = eventfd(0, EFD_CLOEXEC);
    keep->events = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
    if (keep->end >= 0 && keep->wake >= 0 && keep->events >= 0 &&
        ioctl(keep->events, UFFDIO_API, &api) == 0 &&
        weft_task_start(&keep->dropper, "weft drop", drop_when_told, keep) == WEFT_OK) {
        if (weft_task_start(&keep->watcher, "weft keep", watch, keep) == WEFT_OK)
            return true;
        end_dropper(keep);
    }
    weft_say(WEFT_SAY_INFO, "memory of the program is registered for no message: userfaultfd: %s",
             strerror(errno));
    return false;
}

/*
 * Whether what is registered there is still what is there: memory that is being unmapped may be
 * another thread's already, before its event is read. The kernel tells of both by refusing to
 * write-enable a page, which changes nothing. A page of this memory: of the registration, which may
 * be others' too, some may be there and some not.
 */
static bool is_there(const struct weft_keep *keep, const void *memory)
{
    struct uffdio_writeprotect enable = {
        .range = {page_of((uintptr_t)memory), (uint64_t)sysconf(_SC_PAGESIZE)}};

    return ioctl(keep->events, UFFDIO_WRITEPROTECT, &enable) == 0;
}

/* ---- calls ----------------------------------------------------------------------------------- */

bool weft_keep_hold(struct weft_keep *keep, const void *memory, size_t bytes, bool again)
{
    bool held = false;

    if (bytes > keep->most)
        return false;
    weft_lock(&keep->lock);
    if (keep->state == WEFT_KEEP_NEW)
        keep->state = start(keep) ? WEFT_KEEP_WATCHED : WEFT_KEEP_FAILED;
    if (__atomic_load_n(&keep->late, __ATOMIC_ACQUIRE))
        drop_all(keep);
    if (keep->state == WEFT_KEEP_WATCHED && !keep->off) {
        struct weft_keep_range *range = find(keep, (uintptr_t)memory, bytes);
        if (!range->pinned && (range->uses += !again) >= keep->need)
            pin(keep, range);
        if (range->pinned && !is_there(keep, memory))
            drop_all(keep); /* else the device took what was there for what is */
        held = range->pinned;
    }
    if (!held)
        weft_unlock(&keep->lock);
    return held;
}

void weft_keep_release(struct weft_keep *keep)
{
    weft_unlock(&keep->lock);
}

void weft_keep_turn(struct weft_keep *keep, bool off)
{
    weft_lock(&keep->lock);
    drop_all(keep);
    keep->off = off;
    weft_unlock(&keep->lock);
}

void weft_keep_close(struct weft_keep *keep)
{
    if (keep->state == WEFT_KEEP_WATCHED) {
        eventfd_write(keep->end, 1);
        weft_task_join(&keep->watcher);
        end_dropper(keep);
        drop_all(keep);
    }
    if (keep->state != WEFT_KEEP_NEW) {
        close(keep->events);
        close(keep->end);
        close(keep->wake);
    }
}
