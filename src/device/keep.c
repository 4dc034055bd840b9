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
static const eventfd_t END = 1u << 31;         /* more than events */
enum { NEED = 2, NEED_MOST = 1 << 20 };        /* uses before memory is registered; */
enum { REFUSED = -4096 };                      /* it could not be: so much later again */

/* ---- what is registered: with the lock ------------------------------------------------------- */

static uintptr_t page_of(uintptr_t at)
{
    return at & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
}

/* Its pages are watched from now on, or no more. False: they cannot be. */
static bool watches(const struct weft_keep *keep, const struct weft_keep_range *range, bool now)
{
    const uintptr_t start = page_of(range->at);
    const uintptr_t end = page_of(range->at + range->bytes + (uintptr_t)sysconf(_SC_PAGESIZE) - 1);
    struct uffdio_register watched = {.range = {start, end - start},
                                      .mode = UFFDIO_REGISTER_MODE_WP}; /* of which none is */

    return ioctl(keep->events, now ? UFFDIO_REGISTER : UFFDIO_UNREGISTER, &watched) == 0;
}

static void drop(struct weft_keep *keep, struct weft_keep_range *range)
{
    watches(keep, range, false);
    keep->unpin(keep->device, (void *)range->at);
    keep->bytes -= range->bytes;
    *range = (struct weft_keep_range){0};
}

/* First nothing is watched: the driver may unmap memory. */
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
    keep->bytes = 0;
    __atomic_store_n(&keep->late, false, __ATOMIC_RELEASE);
}

/* For others: next time it takes more uses. */
static void make_room(struct weft_keep *keep)
{
    drop_all(keep);
    keep->need = keep->need < NEED_MOST ? 2 * keep->need : NEED_MOST;
}

/* What is of a file, or another process has too, may change its pages without an event. Of memory
 * whose pages are there. */
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

/* Whether one that is registered has a page of it: no page can be registered twice. */
static bool meets(const struct weft_keep_range *registered, const struct weft_keep_range *range)
{
    return registered->pinned && page_of(registered->at) <= page_of(range->at + range->bytes - 1) &&
           page_of(range->at) <= page_of(registered->at + registered->bytes - 1);
}

/*
 * What to register for it: all those, too, that it meets, which are registered no more now. What
 * lies between them is on a page that both have. Where there are too many bytes for that, it alone,
 * and nothing else is.
 */
static struct weft_keep_range join(struct weft_keep *keep, const struct weft_keep_range *range)
{
    struct weft_keep_range all = *range;
    uintptr_t end = range->at + range->bytes;
    size_t others = keep->bytes;

    for (const struct weft_keep_range *r = keep->range; r < keep->range + WEFT_KEEP_RANGES; r++)
        if (meets(r, range)) {
            all.at = r->at < all.at ? r->at : all.at;
            end = r->at + r->bytes > end ? r->at + r->bytes : end;
            others -= r->bytes;
        }
    all.bytes = end - all.at;
    if (all.bytes > keep->most - others) {
        all = *range;
        make_room(keep);
    }
    for (struct weft_keep_range *r = keep->range; r < keep->range + WEFT_KEEP_RANGES; r++)
        if (meets(r, range))
            drop(keep, r);
    return all;
}

/* Watched before it is registered: what goes meanwhile is dropped when the lock is free. */
static void pin(struct weft_keep *keep, struct weft_keep_range *range)
{
    const struct weft_keep_range copy = {.at = range->at, .bytes = range->bytes, .uses = REFUSED};

    *range = join(keep, &copy);
    const bool watched = watches(keep, range, true);
    const bool pinned = watched && keep->pin(keep->device, (void *)range->at, range->bytes) == NULL;
    if (pinned && is_private(range)) {
        range->pinned = true;
        keep->bytes += range->bytes;
        return;
    }
    if (watched)
        watches(keep, range, false);
    if (pinned)
        keep->unpin(keep->device, (void *)range->at);
    *range = copy;
}

/* The one that has it, registered, or one that counts its uses. */
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
        keep->held = range->pinned;
    }
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

bool weft_keep_drop(struct weft_keep *keep)
{
    weft_lock(&keep->lock);
    const bool any = keep->bytes != 0;
    drop_all(keep);
    weft_unlock(&keep->lock);
    return any;
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
