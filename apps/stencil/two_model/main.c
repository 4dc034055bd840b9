/*
 * stencil/two_model/main.c - the host of the two-model form: launches and exchanges.
 *
 * What exchange.h asks for holds: a plane is sent again only after a later message of the neighbour
 * that reads it. lap goes down after in has come from below, fly goes up after lap has come from
 * above, in goes both ways after fly has come from below and lap from above; all of these were sent
 * after the neighbour's kernels that read what had been sent before.
 */
#include "model.h"
#include "phases.h"
#include "problem.h"

enum { FIELDS = 4 };

/* Its arena: the planes, and after them the fields. */
struct problem {
    struct model_run run;
    struct stencil_step step[2]; /* for even and for odd iterations */
    uint32_t chunks;
};

static size_t plane_bytes(const struct problem *problem)
{
    return (size_t)problem->step[0].part.nx * problem->step[0].part.nz * sizeof(double);
}

static size_t arena_bytes(const struct problem *problem)
{
    return PLANES * plane_bytes(problem) +
           FIELDS * stencil_field(&problem->step[0].part) * sizeof(double);
}

static bool plan(void *state, size_t *bytes)
{
    struct problem *problem = state;
    struct model_run *run = &problem->run;
    struct stencil_part *part = &problem->step[0].part;
    if (!stencil_make_part(run->settings, run->process, run->processes, run->process == 0, part))
        return false;
    const uint32_t chunk = stencil_chunk(part, run->threads);
    problem->chunks = (part->nz + chunk - 1) / chunk;
    *bytes = arena_bytes(problem);
    double *start = model_start(run, *bytes);
    if (!start)
        return false;

    /* The field, and from it what the neighbours would have sent. */
    double *field = start + PLANES * plane_bytes(problem) / sizeof(double);
    stencil_fill(run->settings, part, field);
    for (uint32_t z = 0; z < part->nz; z++) {
        for (uint32_t x = 0; x < part->nx; x++) {
            const size_t points = (size_t)part->nx * part->nz, at = (size_t)z * part->nx + x;
            const double *plane = field + z * stencil_plane(part) + x;
            start[IN_BELOW * points + at] = plane[0];
            start[IN_ABOVE * points + at] = plane[((size_t)part->rows + 1) * part->nx];
        }
    }
    return true;
}

static bool place(void *state)
{
    struct problem *problem = state;
    char *arena = problem->run.arena;
    struct stencil_step *step = &problem->step[0];
    const size_t field = stencil_field(&step->part);
    step->planes = (double *)arena;
    step->in = (double *)(arena + PLANES * plane_bytes(problem));
    step->out = step->in + field;
    step->lap = step->in + 2 * field;
    step->fly = step->in + 3 * field;
    problem->step[1] = *step;
    problem->step[1].in = step->out;
    problem->step[1].out = step->in;
    return true;
}

/* A plane to or from the process before (-1) or after (1). The slot is the plane that it fills. */
static struct message message(const struct problem *problem, int direction, int from, int to)
{
    return (struct message){.process = problem->run.process + direction,
                            .slot = to,
                            .from = (size_t)from * plane_bytes(problem),
                            .to = (size_t)to * plane_bytes(problem),
                            .bytes = plane_bytes(problem)};
}

static bool exchange_lap(const struct problem *problem)
{
    const struct stencil_part *part = &problem->step[0].part;
    const struct message sent = message(problem, -1, SEND_LAP, LAP_ABOVE);
    const struct message received = message(problem, 1, SEND_LAP, LAP_ABOVE);
    return model_exchange(&sent, stencil_has_below(part), &received, stencil_has_above(part));
}

static bool exchange_fly(const struct problem *problem)
{
    const struct stencil_part *part = &problem->step[0].part;
    const struct message sent = message(problem, 1, SEND_FLY, FLY_BELOW);
    const struct message received = message(problem, -1, SEND_FLY, FLY_BELOW);
    return model_exchange(&sent, stencil_has_above(part), &received, stencil_has_below(part));
}

static bool exchange_in(const struct problem *problem)
{
    const struct stencil_part *part = &problem->step[0].part;
    struct message sends[2], receives[2];
    int count = 0;
    if (stencil_has_below(part)) {
        sends[count] = message(problem, -1, SEND_IN_DOWN, IN_ABOVE);
        receives[count++] = message(problem, -1, SEND_IN_UP, IN_BELOW);
    }
    if (stencil_has_above(part)) {
        sends[count] = message(problem, 1, SEND_IN_UP, IN_BELOW);
        receives[count++] = message(problem, 1, SEND_IN_DOWN, IN_ABOVE);
    }
    return model_exchange(sends, count, receives, count);
}

static bool one_step(void *state, uint64_t k)
{
    const struct problem *problem = state;
    const uint32_t threads = problem->run.threads;
    const struct stencil_step *step = &problem->step[k % 2];
    const uint32_t rows = step->part.rows;
    launch_stencil_lap(step, rows + 1, problem->chunks, threads);
    if (!exchange_lap(problem))
        return false;
    launch_stencil_fly(step, rows + 1, problem->chunks, threads);
    if (!exchange_fly(problem))
        return false;
    launch_stencil_out(step, rows + 2, problem->chunks, threads);
    return exchange_in(problem);
}

static const void *result(const void *state, size_t *bytes)
{
    const struct problem *problem = state;
    *bytes = stencil_field(&problem->step[0].part) * sizeof(double);
    return problem->step[problem->run.settings->iterations % 2].in;
}

static bool check(const void *state, const void *all)
{
    const struct problem *problem = state;
    return stencil_check(problem->run.settings, &problem->step[0].part, problem->run.processes,
                         all);
}

const struct model two_model = {
    .program = &stencil_program,
    .state_bytes = sizeof(struct problem),
    .threads = 512,
    .plan = plan,
    .place = place,
    .step = one_step,
    .result = result,
    .check = check,
};
