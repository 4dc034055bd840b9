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

#include <stdlib.h>

enum { THREADS = 512, FIELDS = 4 };

struct problem {
    int process, processes;
    uint64_t iterations;
    struct stencil_step step[2]; /* for even and for odd iterations */
    uint32_t threads, chunks;
    char *arena;   /* the planes, and after them the fields */
    double *start; /* host: the whole arena before the first iteration */
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

static bool plan(void *argument, const struct settings *settings, int process, int processes,
                 size_t *bytes)
{
    struct problem *problem = argument;
    struct stencil_part *part = &problem->step[0].part;
    problem->process = process;
    problem->processes = processes;
    problem->iterations = settings->iterations;
    if (!stencil_make_part(settings, process, processes, process == 0, part))
        return false;
    problem->threads =
        machine_threads(settings->threads > 0 ? (uint32_t)settings->threads : THREADS);
    problem->chunks = (part->nz + stencil_chunk(part, problem->threads) - 1) /
                      stencil_chunk(part, problem->threads);
    *bytes = arena_bytes(problem);
    problem->start = calloc(1, *bytes);
    if (!problem->start) {
        complain_as(&stencil_program, "out of memory for %zu bytes", *bytes);
        return false;
    }

    /* The field, and from it what the neighbours would have sent. */
    double *field = problem->start + PLANES * plane_bytes(problem) / sizeof(double);
    stencil_fill(settings, part, field);
    for (uint32_t z = 0; z < part->nz; z++) {
        for (uint32_t x = 0; x < part->nx; x++) {
            const size_t points = (size_t)part->nx * part->nz, at = (size_t)z * part->nx + x;
            const double *plane = field + z * stencil_plane(part) + x;
            problem->start[IN_BELOW * points + at] = plane[0];
            problem->start[IN_ABOVE * points + at] = plane[((size_t)part->rows + 1) * part->nx];
        }
    }
    return true;
}

static bool place(void *argument, char *arena)
{
    struct problem *problem = argument;
    struct stencil_step *step = &problem->step[0];
    const size_t field = stencil_field(&step->part);
    problem->arena = arena;
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

static bool begin(void *argument)
{
    struct problem *problem = argument;
    return machine_copy(problem->arena, problem->start, arena_bytes(problem));
}

/* A plane to or from the process before (-1) or after (1). The slot is the plane that it fills. */
static struct message message(const struct problem *problem, int direction, int from, int to)
{
    return (struct message){.process = problem->process + direction,
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

static bool one_step(void *argument, uint64_t k)
{
    const struct problem *problem = argument;
    const struct stencil_step *step = &problem->step[k % 2];
    const uint32_t rows = step->part.rows;
    launch_stencil_lap(step, rows + 1, problem->chunks, problem->threads);
    if (!exchange_lap(problem))
        return false;
    launch_stencil_fly(step, rows + 1, problem->chunks, problem->threads);
    if (!exchange_fly(problem))
        return false;
    launch_stencil_out(step, rows + 2, problem->chunks, problem->threads);
    return exchange_in(problem);
}

static bool verify(void *argument, const struct settings *settings)
{
    const struct problem *problem = argument;
    const struct stencil_part *part = &problem->step[0].part;
    const double *last = problem->step[settings->iterations % 2].in;
    double *all;
    if (!model_gather(last, stencil_field(part) * sizeof(double), problem->process,
                      problem->processes, &all))
        return false;
    const bool good =
        problem->process > 0 || stencil_check(settings, part, problem->processes, all);
    free(all);
    return good;
}

static void end(void *argument)
{
    struct problem *problem = argument;
    free(problem->start);
}

int main(int argc, char **argv)
{
    static const struct model model = {
        .program = &stencil_program,
        .problem_bytes = sizeof(struct problem),
        .plan = plan,
        .place = place,
        .begin = begin,
        .step = one_step,
        .verify = verify,
        .end = end,
    };
    return model_main(&model, argc, argv);
}
