/*
 * device/cuda/block/block.c - the host's side of the service block: gives it errands and awaits
 * their answers, and sees to it that the block is there.
 *
 * It is launched for an errand, and leaves when none has come for a while, since a kernel that
 * stays holds up all that waits for the GPU. Beside a kernel that leaves it room it is there from
 * the beginning to the end: a block that came again might find no room beside the ranks.
 */
#include "device/cuda/cuda_device.h"

#include "abi/errand.h"
#include "base/fatbin.h"
#include "base/say.h"
#include "device/cuda/block/control.h"

#include <limits.h>
#include <string.h>

/* Ticks without an errand: some 40 us, and beside a kernel no number of them. */
static const uint64_t LEASE = 80000, NO_LEASE = UINT64_MAX;
static const uint64_t START_NS = 2000000000; /* another process may have the GPU meanwhile */
static const uint64_t SOON_NS = 40000; /* errands so close are worth a launch: the next finds it */
static const uint64_t LATE_NS = 5000000000; /* a wait so long is said */

/* The kernel's code. */
WEFT_FATBIN(weft_block_image);

weft_status weft_cuda_block_open(struct weft_device *d)
{
    const struct weft_cuda_driver *driver = d->driver;
    struct weft_block *block = &d->block;

    if (d->config->cuda_service == WEFT_CUDA_SERVICE_OFF)
        return WEFT_OK;
    CUresult result = driver->module_load(&block->module, weft_block_image);
    if (result == CUDA_SUCCESS)
        result = driver->module_function(&block->function, block->module, "weft_block");
    if (result == CUDA_SUCCESS)
        result = driver->function_attribute(&block->registers, CU_FUNC_ATTRIBUTE_NUM_REGS,
                                            block->function);
    if (result == CUDA_SUCCESS) /* outside of the range: the highest priority */
        result = driver->stream_create(&block->stream, CU_STREAM_NON_BLOCKING, INT_MIN);
    if (result != CUDA_SUCCESS)
        return weft_cuda_error(result, "loading the service block");
    block->threads = WEFT_BLOCK_THREADS;
    block->control = weft_cuda_host_alloc(d, sizeof(*block->control));
    if (block->control == NULL)
        return WEFT_ERR_MEMORY;
    for (int i = 0; i < 2; i++) {
        block->lots[i] = weft_cuda_host_alloc(d, sizeof(*block->lots[i]));
        if (block->lots[i] == NULL)
            return WEFT_ERR_MEMORY;
    }
    const uint32_t start = (uint32_t)d->config->counter_start;
    uint32_t credit; /* nobody needs it: an answer frees its errand's line */
    weft_command_ring_init(block->control->errand, WEFT_BLOCK_DEPTH, start, &credit);
    weft_command_ring_init(block->control->answer, WEFT_BLOCK_DEPTH, start, &credit);
    block->errands = (struct weft_command_producer){
        .lines = block->control->errand, .depth = WEFT_BLOCK_DEPTH, .head = start};
    return WEFT_OK;
}

/* Whether no block will take another errand; then all that it answered is visible. Needs the
 * block's lock. */
static bool is_gone(const struct weft_block *block)
{
    return weft_load_acquire_u64(&block->control->turn.left, ORDER_command_space) == block->turn;
}

uint64_t weft_cuda_block_delivered(const struct weft_device *d)
{
    return weft_load_acquire_u64(&d->block.control->turn.delivered, ORDER_command_space);
}

/* Launches the block, to begin with errand `next`; none is there. Needs the block's lock. */
static weft_status launch(struct weft_device *d, uint32_t next, uint64_t lease)
{
    struct weft_block *block = &d->block;
    struct weft_block_control *control = block->control;
    uint64_t turn = block->turn + 1;
    void *arguments[] = {&control, &next, &lease, &turn};

    weft_lock(&d->giving);
    CUresult result = d->driver->context_use(d->context);
    if (result == CUDA_SUCCESS)
        result = d->driver->launch_plain(block->function, 1, 1, 1, (unsigned)block->threads, 1, 1,
                                         0, block->stream, arguments, NULL);
    weft_unlock(&d->giving);
    if (result == CUDA_SUCCESS)
        __atomic_store_n(&block->turn, turn, __ATOMIC_RELAXED); /* the receive task looks */
    return weft_cuda_error(result, "launching the service block");
}

/* Has a block that is there, or begins, leave behind all that it was given. Needs its lock. */
static void tell_to_leave(struct weft_block *block)
{
    const struct weft_errand leave = {.kind = WEFT_ERRAND_LEAVE};

    weft_command_push(&block->errands, (const struct weft_command *)&leave, NULL, 0, true);
}

/* Has the block leave, if it is there, and waits for that. Needs the block's lock. */
static weft_status dismiss(struct weft_device *d)
{
    tell_to_leave(&d->block);
    d->driver->context_use(d->context);
    return weft_cuda_error(d->driver->stream_wait(d->block.stream), "the service block");
}

void weft_cuda_block_close(struct weft_device *d)
{
    struct weft_block *block = &d->block;

    if (block->errands.lines != NULL)
        tell_to_leave(block);
    if (block->stream != NULL) {
        d->driver->stream_wait(block->stream); /* why it has failed was said */
        d->driver->stream_destroy(block->stream);
    }
    if (block->control != NULL)
        weft_cuda_host_free(d, block->control);
    for (int i = 0; i < 2; i++)
        if (block->lots[i] != NULL)
            weft_cuda_host_free(d, block->lots[i]);
    if (block->module != NULL)
        d->driver->module_unload(block->module);
}

weft_status weft_cuda_block_stay(struct weft_device *d, bool serves, bool full, int registers)
{
    struct weft_block *block = &d->block;
    const uint64_t deadline = weft_now_ns() + START_NS;

    if (block->control == NULL)
        return WEFT_OK;
    weft_lock(&block->lock);
    weft_status status = serves ? dismiss(d) : WEFT_OK;
    while (serves && !d->mps && block->threads < WEFT_BLOCK_THREADS_MOST &&
           2 * block->threads * block->registers <= registers)
        block->threads *= 2;
    if (status == WEFT_OK && serves)
        status = launch(d, block->errands.head, NO_LEASE);
    block->threads = WEFT_BLOCK_THREADS; /* of one that comes when others may have its room */
    while (status == WEFT_OK && serves &&
           weft_load_relaxed_u64(&block->control->turn.begun) != block->turn)
        if (weft_now_ns() > deadline)
            status = weft_err(WEFT_ERR_DEVICE, "GPU %d did not begin the service block within %d s",
                              d->index, (int)(START_NS / 1000000000));
    if (serves && status != WEFT_OK)
        tell_to_leave(block);                /* should it ever begin */
    block->full = full && status == WEFT_OK; /* else no kernel runs */
    __atomic_store_n(&block->stays, serves && status == WEFT_OK, __ATOMIC_RELAXED);
    weft_unlock(&block->lock);
    return status;
}

weft_status weft_cuda_block_leave(struct weft_device *d)
{
    weft_lock(&d->block.lock);
    const weft_status status = d->block.stays ? dismiss(d) : WEFT_OK;
    __atomic_store_n(&d->block.stays, false, __ATOMIC_RELAXED); /* the receive task looks */
    d->block.full = false;
    weft_unlock(&d->block.lock);
    return status;
}

weft_status weft_cuda_block_look(struct weft_device *d, uint32_t looks, uint64_t *since)
{
    enum { LOOKS = 4096 }; /* some milliseconds */
    const struct weft_block *block = &d->block;
    const uint64_t now = looks % LOOKS == 0 ? weft_now_ns() : 0;

    if (now == 0)
        return WEFT_OK;
    d->driver->context_use(d->context);
    const CUresult result = d->driver->stream_query(block->stream);
    if (result != CUDA_ERROR_NOT_READY)
        return weft_cuda_error(result, "the service block");
    *since = *since == 0 ? now : *since;
    if (now - *since > LATE_NS) {
        weft_say(WEFT_SAY_WARN,
                 "GPU %d: the host has waited %d s for the service block, which %s; it was given "
                 "lots up to %llu, of which %llu are delivered",
                 d->index, (int)(LATE_NS / 1000000000),
                 weft_load_relaxed_u64(&block->control->turn.begun) ==
                         __atomic_load_n(&block->turn, __ATOMIC_RELAXED)
                     ? "is there"
                     : "has not begun: other kernels have the GPU",
                 (unsigned long long)block->lots_given,
                 (unsigned long long)weft_cuda_block_delivered(d));
        *since = now;
    }
    return WEFT_OK;
}

/*
 * Waits for the answer to errand `number`, by another block where the one that was there has left.
 * brief: in that case the errand, which must be the last, is taken back, and UNSUPPORTED returned
 * but not said. Needs the block's lock.
 */
static weft_status await(struct weft_device *d, uint32_t number, struct weft_errand *errand,
                         bool brief)
{
    struct weft_block *block = &d->block;
    const struct weft_command_consumer answers = {.lines = block->control->answer,
                                                  .depth = WEFT_BLOCK_DEPTH};
    weft_status status = WEFT_OK;
    uint64_t since = 0;

    for (uint32_t looks = 1; status == WEFT_OK; looks++) {
        const bool gone = is_gone(block);
        if (weft_line_read(&answers, number, (unsigned char *)errand, true))
            return WEFT_OK;
        if (gone && brief) {
            weft_command_retract(&block->errands);
            return WEFT_ERR_UNSUPPORTED;
        }
        status = gone ? launch(d, number, LEASE) : weft_cuda_block_look(d, looks, &since);
    }
    return status;
}

/* Gives an errand that is answered. Its place for the answer is cleared: since no lot is answered,
 * what is there may be of an errand 256 before. Needs the block's lock. */
static void ask(struct weft_block *block, const struct weft_errand *errand)
{
    struct weft_command_producer answers = {.lines = block->control->answer,
                                            .depth = WEFT_BLOCK_DEPTH,
                                            .head = block->errands.head + 1};

    weft_command_retract(&answers);
    weft_command_push(&block->errands, (const struct weft_command *)errand, NULL, 0, true);
}

weft_status weft_cuda_serve(struct weft_device *d, struct weft_errand *errands, size_t count)
{
    struct weft_block *block = &d->block;
    weft_status status = WEFT_OK;

    if (block->control == NULL)
        return weft_err(WEFT_ERR_UNSUPPORTED, "GPU %d has no service block: WEFT_CUDA_SERVICE=off",
                        d->index);
    weft_lock(&block->lock);
    if (block->full && !block->stays)
        status = weft_err(WEFT_ERR_UNSUPPORTED,
                          "the kernel leaves GPU %d no room for the service block: "
                          "WEFT_CUDA_SERVICE=on, or fewer ranks",
                          d->index);
    d->driver->context_use(d->context);
    for (size_t at = 0, some; at < count && status == WEFT_OK; at += some) {
        const uint32_t first = block->errands.head;
        const size_t most = WEFT_BLOCK_DEPTH - 2; /* beside two lots */
        some = count - at < most ? count - at : most;
        for (size_t i = 0; i < some; i++)
            ask(block, &errands[at + i]);
        for (size_t i = 0; i < some && status == WEFT_OK; i++)
            status = await(d, first + (uint32_t)i, &errands[at + i], false);
    }
    weft_unlock(&block->lock);
    return status;
}

bool weft_cuda_serve_now(struct weft_device *d, struct weft_errand *errand)
{
    struct weft_block *block = &d->block;
    const uint64_t now = weft_now_ns();
    bool done = false;

    if (block->control == NULL || d->takes_turns || !weft_lock_try(&block->lock))
        return false;
    const bool barred = block->full && !block->stays; /* a kernel waits until no block is there */
    const bool gone = block->turn == 0 || is_gone(block);
    const bool begun = weft_load_relaxed_u64(&block->control->turn.begun) == block->turn;
    const uint32_t number = block->errands.head;
    d->driver->context_use(d->context);
    if (!barred && !gone && begun) {
        ask(block, errand);
        done = await(d, number, errand, true) == WEFT_OK;
    } else if (!barred && gone && now - block->asked < SOON_NS) {
        launch(d, number, LEASE);
    }
    block->asked = now;
    weft_unlock(&block->lock);
    return done;
}

/* Whether a lot of words alone fits in an errand, which is filled then. It is one put of 4, 8 or 16
 * bytes, and a count behind it; one of the two may be missing. */
static bool fits(const struct weft_lot *lot, uint32_t words, struct weft_errand *errand)
{
    const bool counts = words > 0 && weft_lot_bytes(lot->size[words - 1]) == 4;
    const uint32_t data = words - counts;

    if (data > 2 || (data == 2 &&
                     (lot->size[0] + lot->size[1] != 16 || lot->word[1].to != lot->word[0].to + 8)))
        return false;
    errand->kind = WEFT_ERRAND_FEW;
    for (uint32_t i = 0; i < data; i++) {
        errand->bytes = (uint8_t)(errand->bytes + lot->size[i]);
        errand->data[i] = lot->word[i].value;
    }
    errand->address = lot->word[0].to;
    if (counts) {
        errand->count = (uint32_t)lot->word[data].value;
        errand->data[2] = lot->word[data].to;
    }
    return true;
}

void weft_cuda_block_give(struct weft_device *d, uint32_t pieces, uint32_t words, bool *given)
{
    struct weft_block *block = &d->block;
    const uint64_t number = block->lots_given + 1;
    const struct weft_lot *const lot = block->lots[number % 2];
    struct weft_errand errand = {.data = {[4] = number}};

    if (pieces != 0 || !fits(lot, words, &errand)) {
        errand.kind = WEFT_ERRAND_DELIVER;
        errand.address = (uintptr_t)lot;
        errand.data[0] = pieces;
        errand.data[1] = words;
    }
    weft_lock(&block->lock);
    *given = block->stays;
    if (*given) {
        block->lots_given = number;
        weft_command_push(&block->errands, (const struct weft_command *)&errand, NULL, 0, true);
    }
    weft_unlock(&block->lock);
}
