/*
 * runtime/watchdog.c - says who waits for what when a wait lasts too long.
 *
 * Ranks write what they wait for (weft_tell); here it is only looked at, every tenth of a second.
 * A wait is told from the next one by its episode number.
 */
#include "runtime/job.h"

#include "base/say.h"
#include "runtime/exchange.h"
#include "window/tables.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_LINES = 8 };
#define FOR_ALL_S 0.5 /* so much more than WEFT_TIMEOUT_S a wait for all may last */

/* What the watchdog remembers of one slot. */
struct weft_watch {
    uint32_t episode;
    bool waits;
    uint64_t since, told; /* told: how long the wait was when it was last reported */
};

/* The communicator of a barrier, which in a traced job goes by its alias. */
static weft_comm comm_of(const struct weft_job *job, const struct weft_waiting *w)
{
    const weft_comm name = (weft_comm)__atomic_load_n(&w->a, __ATOMIC_RELAXED);
    return job->trace != NULL ? name ^ WEFT_TRACE_ALIAS : name;
}

static void name_comm(weft_comm comm, char *name, size_t bytes)
{
    if (comm == WEFT_COMM_WORLD || comm == WEFT_COMM_DEVICE || comm == WEFT_COMM_HOST)
        snprintf(name, bytes, "WEFT_COMM_%s",
                 comm == WEFT_COMM_WORLD    ? "WORLD"
                 : comm == WEFT_COMM_DEVICE ? "DEVICE"
                                            : "HOST");
    else
        snprintf(name, bytes, "communicator 0x%x", comm);
}

/* Whether this rank has come to the same meeting: a barrier, or the collective `op`. */
static bool has_come(const struct weft_job *job, const struct weft_waiting *w, uint32_t kind,
                     uint64_t op, weft_comm comm)
{
    if (__atomic_load_n(&w->kind, __ATOMIC_RELAXED) != kind)
        return false;
    if (kind == WEFT_WAIT_BARRIER)
        return comm_of(job, w) == comm;
    return __atomic_load_n(&w->a, __ATOMIC_RELAXED) == op &&
           __atomic_load_n(&w->have, __ATOMIC_RELAXED) == comm;
}

/* Which members in this process are not there. */
static void absent(const struct weft_job *job, uint32_t kind, uint64_t op, weft_comm comm,
                   char *text, size_t bytes)
{
    const struct weft_comm_entry *entry = weft_comm_find(&job->state, comm);
    size_t used = 0;
    int32_t missing = 0;

    text[0] = 0;
    for (uint32_t slot = 0; entry != NULL && slot < weft_job_slots(job); slot++) {
        const struct weft_waiting *w = job->selves[slot]->waiting;
        if (entry->rank_of_slot[slot] < 0 || has_come(job, w, kind, op, comm))
            continue;
        if (missing++ < 6 && used < bytes) {
            char name[40];
            weft_slot_name(job, slot, name, sizeof(name));
            used += (size_t)snprintf(text + used, bytes - used, "%s%s", used ? ", " : "", name);
        }
    }
    if (missing == 0)
        snprintf(text, bytes, "members in other processes");
    else if (missing > 6 && used < bytes)
        snprintf(text + used, bytes - used, " and %d more", (int)missing - 6);
}

static void describe(const struct weft_job *job, const struct weft_waiting *w, char *text,
                     size_t bytes)
{
    static const char *const collectives[] = {NULL, "weft_win_create", "weft_win_free",
                                              "weft_comm_split", "weft_comm_free"};
    const unsigned long long a = __atomic_load_n(&w->a, __ATOMIC_RELAXED);
    const unsigned long long have = __atomic_load_n(&w->have, __ATOMIC_RELAXED);
    const unsigned long long need = __atomic_load_n(&w->need, __ATOMIC_RELAXED);
    const int32_t words = (int32_t)(uint32_t)(need - have);
    char list[256], comm[40], unheard[40] = "";

    switch (__atomic_load_n(&w->kind, __ATOMIC_RELAXED)) {
    case WEFT_WAIT_TAG:
        snprintf(text, bytes, "in weft_wait for tag %llu: has %llu of %llu notifications", a, have,
                 need);
        break;
    case WEFT_WAIT_UNTIL:
        snprintf(text, bytes, "in weft_wait_until at 0x%llx: %llu is there, compared with %llu", a,
                 have, need);
        break;
    case WEFT_WAIT_BARRIER:
        name_comm(comm_of(job, w), comm, sizeof(comm));
        absent(job, WEFT_WAIT_BARRIER, 0, comm_of(job, w), list, sizeof(list));
        if (words > 0)
            snprintf(unheard, sizeof(unheard), "; no word from %d process(es)", words);
        snprintf(text, bytes, "in a barrier of %s: not there: %s%s", comm, list, unheard);
        break;
    case WEFT_WAIT_SPACE:
        snprintf(text, bytes, "for %llu of %llu lines of its command ring", need, have);
        break;
    case WEFT_WAIT_LOCAL:
        snprintf(text, bytes, "in weft_flush_local: %llu of %llu puts have left", have, need);
        break;
    case WEFT_WAIT_REMOTE:
        snprintf(text, bytes, "for its puts to process %llu: %llu sent, %llu landed before", a,
                 need, have);
        break;
    case WEFT_WAIT_EAGER:
        snprintf(
            text, bytes,
            "for the other end of an eager channel, in process %llu: line %llu wanted, at %llu", a,
            need, have);
        break;
    case WEFT_WAIT_PROCESS:
        snprintf(text, bytes, "in %s for process %llu", weft_exchange_name((uint32_t)need), a);
        break;
    default:
        if (a == 0) { /* weft_fail: the error is on its way */
            snprintf(text, bytes, "to end");
            break;
        }
        name_comm((weft_comm)have, comm, sizeof(comm));
        absent(job, WEFT_WAIT_REPLY, a, (weft_comm)have, list, sizeof(list));
        snprintf(text, bytes, "in %s of %s: not there: %s", a <= 4 ? collectives[a] : "a call",
                 comm, list);
    }
}

/* Whether a slot's rank, or the host program, waits at present. */
static bool waits(const struct weft_job *job, uint32_t slot)
{
    const uint32_t kind = __atomic_load_n(&job->selves[slot]->waiting->kind, __ATOMIC_RELAXED);

    return kind != WEFT_WAIT_NONE && kind != WEFT_WAIT_NO_MORE;
}

/* Names the ranks of this process whose wait is of this kind. How many there are. */
static int list_ranks(const struct weft_job *job, uint32_t kind, char *list, size_t bytes)
{
    size_t used = 0;
    int found = 0;

    list[0] = 0;
    for (uint32_t slot = 1; slot < weft_job_slots(job); slot++) {
        char name[40];
        if (__atomic_load_n(&job->selves[slot]->waiting->kind, __ATOMIC_RELAXED) != kind)
            continue;
        weft_slot_name(job, slot, name, sizeof(name));
        if (found++ < MOST_LINES && used < bytes)
            used += (size_t)snprintf(list + used, bytes - used, "%s%s", used ? ", " : "", name);
    }
    if (found > MOST_LINES && used < bytes)
        snprintf(list + used, bytes - used, " and %d more ranks", found - MOST_LINES);
    return found;
}

/* Which ranks of this process do not wait: nothing comes from those that have ended their kernel,
 * and what the others will send nobody knows. */
static void say_others(const struct weft_job *job)
{
    char list[240];
    const int ended = list_ranks(job, WEFT_WAIT_NO_MORE, list, sizeof(list));

    if (ended > 0)
        weft_say(WEFT_SAY_ERROR, "%s %s ended %s kernel", list, ended == 1 ? "has" : "have",
                 ended == 1 ? "its" : "their");
    if (!__atomic_load_n(&job->running, __ATOMIC_RELAXED))
        return; /* no rank computes */
    const int busy = list_ranks(job, WEFT_WAIT_NONE, list, sizeof(list));
    if (busy > 0)
        weft_say(WEFT_SAY_ERROR, "%s %s not wait at present", list, busy == 1 ? "does" : "do");
}

/* Updates what is known of a slot's wait; returns how long it has lasted, in ns. */
static uint64_t lasting(const struct weft_job *job, uint32_t slot, uint64_t now)
{
    struct weft_watch *watch = &job->watch[slot];
    const uint32_t episode =
        __atomic_load_n(&job->selves[slot]->waiting->episode, __ATOMIC_RELAXED);

    if (!waits(job, slot)) {
        watch->waits = false;
        return 0;
    }
    if (!watch->waits || watch->episode != episode) {
        *watch = (struct weft_watch){.episode = episode, .waits = true, .since = now};
        return 0;
    }
    return now - watch->since;
}

static void report(struct weft_job *job, uint32_t slot, double seconds)
{
    char name[40], what[400];

    weft_slot_name(job, slot, name, sizeof(name));
    describe(job, job->selves[slot]->waiting, what, sizeof(what));
    weft_say(WEFT_SAY_ERROR, "%s has waited %.1f s %s", name, seconds, what);
}

static void fail(struct weft_job *job, uint32_t slot, double seconds, weft_status status)
{
    char name[40], what[400];

    weft_slot_name(job, slot, name, sizeof(name));
    describe(job, job->selves[slot]->waiting, what, sizeof(what));
    weft_job_fail(job, status, "%s has waited %.1f s %s", name, seconds, what);
}

/* A wait for all: somebody else's is the reason for it. */
static bool waits_for_all(const struct weft_job *job, uint32_t slot)
{
    const uint32_t kind = __atomic_load_n(&job->selves[slot]->waiting->kind, __ATOMIC_RELAXED);

    return kind == WEFT_WAIT_BARRIER || kind == WEFT_WAIT_REPLY;
}

/* Random mode knows for certain that nothing can happen any more. Every process then says who
 * waits: weft_watchdog_tell. */
static void report_deadlock(struct weft_job *job)
{
    uint32_t first = UINT32_MAX;

    for (uint32_t slot = 0; slot < weft_job_slots(job); slot++)
        if (waits(job, slot) &&
            (first == UINT32_MAX || (waits_for_all(job, first) && !waits_for_all(job, slot))))
            first = slot;
    if (first != UINT32_MAX)
        fail(job, first, 0, WEFT_ERR_DEADLOCK);
    else
        weft_job_fail(job, WEFT_ERR_DEADLOCK, "no rank waits, and yet nothing can happen");
}

/* After the lines of those that wait. */
static void say_rest(const struct weft_job *job, int lines, int more)
{
    if (more > 0)
        weft_say(WEFT_SAY_ERROR, "and %d more ranks of this process wait", more);
    if (lines > 0)
        say_others(job);
}

/* The job has failed, and yet its kernel goes on: ranks that never call end never. Said once. */
static void look_at_end(struct weft_job *job, uint64_t now)
{
    char name[40], list[256] = "";
    size_t used = 0;

    if (!__atomic_load_n(&job->running, __ATOMIC_RELAXED) || job->end_told)
        return;
    if (job->end_since == 0)
        job->end_since = now;
    if (job->config.stall_s <= 0 || (double)(now - job->end_since) * 1e-9 < job->config.stall_s)
        return;
    for (uint32_t slot = 1; slot < weft_job_slots(job) && used < sizeof(list); slot++) {
        if (waits(job, slot))
            continue;
        weft_slot_name(job, slot, name, sizeof(name));
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "", name);
    }
    job->end_told = true;
    weft_say(WEFT_SAY_ERROR,
             "the job has failed, and weft_run waits for its ranks to end; these have, or compute "
             "on without a call of weft's: %s",
             list);
}

static void look(struct weft_job *job)
{
    const uint64_t now = weft_now_ns();
    const double stall = job->config.stall_s, timeout = job->config.timeout_s;
    int lines = 0, more = 0;

    if (weft_job_status(job) != WEFT_OK) {
        look_at_end(job, now);
        return;
    }
    if (weft_model != NULL && weft_model->quiet()) {
        report_deadlock(job);
        return;
    }
    for (uint32_t slot = 0; slot < weft_job_slots(job); slot++) {
        struct weft_watch *watch = &job->watch[slot];
        const uint64_t lasted = lasting(job, slot, now);
        const double seconds = (double)lasted * 1e-9;
        /* Who waits for all leaves the word to who waits for one, here or in another process. */
        const double patience = waits_for_all(job, slot) ? timeout + FOR_ALL_S : timeout;
        const bool fatal = timeout > 0 && seconds >= patience;
        /* Reported when it is a stall, and again whenever it has lasted twice as long. */
        const bool due = stall > 0 && seconds >= stall && lasted >= 2 * watch->told;

        if (lasted == 0 || !(fatal || due))
            continue;
        watch->told = lasted;
        if (fatal) { /* every process then says who waits: weft_watchdog_tell */
            fail(job, slot, seconds, WEFT_ERR_TIMEOUT);
            return;
        }
        if (lines++ < MOST_LINES)
            report(job, slot, seconds);
        else
            more++;
    }
    say_rest(job, lines, more);
}

void weft_watchdog_tell(struct weft_job *job)
{
    const uint64_t now = weft_now_ns();
    int lines = 0, more = 0;

    weft_lock(&job->tables);
    for (uint32_t slot = 0; slot < weft_job_slots(job); slot++) {
        const uint64_t lasted = lasting(job, slot, now);
        if (!waits(job, slot))
            continue;
        if (lines++ < MOST_LINES)
            report(job, slot, weft_model != NULL ? 0 : (double)lasted * 1e-9); /* no true time */
        else
            more++;
    }
    say_rest(job, lines, more);
    weft_unlock(&job->tables);
}

void weft_watchdog_look(struct weft_job *job)
{
    weft_lock(&job->tables); /* ranks and tables stay while they are looked at */
    look(job);
    weft_unlock(&job->tables);
}

weft_status weft_watchdog_open(struct weft_job *job)
{
    job->watch = calloc(WEFT_SLOTS, sizeof(*job->watch));
    return job->watch != NULL ? WEFT_OK
                              : weft_err(WEFT_ERR_MEMORY, "no memory for %u ranks", WEFT_SLOTS);
}
