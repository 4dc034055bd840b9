/* uts/uts.h - what the tasks and the host program share. */
#ifndef UTS_H
#define UTS_H

#include "tree.h"

enum {
    UTS_STACK = 4096, /* nodes, at most */
    UTS_NODES = 1000, /* that a task looks at before it gives */
    UTS_GIVES = 2     /* new tasks that it makes then */
};

struct search {
    struct tree tree;
    weft_win count; /* of each place: nodes, and stacks that were full */
};

#define SEARCHES(X) X(search)

#endif
