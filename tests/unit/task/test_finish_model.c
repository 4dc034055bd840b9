/*
 * The protocols of src/task/steal.h and src/task/finish.h as a model: all interleavings of 3 places
 * and 4 tasks, of which one spawns two, and a place may steal from any other. In every schedule
 * each task runs once, "finished" comes when all have run and not before, and it does come. Each
 * mutant, a protocol with one rule left out, is found.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PLACES = 3, TASKS = 4, NOBODY = 0xff };

enum mutant {
    SOUND,
    ASK_TWICE,     /* a thief asks again although its first ask is not answered */
    KEEP_GRANTED,  /* who grants a task leaves it in its queue */
    BOOK_AT_THIEF, /* a task that is granted leaves its owner's books */
    BOOK_LATE,     /* a child is booked when its parent is over */
    ONE_WAVE,      /* reports alone decide */
    NO_FLUSH,      /* a report may overtake the one before */
    MUTANTS
};

enum what { ABSENT, QUEUED, GRANTED, RUNS, RETURNS, DONE };

struct task_state {
    uint8_t what, home, at; /* at: where it waits, runs, or is sent to */
    uint8_t spawned;        /* children, so far */
};

struct state {
    struct task_state task[TASKS];
    uint8_t created[PLACES], completed[PLACES];
    uint8_t asks[PLACES];    /* by thief: whom it has asked; NOBODY: it has no ask out */
    uint8_t granted[PLACES]; /* by thief: its grant has been written, and not been read */
    uint8_t reported[PLACES], report[PLACES][2]; /* last sent; under way: value + 1, oldest first */
    uint8_t table[PLACES];                       /* at place 0: the last that came, + 1 */
    uint8_t wave, before, sum; /* the prober: next place to read, and what it adds up */
    uint8_t tried;             /* the reports have not changed since it began */
    uint8_t finished, runs[TASKS];
};

/* ---- the states that have been seen ---------------------------------------------------------- */

enum { TABLE = 1 << 21 };
static struct state *seen, *stack;
static size_t seen_count, depth;
static uint8_t *used;

static bool is_new(const struct state *s)
{
    const unsigned char *bytes = (const unsigned char *)s;
    uint64_t hash = 1469598103934665603u;

    for (size_t i = 0; i < sizeof(*s); i++)
        hash = (hash ^ bytes[i]) * 1099511628211u;
    size_t at = (hash ^ hash >> 32) % TABLE;
    while (used[at] != 0) {
        if (memcmp(&seen[at], s, sizeof(*s)) == 0)
            return false;
        at = (at + 1) % TABLE;
    }
    seen[at] = *s;
    used[at] = 1;
    seen_count++;
    assert_true(seen_count < TABLE / 4 * 3);
    return true;
}

/* ---- what is wrong with a state -------------------------------------------------------------- */

static const char *wrong(const struct state *s)
{
    for (int t = 0; t < TASKS; t++) {
        if (s->runs[t] > 1)
            return "a task runs twice";
        if (s->finished && s->task[t].what != DONE)
            return "finished too early";
    }
    return NULL;
}

/* ---- steps: each changes a copy, which `next` takes ------------------------------------------ */

static bool next(struct state s)
{
    if (is_new(&s))
        stack[depth++] = s;
    return true;
}

/* Tasks 1 and 2 are spawned by task 0, of place 0; task 3 is place 1's own. */
static const uint8_t children[TASKS] = {2, 0, 0, 0};

static struct state start(void)
{
    struct state s;

    memset(&s, 0, sizeof(s));
    memset(s.asks, NOBODY, sizeof(s.asks));
    memset(s.reported, NOBODY, sizeof(s.reported));
    for (int t = 0; t < TASKS; t += 3) {
        s.task[t] =
            (struct task_state){.what = QUEUED, .home = (uint8_t)(t / 3), .at = (uint8_t)(t / 3)};
        s.created[t / 3]++;
    }
    return s;
}

static bool step_run(struct state s, int t, enum mutant mutant)
{
    struct task_state *task = &s.task[t];
    const int p = task->at;

    if (task->what == QUEUED) {
        task->what = RUNS;
        s.runs[t]++;
        return next(s);
    }
    if (task->what == RUNS && task->spawned < children[t]) {
        struct task_state *child = &s.task[++task->spawned];
        *child = (struct task_state){.what = QUEUED, .home = (uint8_t)p, .at = (uint8_t)p};
        if (mutant != BOOK_LATE)
            s.created[p]++;
        return next(s);
    }
    if (task->what == RUNS && task->home != p && mutant != BOOK_AT_THIEF) {
        task->what = RETURNS;
        task->at = task->home;
        return next(s);
    }
    if (task->what == RUNS || task->what == RETURNS) {
        task->what = DONE;
        s.completed[p]++;
        if (mutant == BOOK_LATE && children[t] != 0) { /* two steps: others may come between */
            task->spawned = NOBODY;
        }
        return next(s);
    }
    if (task->what == DONE && task->spawned == NOBODY) {
        task->spawned = children[t];
        s.created[p] = (uint8_t)(s.created[p] + children[t]);
        return next(s);
    }
    return false;
}

static bool step_ask(struct state s, int thief, int victim, enum mutant mutant)
{
    bool any = false;

    if (thief == victim || s.finished)
        return false;
    for (int t = 0; t < TASKS;
         t++) /* the victim has told of its load; what is not worth it, ends */
        any =
            any || (s.task[t].what == QUEUED && s.task[t].at == victim && s.task[t].home == victim);
    if (!any || (s.asks[thief] != NOBODY && mutant != ASK_TWICE))
        return false;
    s.asks[thief] = (uint8_t)victim;
    return next(s);
}

/* The victim writes one task, or none, into the thief's one place for grants. */
static bool step_grant(struct state s, int thief, int t, enum mutant mutant)
{
    const int victim = s.asks[thief];

    if (victim == NOBODY || (s.granted[thief] != 0 && mutant != ASK_TWICE))
        return false;
    if (t >= 0 && (s.task[t].what != QUEUED || s.task[t].at != victim || s.task[t].home != victim))
        return false;
    if (s.granted[thief] != 0) /* it overwrites the one before */
        for (int u = 0; u < TASKS; u++)
            if (s.task[u].what == GRANTED && s.task[u].at == thief)
                s.task[u].what = ABSENT;
    s.granted[thief] = 1;
    if (mutant == ASK_TWICE)
        s.asks[thief] = NOBODY;
    if (t >= 0 && mutant == KEEP_GRANTED) {
        s.runs[t]++; /* it runs there, and here */
        return next(s);
    }
    if (t >= 0) {
        s.task[t].what = GRANTED;
        s.task[t].at = (uint8_t)thief;
        if (mutant == BOOK_AT_THIEF)
            s.completed[victim]++;
    }
    return next(s);
}

static bool step_accept(struct state s, int thief, enum mutant mutant)
{
    if (s.granted[thief] == 0)
        return false;
    s.granted[thief] = 0;
    s.asks[thief] = NOBODY;
    for (int t = 0; t < TASKS; t++)
        if (s.task[t].what == GRANTED && s.task[t].at == thief) {
            s.task[t].what = QUEUED;
            if (mutant == BOOK_AT_THIEF)
                s.created[thief]++;
        }
    return next(s);
}

/* One report of a place is under way at most: it is flushed before another is sent. */
static bool step_report(struct state s, int p, enum mutant mutant)
{
    if (s.completed[p] != s.created[p] || s.reported[p] == s.completed[p] || s.finished)
        return false;
    if (s.report[p][0] != 0 && mutant != NO_FLUSH)
        return false;
    if (s.report[p][0] != 0 && s.report[p][1] != 0)
        return false;
    s.report[p][s.report[p][0] != 0] = (uint8_t)(s.completed[p] + 1);
    s.reported[p] = s.completed[p];
    return next(s);
}

static bool step_arrive(struct state s, int p, int which)
{
    if (s.report[p][which] == 0)
        return false;
    s.table[p] = s.report[p][which];
    s.report[p][which] = 0;
    if (which == 0 && s.report[p][1] != 0) {
        s.report[p][0] = s.report[p][1];
        s.report[p][1] = 0;
    }
    s.tried = 0;
    return next(s);
}

/* Place 0: one look at the reports, then one read of `created` a step. */
static bool step_probe(struct state s, enum mutant mutant)
{
    uint8_t sum = 0;

    if (s.finished || (s.wave == 0 && s.tried))
        return false;
    for (int p = 0; p < PLACES; p++) {
        if (s.table[p] == 0)
            return false;
        sum = (uint8_t)(sum + s.table[p] - 1);
    }
    if (mutant == ONE_WAVE) {
        s.finished = 1;
        return next(s);
    }
    if (s.wave == 0) {
        s.tried = 1;
        s.before = sum;
        s.sum = 0;
    }
    s.sum = (uint8_t)(s.sum + s.created[s.wave]);
    if (++s.wave == PLACES) {
        s.wave = 0;
        s.finished = s.sum == s.before;
    }
    return next(s);
}

static bool steps(const struct state *s, enum mutant mutant)
{
    bool any = step_probe(*s, mutant);

    for (int t = 0; t < TASKS; t++)
        any |= step_run(*s, t, mutant);
    for (int p = 0; p < PLACES; p++) {
        for (int other = 0; other < PLACES; other++)
            any |= step_ask(*s, p, other, mutant);
        for (int t = -1; t < TASKS; t++)
            any |= step_grant(*s, p, t, mutant);
        any |= step_accept(*s, p, mutant);
        any |= step_report(*s, p, mutant);
        any |= step_arrive(*s, p, 0);
        any |= step_arrive(*s, p, 1);
    }
    return any;
}

/* NULL: no state is wrong, and every end is "finished". */
static const char *explore(enum mutant mutant)
{
    const char *why = NULL;

    memset(used, 0, TABLE);
    seen_count = depth = 0;
    next(start());
    while (depth > 0 && why == NULL) {
        const struct state s = stack[--depth];
        why = wrong(&s);
        if (why == NULL && !steps(&s, mutant) && !s.finished)
            why = "it never ends";
    }
    printf("mutant %d: %zu states: %s\n", mutant, seen_count, why != NULL ? why : "sound");
    return why;
}

static void test_sound(void **unused)
{
    (void)unused;
    assert_null(explore(SOUND));
    assert_true(seen_count > 10000);
}

static void test_mutants(void **unused)
{
    (void)unused;
    for (int mutant = SOUND + 1; mutant < MUTANTS; mutant++)
        assert_non_null(explore((enum mutant)mutant));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sound),
                                       cmocka_unit_test(test_mutants)};

    seen = calloc(TABLE, sizeof(*seen));
    stack = calloc(TABLE, sizeof(*stack));
    used = calloc(TABLE, 1);
    if (seen == NULL || stack == NULL || used == NULL)
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(seen);
    free(stack);
    free(used);
    return failed;
}
