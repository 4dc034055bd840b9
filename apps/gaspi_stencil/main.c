/*
 * gaspi_stencil [CELLS [STEPS [BLOCKS]]] - heat in a rod of BLOCKS blocks of CELLS cells for each
 * process, by the calls of GASPI in a kernel; compared with one thread's result, bit by bit.
 */
#include <GASPI.h>
#include <GASPI_Ext.h>
#include <GASPI_GPU.h>

#include "gaspi_stencil.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

WEFT_KERNEL_DECLARE(rod_kernel);

/* The ends of the rod stay as they are. */
static double initial(size_t i, size_t all)
{
    return i == 0 ? 1.0 : i == all + 1 ? -1.0 : (double)(i * 7919 % 1000) / 997.0;
}

/* All cells after all steps, by one thread, with both ends; NULL: no memory. */
static double *serial(size_t all, int steps)
{
    double *row = malloc((all + 2) * sizeof(*row)), *next = malloc((all + 2) * sizeof(*next));

    if (row == NULL || next == NULL) {
        free(row);
        free(next);
        return NULL;
    }
    for (size_t i = 0; i < all + 2; i++)
        row[i] = next[i] = initial(i, all);
    for (int step = 0; step < steps; step++) {
        for (size_t i = 1; i <= all; i++)
            next[i] = (row[i - 1] + 2 * row[i] + row[i + 1]) * 0.25;
        double *const done = next;
        next = row;
        row = done;
    }
    free(next);
    return row;
}

/* The rows of a block as they are at first, and where they lie in the segment's copy. */
static double *rows_of(double *segment, const struct rod *rod, int block)
{
    return segment + (size_t)(2 * block) * (size_t)(rod->cells + 2);
}

static void fill(double *segment, const struct rod *rod, size_t first, size_t all)
{
    const size_t width = (size_t)rod->cells + 2;

    for (int b = 0; b < rod->blocks; b++)
        for (size_t i = 0; i < width; i++) {
            double *const rows = rows_of(segment, rod, b);
            rows[i] = rows[width + i] = initial(first + (size_t)b * (size_t)rod->cells + i, all);
        }
}

/* How many cells differ from those of one thread. */
static unsigned long wrong(double *segment, const struct rod *rod, size_t first,
                           const double *right)
{
    const size_t width = (size_t)rod->cells + 2;
    unsigned long count = 0;

    for (int b = 0; b < rod->blocks; b++) {
        const double *row = rows_of(segment, rod, b) + (rod->steps % 2 == 0 ? 0 : width);
        const double *want = right + first + (size_t)b * (size_t)rod->cells;
        for (size_t i = 1; i <= (size_t)rod->cells; i++)
            count += memcmp(&row[i], &want[i], sizeof(double)) != 0;
    }
    return count;
}

/* 0: this process's part is right. */
static int run(struct rod *rod, gaspi_rank_t rank, gaspi_rank_t ranks)
{
    weft_job *const job = gaspi_gpu_job();
    const size_t here = (size_t)rod->blocks * (size_t)rod->cells, all = here * ranks;
    const size_t bytes = (size_t)rod->blocks * 2 * ((size_t)rod->cells + 2) * sizeof(double);
    double *const copy = malloc(bytes), *const right = serial(all, rod->steps);
    unsigned long bad = 0, sum = 1;
    gaspi_pointer_t memory;
    double ms = 0;
    int failed = 1;

    if (copy == NULL || right == NULL)
        goto free_copies;
    fill(copy, rod, here * rank, all);
    if (gaspi_segment_create(SEGMENT, bytes, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_MEM_INITIALIZED) !=
            GASPI_SUCCESS ||
        gaspi_segment_ptr(SEGMENT, &memory) != GASPI_SUCCESS ||
        weft_copy(job, memory, copy, bytes) != WEFT_OK ||
        gaspi_gpu_table(&rod->gaspi) != GASPI_SUCCESS ||
        gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK) != GASPI_SUCCESS ||
        weft_run(job, rod, sizeof(*rod), &ms) != WEFT_OK ||
        weft_copy(job, copy, memory, bytes) != WEFT_OK)
        goto free_copies;
    bad = wrong(copy, rod, here * rank, right);
    if (gaspi_allreduce(&bad, &sum, 1, GASPI_OP_SUM, GASPI_TYPE_ULONG, GASPI_GROUP_ALL,
                        GASPI_BLOCK) != GASPI_SUCCESS)
        goto free_copies;
    failed = sum != 0;
    if (rank == 0 && !failed)
        printf(
            "gaspi_stencil: %zu cells, %d steps, %d processes, %.3f ms: equal to one thread's to "
            "the last bit\n",
            all, rod->steps, ranks, ms);
    else if (rank == 0)
        fprintf(stderr, "gaspi_stencil: %lu of %zu cells are wrong\n", sum, all);
free_copies:
    free(copy);
    free(right);
    return failed;
}

/* A number of the command line, from 1 to `most`; 0: it is none. */
static int number(const char *text, long most)
{
    char *end;
    const long value = strtol(text, &end, 10);

    return *end == '\0' && value > 0 && value <= most ? (int)value : 0;
}

int main(int argc, char **argv)
{
    struct rod rod = {.cells = 1000, .steps = 200, .blocks = 4};
    int *const values[] = {&rod.cells, &rod.steps, &rod.blocks};
    gaspi_rank_t rank, ranks;

    for (int i = 1; i < argc; i++)
        if (i > 3 || (*values[i - 1] = number(argv[i], 1 << 20)) == 0) {
            printf("usage: gaspi_stencil [CELLS [STEPS [BLOCKS]]]\n"
                   "Heat in a rod, by the calls of GASPI in a kernel.\n");
            return strcmp(argv[i], "--help") != 0;
        }
    if (gaspi_proc_init(GASPI_BLOCK) != GASPI_SUCCESS)
        return 1;
    gaspi_proc_rank(&rank);
    gaspi_proc_num(&ranks);
    int failed = weft_prepare(gaspi_gpu_job(), &rod_kernel, 128, rod.blocks) != WEFT_OK;
    if (!failed && weft_numbers_of(gaspi_gpu_job())->ranks_here < rod.blocks) {
        fprintf(stderr, "gaspi_stencil: this device holds %d blocks, not %d\n",
                weft_numbers_of(gaspi_gpu_job())->ranks_here, rod.blocks);
        failed = 1;
    }
    failed = failed || run(&rod, rank, ranks);
    return gaspi_proc_term(GASPI_BLOCK) != GASPI_SUCCESS || failed;
}
