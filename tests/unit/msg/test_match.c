/*
 * Matching, against a reference that looks through everything in its order: a million random posts,
 * arrivals, probes, takes and cancels, with wildcards, few and many senders and tags, lists that
 * are nearly empty and hundreds deep.
 */
#include "msg/match.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { OPERATIONS = 1000000, MOST = 512, PHASE = 20000 };

/* The reference: receives by post, messages by delivery; entries are numbers. */
struct line {
    int count;
    struct entry {
        int32_t from, tag;
        int number;
    } entry[MOST];
};

struct receive {
    struct weft_posted posted;
    int number;
};

struct message {
    struct weft_kept kept;
    int number;
};

struct world {
    struct weft_match match;
    struct line receives, messages;
    struct receive *by_post[MOST]; /* in the order of receives.entry */
    struct message *by_arrival[MOST];
    uint64_t random;
    int next, differ;
};

static uint32_t draw(struct world *w, uint32_t most)
{
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(w->random >> 33) % most;
}

static bool fits(int32_t wanted, int32_t is)
{
    return wanted == WEFT_MATCH_ANY || wanted == is;
}

/* The first of a line that fits; -1: none. wild: the wildcards are in the line. */
static int first(const struct line *line, int32_t from, int32_t tag, bool wild)
{
    for (int i = 0; i < line->count; i++) {
        const struct entry *e = &line->entry[i];
        if (wild ? fits(e->from, from) && fits(e->tag, tag)
                 : fits(from, e->from) && fits(tag, e->tag))
            return i;
    }
    return -1;
}

static void drop(struct line *line, void *pointers[], int at)
{
    line->count--;
    for (int i = at; i < line->count; i++) {
        line->entry[i] = line->entry[i + 1];
        pointers[i] = pointers[i + 1];
    }
}

static void append(struct line *line, void *pointers[], struct entry entry, void *pointer)
{
    line->entry[line->count] = entry;
    pointers[line->count++] = pointer;
}

static void compare(struct world *w, int got, int want)
{
    if (got != want)
        w->differ++;
}

/* A receive begins: it takes a message, or waits. */
static void post(struct world *w, int32_t from, int32_t tag)
{
    struct weft_kept *kept = weft_match_find(&w->match, from, tag);
    const int at = first(&w->messages, from, tag, false);
    struct message *message = kept != NULL ? (struct message *)kept : NULL;

    compare(w, message != NULL ? message->number : -1, at >= 0 ? w->messages.entry[at].number : -1);
    if (message != NULL) {
        weft_match_take(&w->match, kept);
        drop(&w->messages, (void **)w->by_arrival, at);
        free(message);
    } else if (w->receives.count < MOST) {
        struct receive *receive = calloc(1, sizeof(*receive));
        assert_non_null(receive);
        receive->posted.from = from;
        receive->posted.tag = tag;
        receive->number = w->next++;
        weft_match_post(&w->match, &receive->posted);
        append(&w->receives, (void **)w->by_post, (struct entry){from, tag, receive->number},
               receive);
    }
}

/* A message comes: a receive takes it, or it is kept. */
static void arrive(struct world *w, int32_t from, int32_t tag)
{
    const int at = first(&w->receives, from, tag, true);

    if (at < 0 && w->messages.count == MOST)
        return;
    struct receive *receive = (struct receive *)weft_match_arrive(&w->match, from, tag);
    compare(w, receive != NULL ? receive->number : -1, at >= 0 ? w->receives.entry[at].number : -1);
    if (receive != NULL) {
        drop(&w->receives, (void **)w->by_post, at);
        free(receive);
        return;
    }
    struct message *message = calloc(1, sizeof(*message));
    assert_non_null(message);
    message->kept.from = from;
    message->kept.tag = tag;
    message->number = w->next++;
    weft_match_keep(&w->match, &message->kept);
    append(&w->messages, (void **)w->by_arrival, (struct entry){from, tag, message->number},
           message);
}

static void cancel(struct world *w)
{
    if (w->receives.count == 0)
        return;
    const int at = (int)draw(w, (uint32_t)w->receives.count);
    weft_match_cancel(&w->match, &w->by_post[at]->posted);
    free(w->by_post[at]);
    drop(&w->receives, (void **)w->by_post, at);
}

static void step(struct world *w, uint32_t senders, uint32_t tags, uint32_t wild, uint32_t posts)
{
    const int32_t from = (int32_t)draw(w, senders), tag = (int32_t)draw(w, tags);
    const bool any_from = draw(w, 100) < wild, any_tag = draw(w, 100) < wild;
    const int32_t wanted = any_from ? WEFT_MATCH_ANY : from, with = any_tag ? WEFT_MATCH_ANY : tag;
    const uint32_t what = draw(w, 100);

    if (what < 5) {
        cancel(w);
    } else if (what < 15) {
        const struct weft_kept *kept = weft_match_find(&w->match, wanted, with);
        const int at = first(&w->messages, wanted, with, false);
        compare(w, kept != NULL ? ((const struct message *)kept)->number : -1,
                at >= 0 ? w->messages.entry[at].number : -1);
    } else if (what < 15 + posts) {
        post(w, wanted, with);
    } else {
        arrive(w, from, tag);
    }
}

static void test_reference(void **state)
{
    struct world *w = calloc(1, sizeof(*w));
    uint32_t senders = 1, tags = 1, wild = 0, posts = 42;

    (void)state;
    assert_non_null(w);
    w->random = 29;
    weft_match_open(&w->match);
    for (int i = 0; i < OPERATIONS; i++) {
        if (i % PHASE == 0) {
            senders = 1u << draw(w, 7);
            tags = 1u << draw(w, 10);
            wild = draw(w, 3) * 25;
            posts = 30 + draw(w, 26);
        }
        step(w, senders, tags, wild, posts);
    }
    while (w->receives.count > 0)
        cancel(w);
    while (w->messages.count > 0)
        post(w, WEFT_MATCH_ANY, WEFT_MATCH_ANY);
    printf("match: %d operations against the reference, %d differ\n", OPERATIONS, w->differ);
    assert_int_equal(w->differ, 0);
    assert_true(weft_match_empty(&w->match));
    free(w);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(test_reference)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
