/* uts/uts.h - what the tasks and the host program share. */
#ifndef UTS_H
#define UTS_H

#include "tree.h"

enum { UTS_STACK = 4096, UTS_NODES = 1000 }; /* nodes of a path, at most; that a task looks at */

struct search {
    struct tree tree;
    weft_win count; /* a word of each place */
};

#define SEARCHES(X) X(search)

#endif
