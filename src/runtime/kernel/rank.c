/* runtime/kernel/rank.c - what the host keeps for each rank: its state, its rings, its link. Runs
 * in the thread that prepares or starts the kernel, while no rank runs; the job owns all of it. */
#include "runtime/job/job.h"

#include "base/say.h"
#include "rank/counter.h"
#include "runtime/gda/queues.h"
#include "runtime/space/image.h"
#include "runtime/trace/timeline.h"

#include <stdlib.h>
#include <string.h>

/* The rings, the link with a word a process, the wait, and the rank's own lists. */
struct rank_memory {
    size_t logs, link, waiting, sent_to, settled, barriers, all;
};

static struct rank_memory layout(const struct weft_job *job)
{
    const size_t processes = (size_t)job->numbers.processes;
    struct rank_memory m = {0};

    m.logs = (size_t)job->config.command_ring * sizeof(struct weft_line);
    m.link = m.logs + WEFT_LOG_LINES * sizeof(struct weft_line);
    m.waiting = m.link + sizeof(struct weft_link) + 3 * processes * sizeof(uint32_t);
    m.waiting = (m.waiting + 63) / 64 * 64; /* the host writes the link, the rank what follows */
    m.sent_to = (m.waiting + sizeof(struct weft_waiting) + 63) / 64 * 64;
    m.settled = m.sent_to + 3 * processes * sizeof(uint64_t); /* asked and answered, too */
    m.barriers = m.settled + processes * sizeof(uint32_t);
    m.all = m.barriers + job->space.state.comms_count * sizeof(uint32_t);
    return m;
}

size_t weft_rank_bytes(const struct weft_job *job)
{
    return (layout(job).all + 63) / 64 * 64;
}

/* Both ends of a ring of commands. */
static void make_ring(struct weft_line *lines, uint32_t depth, uint32_t start, uint32_t *credit,
                      struct weft_command_producer *producer,
                      struct weft_command_consumer *consumer)
{
    weft_command_ring_init(lines, depth, start, credit);
    *producer = (struct weft_command_producer){
        .lines = lines, .credit = credit, .depth = depth, .head = start, .seen = start};
    *consumer = (struct weft_command_consumer){
        .lines = lines, .credit = credit, .depth = depth, .tail = start};
}

void weft_rank_make(struct weft_job *job, uint32_t slot, weft_self *self, unsigned char *memory)
{
    const struct rank_memory m = layout(job);
    const uint32_t start = (uint32_t)job->config.counter_start;
    struct weft_rank_proxy *proxy = &job->proxy.of_ranks[slot];
    struct weft_said *said = &job->space.state.signals->said[slot];

    memset(self, 0, sizeof(*self));
    self->state = &job->space.state;
    self->counters = job->space.state.exposed->counters;
    self->process = job->numbers.process;
    self->inline_bytes = job->space.state.inline_bytes;
    self->slot = slot;
    self->rank = slot == WEFT_HOST_SLOT ? -1 : job->numbers.first_rank + (int)slot - 1;
    self->link = (struct weft_link *)(void *)(memory + m.link);
    self->waiting = (struct weft_waiting *)(void *)(memory + m.waiting);
    self->sent_to = (uint64_t *)(void *)(memory + m.sent_to);
    self->asked = self->sent_to + job->numbers.processes;
    self->answered = self->asked + job->numbers.processes;
    self->settled = (uint32_t *)(void *)(memory + m.settled);
    self->barriers = (uint32_t *)(void *)(memory + m.barriers);
    self->exchange = job->ranks.exchange;
    self->exchange_bytes = job->ranks.exchange_bytes;
    self->sent = self->local_done = self->link->done_local = self->link->delivered = start;
    self->replies = self->link->reply = self->asks = self->link->answers = start;
    self->op_stamp = (uint8_t)(job->number * 37 + (uint32_t)job->numbers.first_rank + slot);
    for (int p = 0; p < job->numbers.processes; p++) {
        self->sent_to[p] = self->asked[p] = self->answered[p] = (uint64_t)start << 32 | start;
        self->settled[p] = start;
    }
    for (int p = 0; p < 3 * job->numbers.processes; p++)
        self->link->done_remote[p] = start;

    *proxy = (struct weft_rank_proxy){0};
    make_ring((struct weft_line *)(void *)memory, (uint32_t)job->config.command_ring, start,
              &self->link->credit, &self->commands, &proxy->commands);
    make_ring((struct weft_line *)(void *)(memory + m.logs), WEFT_LOG_LINES, start, &said->heard,
              &self->logs, &proxy->logs);
    said->lines = start;
    job->ranks.selves[slot] = self;
    weft_queues_place(job, self);
    weft_image_place(job, self);
    weft_trace_place(job, self);
    weft_rank_reset(job, slot);
}

void weft_rank_reset(struct weft_job *job, uint32_t slot)
{
    weft_self *self = job->ranks.selves[slot];
    const struct weft_counter *counters = job->space.state.exposed->counters;
    const bool image = job->ranks.image != NULL && slot != WEFT_HOST_SLOT;

    if (!image) { /* else the rank does it, when it begins */
        memset(self->meeting, 0, offsetof(weft_self, consumed) - offsetof(weft_self, meeting));
        for (uint32_t tag = 0; tag < WEFT_TAGS; tag++)
            self->consumed[tag] = weft_count_read_quiet(counters + weft_count_index(slot, tag));
        memset(self->barriers, 0, job->space.state.comms_count * sizeof(*self->barriers));
    }
    __atomic_store_n(&self->waiting->kind, WEFT_WAIT_NONE, __ATOMIC_RELAXED);
    self->failure = WEFT_OK;
    self->batches = self->held = self->unrung = 0;
    self->shared_bytes = job->ranks.shared_bytes;
    self->intervals_count = 0;
    self->eager_bytes =
        slot != WEFT_HOST_SLOT && job->space.state.channels != 0 ? job->space.state.eager_bytes : 0;
    self->waits = self->queues != NULL                                   ? WEFT_WAITS_BY_NIC
                  : self->eager_bytes != 0 && job->numbers.threads >= 32 ? WEFT_WAITS_BY_WARP
                                                                         : WEFT_WAITS_ALONE;
    if (self->tracer.alias != 0)
        self->waits |= WEFT_WAITS_TRACED;
    self->port =
        (struct weft_port){.host = slot == WEFT_HOST_SLOT, .bell = &job->space.state.exposed->bell};
}

bool weft_rank_quiet(const struct weft_job *job, uint32_t slot)
{
    const weft_self *self = job->ranks.selves[slot];

    return weft_load_acquire_u32(&self->link->credit, ORDER_command_space) == self->commands.head &&
           weft_load_acquire_u32(self->logs.credit, ORDER_command_space) == self->logs.head &&
           weft_load_acquire_u32(&self->link->delivered, ORDER_done_remote_seen) == self->sent &&
           weft_load_acquire_u32(&self->link->answers, ORDER_answer_seen) == self->asks;
}

/* Of a rank that runs, for the watchdog: what it changes meanwhile may be read early or late. */
__attribute__((no_sanitize("thread"))) uint32_t weft_rank_left(const struct weft_job *job,
                                                               const struct weft_counter *counters,
                                                               uint32_t slot, uint32_t tag)
{
    const struct weft_state *state = &job->space.state;
    const uint32_t index = weft_count_index(slot, tag);
    const uint64_t nic = index < state->nic_counts ? weft_load_relaxed_u64(&state->nic[index]) : 0;

    return weft_count_read_quiet(&counters[index]) + (uint32_t)nic -
           job->ranks.selves[slot]->consumed[tag];
}

void weft_ranks_left(struct weft_job *job)
{
    const struct weft_counter *const counters = weft_image_counters(job);
    uint32_t first = 0, of_first = 0;
    unsigned long long all = 0;

    if (counters == NULL)
        return;
    for (uint32_t slot = 1; slot < job->ranks.slots; slot++)
        for (uint32_t tag = 0; tag < WEFT_TAGS; tag++) {
            const uint32_t left = weft_rank_left(job, counters, slot, tag);
            if (all == 0 && left != 0) {
                first = weft_count_index(slot, tag);
                of_first = left;
            }
            all += left;
        }
    if (all != 0)
        weft_say(WEFT_SAY_WARN,
                 "kernel %s ended with %llu notification%s that nobody waited for; rank %d had %u "
                 "of tag %u: does a weft_wait wait for too few?",
                 job->ranks.kernel->name, all, all == 1 ? "" : "s",
                 job->numbers.first_rank + (int)(first / WEFT_TAGS) - 1, of_first,
                 first % WEFT_TAGS);
}
