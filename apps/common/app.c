/*
 * common/app.c - see app.h.
 */
#include "app.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool app_open(struct app *app, const struct program *program, int argc, char **argv)
{
    *app = (struct app){.program = program};
    signal(SIGPIPE, SIG_IGN); /* it would end one process, and thereby the job, in error */
    if (weft_open(&app->job, &argc, argv) != WEFT_OK)
        return false;
    app->numbers = weft_numbers_of(app->job);
    return settings_read(program, argc, argv, app->numbers->process == 0, &app->settings);
}

const char *app_device(const weft_job *job)
{
    const int me = weft_numbers_of(job)->process;

    return weft_process_kind(job, me) == WEFT_KIND_CUDA ? "cuda" : "cpu";
}

int app_close(struct app *app, bool good)
{
    if (app->settings.help)
        good = true;
    if (!app->job)
        return EXIT_FAILURE; /* weft_open has said why */
    if (weft_close(app->job) != WEFT_OK)
        good = false;
    if (!report_flushed())
        good = false;
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

bool app_prepare(struct app *app, const weft_kernel *kernel, int threads, uint64_t most_ranks)
{
    const struct settings *settings = &app->settings;
    int ranks = settings->ranks;
    if (most_ranks > 0 && (uint64_t)ranks > most_ranks)
        ranks = (int)most_ranks;
    if (settings->threads > 0)
        threads = settings->threads;
    if (weft_prepare(app->job, kernel, threads, ranks) != WEFT_OK)
        return false;
    /* Not asked for a number, a device chooses one; all of them decide alike. */
    int chosen = 0;
    for (int process = 0; process < app->numbers->processes; process++)
        if (weft_ranks_of(app->job, process) > chosen)
            chosen = weft_ranks_of(app->job, process);
    if (most_ranks > 0 && (uint64_t)chosen > most_ranks &&
        weft_prepare(app->job, kernel, threads, (int)most_ranks) != WEFT_OK)
        return false;
    for (int process = 1; process < app->numbers->processes; process++) {
        if (weft_ranks_of(app->job, process) == weft_ranks_of(app->job, 0))
            continue;
        if (app->numbers->process == 0)
            complain("process 0 has %d ranks and process %d has %d: use --ranks to make them equal",
                     weft_ranks_of(app->job, 0), process, weft_ranks_of(app->job, process));
        return false;
    }
    return true;
}

bool app_allocate(struct app *app, size_t bytes, void *memory)
{
    void *got = weft_malloc(app->job, bytes > 0 ? bytes : 1);
    if (!got) {
        weft_abort(app->job, "out of device memory");
        return false;
    }
    memcpy(memory, &got, sizeof(got));
    return true;
}

bool app_upload(struct app *app, const void *host, size_t bytes, void *memory)
{
    void *device;
    if (!app_allocate(app, bytes, &device) ||
        (bytes > 0 && weft_copy(app->job, device, host, bytes) != WEFT_OK))
        return false;
    memcpy(memory, &device, sizeof(device));
    return true;
}

void *app_host_memory(struct app *app, size_t bytes)
{
    void *memory = calloc(1, bytes + 1);
    if (!memory) {
        complain("out of memory for %zu bytes", bytes);
        weft_abort(app->job, "out of memory");
    }
    return memory;
}

/* Collective: the largest value, on all processes. */
static bool find_largest(struct app *app, double *value)
{
    const size_t processes = (size_t)app->numbers->processes;
    double *all = app_host_memory(app, processes * sizeof(*all));
    if (!all || weft_host_gather(app->job, 0, value, sizeof(*value), all) != WEFT_OK) {
        free(all);
        return false;
    }
    double largest = all[0];
    for (size_t i = 1; i < processes; i++)
        largest = all[i] > largest ? all[i] : largest;
    for (size_t i = 0; i < processes; i++)
        all[i] = largest;
    const bool good = weft_host_scatter(app->job, 0, all, value, sizeof(*value)) == WEFT_OK;
    free(all);
    return good;
}

bool app_all(struct app *app, bool good)
{
    double bad = !good;
    return find_largest(app, &bad) && bad == 0;
}

static bool run_once(struct app *app, void *user, size_t user_bytes, double *milliseconds)
{
    const double *intervals;
    size_t count;
    if (weft_run(app->job, user, user_bytes, NULL) != WEFT_OK ||
        weft_intervals(app->job, &intervals, &count) != WEFT_OK)
        return false;
    *milliseconds = count > 0 ? intervals[0] : 0;
    return find_largest(app, milliseconds);
}

bool app_repeat(struct app *app, bool (*prepare)(struct app *app, void *problem), void *problem,
                void *user, size_t user_bytes)
{
    const weft_numbers *numbers = app->numbers;
    const bool speaks = numbers->process == 0;
    struct report report = {.program = app->program,
                            .settings = &app->settings,
                            .variant = "weft",
                            .device = app_device(app->job),
                            .processes = numbers->processes,
                            .ranks = numbers->ranks_here,
                            .threads = numbers->threads};
    bool good = !speaks || report_begin(&report);
    if (!good)
        weft_abort(app->job, "out of memory");
    for (uint64_t i = 0; good && i < app->settings.repetitions; i++) {
        double milliseconds = 0;
        good = prepare(app, problem) && run_once(app, user, user_bytes, &milliseconds);
        if (good && speaks)
            report_repetition(&report, milliseconds, -1);
    }
    if (speaks)
        report_end(&report);
    return good;
}

bool app_gather(struct app *app, const void *device, size_t bytes, void *all)
{
    const bool root = app->numbers->process == 0;
    void *mine = app_host_memory(app, bytes);
    void *whole = root ? app_host_memory(app, bytes * (size_t)app->numbers->processes) : NULL;
    const bool good = mine && (!root || whole) &&
                      weft_copy(app->job, mine, device, bytes) == WEFT_OK &&
                      weft_host_gather(app->job, 0, mine, bytes, whole) == WEFT_OK;
    free(mine);
    if (!good) {
        free(whole);
        return false;
    }
    memcpy(all, &whole, sizeof(whole));
    return true;
}
