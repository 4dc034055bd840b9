/*
 * uts/kernel.cu - the task: it searches below its node, children from `next` on, and after so many
 * nodes gives what is left to new tasks, each half of a node's children.
 */
#include <weft/task.h>

#include "uts.h"

WEFT_TASK_IDS(SEARCHES)

/* Goes on from the path; *depth of it is left. Returns how many nodes it has seen. One thread. */
WEFT_DEVICE_FN uint32_t look(const struct tree *tree, struct node *path, uint32_t *depth)
{
    uint32_t seen = 0, at = *depth;

    while (at > 0 && at < UTS_STACK && seen < UTS_NODES) {
        struct node *const top = &path[at - 1];
        if (top->next == top->count) {
            at--;
            continue;
        }
        tree_child(tree, top, &path[at]);
        at += path[at].count != 0;
        seen++;
    }
    *depth = at;
    return seen;
}

/* Gives half of a node's children, or all, to a task; whether there was room. All threads. */
WEFT_DEVICE_FN int give(weft_self *self, weft_task_self *task, struct node *half, struct node *node)
{
    weft_task_desc desc = {0};

    weft_sync(self);
    if (weft_thread(self) == 0) {
        *half = *node;
        half->next = node->next + (node->count - node->next) / 2;
    }
    weft_sync(self);
    desc.body = search_id;
    desc.priority = 1;
    desc.arguments = half;
    desc.arguments_bytes = sizeof(*half);
    desc.datas = 1;
    desc.data[0].mode = WEFT_TASK_SCRATCH;
    desc.data[0].bytes = (UTS_STACK + 2) * sizeof(struct node);
    const int given = weft_task_spawn(self, task, &desc);
    if (given && weft_thread(self) == 0)
        node->count = half->next;
    weft_sync(self);
    return given;
}

WEFT_TASK(search, struct node, from)
{
    WEFT_SHARED(uint32_t, left, 2);
    const struct search *const search = (const struct search *)weft_task_user(task);
    struct node *const path = (struct node *)weft_task_data(task, 0) + 1, *const half = path - 1;
    uint64_t seen = 0;

    if (weft_thread(self) == 0) {
        path[0] = *from;
        left[0] = 1;
    }
    weft_sync(self);
    while (left[0] > 0) {
        weft_sync(self);
        if (weft_thread(self) == 0)
            left[1] = look(&search->tree, path, &left[0]);
        weft_sync(self);
        seen += left[1];
        /* From the root on: there is most below. */
        for (uint32_t i = 0; i < left[0]; i++)
            while (path[i].next < path[i].count && give(self, task, half, &path[i]))
                continue;
        weft_sync(self);
    }
    weft_fetch_add(self, search->count, weft_process(self), 0, seen);
}

WEFT_TASK_KERNEL(uts_tasks, SEARCHES, struct search)
