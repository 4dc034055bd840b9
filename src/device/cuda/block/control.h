/*
 * device/cuda/block/control.h - what the host and the service block share, in pinned host memory.
 */
#ifndef WEFT_DEVICE_CUDA_BLOCK_CONTROL_H
#define WEFT_DEVICE_CUDA_BLOCK_CONTROL_H

#include "abi/command.h"

enum { WEFT_BLOCK_DEPTH = 16, WEFT_BLOCK_THREADS = 32, WEFT_BLOCK_THREADS_MOST = 128 };
enum { WEFT_ERRAND_LEAVE = 255 }; /* the block goes, without an answer */

/* Written by the block. */
struct weft_block_turn {
    uint64_t begun, left; /* numbers of the launches that began, and that left, last */
    uint64_t delivered;   /* number of the last lot that is delivered */
    uint64_t unused[5];
};

static_assert(sizeof(struct weft_block_turn) == sizeof(struct weft_line), "a line of the bus");

struct weft_block_control {
    struct weft_line errand[WEFT_BLOCK_DEPTH]; /* written by the host */
    struct weft_line answer[WEFT_BLOCK_DEPTH]; /* written by the block; same index as its errand */
    struct weft_block_turn turn;
};

#endif
