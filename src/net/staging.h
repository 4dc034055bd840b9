/*
 * net/staging.h - host memory on the way of puts that the network cannot read where they lie:
 * a pool of fixed size, lent in pieces to the ranks' puts.
 *
 * Who finds no room comes next: until then nobody else gets any, so that no rank starves beside
 * another that asks more often. Puts to one process hold at most half of the pool, if there are
 * more than two, so that one which takes nothing does not stop what goes to the others. Progress
 * task only.
 */
#ifndef WEFT_NET_STAGING_H
#define WEFT_NET_STAGING_H

#include "base/config.h"

#include <stddef.h>
#include <stdint.h>

struct weft_stage;

/* `memory`, config->stage_memory bytes, stays the caller's. NULL: no memory to keep account. */
struct weft_stage *weft_stage_make(const struct weft_config *config, unsigned char *memory,
                                   int processes);
void weft_stage_free(struct weft_stage *stage);

/* Takes room for up to `wanted` (not 0) bytes of a put of the rank in `slot` to a process, until
 * _give; *room is what there is, perhaps less. NULL: none now; ask again. */
unsigned char *weft_stage_take(struct weft_stage *stage, uint32_t slot, int process, size_t wanted,
                               size_t *room);
void weft_stage_give(struct weft_stage *stage, int process, unsigned char *memory, size_t room);

/* _piece: how large the pieces of a put are; _depth: how many of one put may be under way. */
size_t weft_stage_piece(const struct weft_config *config, uint64_t bytes);
uint32_t weft_stage_depth(const struct weft_config *config);

#endif
