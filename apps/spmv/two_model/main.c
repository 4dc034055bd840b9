/*
 * spmv/two_model/main.c - the host of the two-model form: launches and exchanges.
 *
 * What exchange.h asks for holds by the barrier: a process enters it when it has used all that it
 * received. The barrier itself is made of messages (dissemination: in round r to the process 2^r
 * after), so that it can be part of a graph; its slots alternate, since a process may still look at
 * the last barrier's when the first of the next arrives.
 */
#include "model.h"
#include "phases.h"
#include "problem.h"

#include <stdlib.h>
#include <string.h>

enum { THREADS = 256, SLOT_B = 0, SLOT_PARTIAL = 1, SLOT_BARRIER = 24 };

struct state {
    int process, processes;
    struct spmv_problem problem;
    struct spmv_step step;
    uint32_t threads;
    char *arena;
    size_t token; /* offset of the barrier's words: one to send, and one for each slot */
    /* Offsets of the matrix; it lies in the arena's memory, too, which a put never reaches. */
    size_t row_start, column_of, value, long_row;
    size_t bytes;
};

static size_t entries_of(const struct state *state)
{
    return state->problem.row_start[state->problem.block.rows];
}

/* Room for the largest block of any process: arenas are of one size. */
static bool reserve(struct state *state)
{
    struct spmv_layout *layout = &state->problem.layout;
    const struct spmv_block *block = &state->problem.block;
    double entries = (double)entries_of(state), rows = block->long_rows;
    if (!exchange_largest(&entries) || !exchange_largest(&rows))
        return false;
    state->token = spmv_reserve(layout, (1 + 64) * sizeof(uint64_t));
    state->row_start = spmv_reserve(layout, layout->partial_bytes + sizeof(uint32_t));
    state->column_of = spmv_reserve(layout, (size_t)entries * sizeof(uint32_t));
    state->value = spmv_reserve(layout, (size_t)entries * sizeof(double));
    state->long_row = spmv_reserve(layout, (size_t)rows * sizeof(uint32_t));
    state->bytes = layout->bytes;
    return true;
}

static bool plan(void *argument, const struct settings *settings, int process, int processes,
                 size_t *bytes)
{
    struct state *state = argument;
    state->process = process;
    state->processes = processes;
    state->threads = machine_threads(settings->threads > 0 ? (uint32_t)settings->threads : THREADS);
    state->problem.program = &spmv_program;
    if (!spmv_make(&state->problem, settings, process, processes, state->threads) ||
        !reserve(state))
        return false;
    *bytes = state->bytes;
    return true;
}

static bool place(void *argument, char *arena)
{
    struct state *state = argument;
    const struct spmv_problem *problem = &state->problem;
    struct spmv_step *step = &state->step;
    state->arena = arena;
    step->block = problem->block;
    step->block.row_start = (uint32_t *)(arena + state->row_start);
    step->block.column_of = (uint32_t *)(arena + state->column_of);
    step->block.value = (double *)(arena + state->value);
    step->block.long_row = (uint32_t *)(arena + state->long_row);
    step->b = (double *)(arena + problem->layout.b);
    step->x = (double *)(arena + problem->layout.x);
    return machine_copy(arena + state->row_start, problem->row_start,
                        (problem->block.rows + (size_t)1) * sizeof(uint32_t)) &&
           machine_copy(arena + state->column_of, problem->column_of,
                        entries_of(state) * sizeof(uint32_t)) &&
           machine_copy(arena + state->value, problem->value, entries_of(state) * sizeof(double)) &&
           machine_copy(arena + state->long_row, problem->long_row,
                        problem->block.long_rows * sizeof(uint32_t));
}

/* b with the other sign: each product begins by changing it. */
static bool begin(void *argument)
{
    const struct state *state = argument;
    const uint32_t columns = state->problem.block.columns;
    double *b = malloc((columns + (size_t)1) * sizeof(*b));
    if (!b) {
        complain_as(&spmv_program, "out of memory for a vector");
        return false;
    }
    for (uint32_t i = 0; i < columns; i++)
        b[i] = state->problem.grid.row == 0 ? -state->problem.b[i] : 0;
    const bool good = machine_copy(state->step.b, b, columns * sizeof(*b));
    free(b);
    return good;
}

static uint32_t blocks_for(const struct state *state, uint32_t elements)
{
    return (elements + state->threads - 1) / state->threads;
}

/* Down the grid column: in the round of `reach`, rows that have b send it so far down. */
static bool pass_b(const struct state *state)
{
    const struct spmv_grid *grid = &state->problem.grid;
    for (uint32_t reach = 1u << spmv_rounds(grid->rows) >> 1; reach > 0; reach /= 2) {
        struct message message = {.slot = SLOT_B,
                                  .from = state->problem.layout.b,
                                  .to = state->problem.layout.b,
                                  .bytes = state->problem.block.columns * sizeof(double)};
        const bool sends = grid->row % (2 * reach) == 0 && grid->row + reach < grid->rows;
        const bool receives = grid->row % (2 * reach) == reach;
        message.process = state->process + (int)((sends ? 1 : -1) * (int)(reach * grid->columns));
        if ((sends || receives) && !model_exchange(&message, sends, &message, receives))
            return false;
    }
    return true;
}

/* Along the grid row to column 0. */
static bool reduce_x(const struct state *state)
{
    const struct spmv_grid *grid = &state->problem.grid;
    const struct spmv_layout *layout = &state->problem.layout;
    struct spmv_step step = state->step;
    size_t partial = layout->partial;
    int slot = SLOT_PARTIAL;
    for (uint32_t reach = 1; reach < grid->columns; reach *= 2, slot++) {
        struct message message = {.slot = slot,
                                  .from = layout->x,
                                  .to = partial,
                                  .bytes = state->problem.block.rows * sizeof(double)};
        if (grid->column % (2 * reach) == reach) {
            message.process = state->process - (int)reach;
            return model_exchange(&message, 1, NULL, 0);
        }
        if (grid->column % (2 * reach) == 0 && grid->column + reach < grid->columns) {
            message.process = state->process + (int)reach;
            if (!model_exchange(NULL, 0, &message, 1))
                return false;
            step.partial = (const double *)(state->arena + partial);
            launch_spmv_add(&step, blocks_for(state, step.block.rows), 1, state->threads);
        }
        partial += layout->partial_bytes;
    }
    return true;
}

static bool barrier(const struct state *state, uint64_t k)
{
    const uint32_t processes = (uint32_t)state->processes;
    for (uint32_t round = 0, reach = 1; reach < processes; round++, reach *= 2) {
        const int slot = SLOT_BARRIER + 2 * (int)round + (int)(k % 2);
        const struct message send = {.process =
                                         (int)(((uint32_t)state->process + reach) % processes),
                                     .slot = slot,
                                     .from = state->token,
                                     .to = state->token + (1 + (size_t)slot) * sizeof(uint64_t),
                                     .bytes = sizeof(uint64_t)};
        struct message receive = send;
        receive.process = (int)(((uint32_t)state->process + processes - reach) % processes);
        if (!model_exchange(&send, 1, &receive, 1))
            return false;
    }
    return true;
}

static bool one_step(void *argument, uint64_t k)
{
    const struct state *state = argument;
    const struct spmv_block *block = &state->step.block;
    const uint32_t groups = state->threads / block->lanes;
    const uint32_t blocks = (block->rows + groups - 1) / groups;
    if (state->problem.grid.row == 0)
        launch_spmv_negate(&state->step, blocks_for(state, block->columns), 1, state->threads);
    if (!pass_b(state))
        return false;
    launch_spmv_multiply(&state->step, blocks + block->long_rows, 1, state->threads);
    return reduce_x(state) && barrier(state, k);
}

static bool verify(void *argument, const struct settings *settings)
{
    const struct state *state = argument;
    char *all;
    if (!model_gather(state->step.x, state->problem.layout.partial_bytes, state->process,
                      state->processes, &all))
        return false;
    const bool good = state->process > 0 || spmv_check(&state->problem, settings, all);
    free(all);
    return good;
}

static void end(void *argument)
{
    struct state *state = argument;
    spmv_free(&state->problem);
}

int main(int argc, char **argv)
{
    static const struct model model = {
        .program = &spmv_program,
        .problem_bytes = sizeof(struct state),
        .plan = plan,
        .place = place,
        .begin = begin,
        .step = one_step,
        .verify = verify,
        .end = end,
    };
    return model_main(&model, argc, argv);
}
