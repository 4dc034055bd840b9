/*
 * boot/history.h - the one order of a job's frames: a list that every member reads at its own
 * pace. A member's cursor stands on the last entry it has read; the entries before the slowest
 * cursor are freed. Not thread-safe: the hub's task or the local group's lock guards it.
 */
#ifndef WEFT_BOOT_HISTORY_H
#define WEFT_BOOT_HISTORY_H

#include "boot/frame.h"

struct weft_history_entry {
    struct weft_history_entry *next;
    uint64_t end;     /* bytes of all entries up to and with this one */
    uint32_t cursors; /* members whose last entry read is this one */
    struct weft_header header;
    size_t bytes;         /* length of `wire` */
    unsigned char wire[]; /* the header and the payload, as they are sent */
};

struct weft_history {
    struct weft_history_entry *first, *last;
};

/* Makes a history of one entry that nobody reads. False: no memory. */
bool weft_history_begin(struct weft_history *history);
void weft_history_end(struct weft_history *history);

/* Appends a copy of a frame. False: no memory. */
bool weft_history_append(struct weft_history *history, const struct weft_header *header,
                         const void *payload);

/* Returns a new cursor, which will read what is appended from now on. */
struct weft_history_entry *weft_history_join(struct weft_history *history);
/* Moves *cursor on to its next entry, which must exist. */
void weft_history_pass(struct weft_history *history, struct weft_history_entry **cursor);
void weft_history_leave(struct weft_history *history, struct weft_history_entry *cursor);

#endif
