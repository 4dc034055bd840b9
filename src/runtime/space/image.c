/* runtime/space/image.c - see the header. Entries change under the table lock; weft_image_count is
 * the receive task's. */
#include "runtime/space/image.h"

#include "base/say.h"
#include "runtime/gda/queues.h"

#include <stdlib.h>
#include <string.h>

enum { LIST_WORDS = 7 }; /* of a rank for a process: sent_to, asked and answered; settled */

static void *at(const struct weft_image *image, size_t offset)
{
    return image->memory + offset;
}

weft_status weft_image_open(struct weft_job *job)
{
    const size_t n = (size_t)job->numbers.processes, counters = weft_space_counters(&job->space);
    struct weft_image *image;

    if (job->device_ops->host_access)
        return WEFT_OK;
    image = job->ranks.image = calloc(1, sizeof(*image));
    if (image == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for %zu counters", counters);
    image->peers = calloc(n, sizeof(*image->peers));
    image->counts = calloc(counters, sizeof(*image->counts));
    image->ranges = calloc((size_t)job->space.state.windows_count + job->space.state.comms_count,
                           sizeof(*image->ranges));
    image->exposed = job->device_ops->alloc(
        job->device, weft_exposed_bytes(&job->space.state, counters, true), &image->exposed_share);
    if (image->peers == NULL || image->counts == NULL || image->ranges == NULL ||
        image->exposed == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for %zu counters", counters);
    image->peers[job->numbers.process].exposed = image->exposed;
    return WEFT_OK;
}

static void drop_tables(struct weft_job *job)
{
    struct weft_image *image = job->ranks.image;

    weft_arena_clear(&image->arena);
    weft_job_host_free(job, image->seen);
    image->seen = NULL;
    while (image->blocks != NULL) {
        struct weft_image_block *block = image->blocks;
        image->blocks = block->next;
        job->device_ops->free(job->device, block->memory, &block->share);
        free(block);
    }
    image->memory = NULL;
}

void weft_image_close(struct weft_job *job)
{
    struct weft_image *image = job->ranks.image;

    if (image == NULL)
        return;
    drop_tables(job);
    for (int p = 0; image->peers != NULL && p < job->numbers.processes; p++)
        if (p != job->numbers.process && image->peers[p].exposed != NULL)
            job->device_ops->unmap(job->device, image->peers[p].exposed, &image->peers[p].share);
    if (image->exposed != NULL)
        job->device_ops->free(job->device, image->exposed, &image->exposed_share);
    free(image->peers);
    free(image->counts);
    free(image->ranges);
    free(image);
    job->ranks.image = NULL;
}

/* ---- the tables of a kernel ---- */

static size_t take_bytes(size_t *end, size_t bytes)
{
    const size_t offset = *end;
    *end += weft_arena_size(bytes);
    return offset;
}

/* Of the arena at first; it doubles when it grows. */
static size_t room_of(const struct weft_image_numbers *n)
{
    const size_t least =
        4 * weft_image_window_bytes(n->ranks) + 2 * weft_image_comm_bytes(n, n->ranks) +
        weft_arena_size(weft_comm_bytes(n->processes, WEFT_SLOTS, n->processes)); /* HOST */
    return weft_arena_size(n->room > least ? n->room : least);
}

struct weft_image_layout weft_image_lay_out(const struct weft_image_numbers *n)
{
    struct weft_image_layout at;
    size_t end = 0;

    at.state = take_bytes(&end, sizeof(struct weft_state));
    at.processes = take_bytes(&end, n->processes * sizeof(struct weft_process_entry));
    at.windows = take_bytes(&end, n->windows * sizeof(struct weft_window));
    at.comms = take_bytes(&end, n->comms * sizeof(struct weft_comm_entry));
    at.lists = take_bytes(&end, n->here * LIST_WORDS * n->processes * sizeof(uint32_t));
    at.barriers = take_bytes(&end, n->here * n->comms * sizeof(uint32_t));
    at.room = take_bytes(&end, room_of(n));
    at.bytes = end;
    return at;
}

static struct weft_image_numbers numbers_of(const struct weft_job *job)
{
    return (struct weft_image_numbers){.ranks = (size_t)job->numbers.ranks,
                                       .here = (size_t)job->numbers.ranks_here,
                                       .processes = (size_t)job->numbers.processes,
                                       .windows = job->space.state.windows_count,
                                       .comms = job->space.state.comms_count,
                                       .room = (size_t)job->config.tables};
}

/* One more block, of which the arena gets what lies behind `first`. */
static weft_status add_block(struct weft_job *job, size_t bytes, size_t first, bool running)
{
    struct weft_image *image = job->ranks.image;
    struct weft_image_block *block = calloc(1, sizeof(*block));

    if (block == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory to manage %zu bytes", bytes);
    block->memory = (running ? job->device_ops->alloc_running
                             : job->device_ops->alloc)(job->device, bytes, &block->share);
    if (block->memory == NULL) {
        free(block);
        return WEFT_ERR_MEMORY;
    }
    block->next = image->blocks;
    image->blocks = block;
    return weft_arena_add(&image->arena, block->memory + first, bytes - first);
}

/* Nothing after a failure. The source stays until `finish` returns. */
static void write(struct weft_job *job, weft_status *status, void *target, const void *source,
                  size_t bytes)
{
    if (*status == WEFT_OK)
        *status = job->device_ops->copy(job->device, WEFT_STREAM_TABLES, target, source, bytes);
}

static weft_status finish(struct weft_job *job, weft_status status)
{
    return status == WEFT_OK ? job->device_ops->wait(job->device, WEFT_STREAM_TABLES) : status;
}

static weft_status write_state(struct weft_job *job)
{
    const struct weft_image *image = job->ranks.image;
    const size_t n = (size_t)job->numbers.processes;
    struct weft_process_entry *table = calloc(n, sizeof(*table));
    struct weft_state state = job->space.state;
    weft_status status = WEFT_OK;

    if (table == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for %zu processes", n);
    for (size_t p = 0; p < n; p++) {
        table[p] = state.process_table[p];
        table[p].exposed = image->peers[p].exposed;
    }
    state.process_table = at(image, image->at.processes);
    state.exposed = image->exposed;
    state.start_here = (uint32_t)job->config.counter_start;
    state.start_others = 2 * state.start_here; /* host words start like the others */
    state.windows = at(image, image->at.windows);
    state.comms = at(image, image->at.comms);
    state.nic_counts = weft_queues_words(job);
    state.copy = NULL;
    state.update = NULL;
    state.copy_context = NULL;
    write(job, &status, state.process_table, table, n * sizeof(*table));
    write(job, &status, at(image, image->at.state), &state, sizeof(state));
    status = finish(job, status);
    free(table);
    return status;
}

/* What exists before the kernel: two of ranks, and all that host programs have made. */
static void write_tables(struct weft_job *job)
{
    const struct weft_state *state = &job->space.state;

    for (uint32_t i = 1; i < state->comms_count; i++)
        if (state->comms[i].handle != WEFT_COMM_NONE)
            weft_image_comm(job, state->comms[i].handle);
    for (uint32_t i = 1; i < state->windows_count; i++)
        if (state->windows[i].handle != WEFT_WIN_NONE)
            weft_image_window(job, state->windows[i].handle);
}

weft_status weft_image_prepare(struct weft_job *job)
{
    struct weft_image *image = job->ranks.image;

    if (image == NULL)
        return WEFT_OK;
    const struct weft_image_numbers numbers = numbers_of(job);
    drop_tables(job);
    memset(image->ranges, 0, (numbers.windows + numbers.comms) * sizeof(*image->ranges));
    image->at = weft_image_lay_out(&numbers);
    weft_status status = add_block(job, image->at.bytes, image->at.room, false);
    if (status != WEFT_OK)
        return status;
    image->memory = image->blocks->memory;
    image->seen = job->device_ops->host_alloc(job->device, (numbers.here + 1) * WEFT_TAGS *
                                                               sizeof(*image->seen));
    if (image->seen == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for the counters of %zu ranks", numbers.here);
    const size_t words =
        (size_t)job->numbers.ranks_here * LIST_WORDS * (size_t)job->numbers.processes;
    status = job->device_ops->fill(job->device, WEFT_STREAM_TABLES, at(image, image->at.lists),
                                   (uint32_t)job->config.counter_start, words);
    if (status == WEFT_OK)
        status = write_state(job);
    write_tables(job);
    return status;
}

void weft_image_place(struct weft_job *job, weft_self *self)
{
    const struct weft_image *image = job->ranks.image;
    const size_t rank = self->slot - 1, processes = (size_t)job->numbers.processes;
    uint32_t *barriers;

    if (image == NULL || self->slot == WEFT_HOST_SLOT)
        return;
    uint64_t *const lists = at(image, image->at.lists);
    barriers = at(image, image->at.barriers);
    self->state = at(image, image->at.state);
    self->counters = image->exposed->counters;
    self->sent_to = lists + rank * 3 * processes;
    self->asked = self->sent_to + processes;
    self->answered = self->asked + processes;
    self->settled =
        (uint32_t *)(lists + (size_t)job->numbers.ranks_here * 3 * processes) + rank * processes;
    self->barriers = barriers + rank * job->space.state.comms_count;
}

/* ---- a run ---- */

weft_status weft_image_reset(struct weft_job *job)
{
    const uint32_t start = (uint32_t)job->config.counter_start;
    const uint32_t comms = job->space.state.comms_count;
    const size_t tags = (size_t)job->ranks.slots * WEFT_TAGS, barriers = comms * WEFT_BARRIER_WORDS;
    const size_t words = sizeof(struct weft_counter) / sizeof(uint32_t);
    struct weft_image *image = job->ranks.image;
    weft_status status = WEFT_OK;

    if (image == NULL)
        return WEFT_OK;
    const struct {
        void *memory;
        uint32_t value;
        size_t words;
    } fills[] = {
        {image->exposed->counters, start, tags * words},
        {image->exposed->counters + WEFT_BARRIER_AT, start, barriers * words},
        {at(image, image->at.barriers), 0, (size_t)job->numbers.ranks_here * comms},
        {&image->exposed->channels_taken, 0, 1},
        {weft_channel_area(&job->space.state, image->exposed), 0,
         weft_channels_bytes(WEFT_SLOTS, job->space.state.channels) / 4},
    };
    for (size_t i = 0; i < sizeof(fills) / sizeof(fills[0]) && status == WEFT_OK; i++)
        status = job->device_ops->fill(job->device, WEFT_STREAM_CALLER, fills[i].memory,
                                       fills[i].value, fills[i].words);
    if (status == WEFT_OK)
        status = job->device_ops->wait(job->device, WEFT_STREAM_CALLER);
    for (size_t i = 0; i < tags; i++)
        image->counts[i] = start;
    for (size_t i = 0; i < barriers; i++)
        image->counts[WEFT_BARRIER_AT + i] = start;
    return status;
}

const struct weft_counter *weft_image_counters(struct weft_job *job)
{
    const struct weft_image *image = job->ranks.image;
    const size_t bytes = (size_t)job->ranks.slots * WEFT_TAGS * sizeof(*image->seen);

    if (image == NULL)
        return job->space.state.exposed->counters;
    if (job->queues != NULL ||
        weft_job_copy(job, image->seen, image->exposed->counters, bytes) != WEFT_OK)
        return NULL;
    return image->seen;
}

void weft_image_count(struct weft_job *job, uint32_t index)
{
    struct weft_image *image = job->ranks.image;
    const uint32_t group = index < WEFT_BARRIER_AT ? 1 + index / WEFT_TAGS : 0; /* the rank */
    const weft_status status = job->device_ops->store(job->device, WEFT_STREAM_RECEIVE,
                                                      &image->exposed->counters[index].host,
                                                      ++image->counts[index], group);
    if (status != WEFT_OK)
        weft_job_cannot(job, status, "count a notification");
}

/* ---- entries of the tables ---- */

/* A communicator is gone: its barrier words begin anew. */
static weft_status clear_words(struct weft_job *job, uint32_t index)
{
    const uint32_t start = (uint32_t)job->config.counter_start;
    const size_t first = WEFT_BARRIER_AT + index * WEFT_BARRIER_WORDS;
    struct weft_image *image = job->ranks.image;

    for (size_t i = 0; i < WEFT_BARRIER_WORDS; i++)
        image->counts[first + i] = start;
    return job->device_ops->fill(job->device, WEFT_STREAM_TABLES,
                                 &image->exposed->counters[first].peer, start,
                                 WEFT_BARRIER_WORDS * sizeof(struct weft_counter) / 4);
}

/* Memory of an entry (its index in ranges); NULL: there is none, and the job has failed. */
static void *range_of(struct weft_job *job, uint32_t index, size_t bytes, const char *what,
                      int32_t members)
{
    struct weft_image *image = job->ranks.image;
    const bool can = job->device_ops->alloc_running != NULL;
    const size_t had = image->arena.bytes; /* more than any entry takes */

    image->ranges[index] = weft_arena_take(&image->arena, bytes);
    if (image->ranges[index] != NULL)
        return image->ranges[index];
    if (can && add_block(job, had, 0, true) == WEFT_OK) {
        weft_say(WEFT_SAY_INFO,
                 "process %d: the tables of windows and communicators grow from %zu to %zu bytes "
                 "of device memory (WEFT_TABLES)",
                 job->numbers.process, had, image->arena.bytes);
        return image->ranges[index] = weft_arena_take(&image->arena, bytes);
    }
    weft_job_fail(job, WEFT_ERR_LIMIT,
                  "process %d: no room for a %s of %d ranks: of %zu bytes for windows and "
                  "communicators %zu are taken, and while a kernel runs the device has no more "
                  "(%s): set WEFT_TABLES to %zu or more, or free some",
                  job->numbers.process, what, members, had, image->arena.taken,
                  can ? weft_err_last() : "it cannot", 2 * had);
    return NULL;
}

/* An entry is written; what a freed one had is free now that ranks see it no more. */
static void conclude(struct weft_job *job, weft_status status, uint32_t index, bool freed)
{
    struct weft_image *image = job->ranks.image;

    status = finish(job, status);
    if (status != WEFT_OK)
        weft_job_cannot(job, status, "write to its device");
    if (!freed)
        return;
    weft_arena_give(&image->arena, image->ranges[index]);
    image->ranges[index] = NULL;
}

void weft_image_comm(struct weft_job *job, weft_comm comm)
{
    const uint32_t index = weft_handle_index(comm), range = job->space.state.windows_count + index;
    const struct weft_comm_entry *entry = &job->space.state.comms[index];
    const struct weft_image *image = job->ranks.image;
    const bool freed = entry->handle == WEFT_COMM_NONE;
    struct weft_comm_entry there = *entry;
    weft_status status = WEFT_OK;

    if (image == NULL || image->memory == NULL)
        return;
    if (freed) {
        status = clear_words(job, index);
    } else {
        const size_t bytes =
            weft_comm_bytes((size_t)entry->members, entry->slots, (size_t)job->numbers.processes);
        void *lists = range_of(job, range, bytes, "communicator", entry->members);
        if (lists == NULL)
            return;
        weft_comm_place(&there, lists, (size_t)job->numbers.processes);
        write(job, &status, lists, entry->member, bytes);
    }
    write(job, &status, at(image, image->at.comms + index * sizeof(there)), &there, sizeof(there));
    conclude(job, status, range, freed);
}

void weft_image_window(struct weft_job *job, weft_win win)
{
    const uint32_t index = weft_handle_index(win);
    const struct weft_window *window = &job->space.state.windows[index];
    const struct weft_image *image = job->ranks.image;
    const bool freed = window->handle == WEFT_WIN_NONE;
    struct weft_window there = *window;
    weft_status status = WEFT_OK;

    if (image == NULL || image->memory == NULL)
        return;
    if (!freed) {
        const size_t members = (size_t)window->members;
        there.entry =
            range_of(job, index, weft_image_window_bytes(members), "window", window->members);
        if (there.entry == NULL)
            return;
        const struct weft_member *first =
            job->space.state.comms[weft_handle_index(window->comm)].member;
        there.member =
            image->ranges[job->space.state.windows_count + weft_handle_index(window->comm)];
        there.member += window->member - first; /* of an exposure: one of them */
        write(job, &status, there.entry, window->entry, members * sizeof(*window->entry));
    }
    write(job, &status, at(image, image->at.windows + index * sizeof(there)), &there,
          sizeof(there));
    conclude(job, status, index, freed);
}
