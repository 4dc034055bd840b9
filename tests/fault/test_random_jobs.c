/*
 * fault/test_random_jobs.c - random mode of a process that opens several jobs: it lasts until the
 * last is closed, a deadlock is that of the job in which somebody waits, and no race is lost.
 */
#include "support/expect.h"
#include "weft/device.h"
#include "weft/weft.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { RANKS = 3 };

struct user {
    int unused;
};

/* All put into the same bytes, and nobody says when. */
WEFT_KERNEL(races, struct user, user)
{
    static char target[64];
    static const char source[64];
    weft_win win;

    (void)user;
    win = weft_win_create(self, WEFT_COMM_WORLD, target, sizeof(target));
    weft_put(self, win, 0, 0, source, sizeof(source));
    weft_win_free(self, &win);
}

static int run_races(weft_job *job)
{
    struct user user = {0};

    EXPECT(weft_prepare(job, &races, 1, RANKS) == WEFT_OK);
    EXPECT(weft_run(job, &user, sizeof(user), NULL) == WEFT_ERR_RACE);
    return 0;
}

static int first_closes(void)
{
    weft_job *first, *second;

    EXPECT(weft_open(&first, NULL, NULL) == WEFT_OK);
    EXPECT(weft_open(&second, NULL, NULL) == WEFT_OK);
    EXPECT(weft_close(first) == WEFT_OK);
    EXPECT(weft_host_barrier(second) == WEFT_OK);
    EXPECT(weft_close(second) == WEFT_OK);
    return 0;
}

static int one_is_stuck(void)
{
    weft_job *stuck, *other;

    EXPECT(weft_open(&stuck, NULL, NULL) == WEFT_OK);
    EXPECT(weft_open(&other, NULL, NULL) == WEFT_OK);
    EXPECT(weft_host_wait(stuck, 1, 1) == WEFT_ERR_DEADLOCK);
    EXPECT(weft_host_barrier(other) == WEFT_OK);
    EXPECT(weft_close(stuck) == WEFT_ERR_DEADLOCK);
    EXPECT(weft_close(other) == WEFT_OK);
    return 0;
}

/* Whether the other job is there or gone. */
static int one_races(bool gone)
{
    weft_job *racy, *other;

    EXPECT(weft_open(&racy, NULL, NULL) == WEFT_OK);
    EXPECT(weft_open(&other, NULL, NULL) == WEFT_OK);
    EXPECT(!gone || weft_close(other) == WEFT_OK);
    EXPECT(run_races(racy) == 0);
    EXPECT(weft_close(racy) == WEFT_ERR_RACE);
    EXPECT(gone || weft_close(other) == WEFT_ERR_RACE); /* whose memory it was is not known */
    return 0;
}

static int racy_process(void *argument)
{
    weft_job *job;

    (void)argument;
    for (int i = 0; i < 3; i++) {
        EXPECT(weft_open(&job, NULL, NULL) == WEFT_OK);
        EXPECT(run_races(job) == 0);
        EXPECT(weft_close(job) == WEFT_ERR_RACE);
    }
    return 0;
}

int main(void)
{
    int wrong = 0;

    for (int seed = 1; seed <= 5; seed++) {
        char schedule[32];
        snprintf(schedule, sizeof(schedule), "random:%d", seed);
        setenv("WEFT_CPU_SCHEDULE", schedule, 1);
        wrong |= first_closes();
        wrong |= one_is_stuck();
        wrong |= one_races(false);
        wrong |= one_races(true);
        wrong |= weft_local_job(1, racy_process, NULL);
        wrong |= weft_local_job(2, racy_process, NULL);
    }
    printf("%s\n", wrong == 0 ? "all good" : "FAILED");
    return wrong;
}
