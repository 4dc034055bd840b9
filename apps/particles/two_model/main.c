/*
 * particles/two_model/main.c - the host of the two-model form: launches and exchanges.
 *
 * What exchange.h asks for holds: a list is sent to a neighbour when its segment has come, which it
 * sent after it had settled what was in the list before; a segment is sent when the neighbour's
 * list has come, which it sent after the kernel that read the segment before.
 */
#include "model.h"
#include "phases.h"
#include "problem.h"

struct problem {
    struct model_run run;
    struct particles_step step[2]; /* for even and for odd steps */
    uint32_t chunks;
};

/* After the arena that the layout describes. */
static size_t failure_offset(const struct problem *problem)
{
    return problem->step[0].store.layout.bytes;
}

static bool plan(void *state, size_t *bytes)
{
    struct problem *problem = state;
    struct model_run *run = &problem->run;
    struct particles_store *store = &problem->step[0].store;
    if (!particles_make_box(run->settings, run->process, run->processes, run->process == 0,
                            &store->box))
        return false;
    particles_divide(run->settings, store->box.rows, 0, &store->box); /* a segment is a row */
    store->box.boundaries = LISTS;
    store->layout = particles_layout_of(&store->box);
    problem->chunks = (store->box.capacity + run->threads - 1) / run->threads;
    *bytes = failure_offset(problem) + sizeof(*store->failure);
    store->arena = model_start(run, *bytes);
    return store->arena && particles_fill(run->settings, run->processes, store);
}

static bool place(void *state)
{
    struct problem *problem = state;
    struct particles_store *store = &problem->step[0].store;
    store->arena = problem->run.arena;
    store->count = (uint32_t *)(store->arena + store->layout.count);
    store->counted = 0;
    store->counted_end = particles_cells(&store->box);
    store->failure = (uint32_t *)(problem->run.arena + failure_offset(problem));
    problem->step[1] = problem->step[0];
    problem->step[1].parity = 1;
    return true;
}

/* Up and down, to and from both neighbours in the ring: the same order on both sides. */
static bool exchange_both(const struct problem *problem, const size_t from[2], const size_t to[2],
                          size_t bytes, int slot)
{
    struct message sends[2], receives[2];
    const int above = (problem->run.process + 1) % problem->run.processes;
    const int below = (problem->run.process + problem->run.processes - 1) % problem->run.processes;
    for (int way = UP; way <= DOWN; way++) {
        sends[way] = (struct message){.process = way == UP ? above : below,
                                      .slot = slot + way,
                                      .from = from[way],
                                      .to = to[way],
                                      .bytes = bytes};
        receives[way] = sends[way];
        receives[way].process = way == UP ? below : above;
    }
    return model_exchange(sends, 2, receives, 2);
}

static bool exchange_lists(const struct problem *problem, const struct particles_step *step)
{
    const struct particles_store *store = &step->store;
    const uint32_t out = LISTS_OUT + step->parity;
    const size_t from[2] = {particles_list_offset(store, out, UP),
                            particles_list_offset(store, out, DOWN)};
    const size_t to[2] = {particles_list_offset(store, LISTS_IN, UP),
                          particles_list_offset(store, LISTS_IN, DOWN)};
    return exchange_both(problem, from, to, store->layout.list_bytes, 0);
}

/* A block of a row and a halo are of one form. */
static bool exchange_segments(const struct problem *problem, const struct particles_step *step)
{
    const struct particles_store *store = &step->store;
    const size_t from[2] = {particles_block_offset(store, store->box.segments - 1),
                            particles_block_offset(store, 0)};
    const size_t to[2] = {particles_halo_offset(store, 0), particles_halo_offset(store, 1)};
    return exchange_both(problem, from, to, store->layout.halo_bytes, 2);
}

static bool one_step(void *state, uint64_t k)
{
    const struct problem *problem = state;
    const uint32_t threads = problem->run.threads;
    const struct particles_step *step = &problem->step[k % 2];
    const uint32_t segments = step->store.box.segments;
    launch_particles_move(step, segments, problem->chunks, threads);
    if (!exchange_lists(problem, step))
        return false;
    launch_particles_scan(step, segments, 1, threads);
    launch_particles_settle(step, segments + 1, problem->chunks, threads);
    return exchange_segments(problem, step);
}

static bool finish(void *state)
{
    const struct problem *problem = state;
    uint32_t failure = 0;
    return machine_copy(&failure, problem->step[0].store.failure, sizeof(failure)) &&
           particles_succeeded(failure);
}

static const void *result(const void *state, size_t *bytes)
{
    const struct particles_store *store = &((const struct problem *)state)->step[0].store;
    *bytes = particles_checked(store);
    return store->arena;
}

static bool check(const void *state, const void *all)
{
    const struct problem *problem = state;
    return particles_check(problem->run.settings, problem->run.processes, &problem->step[0].store,
                           all);
}

const struct model two_model = {
    .program = &particles_program,
    .state_bytes = sizeof(struct problem),
    .threads = 256,
    .plan = plan,
    .place = place,
    .step = one_step,
    .finish = finish,
    .result = result,
    .check = check,
};
