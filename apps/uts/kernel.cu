/*
 * uts/kernel.cu - the task: its rank keeps a stack of nodes whose children are not all looked at,
 * and each thread makes a child of the highest ones. Now and then the lowest node, below which
 * there is most, gives half of its children to a new task.
 */
#include <weft/task.h>

#include "uts.h"

WEFT_TASK_IDS(SEARCHES)

/* What a thread looks at: child `number` of a node of the stack. */
struct step {
    uint32_t node, number;
    struct node child;
};

/* The turn-th child from the top that nobody has looked at. False: there are fewer. */
WEFT_DEVICE_FN int find(const struct node *stack, uint32_t height, uint32_t turn, struct step *step)
{
    for (step->node = height; step->node-- > 0;) {
        const struct node *const node = &stack[step->node];
        if (turn < node->count - node->next) {
            step->number = node->next + turn;
            return 1;
        }
        turn -= node->count - node->next;
    }
    return 0;
}

/*
 * One child for each thread, as far as there are some: those that have children themselves take the
 * places of the nodes that have none left. *height: of the stack. Returns how many. All threads.
 */
WEFT_DEVICE_FN uint32_t look(weft_self *self, const struct tree *tree, struct node *stack,
                             uint32_t *height)
{
    WEFT_SHARED(uint32_t, base, 1);
    const uint32_t room = UTS_STACK - *height, threads = (uint32_t)weft_threads(self);
    const uint32_t most = room < threads ? room : threads, turn = (uint32_t)weft_thread(self);
    uint32_t place = 0, all; /* upper half: children; lower half: those that go to the stack */
    struct step step = {0};

    if (turn == 0)
        *base = 0;
    if (turn < most && find(stack, *height, turn, &step)) {
        tree_child(tree, &stack[step.node], step.number, &step.child);
        place = 1 << 16 | (step.child.count != 0);
    }
    const uint32_t mine = place;
    weft_block_scan(self, &place, WEFT_U32, WEFT_SUM, &all);
    if (turn == most - 1 && mine != 0) { /* below its node all is left */
        stack[step.node].next = step.number + 1;
        *base = step.node + (step.number + 1 < stack[step.node].count);
    }
    weft_sync(self);
    if ((mine & 1) != 0)
        stack[*base + (place & 0xffff) - 1] = step.child;
    *height = *base + (all & 0xffff);
    weft_sync(self);
    return all >> 16;
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
    const struct search *const search = (const struct search *)weft_task_user(task);
    struct node *const stack = (struct node *)weft_task_data(task, 0) + 1, *const half = stack - 1;
    uint64_t seen = 0, since = 0; /* it has given */
    uint32_t height = 1, lowest = 0;

    if (weft_thread(self) == 0)
        stack[0] = *from;
    weft_sync(self);
    while (height > 0) {
        since += look(self, &search->tree, stack, &height);
        if (height == UTS_STACK) { /* the host program says so */
            weft_fetch_add(self, search->count, weft_process(self), sizeof(seen), 1);
            return;
        }
        if (since < UTS_NODES)
            continue;
        seen += since;
        since = 0;
        for (lowest = 0; lowest < height && stack[lowest].next == stack[lowest].count;)
            lowest++;
        for (int i = 0; i < UTS_GIVES && lowest < height; i++)
            if (!give(self, task, half, &stack[lowest]))
                break;
            else if (stack[lowest].next == stack[lowest].count)
                lowest++;
    }
    weft_fetch_add(self, search->count, weft_process(self), 0, seen + since);
}

WEFT_TASK_KERNEL(uts_tasks, SEARCHES, struct search)
