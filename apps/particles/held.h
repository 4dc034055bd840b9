/*
 * particles/held.h - a rank's segment in memory that its threads share, from one step to the next,
 * if there is room: then only the positions leave the chip, and where the cells begin, which is
 * what neighbours read. Velocities and ids are moved in place.
 */
#ifndef PARTICLES_HELD_H
#define PARTICLES_HELD_H

#include "step.h"

#include <weft/device.h>

/* Bytes of shared memory that a segment takes; 0: it does not fit, or a thread's part of it is more
 * than settles in a batch. */
WEFT_DEVICE_FN size_t held_bytes(const weft_self *self, const struct particles_store *store)
{
    const size_t bytes = particles_held_bytes(&store->box, store->counted_end - store->counted);
    return bytes <= weft_shared_bytes(self) &&
                   store->box.capacity <= STEP_BATCH * (uint32_t)weft_threads(self)
               ? bytes
               : 0;
}

WEFT_DEVICE_FN struct step_arrays held_arrays(const weft_self *self,
                                              const struct particles_store *store)
{
    const size_t room = particles_room(store->box.capacity);
    struct step_arrays arrays;
    arrays.position = (struct point *)weft_shared(self);
    arrays.velocity = arrays.position + room;
    arrays.moved_position = arrays.velocity + room;
    arrays.id = (uint32_t *)(arrays.moved_position + room);
    arrays.moved_slot = arrays.id + room;
    arrays.start = arrays.moved_slot + room;
    arrays.moved_velocity = arrays.velocity;
    arrays.moved_id = arrays.id;
    return arrays;
}

/* Copies a segment's particles; cells: of the segment. */
WEFT_DEVICE_FN void held_copy(const struct step_arrays *from, const struct step_arrays *to,
                              uint32_t cells)
{
    weft_for (i, from->start[cells]) {
        to->position[i] = from->position[i];
        to->velocity[i] = from->velocity[i];
        to->id[i] = from->id[i];
    }
    weft_for (i, cells + 1)
        to->start[i] = from->start[i];
}

/* Before the first step, and after the last. */
WEFT_DEVICE_FN void held_load(const weft_self *self, const struct particles_store *store,
                              uint32_t segment, const struct step_arrays *held)
{
    const struct step_arrays arrays = step_arrays_of(store, segment);
    held_copy(&arrays, held, store->counted_end - store->counted);
    weft_sync(self);
}

WEFT_DEVICE_FN void held_store(const weft_self *self, const struct particles_store *store,
                               uint32_t segment, const struct step_arrays *held)
{
    const struct step_arrays arrays = step_arrays_of(store, segment);
    weft_sync(self);
    held_copy(held, &arrays, store->counted_end - store->counted);
}

/* What neighbours read, once all have settled. */
WEFT_DEVICE_FN void held_show(const struct particles_store *store, uint32_t segment,
                              const struct step_arrays *held)
{
    const struct step_arrays arrays = step_arrays_of(store, segment);
    const uint32_t cells = store->counted_end - store->counted;
    weft_for (i, held->start[cells])
        arrays.position[i] = held->position[i];
    weft_for (i, cells + 1)
        arrays.start[i] = held->start[i];
}

#endif
