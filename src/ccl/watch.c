/* ccl/watch.c - says in words what has gone wrong in columns, and who waits for whom. */
#include "ccl/call.h"
#include "ccl/ccl.h"

#include "base/say.h"

#include <stdio.h>

/* Says a head: "weft_ccl_allreduce of 100 elements, type 4, operation 0". */
static void say_head(uint64_t head, char *text, size_t bytes)
{
    static const char names[16][16] = {"?",        "barrier",        "allreduce",
                                       "reduce",   "reduce_scatter", "allgather",
                                       "alltoall", "broadcast",      "alltoall_sizes",
                                       "exchange", "dispatch",       "combine"}; /* weft_ccl_what */
    static const char types[16][5] = {"I32", "U32", "I64",  "U64", "F32",
                                      "F64", "F16", "BF16", "U8"};
    static const char operations[8][5] = {"SUM", "MIN", "MAX", "AND", "OR", "XOR", "PROD"};
    const char *const name = names[head & 15], *const type = types[head >> 4 & 15];
    const unsigned long long count = head >> 14;

    if ((head & 15) == WEFT_CCL_DISPATCH || (head & 15) == WEFT_CCL_COMBINE)
        snprintf(text, bytes, "weft_ccl_%s of %s (key %llx)", name, type, count);
    else
        snprintf(text, bytes, "weft_ccl_%s of %llu %s (%s, root %u)", name, count, type,
                 operations[head >> 8 & 7], (unsigned)(head >> 11 & 7));
}

/* Loads what a column tells, unseen by random mode, which takes many loads for idleness. */
static uint64_t load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

weft_status weft_ccl_check(weft_ccl *ccl)
{
    if (ccl == NULL)
        return weft_err(WEFT_ERR_ARGUMENT, "weft_ccl_check: ccl is NULL");
    struct weft_job *const job = ccl->job;
    weft_status status = weft_job_owned(job, "weft_ccl_check");
    char own[96], other[96];

    if (status == WEFT_OK)
        status = weft_job_status(job);
    const weft_status before = status;
    for (int i = 0; i < ccl->view.columns * WEFT_CCL_MEMBERS && status == WEFT_OK; i++) {
        const struct weft_ccl_trouble *const trouble = &ccl->view.trouble[i];
        const uint64_t state = load(&trouble->state);
        say_head(load(&trouble->own), own, sizeof(own));
        say_head(load(&trouble->other), other, sizeof(other));
        if ((state & 0xff) == WEFT_ERR_MISMATCH)
            weft_job_fail(job, status = WEFT_ERR_MISMATCH,
                          "column %d, call %llu: member %d makes %s, member %d %s",
                          i / WEFT_CCL_MEMBERS, (unsigned long long)(state >> 8), ccl->view.me, own,
                          i % WEFT_CCL_MEMBERS, other);
        else if ((state & 0xff) == WEFT_ERR_ARGUMENT &&
                 (load(&trouble->own) & 15) == WEFT_CCL_DISPATCH)
            weft_job_fail(job, status = WEFT_ERR_ARGUMENT,
                          "%s, member %d: token %u chose expert %d, which is out of range or twice",
                          own, ccl->view.me, (unsigned)(load(&trouble->other) >> 32),
                          (int)(int32_t)load(&trouble->other));
        else if ((state & 0xff) == WEFT_ERR_ARGUMENT)
            weft_job_fail(job, status = WEFT_ERR_ARGUMENT,
                          "%s in a kernel, member %d: the column, or an argument, is none", own,
                          ccl->view.me);
    }
    return status == before ? status : weft_job_agree_failure(job);
}

/* Says for whom a rank, or the host program, waits in a column. */
static void waits_for(const struct weft_job *job, const struct weft_wait_seen *wait, char *text,
                      size_t bytes)
{
    char call[96];

    (void)job;
    say_head(wait->a, call, sizeof(call));
    snprintf(text, bytes, "in %s, call %llu of its column: for member %llu", call, wait->need,
             wait->have);
}

/* Returns the first record of a launched call that waits; NULL: none does. */
static const struct weft_ccl_trouble *find_wait(const struct weft_ccl *ccl)
{
    for (int i = 0; i < ccl->view.columns * WEFT_CCL_MEMBERS; i++)
        if (load(&ccl->view.trouble[i].waits) != 0)
            return &ccl->view.trouble[i];
    return NULL;
}

/* Watches launched calls, which have no rank that the watchdog could look at. */
static void watch(struct weft_job *job, uint64_t now)
{
    const double stall = job->config.stall_s, timeout = job->config.timeout_s;
    char call[96], text[200];

    for (struct weft_ccl *ccl = job->ccls; ccl != NULL; ccl = ccl->next) {
        const struct weft_ccl_trouble *const wait = find_wait(ccl);
        const uint64_t number = wait == NULL ? 0 : load(&wait->waits);
        if (number != ccl->waits_for || wait == NULL) {
            ccl->waits_for = number;
            ccl->waits_since = now;
            ccl->told = 0;
            continue;
        }
        const uint64_t lasted = now - ccl->waits_since;
        const double seconds = (double)lasted * 1e-9;
        const int at = (int)(wait - ccl->view.trouble);
        say_head(load(&wait->own), call, sizeof(call));
        snprintf(text, sizeof(text), "%s has waited %.1f s in column %d for member %d", call,
                 seconds, at / WEFT_CCL_MEMBERS, at % WEFT_CCL_MEMBERS);
        if (timeout > 0 && seconds >= timeout)
            weft_job_fail(job, WEFT_ERR_TIMEOUT, "%s", text);
        else if (stall > 0 && seconds >= stall && lasted >= 2 * ccl->told) {
            weft_say(WEFT_SAY_ERROR, "%s", text);
            ccl->told = lasted;
        }
    }
}

const struct weft_service weft_ccl_service = {
    .owns[WEFT_OWNS_WAITS] = WEFT_KIND(WEFT_WAIT_COLUMN),
    .waits_for = waits_for,
    .watch = watch,
};
