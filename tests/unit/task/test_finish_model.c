/*
 * The protocols of src/task/steal.h and src/task/finish.h as a model: all interleavings of 4 tasks,
 * of which one spawns two, at 3 places in one phase, and at 2 places in two, where one task comes
 * in either. A place may steal from any other. In every schedule each task runs once, a phase is
 * "finished" when all of its tasks have run and not before, and both phases do finish. Each mutant,
 * a protocol with one rule left out, is found.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { PLACES = 3, TASKS = 4, PHASES = 2, LATER = 3 /* this task */, NOBODY = 0xff };

enum mutant {
    SOUND,
    ASK_TWICE,     /* a thief asks again although its first ask is not answered */
    KEEP_GRANTED,  /* who grants a task leaves it in its queue */
    BOOK_AT_THIEF, /* a task that is granted leaves its owner's books */
    BOOK_LATE,     /* a child is booked when its parent is over */
    ONE_WAVE,      /* reports alone decide */
    NO_FLUSH,      /* a report may overtake the one before */
    BOOK_NOW,      /* a child is in the books that are open, not in its parent's */
    ANY_PHASE,     /* a report of the phase before counts, too */
    ONE_BOOK,      /* both phases have the same books */
    MUTANTS
};

enum what { ABSENT, QUEUED, GRANTED, RUNS, RETURNS, DONE };

static int places, phases; /* at most so many */
static bool lasting;       /* a task of the second phase goes on until the first has finished */

struct task_state {
    uint8_t what, home, at; /* at: where it waits, runs, or is sent to */
    uint8_t spawned, books; /* children, so far; that it is in */
    uint8_t phase;          /* of LATER */
};

struct state {
    struct task_state task[TASKS];
    uint8_t created[PHASES][PLACES], completed[PHASES][PLACES];
    uint8_t closed[PLACES], phase[PLACES]; /* phases that its host program closed, saw finished */
    uint8_t asks[PLACES];    /* by thief: whom it has asked; NOBODY: it has no ask out */
    uint8_t granted[PLACES]; /* by thief: its grant has been written, and not been read */
    uint8_t reported[PLACES], report[PLACES][2]; /* last sent; under way: value + 1, oldest first */
    uint8_t table[PLACES];                       /* at place 0: the last that came, + 1 */
    uint8_t wave, before, sum;     /* the prober: next place to read, and what it adds up */
    uint8_t tried;                 /* the reports have not changed since it began */
    uint8_t finished, runs[TASKS]; /* finished: phases */
};

/* ---- the states that have been seen ---------------------------------------------------------- */

enum { TABLE = 1 << 21 };
static struct state seen[TABLE], stack[TABLE];
static size_t seen_count, depth;
static uint8_t used[TABLE];

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
        const int phase = t == LATER ? s->task[t].phase : 0;
        if (s->finished > phase && s->task[t].what != DONE)
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

/* Tasks 1 and 2 are spawned by task 0, of place 0; the host program of place 1 creates task 3. */
static const uint8_t children[TASKS] = {2, 0, 0, 0};

static struct state start(void)
{
    struct state s;

    memset(&s, 0, sizeof(s));
    memset(s.asks, NOBODY, sizeof(s.asks));
    memset(s.reported, NOBODY, sizeof(s.reported));
    s.task[0].what = QUEUED;
    s.created[0][0] = 1;
    s.task[LATER].phase = PHASES; /* it has not come */
    if (phases > 1)
        return s;
    s.task[LATER] = (struct task_state){.what = QUEUED, .home = 1, .at = 1};
    s.created[0][1] = 1;
    memset(s.closed, 1, sizeof(s.closed));
    return s;
}

/* A host program closes its phase, or creates its task before. */
static bool step_close(struct state s, int p)
{
    const bool comes = p == 1 && s.task[LATER].what == ABSENT;

    if (s.closed[p] != s.phase[p] || s.closed[p] == phases || (comes && s.closed[p] + 1 == phases))
        return false;
    s.closed[p]++;
    return next(s);
}

static bool step_create(struct state s, enum mutant mutant)
{
    struct task_state *const task = &s.task[LATER];

    if (task->what != ABSENT || s.closed[1] == phases)
        return false;
    *task = (struct task_state){.what = QUEUED,
                                .home = 1,
                                .at = 1,
                                .books = mutant == ONE_BOOK ? 0 : s.closed[1],
                                .phase = s.closed[1]};
    s.created[task->books][1]++;
    return next(s);
}

static bool step_hear(struct state s, int p)
{
    if (s.phase[p] >= s.finished || s.finished == phases)
        return false;
    s.phase[p] = s.finished;
    return next(s);
}

static bool step_run(struct state s, int t, enum mutant mutant)
{
    struct task_state *task = &s.task[t];
    const int p = task->at;

    if (lasting && t == LATER && task->phase > s.finished)
        return false;
    if (task->what == QUEUED) {
        task->what = RUNS;
        s.runs[t]++;
        return next(s);
    }
    if (task->what == RUNS && task->spawned < children[t]) {
        struct task_state *child = &s.task[++task->spawned];
        *child = (struct task_state){
            .what = QUEUED, .home = (uint8_t)p, .at = (uint8_t)p, .books = task->books};
        if (mutant == BOOK_NOW)
            child->books = s.closed[p] != 0;
        if (mutant != BOOK_LATE)
            s.created[child->books][p]++;
        return next(s);
    }
    if (task->what == RUNS && task->home != p && mutant != BOOK_AT_THIEF) {
        task->what = RETURNS;
        task->at = task->home;
        return next(s);
    }
    if (task->what == RUNS || task->what == RETURNS) {
        task->what = DONE;
        s.completed[task->books][p]++;
        if (mutant == BOOK_LATE && children[t] != 0) /* two steps: others may come between */
            task->spawned = NOBODY;
        return next(s);
    }
    if (task->what == DONE && task->spawned == NOBODY) {
        task->spawned = children[t];
        s.created[0][p] = (uint8_t)(s.created[0][p] + children[t]);
        return next(s);
    }
    return false;
}

static bool step_ask(struct state s, int thief, int victim, enum mutant mutant)
{
    bool any = false;

    if (thief == victim || s.finished == phases)
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
            s.completed[s.task[t].books][victim]++;
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
                s.created[s.task[t].books][thief]++;
        }
    return next(s);
}

/* The phase that a place has closed and not seen finished: its books; PHASES: none. */
static int closing(const struct state *s, int p)
{
    return s->closed[p] != s->phase[p] ? s->closed[p] - 1 : PHASES;
}

enum { COUNTS = 16 }; /* a report: the phase, times this, and how many have completed */

/* One report of a place is under way at most: it is flushed before another is sent. */
static bool step_report(struct state s, int p, enum mutant mutant)
{
    const int phase = closing(&s, p), books = mutant == ONE_BOOK ? 0 : phase;
    const uint8_t *const completed = phase < PHASES ? &s.completed[books][p] : NULL;

    if (completed == NULL || *completed != s.created[books][p] ||
        s.reported[p] == phase * COUNTS + *completed)
        return false;
    if (s.report[p][0] != 0 && (mutant != NO_FLUSH || s.report[p][1] != 0))
        return false;
    s.reported[p] = (uint8_t)(phase * COUNTS + *completed);
    s.report[p][s.report[p][0] != 0] = (uint8_t)(s.reported[p] + 1);
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
    const int phase = closing(&s, 0), books = mutant == ONE_BOOK ? 0 : phase;
    uint8_t sum = 0;

    if (phase == PHASES || s.finished > phase || (s.wave == 0 && s.tried))
        return false;
    for (int p = 0; p < places && s.wave == 0; p++) {
        if (s.table[p] == 0 || (mutant != ANY_PHASE && (s.table[p] - 1) / COUNTS != phase))
            return false;
        sum = (uint8_t)(sum + (s.table[p] - 1) % COUNTS);
    }
    if (mutant == ONE_WAVE) {
        s.finished++;
        return next(s);
    }
    if (s.wave == 0) {
        s.tried = 1;
        s.before = sum;
        s.sum = 0;
    }
    s.sum = (uint8_t)(s.sum + s.created[books][s.wave]);
    if (++s.wave == places) {
        s.wave = 0;
        s.finished = (uint8_t)(s.finished + (s.sum == s.before));
    }
    return next(s);
}

static bool steps(const struct state *s, enum mutant mutant)
{
    bool any = step_probe(*s, mutant) | step_create(*s, mutant);

    for (int t = 0; t < TASKS; t++)
        any |= step_run(*s, t, mutant);
    for (int p = 0; p < places; p++) {
        for (int other = 0; other < places; other++)
            any |= step_ask(*s, p, other, mutant);
        for (int t = -1; t < TASKS; t++)
            any |= step_grant(*s, p, t, mutant);
        any |= step_close(*s, p) | step_hear(*s, p);
        any |= step_accept(*s, p, mutant);
        any |= step_report(*s, p, mutant);
        any |= step_arrive(*s, p, 0);
        any |= step_arrive(*s, p, 1);
    }
    return any;
}

/* NULL: no state is wrong, and every end is that of both phases. */
static const char *explore(enum mutant mutant, int with_places, int with_phases, bool lasts)
{
    const char *why = NULL;

    places = with_places;
    phases = with_phases;
    lasting = lasts;
    memset(used, 0, TABLE);
    seen_count = depth = 0;
    next(start());
    while (depth > 0 && why == NULL) {
        const struct state s = stack[--depth];
        why = wrong(&s);
        if (why == NULL && !steps(&s, mutant) && s.finished != phases)
            why = "it never ends";
    }
    printf("mutant %d, %d places, %d phases: %zu states: %s\n", mutant, places, phases, seen_count,
           why != NULL ? why : "sound");
    return why;
}

static void test_sound(void **unused)
{
    (void)unused;
    assert_null(explore(SOUND, 3, 1, false));
    assert_true(seen_count > 10000);
    assert_null(explore(SOUND, 2, 2, false));
    assert_true(seen_count > 10000);
    assert_null(explore(SOUND, 2, 2, true));
}

static void test_mutants(void **unused)
{
    (void)unused;
    for (int mutant = SOUND + 1; mutant < MUTANTS; mutant++)
        assert_true(explore((enum mutant)mutant, 3, 1, false) != NULL ||
                    explore((enum mutant)mutant, 2, 2, false) != NULL ||
                    explore((enum mutant)mutant, 2, 2, true) != NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sound),
                                       cmocka_unit_test(test_mutants)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
