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
#include "runtime/job/module.h"

#include <stdlib.h>

struct weft_pgas *weft_pgas_of(weft_job *job, const char *call)
{
    if (job->pgas == NULL)
        weft_refused(job, WEFT_ERR_STATE, "%s: weft_pgas_open has not been called", call);
    return job->pgas;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* *host_heaps: whether any place has one. */
static weft_status agree(weft_job *job, bool *host_heaps)
{
    const uint64_t mine[3] = {(uint64_t)job->config.heap_least_block,
                              (uint64_t)job->config.segments, !job->device_ops->host_access};
    uint64_t *const all = calloc((size_t)job->numbers.processes, sizeof(mine));
    weft_status status = WEFT_ERR_MEMORY;

    if (all == NULL)
        weft_job_fail(job, status, "process %d: no memory for heaps", job->numbers.process);
    else
        status = weft_exchange(job, WEFT_EXCHANGE_PGAS, mine, sizeof(mine), all);
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

/* All but the memory of weft_malloc, which the job frees when it is closed. */
static void forget(weft_job *job)
{
    struct weft_pgas *const pgas = job->pgas;

    if (pgas == NULL)
        return;
    free(pgas->space.table);
    free(pgas->brought);
    free(pgas->words_apart);
    free(pgas->words_of_host);
    weft_job_host_free(job, pgas->host);
    free(pgas);
    job->pgas = NULL;
}

/* Collective, but in a job that has failed: the windows, then what they lie in. */
static weft_status release(weft_job *job)
{
    struct weft_pgas *const pgas = job->pgas;
    weft_win *const wins[] = {&pgas->boards_win, &pgas->host_win, &pgas->space.win};
    weft_status status = WEFT_OK;

    for (int i = 0; i < 3; i++)
        if (*wins[i] != WEFT_WIN_NONE && status == WEFT_OK && weft_job_status(job) == WEFT_OK)
            status = weft_host_win_free(job, wins[i]);
    weft_free(job, pgas->memory);
    weft_free(job, pgas->on_device);
    forget(job);
    return status;
}

/* What the device holds beside the heap: the space, segments, words of the allocator. */
static size_t lay_out(struct weft_pgas *pgas, size_t words)
{
    size_t at = (sizeof(struct weft_gspace) + 63) & ~(size_t)63;

    pgas->table_on_device = (void *)((uintptr_t)pgas->on_device + at); /* NULL: to measure */
    at += pgas->space.segments * weft_gsegment_bytes(pgas->space.places);
    weft_buddy_place(&pgas->space.buddy, (void *)((uintptr_t)pgas->on_device + at));
    return at + words * sizeof(uint64_t);
}

/* The allocators of a heap of so many bytes, in this process's memory still. */
static uint64_t *share_heap(weft_job *job, struct weft_pgas *pgas, uint64_t bytes, size_t *words)
{
    const uint32_t least = (uint32_t)__builtin_ctzll((uint64_t)job->config.heap_least_block);
    struct weft_gspace *const space = &pgas->space;
    uint64_t *fill = NULL;

    if (!job->device_ops->host_access) {
        const uint64_t kernels = bytes / 100 * (uint64_t)job->config.heap_kernel_share;
        space->from = (bytes - kernels) & ~(uint64_t)4095;
        *words = weft_buddy_shape(&pgas->apart, space->from, least);
        pgas->words_apart = malloc(*words * sizeof(uint64_t));
        if (pgas->words_apart == NULL)
            return NULL;
        weft_buddy_place(&pgas->apart, pgas->words_apart);
        weft_buddy_fill(&pgas->apart, pgas->words_apart);
    }
    *words = weft_buddy_shape(&space->buddy, bytes - space->from, least);
    fill = malloc(*words * sizeof(uint64_t));
    if (fill != NULL)
        weft_buddy_fill(&space->buddy, fill);
    return fill;
}

static size_t boards_bytes(const struct weft_pgas *pgas)
{
    return 2 * (size_t)pgas->space.places * sizeof(*pgas->boards);
}

/* Host memory that this place's ranks reach, where they do not share theirs with the host. Local.
 */
static weft_status make_host_heap(weft_job *job, struct weft_pgas *pgas)
{
    const uint32_t least = (uint32_t)__builtin_ctzll((uint64_t)job->config.heap_least_block);
    const uint64_t bytes = (uint64_t)job->config.host_heap & ~(uint64_t)63;
    const size_t words = weft_buddy_shape(&pgas->of_host, bytes, least);

    if (job->device_ops->host_access)
        return WEFT_OK;
    pgas->host = job->device_ops->host_alloc(job->device, bytes + boards_bytes(pgas));
    pgas->words_of_host = malloc(words * sizeof(uint64_t));
    if (pgas->host == NULL || pgas->words_of_host == NULL)
        return weft_refused(job, WEFT_ERR_MEMORY,
                            "weft_pgas_open: process %d has no %llu bytes for its heap in host "
                            "memory (WEFT_HOST_HEAP)",
                            pgas->space.me, (unsigned long long)bytes);
    weft_buddy_place(&pgas->of_host, pgas->words_of_host);
    weft_buddy_fill(&pgas->of_host, pgas->words_of_host);
    pgas->boards = (void *)(pgas->host + bytes);
    return WEFT_OK;
}

/* Local. */
static weft_status make_heap(weft_job *job, struct weft_pgas *pgas)
{
    struct weft_gspace *const space = &pgas->space;
    const uint64_t bytes = (uint64_t)job->config.heap & ~(uint64_t)63;
    const size_t places = (size_t)space->places;
    size_t words;
    uint64_t *const fill = share_heap(job, pgas, bytes, &words);
    weft_status status = WEFT_OK;

    space->table = calloc(space->segments, weft_gsegment_bytes(space->places));
    pgas->brought = calloc(places, sizeof(*pgas->brought) + sizeof(int) + sizeof(*pgas->met));
    pgas->member = (int *)(void *)(pgas->brought + places);
    pgas->met = (uint32_t *)(void *)(pgas->member + places);
    pgas->memory = weft_malloc(job, bytes + boards_bytes(pgas));
    pgas->on_device = weft_malloc(job, lay_out(pgas, words));
    if (fill == NULL || space->table == NULL || pgas->brought == NULL || pgas->memory == NULL ||
        pgas->on_device == NULL)
        status = weft_refused(job, WEFT_ERR_MEMORY,
                              "weft_pgas_open: process %d has no %llu bytes for its heap "
                              "(WEFT_HEAP)",
                              space->me, (unsigned long long)bytes);
    if (status == WEFT_OK) {
        lay_out(pgas, words);
        space->heap = pgas->memory;
        pgas->boards = (void *)(pgas->memory + bytes);
        pgas->buddy = job->device_ops->host_access ? &pgas->on_device->buddy : &pgas->apart;
        status = weft_copy(job, space->buddy.word[0], fill, words * sizeof(uint64_t));
    }
    free(fill);
    return status == WEFT_OK ? make_host_heap(job, pgas) : status;
}

/* A segment that is a heap of each place. The window's members know how large. */
static void heaps(weft_job *job, struct weft_pgas *pgas, uint32_t segment, weft_win win)
{
    struct weft_gsegment *const heap = weft_gsegment_at(&pgas->space, segment);

    heap->known = 1;
    heap->win = win;
    for (int p = 0; p < pgas->space.places; p++) {
        const uint64_t all = job->space.state.windows[weft_handle_index(win)].entry[p].bytes;
        heap->part[p] = (struct weft_gpart){.at = 0, .bytes = all, .member = p, .present = 1};
    }
}

/* Copies all but what the kernels' allocator does to the device. */
static weft_status publish(weft_job *job, struct weft_pgas *pgas)
{
    struct weft_gspace *const copy = malloc(sizeof(*copy));
    weft_status status = WEFT_ERR_MEMORY;

    if (copy != NULL) {
        *copy = pgas->space;
        copy->table = pgas->table_on_device;
        status = weft_copy(job, pgas->on_device, copy, sizeof(*copy));
    }
    if (status == WEFT_OK)
        status = weft_copy(job, pgas->table_on_device, pgas->space.table,
                           pgas->space.segments * weft_gsegment_bytes(pgas->space.places));
    free(copy);
    return status;
}

weft_status weft_pgas_open(weft_job *job)
{
    weft_status status = weft_job_idle(job, "weft_pgas_open");
    const long long least = status == WEFT_OK ? (long long)job->config.heap_least_block : 1;
    bool host_heaps = false;

    if (status == WEFT_OK && job->pgas != NULL)
        status = weft_refused(job, WEFT_ERR_STATE, "weft_pgas_open: it is open already");
    if (status == WEFT_OK && (least & (least - 1)) != 0)
        status =
            weft_refused(job, WEFT_ERR_CONFIG,
                         "weft_pgas_open: WEFT_HEAP_LEAST_BLOCK=%lld is no power of two", least);
    if (status == WEFT_OK)
        status = agree(job, &host_heaps);
    struct weft_pgas *const pgas = status == WEFT_OK ? calloc(1, sizeof(*pgas)) : NULL;
    if (pgas == NULL)
        return status == WEFT_OK ? weft_refused(job, WEFT_ERR_MEMORY, "weft_pgas_open: no memory")
                                 : status;
    job->pgas = pgas;
    pgas->host_heaps = host_heaps;
    pgas->space.me = job->numbers.process;
    pgas->space.places = job->numbers.processes;
    pgas->space.segments = (uint32_t)job->config.segments;
    status = make_heap(job, pgas);
    if (status != WEFT_OK) /* the others come to the window, and hear of it there */
        weft_job_fail(job, status, "process %d has no memory for its heap (WEFT_HEAP)",
                      pgas->space.me);
    if (status == WEFT_OK)
        status = weft_host_win_create(job, pgas->memory, (size_t)job->config.heap & ~(size_t)63,
                                      &pgas->space.win);
    if (status == WEFT_OK)
        status = weft_host_win_create(job, pgas->boards, boards_bytes(pgas), &pgas->boards_win);
    if (status == WEFT_OK && host_heaps)
        status = weft_host_win_create(
            job, pgas->host, pgas->host != NULL ? (size_t)job->config.host_heap & ~(size_t)63 : 0,
            &pgas->host_win);
    if (status == WEFT_OK) {
        heaps(job, pgas, WEFT_GSEGMENT_HEAP, pgas->space.win);
        if (host_heaps)
            heaps(job, pgas, WEFT_GSEGMENT_HOST, pgas->host_win);
        status = publish(job, pgas);
        if (status != WEFT_OK) /* the others come to the barrier */
            weft_job_fail(job, status, "process %d: no memory for the table of segments",
                          pgas->space.me);
    }
    if (status == WEFT_OK)
        status = weft_host_barrier(job);
    if (status != WEFT_OK)
        release(job);
    return status;
}

weft_status weft_pgas_close(weft_job *job)
{
    weft_status status = weft_job_owned(job, "weft_pgas_close");

    if (status != WEFT_OK)
        return status;
    struct weft_pgas *const pgas = weft_pgas_of(job, "weft_pgas_close");
    if (pgas == NULL)
        return WEFT_ERR_STATE;
    if (weft_running(job))
        return weft_refused(job, WEFT_ERR_STATE, "weft_pgas_close: a kernel runs");
    return release(job);
}

/* A job may close without weft_pgas_close. */
const struct weft_module weft_pgas_module = {.close = forget};

weft_gspace *weft_pgas_space(weft_job *job)
{
    return job != NULL && job->pgas != NULL ? job->pgas->on_device : NULL;
}

/* ---- this place's heap ----------------------------------------------------------------------- */

/* The allocator of a heap of this place for host programs; *segment: the heap's. */
static struct weft_buddy *buddy_of(struct weft_pgas *pgas, weft_gkind kind, uint32_t *segment)
{
    const bool host = kind == WEFT_GKIND_HOST && pgas->host != NULL;

    *segment = host ? WEFT_GSEGMENT_HOST : WEFT_GSEGMENT_HEAP;
    return host ? &pgas->of_host : pgas->buddy;
}

weft_status weft_host_local_alloc_kind(weft_job *job, size_t bytes, weft_gkind kind, weft_gptr *g)
{
    weft_status status = weft_job_owned(job, "weft_local_alloc");
    uint32_t segment;

    if (status == WEFT_OK)
        status = weft_host_place(job, "weft_local_alloc", "g", g);
    if (status == WEFT_OK && kind != WEFT_GKIND_DEVICE && kind != WEFT_GKIND_HOST)
        status =
            weft_refused(job, WEFT_ERR_ARGUMENT, "weft_local_alloc: kind %d is none", (int)kind);
    if (status != WEFT_OK)
        return status;
    struct weft_pgas *const pgas = weft_pgas_of(job, "weft_local_alloc");
    if (pgas == NULL)
        return WEFT_ERR_STATE;
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
    weft_status status = weft_job_owned(job, "weft_local_free");
    const bool host = g.segment == WEFT_GSEGMENT_HOST;
    struct weft_pgas *pgas;
    uint32_t segment;

    if (status != WEFT_OK || weft_gptr_is_null(g))
        return status;
    pgas = weft_pgas_of(job, "weft_local_free");
    if (pgas == NULL)
        return WEFT_ERR_STATE;
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
    weft_status status = weft_job_owned(job, "weft_host_heap_numbers");
    struct weft_buddy_numbers n;

    if (status == WEFT_OK)
        status = weft_host_place(job, "weft_host_heap_numbers", "numbers", numbers);
    if (status != WEFT_OK)
        return status;
    struct weft_pgas *const pgas = weft_pgas_of(job, "weft_host_heap_numbers");
    if (pgas == NULL)
        return WEFT_ERR_STATE;
    weft_buddy_count(pgas->buddy, &n);
    *numbers = (weft_heap_numbers){pgas->buddy->bytes, n.free, n.largest};
    return WEFT_OK;
}
