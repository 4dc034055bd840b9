/*
 * device/cuda/block/block.cu - the service block: a warp of the library's own on the GPU takes
 * errands out of pinned host memory, one after the other, and answers there. Other warps, where
 * there is room for them, help it with the pieces of a lot.
 *
 * Eight lanes poll the words of the next line: all of an errand crosses the bus in one load, and
 * its answer in one store. Each word vouches for itself (ring/command.h).
 */
#include "device/cuda/block/control.h"
#include "device/cuda/block/errands.h"
#include "device/port.h"
#include "ring/command.h"

/* Returns the 7 bytes of content of this lane's word of an answer. Lane f brings field f. */
WEFT_INLINE uint64_t cut_word(uint64_t field, uint32_t lane)
{
    const uint32_t bit = 56 * lane, at = bit / 64, shift = bit % 64;
    const uint64_t low = __shfl_sync(WEFT_ALL_LANES, field, at & 31);
    const uint64_t high = __shfl_sync(WEFT_ALL_LANES, field, (at + 1) & 31);

    return (shift == 0 ? low : low >> shift | high << (64 - shift)) & WEFT_WORD_CONTENT;
}

/* Returns the 8 bytes of field `lane` (0 to 6) of an errand. Lane w brings word w of its line. */
WEFT_INLINE uint64_t join_field(uint64_t word, uint32_t lane)
{
    const uint64_t next = __shfl_sync(WEFT_ALL_LANES, word, (lane + 1) & 31);
    const uint32_t shift = 8 * (lane & 7);

    return (word & WEFT_WORD_CONTENT) >> shift | next << (56 - shift);
}

WEFT_INLINE uint64_t do_errand(const struct weft_block_errand *errand, uint32_t kind)
{
    switch (kind) {
#define DO(which, function)                                                                        \
    case which:                                                                                    \
        return function(errand);
        WEFT_BLOCK_MAP(DO)
#undef DO
    default:
        return 0;
    }
}

/*
 * Does an errand, of which the lanes have a field each. Answers in the line `answer`, or, if it is
 * a lot, in `delivered`.
 */
WEFT_INLINE void serve(uint64_t field, uint64_t head, struct weft_line *answer, uint64_t lap,
                       uint64_t *delivered, struct weft_block_shares *shares)
{
    const uint32_t lane = threadIdx.x;
    struct weft_block_errand errand;

    errand.lane = lane;
    errand.how = head >> 8 & 0xff;
    errand.type = head >> 16 & 0xff;
    errand.bytes = head >> 24 & 0xff;
    errand.count = (uint32_t)(head >> 32);
    errand.address = __shfl_sync(WEFT_ALL_LANES, field, 1);
    errand.word = field;
    errand.shares = shares;
    weft_polled(); /* what the host has seen done before is visible to the errand */
    __syncwarp();
    const uint64_t done = do_errand(&errand, head & 0xff);
    if ((head & 0xff) == WEFT_ERRAND_DELIVER || (head & 0xff) == WEFT_ERRAND_FEW) {
        const uint64_t number = __shfl_sync(WEFT_ALL_LANES, field, 6);
        if (lane == 0)
            weft_store_release_u64(delivered, number, ORDER_command_credit);
        return;
    }
    const uint64_t content = cut_word(lane < 2 ? field : done, lane);
    __syncwarp();
    if (lane < WEFT_LINE_WORDS) { /* and the errand, to whom the host tells of it */
        if ((head & 0xff) != WEFT_ERRAND_FETCH)
            weft_fence_release(ORDER_command_commit);
        weft_store_relaxed_u64(&answer->word[lane], content | lap);
    }
}

/* Helps the first warp with pieces until that leaves. All other warps call it. */
WEFT_INLINE void help(const struct weft_block_shares *shares)
{
    for (;;) {
        __syncthreads();
        const struct weft_block_shares all = *shares;
        if (all.pieces == 0)
            return;
        weft_block_share(all.lot, all.pieces, threadIdx.x % 32, threadIdx.x / 32, blockDim.x / 32);
        __syncthreads();
    }
}

/*
 * next: the first errand's number. lease: ticks without an errand after which it leaves. turn: the
 * number of this launch, not 0.
 */
#ifdef __cplusplus
extern "C"
#endif
    __global__ void
    __launch_bounds__(WEFT_BLOCK_THREADS_MOST)
        weft_block(struct weft_block_control *control, uint32_t next, uint64_t lease, uint64_t turn)
{
    __shared__ struct weft_block_shares shares;
    const uint32_t lane = threadIdx.x;
    uint64_t since = weft_port_ticks();

    if (lane >= 32) {
        help(&shares);
        return;
    }
    if (lane == 0)
        weft_store_relaxed_u64(&control->turn.begun, turn);
    for (;;) {
        const uint32_t at = next % WEFT_BLOCK_DEPTH;
        const uint64_t lap = weft_lap(next, WEFT_BLOCK_DEPTH);
        const uint64_t word =
            lane < WEFT_LINE_WORDS
                ? weft_poll_u64(&control->errand[at].word[lane], ORDER_command_poll)
                : lap;
        if (__all_sync(WEFT_ALL_LANES, (word ^ lap) >> 56 == 0)) {
            const uint64_t field = join_field(word, lane);
            const uint64_t head = __shfl_sync(WEFT_ALL_LANES, field, 0);
            if ((head & 0xff) == WEFT_ERRAND_LEAVE)
                break;
            serve(field, head, &control->answer[at], lap, &control->turn.delivered, &shares);
            next++;
            since = weft_port_ticks();
        } else if (__shfl_sync(WEFT_ALL_LANES, weft_port_ticks() - since, 0) > lease) {
            break;
        }
    }
    if (blockDim.x > 32) {
        if (lane == 0)
            shares.pieces = 0;
        __syncthreads();
    }
    if (lane == 0) /* the errands from `next` on are another launch's */
        weft_store_release_u64(&control->turn.left, turn, ORDER_command_credit);
}
