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

bool model_sum(double *values, size_t count)
{
    const double start = now();
    const bool good = exchange_sum(values, count);
    communication += now() - start;
    return good;
}

void *model_start(struct model_run *run, size_t bytes)
{
    run->start = calloc(1, bytes);
    run->start_bytes = bytes;
    if (!run->start)
        complain("out of memory for %zu bytes", bytes);
    return run->start;
}

static bool begin(struct model_run *run)
{
    return two_model.begin ? two_model.begin(run)
                           : machine_copy(run->arena, run->start, run->start_bytes);
}

static bool repeat_once(struct model_run *run, double *total)
{
    communication = 0;
    if (!begin(run) || !machine_wait() || !exchange_barrier())
        return false;
    const double start = now();
    if (!machine_repeat(two_model.step, run, run->settings->iterations) || !machine_wait())
        return false;
    *total = now() - start;
    return exchange_largest(total) && exchange_largest(&communication);
}

/* Before the first repetition: what is set up at first use is, and the graph is made. */
static bool warm_up(struct model_run *run)
{
    return begin(run) && machine_wait() && exchange_barrier() && two_model.step(run, 0) &&
           two_model.step(run, 1) && machine_wait() && exchange_barrier() &&
           machine_capture(exchange_enqueues, two_model.step, run);
}

/* Collective: bytes of the arena from all processes, in new host memory on process 0. */
static bool gather(const struct model_run *run, const void *device, size_t bytes, char **all)
{
    char *mine = malloc(bytes);
    char *whole = run->process == 0 ? malloc(bytes * (size_t)run->processes) : NULL;
    bool good = mine && (run->process > 0 || whole);
    if (!good)
        fprintf(stderr, "two-model: no memory to gather %zu bytes\n", bytes);
    good = good && machine_copy(mine, device, bytes) && exchange_gather(mine, bytes, whole);
    free(mine);
    if (!good) {
        free(whole);
        whole = NULL;
    }
    *all = whole;
    return good;
}

static bool verify(const struct model_run *run)
{
    size_t bytes = 0;
    const void *device = two_model.result(run, &bytes);
    char *all;
    if (!gather(run, device, bytes, &all))
        return false;
    const bool good = run->process > 0 || two_model.check(run, all);
    free(all);
    return good;
}

static bool run_all(struct model_run *run)
{
    const struct settings *settings = run->settings;
    struct report report = {.program = two_model.program,
                            .settings = settings,
                            .variant = exchange_name,
                            .device = machine_name,
                            .processes = run->processes};
    size_t bytes = 0;
    double failed = !two_model.plan(run, &bytes);
    /* Who is to say why has said it before others end the job. */
    if (!exchange_largest(&failed) || failed > 0)
        return false;
    run->arena = exchange_arena(bytes);
    if (!run->arena || !two_model.place(run) || (run->process == 0 && !report_begin(&report)))
        return false;
    bool good = warm_up(run);
    for (uint64_t i = 0; good && i < settings->repetitions; i++) {
        double total = 0;
        good = repeat_once(run, &total) && (!two_model.finish || two_model.finish(run));
        if (good && run->process == 0)
            report_repetition(&report, total, exchange_enqueues ? -1 : communication);
    }
    if (run->process == 0)
        report_end(&report);
    return good && (!settings->verify || verify(run));
}

/* With the application's state, which begins with `run`. */
static bool run_state(struct model_run *run)
{
    const int wanted = run->settings->threads;
    if (!machine_open(run->process))
        return false;
    run->threads = machine_threads(wanted > 0 ? (uint32_t)wanted : two_model.threads);
    const bool good = run_all(run);
    if (two_model.end)
        two_model.end(run);
    free(run->start);
    return good;
}

int main(int argc, char **argv)
{
    struct settings settings;
    int process = 0, processes = 1;
    if (!exchange_open(&argc, &argv, &process, &processes))
        return EXIT_FAILURE;
    bool good = settings_read(two_model.program, argc, argv, process == 0, &settings);
    if (!good) { /* all processes come to the same */
        exchange_close(true);
        return settings.help ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    struct model_run *run = calloc(1, two_model.state_bytes);
    if (run) {
        run->settings = &settings;
        run->process = process;
        run->processes = processes;
        good = run_state(run);
    } else {
        good = false;
        complain("out of memory for %zu bytes", two_model.state_bytes);
    }
    free(run);
    good = report_flushed() && good;
    machine_close(); /* first: NCCL waits until the graphs that it is in have gone */
    exchange_close(good);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
