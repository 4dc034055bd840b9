/* device/cpu/team.c - see the header. */
#include "device/cpu/team.h"

#include "base/fiber.h"
#include "device/port.h"
#include "order/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__thread struct weft_strand weft_strand = {0, 1, -1};

static void act_as(int thread, int threads)
{
    weft_strand_set(thread, threads, weft_strand_get().rank);
}

/* What WEFT_SHARED declares. */
struct shared {
    struct shared *next;
    const void *key;
    size_t bytes;
    unsigned char memory[] __attribute__((aligned(64)));
};

struct thread {
    struct weft_fiber *fiber;
    struct weft_call *call; /* in which it waits; NULL: it runs, or can */
    bool ended;
};

struct weft_thread_team {
    struct weft_port *port;
    void (*run)(void *);
    void *argument;
    int threads, current;
    int waiting;       /* threads that wait in a call, */
    int ended;         /* and that have ended */
    uint64_t meetings; /* so far; those that follow one another differ in the last bit, */
    char ordered[2];   /* for which there is an address each that ThreadSanitizer knows */
    struct shared *shared;
    struct thread thread[];
};

/* Gives way to a thread, and returns when another gives way to this one. */
WEFT_UNSEEN static void give_way(struct weft_thread_team *team, int to)
{
    const int me = team->current;
    struct weft_fiber *const next = team->thread[to].fiber;
    const struct weft_strand strand = weft_strand_get();

    team->current = to;
    WEFT_PORT_SET(team->port, fiber, next);
    if (weft_model != NULL)
        weft_model->own()->fiber = next;
    weft_fiber_switch(team->thread[me].fiber, next);
    weft_strand_set(strand.thread, strand.threads, strand.rank);
}

WEFT_UNSEEN void weft_team_rest(const struct weft_thread_team *team)
{
    const struct weft_strand strand = weft_strand_get();

    weft_strand_set(0, 1, -1); /* the worker may do the host's part */
    weft_fiber_switch(team->thread[team->current].fiber, team->port->worker);
    weft_strand_set(strand.thread, strand.threads, strand.rank);
}

/* One of those that can run, of which there is at least one. */
WEFT_UNSEEN static int choose(const struct weft_thread_team *team)
{
    int able[WEFT_TEAM_MOST], count = 0;

    for (int t = team->threads - 1; t >= 0; t--)
        if (team->thread[t].call == NULL && !team->thread[t].ended)
            able[count++] = t;
    return able[weft_model != NULL ? weft_model->draw((uint32_t)count) : 0];
}

static void thread_main(void *argument)
{
    struct weft_thread_team *team = argument;

    weft_fiber_acquire(&weft_strand);
    act_as(team->current, team->threads);
    team->run(team->argument);
    abort(); /* the contract: run ends the rank, or gives way for good */
}

struct weft_thread_team *weft_team_create(struct weft_port *port, int threads, size_t stack_bytes,
                                          void (*run)(void *), void *argument)
{
    struct weft_thread_team *team =
        calloc(1, sizeof(*team) + (size_t)threads * sizeof(struct thread));

    if (team == NULL)
        return NULL;
    *team = (struct weft_thread_team){
        .port = port, .run = run, .argument = argument, .threads = threads};
    for (int t = 0; t < threads; t++) {
        struct thread *thread = &team->thread[t];
        thread->fiber = weft_fiber_create(thread_main, team, stack_bytes);
        if (thread->fiber == NULL) {
            while (t-- > 0)
                weft_fiber_destroy(team->thread[t].fiber);
            free(team);
            return NULL;
        }
    }
    team->current = choose(team);
    port->fiber = team->thread[team->current].fiber;
    port->team = team;
    port->stack = 0; /* any memory may be a thread's own: weft_team_holds knows */
    port->stack_bytes = SIZE_MAX;
    return team;
}

void weft_team_free(struct weft_thread_team *team)
{
    while (team->shared != NULL) {
        struct shared *shared = team->shared;
        team->shared = shared->next;
        free(shared);
    }
    free(team);
}

struct weft_fiber *weft_team_fiber(const struct weft_thread_team *team, int thread)
{
    return thread < team->threads ? team->thread[thread].fiber : NULL;
}

void weft_team_run(struct weft_thread_team *team)
{
    struct weft_fiber *const own = weft_model->own()->fiber;

    team->port->worker = own;
    weft_model->own()->fiber = team->port->fiber;
    weft_fiber_switch(own, team->port->fiber);
    weft_strand_set(0, 1, -1);
}

WEFT_UNSEEN void weft_team_leave(struct weft_thread_team *team)
{
    team->thread[team->current].ended = true;
    if (++team->ended == team->threads)
        return;
    give_way(team, choose(team));
    abort(); /* nobody gives way to one that has ended */
}

/* ---- meeting --------------------------------------------------------------------------------- */

/* The names of all threads that make the same call as one does: "thread 1", "threads 0, 2, 3". */
static void list_threads(const struct weft_thread_team *team, int like, char *text, size_t bytes)
{
    int used = 0, count = 0;

    for (int t = 0; t < team->threads; t++)
        count += strcmp(team->thread[t].call->name, team->thread[like].call->name) == 0;
    used = snprintf(text, bytes, count == 1 ? "thread" : "threads");
    for (int t = 0; t < team->threads && used < (int)bytes; t++)
        if (strcmp(team->thread[t].call->name, team->thread[like].call->name) == 0)
            used += snprintf(text + used, bytes - (size_t)used, "%s%d",
                             count-- > 0 && used < 8 ? " " : ", ", t);
}

/* The n-th name of a list. */
static void name_argument(const char *list, int n, char *text, size_t bytes)
{
    while (n-- > 0)
        list = strchr(list, ',') + 2;
    snprintf(text, bytes, "%.*s", (int)strcspn(list, ","), list);
}

static bool is_own(const struct weft_thread_team *team, int thread, uint64_t address)
{
    const struct weft_fiber *fiber = team->thread[thread].fiber;

    return address - weft_fiber_stack(fiber) < weft_fiber_stack_bytes(fiber);
}

static void name_calls(const struct weft_thread_team *team, int other,
                       struct weft_disagreement *why)
{
    char most[60], rest[60];

    list_threads(team, 0, most, sizeof(most));
    list_threads(team, other, rest, sizeof(rest));
    why->status = WEFT_ERR_MISMATCH;
    snprintf(why->text, sizeof(why->text),
             "%s by %s, but %s by %s: the threads of a rank make each call together",
             team->thread[0].call->name, most, team->thread[other].call->name, rest);
}

static void name_values(const struct weft_thread_team *team, int other, int n,
                        struct weft_disagreement *why)
{
    const struct weft_call *one = team->thread[0].call, *two = team->thread[other].call;
    char name[32];

    name_argument(one->arguments, n, name, sizeof(name));
    if (is_own(team, 0, one->value[n]) && is_own(team, other, two->value[n])) {
        why->status = WEFT_ERR_ARGUMENT;
        snprintf(why->text, sizeof(why->text),
                 "%s: %s is on each thread's own stack, which no GPU could send or fill", one->name,
                 name);
        return;
    }
    why->status = WEFT_ERR_MISMATCH;
    snprintf(
        why->text, sizeof(why->text),
        "%s: %s is %lld (0x%llx) for thread 0, but %lld (0x%llx) for thread %d: the threads of "
        "a rank pass the same",
        one->name, name, (long long)one->value[n], (unsigned long long)one->value[n],
        (long long)two->value[n], (unsigned long long)two->value[n], other);
}

static bool same_element(const struct weft_call *one, const struct weft_call *two, int i)
{
    if (one->targets != NULL && two->targets != NULL)
        return one->targets[i] == two->targets[i];
    const weft_put_item *mine = &one->items[i], *other = &two->items[i];
    return mine->source == other->source && mine->bytes == other->bytes &&
           mine->offset == other->offset && mine->target == other->target &&
           mine->tag == other->tag;
}

/* The first element in which the lists differ, or their length. */
static int first_difference(const struct weft_call *one, const struct weft_call *two)
{
    int i = 0;

    if (one->targets == two->targets && one->items == two->items)
        return one->listed;
    while (i < one->listed && same_element(one, two, i))
        i++;
    return i;
}

/* Whether two threads are in the same call. */
static bool agree(const struct weft_thread_team *team, int other, struct weft_disagreement *why)
{
    const struct weft_call *one = team->thread[0].call, *two = team->thread[other].call;

    if (strcmp(two->name, one->name) != 0) {
        name_calls(team, other, why);
        return false;
    }
    for (int n = 0; n < one->count; n++)
        if (two->value[n] != one->value[n]) {
            name_values(team, other, n, why);
            return false;
        }
    const int i = first_difference(one, two);
    if (i >= one->listed)
        return true;
    why->status = WEFT_ERR_MISMATCH;
    snprintf(why->text, sizeof(why->text),
             "%s: thread 0 and thread %d pass different lists, from element %d on", one->name,
             other, i);
    return false;
}

WEFT_UNSEEN enum weft_met weft_team_meet(struct weft_thread_team *team, struct weft_call *call,
                                         struct weft_disagreement *why)
{
    const void *const order = &team->ordered[team->meetings & 1];
    bool agreed = true;

    weft_fiber_release(order);
    team->thread[team->current].call = call;
    if (++team->waiting < team->threads) {
        give_way(team, choose(team));
        weft_fiber_acquire(order);
        return WEFT_MET_MADE;
    }
    weft_fiber_acquire(order);
    for (int t = 1; t < team->threads && agreed; t++)
        agreed = agree(team, t, why);
    act_as(0, 1);
    return agreed ? WEFT_MET_LAST : WEFT_MET_AT_ODDS;
}

WEFT_UNSEEN void weft_team_made(struct weft_thread_team *team)
{
    const int me = team->current;
    const struct weft_call *mine = team->thread[me].call;

    act_as(me, team->threads);
    for (int t = 0; t < team->threads; t++) {
        const struct weft_call *call = team->thread[t].call;
        team->thread[t].call = NULL;
        if (t != me && mine->result != NULL)
            memcpy(call->result, mine->result, mine->bytes);
    }
    weft_fiber_release(&team->ordered[team->meetings++ & 1]);
    team->waiting = 0;
    const int next = weft_model != NULL ? choose(team) : me;
    if (next != me)
        give_way(team, next);
}

const struct weft_call *weft_team_call(const struct weft_thread_team *team, int thread)
{
    return team->thread[thread].call;
}

/* ---- memory ---------------------------------------------------------------------------------- */

WEFT_UNSEEN void *weft_team_share(struct weft_thread_team *team, const void *key, size_t bytes)
{
    for (struct shared *shared = team->shared; shared != NULL; shared = shared->next)
        if (shared->key == key) {
            weft_fiber_acquire(shared);
            return shared->memory;
        }

    struct shared *shared = aligned_alloc(64, (sizeof(*shared) + bytes + 63) / 64 * 64);
    if (shared == NULL)
        return NULL;
    *shared = (struct shared){.next = team->shared, .key = key, .bytes = bytes};
    team->shared = shared;
    weft_fiber_release(shared);
    return shared->memory;
}

bool weft_team_holds(const struct weft_thread_team *team, const void *address)
{
    for (int t = 0; t < team->threads; t++)
        if (is_own(team, t, (uintptr_t)address))
            return true;
    for (const struct shared *shared = team->shared; shared != NULL; shared = shared->next)
        if ((uintptr_t)address - (uintptr_t)shared->memory < shared->bytes)
            return true;
    return false;
}
