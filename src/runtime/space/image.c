/* runtime/space/image.c - see the header. Entries change under the table lock; weft_image_count is
 * the receive task's. */
#include "runtime/space/image.h"

#include "base/say.h"
#include "runtime/gda/queues.h"
#include "runtime/space/left.h"
#include "runtime/space/tables.h"

#include <stdlib.h>

enum {
    LINE = 64,     /* bytes: what lies in the image begins at a multiple */
    LIST_WORDS = 7 /* words of a rank for a process: sent_to, asked, answered 2 each; settled 1 */
};

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
    image = job->ranks.image = weft_job_keep(job, 1, sizeof(*image));
    if (image == NULL)
        return WEFT_ERR_MEMORY;
    image->peers = weft_job_keep(job, n, sizeof(*image->peers));
    image->counts = weft_job_keep(job, counters, sizeof(*image->counts));
    image->exposed = job->device_ops->alloc(
        job->device, weft_exposed_bytes(&job->space.state, counters, true), &image->exposed_share);
    if (image->peers == NULL || image->counts == NULL || image->exposed == NULL)
        return WEFT_ERR_MEMORY;
    image->peers[job->numbers.process].exposed = image->exposed;
    return WEFT_OK;
}

static void drop_tables(struct weft_job *job)
{
    struct weft_image *image = job->ranks.image;

    weft_job_host_free(job, image->seen);
    image->seen = NULL;
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
    job->device_ops->unload(job->device, &image->left);
}

/* ---- the tables of a kernel ---- */

static size_t whole_lines(size_t bytes)
{
    return (bytes + LINE - 1) / LINE * LINE;
}

static size_t take_bytes(size_t *end, size_t bytes)
{
    const size_t offset = *end;
    *end += whole_lines(bytes);
    return offset;
}

/* Bytes of a communicator of so many ranks, or, if that is more, of so many host programs. */
static size_t members_bytes(const struct weft_job *job, size_t ranks, size_t hosts)
{
    const size_t processes = (size_t)job->numbers.processes;
    const size_t a = weft_comm_bytes(ranks, (size_t)job->numbers.ranks_here + 1, processes);
    const size_t b = weft_comm_bytes(hosts, WEFT_SLOTS, processes);

    return whole_lines(a > b ? a : b);
}

/* Every window and communicator that there may be has a place of its own, as large as the largest:
 * one of all ranks or, of those of one process, of its ranks. */
static struct weft_image_layout lay_out(const struct weft_job *job)
{
    const size_t here = (size_t)job->numbers.ranks_here, processes = (size_t)job->numbers.processes;
    const size_t ranks = (size_t)job->numbers.ranks, entry = sizeof(struct weft_window_entry);
    const size_t windows = job->space.state.windows_count, comms = job->space.state.comms_count;
    struct weft_image_layout at = {
        .entries_each = {whole_lines(ranks * entry), whole_lines(here * entry)},
        .members_each = {members_bytes(job, ranks, processes), members_bytes(job, here, 1)}};
    size_t end = 0;

    at.state = take_bytes(&end, sizeof(struct weft_state));
    at.processes = take_bytes(&end, processes * sizeof(struct weft_process_entry));
    at.windows = take_bytes(&end, windows * sizeof(struct weft_window));
    at.comms = take_bytes(&end, comms * sizeof(struct weft_comm_entry));
    at.entries = take_bytes(&end, (windows / 2 + 1) * (at.entries_each[0] + at.entries_each[1]));
    at.members = take_bytes(&end, (comms / 2 + 1) * (at.members_each[0] + at.members_each[1]));
    at.lists = take_bytes(&end, here * LIST_WORDS * processes * sizeof(uint32_t));
    at.barriers = take_bytes(&end, here * comms * sizeof(uint32_t));
    at.bytes = end;
    return at;
}

/* Finds the place of an index, in a table of so many (tables.h: which are shared). */
static void *place_of(const struct weft_image *image, size_t first, const size_t each[2],
                      uint32_t count, uint32_t index)
{
    const uint32_t local = weft_tables_local(count);
    const size_t offset =
        index < local ? index * each[0] : local * each[0] + (index - local) * each[1];

    return at(image, first + offset);
}

static void *members_of(const struct weft_job *job, weft_comm comm)
{
    const struct weft_image *image = job->ranks.image;
    return place_of(image, image->at.members, image->at.members_each, job->space.state.comms_count,
                    weft_handle_index(comm));
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
    WEFT_TRY(status);
    return job->device_ops->wait(job->device, WEFT_STREAM_TABLES);
}

static weft_status write_state(struct weft_job *job)
{
    const struct weft_image *image = job->ranks.image;
    const size_t n = (size_t)job->numbers.processes;
    WEFT_FREED struct weft_process_entry *table = calloc(n, sizeof(*table));
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
    return finish(job, status);
}

/* Writes what exists before the kernel: two of ranks, and all that host programs have made. */
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
    drop_tables(job);
    image->at = lay_out(job);
    image->memory = job->device_ops->alloc(job->device, image->at.bytes, &image->share);
    if (image->memory == NULL)
        return WEFT_ERR_MEMORY;
    const size_t slots = (size_t)job->numbers.ranks_here + 1;
    image->seen = job->device_ops->host_alloc(
        job->device, sizeof(*image->seen) + slots * WEFT_TAGS * sizeof(image->seen->counters[0]) +
                         weft_queues_words(job) * sizeof(uint64_t));
    if (image->seen == NULL)
        return WEFT_ERR_MEMORY;
    const size_t words =
        (size_t)job->numbers.ranks_here * LIST_WORDS * (size_t)job->numbers.processes;
    WEFT_TRY(job->device_ops->fill(job->device, WEFT_STREAM_TABLES, at(image, image->at.lists),
                                   (uint32_t)job->config.counter_start, words));
    WEFT_TRY(write_state(job));
    write_tables(job);
    weft_store_relaxed_u32(&image->dirty, 1);
    return weft_image_look(job); /* so that its launch after a run is not the first */
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
    self->none = weft_image_none(job);
    for (uint32_t tag = 0; tag < WEFT_TAGS; tag++) /* the host's copy stays so */
        self->consumed[tag] = self->none;
}

/* ---- a run ---- */

weft_status weft_image_reset(struct weft_job *job)
{
    const uint32_t start = (uint32_t)job->config.counter_start;
    const uint32_t comms = job->space.state.comms_count;
    const size_t tags = (size_t)job->ranks.slots * WEFT_TAGS, barriers = comms * WEFT_BARRIER_WORDS;
    const size_t words = sizeof(struct weft_counter) / sizeof(uint32_t);
    struct weft_image *image = job->ranks.image;

    if (image == NULL)
        return WEFT_OK;
    const uint32_t n = job->space.state.channels;
    const uint32_t taken = image->seen->taken < n ? image->seen->taken : n;
    const bool all = weft_load_relaxed_u32(&image->dirty) != 0;
    unsigned char *const area = weft_channel_area(&job->space.state, image->exposed);
    const struct {
        void *memory;
        uint32_t value;
        size_t words;
    } fills[] = {
        {image->exposed->counters, start, all ? tags * words : 0},
        {image->exposed->counters + WEFT_BARRIER_AT, start, barriers * words},
        {at(image, image->at.barriers), 0, (size_t)job->numbers.ranks_here * comms},
        {&image->exposed->channels_taken, 0, taken != 0},
        {weft_channels_box(area, 0), 0, taken != 0 ? WEFT_SLOTS * sizeof(struct weft_box) / 4 : 0},
        {weft_channels_control(area, WEFT_SLOTS, 0), 0, taken * sizeof(struct weft_channel) / 4},
        {weft_channels_ring(area, WEFT_SLOTS, n, 0), 0,
         taken * WEFT_RING_LINES * sizeof(struct weft_ring_line) / 4},
    };
    if (all)
        weft_store_relaxed_u32(&image->dirty, 0);
    for (size_t i = 0; i < sizeof(fills) / sizeof(fills[0]); i++)
        if (fills[i].words != 0)
            WEFT_TRY(job->device_ops->fill(job->device, WEFT_STREAM_CALLER, fills[i].memory,
                                           fills[i].value, fills[i].words));
    WEFT_TRY(job->device_ops->wait(job->device, WEFT_STREAM_CALLER));
    for (size_t i = 0; all && i < tags; i++)
        image->counts[i] = start;
    for (size_t i = 0; i < barriers; i++)
        image->counts[WEFT_BARRIER_AT + i] = start;
    return WEFT_OK;
}

void weft_image_count(struct weft_job *job, uint32_t index)
{
    struct weft_image *image = job->ranks.image;
    const uint32_t group = index < WEFT_BARRIER_AT ? 1 + index / WEFT_TAGS : 0; /* the rank */
    if (group != 0)
        weft_store_relaxed_u32(&image->dirty, 1);
    const weft_status status = job->device_ops->store(job->device, WEFT_STREAM_RECEIVE,
                                                      &image->exposed->counters[index].host,
                                                      ++image->counts[index], group);
    if (status != WEFT_OK)
        weft_job_cannot(job, status, "count a notification");
}

/* ---- entries of the tables ---- */

/* Clears the barrier words of a communicator that is gone. */
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

static void conclude(struct weft_job *job, weft_status status)
{
    status = finish(job, status);
    if (status != WEFT_OK)
        weft_job_cannot(job, status, "write to its device");
}

void weft_image_comm(struct weft_job *job, weft_comm comm)
{
    const uint32_t index = weft_handle_index(comm);
    const struct weft_comm_entry *entry = &job->space.state.comms[index];
    const struct weft_image *image = job->ranks.image;
    const size_t processes = (size_t)job->numbers.processes;
    struct weft_comm_entry there = *entry;
    weft_status status = WEFT_OK;

    if (image == NULL || image->memory == NULL)
        return;
    if (entry->handle == WEFT_COMM_NONE) {
        status = clear_words(job, index);
    } else {
        weft_comm_place(&there, members_of(job, comm), processes);
        write(job, &status, there.member, entry->member,
              weft_comm_bytes((size_t)entry->members, entry->slots, processes));
    }
    write(job, &status, at(image, image->at.comms + index * sizeof(there)), &there, sizeof(there));
    conclude(job, status);
}

void weft_image_window(struct weft_job *job, weft_win win)
{
    const struct weft_state *state = &job->space.state;
    const uint32_t index = weft_handle_index(win);
    const struct weft_window *window = &state->windows[index];
    const struct weft_image *image = job->ranks.image;
    struct weft_window there = *window;
    weft_status status = WEFT_OK;

    if (image == NULL || image->memory == NULL)
        return;
    if (window->handle != WEFT_WIN_NONE) {
        const struct weft_member *first = state->comms[weft_handle_index(window->comm)].member;
        there.entry =
            place_of(image, image->at.entries, image->at.entries_each, state->windows_count, index);
        there.member = members_of(job, window->comm);
        there.member += window->member - first; /* of an exposure: one of them */
        write(job, &status, there.entry, window->entry,
              (size_t)window->members * sizeof(*window->entry));
    }
    write(job, &status, at(image, image->at.windows + index * sizeof(there)), &there,
          sizeof(there));
    conclude(job, status);
}
