/* msg/match.c - see the header. */
#include "msg/match.h"

#include <stddef.h>

static uint32_t bin_of(int32_t from, int32_t tag)
{
    const uint32_t mixed = ((uint32_t)from * 0x9e3779b1u) ^ (uint32_t)tag;

    return (mixed ^ mixed >> 6) % WEFT_MATCH_BINS;
}

static bool is_wild(int32_t from, int32_t tag)
{
    return from == WEFT_MATCH_ANY || tag == WEFT_MATCH_ANY;
}

static bool fits(int32_t wanted, int32_t is)
{
    return wanted == WEFT_MATCH_ANY || wanted == is;
}

void weft_match_open(struct weft_match *match)
{
    for (int i = 0; i < WEFT_MATCH_BINS; i++) {
        TAILQ_INIT(&match->posted[i]);
        TAILQ_INIT(&match->kept[i]);
    }
    TAILQ_INIT(&match->wild);
    TAILQ_INIT(&match->arrived);
    match->posts = 0;
}

static struct weft_posted_list *list_of(struct weft_match *match, const struct weft_posted *posted)
{
    return is_wild(posted->from, posted->tag) ? &match->wild
                                              : &match->posted[bin_of(posted->from, posted->tag)];
}

struct weft_posted *weft_match_arrive(struct weft_match *match, int32_t from, int32_t tag)
{
    struct weft_posted_list *bin = &match->posted[bin_of(from, tag)];
    struct weft_posted *exact, *wild;

    TAILQ_FOREACH (exact, bin, link)
        if (exact->from == from && exact->tag == tag)
            break;
    TAILQ_FOREACH (wild, &match->wild, link)
        if ((exact != NULL && wild->number > exact->number) ||
            (fits(wild->from, from) && fits(wild->tag, tag)))
            break;
    if (wild != NULL && (exact == NULL || wild->number < exact->number)) {
        TAILQ_REMOVE(&match->wild, wild, link);
        return wild;
    }
    if (exact != NULL)
        TAILQ_REMOVE(bin, exact, link);
    return exact;
}

void weft_match_keep(struct weft_match *match, struct weft_kept *kept)
{
    TAILQ_INSERT_TAIL(&match->kept[bin_of(kept->from, kept->tag)], kept, in_bin);
    TAILQ_INSERT_TAIL(&match->arrived, kept, in_order);
}

struct weft_kept *weft_match_find(const struct weft_match *match, int32_t from, int32_t tag)
{
    struct weft_kept *kept;

    if (is_wild(from, tag)) {
        TAILQ_FOREACH (kept, &match->arrived, in_order)
            if (fits(from, kept->from) && fits(tag, kept->tag))
                break;
        return kept;
    }
    TAILQ_FOREACH (kept, &match->kept[bin_of(from, tag)], in_bin)
        if (kept->from == from && kept->tag == tag)
            break;
    return kept;
}

void weft_match_take(struct weft_match *match, struct weft_kept *kept)
{
    TAILQ_REMOVE(&match->kept[bin_of(kept->from, kept->tag)], kept, in_bin);
    TAILQ_REMOVE(&match->arrived, kept, in_order);
}

void weft_match_post(struct weft_match *match, struct weft_posted *posted)
{
    posted->number = match->posts++;
    TAILQ_INSERT_TAIL(list_of(match, posted), posted, link);
}

void weft_match_cancel(struct weft_match *match, struct weft_posted *posted)
{
    TAILQ_REMOVE(list_of(match, posted), posted, link);
}

bool weft_match_empty(const struct weft_match *match)
{
    for (int i = 0; i < WEFT_MATCH_BINS; i++)
        if (!TAILQ_EMPTY(&match->posted[i]))
            return false;
    return TAILQ_EMPTY(&match->wild) && TAILQ_EMPTY(&match->arrived);
}
