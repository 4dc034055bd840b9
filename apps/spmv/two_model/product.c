/*
 * spmv/two_model/product.c - see product.h.
 */
#include "product.h"

enum { SLOT_B = 0, SLOT_PARTIAL = 1 };

static size_t entries_of(const struct product *product)
{
    return product->problem.row_start[product->problem.block.rows];
}

/* Room for the largest block of any process: arenas are laid out alike. */
static bool reserve(struct product *product)
{
    struct spmv_layout *layout = &product->problem.layout;
    double entries = (double)entries_of(product), rows = product->problem.block.long_rows;
    if (!exchange_largest(&entries) || !exchange_largest(&rows))
        return false;
    product->row_start = spmv_reserve(layout, layout->partial_bytes + sizeof(uint32_t));
    product->column_of = spmv_reserve(layout, (size_t)entries * sizeof(uint32_t));
    product->value = spmv_reserve(layout, (size_t)entries * sizeof(double));
    product->long_row = spmv_reserve(layout, (size_t)rows * sizeof(uint32_t));
    return true;
}

bool product_make(struct product *product)
{
    const struct model_run *run = &product->run;
    return spmv_make(&product->problem, run->settings, run->process, run->processes,
                     run->threads) &&
           reserve(product);
}

void product_end(void *product)
{
    spmv_free(&((struct product *)product)->problem);
}

bool product_place(struct product *product)
{
    char *arena = product->run.arena;
    const struct spmv_problem *problem = &product->problem;
    struct spmv_step *step = &product->step;
    step->block = problem->block;
    step->block.row_start = (uint32_t *)(arena + product->row_start);
    step->block.column_of = (uint32_t *)(arena + product->column_of);
    step->block.value = (double *)(arena + product->value);
    step->block.long_row = (uint32_t *)(arena + product->long_row);
    step->b = (double *)(arena + problem->layout.b);
    step->x = (double *)(arena + problem->layout.x);
    return machine_copy(arena + product->row_start, problem->row_start,
                        (problem->block.rows + (size_t)1) * sizeof(uint32_t)) &&
           machine_copy(arena + product->column_of, problem->column_of,
                        entries_of(product) * sizeof(uint32_t)) &&
           machine_copy(arena + product->value, problem->value,
                        entries_of(product) * sizeof(double)) &&
           machine_copy(arena + product->long_row, problem->long_row,
                        problem->block.long_rows * sizeof(uint32_t));
}

uint32_t product_blocks(const struct product *product, uint32_t elements)
{
    return (elements + product->run.threads - 1) / product->run.threads;
}

/* In the round of `reach`, rows that have b send it so far down. */
bool product_pass(const struct product *product)
{
    const struct spmv_grid *grid = &product->problem.grid;
    const size_t b = product->problem.layout.b;
    for (uint32_t reach = 1u << spmv_rounds(grid->rows) >> 1; reach > 0; reach /= 2) {
        const bool sends = grid->row % (2 * reach) == 0 && grid->row + reach < grid->rows;
        const bool receives = grid->row % (2 * reach) == reach;
        const int away = (int)(reach * grid->columns);
        const struct message message = {.process = product->run.process + (sends ? away : -away),
                                        .slot = SLOT_B,
                                        .from = b,
                                        .to = b,
                                        .bytes = product->problem.block.columns * sizeof(double)};
        if ((sends || receives) && !model_exchange(&message, sends, &message, receives))
            return false;
    }
    return true;
}

static void multiply(const struct product *product, const struct spmv_step *step)
{
    const uint32_t groups = product->run.threads / step->block.lanes;
    const uint32_t blocks = (step->block.rows + groups - 1) / groups;
    launch_spmv_multiply(step, blocks + step->block.long_rows, 1, product->run.threads);
}

/* Along the grid row to column 0. */
static bool reduce_x(const struct product *product, struct spmv_step *step, size_t x)
{
    const struct spmv_grid *grid = &product->problem.grid;
    size_t partial = product->problem.layout.partial;
    int slot = SLOT_PARTIAL;
    for (uint32_t reach = 1; reach < grid->columns; reach *= 2, slot++) {
        struct message message = {.slot = slot,
                                  .from = x,
                                  .to = partial,
                                  .bytes = product->problem.block.rows * sizeof(double)};
        if (grid->column % (2 * reach) == reach) {
            message.process = product->run.process - (int)reach;
            return model_exchange(&message, 1, NULL, 0);
        }
        if (grid->column % (2 * reach) == 0 && grid->column + reach < grid->columns) {
            message.process = product->run.process + (int)reach;
            if (!model_exchange(NULL, 0, &message, 1))
                return false;
            step->partial = (const double *)(product->run.arena + partial);
            launch_spmv_add(step, product_blocks(product, step->block.rows), 1,
                            product->run.threads);
        }
        partial += product->problem.layout.partial_bytes;
    }
    return true;
}

bool product_run(const struct product *product, size_t x)
{
    struct spmv_step step = product->step;
    step.x = (double *)(product->run.arena + x);
    multiply(product, &step);
    return reduce_x(product, &step, x);
}
