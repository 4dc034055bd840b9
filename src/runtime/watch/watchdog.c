/*
 * runtime/watch/watchdog.c - says who waits for what when a wait lasts too long.
 *
 * Ranks write what they wait for (weft_tell); here it is only looked at, every tenth of a second,
 * and waiting.c puts it into words. A wait is told from the next one by its episode number.
 *
 * A thread that gets no processor does not see what has come, and nobody is judged who has not
 * looked. A wait's time counts where it has looked twice since the watchdog's last look: the second
 * of these looks began after that one.
 */
#include "runtime/job/job.h"

#include "base/say.h"
#include "runtime/job/exchange.h"
#include "runtime/space/tables.h"
#include "runtime/watch/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_LINES = 8, LOOKS_S = 10 /* looks in a second */, STUCK_S = 5 };
#define FOR_ALL_S 0.5        /* so much more than WEFT_TIMEOUT_S a wait for all may last */
#define CLOSED_NS 2000000000 /* what came last may have been there for a while, unseen */
#define STEP_NS   1000000000 /* the most that one look adds: the watchdog itself may be late */

/* What the watchdog remembers of one slot, by its own clock (weft_job.watch_ns). */
struct weft_watch {
    uint32_t episode, looks;
    bool waits;
    uint64_t since, told; /* when the wait began; ns that it had lasted at the last report */
    uint64_t moved;       /* when `looks` of the rank last grew */
    uint64_t counts;      /* ns of the last step, if the rank looked in it; else 0 */
    uint64_t looked;      /* ns of all earlier steps in which the rank looked */
    uint64_t vain; /* 1 + ns in which the rank looked since the wait is in vain; 0: it is not */
};

/* Advances the watchdog's clock at a look, but not by the time that the look was late. */
static void step(struct weft_job *job)
{
    const uint64_t now = weft_now_ns(), passed = now - job->looked_at;

    job->looked_at = now;
    job->watch_step = passed < STEP_NS ? passed : STEP_NS;
    job->watch_ns += job->watch_step;
}

/* Whether a slot's rank, or the host program, waits at present. */
static bool waits(const struct weft_job *job, uint32_t slot)
{
    const uint32_t kind =
        __atomic_load_n(&job->ranks.selves[slot]->waiting->kind, __ATOMIC_RELAXED);

    return kind != WEFT_WAIT_NONE && kind != WEFT_WAIT_NO_MORE && kind != WEFT_WAIT_STOPPED;
}

/*
 * Names the ranks of this process whose wait is of this kind, all or those that run: all on a GPU,
 * but one of each worker's on the CPU device. How many.
 */
static int list_ranks(const struct weft_job *job, uint32_t kind, bool all, char *list, size_t bytes)
{
    struct weft_text text = {list, bytes, 0};
    int found = 0;

    list[0] = 0;
    for (uint32_t slot = 1; slot < weft_job_slots(job); slot++) {
        const weft_self *self = job->ranks.selves[slot];
        if (__atomic_load_n(&self->waiting->kind, __ATOMIC_RELAXED) != kind ||
            !(all || job->ranks.image != NULL || WEFT_PORT_GET(&self->port, running)))
            continue;
        if (found++ < MOST_LINES)
            weft_text_add(&text, "%s%s", found > 1 ? ", " : "", weft_slot_name(job, slot).text);
    }
    if (found > MOST_LINES)
        weft_text_add(&text, " and %d more ranks", found - MOST_LINES);
    return found;
}

/* Says which ranks of this process do not wait: nothing comes from those that have ended their
 * kernel, and what the others will send nobody knows. */
static void say_others(const struct weft_job *job)
{
    char list[240];
    const int ended = list_ranks(job, WEFT_WAIT_NO_MORE, true, list, sizeof(list));

    if (ended > 0)
        weft_say(WEFT_SAY_ERROR, "%s %s ended %s kernel", list, ended == 1 ? "has" : "have",
                 ended == 1 ? "its" : "their");
    if (!__atomic_load_n(&job->ranks.running, __ATOMIC_RELAXED))
        return; /* no rank computes */
    const int busy = list_ranks(job, WEFT_WAIT_NONE, true, list, sizeof(list));
    if (busy > 0)
        weft_say(WEFT_SAY_ERROR, "%s %s not wait at present", list, busy == 1 ? "does" : "do");
}

/* Updates what is known of a slot's wait, once for each step. */
static void update(const struct weft_job *job, uint32_t slot)
{
    struct weft_watch *watch = &job->watch[slot];
    const struct weft_waiting *w = job->ranks.selves[slot]->waiting;
    const uint32_t episode = __atomic_load_n(&w->episode, __ATOMIC_RELAXED);
    const uint32_t looks = __atomic_load_n(&w->looks, __ATOMIC_RELAXED);

    if (!waits(job, slot)) {
        watch->waits = false;
        return;
    }
    if (!watch->waits || watch->episode != episode) {
        *watch = (struct weft_watch){.episode = episode,
                                     .looks = looks,
                                     .waits = true,
                                     .since = job->watch_ns,
                                     .moved = job->watch_ns};
        return;
    }
    watch->looked += watch->counts;
    watch->counts = weft_model != NULL || looks - watch->looks >= 2 ? job->watch_step : 0;
    if (looks != watch->looks)
        watch->moved = job->watch_ns;
    watch->looks = looks;
}

/* Says who waits for what, or, with another status than WEFT_OK, fails the job for it. */
static void report(struct weft_job *job, uint32_t slot, double seconds, weft_status status)
{
    const uint64_t unseen = job->watch_ns - job->watch[slot].moved;
    const struct weft_name name = weft_slot_name(job, slot);
    char what[400], late[64] = "";

    weft_waiting_text(job, slot, what, sizeof(what));
    if (unseen >= STEP_NS && weft_model == NULL)
        snprintf(late, sizeof(late), ", and has not looked for %.1f s", (double)unseen * 1e-9);
    if (status == WEFT_OK)
        weft_say(WEFT_SAY_ERROR, "%s has waited %.1f s %s%s", name.text, seconds, what, late);
    else
        weft_job_fail(job, status, "%s has waited %.1f s %s", name.text, seconds, what);
}

/* Whether a wait is for all: somebody else's is the reason for it. */
static bool waits_for_all(const struct weft_job *job, uint32_t slot)
{
    switch (__atomic_load_n(&job->ranks.selves[slot]->waiting->kind, __ATOMIC_RELAXED)) {
    case WEFT_WAIT_BARRIER:
    case WEFT_WAIT_ENTER:
    case WEFT_WAIT_LEAVE:
    case WEFT_WAIT_REPLY:
        return true;
    default:
        return false;
    }
}

/* Whether somebody waits in another job of this process, which will say so. */
static bool another_waits(const struct weft_job *job)
{
    for (struct weft_job *other = NULL; (other = weft_watched_next(other)) != NULL;)
        for (uint32_t slot = 0; other != job && slot < weft_job_slots(other); slot++)
            if (waits(other, slot))
                return true;
    return false;
}

/*
 * Random mode has found for a second, in which no frame came either, that nothing happens any more:
 * a task may have tried a lock in vain all the time, and then do what the model does not see. Every
 * process then says who waits: weft_watchdog_tell.
 */
static void report_deadlock(struct weft_job *job)
{
    uint32_t first = UINT32_MAX;

    for (uint32_t slot = 0; slot < weft_job_slots(job); slot++)
        if (waits(job, slot) &&
            (first == UINT32_MAX || (waits_for_all(job, first) && !waits_for_all(job, slot))))
            first = slot;
    if (first != UINT32_MAX)
        report(job, first, 0, WEFT_ERR_DEADLOCK);
    else if (!another_waits(job))
        weft_job_fail(job, WEFT_ERR_DEADLOCK, "no rank waits, and yet nothing can happen");
}

/* Says what comes after the lines of those that wait. */
static void say_rest(const struct weft_job *job, int lines)
{
    if (lines > MOST_LINES)
        weft_say(WEFT_SAY_ERROR, "and %d more ranks of this process wait", lines - MOST_LINES);
    if (lines > 0)
        say_others(job);
}

/* Says, once, that the kernel of a failed job goes on: ranks that never call end never. */
static void tell_of_kernel(struct weft_job *job, uint64_t lasted)
{
    char list[240];

    if (job->end_told || job->config.stall_s <= 0 || (double)lasted * 1e-9 < job->config.stall_s)
        return;
    job->end_told = true;
    if (list_ranks(job, WEFT_WAIT_NONE, false, list, sizeof(list)) == 0)
        snprintf(list, sizeof(list), "none");
    weft_say(WEFT_SAY_ERROR,
             "the job has failed, and weft_run waits for its kernel to end; ranks that compute on "
             "without a call of weft's: %s",
             list);
}

/*
 * The job has failed, and a thread that moves data is still in a call: into the network's library
 * or the device's driver, for weft's own end. Nothing can end it, nor may anything be freed that it
 * may use, ranks and stacks included, so that the program cannot go on either: the process ends.
 */
static void end_process(const struct weft_job *job)
{
    weft_say(WEFT_SAY_ERROR,
             "the job has failed, and a call into %s%s has not returned for %d s, so this process "
             "ends here",
             weft_net_name(job->proxy.net), job->ranks.image != NULL ? " or the device" : "",
             STUCK_S);
    fflush(NULL);
    _exit(EXIT_FAILURE); /* what exit would run may wait for that call */
}

/*
 * Looks whether a failed job can end. Looks are counted for the services, and not time, which goes
 * on while a debugger keeps the process.
 */
static void look_at_end(struct weft_job *job)
{
    if (job->failed_since == 0)
        job->failed_since = job->watch_ns;
    if (__atomic_load_n(&job->proxy.services_busy, __ATOMIC_ACQUIRE) != 0 && weft_model == NULL &&
        ++job->stuck_looks >= STUCK_S * LOOKS_S)
        end_process(job);
    if (__atomic_load_n(&job->ranks.running, __ATOMIC_RELAXED))
        tell_of_kernel(job, job->watch_ns - job->failed_since);
}

static bool has_members_of(const struct weft_job *job, weft_comm name, int process)
{
    const struct weft_comm_entry *comm = weft_comm_find(&job->space.state, name);

    for (int32_t i = 0; comm != NULL && i < comm->members; i++)
        if (comm->member[i].process == process)
            return true;
    return false;
}

/*
 * Whether the host program waits for what cannot come, as process *other is in another call that
 * waits for this one; *closed: how many processes are in weft_close.
 *
 * What a process in weft_close sent is delivered (weft_settle_ranks), so that no notification is
 * under way where all others are there. For a barrier one is enough that has entered fewer: it does
 * not come to this one before its call ends. What it brought to a collective came before its
 * exchange, on the same channel. Where a program has several threads another of them may still make
 * the call, or send to its own process.
 */
static bool waits_in_vain(struct weft_job *job, struct weft_elsewhere *other, int *closed)
{
    const struct weft_waiting *w = job->ranks.selves[WEFT_HOST_SLOT]->waiting;
    const weft_comm on = (weft_comm)__atomic_load_n(&w->a, __ATOMIC_RELAXED) & ~WEFT_TRACE_ALIAS;
    const int elsewhere = weft_exchange_elsewhere(job, job->threads, other);
    const uint64_t have = __atomic_load_n(&w->have, __ATOMIC_RELAXED);
    struct weft_elsewhere closing;

    *closed = weft_exchange_elsewhere(job, true, &closing);
    const bool all_closed = *closed > 0 && *closed == job->numbers.processes - 1;
    switch (__atomic_load_n(&w->kind, __ATOMIC_RELAXED)) {
    case WEFT_WAIT_TAG:
        return all_closed && !job->threads;
    case WEFT_WAIT_MESSAGE:
        return all_closed &&
               (!job->threads || (have != 0 && have != (uint64_t)job->numbers.process + 1));
    case WEFT_WAIT_BARRIER:
        return on == WEFT_COMM_HOST &&
               (elsewhere > 0 || (!job->threads && weft_collective_elsewhere(job, other))) &&
               (int32_t)(other->barriers - weft_barriers_entered(job)) < 0;
    case WEFT_WAIT_REPLY:
        return elsewhere > 0 && has_members_of(job, (weft_comm)have, other->process);
    default:
        return false;
    }
}

/* Fails the job if it has waited in vain for a while; false: it has not. */
static bool end_in_vain(struct weft_job *job, bool judges)
{
    struct weft_watch *watch = &job->watch[WEFT_HOST_SLOT];
    char what[400];
    struct weft_elsewhere other;
    int closed = 0;

    if (!watch->waits || !waits_in_vain(job, &other, &closed))
        watch->vain = 0;
    else
        watch->vain += watch->vain != 0 ? watch->counts : 1;
    if (watch->vain < CLOSED_NS || watch->counts == 0 || !judges)
        return false;
    weft_waiting_text(job, WEFT_HOST_SLOT, what, sizeof(what));
    if (closed > 0)
        weft_job_fail(job, WEFT_ERR_MISMATCH,
                      "process %d waits %s, and %d of the %d others have called weft_close",
                      job->numbers.process, what, closed, job->numbers.processes - 1);
    else
        weft_job_fail(job, WEFT_ERR_MISMATCH,
                      "process %d waits %s, and process %d is in %s, which waits for all",
                      job->numbers.process, what, other.process, other.call);
    return true;
}

static void look_at_waits(struct weft_job *job, bool judges)
{
    const double stall = job->config.stall_s, timeout = job->config.timeout_s;
    int lines = 0;

    step(job);
    if (weft_job_status(job) != WEFT_OK) {
        look_at_end(job);
        return;
    }
    const bool quiet = weft_model != NULL && weft_model->quiet();
    job->stuck_looks = quiet && judges ? job->stuck_looks + 1 : 0;
    if (job->stuck_looks >= LOOKS_S)
        report_deadlock(job);
    if (quiet)
        return;
    for (uint32_t slot = 0; slot < weft_job_slots(job); slot++)
        update(job, slot);
    if (end_in_vain(job, judges))
        return;
    for (uint32_t slot = 0; slot < weft_job_slots(job); slot++) {
        struct weft_watch *watch = &job->watch[slot];
        const uint64_t lasted = watch->waits ? job->watch_ns - watch->since : 0;
        const double seconds = (double)lasted * 1e-9;
        /* Who waits for all leaves the word to who waits for one, here or in another process. */
        const double patience = waits_for_all(job, slot) ? timeout + FOR_ALL_S : timeout;
        const bool fatal =
            judges && watch->counts != 0 && timeout > 0 && (double)watch->looked * 1e-9 >= patience;
        /* Reported when it is a stall, and again whenever it has lasted twice as long. */
        const bool due = stall > 0 && seconds >= stall && lasted >= 2 * watch->told;

        if (lasted == 0 || !(fatal || due))
            continue;
        watch->told = lasted;
        if (fatal) { /* every process then says who waits: weft_watchdog_tell */
            report(job, slot, seconds, WEFT_ERR_TIMEOUT);
            return;
        }
        if (lines++ < MOST_LINES)
            report(job, slot, seconds, WEFT_OK);
    }
    say_rest(job, lines);
    for (int i = 0; weft_services[i] != NULL; i++)
        if (weft_services[i]->watch != NULL)
            weft_services[i]->watch(job, job->watch_ns);
}

void weft_watchdog_tell(struct weft_job *job)
{
    int lines = 0;

    weft_lock(&job->space.tables);
    step(job);
    for (uint32_t slot = 0; slot < weft_job_slots(job); slot++) {
        update(job, slot);
        if (job->watch[slot].waits && lines++ < MOST_LINES) /* no true time in random mode */
            report(job, slot,
                   weft_model != NULL ? 0 : (double)(job->watch_ns - job->watch[slot].since) * 1e-9,
                   WEFT_OK);
    }
    say_rest(job, lines);
    weft_unlock(&job->space.tables);
}

void weft_watchdog_look(struct weft_job *job, bool judges)
{
    weft_lock(&job->space.tables); /* ranks and tables stay while they are looked at */
    look_at_waits(job, judges);
    weft_unlock(&job->space.tables);
}

weft_status weft_watchdog_open(struct weft_job *job)
{
    job->watch = weft_job_keep(job, WEFT_SLOTS, sizeof(*job->watch));
    return job->watch != NULL ? WEFT_OK : WEFT_ERR_MEMORY;
}
