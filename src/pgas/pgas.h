/*
 * pgas/pgas.h - the address space as the host program has it, between weft_pgas_open and
 * weft_pgas_close.
 */
#ifndef WEFT_PGAS_PGAS_H
#define WEFT_PGAS_PGAS_H

#include "host/host.h"
#include "pgas/space.h"
#include "weft/team.h"

enum { WEFT_GSEGMENTS = 1024, WEFT_GSEGMENT_WORDS = WEFT_GSEGMENTS / 64 };

/* Of 64 segments, by the bits of their numbers. used: not FREE, or none; dropped: DROPPED. */
struct weft_gbits {
    uint64_t used, dropped;
};

/* What a place brings to a call that a group makes together. */
struct weft_gbrought {
    uint32_t call;   /* an enum weft_gcall */
    uint32_t status; /* what has gone wrong already */
    uint64_t bytes, at, left;
    uint32_t generation, segment; /* it would give; it means */
    struct weft_gbits bits[WEFT_GSEGMENT_WORDS];
};

enum weft_gcall {
    WEFT_GCALL_NONE,
    WEFT_GCALL_ALLOC,
    WEFT_GCALL_ALLOC_V,
    WEFT_GCALL_ALLOC_MOST,
    WEFT_GCALL_ADOPT,
    WEFT_GCALL_FREE
};

/* An allocator of host programs, whose words are in this process's own memory. */
struct weft_gheap {
    struct weft_buddy buddy;
    uint64_t *words;
};

/* The team by which the members of a group tell each other what they bring. */
struct weft_gtalk {
    weft_comm messages; /* a group of the same members, for these alone */
    weft_team *team;    /* NULL: none yet */
};

struct weft_pgas {
    struct weft_gspace space;      /* as kernels see it, but for segments, which are a copy */
    struct weft_gspace *on_device; /* with the table of segments behind it */
    unsigned char *table_on_device;
    unsigned char *memory;         /* the heap */
    struct weft_gbrought *brought; /* what each member of the last call has */
    int *member;                   /* the places of those members */
    struct weft_gtalk *talks;      /* by the place of the group in the table of communicators */
    bool meeting;                  /* a thread of the program is in such a call */
    struct weft_gheap apart;       /* of host programs, where they do not reach kernels' */
    struct weft_buddy *buddy;      /* of host programs */
    bool host_heaps;               /* some place has one: segment 1 */
    unsigned char *host;           /* this place's; NULL: it has none */
    weft_win host_win;
    struct weft_gheap of_host;
    uint32_t serial; /* of segments made */
    struct weft_gbits bits[WEFT_GSEGMENT_WORDS];
    uint32_t changed, changed_end; /* segments that the device's table has not as they are */
};

/* Of this job, in a call of the program. Errors: STATE. */
weft_status weft_pgas_enter(weft_job *job, const char *call, struct weft_pgas **pgas);

/* Before a kernel: its table has the segments as they are. Errors: DEVICE, not said. */
weft_status weft_pgas_launch(weft_job *job);

/* Ends a team, if there is one. Errors: those of the job. */
weft_status weft_pgas_hush(weft_job *job, struct weft_gtalk *talk);
/* Ends that of a group which all members free. */
weft_status weft_pgas_group_freed(weft_job *job, weft_comm group);

/* Where `height` rows of `width` bytes are, pitch apart; an error is said. */
weft_status weft_pgas_find(weft_job *job, const char *call, weft_gptr g, size_t width, size_t pitch,
                           size_t height, struct weft_gplace *to);

#endif
