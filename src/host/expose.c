/* host/expose.c - windows with one member (runtime/space/exposure.c), as the program has them.
 * Program's threads. */
#include "host/host.h"

#include "rank/path/dispatch.h"

#include <stdio.h>

/* Waits until a number of a process is announced, or (there: false) is not any more. */
static void await(weft_job *job, weft_self *self, int process, uint32_t number, bool there,
                  struct weft_announced *found)
{
    uint32_t rounds = 0;

    while (weft_announced_find(job, process, number, found) != there &&
           weft_wait_round(self, &rounds, WEFT_WAIT_EXPOSED, (uint64_t)process, 0, number))
        continue;
    weft_wait_over(self, rounds);
}

/* Exposes or ends what this process exposes: `there` says which it must have now. */
static weft_status check_number(weft_job *job, const char *call, uint32_t number, bool there)
{
    struct weft_announced found;

    WEFT_TRY(weft_host_together(job, call));
    if (weft_announced_find(job, job->numbers.process, number, &found) == there)
        return WEFT_OK;
    return weft_refused(job, WEFT_ERR_STATE, "%s: process %d has %s under number %u", call,
                        job->numbers.process, there ? "exposed nothing" : "exposed memory", number);
}

/* The error names the call and what it brought. */
static weft_status announce(weft_job *job, void *base, size_t bytes, uint32_t number)
{
    const enum weft_level before = weft_err_level(WEFT_SAY_INFO);
    const weft_status status = weft_announce(job, base, bytes, number);
    char why[WEFT_SAY_LINE / 2];

    weft_err_level(before);
    if (status == WEFT_OK || weft_job_status(job) != WEFT_OK)
        return status;
    snprintf(why, sizeof(why), "%s", weft_err_last());
    return weft_refused(job, status, "weft_expose: process %d, number %u, %zu bytes at %p: %s",
                        job->numbers.process, number, bytes, base, why);
}

weft_status weft_expose(weft_job *job, void *base, size_t bytes, uint32_t number)
{
    WEFT_HOST_BEGIN(job, self, "weft_expose");
    struct weft_announced found;

    WEFT_HOST_TRY(check_number(job, host_name, number, false));
    WEFT_HOST_TRY(announce(job, base, bytes, number));
    await(job, self, job->numbers.process, number, true, &found);
    if (found.status == WEFT_OK)
        return weft_host_leave(job, WEFT_OK);
    weft_announced_forget(job, number);
    return weft_host_leave(
        job, weft_refused(
                 job, found.status,
                 "%s: process %d cannot expose %zu bytes at %p under number %u (WEFT_WINDOWS=%d)",
                 host_name, job->numbers.process, bytes, base, number, (int)job->config.windows));
}

weft_status weft_unexpose(weft_job *job, uint32_t number)
{
    WEFT_HOST_BEGIN(job, self, "weft_unexpose");
    struct weft_announced found;

    WEFT_HOST_TRY(check_number(job, host_name, number, true));
    WEFT_HOST_TRY(weft_renounce(job, number));
    await(job, self, job->numbers.process, number, false, &found);
    return weft_host_leave(job, WEFT_OK);
}

/* TIMEOUT: in silence. */
static weft_status find_exposed(weft_job *job, int process, uint32_t number, double seconds,
                                weft_win *win)
{
    WEFT_HOST_BEGIN(job, self, "weft_exposed");
    struct weft_announced found;

    WEFT_HOST_TRY(weft_host_process(job, host_name, process));
    WEFT_HOST_TRY(weft_host_place(job, host_name, "win", win));
    host_call.deadline = weft_host_deadline(seconds);
    await(job, self, process, number, true, &found);
    *win = found.win;
    return weft_host_leave(job, WEFT_OK);
}

weft_status weft_exposed(weft_job *job, int process, uint32_t number, double seconds, weft_win *win)
{
    const weft_status status = find_exposed(job, process, number, seconds, win);

    if (status != WEFT_ERR_TIMEOUT || weft_job_status(job) != WEFT_OK)
        return status;
    return weft_refused(job, status,
                        "weft_exposed: process %d has announced nothing under number %u within "
                        "%g s",
                        process, number, seconds);
}
