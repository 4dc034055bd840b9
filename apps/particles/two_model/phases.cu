/*
 * particles/two_model/phases.cu - see phases.h. The parts of a step are those of step.h, as in
 * weft's kernel.
 */
#include "phases.h"
#include "step.h"

PHASE(particles_move, struct particles_step, step)
{
    const struct particles_store *store = &step->store;
    const uint32_t segment = block + 1, i = plane * phase_threads() + phase_thread();
    const uint32_t count = particles_count(store, segment);
    if (i == 0)
        *particles_moved_count(store, segment) = count;
    if (i >= count)
        return;
    const struct step_row row = step_row_of(store, segment);
    step_move(store, &row, i, 1, store->box.segments,
              particles_list(store, LISTS_OUT + step->parity, UP),
              particles_list(store, LISTS_OUT + step->parity, DOWN));
}

PHASE_FN void land(const struct particles_store *store, uint32_t way, uint32_t segment)
{
    struct particle_list *list = particles_list(store, LISTS_IN, way);
    for (uint32_t i = phase_thread(); i < step_arrived(store, list); i += phase_threads())
        step_land(store, list, i, segment);
}

PHASE(particles_scan, struct particles_step, step)
{
    PHASE_SHARED uint32_t sums[STEP_SUMS];
    const struct particles_store *store = &step->store;
    const uint32_t segment = block + 1, other = 1 - step->parity;
    (void)plane;
    if (segment == 1)
        land(store, UP, segment);
    if (segment == store->box.segments)
        land(store, DOWN, segment);
    if (segment == 1 && phase_thread() == 0) {
        particles_list(store, LISTS_OUT + other, UP)->count = 0;
        particles_list(store, LISTS_OUT + other, DOWN)->count = 0;
    }
    phase_sync();
    step_scan(store, segment, phase_thread(), phase_threads(), sums);
}

PHASE(particles_settle, struct particles_step, step)
{
    const struct particles_store *store = &step->store;
    const uint32_t i = plane * phase_threads() + phase_thread();
    if (block < store->box.segments) {
        if (i < *particles_moved_count(store, block + 1))
            step_settle_moved(store, block + 1, i);
        return;
    }
    for (uint32_t way = UP; way <= DOWN; way++) {
        const struct particle_list *list = particles_list(store, LISTS_IN, way);
        if (i < step_arrived(store, list))
            step_settle_arrived(store, list, i, way == UP ? 1 : store->box.segments);
    }
}
