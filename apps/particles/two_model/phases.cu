/*
 * particles/two_model/phases.cu - see phases.h. The parts of a step are those of step.h, as in
 * weft's kernel.
 */
#define STEP_ROWS true
#include "phases.h"
#include "step.h"

PHASE(particles_move, struct particles_step, step)
{
    PHASE_SHARED struct step_view view;
    const struct particles_store *store = &step->store;
    const uint32_t i = plane * phase_threads() + phase_thread();
    const uint32_t count = particles_count(store, block);
    if (i == 0)
        *particles_moved_count(store, block) = count;
    if (phase_thread() == 0)
        view = step_view_of(store, block);
    phase_sync();
    if (i >= count)
        return;
    const struct step_arrays arrays = step_arrays_of(store, block);
    step_move(store, &view, &arrays, i, particles_list(store, LISTS_OUT + step->parity, UP),
              particles_list(store, LISTS_OUT + step->parity, DOWN));
}

PHASE_FN void land(const struct particles_store *store, uint32_t way)
{
    struct particle_list *list = particles_list(store, LISTS_IN, way);
    for (uint32_t i = phase_thread(); i < step_arrived(store, list); i += phase_threads())
        step_land(store, &list->item[i]);
}

PHASE(particles_scan, struct particles_step, step)
{
    PHASE_SHARED uint32_t sums[STEP_SUMS];
    const struct particles_store *store = &step->store;
    const uint32_t other = 1 - step->parity;
    (void)plane;
    if (block == 0)
        land(store, UP);
    if (block + 1 == store->box.segments)
        land(store, DOWN);
    if (block == 0 && phase_thread() == 0) {
        particles_list(store, LISTS_OUT + other, UP)->count = 0;
        particles_list(store, LISTS_OUT + other, DOWN)->count = 0;
    }
    phase_sync();
    step_scan(store, block, particles_start(store, block), phase_thread(), phase_threads(), sums);
}

PHASE(particles_settle, struct particles_step, step)
{
    const struct particles_store *store = &step->store;
    const uint32_t i = plane * phase_threads() + phase_thread();
    const struct step_arrays arrays = step_arrays_of(store, block % store->box.segments);
    if (block < store->box.segments) {
        struct step_batch batch;
        if (i >= *particles_moved_count(store, block))
            return;
        step_take(&arrays, i, 1, i + 1, &batch);
        step_settle_batch(store, &arrays, &batch);
        return;
    }
    for (uint32_t way = UP; way <= DOWN; way++) {
        const struct particle_list *list = particles_list(store, LISTS_IN, way);
        if (i < step_arrived(store, list))
            step_settle_arrived(store, &arrays, &list->item[i]);
    }
}
