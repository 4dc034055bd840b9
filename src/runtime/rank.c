/* runtime/rank.c - what the host keeps for each rank: its state, its command ring, its link. */
#include "runtime/job.h"

#include "base/say.h"
#include "window/counter.h"

#include <stdlib.h>
#include <string.h>

/* One allocation: the ring, the link with a word a process, and the rank's own lists. */
struct rank_memory {
    size_t ring, link, sent_to, settled, barriers, all;
};

static struct rank_memory layout(const struct weft_job *job)
{
    const size_t processes = (size_t)job->numbers.processes;
    struct rank_memory m = {0};

    m.link = (size_t)job->config.command_ring * sizeof(struct weft_line);
    m.sent_to = m.link + sizeof(struct weft_link) + processes * sizeof(uint32_t);
    m.sent_to = (m.sent_to + 63) / 64 * 64; /* the host writes the link, the rank what follows */
    m.settled = m.sent_to + processes * sizeof(uint32_t);
    m.barriers = m.settled + processes * sizeof(uint32_t);
    m.all = m.barriers + job->state.comms_count * sizeof(uint32_t);
    return m;
}

weft_status weft_rank_make(struct weft_job *job, uint32_t slot, weft_self *self)
{
    const struct rank_memory m = layout(job);
    const uint32_t start = (uint32_t)job->config.counter_start;
    const uint32_t depth = (uint32_t)job->config.command_ring;
    unsigned char *memory = aligned_alloc(64, (m.all + 63) / 64 * 64);

    if (memory == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no %zu bytes for a rank", m.all);
    memset(memory, 0, m.all);
    memset(self, 0, sizeof(*self));
    self->state = &job->state;
    self->slot = slot;
    self->rank = slot == WEFT_HOST_SLOT ? -1 : job->numbers.first_rank + (int)slot - 1;
    self->link = (struct weft_link *)(void *)(memory + m.link);
    self->sent_to = (uint32_t *)(void *)(memory + m.sent_to);
    self->settled = (uint32_t *)(void *)(memory + m.settled);
    self->barriers = (uint32_t *)(void *)(memory + m.barriers);
    self->sent = self->link->done_local = start;
    self->replies = self->link->reply = start;
    for (int p = 0; p < job->numbers.processes; p++)
        self->sent_to[p] = self->settled[p] = self->link->done_remote[p] = start;

    struct weft_line *lines = (struct weft_line *)(void *)memory;
    weft_command_ring_init(lines, depth, start, &self->link->credit);
    self->commands = (struct weft_command_producer){.lines = lines,
                                                    .credit = &self->link->credit,
                                                    .depth = depth,
                                                    .head = start,
                                                    .seen = start};
    job->managers[slot] = (struct weft_manager){
        .commands = {.lines = lines, .credit = &self->link->credit, .depth = depth, .tail = start}};
    job->selves[slot] = self;
    weft_rank_reset(job, slot);
    return WEFT_OK;
}

void weft_rank_reset(struct weft_job *job, uint32_t slot)
{
    weft_self *self = job->selves[slot];

    for (uint32_t tag = 0; tag < WEFT_TAGS; tag++)
        self->consumed[tag] = weft_count_read_quiet(&job->state, weft_count_index(slot, tag));
    memset(self->barriers, 0, job->state.comms_count * sizeof(*self->barriers));
    self->failure = WEFT_OK;
    self->port =
        (struct weft_port){.host = slot == WEFT_HOST_SLOT, .bell = &job->state.exposed->bell};
}

bool weft_rank_quiet(const struct weft_job *job, uint32_t slot)
{
    const weft_self *self = job->selves[slot];

    if (weft_load_acquire_u32(&self->link->credit, ORDER_command_space) != self->commands.head)
        return false;
    for (int p = 0; p < job->numbers.processes; p++)
        if (weft_load_acquire_u32(&self->link->done_remote[p], ORDER_done_remote_seen) !=
            self->sent_to[p])
            return false;
    return true;
}

void weft_rank_free(struct weft_job *job, uint32_t slot)
{
    if (job->selves[slot] != NULL)
        free(job->selves[slot]->commands.lines); /* the start of the rank's one allocation */
    job->selves[slot] = NULL;
}
