/*
 * The epochs of src/task/record.h as a model: all interleavings of 4 tasks in 3 epochs at 2 places,
 * of one and of two ranks each. In every schedule each task reads what the one before it has
 * written in that epoch, no word is two ahead of who waits for it, and all epochs end. Each mutant,
 * a protocol with one rule left out, is found.
 *
 *     place 0: WRITE stores x; COPY puts x into place 1's copy of it; READ loads y from place 1
 *     place 1: WORK, in two steps, loads its copy of x and stores y
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { PLACES = 2, RANKS = 2, EPOCHS = 3, STEPS = 3, EDGES = 2, DIRTY = 0xff };
enum task { WRITE, COPY, READ, WORK, TASKS };

enum mutant {
    SOUND,
    NO_FAR_EDGE,    /* a copy does not wait for who reads the one before */
    NO_NEAR_EDGE,   /* nor a task for the copy of what it overwrites */
    OTHER_ORDER,    /* a place's steps are in no order that the edges agree with */
    LEFT_LATE,      /* a task's steps are counted anew when others may have begun them */
    EACH_TELLS,     /* each step says that the task is done, not the last one alone */
    WORD_OVERTAKES, /* a copy's word may arrive before its bytes */
    NO_FLUSH,       /* a copy is done here before its bytes are there */
    MUTANTS
};

struct step {
    uint8_t task, part;
};
static const struct {
    uint8_t steps;
    struct step step[STEPS];
} order[PLACES] = {{3, {{WRITE, 0}, {COPY, 0}, {READ, 0}}}, {2, {{WORK, 0}, {WORK, 1}}}};

static const uint8_t home[TASKS] = {0, 0, 0, 1}, parts[TASKS] = {1, 1, 1, 2};
static const bool tells[TASKS] = {false, true, true, true}; /* the other place waits for it */
static const struct {
    uint8_t edges;
    struct {
        uint8_t task, before; /* before: of the epoch before */
    } edge[EDGES];
} waits[TASKS] = {
    [WRITE] = {1, {{COPY, 1}}},
    [COPY] = {2, {{WRITE, 0}, {WORK, 1}}},
    [READ] = {1, {{WORK, 0}}},
    [WORK] = {2, {{COPY, 0}, {READ, 1}}},
};

enum what { IDLE, WAITS, RUNS, ENDS, FLUSHES, COUNTS };

struct state {
    uint8_t ticket[PLACES];
    struct {
        uint8_t what, ticket;
    } rank[PLACES][RANKS];
    uint8_t word[PLACES][TASKS], left[TASKS];
    uint8_t adding[TASKS]; /* to the other place's word: under way */
    uint8_t putting;       /* a copy's bytes are under way */
    uint8_t x, copy, y[2]; /* the epoch that has written it, + 1 */
    uint8_t wrong;
};

static int ranks;
static enum mutant mutant;

/* ---- the states that have been seen ---------------------------------------------------------- */

enum { TABLE = 1 << 20 };
static struct state seen[TABLE], stack[TABLE];
static uint8_t used[TABLE];
static size_t seen_count, depth;

static bool next(struct state s)
{
    const unsigned char *const bytes = (const unsigned char *)&s;
    uint64_t hash = 1469598103934665603u;

    for (size_t i = 0; i < sizeof(s); i++)
        hash = (hash ^ bytes[i]) * 1099511628211u;
    size_t at = (hash ^ hash >> 32) % TABLE;
    for (; used[at] != 0; at = (at + 1) % TABLE)
        if (memcmp(&seen[at], &s, sizeof(s)) == 0)
            return true;
    seen[at] = s;
    used[at] = 1;
    assert_true(++seen_count < TABLE / 4 * 3);
    stack[depth++] = s;
    return true;
}

/* ---- steps: each changes a copy, which `next` takes ------------------------------------------ */

static struct step step_of(int p, int ticket)
{
    const int at = ticket % order[p].steps;

    if (mutant == OTHER_ORDER && p == 0 && at < 2) /* the copy before what it waits for */
        return order[p].step[1 - at];
    return order[p].step[at];
}

static bool may_begin(struct state *s, int p, enum task task, int epoch)
{
    for (int i = 0; i < waits[task].edges; i++) {
        const int other = waits[task].edge[i].task;
        const int need = epoch + 1 - waits[task].edge[i].before;
        if ((mutant == NO_FAR_EDGE && task == COPY && other == WORK) ||
            (mutant == NO_NEAR_EDGE && task == WRITE))
            continue;
        if (s->word[p][other] < need)
            return false;
        s->wrong |= s->word[p][other] > need + 1;
    }
    return true;
}

/* What a step finds, as it begins and as it ends. */
static bool reads_well(const struct state *s, enum task task, int epoch)
{
    return task == WRITE  ? true
           : task == COPY ? s->x == epoch + 1
           : task == WORK ? s->copy == epoch + 1
                          : s->y[0] == epoch + 1 && s->y[1] == epoch + 1;
}

static void store(struct state *s, struct step step, uint8_t value)
{
    if (step.task == WRITE)
        s->x = value;
    if (step.task == WORK)
        s->y[step.part] = value;
}

/* The step is the last of its task, if there are several: others learn of it. */
static void tell(struct state *s, enum task task, int epoch)
{
    if (tells[task])
        s->adding[task]++;
    s->word[home[task]][task] = (uint8_t)(epoch + 1);
}

static void end(struct state *s, int p, int r, struct step step, int epoch)
{
    const enum task task = step.task;
    uint8_t *const what = &s->rank[p][r].what;

    *what = IDLE;
    if (task == COPY) {
        s->adding[task]++; /* behind its bytes */
        s->putting = 1;
        *what = FLUSHES;
        if (mutant == NO_FLUSH)
            s->word[p][task] = (uint8_t)(epoch + 1);
    } else if (parts[task] == 1) {
        tell(s, task, epoch);
    } else if (--s->left[task] == 0) {
        tell(s, task, epoch);
        if (mutant == LEFT_LATE)
            *what = COUNTS;
        else
            s->left[task] = parts[task];
    } else if (mutant == EACH_TELLS) {
        s->adding[task]++;
    }
}

static bool step_rank(struct state s, int p, int r)
{
    uint8_t *const what = &s.rank[p][r].what, *const ticket = &s.rank[p][r].ticket;
    const struct step step = step_of(p, *ticket);
    const int epoch = *ticket / order[p].steps;

    switch (*what) {
    case IDLE:
        if (s.ticket[p] == EPOCHS * order[p].steps)
            return false;
        *ticket = s.ticket[p]++;
        *what = WAITS;
        return next(s);
    case WAITS:
        if (!may_begin(&s, p, step.task, epoch))
            return false;
        s.wrong |= !reads_well(&s, step.task, epoch);
        store(&s, step, DIRTY);
        *what = RUNS;
        return next(s);
    case RUNS:
        s.wrong |= !reads_well(&s, step.task, epoch);
        store(&s, step, (uint8_t)(epoch + 1));
        *what = ENDS;
        return next(s);
    case ENDS:
        end(&s, p, r, step, epoch);
        return next(s);
    case FLUSHES:
        if (s.putting != 0)
            return false;
        s.word[p][COPY] = (uint8_t)(epoch + 1);
        *what = IDLE;
        return next(s);
    default:
        s.left[step.task] = parts[step.task];
        *what = IDLE;
        return next(s);
    }
}

/* The network reads a put's source when it likes. */
static bool step_arrive(struct state s)
{
    if (s.putting == 0)
        return false;
    s.putting = 0;
    s.copy = s.x;
    return next(s);
}

static bool step_add(struct state s, int task)
{
    if (s.adding[task] == 0 || (task == COPY && s.putting != 0 && mutant != WORD_OVERTAKES))
        return false;
    s.adding[task]--;
    s.word[1 - home[task]][task]++;
    return next(s);
}

static bool steps(const struct state *s)
{
    bool any = step_arrive(*s);

    for (int p = 0; p < PLACES; p++)
        for (int r = 0; r < ranks; r++)
            any |= step_rank(*s, p, r);
    for (int t = 0; t < TASKS; t++)
        any |= step_add(*s, t);
    return any;
}

static bool is_over(const struct state *s)
{
    for (int t = 0; t < TASKS; t++)
        for (int p = 0; p < PLACES; p++)
            if ((p == home[t] || tells[t]) && s->word[p][t] != EPOCHS)
                return false;
    return true;
}

/* NULL: no state is wrong, and every schedule ends. */
static const char *explore(enum mutant with, int with_ranks)
{
    struct state s;
    const char *why = NULL;

    mutant = with;
    ranks = with_ranks;
    memset(used, 0, sizeof(used));
    memset(&s, 0, sizeof(s));
    seen_count = depth = 0;
    memcpy(s.left, parts, sizeof(s.left));
    next(s);
    while (depth > 0 && why == NULL) {
        s = stack[--depth];
        if (s.wrong)
            why = "a task reads what is not written yet, or not any more, or a word is ahead";
        else if (!steps(&s) && !is_over(&s))
            why = "it never ends";
    }
    printf("mutant %d, %d ranks: %zu states: %s\n", with, with_ranks, seen_count,
           why != NULL ? why : "sound");
    return why;
}

static void test_sound(void **unused)
{
    (void)unused;
    for (int n = 1; n <= RANKS; n++) {
        assert_null(explore(SOUND, n));
        assert_true(seen_count > 200);
    }
}

static void test_mutants(void **unused)
{
    (void)unused;
    for (int m = SOUND + 1; m < MUTANTS; m++)
        assert_true(explore((enum mutant)m, 1) != NULL || explore((enum mutant)m, 2) != NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sound),
                                       cmocka_unit_test(test_mutants)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
