/* device/cpu/worker.c - see the header. Random mode runs each rank as a task of the model instead.
 */
#include "device/cpu/worker.h"

#include "base/fiber.h"
#include "base/say.h"
#include "base/task.h"
#include "device/cpu/faults.h"
#include "device/cpu/random/random.h"
#include "device/cpu/team.h"
#include "device/cpu/where.h"
#include "device/port.h"
#include "order/atomic.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    SLEEP_NS = 1000000, /* stores that ring no bell are seen at least this often */
    ALONE_NS = 2000,    /* ns that a worker spins without giving way */
    YIELD_ROUNDS = 16   /* rounds after which one that does the host's part gives way */
};

/* Ranks wait for each other: none runs before all have somebody to run them. */
enum { CLOSED, OPEN, GO_HOME };
struct gate {
    uint32_t word;
    struct weft_bell bell;
};

struct rank {
    struct weft_port *port;
    const struct weft_launch *launch;
    int number; /* in the job */
    bool done;  /* the kernel has returned */
};

struct worker {
    const struct weft_workers *workers;
    const struct weft_launch *launch;
    int index;
    int first, end; /* it runs ranks first to end - 1 */
    struct rank *ranks;
    struct gate *gate;
    struct weft_task task;
};

/* Waits until it is known whether the ranks run; returns whether they do. */
static bool pass(struct gate *gate)
{
    weft_bell_await(&gate->bell, &gate->word, OPEN, UINT64_MAX);
    return __atomic_load_n(&gate->word, __ATOMIC_RELAXED) == OPEN;
}

static void open_gate(struct gate *gate, bool all_started)
{
    __atomic_store_n(&gate->word, all_started ? OPEN : GO_HOME, __ATOMIC_RELEASE);
    weft_bell_ring(&gate->bell);
}

static struct weft_port *port_of(const struct weft_launch *launch, int rank)
{
    return (struct weft_port *)(launch->selves + (size_t)rank * launch->self_bytes);
}

static void weft_rank_main(void *argument)
{
    struct rank *rank = argument;
    struct weft_port *port = rank->port;

    weft_fiber_acquire(&weft_strand);
    weft_strand_set_rank(rank->number);
    if (port->team == NULL) {
        const struct weft_fiber *fiber =
            weft_model != NULL ? weft_model->own()->fiber : WEFT_PORT_GET(port, fiber);
        port->stack = weft_fiber_stack(fiber);
        port->stack_bytes = weft_fiber_stack_bytes(fiber);
    }
    rank->launch->kernel->cpu((weft_self *)(void *)rank->port, rank->launch->user);
    if (port->team != NULL)
        weft_team_leave(port->team);
    __atomic_store_n(&rank->done, true, __ATOMIC_RELAXED);
    weft_port_end(rank->port);
}

/* Runs every rank that has not ended once, until it gives up its turn. Returns the reason of the
 * busiest one. */
static enum weft_doing turn(struct worker *w, struct weft_fiber *self, int *live)
{
    enum weft_doing most = WEFT_WAITS;

    *live = 0;
    for (int r = w->first; r < w->end; r++) {
        struct weft_port *port = w->ranks[r].port;
        if (WEFT_PORT_GET(port, ended))
            continue;
        WEFT_PORT_SET(port, running, true);
        weft_strand_set_rank(w->ranks[r].number);
        weft_fiber_switch(self, WEFT_PORT_GET(port, fiber));
        while (w->launch->help != NULL && WEFT_PORT_GET(port, doing) == WEFT_POSTED) {
            w->launch->posted(w->launch->host, r);
            weft_fiber_switch(self, WEFT_PORT_GET(port, fiber));
        }
        WEFT_PORT_SET(port, running, false);
        const enum weft_doing doing =
            WEFT_PORT_GET(port, moved) ? WEFT_WORKS : (enum weft_doing)WEFT_PORT_GET(port, doing);
        if (doing < most)
            most = doing;
        WEFT_PORT_SET(port, moved, false);
        *live += !WEFT_PORT_GET(port, ended);
    }
    weft_strand_set_rank(-1);
    return most;
}

/* Binds the calling thread to the n-th of the processors that it may use, counted round. */
static void bind_to(int n)
{
    cpu_set_t allowed, one;

    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0 || CPU_COUNT(&allowed) == 0)
        return; /* more processors than a cpu_set_t counts: it runs unbound */
    n %= CPU_COUNT(&allowed);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed) || n-- != 0)
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof(one), &one); /* refused: it runs unbound */
    }
}

/*
 * A spinning worker does the host's part while it has nothing to do: what a rank here waits for
 * comes without a switch to another thread, of which there may be more than processors. True: it
 * found something.
 */
static bool spin(const struct worker *w, uint64_t now, uint64_t idle_since, uint32_t *rounds)
{
    const bool proxied = weft_load_relaxed_u32(w->launch->proxied) != 0;
    const bool helps = proxied && w->launch->help != NULL;

    if (helps && w->launch->help(w->launch->host, now))
        return true;
    ++*rounds;
    if (helps ? *rounds % YIELD_ROUNDS == 0 : now - idle_since > ALONE_NS || proxied)
        weft_task_yield(true);
    return false;
}

static void leave(const struct worker *w)
{
    if (w->launch->leave != NULL)
        w->launch->leave(w->launch->host);
}

/* Finds the rank of a fault, for faults.c (weft_fault_find). */
static int find_rank(const void *worker, const void *address, size_t *bytes)
{
    const struct worker *w = worker;

    for (int r = w->first; r < w->end; r++) {
        const struct weft_fiber *fiber = WEFT_PORT_GET(w->ranks[r].port, fiber);
        if (!weft_fiber_guards(fiber, address))
            continue;
        *bytes = weft_fiber_stack_bytes(fiber);
        return w->ranks[r].number;
    }
    return weft_strand_get().rank;
}

static void worker_main(void *argument)
{
    struct worker *w = argument;
    struct weft_fiber *self = weft_fiber_adopt();
    struct weft_bell *bell = w->launch->bell;
    uint64_t idle_since = 0;
    uint32_t rounds = 0;
    int live = pass(w->gate) ? w->end - w->first : 0;

    if (w->workers->first >= 0)
        bind_to(w->workers->first + w->index);
    weft_where_begin((const void *)(uintptr_t)w->launch->kernel->cpu);
    weft_faults_begin(find_rank, w);
    weft_fiber_release(&weft_strand); /* its fibers' from now on */
    for (int r = w->first; r < w->end; r++) {
        WEFT_PORT_SET(w->ranks[r].port, worker, self);
        WEFT_PORT_SET(w->ranks[r].port, helped, w->launch->help != NULL);
    }
    while (live > 0) {
        enum weft_doing doing = turn(w, self, &live);
        if (doing == WEFT_WORKS) {
            idle_since = 0;
            continue;
        }
        const uint64_t now = weft_now_ns();
        if (idle_since == 0)
            idle_since = now;
        if (doing == WEFT_POLLS || now - idle_since < w->workers->spin_ns) {
            if (spin(w, now, idle_since, &rounds))
                idle_since = 0;
            continue;
        }
        leave(w);
        const uint32_t ticket = weft_bell_prepare(bell);
        doing = turn(w, self, &live);
        if (doing == WEFT_WAITS)
            weft_bell_sleep(bell, ticket, SLEEP_NS);
        else
            weft_bell_cancel(bell);
        if (doing == WEFT_WORKS)
            idle_since = 0;
    }
    leave(w);
    weft_faults_end();
    weft_fiber_destroy(self);
}

/* Makes the ranks' fibers. In random mode the model does that, except for ranks with teams. */
static weft_status create_fibers(const struct weft_workers *workers,
                                 const struct weft_launch *launch, struct rank *ranks)
{
    size_t bytes = workers->stack_bytes + launch->kernel->shared_bytes;

    if (weft_model != NULL)
        bytes = weft_random_stack(bytes);
    for (int r = 0; r < launch->ranks; r++) {
        struct weft_port *port = ranks[r].port;
        bool there = true;
        if (launch->threads > 1) {
            there =
                weft_team_create(port, launch->threads, bytes, weft_rank_main, &ranks[r]) != NULL;
        } else if (weft_model == NULL) {
            port->fiber = weft_fiber_create(weft_rank_main, &ranks[r], bytes);
            there = port->fiber != NULL;
        }
        if (!there)
            return weft_err(WEFT_ERR_MEMORY, "no stack of %zu bytes (WEFT_CPU_STACK) for rank %d",
                            bytes, launch->first_rank + r);
    }
    return WEFT_OK;
}

/* Keeps the stack of a rank until close. Without memory to remember it, it stays mapped for
 * good. */
static void keep_stack(struct weft_workers *workers, struct weft_fiber *fiber)
{
    const struct weft_stack stack = weft_fiber_leave_stack(fiber);
    struct weft_stack *stacks =
        realloc(workers->stacks, (size_t)(workers->stacks_count + 1) * sizeof(*stacks));

    if (stacks == NULL)
        return;
    stacks[workers->stacks_count++] = stack;
    workers->stacks = stacks;
}

void weft_workers_close(struct weft_workers *workers)
{
    for (int i = 0; i < workers->stacks_count; i++)
        munmap(workers->stacks[i].map, workers->stacks[i].bytes);
    free(workers->stacks);
}

static void destroy_fiber(struct weft_workers *workers, const struct rank *rank,
                          struct weft_fiber *fiber, bool began)
{
    if (fiber != NULL && began && !__atomic_load_n(&rank->done, __ATOMIC_RELAXED))
        keep_stack(workers, fiber);
    else if (fiber != NULL)
        weft_fiber_destroy(fiber);
}

static void destroy_fibers(struct weft_workers *workers, const struct rank *ranks, int count,
                           bool began)
{
    for (int r = 0; r < count; r++) {
        struct weft_thread_team *team = ranks[r].port->team;
        if (team == NULL) {
            destroy_fiber(workers, &ranks[r], ranks[r].port->fiber, began);
            continue;
        }
        for (int t = 0; weft_team_fiber(team, t) != NULL; t++)
            destroy_fiber(workers, &ranks[r], weft_team_fiber(team, t), began);
        weft_team_free(team);
        ranks[r].port->team = NULL;
    }
}

static void weft_model_rank_main(void *argument)
{
    struct worker *w = argument;

    struct weft_port *port = w->ranks[w->first].port;

    WEFT_PORT_SET(port, running, true); /* or may at any moment */
    if (!pass(w->gate))
        return;
    weft_where_begin((const void *)(uintptr_t)w->launch->kernel->cpu);
    if (port->team != NULL)
        weft_team_run(port->team);
    else
        weft_rank_main(&w->ranks[w->first]);
}

/* Runs the ranks. Random mode schedules them itself, each as a task beside the host's tasks. */
static weft_status run(struct weft_workers *workers, const struct weft_launch *launch, int count,
                       struct rank *ranks, struct worker *all)
{
    struct gate gate = {0};
    int started = 0;

    for (int r = 0; r < launch->ranks; r++)
        ranks[r] = (struct rank){
            .port = port_of(launch, r), .launch = launch, .number = launch->first_rank + r};
    weft_status status = create_fibers(workers, launch, ranks);
    while (status == WEFT_OK && started < count) {
        struct worker *w = &all[started];
        char name[16] = "weft worker";
        *w = (struct worker){.workers = workers,
                             .launch = launch,
                             .ranks = ranks,
                             .gate = &gate,
                             .index = started,
                             .first = (int)((int64_t)launch->ranks * started / count),
                             .end = (int)((int64_t)launch->ranks * (started + 1) / count)};
        if (weft_model != NULL)
            snprintf(name, sizeof(name), "rank %d", launch->first_rank + started);
        status = weft_task_start(&w->task, name,
                                 weft_model != NULL ? weft_model_rank_main : worker_main, w);
        if (status == WEFT_OK)
            started++;
    }
    open_gate(&gate, status == WEFT_OK);
    for (int i = 0; i < started; i++)
        weft_task_join(&all[i].task);
    destroy_fibers(workers, ranks, launch->ranks, status == WEFT_OK);
    return status;
}

weft_status weft_workers_run(struct weft_workers *workers, const struct weft_launch *launch)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const bool own = weft_model != NULL || workers->count > launch->ranks; /* a task each */
    const int count = own ? launch->ranks : workers->count;
    struct rank *ranks = calloc((size_t)launch->ranks, sizeof(*ranks));
    struct worker *all = calloc((size_t)count, sizeof(*all));

    pthread_once(&once, weft_faults_watch);
    const weft_status status =
        ranks != NULL && all != NULL
            ? run(workers, launch, count, ranks, all)
            : weft_err(WEFT_ERR_MEMORY, "no memory for %d ranks on %d tasks", launch->ranks, count);

    free(ranks);
    free(all);
    return status;
}
