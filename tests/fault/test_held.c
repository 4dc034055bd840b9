/*
 * fault/test_held.c - a thread that waits gets no processor for a while, and what it waits for
 * comes meanwhile: no limit of weft's ends the job, in any kind of wait. Its thread alone is held,
 * or its whole process. And a wait that another thread of its own process ends, after all others
 * have closed the job.
 */
#include "runtime/job/job.h"
#include "support/fault_job.h"
#include "weft/device.h"
#include "weft/message.h"
#include "weft/team.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TAG = 5, LARGE = 1 << 20, RANKS = 2 };
enum { WAITS = FAULT_WORD_A, HELD = FAULT_WORD_B };

/* Longer than the watchdog takes for a wait in vain, or for WEFT_TIMEOUT_S; than process 0 stays.
 */
static const double HOLD_S = 3.5, HOLD_CLOSE_S = 7, TIMEOUT_S = 1;

enum kind {
    BARRIER,
    WINDOW,
    GATHER,
    NOTIFICATION,
    MESSAGE,
    SYNCHRONOUS,
    TEAM,
    FLUSH,
    GET,
    EXPOSED,
    RANK_WAITS,
    RANK_BARRIER,
    CLOSE,
    OWN_NOTIFICATION,
    OWN_MESSAGE,
    KINDS
};
static const char *const names[] = {
    "barrier",      "window",  "gather",
    "notification", "message", "synchronous send",
    "team",         "flush",   "get",
    "exposed",      "rank",    "ranks' barrier",
    "close",        "own",     "own by message",
};

static enum kind kind;
static bool stops; /* the parent stops the process; else a signal's handler holds the thread */
static weft_job *job;
static pthread_t waiter; /* of process 1 */

static double hold_s(void)
{
    return kind == CLOSE ? HOLD_CLOSE_S : HOLD_S;
}

/* ---- who waits ------------------------------------------------------------------------------- */

static void hold(int number)
{
    const double end = fault_now() + hold_s();

    (void)number;
    fault_add(HELD);
    while (fault_now() < end)
        usleep(10000);
}

static bool is_waiting(void)
{
    const uint32_t slot = kind == RANK_WAITS || kind == RANK_BARRIER ? 1 : WEFT_HOST_SLOT;
    const weft_self *self = __atomic_load_n(&job->ranks.selves[slot], __ATOMIC_ACQUIRE);

    return self != NULL && __atomic_load_n(&self->waiting->looks, __ATOMIC_RELAXED) != 0 &&
           __atomic_load_n(&self->waiting->kind, __ATOMIC_RELAXED) != WEFT_WAIT_NONE;
}

/* Another thread of process 1. */
static void *helper(void *unused)
{
    int word = 0;

    if (kind == OWN_NOTIFICATION || kind == OWN_MESSAGE)
        fault_add(HELD);
    else
        while (!is_waiting() || waiter == 0)
            usleep(1000);
    fault_add(WAITS);
    if (kind == OWN_NOTIFICATION || kind == OWN_MESSAGE) {
        usleep((useconds_t)(HOLD_S * 1e6));
        if (kind == OWN_NOTIFICATION)
            weft_host_notify(job, 1, TAG);
        else
            weft_host_send(job, WEFT_COMM_HOST, 1, TAG, &word, sizeof(word));
    } else if (!stops) {
        pthread_kill(waiter, SIGUSR1);
    }
    return unused;
}

/* ---- both sides of each wait ------------------------------------------------------------------
 */

static void await_held(void)
{
    while (fault_look(HELD) == 0)
        usleep(1000);
}

struct user {
    int process;
};

WEFT_KERNEL(waiting, struct user, user)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), here = weft_rank(self, WEFT_COMM_DEVICE);

    if (user->process == 1 && here == 0) {
        sigset_t held;
        sigemptyset(&held);
        sigaddset(&held, SIGUSR1);
        pthread_sigmask(SIG_UNBLOCK, &held, NULL); /* weft's tasks take no signals */
        waiter = pthread_self();
    }
    if (user->process == 0)
        await_held();
    if (kind == RANK_BARRIER)
        weft_barrier(self, WEFT_COMM_WORLD);
    else if (user->process == 0)
        weft_notify(self, WEFT_COMM_WORLD, me + RANKS, TAG);
    else
        weft_wait(self, TAG, 1);
}

static weft_status run_kernel(int process)
{
    struct user user = {process};
    const weft_status status = weft_prepare(job, &waiting, 1, RANKS);

    waiter = 0;
    return status == WEFT_OK ? weft_run(job, &user, sizeof(user), NULL) : status;
}

static weft_status meet_team(int process)
{
    weft_team *team;
    weft_team_op *op;
    weft_status status = weft_team_open(job, WEFT_COMM_HOST, 2, process, "all", NULL, &team);

    if (status == WEFT_OK)
        status = weft_team_barrier(team, &op);
    if (status == WEFT_OK)
        status = weft_team_wait(&op);
    return status == WEFT_OK ? weft_team_close(&team) : status;
}

static bool late;

/* Process 0 takes nothing from the network until the other one is held. */
weft_status __real_weft_net_progress(struct weft_net *net, enum weft_net_side side, bool *did);
weft_status __wrap_weft_net_progress(struct weft_net *net, enum weft_net_side side, bool *did);
weft_status __wrap_weft_net_progress(struct weft_net *net, enum weft_net_side side, bool *did)
{
    *did = false;
    return __atomic_load_n(&late, __ATOMIC_ACQUIRE) && fault_look(HELD) == 0
               ? WEFT_OK
               : __real_weft_net_progress(net, side, did);
}

/* Over the network, to process 0. */
static weft_status use_window(int process)
{
    static int memory[2];
    weft_win win;
    weft_status status = weft_host_win_create(job, memory, sizeof(memory), &win);

    if (status == WEFT_OK)
        status = weft_host_barrier(job);
    if (status != WEFT_OK || process == 0) {
        __atomic_store_n(&late, true, __ATOMIC_RELEASE);
        fault_add(FAULT_WORD_READY);
        return status;
    }
    while (fault_look(FAULT_WORD_READY) == 0)
        usleep(1000);
    if (kind == GET)
        return weft_host_get(job, win, 0, 0, &memory[1], sizeof(int));
    status = weft_host_put(job, win, 0, 0, &memory[1], sizeof(int));
    return status == WEFT_OK ? weft_host_flush(job, win) : status;
}

/* Calls of one process alone. */
static weft_status call_alone(int process)
{
    static char large[LARGE];
    weft_win win;

    switch (kind) {
    case NOTIFICATION:
        return process == 0 ? weft_host_notify(job, 1, TAG) : weft_host_wait(job, TAG, 1);
    case MESSAGE:
        return process == 0
                   ? weft_host_send(job, WEFT_COMM_HOST, 1, TAG, large, 8)
                   : weft_host_receive(job, WEFT_COMM_HOST, 0, TAG, large, sizeof(large), NULL);
    case SYNCHRONOUS:
        return process == 1
                   ? weft_host_send(job, WEFT_COMM_HOST, 0, TAG, large, sizeof(large))
                   : weft_host_receive(job, WEFT_COMM_HOST, 1, TAG, large, sizeof(large), NULL);
    case EXPOSED:
        return process == 0 ? weft_expose(job, large, sizeof(large), 1)
                            : weft_exposed(job, 0, 1, 60, &win);
    case OWN_NOTIFICATION:
        return process == 0 ? WEFT_OK : weft_host_wait(job, TAG, 1);
    case OWN_MESSAGE:
        return process == 0
                   ? WEFT_OK
                   : weft_host_receive(job, WEFT_COMM_HOST, 1, TAG, large, sizeof(large), NULL);
    default:
        return WEFT_OK;
    }
}

static weft_status call(int process)
{
    int word = 0, words[2];
    weft_win win;
    weft_status status;

    switch (kind) {
    case BARRIER:
        return weft_host_barrier(job);
    case WINDOW: /* process 0 goes on to another call for all */
        status = weft_host_win_create(job, NULL, 0, &win);
        return status == WEFT_OK ? weft_host_gather(job, 0, &word, sizeof(word), words) : status;
    case GATHER:
        return weft_host_gather(job, 0, &word, sizeof(word), words);
    case TEAM:
        return meet_team(process);
    case FLUSH:
    case GET:
        return use_window(process);
    case RANK_WAITS:
    case RANK_BARRIER:
        return run_kernel(process);
    default:
        return call_alone(process);
    }
}

static int body(int process)
{
    const bool own = kind == OWN_NOTIFICATION || kind == OWN_MESSAGE;
    pthread_t thread;

    if (process == 1)
        signal(SIGUSR1, hold);
    else /* it may wait for the other one, however long that is held */
        unsetenv("WEFT_TIMEOUT_S");
    weft_status status =
        weft_open_threads(&job, NULL, NULL, own ? WEFT_THREAD_MULTIPLE : WEFT_THREAD_SINGLE);
    if (status != WEFT_OK)
        return (int)status;
    waiter = pthread_self();
    if (process == 1 && pthread_create(&thread, NULL, helper, NULL) != 0)
        return 1;
    if (process == 0 && kind != FLUSH && kind != GET && kind != RANK_WAITS && kind != RANK_BARRIER)
        await_held();
    status = call(process);
    if (process == 1 && own)
        pthread_join(thread, NULL);
    const weft_status closed = weft_close(job);
    return (int)(status != WEFT_OK ? status : closed);
}

/* ---- one job for each -------------------------------------------------------------------------
 */

static int run_one(bool limit)
{
    static struct fault_job held;
    char limit_s[32], name[80];

    snprintf(limit_s, sizeof(limit_s), "%g", TIMEOUT_S);
    snprintf(name, sizeof(name), "%s, %s%s", names[kind], stops ? "process" : "thread",
             limit ? ", WEFT_TIMEOUT_S" : "");
    if (limit)
        setenv("WEFT_TIMEOUT_S", limit_s, 1);
    setenv("WEFT_STALL_S", "0", 1);
    if (kind == FLUSH || kind == GET)
        setenv("WEFT_PATH", "proxy", 1);
    fault_start(&held, 2, body);
    if (stops) {
        for (const double end = fault_now() + FAULT_HANG_S;
             fault_look(WAITS) == 0 && fault_now() < end;)
            usleep(1000);
        kill(held.pid[1], SIGSTOP);
        fault_add(HELD);
        usleep((useconds_t)(hold_s() * 1e6));
        kill(held.pid[1], SIGCONT);
    }
    fault_wait(&held, 120 * fault_scale());
    int failures = 0;
    for (int p = 0; p < 2; p++)
        failures +=
            fault_check(held.status[p] == 0 && held.text[p][0] == 0, &held, name, p, "ends");
    fflush(stdout);
    return failures;
}

/* All at once: most of the time they sleep. */
int main(void)
{
    int failures = 0, status;

    setbuf(stdout, NULL);
    for (int i = 0; i < 3 * KINDS; i++) {
        kind = (enum kind)(i % KINDS);
        stops = i / KINDS == 2;
        const bool own = kind == OWN_NOTIFICATION || kind == OWN_MESSAGE;
        if (own && i >= KINDS) /* it waits so long indeed */
            continue;
        const pid_t child = fork();
        if (child == 0)
            exit(run_one(i >= KINDS));
        failures += child < 0;
    }
    while (wait(&status) > 0)
        failures += status != 0;
    printf("%s\n", failures == 0 ? "all good" : "FAILED");
    return failures != 0;
}
