/*
 * support/net_later.c - an end whose data comes later than it is delivered, as where windows are a
 * device's memory: copies and notices wait in a queue. The receive side's alone.
 */
#include "order/atomic.h"
#include "support/net_ends.h"

/* Delivers what was given up to a mark. */
static void come(struct end *end, uint64_t mark)
{
    for (; end->later_done < mark; end->later_done++) {
        const struct end_later *next = &end->later[end->later_done % END_LATER];
        if (next->target != NULL)
            weft_deliver(next->target, next->source, next->bytes);
        else
            end_count_notice(end, next->process, next->notice);
    }
}

static void give_later(struct end *end, const struct end_later *later)
{
    if (end->later_given - end->later_done == END_LATER)
        come(end, end->later_done + 1);
    end->later[end->later_given++ % END_LATER] = *later;
}

static bool deliver(void *context, void *target, const void *source, size_t bytes)
{
    give_later(context, &(struct end_later){.target = target, .source = source, .bytes = bytes});
    return true;
}

static bool settle(void *context)
{
    struct end *end = context;

    come(end, end->later_given);
    return true;
}

static bool mark(void *context, uint64_t *mark)
{
    *mark = ((struct end *)context)->later_given;
    return true;
}

/* As late as one can be asked: some turns after, one thing after the other. */
static bool settled(void *context, uint64_t mark, bool *there)
{
    struct end *end = context;

    if (end->later_done < mark && ++end->asked % 4 == 0)
        come(end, mark - end->later_done > 20 ? end->later_done + 20 : mark);
    *there = end->later_done >= mark;
    return true;
}

void end_later_notice(struct end *end, const struct weft_net_delivery *delivery)
{
    give_later(end, &(struct end_later){.process = delivery->process, .notice = delivery->notice});
}

void end_delivers_later(struct end *end)
{
    end->device = (struct weft_net_device){
        .context = end, .deliver = deliver, .settle = settle, .mark = mark, .settled = settled};
}
