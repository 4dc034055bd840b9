/*
 * pgas/heap.c - the address space opens and closes; host programs take blocks of their place's
 * heap.
 *
 * Host programs and ranks of the CPU device share one allocator. The host of a GPU cannot update
 * words in its memory while a kernel runs: there each side has a part of the heap, and the words of
 * the host programs' part are in host memory.
 */
#include "pgas/buddy_heap.h"
#include "pgas/pgas.h"

#include "runtime/job/exchange.h"

#include <stdlib.h>

weft_status weft_pgas_enter(weft_job *job, const char *call, struct weft_pgas **pgas)
{
    WEFT_TRY(weft_job_owned(job, call));
    *pgas = job->pgas;
    return *pgas != NULL
               ? WEFT_OK
               : weft_refused(job, WEFT_ERR_STATE, "%s: weft_pgas_open has not been called", call);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Agrees on the settings; *host_heaps: whether any place has a host heap. */
static weft_status agree(weft_job *job, bool *host_heaps)
{
    const uint64_t mine[3] = {(uint64_t)job->config.heap_least_block,
                              (uint64_t)job->config.segments, !job->device_ops->host_access};
    weft_status status;
    uint64_t *const all = weft_exchange_all(job, WEFT_EXCHANGE_PGAS, mine, sizeof(mine), &status);

    for (size_t q = 0; status == WEFT_OK && q < (size_t)job->numbers.processes; q++) {
        *host_heaps = *host_heaps || all[3 * q + 2] != 0;
        if (memcmp(&all[3 * q], all, 2 * sizeof(*all)) != 0)
            status =
                weft_refused(job, WEFT_ERR_MISMATCH,
                             "weft_pgas_open: WEFT_HEAP_LEAST_BLOCK=%llu and "
                             "WEFT_SEGMENTS=%llu in process 0, %llu and %llu in process %zu",
                             (unsigned long long)all[0], (unsigned long long)all[1],
                             (unsigned long long)all[3 * q], (unsigned long long)all[3 * q + 1], q);
    }
    free(all);
    return status;
}

/* Frees all but the memory of weft_malloc, which the job frees when it is closed. */
static void forget(weft_job *job)
{
    struct weft_pgas *const pgas = job->pgas;

    if (pgas == NULL)
        return;
    free(pgas->space.table);
    free(pgas->brought);
    free(pgas->talks);
    free(pgas->apart.words);
    free(pgas->of_host.words);
    weft_job_host_free(job, pgas->host);
    free(pgas);
    job->pgas = NULL;
}

/* Collective, but in a job that has failed: the windows, then what they lie in. */
static weft_status release(weft_job *job)
{
    struct weft_pgas *const pgas = job->pgas;
    weft_win *const wins[] = {&pgas->host_win, &pgas->space.win};
    weft_status status = WEFT_OK;

    for (uint32_t i = 0; i < job->space.state.comms_count; i++)
        if (pgas->talks != NULL && status == WEFT_OK && weft_job_status(job) == WEFT_OK)
            status = weft_pgas_hush(job, &pgas->talks[i]);
    for (int i = 0; i < 2; i++)
        if (*wins[i] != WEFT_WIN_NONE && status == WEFT_OK && weft_job_status(job) == WEFT_OK)
            status = weft_host_win_free(job, wins[i]);
    weft_free(job, pgas->memory);
    weft_free(job, pgas->on_device);
    forget(job);
    return status;
}

/* Lays out what the device holds beside the heap: the space, segments, words of the allocator. */
static size_t lay_out(struct weft_pgas *pgas, size_t words)
{
    size_t at = (sizeof(struct weft_gspace) + 63) & ~(size_t)63;

    pgas->table_on_device = (void *)((uintptr_t)pgas->on_device + at); /* NULL: to measure */
    at += pgas->space.segments * weft_gsegment_bytes(pgas->space.places);
    weft_buddy_place(&pgas->space.buddy, (void *)((uintptr_t)pgas->on_device + at));
    return at + words * sizeof(uint64_t);
}

/* Makes an allocator of so many bytes; returns how many words it has, or 0: there is no memory. */
static size_t make_buddy(const weft_job *job, struct weft_gheap *heap, uint64_t bytes)
{
    const uint32_t least = (uint32_t)__builtin_ctzll((uint64_t)job->config.heap_least_block);
    const size_t words = weft_buddy_shape(&heap->buddy, bytes, least);

    heap->words = malloc(words * sizeof(uint64_t));
    if (heap->words == NULL)
        return 0;
    weft_buddy_place(&heap->buddy, heap->words);
    weft_buddy_fill(&heap->buddy, heap->words);
    return words;
}

/* Makes a heap's allocators, of so many bytes. kernels: theirs, in this process's memory still. */
static size_t share_heap(weft_job *job, struct weft_pgas *pgas, uint64_t bytes,
                         struct weft_gheap *kernels)
{
    if (!job->device_ops->host_access) {
        const uint64_t share = bytes / 100 * (uint64_t)job->config.heap_kernel_share;
        pgas->space.from = (bytes - share) & ~(uint64_t)4095;
        if (make_buddy(job, &pgas->apart, pgas->space.from) == 0)
            return 0;
    }
    const size_t words = make_buddy(job, kernels, bytes - pgas->space.from);
    pgas->space.buddy = kernels->buddy;
    return words;
}

static size_t whole_lines(long long bytes)
{
    return (size_t)bytes & ~(size_t)63;
}

/* Host memory that ranks of this place reach, unless they share theirs with the host. Local. */
static weft_status make_host_heap(weft_job *job, struct weft_pgas *pgas)
{
    const size_t bytes = whole_lines(job->config.host_heap);

    if (job->device_ops->host_access)
        return WEFT_OK;
    pgas->host = job->device_ops->host_alloc(job->device, bytes);
    if (pgas->host == NULL || make_buddy(job, &pgas->of_host, bytes) == 0)
        return weft_refused(job, WEFT_ERR_MEMORY,
                            "weft_pgas_open: process %d has no %zu bytes for its heap in host "
                            "memory (WEFT_HOST_HEAP)",
                            pgas->space.me, bytes);
    return WEFT_OK;
}

/* Local. */
static weft_status make_heap(weft_job *job, struct weft_pgas *pgas)
{
    struct weft_gspace *const space = &pgas->space;
    const size_t bytes = whole_lines(job->config.heap), places = (size_t)space->places;
    struct weft_gheap kernels = {.words = NULL};
    const size_t words = share_heap(job, pgas, bytes, &kernels);
    weft_status status = WEFT_OK;

    space->table = calloc(space->segments, weft_gsegment_bytes(space->places));
    pgas->brought = calloc(places, sizeof(*pgas->brought) + sizeof(int));
    pgas->member = (int *)(void *)(pgas->brought + places);
    pgas->talks = calloc(job->space.state.comms_count, sizeof(*pgas->talks));
    pgas->memory = weft_malloc(job, bytes);
    pgas->on_device = weft_malloc(job, lay_out(pgas, words));
    if (words == 0 || space->table == NULL || pgas->brought == NULL || pgas->talks == NULL ||
        pgas->memory == NULL || pgas->on_device == NULL)
        status = weft_refused(job, WEFT_ERR_MEMORY,
                              "weft_pgas_open: process %d has no %zu bytes for its heap "
                              "(WEFT_HEAP)",
                              space->me, bytes);
    if (status == WEFT_OK) {
        lay_out(pgas, words);
        pgas->buddy = job->device_ops->host_access ? &pgas->on_device->buddy : &pgas->apart.buddy;
        status = weft_copy(job, space->buddy.word[0], kernels.words, words * sizeof(uint64_t));
    }
    free(kernels.words);
    return status == WEFT_OK ? make_host_heap(job, pgas) : status;
}

/* Makes a segment that is a heap of each place. The window's members know how large. */
static void heaps(weft_job *job, struct weft_pgas *pgas, uint32_t segment, weft_win win)
{
    struct weft_gsegment *const heap = weft_gsegment_at(&pgas->space, segment);

    heap->known = WEFT_GSEGMENT_KNOWN;
    pgas->bits[0].used |= (uint64_t)1 << segment;
    heap->win = win;
    for (int p = 0; p < pgas->space.places; p++) {
        const uint64_t all = job->space.state.windows[weft_handle_index(win)].entry[p].bytes;
        heap->part[p] = (struct weft_gpart){.at = 0, .bytes = all, .member = p, .present = 1};
    }
}

/* Opens the windows, and what kernels see but segments (weft_pgas_launch). Collective. */
static weft_status open_heaps(weft_job *job, struct weft_pgas *pgas)
{
    WEFT_TRY(
        weft_host_win_create(job, pgas->memory, whole_lines(job->config.heap), &pgas->space.win));
    heaps(job, pgas, WEFT_GSEGMENT_HEAP, pgas->space.win);
    if (pgas->host_heaps) {
        const size_t bytes = pgas->host != NULL ? whole_lines(job->config.host_heap) : 0;
        WEFT_TRY(weft_host_win_create(job, pgas->host, bytes, &pgas->host_win));
        heaps(job, pgas, WEFT_GSEGMENT_HOST, pgas->host_win);
    }
    struct weft_gspace copy = pgas->space;
    copy.table = pgas->table_on_device;
    const weft_status status = weft_copy(job, pgas->on_device, &copy, sizeof(copy));
    if (status != WEFT_OK) /* the others come to the barrier */
        weft_job_fail(job, status, "process %d: could not write to its heap", pgas->space.me);
    return status == WEFT_OK ? weft_host_barrier(job) : status;
}

weft_status weft_pgas_open(weft_job *job)
{
    bool host_heaps = false;

    WEFT_TRY(weft_job_idle(job, "weft_pgas_open"));
    if (job->pgas != NULL)
        return weft_refused(job, WEFT_ERR_STATE, "weft_pgas_open: it is open already");
    WEFT_TRY(agree(job, &host_heaps));
    struct weft_pgas *const pgas = job->pgas = calloc(1, sizeof(*pgas));
    if (pgas == NULL)
        return weft_refused(job, WEFT_ERR_MEMORY, "weft_pgas_open: no memory");
    pgas->host_heaps = host_heaps;
    pgas->space.me = job->numbers.process;
    pgas->space.places = job->numbers.processes;
    pgas->space.segments = pgas->changed_end = (uint32_t)job->config.segments;
    for (uint32_t i = pgas->space.segments; i < WEFT_GSEGMENTS; i++)
        pgas->bits[i / 64].used |= (uint64_t)1 << i % 64;
    pgas->space.apart = !job->device_ops->host_access;
    weft_status status = make_heap(job, pgas);
    if (status != WEFT_OK) /* the others come to the window, and hear of it there */
        weft_job_fail(job, status, "process %d has no memory for its heap (WEFT_HEAP)",
                      pgas->space.me);
    else
        status = open_heaps(job, pgas);
    if (status != WEFT_OK)
        release(job);
    return status;
}

weft_status weft_pgas_close(weft_job *job)
{
    struct weft_pgas *pgas;

    WEFT_TRY(weft_pgas_enter(job, "weft_pgas_close", &pgas));
    if (weft_running(job))
        return weft_refused(job, WEFT_ERR_STATE, "weft_pgas_close: a kernel runs");
    return release(job);
}

/* A job may close without weft_pgas_close. */
const struct weft_service weft_pgas_module = {
    .launch = weft_pgas_launch, .group_freed = weft_pgas_group_freed, .close = forget};

weft_gspace *weft_pgas_space(weft_job *job)
{
    return job != NULL && job->pgas != NULL ? job->pgas->on_device : NULL;
}

/* ---- this place's heap ----------------------------------------------------------------------- */

/* Finds the allocator of a heap of this place for host programs; *segment: the heap's. */
static struct weft_buddy *buddy_of(struct weft_pgas *pgas, weft_gkind kind, uint32_t *segment)
{
    const bool host = kind == WEFT_GKIND_HOST && pgas->host != NULL;

    *segment = host ? WEFT_GSEGMENT_HOST : WEFT_GSEGMENT_HEAP;
    return host ? &pgas->of_host.buddy : pgas->buddy;
}

weft_status weft_host_local_alloc_kind(weft_job *job, size_t bytes, weft_gkind kind, weft_gptr *g)
{
    struct weft_pgas *pgas;
    uint32_t segment;

    WEFT_TRY(weft_pgas_enter(job, "weft_local_alloc", &pgas));
    WEFT_TRY(weft_host_place(job, "weft_local_alloc", "g", g));
    if (kind != WEFT_GKIND_DEVICE && kind != WEFT_GKIND_HOST)
        return weft_refused(job, WEFT_ERR_ARGUMENT, "weft_local_alloc: kind %d is none", (int)kind);
    struct weft_buddy *const buddy = buddy_of(pgas, kind, &segment);
    const uint64_t at = weft_buddy_take(buddy, bytes, WEFT_BUDDY_LANES - 1);
    if (at == WEFT_BUDDY_NONE) {
        struct weft_buddy_numbers n;
        weft_buddy_count(buddy, &n);
        return weft_refused(job, WEFT_ERR_MEMORY,
                            "weft_local_alloc: place %d has no %zu bytes in a row: %llu of %llu "
                            "bytes of its heap are free (%s)",
                            pgas->space.me, bytes, (unsigned long long)n.free,
                            (unsigned long long)buddy->bytes,
                            segment == WEFT_GSEGMENT_HOST ? "WEFT_HOST_HEAP" : "WEFT_HEAP");
    }
    *g = weft_gptr_make(pgas->space.me, segment, 0, at);
    return WEFT_OK;
}

weft_status weft_host_local_alloc(weft_job *job, size_t bytes, weft_gptr *g)
{
    return weft_host_local_alloc_kind(job, bytes, WEFT_GKIND_DEVICE, g);
}

weft_status weft_host_local_free(weft_job *job, weft_gptr g)
{
    const bool host = g.segment == WEFT_GSEGMENT_HOST;
    struct weft_pgas *pgas;
    uint32_t segment;

    WEFT_TRY(weft_job_owned(job, "weft_local_free"));
    if (weft_gptr_is_null(g))
        return WEFT_OK;
    WEFT_TRY(weft_pgas_enter(job, "weft_local_free", &pgas));
    struct weft_buddy *const buddy =
        buddy_of(pgas, host ? WEFT_GKIND_HOST : WEFT_GKIND_DEVICE, &segment);
    if (g.segment != segment || g.generation != 0 || weft_gptr_place(g) != pgas->space.me ||
        !weft_buddy_give(buddy, g.offset, WEFT_BUDDY_LANES - 1))
        return weft_refused(job, WEFT_ERR_ARGUMENT,
                            "weft_local_free: offset %llu of segment %d at place %d is not the "
                            "beginning of a block of place %d",
                            (unsigned long long)g.offset, g.segment, weft_gptr_place(g),
                            pgas->space.me);
    return WEFT_OK;
}

weft_status weft_host_heap_numbers(weft_job *job, weft_heap_numbers *numbers)
{
    struct weft_buddy_numbers n;
    struct weft_pgas *pgas;

    WEFT_TRY(weft_pgas_enter(job, "weft_host_heap_numbers", &pgas));
    WEFT_TRY(weft_host_place(job, "weft_host_heap_numbers", "numbers", numbers));
    weft_buddy_count(pgas->buddy, &n);
    *numbers =
        (weft_heap_numbers){.bytes = pgas->buddy->bytes, .free = n.free, .largest = n.largest};
    return WEFT_OK;
}
