/*
 * msg/match.h - which message a receive takes: the matching of one context, and nothing else.
 *
 * A receive takes the first message that fits, by delivery; a message the first receive that fits,
 * by the order of posts. Receives that name sender and tag lie in bins by both, the others in one
 * list; each has its number, and of two that fit the lower one wins. Messages that no receive
 * fits are kept in bins, and all of them in the order of delivery, for receives with wildcards.
 *
 * Entries belong to the caller, who embeds them. One thread at a time.
 */
#ifndef WEFT_MSG_MATCH_H
#define WEFT_MSG_MATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

enum { WEFT_MATCH_BINS = 64, WEFT_MATCH_ANY = -1 };

/* A receive that waits. from, tag: WEFT_MATCH_ANY fits all. */
struct weft_posted {
    TAILQ_ENTRY(weft_posted) link;
    uint64_t number; /* its place in the order of all posts */
    int32_t from, tag;
};

/* A message that is there. */
struct weft_kept {
    TAILQ_ENTRY(weft_kept) in_bin, in_order;
    int32_t from, tag;
};

TAILQ_HEAD(weft_posted_list, weft_posted);
TAILQ_HEAD(weft_kept_list, weft_kept);

struct weft_match {
    struct weft_posted_list posted[WEFT_MATCH_BINS], wild;
    struct weft_kept_list kept[WEFT_MATCH_BINS], arrived;
    uint64_t posts;
};

void weft_match_open(struct weft_match *match);

/* A message comes: returns the receive that takes it, which waits no more; NULL: none fits. */
struct weft_posted *weft_match_arrive(struct weft_match *match, int32_t from, int32_t tag);
/* Keeps a message that no receive fits, behind all others. from and tag are set. */
void weft_match_keep(struct weft_match *match, struct weft_kept *kept);

/* Finds the first message that fits; it stays where it is. NULL: there is none. */
struct weft_kept *weft_match_find(const struct weft_match *match, int32_t from, int32_t tag);
/* Removes a message that is kept. */
void weft_match_take(struct weft_match *match, struct weft_kept *kept);

/* A receive waits, behind all others: weft_match_find found nothing. from and tag are set. */
void weft_match_post(struct weft_match *match, struct weft_posted *posted);
/* Removes a receive that waits. */
void weft_match_cancel(struct weft_match *match, struct weft_posted *posted);

/* Whether no receive waits and no message is kept. */
bool weft_match_empty(const struct weft_match *match);

#endif
