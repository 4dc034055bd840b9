/*
 * spmv/two_model/main.c - products in the two-model form, and the barrier between them.
 *
 * What exchange.h asks for holds by the barrier: a process enters it when it has used all that it
 * received. The barrier itself is made of notices (dissemination: in round r to the process 2^r
 * after), so that it can be part of a graph; its slots alternate, since a process may still look at
 * the last barrier's when the first of the next arrives.
 */
#include "product.h"

#include <stdlib.h>

static bool plan(void *state, size_t *bytes)
{
    struct product *product = state;
    if (!product_make(product))
        return false;
    *bytes = product->problem.layout.bytes;
    return true;
}

static bool place(void *state)
{
    return product_place(state);
}

/* b with the other sign: each product begins by changing it. */
static bool begin(void *state)
{
    const struct product *product = state;
    const struct spmv_problem *problem = &product->problem;
    const uint32_t columns = problem->block.columns;
    double *b = malloc((columns + (size_t)1) * sizeof(*b));
    if (!b) {
        complain("out of memory for a vector");
        return false;
    }
    for (uint32_t i = 0; i < columns; i++)
        b[i] = problem->grid.row == 0 ? -problem->b[i] : 0;
    const bool good = machine_copy(product->step.b, b, columns * sizeof(*b));
    free(b);
    return good;
}

static bool barrier(const struct product *product, uint64_t k)
{
    const uint32_t processes = (uint32_t)product->run.processes;
    const uint32_t process = (uint32_t)product->run.process;
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

static bool one_step(void *state, uint64_t k)
{
    const struct product *product = state;
    if (product->problem.grid.row == 0)
        launch_spmv_negate(&product->step, product_blocks(product, product->step.block.columns), 1,
                           product->run.threads);
    return product_pass(product) && product_run(product, product->problem.layout.x) &&
           barrier(product, k);
}

static const void *result(const void *state, size_t *bytes)
{
    const struct product *product = state;
    *bytes = product->problem.layout.partial_bytes;
    return product->step.x;
}

static bool check(const void *state, const void *all)
{
    const struct product *product = state;
    return spmv_check(&product->problem, product->run.settings, all);
}

const struct model two_model = {
    .program = &spmv_program,
    .state_bytes = sizeof(struct product),
    .threads = PRODUCT_THREADS,
    .plan = plan,
    .place = place,
    .begin = begin,
    .step = one_step,
    .result = result,
    .check = check,
    .end = product_end,
};
