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

#include <stdlib.h>

enum { THREADS = 256 };

struct problem {
    int process, processes;
    struct particles_step step[2]; /* for even and for odd steps */
    uint32_t threads, chunks;
    char *start; /* host: the arena before the first step */
};

/* After the arena that the layout describes. */
static size_t failure_offset(const struct problem *problem)
{
    return problem->step[0].store.layout.bytes;
}

static bool plan(void *argument, const struct settings *settings, int process, int processes,
                 size_t *bytes)
{
    struct problem *problem = argument;
    struct particles_store *store = &problem->step[0].store;
    problem->process = process;
    problem->processes = processes;
    if (!particles_make_box(settings, process, processes, process == 0, &store->box))
        return false;
    store->box.boundaries = LISTS;
    store->layout = particles_layout_of(&store->box);
    problem->threads =
        machine_threads(settings->threads > 0 ? (uint32_t)settings->threads : THREADS);
    problem->chunks = (store->box.capacity + problem->threads - 1) / problem->threads;
    *bytes = failure_offset(problem) + sizeof(*store->failure);
    problem->start = calloc(1, *bytes);
    if (!problem->start) {
        complain_as(&particles_program, "out of memory for %zu bytes", *bytes);
        return false;
    }
    store->arena = problem->start;
    return particles_fill(settings, processes, store);
}

static bool place(void *argument, char *arena)
{
    struct problem *problem = argument;
    struct particles_store *store = &problem->step[0].store;
    store->arena = arena;
    store->failure = (uint32_t *)(arena + failure_offset(problem));
    problem->step[1] = problem->step[0];
    problem->step[1].parity = 1;
    return true;
}

static bool begin(void *argument)
{
    const struct problem *problem = argument;
    return machine_copy(problem->step[0].store.arena, problem->start,
                        failure_offset(problem) + sizeof(uint32_t));
}

/* Up and down, to and from both neighbours in the ring: the same order on both sides. */
static bool exchange_both(const struct problem *problem, const size_t from[2], const size_t to[2],
                          size_t bytes, int slot)
{
    struct message sends[2], receives[2];
    const int above = (problem->process + 1) % problem->processes;
    const int below = (problem->process + problem->processes - 1) % problem->processes;
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

static size_t block_offset(const struct particles_store *store, uint32_t segment)
{
    return store->layout.block + segment * store->layout.block_bytes;
}

static bool exchange_segments(const struct problem *problem, const struct particles_step *step)
{
    const struct particles_store *store = &step->store;
    const uint32_t last = store->box.segments;
    const size_t from[2] = {block_offset(store, last), block_offset(store, 1)};
    const size_t to[2] = {block_offset(store, 0), block_offset(store, last + 1)};
    return exchange_both(problem, from, to, store->layout.block_bytes, 2);
}

static bool one_step(void *argument, uint64_t k)
{
    const struct problem *problem = argument;
    const struct particles_step *step = &problem->step[k % 2];
    const uint32_t segments = step->store.box.segments;
    launch_particles_move(step, segments, problem->chunks, problem->threads);
    if (!exchange_lists(problem, step))
        return false;
    launch_particles_scan(step, segments, 1, problem->threads);
    launch_particles_settle(step, segments + 1, problem->chunks, problem->threads);
    return exchange_segments(problem, step);
}

static bool verify(void *argument, const struct settings *settings)
{
    const struct problem *problem = argument;
    const struct particles_store *store = &problem->step[0].store;
    char *all;
    if (!model_gather(store->arena, particles_checked(store), problem->process, problem->processes,
                      &all))
        return false;
    const bool good =
        problem->process > 0 || particles_check(settings, problem->processes, store, all);
    free(all);
    return good;
}

static bool finish(void *argument)
{
    const struct problem *problem = argument;
    uint32_t failure = 0;
    return machine_copy(&failure, problem->step[0].store.failure, sizeof(failure)) &&
           particles_succeeded(failure);
}

static void end(void *argument)
{
    struct problem *problem = argument;
    free(problem->start);
}

int main(int argc, char **argv)
{
    static const struct model model = {
        .program = &particles_program,
        .problem_bytes = sizeof(struct problem),
        .plan = plan,
        .place = place,
        .begin = begin,
        .step = one_step,
        .finish = finish,
        .verify = verify,
        .end = end,
    };
    return model_main(&model, argc, argv);
}
