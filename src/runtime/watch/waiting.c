/*
 * runtime/watch/waiting.c - what a rank, or the host program, waits for, in words: for people who
 * look for the reason. The monitor reads waits with the tables locked; nothing is kept.
 */
#include "runtime/job/job.h"

#include "base/say.h"
#include "runtime/job/exchange.h"
#include "runtime/space/tables.h"
#include "runtime/watch/watch.h"

#include <stdio.h>
#include <string.h>

enum { MOST_NAMES = 6 };

/* Finds the communicator of a barrier, which in a traced job goes by its alias. */
static weft_comm comm_of(const struct weft_job *job, const struct weft_waiting *w)
{
    const weft_comm name = (weft_comm)__atomic_load_n(&w->a, __ATOMIC_RELAXED);
    const bool host = w == job->ranks.selves[WEFT_HOST_SLOT]->waiting;
    return job->trace != NULL && !(host && job->threads) ? name ^ WEFT_TRACE_ALIAS : name;
}

struct weft_name weft_comm_name(weft_comm comm)
{
    switch (comm) {
    case WEFT_COMM_WORLD:
        return (struct weft_name){"WEFT_COMM_WORLD"};
    case WEFT_COMM_DEVICE:
        return (struct weft_name){"WEFT_COMM_DEVICE"};
    case WEFT_COMM_HOST:
        return (struct weft_name){"WEFT_COMM_HOST"};
    }
    struct weft_name name;
    snprintf(name.text, sizeof(name.text), "communicator 0x%x", comm);
    return name;
}

static bool is_barrier(uint32_t kind)
{
    return kind == WEFT_WAIT_BARRIER || kind == WEFT_WAIT_ENTER || kind == WEFT_WAIT_LEAVE;
}

/* Whether this rank has come to the same meeting: a barrier, or the collective `op`. */
static bool has_come(const struct weft_job *job, const struct weft_waiting *w, uint32_t kind,
                     uint64_t op, weft_comm comm)
{
    const uint32_t its = __atomic_load_n(&w->kind, __ATOMIC_RELAXED);

    if (is_barrier(kind))
        return is_barrier(its) && comm_of(job, w) == comm;
    return its == kind && __atomic_load_n(&w->a, __ATOMIC_RELAXED) == op &&
           __atomic_load_n(&w->have, __ATOMIC_RELAXED) == comm;
}

void weft_waiting_absent(const struct weft_job *job, uint32_t kind, uint64_t op, weft_comm comm,
                         char *text, size_t bytes)
{
    const struct weft_comm_entry *entry = weft_comm_find(&job->space.state, comm);
    struct weft_text list = {text, bytes, 0};
    int missing = 0;

    text[0] = 0;
    for (uint32_t slot = 0; entry != NULL && slot < weft_job_slots(job); slot++) {
        const struct weft_waiting *w = job->ranks.selves[slot]->waiting;
        if (entry->rank_of_slot[slot] < 0 || has_come(job, w, kind, op, comm))
            continue;
        if (missing++ < MOST_NAMES)
            weft_text_add(&list, "%s%s", missing > 1 ? ", " : "", weft_slot_name(job, slot).text);
    }
    if (missing == 0)
        weft_text_add(&list, "members in other processes");
    else if (missing > MOST_NAMES)
        weft_text_add(&list, " and %d more", missing - MOST_NAMES);
}

/*
 * A tag other than the one that a rank waits for, of which it has notifications that nobody waited
 * for: the one was often meant to be the other. -1: none, or they cannot be read, being in a GPU.
 */
static int other_tag(const struct weft_job *job, uint32_t slot, uint32_t wanted, uint32_t *count)
{
    const bool readable = job->ranks.image == NULL || slot == WEFT_HOST_SLOT;

    for (uint32_t tag = 0; readable && tag < WEFT_TAGS; tag++) {
        *count = weft_rank_left(job, job->space.state.exposed->counters, slot, tag);
        if (tag != wanted && (int32_t)*count > 0)
            return (int)tag;
    }
    return -1;
}

static void notifications(const struct weft_job *job, uint32_t slot, uint32_t tag,
                          unsigned long long have, unsigned long long need, char *text,
                          size_t bytes)
{
    char other[64] = "";
    uint32_t count;
    const int another = other_tag(job, slot, tag, &count);

    if (another >= 0)
        snprintf(other, sizeof(other), "; tag %d has %u that nobody has waited for", another,
                 count);
    snprintf(text, bytes, "in %s for tag %u: has %llu of %llu notifications%s",
             slot == WEFT_HOST_SLOT ? "weft_host_wait" : "weft_wait", tag, have, need, other);
}

/* Describes a barrier. words: processes whose words are missing; 0 or less: none, or not known. */
static void barrier(const struct weft_job *job, const struct weft_waiting *w, uint32_t kind,
                    int32_t words, char *text, size_t bytes)
{
    char list[256], unheard[40] = "";

    weft_waiting_absent(job, kind, 0, comm_of(job, w), list, sizeof(list));
    if (words > 0)
        snprintf(unheard, sizeof(unheard), "; processes not heard of: %d", words);
    snprintf(text, bytes, "in %s%s: not there: %s%s",
             kind == WEFT_WAIT_ENTER   ? "weft_enter"
             : kind == WEFT_WAIT_LEAVE ? "weft_leave"
                                       : "a barrier of ",
             kind == WEFT_WAIT_BARRIER ? weft_comm_name(comm_of(job, w)).text : "", list, unheard);
}

static void rank_waits_for(const struct weft_job *job, const struct weft_wait_seen *wait,
                           char *text, size_t bytes)
{
    const unsigned long long a = wait->a, have = wait->have, need = wait->need;

    switch (wait->kind) {
    case WEFT_WAIT_TAG:
        notifications(job, wait->slot, (uint32_t)a, have, need, text, bytes);
        break;
    case WEFT_WAIT_UNTIL:
        snprintf(text, bytes, "in weft_wait_until at 0x%llx: %llu is there, compared with %llu", a,
                 have, need);
        break;
    case WEFT_WAIT_WHERE:
        snprintf(text, bytes, "in weft_wait_where at 0x%llx: has %llu of %llu words", a, have,
                 need);
        break;
    case WEFT_WAIT_EAGER:
        snprintf(
            text, bytes,
            "for the other end of an eager channel, in process %llu: line %llu wanted, at %llu", a,
            need, have);
        break;
    default:
        barrier(job, job->ranks.selves[wait->slot]->waiting, wait->kind,
                (int32_t)(uint32_t)(need - have), text, bytes);
    }
}

/* Describes waits for this process's host and for other processes. */
static void host_waits_for(const struct weft_job *job, const struct weft_wait_seen *wait,
                           char *text, size_t bytes)
{
    const unsigned long long a = wait->a, have = wait->have, need = wait->need;

    switch (wait->kind) {
    case WEFT_WAIT_SPACE:
        snprintf(text, bytes, "for %llu of %llu lines of its %s", need, have,
                 a == 0 ? "command ring" : "ring of logs: what it logged is not printed yet");
        break;
    case WEFT_WAIT_LOCAL:
        snprintf(text, bytes, "in weft_flush_local: %llu of %llu puts have left", have, need);
        break;
    case WEFT_WAIT_REMOTE:
        snprintf(text, bytes, "for its puts to process %llu: %llu sent, %llu delivered before", a,
                 need, have);
        break;
    case WEFT_WAIT_ANSWER:
        snprintf(text, bytes, "for what it asked of process %llu: %llu of %llu answers came", a,
                 have, need);
        break;
    case WEFT_WAIT_QUEUE:
        snprintf(text, bytes, "for %sits queue to process %llu: %llu slots are under way",
                 need != 0 ? "room in " : "", a, have);
        break;
    case WEFT_WAIT_EXPOSED:
        snprintf(text, bytes, "for what process %llu exposes under number %llu", a, need);
        break;
    case WEFT_WAIT_PROCESS:
        snprintf(text, bytes, "in %s for process %llu", weft_exchange_name((uint32_t)need), a);
        break;
    default:
        rank_waits_for(job, wait, text, bytes);
    }
}

const struct weft_service weft_waiting_service = {
    .owns[WEFT_OWNS_WAITS] =
        WEFT_KIND(WEFT_WAIT_TAG) | WEFT_KIND(WEFT_WAIT_UNTIL) | WEFT_KIND(WEFT_WAIT_WHERE) |
        WEFT_KIND(WEFT_WAIT_BARRIER) | WEFT_KIND(WEFT_WAIT_ENTER) | WEFT_KIND(WEFT_WAIT_LEAVE) |
        WEFT_KIND(WEFT_WAIT_EAGER) | WEFT_KIND(WEFT_WAIT_SPACE) | WEFT_KIND(WEFT_WAIT_LOCAL) |
        WEFT_KIND(WEFT_WAIT_REMOTE) | WEFT_KIND(WEFT_WAIT_ANSWER) | WEFT_KIND(WEFT_WAIT_QUEUE) |
        WEFT_KIND(WEFT_WAIT_EXPOSED) | WEFT_KIND(WEFT_WAIT_PROCESS),
    .waits_for = host_waits_for,
};

void weft_waiting_text(const struct weft_job *job, uint32_t slot, char *text, size_t bytes)
{
    const struct weft_waiting *w = job->ranks.selves[slot]->waiting;
    const struct weft_wait_seen wait = {
        .slot = slot,
        .kind = __atomic_load_n(&w->kind, __ATOMIC_RELAXED),
        .a = __atomic_load_n(&w->a, __ATOMIC_RELAXED),
        .have = __atomic_load_n(&w->have, __ATOMIC_RELAXED),
        .need = __atomic_load_n(&w->need, __ATOMIC_RELAXED),
    };
    const struct weft_service *owner = weft_service_owner(WEFT_OWNS_WAITS, wait.kind);
    const char *const caller =
        slot == WEFT_HOST_SLOT ? WEFT_PORT_GET(&job->ranks.selves[slot]->port, caller) : NULL;
    const size_t before = caller != NULL ? (size_t)snprintf(text, bytes, "in %s: ", caller) : 0;

    if (owner != NULL)
        owner->waits_for(job, &wait, text + before, bytes - before);
    else
        snprintf(text + before, bytes - before, "to end");
    if (caller != NULL && strstr(text + before, caller) != NULL) /* it is named there */
        memmove(text, text + before, strlen(text + before) + 1);
    const size_t used = strlen(text);
    weft_services_work(job, __atomic_load_n(&w->work, __ATOMIC_RELAXED), text + used, bytes - used);
}
