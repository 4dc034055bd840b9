/*
 * ccl/ccl.h - a ccl as its host program has it, and what the files of this folder offer each other.
 */
#ifndef WEFT_CCL_CCL_H
#define WEFT_CCL_CCL_H

#include "host/host.h"

#include "abi/ccl.h"
#include "weft/ccl.h"

/* Kernels by way and most members: 2, 4 and 8 by words, then by pieces; then the others, in the
 * order of their calls. */
enum { WEFT_CCL_WAYS = 3, WEFT_CCL_SIZES = 6 };

struct weft_ccl {
    struct weft_job *job;
    weft_comm group;
    weft_win win;              /* over the rooms */
    struct weft_ccl_view view; /* counters: in the device's memory, behind the room's columns */
    unsigned char *room;
    struct weft_ccl_view *kernels; /* the view in the device's memory */
    uint64_t each;                 /* bytes for which a call takes a column more; 0: never */
    struct weft_device_code code;  /* module NULL: calls run in the host */
    struct weft_ccl *next;         /* next ccl of the job; guarded by the job's table lock */
    struct weft_ccl_moe *moes;     /* list of open ones */
    uint64_t waits_for, waits_since, told; /* watch.c: waiting call; since when; ns last told */
};

/* The kernels of kernels.cu, as the library carries them; NULL: this build has none. */
extern const void *const weft_ccl_image;

/* open.c: tells where all members' memory of so many bytes, here at `own`, is mapped here; own
 * NULL: this one cannot go on. Collective. *win: the window over it. */
weft_status weft_ccl_meet(const struct weft_ccl *ccl, const char *name, unsigned char *own,
                          uint64_t bytes, weft_win *win, unsigned char *room[]);
/* Frees a window of weft_ccl_meet, unless there is none or the job has failed. Collective; in the
 * call `name`. */
void weft_ccl_part(const struct weft_ccl *ccl, const char *name, weft_win *win);

struct weft_ccl_launch;

/* host.c: _no_memory: why a call takes no such memory (NULL: it does). _columns: how many columns
 * so many bytes take, `most` at most. _start makes the call; few: it goes by words, and so needs no
 * more threads. */
const char *weft_ccl_no_memory(const struct weft_ccl *ccl, const void *memory, uint64_t bytes);
uint32_t weft_ccl_columns(const struct weft_ccl *ccl, uint64_t bytes, uint32_t most);
weft_status weft_ccl_start(struct weft_ccl *ccl, const char *name, struct weft_ccl_launch *launch,
                           uint32_t columns, bool few, void *stream);

/* moe.c: frees the records of moes that the program has left open of a ccl. */
void weft_ccl_forget_moes(struct weft_ccl *ccl);

#endif
