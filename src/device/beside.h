/*
 * device/beside.h - a kernel of the library's own that runs beside the ranks, from before they
 * begin until they have ended.
 */
#ifndef WEFT_DEVICE_BESIDE_H
#define WEFT_DEVICE_BESIDE_H

#include <stdint.h>

enum {
    WEFT_BESIDE_THREADS = 256, /* threads of a block, with at most 64 registers each */
    WEFT_BESIDE_EACH = 4,      /* blocks that fit on a processor */
    WEFT_BESIDE_BLOCKS = 64    /* most blocks */
};

/* In memory of the host that the device reaches. `turn` is the launch's number. */
struct weft_beside_control {
    uint32_t begun[WEFT_BESIDE_BLOCKS]; /* by each block: its turn, when it begins */
    struct {
        uint32_t word; /* by the host: the turn that is to end; each block has a line of its own */
        uint32_t unused[31];
    } leave[WEFT_BESIDE_BLOCKS];
};

/* The kernel. Its arguments: argument, a control, a turn. */
struct weft_beside {
    const void *image; /* the device's code */
    const char *name;  /* of the kernel in the image */
    void *argument;
    int blocks; /* 0: there is nothing to run */
};

#endif
