/*
 * ccl/ccl.h - a ccl as its host program has it, and what the files of this folder offer each other.
 */
#ifndef WEFT_CCL_CCL_H
#define WEFT_CCL_CCL_H

#include "host/host.h"

#include "abi/ccl.h"
#include "weft/ccl.h"

/* Kernels by way and most members: 2, 4 and 8 by words, then by pieces; then the others. */
enum { WEFT_CCL_WAYS = 3, WEFT_CCL_SIZES = 6, WEFT_CCL_PAIRS = 7 };

struct weft_ccl {
    struct weft_job *job;
    weft_win win;              /* over the rooms */
    struct weft_ccl_view view; /* counters: in the device's memory, behind the room's columns */
    unsigned char *room;
    struct weft_ccl_view *kernels; /* the view in the device's memory */
    uint64_t each;                 /* bytes for which a call takes a column more; 0: never */
    struct weft_device_code code;  /* module NULL: calls run in the host */
    struct weft_ccl *next;         /* of the job; under its table lock */
    uint64_t waits_for, waits_since, told; /* watch.c: a launched call that waits: its number */
};

/* The kernels of kernels.cu, as the library carries them; NULL: this build has none. */
extern const void *const weft_ccl_image;

/* watch.c: who waits for whom, and launched calls that wait. */
extern const struct weft_service weft_ccl_service;

#endif
