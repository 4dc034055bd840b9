/*
 * remote/copy/plan.h - how a copy between processes is cut into pieces: the versions of the
 * pipeline that WEFT_REMOTE_PIPE names, as numbers that travel with the copy. Pure functions.
 */
#ifndef WEFT_REMOTE_COPY_PLAN_H
#define WEFT_REMOTE_COPY_PLAN_H

#include "base/config.h"

enum { WEFT_PLAN_DEPTH = 64 /* most pieces of a copy that are under way at once */ };

/* Travels as its bytes. */
struct weft_plan {
    uint32_t depth; /* pieces under way at once; 0: as WEFT_STAGE_DEPTH of the source says */
    uint32_t unit;  /* bytes of a piece, in units of 4 KiB; 0: as WEFT_STAGE_PIECE says */
    uint32_t each;  /* 1: memory is registered with the network for each piece alone */
};

/* Parses "direct" (the client's affair; where it cannot be, as "auto"), "auto", "once:8x256K",
 * "once:1xall", "each:1xall". Errors: CONFIG, said. */
weft_status weft_plan_parse(struct weft_plan *plan, const char *text);

/* Whether a plan makes sense. False: no program of weft's sends this. */
bool weft_plan_is_good(const struct weft_plan *plan);

/* Return the bytes of a piece, and how many are under way, for a source of that configuration and a
 * copy of so many bytes. */
size_t weft_plan_piece(const struct weft_plan *plan, const struct weft_config *config,
                       uint64_t bytes);
uint32_t weft_plan_depth(const struct weft_plan *plan, const struct weft_config *config);

#endif
