/*
 * stencil/main.c - one process of weft's variant: fill the fields, run the kernel, compare.
 */
#include "app.h"
#include "kernel.h"
#include "problem.h"

#include <inttypes.h>
#include <stdlib.h>

WEFT_KERNEL_DECLARE(stencil);

struct problem {
    struct stencil_data data;
    double *start; /* host: the field before the first iteration, all fields of the arena */
};

static bool prepare(struct app *app, void *argument)
{
    struct problem *problem = argument;
    const size_t bytes = FIELDS * stencil_field(&problem->data.part) * sizeof(double);
    return weft_copy(app->job, problem->data.arena, problem->start, bytes) == WEFT_OK;
}

static bool verify(struct app *app, const struct problem *problem)
{
    const struct stencil_data *data = &problem->data;
    const size_t field = stencil_field(&data->part);
    const double *last = data->arena + (data->iterations % 2 ? FIELD_OUT : FIELD_IN) * field;
    double *all;
    if (!app_gather(app, last, field * sizeof(*last), &all))
        return false;
    const bool good = app->numbers->process != 0 ||
                      stencil_check(&app->settings, &data->part, app->numbers->processes, all);
    free(all);
    return app_all(app, good);
}

/* A rank's shared memory has two rows of lap and two of fly, of a plane at least. */
static bool fits(const struct app *app, const struct stencil_part *part)
{
    if (part->nx <= STENCIL_MOST_NX)
        return true;
    if (app->numbers->process == 0)
        complain("--nx %" PRIu32 ": a row has at most %d points here", part->nx, STENCIL_MOST_NX);
    return false;
}

/* Collective. More ranks than have room for rows of their own in shared memory get the least. */
static bool choose_ranks(struct app *app, const struct stencil_part *part)
{
    const weft_numbers *numbers = app->numbers;
    uint32_t wanted = part->all / (uint32_t)numbers->processes; /* the same on all processes */
    if (app->settings.ranks < (int)wanted)
        wanted = (uint32_t)app->settings.ranks;
    if (!app_prepare(app, &stencil, STENCIL_THREADS, part->rows))
        return false;
    if ((uint32_t)numbers->ranks_here >= wanted)
        return true;
    weft_limit_shared(app->job, 0);
    return app_prepare(app, &stencil, STENCIL_THREADS, part->rows);
}

static bool diffuse(struct app *app, struct problem *problem)
{
    const weft_numbers *numbers = app->numbers;
    struct stencil_data *data = &problem->data;
    if (!stencil_make_part(&app->settings, numbers->process, numbers->processes,
                           numbers->process == 0, &data->part) ||
        !fits(app, &data->part) || !choose_ranks(app, &data->part))
        return false;
    const size_t bytes = FIELDS * stencil_field(&data->part) * sizeof(double);
    data->iterations = (uint32_t)app->settings.iterations;
    data->message_a_plane = stencil_message_a_plane(&app->settings);
    problem->start = app_host_memory(app, bytes);
    if (!problem->start || !app_allocate(app, bytes, &data->arena))
        return false;
    stencil_fill(&app->settings, &data->part, problem->start);
    if (!app_repeat(app, prepare, problem, data, sizeof(*data)))
        return false;
    if (data->failed) {
        complain("the kernel could not create its window");
        return false;
    }
    return !app->settings.verify || verify(app, problem);
}

int main(int argc, char **argv)
{
    struct app app;
    struct problem problem = {0};
    const bool good = app_open(&app, &stencil_program, argc, argv) && diffuse(&app, &problem);
    free(problem.start);
    return app_close(&app, good);
}
