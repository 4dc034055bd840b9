/*
 * power_iteration/two_model/main.c - the power iteration in the two-model form: a product, and then
 * x becomes b: the sums over x and its pieces go from grid column 0 to all processes, in one
 * exchange.
 *
 * What exchange.h asks for holds without a barrier. Who sends in step k has the sums of step k - 1
 * of all processes of column 0. Each of them was sent when the product of its whole grid row had
 * been added up, so after every process had normalised what came in step k - 2: of raw and of the
 * sums there are two, of the x that others add up one.
 */
#include "check.h"
#include "phases.h"
#include "spmv/two_model/product.h"

#include <math.h>
#include <stdlib.h>

/* Slots: by the parity of the step, and by the grid row that sends. */
enum { MOST_SIDE = 32, SLOT_SUMS = PRODUCT_SLOTS, SLOT_PIECE = SLOT_SUMS + 2 * MOST_SIDE };

static const struct program program = {
    .name = "power_iteration",
    .about =
        "The dominant eigenvalue of a sparse matrix, on a grid of processes: as many iterations "
        "as were asked for.",
    .takes_matrix = true,
    .iterations = {9, 100, 50},
    .size = {{"rows", "as many entries as so a block", 1, 1 << 24, {60, 10816, 108160}},
             {"nonzeros", "of a million entries", 1, 1000000, {100000, 3000, 3000}},
             {0}},
};

struct state {
    struct product product;
    size_t x[2], raw[2], totals[2]; /* offsets: of even and of odd steps */
    size_t parts, eigenvalue;
    struct power_step step[2];
    uint32_t sum_threads;
};

struct part {
    uint64_t begin, end;
};

static uint64_t order(const struct state *state)
{
    return state->product.problem.all_rows;
}

static struct part part_of(uint64_t n, uint64_t parts, uint64_t i)
{
    return (struct part){n * i / parts, n * (i + 1) / parts};
}

/* What x of grid row `row` and b of grid column `column` have in common. */
static struct part common(const struct state *state, uint32_t row, uint32_t column)
{
    const struct spmv_grid *grid = &state->product.problem.grid;
    const struct part x = part_of(order(state), grid->rows, row);
    const struct part b = part_of(order(state), grid->columns, column);
    const struct part both = {x.begin > b.begin ? x.begin : b.begin, x.end < b.end ? x.end : b.end};
    return both.begin < both.end ? both : (struct part){0, 0};
}

static bool plan(void *argument, size_t *bytes)
{
    struct state *state = argument;
    struct spmv_problem *problem = &state->product.problem;
    problem->square = problem->tall = true;
    if (!product_make(&state->product))
        return false;
    const struct spmv_grid *grid = &problem->grid;
    struct spmv_layout *layout = &problem->layout;
    if (grid->rows > MOST_SIDE) {
        complain("a grid of more than %d rows", MOST_SIDE);
        return false;
    }
    state->x[0] = layout->x;
    state->x[1] = spmv_reserve(layout, layout->partial_bytes);
    for (int parity = 0; parity < 2; parity++) {
        state->raw[parity] =
            spmv_reserve(layout, (order(state) / grid->columns + 1) * sizeof(double));
        state->totals[parity] = spmv_reserve(layout, grid->rows * sizeof(struct power_step_sums));
    }
    state->parts = spmv_reserve(layout, POWER_SUM_BLOCKS * sizeof(struct power_step_sums));
    state->eigenvalue = spmv_reserve(layout, sizeof(double));
    state->sum_threads = machine_threads(POWER_SUM_THREADS);
    *bytes = layout->bytes;
    return true;
}

/* On column 0 a process's own sums, and what it needs of its x, stay there. */
static bool place(void *argument)
{
    struct state *state = argument;
    char *arena = state->product.run.arena;
    const struct spmv_problem *problem = &state->product.problem;
    const struct spmv_grid *grid = &problem->grid;
    const struct part local = grid->column == 0 ? common(state, grid->row, 0) : (struct part){0, 0};
    for (int parity = 0; parity < 2; parity++) {
        struct power_step *step = &state->step[parity];
        step->x = (const double *)(arena + state->x[parity]);
        step->before = (const double *)(arena + state->x[1 - parity]);
        step->b = (double *)(arena + problem->layout.b);
        step->raw = (double *)(arena + state->raw[parity]);
        step->rows = problem->block.rows;
        step->columns = problem->block.columns;
        step->parts = (struct power_step_sums *)(arena + state->parts);
        step->totals = (struct power_step_sums *)(arena + state->totals[parity]);
        step->grid_row = grid->row;
        step->grid_rows = grid->rows;
        step->eigenvalue = (double *)(arena + state->eigenvalue);
        step->local = (uint32_t)(local.end - local.begin);
        step->local_from =
            (uint32_t)(local.begin - part_of(order(state), grid->rows, grid->row).begin);
        step->local_to = (uint32_t)local.begin;
    }
    return product_place(&state->product);
}

/* Elements first .. of the start vector to an offset of the arena. */
static bool put_start(const struct state *state, struct part range, double factor, size_t offset)
{
    const size_t count = range.end - range.begin;
    double *start = malloc((count + 1) * sizeof(*start));
    if (!start) {
        complain("out of memory for a vector");
        return false;
    }
    for (size_t i = 0; i < count; i++)
        start[i] = factor * power_start(false, order(state), range.begin + i);
    const bool good =
        machine_copy(state->product.run.arena + offset, start, count * sizeof(*start));
    free(start);
    return good;
}

static bool begin(void *argument)
{
    const struct state *state = argument;
    const struct spmv_grid *grid = &state->product.problem.grid;
    const uint64_t n = order(state);
    return put_start(state, part_of(n, grid->columns, grid->column), 1 / power_start_norm(n),
                     state->product.problem.layout.b) &&
           put_start(state, part_of(n, grid->rows, grid->row), 1, state->x[1]);
}

/*
 * Process (row, 0) to a process of this column: what of the sums and of x it has for that, as
 * `other` and this process, one of which it is, see it. Returns how many messages.
 */
static int list(const struct state *state, uint32_t row, uint32_t column, int other, uint64_t k,
                struct message *messages)
{
    const struct spmv_grid *grid = &state->product.problem.grid;
    const struct part piece = common(state, row, column);
    const size_t from = piece.begin - part_of(order(state), grid->rows, row).begin;
    const size_t to = piece.begin - part_of(order(state), grid->columns, column).begin;
    const size_t sums = state->totals[k % 2] + row * sizeof(struct power_step_sums);
    const int slot = (int)(k % 2 * MOST_SIDE + row);
    if (other == state->product.run.process)
        return 0; /* itself: the kernels see to it */
    messages[0] = (struct message){.process = other,
                                   .slot = SLOT_SUMS + slot,
                                   .from = sums,
                                   .to = sums,
                                   .bytes = sizeof(struct power_step_sums)};
    if (piece.begin == piece.end)
        return 1;
    messages[1] = (struct message){.process = other,
                                   .slot = SLOT_PIECE + slot,
                                   .from = state->x[k % 2] + from * sizeof(double),
                                   .to = state->raw[k % 2] + to * sizeof(double),
                                   .bytes = (piece.end - piece.begin) * sizeof(double)};
    return 2;
}

static bool transpose(const struct state *state, uint64_t k)
{
    const struct spmv_grid *grid = &state->product.problem.grid;
    const int columns = (int)grid->columns;
    struct message sends[2 * MOST_SIDE * MOST_SIDE], receives[2 * MOST_SIDE];
    int sent = 0, received = 0;
    for (int to = 0; grid->column == 0 && to < state->product.run.processes; to++)
        sent += list(state, grid->row, (uint32_t)(to % columns), to, k, sends + sent);
    for (int row = 0; row < (int)grid->rows; row++)
        received += list(state, (uint32_t)row, grid->column, row * columns, k, receives + received);
    return model_exchange(sends, sent, receives, received);
}

static bool one_step(void *argument, uint64_t k)
{
    const struct state *state = argument;
    const struct product *product = &state->product;
    const struct spmv_grid *grid = &product->problem.grid;
    const struct power_step *step = &state->step[k % 2];
    const uint32_t threads = state->sum_threads;
    if (!product_run(product, state->x[k % 2]))
        return false;
    if (grid->column == 0) {
        launch_power_sum_parts(step, POWER_SUM_BLOCKS, 1, threads);
        launch_power_sum_up(step, 1 + (step->local + threads - 1) / threads, 1, threads);
    }
    if (!transpose(state, k))
        return false;
    /* one more thread than elements: the eigenvalue is wanted without any, too */
    launch_power_normalise(step, product_blocks(product, step->columns + 1), 1,
                           product->run.threads);
    return true;
}

static size_t block_of(const struct state *state)
{
    return order(state) / state->product.problem.grid.columns + 1;
}

/* The b of the processes of row 0, one after the other, and the eigenvalue. */
static bool check(const void *argument, const void *all)
{
    const struct state *state = argument;
    const struct settings *settings = state->product.run.settings;
    struct spmv_problem whole = {.square = true, .grid = state->product.problem.grid};
    const uint64_t n = order(state), columns = whole.grid.columns;
    const double *blocks = all;
    struct power_result found = {.iterations = settings->iterations,
                                 .vector = malloc((n + 1) * sizeof(double))};
    double error = INFINITY;
    bool good =
        machine_copy(&found.eigenvalue, state->step[0].eigenvalue, sizeof(found.eigenvalue)) &&
        found.vector && spmv_make_rows(&whole, settings, 1, 0, &whole.strip);
    for (uint64_t column = 0; good && column < columns; column++) {
        const struct part part = part_of(n, columns, column);
        for (uint64_t i = part.begin; i < part.end; i++)
            found.vector[i] = blocks[column * block_of(state) + i - part.begin];
    }
    if (good && !check_against_serial(&whole.strip, false, &found, &error))
        complain("out of memory for the serial reference");
    free(found.vector);
    spmv_free(&whole);
    return good &&
           report_check(settings, "difference from the serial result", error, CHECK_TOLERANCE);
}

static const void *result(const void *argument, size_t *bytes)
{
    const struct state *state = argument;
    *bytes = block_of(state) * sizeof(double);
    return state->product.step.b;
}

const struct model two_model = {
    .program = &program,
    .state_bytes = sizeof(struct state),
    .threads = PRODUCT_THREADS,
    .plan = plan,
    .place = place,
    .begin = begin,
    .step = one_step,
    .result = result,
    .check = check,
    .end = product_end,
};
