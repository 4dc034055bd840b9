/*
 * support/far_device.h - the CPU device as if the host could not reach its memory: copies and
 * stores are done later, by a thread for each stream, and ranks see an image of the tables, as on a
 * GPU. So what the host does for GPUs runs, and can be held up, counted and broken, without one.
 *
 * A program gets it by linking with --wrap=weft_device_choose. Not for random schedules.
 */
#ifndef WEFT_TESTS_FAR_DEVICE_H
#define WEFT_TESTS_FAR_DEVICE_H

#include "device/device.h"

#include <pthread.h>
#include <stdbool.h>

struct weft_nic; /* gda/softnic/block.h */

/* A copy, of one row or several, on its way. */
struct far_copy {
    enum weft_device_stream stream;
    void *target;
    const void *source;
    size_t bytes;
};

/* What a test wants to see of all devices of the program; NULL: nothing. Set before they open. */
struct far_watch {
    /* A copy was begun; by the thread that did. False: it fails. */
    bool (*begun)(const struct far_copy *copy);
    /* A mark is set. False: it fails. */
    bool (*marked)(enum weft_device_stream stream);
    /* A copy is next in its stream; may hold it up. By the stream's thread. */
    void (*ready)(const struct far_copy *copy);
    /* A copy is done. */
    void (*done)(const struct far_copy *copy);
    /* 1: two devices have no atomic operations on each other's memory. */
    bool no_atomics;
};
extern struct far_watch far_watch;

/* Entries of the device's table: far_launch.c. */
weft_status far_load(struct weft_device *device, struct weft_device_code *code);
void far_unload(struct weft_device *device, struct weft_device_code *code);
weft_status far_launch(struct weft_device *device, const struct weft_device_code *code, int kernel,
                       void *argument, int blocks, int threads, void *stream);

/* far_beside.c: the NIC that runs beside ranks, a thread that is a warp of one lane. */
struct far_beside {
    struct weft_nic *nic;
    struct weft_bell *bell; /* bell of ranks that wait for what the NIC does */
    uint32_t leave;
    pthread_t thread;
};
weft_status far_beside_begin(struct far_beside *beside);
/* Ends the NIC, which does what there is first. */
void far_beside_end(struct far_beside *beside);
/* Does an errand as the service block does. */
void far_errand(struct weft_errand *errand);

#endif
