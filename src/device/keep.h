/*
 * device/keep.h - memory of the program's that is registered with a device, and stays so between
 * uses until the program gives it back. The kernel tells of that: userfaultfd(2) holds up a thread
 * that unmaps, moves or empties memory which was registered until all registrations are dropped.
 * Any thread.
 *
 * What is registered is used from the second time on; the first few times may be the only ones.
 */
#ifndef WEFT_DEVICE_KEEP_H
#define WEFT_DEVICE_KEEP_H

#include "base/task.h"

#include <stddef.h>

struct weft_device;

enum { WEFT_KEEP_RANGES = 128 };

struct weft_keep {
    /* pin and unpin are the device's, set before the first use. pin returns NULL, or why not. */
    const char *(*pin)(struct weft_device *device, void *memory, size_t bytes);
    void (*unpin)(struct weft_device *device, void *memory);
    struct weft_device *device;
    size_t most; /* bytes that are registered at once; 0: nothing is */

    struct weft_lock lock; /* also from weft_keep_hold to weft_keep_release */
    enum { WEFT_KEEP_NEW, WEFT_KEEP_WATCHED, WEFT_KEEP_FAILED } state; /* set at the first use */
    bool off;      /* a kernel runs: nothing is registered */
    bool late;     /* memory went away, and not all registrations are dropped yet */
    int need;      /* uses of a range before it is registered; doubled where there was no room */
    uint32_t next; /* where the search for a range to reuse begins */
    struct weft_keep_range {
        uintptr_t at; /* 0: none */
        size_t bytes;
        int uses; /* how often it was used while not registered */
        bool pinned;
    } range[WEFT_KEEP_RANGES];
    int events, end; /* userfaultfd; eventfd, readable at the end */
    int wake;        /* eventfd: wakes the dropper */
    struct weft_task watcher, dropper;
};

/*
 * hold: true: the memory is registered, and stays so until weft_keep_release. False: it is not, or
 * not yet. again: the use that was asked for last goes on, and is not counted twice. Blocking, for
 * as long as registering takes.
 */
bool weft_keep_hold(struct weft_keep *keep, const void *memory, size_t bytes, bool again);
void weft_keep_release(struct weft_keep *keep);

/* Drops all; off: nothing is held until it is turned on. Not between hold and release. */
void weft_keep_turn(struct weft_keep *keep, bool off);
void weft_keep_close(struct weft_keep *keep);

#endif
