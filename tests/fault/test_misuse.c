/*
 * fault/test_misuse.c - calls that break a rule of the API are refused, or end the job, with a
 * reason and the same status on every process; nobody waits for ever.
 */
#include "weft/device.h"
#include "weft/weft.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 3, RANKS = 2 };

struct user {
    int unused;
};

WEFT_KERNEL(frees_comm_first, struct user, user)
{
    (void)user;
    weft_comm comm = weft_comm_split(self, WEFT_COMM_WORLD, 0, 0);
    weft_win_create(self, comm, NULL, 0);
    weft_comm_free(self, &comm);
    for (;;) /* the job ends before */
        weft_wait(self, 1, 1);
}

#define EXPECT(x)                                                                                  \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #x);                      \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

/* A window whose communicator is freed would look at the members that are gone. */
static int comm_before_window(weft_job *job)
{
    struct user user = {0};

    EXPECT(weft_prepare(job, &frees_comm_first, 1, RANKS) == WEFT_OK);
    EXPECT(weft_run(job, &user, sizeof(user), NULL) == WEFT_ERR_STATE);
    EXPECT(strstr(weft_error(job), "was not freed before") != NULL);
    return 0;
}

/* Each in a job of its own, as every process of it. */
static int (*const cases[])(weft_job *job) = {comm_before_window};

static int process_main(void *argument)
{
    int (*const run)(weft_job *) = *(int (*const *)(weft_job *))argument;
    weft_job *job;

    EXPECT(weft_open(&job, NULL, NULL) == WEFT_OK);
    const int wrong = run(job);
    weft_close(job);
    return wrong;
}

int main(void)
{
    int wrong = 0;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int processes = 1; processes <= MOST; processes++)
            wrong |= weft_local_job(processes, process_main, (void *)&cases[i]);
    printf("%s\n", wrong == 0 ? "all good" : "FAILED");
    return wrong;
}
