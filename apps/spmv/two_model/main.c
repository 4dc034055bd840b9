/*
 * spmv/two_model/main.c - products in the two-model form, and the barrier between them.
 *
 * What exchange.h asks for holds by the barrier: a process enters it when it has used all that it
 * received. The barrier itself is made of notices (dissemination: in round r to the process 2^r
 * after), so that it can be part of a graph; its slots alternate, since a process may still look at
 * the last barrier's when the first of the next arrives.
 */
#include "model.h"
#include "product.h"

#include <stdlib.h>

struct state {
    struct product product;
};

static bool plan(void *argument, const struct settings *settings, int process, int processes,
                 size_t *bytes)
{
    struct state *state = argument;
    struct spmv_problem *problem = &state->product.problem;
    problem->program = &spmv_program;
    if (!product_make(&state->product, settings, process, processes))
        return false;
    *bytes = problem->layout.bytes;
    return true;
}

static bool place(void *argument, char *arena)
{
    struct state *state = argument;
    return product_place(&state->product, arena);
}

/* b with the other sign: each product begins by changing it. */
static bool begin(void *argument)
{
    const struct state *state = argument;
    const struct spmv_problem *problem = &state->product.problem;
    const uint32_t columns = problem->block.columns;
    double *b = malloc((columns + (size_t)1) * sizeof(*b));
    if (!b) {
        complain_as(&spmv_program, "out of memory for a vector");
        return false;
    }
    for (uint32_t i = 0; i < columns; i++)
        b[i] = problem->grid.row == 0 ? -problem->b[i] : 0;
    const bool good = machine_copy(state->product.step.b, b, columns * sizeof(*b));
    free(b);
    return good;
}

static bool barrier(const struct state *state, uint64_t k)
{
    const uint32_t processes = (uint32_t)state->product.processes;
    const uint32_t process = (uint32_t)state->product.process;
    for (uint32_t round = 0, reach = 1; reach < processes; round++, reach *= 2) {
        const struct message send = {.process = (int)((process + reach) % processes),
                                     .slot = PRODUCT_SLOTS + 2 * (int)round + (int)(k % 2)};
        struct message receive = send;
        receive.process = (int)((process + processes - reach) % processes);
        if (!model_exchange(&send, 1, &receive, 1))
            return false;
    }
    return true;
}

static bool one_step(void *argument, uint64_t k)
{
    const struct state *state = argument;
    const struct product *product = &state->product;
    if (product->problem.grid.row == 0)
        launch_spmv_negate(&product->step, product_blocks(product, product->step.block.columns), 1,
                           product->threads);
    return product_run(product, product->problem.layout.x) && barrier(state, k);
}

static bool verify(void *argument, const struct settings *settings)
{
    const struct state *state = argument;
    const struct product *product = &state->product;
    char *all;
    if (!model_gather(product->step.x, product->problem.layout.partial_bytes, product->process,
                      product->processes, &all))
        return false;
    const bool good = product->process > 0 || spmv_check(&product->problem, settings, all);
    free(all);
    return good;
}

static void end(void *argument)
{
    struct state *state = argument;
    spmv_free(&state->product.problem);
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
