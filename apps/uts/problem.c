/* uts/problem.c - see problem.h. */
#include "problem.h"

#include "uts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct tree tree_make(bool binomial, uint32_t depth, struct node *root)
{
    const double branching = 4, p = 1 / (1 + branching), unit = 2147483648.0;
    struct tree tree = {.geometric = !binomial,
                        .depth = depth,
                        .root = 2000,
                        .children = 8,
                        .below = (uint32_t)ceil(0.124875 * unit)};

    for (int k = 1; k <= TREE_MOST_CHILDREN; k++) {
        uint32_t low = 0, high = 2147483648u; /* the least number with k children */
        while (low < high) {
            const uint32_t middle = low + (high - low) / 2;
            if (floor(log(1 - middle / unit) / log(1 - p)) >= k)
                high = middle;
            else
                low = middle + 1;
        }
        tree.at_least[k] = low;
    }
    tree_root(&tree, binomial ? 42 : 19, root);
    return tree;
}

uint64_t tree_count_serial(const struct tree *tree, const struct node *root)
{
    struct node *path = malloc(UTS_STACK * sizeof(*path));
    uint64_t seen = 1;

    path[0] = *root;
    for (int at = path[0].count != 0; at > 0;) {
        if (path[at - 1].next == path[at - 1].count) {
            at--;
            continue;
        }
        tree_child(tree, &path[at - 1], path[at - 1].next++, &path[at]);
        seen++;
        if (path[at].count != 0 && ++at == UTS_STACK) {
            fprintf(stderr, "uts: a path has more than %d nodes\n", UTS_STACK);
            exit(1);
        }
    }
    free(path);
    return seen;
}
