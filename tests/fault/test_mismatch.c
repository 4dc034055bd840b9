/*
 * fault/test_mismatch.c - processes that make different calls where all have to make the same: each
 * hears of both, or that the others have gone, and nobody waits for ever.
 */
#include "support/cases.h"
#include "support/expect.h"
#include "weft/device.h"
#include "weft/weft.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 3, RANKS = 2 };

struct user {
    int unused;
};

WEFT_KERNEL(odd_one, struct user, user)
{
    (void)user;
    weft_enter(self);
    weft_leave(self);
}

WEFT_KERNEL(another, struct user, user)
{
    (void)user;
    weft_enter(self);
    weft_leave(self);
}

/* All refuse, and can agree on one after that. */
static int different_kernels(weft_job *job)
{
    const weft_numbers *numbers = weft_numbers_of(job);
    const bool odd = numbers->processes > 1 && numbers->process == numbers->processes - 1;
    struct user user = {0};

    const weft_status status = weft_prepare(job, odd ? &odd_one : &another, 1, RANKS);
    EXPECT(status == (numbers->processes > 1 ? WEFT_ERR_MISMATCH : WEFT_OK));
    if (status != WEFT_OK)
        EXPECT(strstr(weft_error(job), "prepares kernel another, and") != NULL &&
               strstr(weft_error(job), "kernel odd_one") != NULL);
    /* Who has none cannot, and that is what the others hear. */
    const weft_status none = weft_prepare(job, odd ? NULL : &another, 1, RANKS);
    EXPECT(none == (odd ? WEFT_ERR_ARGUMENT : numbers->processes > 1 ? WEFT_ERR_DEVICE : WEFT_OK));
    EXPECT(weft_prepare(job, &another, 1, RANKS) == WEFT_OK);
    EXPECT(weft_run(job, &user, sizeof(user), NULL) == WEFT_OK);
    return 0;
}

/* One process waits for the others, which have closed the job: of a notification by all of them,
 * of a barrier by any. */
static int wait_for_closed(weft_job *job)
{
    const weft_numbers *numbers = weft_numbers_of(job);

    if (numbers->process != numbers->processes - 1 || numbers->processes == 1)
        return 0;
    EXPECT(weft_host_wait(job, 3, 1) == WEFT_ERR_MISMATCH);
    EXPECT(strstr(weft_error(job), "in weft_host_wait for tag 3") != NULL &&
           strstr(weft_error(job), "others have called weft_close") != NULL);
    return 0;
}

static int barrier_of_closed(weft_job *job)
{
    const weft_numbers *numbers = weft_numbers_of(job);

    EXPECT(weft_host_barrier(job) == WEFT_OK); /* in which all have been */
    if (numbers->process == 0 || numbers->processes == 1)
        return 0;
    EXPECT(weft_host_barrier(job) == WEFT_ERR_MISMATCH);
    EXPECT(strstr(weft_error(job), "barrier of WEFT_COMM_HOST") != NULL);
    return 0;
}

/*
 * The last process makes another call than the others, after a barrier of all: a barrier here, a
 * window there; a run; a group's window. All hear of both.
 */
static int different_calls(weft_job *job, const char *one, const char *other, bool barrier,
                           bool exchange)
{
    const weft_numbers *numbers = weft_numbers_of(job);
    const bool last = numbers->process == numbers->processes - 1;
    int word = 0;
    weft_win win;
    weft_status status;

    EXPECT(weft_host_barrier(job) == WEFT_OK);
    if (numbers->processes == 1)
        return 0;
    if (!last)
        status = barrier ? weft_host_barrier(job) : weft_host_win_create(job, NULL, 0, &win);
    else
        status = exchange ? weft_host_gather(job, 0, &word, 0, NULL)
                          : weft_host_win_create(job, NULL, 0, &win);
    EXPECT(status == WEFT_ERR_MISMATCH);
    EXPECT(strstr(weft_error(job), one) != NULL && strstr(weft_error(job), other) != NULL);
    return 0;
}

static int barrier_and_window(weft_job *job)
{
    return different_calls(job, "in a barrier of WEFT_COMM_HOST", "is in weft_host_win_create",
                           true, false);
}

static int barrier_and_gather(weft_job *job)
{
    return different_calls(job, "in a barrier of WEFT_COMM_HOST", "is in weft_host_gather", true,
                           true);
}

static int window_and_gather(weft_job *job)
{
    return different_calls(job, "in weft_host_win_create of WEFT_COMM_HOST",
                           "is in weft_host_gather", false, true);
}

/* Scatter where the others gather: each is named as what it is. */
static int gather_and_scatter(weft_job *job)
{
    const weft_numbers *numbers = weft_numbers_of(job);
    int word = 0;

    if (numbers->processes == 1)
        return 0;
    EXPECT((numbers->process == 0
                ? weft_host_gather(job, 0, &word, 0, NULL)
                : weft_host_scatter(job, 0, NULL, &word, 0)) == WEFT_ERR_MISMATCH);
    EXPECT(strstr(weft_error(job), "calls weft_host_gather") != NULL &&
           strstr(weft_error(job), "calls weft_host_scatter") != NULL);
    return 0;
}

/* Each in a job of its own, as every process of it. */
static int (*const cases[])(weft_job *job) = {
    different_kernels,  wait_for_closed,   barrier_of_closed,  barrier_and_window,
    barrier_and_gather, window_and_gather, gather_and_scatter,
};

int main(void)
{
    const int wrong = run_cases(cases, sizeof(cases) / sizeof(cases[0]), MOST);

    printf("%s\n", wrong == 0 ? "all good" : "FAILED");
    return wrong;
}
