/* uts/problem.h - the trees of the benchmark, and what they must count, for host programs. */
#ifndef UTS_PROBLEM_H
#define UTS_PROBLEM_H

#include "tree.h"

#include <stdbool.h>

/* UTS's T1 (geometric, depth 10) and T3 (binomial), and its root. */
struct tree tree_make(bool binomial, uint32_t depth, struct node *root);

/* How many nodes there are, counted by one thread. */
uint64_t tree_count_serial(const struct tree *tree, const struct node *root);

#endif
