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
    struct weft_call *call; /* the call in which it waits for others; NULL: it can run */
    bool ended;
    bool waits;   /* it can run, but has nothing to do before a notification comes */
    char ordered; /* first thread of a warp: address by which ThreadSanitizer orders its calls */
};

struct weft_thread_team {
    struct weft_port *port;
    void (*run)(void *);
    void *argument;
    int threads, current;
    int ended;         /* threads that have ended */
    uint64_t meetings; /* calls of all threads so far */
    char ordered[2];   /* by meetings % 2: addresses by which ThreadSanitizer orders those calls */
    char scoped;       /* address by which ThreadSanitizer orders calls of warps */
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

/* Chooses a thread that can run: the next below `from`, in random mode any; -1: there is none. */
WEFT_UNSEEN static int choose(const struct weft_thread_team *team, int from)
{
    int able[WEFT_TEAM_MOST], count = 0;

    for (int i = 1; i <= team->threads; i++) {
        const int t = (from - i + team->threads) % team->threads;
        if (team->thread[t].call == NULL && !team->thread[t].ended)
            able[count++] = t;
    }
    if (count == 0)
        return -1;
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
    team->current = choose(team, threads);
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
    give_way(team, choose(team, team->threads));
    abort(); /* nobody gives way to one that has ended */
}

/* ---- meeting --------------------------------------------------------------------------------- */

/* Writes the n-th name of a list into text. */
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

WEFT_UNSEEN static void name_calls(const struct weft_thread_team *team, int first, int other,
                                   struct weft_disagreement *why)
{
    const struct weft_call *one = team->thread[first].call, *two = team->thread[other].call;

    why->status = WEFT_ERR_MISMATCH;
    snprintf(why->text, sizeof(why->text),
             "%s by thread %d, but %s by thread %d: the threads of a %s make each call together",
             one->name, first, two->name, other, (one->lanes | two->lanes) != 0 ? "warp" : "rank");
}

static void name_values(const struct weft_thread_team *team, int first, int other, int n,
                        struct weft_disagreement *why)
{
    const struct weft_call *one = team->thread[first].call, *two = team->thread[other].call;
    char name[32];

    name_argument(one->arguments, n, name, sizeof(name));
    if (is_own(team, first, one->value[n]) && is_own(team, other, two->value[n])) {
        why->status = WEFT_ERR_ARGUMENT;
        snprintf(why->text, sizeof(why->text),
                 "%s: %s is on each thread's own stack, which no GPU could send or fill", one->name,
                 name);
        return;
    }
    why->status = WEFT_ERR_MISMATCH;
    snprintf(
        why->text, sizeof(why->text),
        "%s: %s is %lld (0x%llx) for thread %d, but %lld (0x%llx) for thread %d: the threads of "
        "a %s pass the same",
        one->name, name, (long long)one->value[n], (unsigned long long)one->value[n], first,
        (long long)two->value[n], (unsigned long long)two->value[n], other,
        one->lanes != 0 ? "warp" : "rank");
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

/* Returns the first element in which the lists of two calls differ, or their length. */
static int first_difference(const struct weft_call *one, const struct weft_call *two)
{
    int i = 0;

    if (one->targets == two->targets && one->items == two->items)
        return one->listed;
    while (i < one->listed && same_element(one, two, i))
        i++;
    return i;
}

/* Whether two threads are in the same call, with the same arguments; if not, *why says so. */
static bool agree(const struct weft_thread_team *team, int first, int other,
                  struct weft_disagreement *why)
{
    const struct weft_call *one = team->thread[first].call, *two = team->thread[other].call;

    if (strcmp(two->name, one->name) != 0) {
        name_calls(team, first, other, why);
        return false;
    }
    for (int n = 0; n < one->count; n++)
        if (two->value[n] != one->value[n]) {
            name_values(team, first, other, n, why);
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

/* first_of and end_of: the threads that make a call with this one are first .. end - 1. */
static int first_of(const struct weft_call *call, int thread)
{
    return call->lanes == 0 ? 0 : thread - thread % call->lanes;
}

static int end_of(const struct weft_thread_team *team, const struct weft_call *call, int first)
{
    const int left = team->threads - first;

    return first + (call->lanes == 0 || call->lanes > left ? left : call->lanes);
}

/* Returns a thread of the same warp that waits in a call of all threads, or of a warp where the
 * caller's is of all; -1: there is none. */
WEFT_UNSEEN static int apart_from(const struct weft_thread_team *team, const struct weft_call *call,
                                  int thread)
{
    const int first = thread - thread % WEFT_TEAM_WARP;

    for (int t = first; t < first + WEFT_TEAM_WARP && t < team->threads && call->lanes != 1; t++)
        if (team->thread[t].call != NULL && team->thread[t].call->lanes != call->lanes)
            return t;
    return -1;
}

WEFT_UNSEEN enum weft_met weft_team_meet(struct weft_thread_team *team, struct weft_call *call,
                                         struct weft_disagreement *why)
{
    const int me = team->current, first = first_of(call, me), end = end_of(team, call, first);
    const int apart = apart_from(team, call, me);
    const void *const order = call->lanes == 0 ? &team->ordered[team->meetings & 1]
                                               : (const void *)&team->thread[first].ordered;
    bool all = true, agreed = apart < 0;

    weft_fiber_release(order);
    team->thread[me].call = call;
    for (int t = first; t < end; t++)
        all &= team->thread[t].call != NULL;
    if (!all && agreed) {
        give_way(team, choose(team, team->threads));
        weft_fiber_acquire(order);
        return WEFT_MET_MADE;
    }
    weft_fiber_acquire(order);
    if (call->lanes != 0)
        weft_fiber_acquire(&team->scoped);
    if (!agreed)
        name_calls(team, me < apart ? me : apart, me < apart ? apart : me, why);
    for (int t = first + 1; t < end && agreed; t++)
        agreed = agree(team, first, t, why);
    act_as(0, 1);
    return agreed ? WEFT_MET_LAST : WEFT_MET_AT_ODDS;
}

WEFT_UNSEEN void weft_team_made(struct weft_thread_team *team)
{
    const int me = team->current;
    const struct weft_call *mine = team->thread[me].call;
    const int first = first_of(mine, me), end = end_of(team, mine, first);

    act_as(me, team->threads);
    for (int t = first; t < end; t++) {
        const struct weft_call *call = team->thread[t].call;
        team->thread[t].call = NULL;
        if (t != me && mine->result != NULL)
            memcpy(call->result, mine->result, mine->bytes);
    }
    if (mine->lanes != 0) {
        weft_fiber_release(&team->scoped);
        weft_fiber_release(&team->thread[first].ordered);
    } else {
        weft_fiber_release(&team->ordered[team->meetings++ & 1]);
    }
    const int next = weft_model != NULL ? choose(team, team->threads) : me;
    if (next != me)
        give_way(team, next);
}

WEFT_UNSEEN bool weft_team_pass(struct weft_thread_team *team, bool waits)
{
    const int me = team->current, next = choose(team, me);
    struct weft_call *const call = team->thread[me].call;
    bool idle = waits && weft_model != NULL; /* which looks for a deadlock */

    if (next < 0)
        return false;
    for (int t = 0; t < team->threads; t++)
        idle &= team->thread[t].call != NULL || team->thread[t].ended || team->thread[t].waits;
    weft_fiber_release(&team->scoped);
    if (idle)
        weft_port_wait(team->port);
    else
        weft_port_yield(team->port);
    team->thread[me].waits = waits;
    team->thread[me].call = NULL; /* it can go on */
    give_way(team, next);
    team->thread[me].waits = false;
    team->thread[me].call = call;
    weft_fiber_acquire(&team->scoped);
    return true;
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

bool weft_team_shares(const struct weft_thread_team *team, const void *address)
{
    const struct shared *shared = team->shared;

    while (shared != NULL && (uintptr_t)address - (uintptr_t)shared->memory >= shared->bytes)
        shared = shared->next;
    return shared != NULL;
}

bool weft_team_holds(const struct weft_thread_team *team, const void *address)
{
    for (int t = 0; t < team->threads; t++)
        if (is_own(team, t, (uintptr_t)address))
            return true;
    return weft_team_shares(team, address);
}
