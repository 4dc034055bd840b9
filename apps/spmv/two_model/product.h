/*
 * spmv/two_model/product.h - a product in the two-model form: the block of A on the device, b down
 * the grid column, the kernel, and x along the grid row. spmv and power_iteration are made of it.
 */
#ifndef SPMV_PRODUCT_H
#define SPMV_PRODUCT_H

#include "../problem.h"
#include "model.h"
#include "phases.h"

struct product {
    struct model_run run;
    struct spmv_problem problem; /* what comes before grid is the caller's to set */
    struct spmv_step step;
    size_t row_start, column_of, value, long_row; /* offsets of the matrix in the arena */
};

/*
 * Collective. Makes the block and reserves room for it in problem.layout, where the caller may
 * reserve more. Returns false after it has said why.
 */
bool product_make(struct product *product);
/* Copies the block to its place. */
bool product_place(struct product *product);
/* What the model's table has for the end: of a product, or of a state that begins with one. */
void product_end(void *product);

/*
 * b, at problem.layout.b on grid row 0, goes down the grid columns. exchange.h asks that it is sent
 * to a process again only after that has said that it is done.
 */
bool product_pass(const struct product *product);
/* One product: b, on all processes, becomes the x at this offset, on grid column 0. */
bool product_run(const struct product *product, size_t x);

/* Blocks for so many elements, one for each thread. */
uint32_t product_blocks(const struct product *product, uint32_t elements);

enum { PRODUCT_SLOTS = 24, PRODUCT_THREADS = 256 }; /* slots from there on are free */

#endif
