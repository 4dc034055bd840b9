/* runtime/space/image.c - see the header. */
#include "runtime/space/image.h"

#include "base/say.h"

#include <stdlib.h>
#include <string.h>

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
    image->exposed = job->device_ops->alloc(
        job->device, weft_exposed_bytes(&job->space.state, counters, true), &image->exposed_share);
    if (image->peers == NULL || image->counts == NULL || image->exposed == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for %zu counters", counters);
    image->peers[job->numbers.process].exposed = image->exposed;
    return WEFT_OK;
}

static void drop_tables(struct weft_job *job)
{
    struct weft_image *image = job->ranks.image;

    if (image->memory != NULL)
        job->device_ops->free(job->device, image->memory, &image->share);
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
    free(image);
    job->ranks.image = NULL;
}

/* ---- the tables of a kernel
 * ---------------------------------------------------------------------- */

static size_t take(size_t *end, size_t bytes)
{
    const size_t offset = *end;
    *end = (offset + bytes + 63) / 64 * 64;
    return offset;
}

static void lay_out(struct weft_job *job)
{
    const struct weft_state *state = &job->space.state;
    const size_t ranks = (size_t)job->numbers.ranks, here = (size_t)job->numbers.ranks_here;
    const size_t processes = (size_t)job->numbers.processes, windows = state->windows_count;
    const size_t comms = state->comms_count;
    struct weft_image *image = job->ranks.image;
    size_t end = 0;

    image->state = take(&end, sizeof(struct weft_state));
    image->processes = take(&end, processes * sizeof(struct weft_process_entry));
    image->windows = take(&end, windows * sizeof(struct weft_window));
    image->comms = take(&end, comms * sizeof(struct weft_comm_entry));
    image->entries = take(&end, windows * ranks * sizeof(struct weft_window_entry));
    image->members = take(&end, comms * ranks * sizeof(struct weft_member));
    image->leaders = take(&end, comms * processes * sizeof(int32_t));
    image->slots = take(&end, comms * (here + 1) * sizeof(int32_t));
    image->lists = take(&end, here * 2 * processes * sizeof(uint32_t));
    image->barriers = take(&end, here * comms * sizeof(uint32_t));
    image->bytes = end;
}

static weft_status write(struct weft_job *job, size_t offset, const void *source, size_t bytes)
{
    return job->device_ops->copy(job->device, WEFT_STREAM_TABLES, at(job->ranks.image, offset),
                                 source, bytes);
}

static weft_status write_processes(struct weft_job *job)
{
    const size_t n = (size_t)job->numbers.processes;
    struct weft_process_entry *table = calloc(n, sizeof(*table));

    if (table == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for %zu processes", n);
    for (size_t p = 0; p < n; p++) {
        table[p] = job->space.state.process_table[p];
        table[p].exposed = job->ranks.image->peers[p].exposed;
    }
    weft_status status = write(job, job->ranks.image->processes, table, n * sizeof(*table));
    if (status == WEFT_OK)
        status = job->device_ops->wait(job->device, WEFT_STREAM_TABLES);
    free(table);
    return status;
}

static weft_status write_state(struct weft_job *job)
{
    const struct weft_image *image = job->ranks.image;
    struct weft_state state = job->space.state;

    state.process_table = at(image, image->processes);
    state.exposed = image->exposed;
    state.start_here = (uint32_t)job->config.counter_start;
    state.start_others = 2 * state.start_here; /* host words start like the others */
    state.windows = at(image, image->windows);
    state.comms = at(image, image->comms);
    state.copy = NULL;
    state.copy_context = NULL;
    weft_status status = write(job, image->state, &state, sizeof(state));
    if (status == WEFT_OK)
        status = job->device_ops->wait(job->device, WEFT_STREAM_TABLES);
    return status;
}

weft_status weft_image_prepare(struct weft_job *job)
{
    struct weft_image *image = job->ranks.image;

    if (image == NULL)
        return WEFT_OK;
    drop_tables(job);
    lay_out(job);
    image->memory = job->device_ops->alloc(job->device, image->bytes, &image->share);
    if (image->memory == NULL)
        return WEFT_ERR_MEMORY;
    const size_t words = (size_t)job->numbers.ranks_here * 2 * (size_t)job->numbers.processes;
    weft_status status =
        job->device_ops->fill(job->device, WEFT_STREAM_TABLES, at(image, image->lists),
                              (uint32_t)job->config.counter_start, words);
    if (status == WEFT_OK)
        status = write_processes(job);
    if (status == WEFT_OK)
        status = write_state(job);
    weft_image_comm(job, WEFT_COMM_WORLD);
    weft_image_comm(job, WEFT_COMM_DEVICE);
    return status;
}

void weft_image_place(struct weft_job *job, weft_self *self)
{
    const struct weft_image *image = job->ranks.image;
    const size_t rank = self->slot - 1, processes = (size_t)job->numbers.processes;
    uint32_t *lists, *barriers;

    if (image == NULL || self->slot == WEFT_HOST_SLOT)
        return;
    lists = at(image, image->lists);
    barriers = at(image, image->barriers);
    self->state = at(image, image->state);
    self->counters = image->exposed->counters;
    self->sent_to = lists + rank * 2 * processes;
    self->settled = self->sent_to + processes;
    self->barriers = barriers + rank * job->space.state.comms_count;
}

/* ---- a run
 * ---------------------------------------------------------------------------------------- */

weft_status weft_image_reset(struct weft_job *job)
{
    const uint32_t start = (uint32_t)job->config.counter_start;
    const uint32_t comms = job->space.state.comms_count;
    const size_t tags = (size_t)(job->ranks.slots) * WEFT_TAGS,
                 barriers = comms * WEFT_BARRIER_WORDS;
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
        {at(image, image->barriers), 0, (size_t)job->numbers.ranks_here * comms},
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

void weft_image_count(struct weft_job *job, uint32_t index)
{
    struct weft_image *image = job->ranks.image;
    const weft_status status =
        job->device_ops->store(job->device, WEFT_STREAM_RECEIVE,
                               &image->exposed->counters[index].host, ++image->counts[index]);
    if (status != WEFT_OK)
        weft_job_fail(job, status, "process %d cannot count a notification: %s",
                      job->numbers.process, weft_err_last());
}

/* ---- entries of the tables
 * ------------------------------------------------------------------------- */

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

static void finish(struct weft_job *job, weft_status status)
{
    if (status == WEFT_OK)
        status = job->device_ops->wait(job->device, WEFT_STREAM_TABLES);
    if (status != WEFT_OK)
        weft_job_fail(job, status, "process %d cannot write to its device: %s",
                      job->numbers.process, weft_err_last());
}

void weft_image_comm(struct weft_job *job, weft_comm comm)
{
    const uint32_t index = weft_handle_index(comm);
    const struct weft_comm_entry *entry = &job->space.state.comms[index];
    const struct weft_image *image = job->ranks.image;

    if (image == NULL || image->memory == NULL || comm == WEFT_COMM_HOST)
        return;
    const size_t ranks = (size_t)job->numbers.ranks, slots = (size_t)job->numbers.ranks_here + 1;
    const size_t processes = (size_t)job->numbers.processes;
    const size_t member = image->members + index * ranks * sizeof(struct weft_member);
    const size_t slot = image->slots + index * slots * sizeof(int32_t);
    const size_t leader = image->leaders + index * processes * sizeof(int32_t);
    struct weft_comm_entry there = *entry;
    weft_status status = WEFT_OK;

    there.member = at(image, member);
    there.rank_of_slot = at(image, slot);
    there.leader = at(image, leader);
    if (entry->handle != WEFT_COMM_NONE) {
        status = write(job, member, entry->member, (size_t)entry->members * sizeof(*entry->member));
        if (status == WEFT_OK)
            status = write(job, slot, entry->rank_of_slot, slots * sizeof(int32_t));
        if (status == WEFT_OK)
            status = write(job, leader, entry->leader, (size_t)entry->leaders * sizeof(int32_t));
    } else {
        status = clear_words(job, index);
    }
    if (status == WEFT_OK)
        status = write(job, image->comms + index * sizeof(there), &there, sizeof(there));
    finish(job, status);
}

void weft_image_window(struct weft_job *job, weft_win win)
{
    const uint32_t index = weft_handle_index(win);
    const struct weft_window *window = &job->space.state.windows[index];
    const struct weft_image *image = job->ranks.image;

    if (image == NULL || image->memory == NULL || window->comm == WEFT_COMM_HOST)
        return;
    const size_t ranks = (size_t)job->numbers.ranks;
    const size_t entry = image->entries + index * ranks * sizeof(struct weft_window_entry);
    const size_t member =
        image->members + weft_handle_index(window->comm) * ranks * sizeof(struct weft_member);
    struct weft_window there = *window;
    weft_status status = WEFT_OK;

    there.entry = at(image, entry);
    there.member = at(image, member);
    if (window->handle != WEFT_WIN_NONE)
        status = write(job, entry, window->entry, (size_t)window->members * sizeof(*window->entry));
    if (status == WEFT_OK)
        status = write(job, image->windows + index * sizeof(there), &there, sizeof(there));
    finish(job, status);
}
