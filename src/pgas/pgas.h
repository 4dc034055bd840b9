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

/* 64 segments, by the bits of their numbers. used: not FREE, or none; dropped: DROPPED. */
struct weft_gbits {
    uint64_t used, dropped;
};

/* What a place brings to a call that a group makes together. */
struct weft_gbrought {
    uint32_t call;                /* enum weft_gcall */
    uint32_t status;              /* weft_status: what has gone wrong already */
    uint64_t bytes, at, left;     /* of the part: bytes, offset in the heap; free bytes, if none */
    uint32_t generation, segment; /* generation that it would give; segment to free */
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
    weft_comm messages; /* group of the same members, for the team's messages alone */
    weft_team *team;    /* NULL: not opened yet */
};

struct weft_pgas {
    struct weft_gspace space; /* the space as kernels see it, but the table is the host's copy */
    struct weft_gspace *on_device; /* the space in device memory, followed by the segments */
    unsigned char *table_on_device;
    unsigned char *memory;         /* memory of this place's heap */
    struct weft_gbrought *brought; /* what each member of the last call has brought */
    int *member;                   /* place of each member of the last call */
    struct weft_gtalk *talks;      /* by index of the group in the table of communicators */
    bool meeting;                  /* a thread of the program is in a collective call */
    struct weft_gheap apart;  /* heap of host programs, where they do not reach that of kernels */
    struct weft_buddy *buddy; /* allocator of host programs */
    bool host_heaps;          /* some place has a host heap: segment 1 */
    unsigned char *host;      /* memory of this place's host heap; NULL: it has none */
    weft_win host_win;
    struct weft_gheap of_host;
    uint32_t serial; /* segments made so far */
    struct weft_gbits bits[WEFT_GSEGMENT_WORDS];
    uint32_t changed, changed_end; /* segments that the device's table lacks: the first, the end */
};

/* Begins a call of the program: finds the address space of this job. Errors: STATE. */
weft_status weft_pgas_enter(weft_job *job, const char *call, struct weft_pgas **pgas);

/* Brings segments into a kernel's table before it starts. Errors: DEVICE, not said. */
weft_status weft_pgas_launch(weft_job *job);

/* Ends a team, if there is one. Errors: those of the job. */
weft_status weft_pgas_hush(weft_job *job, struct weft_gtalk *talk);
/* Ends the team of a group that all members free. */
weft_status weft_pgas_group_freed(weft_job *job, weft_comm group);

/* Finds where `height` rows of `width` bytes are, pitch apart; an error is said. */
weft_status weft_pgas_find(weft_job *job, const char *call, weft_gptr g, size_t width, size_t pitch,
                           size_t height, struct weft_gplace *to);

#endif
