/* remote/link/ring.c - see the header. */
#include "remote/link/ring.h"

#include "order/atomic.h"

#include <stddef.h>
#include <string.h>

static uint64_t place_of(uint64_t counter)
{
    return counter % WEFT_RING_BYTES;
}

/* ---- sending --------------------------------------------------------------------------------- */

struct weft_record *weft_ring_out_begin(struct weft_ring_out *ring, uint16_t call, uint32_t words,
                                        uint32_t extra)
{
    const uint64_t units =
        (sizeof(struct weft_record) + 8ull * words + extra + WEFT_RECORD_UNIT - 1) /
        WEFT_RECORD_UNIT;
    const uint32_t bytes = (uint32_t)(units * WEFT_RECORD_UNIT);
    const uint64_t rest = WEFT_RING_BYTES - place_of(ring->head);
    const uint64_t skip = bytes > rest ? rest : 0;
    struct weft_record *record;

    if (ring->head + skip + bytes - ring->taken > WEFT_RING_BYTES)
        return NULL;
    if (skip != 0) {
        record = (struct weft_record *)(void *)(ring->mirror + place_of(ring->head));
        *record = (struct weft_record){.call = WEFT_RECORD_SKIP, .bytes = (uint32_t)skip};
        ring->head += skip;
    }
    record = (struct weft_record *)(void *)(ring->mirror + place_of(ring->head));
    *record = (struct weft_record){.call = call, .bytes = bytes, .extra = extra, .words = words};
    return record;
}

void weft_ring_out_end(struct weft_ring_out *ring, const struct weft_record *record)
{
    ring->head += record->bytes;
}

uint32_t weft_ring_out_stretch(const struct weft_ring_out *ring, uint64_t *place)
{
    const uint64_t rest = WEFT_RING_BYTES - place_of(ring->put), ready = ring->head - ring->put;

    *place = place_of(ring->put);
    return (uint32_t)(ready < rest ? ready : rest);
}

bool weft_ring_out_taken(struct weft_ring_out *ring, uint64_t taken)
{
    if (taken - ring->taken > ring->put - ring->taken) /* counters may wrap */
        return false;
    ring->taken = taken;
    return true;
}

/* ---- receiving ------------------------------------------------------------------------------- */

bool weft_ring_in_came(struct weft_ring_in *ring, uint64_t bytes)
{
    if (bytes == 0 || ring->head + bytes - ring->tail > WEFT_RING_BYTES)
        return false;
    weft_add_release_u64(&ring->head, bytes, ORDER_record_post);
    return true;
}

/* Whether a header's numbers fit together, and into what has come and lies in one piece. */
static bool is_good(const struct weft_record *record, uint64_t most)
{
    if (record->bytes < sizeof(*record) || record->bytes % WEFT_RECORD_UNIT != 0 ||
        record->bytes > most)
        return false;
    return record->call == WEFT_RECORD_SKIP ||
           (record->bytes <= WEFT_RECORD_MOST &&
            sizeof(*record) + 8ull * record->words + record->extra <= record->bytes);
}

weft_status weft_ring_in_next(struct weft_ring_in *ring, struct weft_record **record)
{
    for (;;) {
        const uint64_t rest = WEFT_RING_BYTES - place_of(ring->tail),
                       there = weft_load_acquire_u64(&ring->head, ORDER_record_take) - ring->tail;
        struct weft_record *next =
            (struct weft_record *)(void *)(ring->memory + place_of(ring->tail));
        *record = NULL;
        if (there == 0)
            return WEFT_OK;
        if (there < sizeof(*next) || !is_good(next, there < rest ? there : rest))
            return WEFT_ERR_PROTOCOL;
        if (next->call != WEFT_RECORD_SKIP) {
            *record = next;
            return WEFT_OK;
        }
        ring->tail += next->bytes;
    }
}

void weft_ring_in_done(struct weft_ring_in *ring, const struct weft_record *record)
{
    ring->tail += record->bytes;
}
