/* order/order.c - the labels by name, and the one that is weakened in a mutation check. */
#include "order/order.h"

#include <string.h>

enum weft_order weft_mutation = ORDER_none;

static const char *const names[ORDER_COUNT] = {
    [ORDER_none] = "none",
#define ORDER_NAME(label, text) [ORDER_##label] = #label,
    WEFT_ORDER_MAP(ORDER_NAME) WEFT_ORDER_REMOTE_MAP(ORDER_NAME)
#undef ORDER_NAME
        [DRAIN_commands] = "drain_commands",
    [DRAIN_receive] = "drain_receive",
    [DRAIN_progress] = "drain_progress",
    [DRAIN_messages] = "drain_messages",
    [DRAIN_sources] = "drain_sources",
    [COPY_gate] = "gate",
    [COPY_go] = "go",
    [COPY_done] = "done",
};

enum weft_order weft_order_by_name(const char *name)
{
    for (int i = ORDER_none + 1; i < ORDER_COUNT; i++)
        if (strcmp(name, names[i]) == 0)
            return (enum weft_order)i;
    return ORDER_none;
}

const char *weft_order_name(enum weft_order label)
{
    return (unsigned)label < ORDER_COUNT ? names[label] : "?";
}
