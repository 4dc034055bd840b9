/* litmus/kernels.h - what the litmus kernels get from their host program. */
#ifndef WEFT_TESTS_LITMUS_KERNELS_H
#define WEFT_TESTS_LITMUS_KERNELS_H

#include "support/check.h"

#include <weft/pgas.h>

enum {
    LITMUS_EACH = 8192, /* bytes of each kind of memory that a rank has */
    LITMUS_HEAP = 4096  /* of a place, for litmus_heap */
};

/* Of the kernels of kernels.cu and channels.cu: tags, and bytes. */
enum { DATA = 1, FREE = 2, SMALL = 64, LARGE = 1500, HALF = LITMUS_EACH / 2 };

/* Programs that are wrong, and must be found. */
enum {
    WRONG_EARLY = 1, /* chain: nobody says that it has the data */
    WRONG_OTHER,     /* chain: one of two says so, for both */
    WRONG_LARGE,     /* the same, also where the other's go directly */
    WRONG_LATE,      /* answer: a rank reads on after its answer */
    WRONG_WARP,      /* warps: one puts, another tells, and they do not meet; to another process */
    WRONG_WARP_NEAR  /* the same, in turns */
};

struct litmus_data {
    struct test_check check;
    int wrong;
    unsigned char *mapped;  /* weft_malloc: reached directly where the path allows */
    unsigned char *plain;   /* registered: reached through the host from other processes */
    unsigned char *sources; /* what it puts */
    weft_gspace *space;
};

WEFT_DEVICE_FN inline int far_partner(weft_self *self)
{
    return (weft_rank(self, WEFT_COMM_WORLD) + 2) % weft_size(self, WEFT_COMM_WORLD);
}

WEFT_DEVICE_FN inline weft_win window_over(weft_self *self, unsigned char *memory)
{
    return weft_win_create(self, WEFT_COMM_WORLD, test_mine(self, memory, LITMUS_EACH),
                           LITMUS_EACH);
}

/* What rank `from` sends in a round. */
WEFT_DEVICE_FN inline uint64_t key_of(int from, int round)
{
    return (uint64_t)from * 100 + (uint64_t)round + 1;
}

WEFT_KERNEL_DECLARE(litmus_near);
WEFT_KERNEL_DECLARE(litmus_far);
WEFT_KERNEL_DECLARE(litmus_mixed);
WEFT_KERNEL_DECLARE(litmus_over);
WEFT_KERNEL_DECLARE(litmus_reuse);
WEFT_KERNEL_DECLARE(litmus_fence);
WEFT_KERNEL_DECLARE(litmus_flush);
WEFT_KERNEL_DECLARE(litmus_third);
WEFT_KERNEL_DECLARE(litmus_windows);
WEFT_KERNEL_DECLARE(litmus_flood);
WEFT_KERNEL_DECLARE(litmus_barrier);
WEFT_KERNEL_DECLARE(litmus_get);
WEFT_KERNEL_DECLARE(litmus_update);
WEFT_KERNEL_DECLARE(litmus_tickets);
WEFT_KERNEL_DECLARE(litmus_heap);
WEFT_KERNEL_DECLARE(litmus_chain);
WEFT_KERNEL_DECLARE(litmus_answer);
WEFT_KERNEL_DECLARE(litmus_warps);

#endif
