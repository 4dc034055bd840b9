/*
 * coll/host/device.c - buffers in memory of the device. Sends, receives and copies take them as
 * they are. What the host puts together, and many small pieces, go through scratch: copied there by
 * a plan's first round, and back by its last.
 */
#include "coll/host/plan.h"

#include "msg/copy.h"

#include <stdio.h>

bool weft_plan_is_far(weft_team_op *op, const void *memory, size_t bytes)
{
    bool far;
    const char *const wrong = weft_msg_whose(op->team->job, memory, bytes, &far);
    char text[160];

    if (wrong != NULL) {
        snprintf(text, sizeof(text), "%zu bytes at %p %s", bytes, memory, wrong);
        weft_plan_fail(op, WEFT_ERR_ARGUMENT, text);
    }
    return far;
}

const void *weft_plan_near(weft_team_op *op, const void *source, size_t bytes)
{
    if (!weft_plan_is_far(op, source, bytes))
        return source;
    void *const near = weft_plan_scratch(op, bytes);
    weft_plan_copy(op, near, source, bytes);
    weft_plan_next(op);
    return near;
}

void *weft_plan_near_target(weft_team_op *op, void *target, size_t bytes)
{
    return weft_plan_is_far(op, target, bytes) ? weft_plan_scratch(op, bytes) : target;
}

void weft_plan_return(weft_team_op *op, void *target, const void *near, size_t bytes)
{
    weft_plan_copy(op, target, near, bytes);
}
