/* boot/history.c - the one order of a job's frames, read by many cursors. */
#include "boot/history.h"

#include <stdlib.h>
#include <string.h>

bool weft_history_begin(struct weft_history *history)
{
    history->first = history->last = calloc(1, sizeof(struct weft_history_entry));
    return history->first != NULL;
}

static void free_first(struct weft_history *history)
{
    struct weft_history_entry *entry = history->first;

    history->first = entry->next;
    free(entry);
}

void weft_history_end(struct weft_history *history)
{
    while (history->first != NULL)
        free_first(history);
}

/* Frees what every cursor has left behind; the last entry stays, for those who join. */
static void trim(struct weft_history *history)
{
    while (history->first != history->last && history->first->cursors == 0)
        free_first(history);
}

bool weft_history_append(struct weft_history *history, const struct weft_header *header,
                         const void *payload)
{
    const size_t bytes = WEFT_HEADER_BYTES + header->bytes;
    struct weft_history_entry *entry = malloc(sizeof(*entry) + bytes);

    if (entry == NULL)
        return false;
    *entry = (struct weft_history_entry){
        .end = history->last->end + bytes, .header = *header, .bytes = bytes};
    weft_header_put(entry->wire, header);
    if (header->bytes > 0)
        memcpy(entry->wire + WEFT_HEADER_BYTES, payload, header->bytes);
    history->last->next = entry;
    history->last = entry;
    trim(history);
    return true;
}

struct weft_history_entry *weft_history_join(struct weft_history *history)
{
    history->last->cursors++;
    return history->last;
}

void weft_history_pass(struct weft_history *history, struct weft_history_entry **cursor)
{
    struct weft_history_entry *next = (*cursor)->next;

    (*cursor)->cursors--;
    next->cursors++;
    *cursor = next;
    trim(history);
}

void weft_history_leave(struct weft_history *history, struct weft_history_entry *cursor)
{
    cursor->cursors--;
    trim(history);
}
