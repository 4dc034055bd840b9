/*
 * power_iteration/main.c - one process of the job: plan, distribute, run the kernel, report.
 */
#include "app.h"
#include "distribution.h"
#include "report.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

WEFT_KERNEL_DECLARE(power_iteration);

/* Collective: every process gets its plan. problem and blocks are filled on process 0. */
static weft_status make_plan(weft_job *job, int argc, char **argv, struct problem *problem,
                             struct blocks *blocks, struct plan *plan)
{
    const struct weft_numbers *numbers = weft_numbers_of(job);
    struct plan *plans = NULL;
    if (numbers->process == 0) {
        plans = calloc((size_t)numbers->processes, sizeof(*plans));
        if (!plans) {
            complain("out of memory for %d plans", numbers->processes);
            weft_abort(job, "power_iteration: out of memory");
            return WEFT_ERR_MEMORY;
        }
        if (!problem_load(problem, numbers->processes, argc, argv) ||
            !blocks_cut(problem, numbers->processes, plans, blocks)) {
            for (int i = 0; i < numbers->processes; i++)
                plans[i] = (struct plan){.help = problem->options.help};
        }
    }
    weft_status status = weft_host_scatter(job, 0, plans, plan, sizeof(*plan));
    free(plans);
    return status;
}

/* Whether ranks can keep their rows beside them, most of them at least. */
static bool can_keep(const struct plan *plan, int ranks)
{
    const uint64_t rows = plan->shape.n / plan->shape.rows;
    return rows / (uint64_t)ranks <= KEPT_ROWS &&
           plan->mean_entries / (uint64_t)ranks <= KEPT_ENTRIES;
}

/* Collective: prepares the kernel and completes plan->shape. All devices must have as many ranks.
 */
static weft_status prepare(weft_job *job, struct plan *plan)
{
    const struct weft_numbers *numbers = weft_numbers_of(job);
    const int most = (int)plan->shape.ranks;
    weft_status status = weft_prepare(job, &power_iteration, POWER_THREADS, most);
    if (status == WEFT_OK && !can_keep(plan, weft_ranks_of(job, 0))) {
        weft_limit_shared(job, 0); /* the room is worth more as cache */
        status = weft_prepare(job, &power_iteration, POWER_THREADS, most);
    }
    if (status != WEFT_OK)
        return status;
    int ranks = weft_ranks_of(job, 0);
    for (int process = 1; process < numbers->processes; process++) {
        if (weft_ranks_of(job, process) == ranks)
            continue;
        if (numbers->process == 0)
            complain("process 0 has %d ranks and process %d has %d: use --ranks to make them equal",
                     ranks, process, weft_ranks_of(job, process));
        return WEFT_ERR_UNSUPPORTED;
    }
    plan->shape.ranks = (uint64_t)ranks;
    if (numbers->process == 0 && !plan->silent)
        printf("matrix: %" PRIu64 " rows; grid: %" PRIu64 "x%" PRIu64 " processes of %d rank%s\n",
               plan->shape.n, plan->shape.rows, plan->shape.columns, ranks, ranks == 1 ? "" : "s");
    fflush(stdout); /* before the kernel's own lines */
    return WEFT_OK;
}

static void print_result(const struct problem *problem, const struct power_data *data,
                         const struct power_result *result, double milliseconds)
{
    printf("iterations: %" PRIu64 ", %s\n", result->iterations,
           data->outcome == POWER_LIMIT ? "NOT CONVERGED" : "converged");
    printf("time: %.3f ms, %.3f ms an iteration\n", milliseconds,
           milliseconds / (double)result->iterations);
    if (data->outcome == POWER_ZERO)
        printf("A b is zero: no power of the matrix has a dominant eigenvalue\n");
    if (!data->pagerank) {
        printf("residual: %.3e\n", check_residual(&problem->matrix, result));
        printf("dominant eigenvalue: %.12g\n", result->eigenvalue * problem->scale);
    }
    problem_print_top(problem, result);
}

static bool check(const struct problem *problem, const struct power_result *result)
{
    double error;
    if (!check_against_serial(&problem->matrix, problem->options.pagerank, result, &error)) {
        complain("out of memory for the serial reference");
        return false;
    }
    bool good = error <= CHECK_TOLERANCE;
    fprintf(problem->options.csv ? stderr : stdout, "check: %s, %.3e from the serial result\n",
            good ? "passed" : "FAILED", error);
    return good;
}

/* Process 0, after the run. Returns whether the result is right. */
static bool report(const struct problem *problem, const struct power_data *data, double *vector,
                   double milliseconds)
{
    struct power_result result = {
        .iterations = data->done, .eigenvalue = data->eigenvalue, .vector = vector};
    if (data->outcome == POWER_NO_WINDOW) {
        complain("the kernel could not create its window");
        return false;
    }
    if (!problem->options.csv)
        print_result(problem, data, &result, milliseconds);
    return !problem->options.check || check(problem, &result);
}

/* Process 0, after a repetition: a line as the other case studies have it (common/report.h). */
static void print_line(const weft_job *job, const struct power_data *data, uint64_t repetition,
                       double milliseconds)
{
    const struct weft_numbers *numbers = weft_numbers_of(job);

    if (repetition == 1)
        printf(REPORT_HEADER "\n");
    printf("power_iteration,weft,%s,%d,%d,%d,%" PRIu64 ",%" PRIu64 ",%.6f,\n", app_device(job),
           numbers->processes, numbers->ranks_here, numbers->threads, data->done, repetition,
           milliseconds);
    fflush(stdout);
}

/* Collective: runs the kernel so many times. *milliseconds: of the last one. */
static bool repeat(weft_job *job, const struct problem *problem, const struct plan *plan,
                   struct power_data *data, double *milliseconds)
{
    const struct weft_numbers *numbers = weft_numbers_of(job);
    for (uint64_t repetition = 1; repetition <= plan->repetitions; repetition++) {
        const double *intervals = NULL;
        size_t count = 0;
        if ((repetition > 1 && restart(job, data) != WEFT_OK) ||
            weft_run(job, data, sizeof(*data), NULL) != WEFT_OK ||
            weft_intervals(job, &intervals, &count) != WEFT_OK)
            return false;
        *milliseconds = count > 0 ? intervals[0] : 0;
        if (numbers->process == 0 && problem->options.csv)
            print_line(job, data, repetition, *milliseconds);
    }
    return true;
}

/* Collective: everything between the plan and the end. Returns whether all is well here. */
static bool iterate(weft_job *job, const struct problem *problem, const struct blocks *blocks,
                    struct plan *plan)
{
    struct power_data data;
    double milliseconds = 0;
    if (prepare(job, plan) != WEFT_OK || distribute(job, plan, blocks, &data) != WEFT_OK ||
        !repeat(job, problem, plan, &data, &milliseconds))
        return false;

    bool root = weft_numbers_of(job)->process == 0;
    double *vector = root ? malloc(data.shape.n * sizeof(*vector)) : NULL;
    if (root && !vector) {
        complain("out of memory for the result");
        weft_abort(job, "power_iteration: out of memory");
        return false;
    }
    bool good = collect(job, &data, vector) == WEFT_OK;
    if (good && root)
        good = report(problem, &data, vector, milliseconds);
    free(vector);
    return good;
}

int main(int argc, char **argv)
{
    weft_job *job;
    signal(SIGPIPE, SIG_IGN); /* it would end one process, and thereby the job, in error */
    if (weft_open(&job, &argc, argv) != WEFT_OK)
        return EXIT_FAILURE;

    struct problem problem = {0};
    struct blocks blocks = {0};
    struct plan plan;
    bool good = make_plan(job, argc, argv, &problem, &blocks, &plan) == WEFT_OK;
    if (good && plan.go)
        good = iterate(job, &problem, &blocks, &plan);
    else if (good)
        good = plan.help;
    blocks_free(&blocks);
    problem_free(&problem);
    if (weft_close(job) != WEFT_OK)
        good = false;
    good = report_flushed() && good;
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
