/* litmus/kernels.h - what the litmus kernels get from their host program. */
#ifndef WEFT_TESTS_LITMUS_KERNELS_H
#define WEFT_TESTS_LITMUS_KERNELS_H

#include "support/check.h"

#include <weft/pgas.h>

enum {
    LITMUS_EACH = 8192, /* bytes of each kind of memory that a rank has */
    LITMUS_HEAP = 4096  /* of a place, for litmus_heap */
};

/* Programs that are wrong, and must be found. */
enum {
    WRONG_EARLY = 1, /* chain: nobody says that he has the data, */
    WRONG_OTHER,     /* or one of two, for both, */
    WRONG_LARGE,     /* also where the other's go directly */
    WRONG_LATE,      /* answer: a rank reads on after its answer */
    WRONG_WARP,      /* warps: one puts, another tells, and they do not meet; to another process, */
    WRONG_WARP_NEAR  /* or in turns */
};

struct litmus_data {
    struct test_check check;
    int wrong;
    unsigned char *mapped;  /* weft_malloc: reached directly where the path allows */
    unsigned char *plain;   /* registered: reached through the host from other processes */
    unsigned char *sources; /* what it puts */
    weft_gspace *space;
};

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
