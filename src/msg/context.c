/* msg/context.c - see the header. Callers hold the lock. */
#include "msg/context.h"

#include <stdlib.h>
#include <string.h>

struct weft_msg_context **weft_context_bin(struct weft_contexts *contexts, weft_comm handle)
{
    const uint32_t number =
        weft_group_is(handle) ? handle >> WEFT_HANDLE_BITS : weft_handle_index(handle);

    return &contexts->bin[number % WEFT_CONTEXT_BINS];
}

struct weft_msg_context *weft_context_look(struct weft_contexts *contexts, weft_comm handle)
{
    struct weft_msg_context *found = *weft_context_bin(contexts, handle);

    while (found != NULL && found->handle != handle)
        found = found->next;
    if (found != NULL)
        contexts->last = found;
    return found;
}

struct weft_msg_context *weft_context_make(struct weft_contexts *contexts, weft_comm handle)
{
    struct weft_msg_context **bin = weft_context_bin(contexts, handle);
    struct weft_msg_context *made = calloc(1, sizeof(*made));

    if (made == NULL)
        return NULL;
    weft_match_open(&made->match);
    made->handle = handle;
    made->next = *bin;
    *bin = made;
    return made;
}

bool weft_context_know(struct weft_msg_context *context, const int *process, int members,
                       int processes)
{
    int *lists = malloc(((size_t)members + (size_t)processes) * sizeof(*lists));

    if (lists == NULL)
        return false;
    context->process = lists;
    context->member = lists + members;
    memcpy(context->process, process, (size_t)members * sizeof(*lists));
    for (int p = 0; p < processes; p++)
        context->member[p] = -1;
    for (int i = 0; i < members; i++)
        context->member[process[i]] = i;
    context->members = members;
    return true;
}

void weft_context_drop(struct weft_contexts *contexts, struct weft_msg_context *context)
{
    struct weft_msg_context **at = weft_context_bin(contexts, context->handle);
    struct weft_kept *kept;

    while (*at != context)
        at = &(*at)->next;
    *at = context->next;
    contexts->last = NULL;
    while ((kept = TAILQ_FIRST(&context->match.arrived)) != NULL) {
        weft_match_take(&context->match, kept);
        free(kept);
    }
    free(context->process);
    free(context);
}

void weft_contexts_close(struct weft_contexts *contexts)
{
    for (int i = 0; i < WEFT_CONTEXT_BINS; i++)
        while (contexts->bin[i] != NULL)
            weft_context_drop(contexts, contexts->bin[i]);
}
