/*
 * device/cuda/lots.c - what the receive stream is given while the service block is beside a kernel:
 * small pieces and words are gathered in a lot (abi/lot.h), which the block stores at once. One
 * errand takes the place of a call of the driver, and a piece of work for the GPU, for each of
 * them.
 *
 * Lots and the stream have no order between them: only one of the two has something to do. A lot is
 * filled while the one before is on its way, and given at the next mark, when it is full, or before
 * the stream is used. All of it is the receive task's.
 */
#include "device/cuda/cuda_device.h"

#include <string.h>

/* Returns the lot that is being filled. */
static struct weft_lot *filled(const struct weft_device *d)
{
    return d->block.lots[(d->block.lots_given + 1) % 2];
}

/* Waits until so many lots are delivered. */
static weft_status await_lots(struct weft_device *d, uint64_t number)
{
    weft_status status = WEFT_OK;
    uint64_t since = 0;

    for (uint32_t looks = 1; status == WEFT_OK && weft_cuda_block_delivered(d) < number; looks++)
        status = weft_cuda_block_look(d, looks, &since);
    return status;
}

/* Gives the stream what is in the lot, since the block has left with the kernel. */
static weft_status replay(struct weft_device *d)
{
    const struct weft_lot *lot = filled(d);
    const CUstream stream = d->streams[WEFT_STREAM_RECEIVE];

    weft_lock(&d->giving);
    CUresult result = d->driver->context_use(d->context);
    for (uint32_t i = 0; i < d->filling.pieces && result == CUDA_SUCCESS; i++)
        result = d->driver->copy_async(lot->piece[i].to,
                                       (CUdeviceptr)(uintptr_t)&lot->bytes[lot->piece[i].at],
                                       lot->piece[i].bytes, stream);
    for (uint32_t i = 0; i < d->filling.words && result == CUDA_SUCCESS; i++)
        result = weft_cuda_write_word(d, WEFT_STREAM_RECEIVE, lot->word[i].to, &lot->word[i].value,
                                      weft_lot_bytes(lot->size[i]));
    weft_unlock(&d->giving);
    weft_cuda_lot_by_stream(d);
    return weft_cuda_error(result, "copying");
}

static weft_status give(struct weft_device *d)
{
    struct weft_cuda_filling *filling = &d->filling;
    bool given = false;

    if (filling->pieces + filling->words == 0)
        return WEFT_OK;
    weft_cuda_block_give(d, filling->pieces, filling->words, &given);
    const weft_status status = given ? WEFT_OK : replay(d);
    if (status == WEFT_OK) { /* else it is given again, or nothing more is */
        filling->pieces = filling->words = filling->bytes = 0;
        memset(filling->places, 0, sizeof(filling->places));
    }
    return status;
}

/* Returns the bit of the place in which a byte lies: unlike places may share one. */
static uint32_t place_of(uintptr_t at)
{
    return (uint32_t)((at >> WEFT_CUDA_PLACE) * 0x9e3779b97f4a7c15u >> 52);
}

/* Notes that something in the lot lies in these bytes. */
static void occupy(struct weft_device *d, uintptr_t first, size_t bytes)
{
    const uint32_t a = place_of(first),
                   b = place_of(first + bytes - 1); /* a piece has two at most */

    d->filling.places[a / 64] |= 1ull << a % 64;
    d->filling.places[b / 64] |= 1ull << b % 64;
}

static bool may_meet(const struct weft_device *d, uintptr_t target, size_t bytes)
{
    for (uintptr_t at = target >> WEFT_CUDA_PLACE; at <= (target + bytes - 1) >> WEFT_CUDA_PLACE;
         at++) {
        const uint32_t place = place_of(at << WEFT_CUDA_PLACE);
        if ((d->filling.places[place / 64] >> place % 64 & 1) != 0)
            return true;
    }
    return false;
}

/* Whether something in the lot, which would be stored later, or at once, overlaps these bytes. */
static bool meets(const struct weft_device *d, uintptr_t target, size_t bytes)
{
    const struct weft_lot *lot = filled(d);

    if (!may_meet(d, target, bytes))
        return false;
    for (uint32_t i = 0; i < d->filling.pieces; i++)
        if (lot->piece[i].to < target + bytes && target < lot->piece[i].to + lot->piece[i].bytes)
            return true;
    for (uint32_t i = 0; i < d->filling.words; i++)
        if (lot->word[i].to < target + bytes &&
            target < lot->word[i].to + weft_lot_bytes(lot->size[i]))
            return true;
    return false;
}

static void add_word(struct weft_device *d, uintptr_t target, const void *source, size_t bytes,
                     uint32_t group)
{
    struct weft_lot *lot = filled(d);
    const uint32_t at = d->filling.words++;
    uint32_t half;

    occupy(d, target, bytes);
    lot->word[at].to = target;
    lot->size[at] = (uint32_t)bytes | group << WEFT_LOT_GROUP;
    if (bytes == 4) {
        memcpy(&half, source, 4);
        lot->word[at].value = half;
    } else {
        memcpy(&lot->word[at].value, source, 8);
    }
}

static void add_piece(struct weft_device *d, uintptr_t target, const void *source, size_t bytes)
{
    struct weft_lot *lot = filled(d);
    const uint32_t at = (d->filling.bytes + 7) / 8 * 8 + (uint32_t)(target % 8);

    lot->piece[d->filling.pieces++] =
        (struct weft_lot_piece){.to = target, .at = at, .bytes = (uint32_t)bytes};
    memcpy(&lot->bytes[at], source, bytes);
    d->filling.bytes = at + (uint32_t)bytes;
    occupy(d, target, bytes);
}

/* Whether the block is there, and the stream has done all that came before. */
static bool is_open(struct weft_device *d)
{
    if (!__atomic_load_n(&d->block.stays, __ATOMIC_RELAXED))
        return false;
    if (d->filling.by_stream && !d->filling.unmarked) { /* else nobody need ask */
        d->driver->context_use(d->context);
        d->filling.by_stream =
            d->driver->stream_query(d->streams[WEFT_STREAM_RECEIVE]) != CUDA_SUCCESS;
    }
    return !d->filling.by_stream;
}

bool weft_cuda_lot_take(struct weft_device *d, uintptr_t target, const void *source, size_t bytes,
                        uint32_t group)
{
    const struct weft_cuda_filling *filling = &d->filling;
    const unsigned char *from = source;
    const size_t word = bytes == 4 ? 4 : 8;
    const bool words = (bytes == 4 || bytes == 8 || bytes == 16) && target % word == 0;
    const size_t pieces = bytes / WEFT_LOT_PIECE + 1;

    if (bytes > (size_t)d->config->cuda_lots || !is_open(d))
        return false;
    const bool full = words ? filling->words + 2 > WEFT_LOT_WORDS
                            : filling->pieces + pieces > WEFT_LOT_PIECES ||
                                  filling->bytes + bytes + 16 * pieces > WEFT_LOT_BYTES;
    if ((full || (!words && meets(d, target, bytes))) && give(d) != WEFT_OK)
        return false; /* and the stream will say so, too */
    if (filling->by_stream)
        return false;
    if (filling->pieces + filling->words == 0 && d->block.lots_given != 0 &&
        await_lots(d, d->block.lots_given - 1) != WEFT_OK)
        return false;
    for (size_t at = 0, some; at < bytes; at += some) {
        some = words ? word : bytes - at < WEFT_LOT_PIECE ? bytes - at : WEFT_LOT_PIECE;
        if (words)
            add_word(d, target + at, from + at, some, group);
        else
            add_piece(d, target + at, from + at, some);
    }
    return true;
}

weft_status weft_cuda_lot_settle(struct weft_device *d)
{
    weft_status status = give(d);

    if (status == WEFT_OK && d->block.lots_given != 0)
        status = await_lots(d, d->block.lots_given);
    weft_cuda_lot_by_stream(d);
    return status;
}

weft_status weft_cuda_lot_mark(struct weft_device *d, uint64_t mark, bool *event)
{
    const weft_status status = give(d);

    *event = d->filling.by_stream;
    d->filling.marks[mark % WEFT_CUDA_MARKS].lots = d->block.lots_given;
    d->filling.marks[mark % WEFT_CUDA_MARKS].event = *event;
    return status;
}

weft_status weft_cuda_lot_passed(struct weft_device *d, uint64_t mark, bool *there)
{
    struct weft_cuda_filling *filling = &d->filling;
    const uint64_t lots = filling->marks[mark % WEFT_CUDA_MARKS].lots;

    *there = lots == 0 || weft_cuda_block_delivered(d) >= lots;
    if (!*there)
        return weft_cuda_block_look(d, ++filling->looks, &filling->since);
    filling->since = 0;
    return WEFT_OK;
}
