/*
 * power_iteration/mirror.h - on a grid of one column whose processes reach each other's memory:
 * every rank stores its slice of x, and the sums over it, into the memory of all others. One
 * barrier of the world tells all ranks that all of the next b is there; nobody is sent a notice.
 */
#ifndef POWER_MIRROR_H
#define POWER_MIRROR_H

#include "place.h"

/* Whether all processes say yes. Rank 0 speaks for each. Also a barrier of the world. */
APART bool all_agree(weft_self *self, weft_win win, const struct power_data *data, bool yes)
{
    const int processes = (int)(data->shape.rows * data->shape.columns);
    const int here = (int)(data->row * data->shape.columns + data->column);
    uint64_t *const word = (uint64_t *)(data->arena + data->layout.agreed);
    const uint64_t place = data->layout.agreed + (uint64_t)here * sizeof(*word);
    bool agreed = true;

    if (weft_rank(self, WEFT_COMM_DEVICE) == 0) {
        if (weft_thread(self) == 0)
            word[here] = yes;
        weft_sync(self);
        for (int p = 0; p < processes; p++)
            if (p != here)
                weft_put(self, win, weft_process_first(self, p), place, &word[here], sizeof(*word));
        weft_flush(self, win);
    }
    weft_barrier(self, WEFT_COMM_WORLD);
    for (int p = 0; p < processes; p++)
        agreed = agreed && word[p] != 0;
    return agreed;
}

/*
 * Finds the others' arenas, if it goes so at all. Split rows need b before the barrier: then it
 * does not. With the window.
 */
WEFT_DEVICE_FN void find_mirrors(struct place *me)
{
    const struct power_data *data = me->data;
    const uint64_t rows = data->shape.rows, others = rows - 1;
    bool can = others > 0 && others <= MIRRORS_MOST && data->splits == 0;

    me->mirrors = 0;
    if (data->shape.columns > 1)
        return;
    for (uint64_t i = 0; can && i < others; i++) {
        const int target = world_rank(me, (data->row + 1 + i) % rows, 0, me->rank);
        char *const arena = (char *)weft_ptr(me->self, me->win, target);
        if (weft_thread(me->self) == 0)
            me->shared->mirror[i] = arena;
        can = arena != NULL;
    }
    if (all_agree(me->self, me->win, me->data, can))
        me->mirrors = (uint32_t)others;
}

/* The i-th element of the rank's slice of x, which becomes b of iteration k, to all others. */
WEFT_DEVICE_FN void mirror_element(const struct place *me, uint64_t k, uint64_t i, double value)
{
    const uint64_t b = me->data->layout.raw[k & 1] + me->x.begin * sizeof(double);

    for (uint32_t m = 0; m < me->mirrors; m++)
        ((double *)(me->shared->mirror[m] + b))[i] = value;
}

#endif
