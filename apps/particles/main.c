/*
 * particles/main.c - one process of weft's variant: place the particles, run the kernel, compare.
 */
#include "app.h"
#include "kernel.h"
#include "problem.h"

#include <stdlib.h>

WEFT_KERNEL_DECLARE(particles);
WEFT_KERNEL_DECLARE(particles_many);

struct problem {
    struct particles_data data;
    char *start; /* host: the arena before the first step */
};

static bool prepare(struct app *app, void *argument)
{
    struct problem *problem = argument;
    const struct particles_store *store = &problem->data.store;
    problem->data.failure = 0;
    return weft_copy(app->job, store->arena, problem->start, store->layout.bytes) == WEFT_OK;
}

static bool verify(struct app *app, const struct problem *problem)
{
    const struct particles_store *store = &problem->data.store;
    char *all;
    if (!app_gather(app, store->arena, particles_checked(store), &all))
        return false;
    const bool good = app->numbers->process != 0 ||
                      particles_check(&app->settings, app->numbers->processes, store, all);
    free(all);
    return app_all(app, good);
}

/* Collective: the particles before the first step, in host memory. */
static bool fill(struct app *app, struct problem *problem)
{
    struct particles_store host = problem->data.store;
    problem->start = app_host_memory(app, host.layout.bytes);
    if (!problem->start)
        return false;
    host.arena = problem->start;
    return app_all(app, particles_fill(&app->settings, app->numbers->processes, &host));
}

/* Collective: so many bytes of shared memory for a rank, and a segment for each. */
static bool prepare_ranks(struct app *app, const weft_kernel *kernel, size_t shared,
                          struct particles_box *box)
{
    const int threads = kernel == &particles ? PARTICLES_THREADS : PARTICLES_THREADS_MANY;
    weft_limit_shared(app->job, shared);
    if (!app_prepare(app, kernel, threads, box->rows))
        return false;
    /* On a GPU the ranks at the ends of the part have more to do: they send a row and a list to the
     * next part, which may be this one. As much as the forces of half a row, by a timeline. */
    particles_divide(&app->settings, (uint32_t)app->numbers->ranks_here,
                     app->numbers->threads > 1 ? box->width / 2 : 0, box);
    return true;
}

/*
 * Collective. Ranks that hold their segments in shared memory; or, where these do not fit, others:
 * twice as many of about half the threads, if the device has room for them, or of as many threads
 * as somebody wants.
 */
static bool choose_ranks(struct app *app, struct particles_box *box)
{
    const weft_numbers *numbers = app->numbers;
    if (!prepare_ranks(app, &particles, SIZE_MAX, box))
        return false;
    const int few = numbers->ranks_here, threads = app->settings.threads;
    if (threads > PARTICLES_THREADS_MANY ||
        particles_held_bytes(box, particles_most_cells(box)) <= PARTICLES_SHARED)
        return true;
    if (!prepare_ranks(app, &particles_many, 0, box))
        return false;
    if (numbers->threads > 1 && threads == 0 && numbers->ranks_here < 2 * few)
        return prepare_ranks(app, &particles, SIZE_MAX, box);
    const size_t counts = particles_most_cells(box) * sizeof(uint32_t);
    return counts > PARTICLES_SHARED_MANY || prepare_ranks(app, &particles_many, counts, box);
}

static bool simulate(struct app *app, struct problem *problem)
{
    const weft_numbers *numbers = app->numbers;
    struct particles_data *data = &problem->data;
    struct particles_store *store = &data->store;
    if (!particles_make_box(&app->settings, numbers->process, numbers->processes,
                            numbers->process == 0, &store->box) ||
        !choose_ranks(app, &store->box))
        return false;
    store->box.boundaries = store->box.segments + 1;
    store->layout = particles_layout_of(&store->box);
    data->iterations = (uint32_t)app->settings.iterations;
    if (!fill(app, problem) || !app_allocate(app, store->layout.bytes, &store->arena) ||
        !app_repeat(app, prepare, problem, data, sizeof(*data)))
        return false;
    if (data->no_window)
        complain("the kernel could not create its window");
    const bool good = !data->no_window && particles_succeeded(data->failure);
    return app_all(app, good) && (!app->settings.verify || verify(app, problem));
}

int main(int argc, char **argv)
{
    struct app app;
    struct problem problem = {0};
    const bool good = app_open(&app, &particles_program, argc, argv) && simulate(&app, &problem);
    free(problem.start);
    return app_close(&app, good);
}
