/*
 * two_model/model.c - see model.h.
 */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double communication; /* milliseconds of this repetition */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

/* What the kernels still have to do is not communication: waited for before the clock starts. */
bool model_exchange(const struct message *sends, int send_count, const struct message *receives,
                    int receive_count)
{
    if (exchange_enqueues)
        return exchange_run(sends, send_count, receives, receive_count);
    if (!machine_wait())
        return false;
    const double start = now();
    const bool good = exchange_run(sends, send_count, receives, receive_count);
    communication += now() - start;
    return good;
}

static bool repeat_once(const struct model *model, void *problem, const struct settings *settings,
                        double *total)
{
    communication = 0;
    if (!model->begin(problem) || !machine_wait() || !exchange_barrier())
        return false;
    const double start = now();
    if (!machine_repeat(model->step, problem, settings->iterations) || !machine_wait())
        return false;
    *total = now() - start;
    return exchange_largest(total) && exchange_largest(&communication);
}

/* Before the first repetition: what is set up at first use is, and the graph is made. */
static bool warm_up(const struct model *model, void *problem)
{
    return model->begin(problem) && machine_wait() && exchange_barrier() &&
           model->step(problem, 0) && model->step(problem, 1) && machine_wait() &&
           exchange_barrier() && machine_capture(exchange_enqueues, model->step, problem);
}

static bool run(const struct model *model, void *problem, const struct settings *settings,
                int process, int processes)
{
    struct report report = {.program = model->program,
                            .settings = settings,
                            .variant = exchange_name,
                            .device = machine_name,
                            .processes = processes};
    size_t bytes = 0;
    if (!model->plan(problem, settings, process, processes, &bytes))
        return false;
    char *arena = exchange_arena(bytes);
    if (!arena || !model->place(problem, arena) || (process == 0 && !report_begin(&report)))
        return false;
    bool good = warm_up(model, problem);
    for (uint64_t i = 0; good && i < settings->repetitions; i++) {
        double total = 0;
        good = repeat_once(model, problem, settings, &total) &&
               (!model->finish || model->finish(problem));
        if (good && process == 0)
            report_repetition(&report, total, exchange_enqueues ? -1 : communication);
    }
    if (process == 0)
        report_end(&report);
    return good && (!settings->verify || model->verify(problem, settings));
}

int model_main(const struct model *model, int argc, char **argv)
{
    struct settings settings;
    int process = 0, processes = 1;
    if (!exchange_open(&argc, &argv, &process, &processes))
        return EXIT_FAILURE;
    bool good = settings_read(model->program, argc, argv, process == 0, &settings);
    if (!good) { /* all processes come to the same */
        exchange_close(true);
        return settings.help ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    void *problem = calloc(1, model->problem_bytes);
    good = problem && machine_open(process);
    if (good) {
        good = run(model, problem, &settings, process, processes);
        model->end(problem);
    }
    free(problem);
    good = report_flushed(model->program) && good;
    machine_close(); /* first: NCCL waits until the graphs that it is in have gone */
    exchange_close(good);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

bool model_gather(const void *device, size_t bytes, int process, int processes, void *all)
{
    char *mine = malloc(bytes), *whole = process == 0 ? malloc(bytes * (size_t)processes) : NULL;
    bool good = mine && (process > 0 || whole);
    if (!good)
        fprintf(stderr, "two-model: no memory to gather %zu bytes\n", bytes);
    good = good && machine_copy(mine, device, bytes) && exchange_gather(mine, bytes, whole);
    free(mine);
    if (!good) {
        free(whole);
        whole = NULL;
    }
    memcpy(all, &whole, sizeof(whole));
    return good;
}
