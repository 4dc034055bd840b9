/*
 * net/ofi/watch.c - lets the tasks sleep: a thread of its own waits on the completion queues' file
 * descriptors and rings the bell of the task that has something to do.
 *
 * It watches only for a task that has found nothing and is about to lie down (its bell has a
 * sleeper): while the tasks are awake and poll, nobody wakes this thread. A descriptor costs the
 * provider two system calls a completion. So where there are processors to poll with, or no
 * descriptors, there is no thread: the receive task has no bell, polls, and rings for the other.
 */
#include "net/ofi/inside.h"

#include "base/say.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    IDLE_MS = 1000,
    STUCK_MS = 1 /* the provider had no room: nothing says when it has */
};

struct weft_ofi_watch {
    struct weft_task task;
    int fd[2];       /* of the completion queues */
    int kick;        /* eventfd: look again at what to watch */
    uint32_t wanted; /* sides, as bits: set by the tasks, cleared by the thread */
    uint32_t stop;
};

void weft_ofi_watch(struct weft_transport *t, enum weft_net_side side)
{
    struct weft_ofi_watch *watch = t->watch;
    const uint32_t bit = 1u << side;

    if (watch == NULL || !weft_bell_has_sleeper(&t->bells[side]))
        return;
    if ((__atomic_fetch_or(&watch->wanted, bit, __ATOMIC_ACQ_REL) & bit) == 0)
        (void)eventfd_write(watch->kick, 1); /* fails where the count is full: it is kicked */
}

/* What there is to wait for; false: there is something already. */
static bool prepare(struct weft_transport *t, uint32_t wanted, struct pollfd *polled, int *timeout)
{
    const struct weft_ofi_watch *watch = t->watch;
    struct fid *queues[2];
    int count = 0;

    polled[0] = (struct pollfd){.fd = watch->kick, .events = POLLIN};
    weft_lock(&t->lock);
    *timeout = t->stuck ? STUCK_MS : IDLE_MS;
    for (int side = 0; side < 2; side++) {
        const bool look =
            (wanted & 1u << side) != 0 && (side == WEFT_NET_RECEIVE || t->outstanding > 0);
        polled[1 + side] = (struct pollfd){.fd = look ? watch->fd[side] : -1, .events = POLLIN};
        if (look)
            queues[count++] = &t->cq[side]->fid;
    }
    const bool nothing = count == 0 || fi_trywait(t->fabric, queues, count) == 0;
    weft_unlock(&t->lock);
    return nothing;
}

/* Rings for the sides in question and stops watching for them. */
static void ring(struct weft_transport *t, uint32_t sides)
{
    __atomic_fetch_and(&t->watch->wanted, ~sides, __ATOMIC_ACQ_REL);
    for (int side = 0; side < 2; side++)
        if ((sides & 1u << side) != 0)
            weft_bell_ring(&t->bells[side]);
}

static void watch_main(void *argument)
{
    struct weft_transport *t = argument;
    struct weft_ofi_watch *watch = t->watch;
    uint64_t kicks;

    weft_say_process(t->open.process);
    while (__atomic_load_n(&watch->stop, __ATOMIC_ACQUIRE) == 0) {
        const uint32_t wanted = __atomic_load_n(&watch->wanted, __ATOMIC_ACQUIRE);
        struct pollfd polled[3];
        int timeout;
        if (!prepare(t, wanted, polled, &timeout)) {
            ring(t, wanted);
            continue;
        }
        const int ready = poll(polled, 3, timeout);
        if (ready > 0 && (polled[0].revents & POLLIN) != 0 &&
            read(watch->kick, &kicks, sizeof(kicks)) < 0 && errno != EAGAIN && errno != EINTR)
            return; /* then the tasks wake by their own timeouts */
        uint32_t sides = ready == 0 && timeout == STUCK_MS ? wanted : 0;
        for (int side = 0; side < 2; side++)
            if (ready > 0 && polled[1 + side].revents != 0)
                sides |= 1u << side;
        ring(t, sides);
    }
}

weft_status weft_ofi_watch_open(struct weft_transport *t)
{
    struct weft_ofi_watch *watch = calloc(1, sizeof(*watch));

    if (watch == NULL)
        return weft_err(WEFT_ERR_MEMORY, "ofi: no memory to watch its queues");
    watch->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    weft_status status =
        watch->kick >= 0 ? WEFT_OK : weft_err(WEFT_ERR_SYSTEM, "ofi: eventfd: %s", strerror(errno));
    bool good = status == WEFT_OK;
    for (int side = 0; side < 2 && good; side++) /* nothing to sleep on after all? */
        good = fi_control(&t->cq[side]->fid, FI_GETWAIT, &watch->fd[side]) == 0;
    t->watch = good ? watch : NULL;
    if (good && (status = weft_task_start(&watch->task, "weft ofi", watch_main, t)) == WEFT_OK)
        return WEFT_OK;
    t->watch = NULL;
    if (watch->kick >= 0)
        close(watch->kick);
    free(watch);
    return status;
}

void weft_ofi_watch_close(struct weft_transport *t)
{
    if (t->watch == NULL)
        return;
    __atomic_store_n(&t->watch->stop, 1, __ATOMIC_RELEASE);
    (void)eventfd_write(t->watch->kick, 1);
    weft_task_join(&t->watch->task);
    close(t->watch->kick);
    free(t->watch);
    t->watch = NULL;
}
