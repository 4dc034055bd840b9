/*
 * fault/test_misuse.c - calls that break a rule of the API are refused, or end the job, with a
 * reason and the same status on every process; nobody waits for ever.
 */
#include "order/order.h"
#include "support/cases.h"
#include "support/expect.h"
#include "weft/device.h"
#include "weft/weft.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

WEFT_KERNEL(another, struct user, user)
{
    (void)user;
    weft_enter(self);
    weft_leave(self);
}

struct immense {
    char byte[(size_t)1 << 50]; /* more than there are addresses */
};

WEFT_KERNEL(immense_data, struct immense, data)
{
    (void)data;
    weft_enter(self);
    weft_leave(self);
}

/* A window whose communicator is freed would look at the members that are gone. */
static int comm_before_window(weft_job *job)
{
    struct user user = {0};

    EXPECT(weft_prepare(job, &frees_comm_first, 1, RANKS) == WEFT_OK);
    EXPECT(weft_run(job, &user, sizeof(user), NULL) == WEFT_ERR_STATE);
    EXPECT(strstr(weft_error(job), "was not freed before") != NULL);
    return 0;
}

/* Gathers and scatters a word of each process; `bad` leaves out what it needs. */
static weft_status gather(weft_job *job, int root, int bad, bool receive)
{
    const int me = weft_numbers_of(job)->process;
    int words[MOST] = {0};
    weft_status status = weft_host_gather(job, root, me == bad && !receive ? NULL : &me, sizeof(me),
                                          me == root && (me != bad || !receive) ? words : NULL);

    for (int p = 0; status == WEFT_OK && me == root && p < weft_numbers_of(job)->processes; p++)
        if (words[p] != p)
            return WEFT_ERR_USER;
    return status;
}

static weft_status scatter(weft_job *job, int root, int bad, bool receive)
{
    const int me = weft_numbers_of(job)->process;
    const int words[MOST] = {0, 1, 2};
    int mine = -1;
    weft_status status =
        weft_host_scatter(job, root, me == root && (me != bad || receive) ? words : NULL,
                          me == bad && receive ? NULL : &mine, sizeof(mine));

    return status == WEFT_OK && mine != me ? WEFT_ERR_USER : status;
}

/* Every process refuses the call that one of them got wrong, and can go on. */
static int gather_nothing(weft_job *job)
{
    enum { NOBODY = -1 };
    const weft_numbers *numbers = weft_numbers_of(job);
    const int last = numbers->processes - 1;

    for (int root = 0; root <= last; root++) {
        EXPECT(gather(job, root, last, false) == WEFT_ERR_ARGUMENT);
        EXPECT(strstr(weft_error(job), "bytes at NULL") != NULL);
        EXPECT(gather(job, root, root, true) == WEFT_ERR_ARGUMENT);
        EXPECT(scatter(job, root, root, false) == WEFT_ERR_ARGUMENT);
        EXPECT(scatter(job, root, last, true) == WEFT_ERR_ARGUMENT);
        EXPECT(gather(job, root, NOBODY, false) == WEFT_OK);
        EXPECT(scatter(job, root, NOBODY, false) == WEFT_OK);
    }
    EXPECT(gather(job, last + 1, NOBODY, false) == WEFT_ERR_RANK);
    if (last > 0)
        EXPECT(scatter(job, numbers->process == 1, NOBODY, false) == WEFT_ERR_MISMATCH);
    EXPECT(weft_host_gather(job, 0, NULL, 0, NULL) == WEFT_OK);
    EXPECT(weft_host_barrier(job) == WEFT_OK);
    return 0;
}

static int abort_without_reason(weft_job *job)
{
    const weft_numbers *numbers = weft_numbers_of(job);
    const int last = numbers->processes - 1;

    if (numbers->process == last)
        weft_abort(job, NULL);
    while (weft_host_barrier(job) == WEFT_OK)
        ;
    EXPECT(weft_host_barrier(job) == WEFT_ERR_USER);
    EXPECT(strstr(weft_error(job), "it gave no reason") != NULL);
    return 0;
}

/* Memory that cannot be. */
static int bad_memory(weft_job *job)
{
    char *block = weft_malloc(job, 100), word[8] = {0};
    weft_win win;

    EXPECT(block != NULL);
    EXPECT(weft_copy(job, NULL, word, sizeof(word)) == WEFT_ERR_ARGUMENT);
    EXPECT(weft_copy(job, word, NULL, sizeof(word)) == WEFT_ERR_ARGUMENT);
    EXPECT(weft_copy(job, NULL, NULL, 0) == WEFT_OK);
    EXPECT(weft_register(job, word, SIZE_MAX) == WEFT_ERR_ARGUMENT);
    EXPECT(strstr(weft_error(job), "end of the address space") != NULL);
    EXPECT(weft_host_win_create(job, block + 50, 1 << 30, &win) == WEFT_ERR_ARGUMENT);
    EXPECT(strstr(weft_error(job), "process 0 brings 1073741824 bytes") != NULL);
    EXPECT(weft_host_win_create(job, block + 50, 50, &win) == WEFT_OK);
    weft_free(job, block);
    EXPECT(strstr(weft_error(job), "lies in the memory") != NULL);
    EXPECT(weft_host_win_free(job, &win) == WEFT_OK);
    EXPECT(weft_register(job, word, sizeof(word)) == WEFT_OK);
    EXPECT(weft_host_win_create(job, word + 4, 4, &win) == WEFT_OK);
    EXPECT(weft_unregister(job, word) == WEFT_ERR_STATE);
    EXPECT(strstr(weft_error(job), "lies in the memory") != NULL);
    EXPECT(weft_host_win_free(job, &win) == WEFT_OK);
    EXPECT(weft_unregister(job, word) == WEFT_OK);
    EXPECT(weft_unregister(job, word) == WEFT_ERR_ARGUMENT);
    EXPECT(weft_open(NULL, NULL, NULL) == WEFT_ERR_ARGUMENT);
    return 0;
}

/* Memory that is not there: a window over it would end whoever stores into it. */
static int memory_not_there(weft_job *job)
{
    char *const nowhere = (char *)4096; /* Linux maps nothing so low */
    weft_win win;

    EXPECT(weft_host_win_create(job, nowhere, 8, &win) == WEFT_ERR_ARGUMENT);
    EXPECT(strstr(weft_error(job), "process 0 brings 8 bytes at 0x1000") != NULL);
    EXPECT(weft_numbers_of(job)->process != 0 ||
           strstr(weft_error(job), "it is not all mapped") != NULL);
    EXPECT(weft_register(job, nowhere, SIZE_MAX / 2) == WEFT_ERR_ARGUMENT);
    EXPECT(strstr(weft_error(job), "it is not all mapped") != NULL);
    return 0;
}

/* Calls without a job, as after a weft_open whose status nobody looked at, and without a place for
 * what they have to say. */
static int null_places(weft_job *job)
{
    const double *list;
    size_t count;

    EXPECT(weft_prepare(NULL, &another, 1, RANKS) == WEFT_ERR_ARGUMENT);
    EXPECT(strcmp(weft_error(NULL), "weft_prepare: job is NULL") == 0);
    EXPECT(weft_run(NULL, NULL, 0, NULL) == WEFT_ERR_ARGUMENT);
    EXPECT(weft_malloc(NULL, 8) == NULL);
    EXPECT(weft_host_barrier(NULL) == WEFT_ERR_ARGUMENT);
    EXPECT(weft_host_gather(NULL, 0, NULL, 0, NULL) == WEFT_ERR_ARGUMENT);
    EXPECT(weft_host_scatter(NULL, 0, NULL, NULL, 0) == WEFT_ERR_ARGUMENT);
    EXPECT(weft_intervals(NULL, &list, &count) == WEFT_ERR_ARGUMENT);
    weft_abort(NULL, "nobody");
    EXPECT(weft_intervals(job, NULL, &count) == WEFT_ERR_ARGUMENT);
    EXPECT(weft_intervals(job, &list, NULL) == WEFT_ERR_ARGUMENT);
    EXPECT(strstr(weft_error(job), "weft_intervals: count is NULL") != NULL);
    EXPECT(weft_host_win_create(job, NULL, 0, NULL) == WEFT_ERR_ARGUMENT);
    EXPECT(weft_host_win_free(job, NULL) == WEFT_ERR_ARGUMENT);
    EXPECT(weft_host_test(job, 1, 1, NULL) == WEFT_ERR_ARGUMENT);
    EXPECT(strstr(weft_error(job), "weft_host_test: done is NULL") != NULL);
    EXPECT(weft_host_barrier(job) == WEFT_OK);
    return 0;
}

/* All are told whose memory cannot be a window, and that process why. */
static int bad_window_of_one(weft_job *job)
{
    const weft_numbers *numbers = weft_numbers_of(job);
    const int last = numbers->processes - 1;
    char word[8], who[64];
    weft_win win;

    snprintf(who, sizeof(who), "process %d brings 8 bytes at 0x0", last);
    EXPECT(weft_host_win_create(job, numbers->process == last ? NULL : word, 8, &win) ==
           WEFT_ERR_ARGUMENT);
    EXPECT(strstr(weft_error(job), who) != NULL);
    EXPECT(numbers->process != last || strstr(weft_error(job), "base is NULL") != NULL);
    return 0;
}

/* Each in a job of its own, as every process of it. */
static int (*const cases[])(weft_job *job) = {
    comm_before_window, gather_nothing,       bad_memory,  memory_not_there,
    bad_window_of_one,  abort_without_reason, null_places,
};

/* Random mode is one thread for all processes; these are threads already. */
static int random_by_option(void *unused)
{
    char name[] = "test_misuse", option[] = "--weft-cpu-schedule=random:1";
    char *argv[] = {name, option, NULL};
    int argc = 2;
    weft_job *job;

    (void)unused;
    EXPECT(weft_open(&job, &argc, argv) == WEFT_ERR_CONFIG);
    EXPECT(strstr(weft_error(NULL), "WEFT_CPU_SCHEDULE") != NULL);
    return 0;
}

/* The ranks of the kernel before have gone when the timeline is closed. */
static int prepare_fails(weft_job *job)
{
    struct user user = {0};

    EXPECT(weft_prepare(job, &another, 1, RANKS) == WEFT_OK);
    EXPECT(weft_run(job, &user, sizeof(user), NULL) == WEFT_OK);
    EXPECT(weft_prepare(job, &immense_data, 1, RANKS) == WEFT_ERR_MEMORY);
    return 0;
}

static int prepare_fails_traced(int processes)
{
    static int (*const run)(weft_job * job) = prepare_fails;
    char name[] = "/tmp/weft-misuse-XXXXXX";
    const int fd = mkstemp(name);

    EXPECT(fd >= 0 && close(fd) == 0);
    setenv("WEFT_TRACE", name, 1);
    const int wrong = weft_local_job(processes, run_case, (void *)&run);
    unsetenv("WEFT_TRACE");
    unlink(name);
    return wrong;
}

/* One that never comes is not waited for, in random mode either. */
static int open_unless_last(void *argument)
{
    static int entered;
    weft_job *job;

    (void)argument;
    if (__atomic_fetch_add(&entered, 1, __ATOMIC_RELAXED) % MOST == MOST - 1)
        return 0;
    EXPECT(weft_open(&job, NULL, NULL) == WEFT_ERR_PEER_LOST);
    EXPECT(strstr(weft_error(NULL), "one of 3 processes has ended") != NULL);
    return 0;
}

static int one_stays_away(void)
{
    EXPECT(weft_local_job(MOST, open_unless_last, NULL) == 0);
    setenv("WEFT_CPU_SCHEDULE", "random:1", 1);
    EXPECT(weft_local_job(MOST, open_unless_last, NULL) == 0);
    unsetenv("WEFT_CPU_SCHEDULE");
    EXPECT(weft_local_job(1 << 20, open_unless_last, NULL) == WEFT_ERR_ARGUMENT);
    return 0;
}

/* What random mode weakened must not stay so for the next job of the program. */
static int mutation_ends(void)
{
    weft_job *job;

    setenv("WEFT_CPU_SCHEDULE", "random:1", 1);
    setenv("WEFT_MUTATE", "drain_receive", 1);
    EXPECT(weft_open(&job, NULL, NULL) == WEFT_OK);
    EXPECT(weft_mutation == DRAIN_receive);
    EXPECT(weft_close(job) == WEFT_OK);
    EXPECT(weft_mutation == ORDER_none);
    EXPECT(weft_local_job(2, run_case, (void *)&cases[0]) == 0);
    EXPECT(weft_mutation == ORDER_none);
    unsetenv("WEFT_CPU_SCHEDULE");
    unsetenv("WEFT_MUTATE");
    return 0;
}

int main(void)
{
    int wrong = run_cases(cases, sizeof(cases) / sizeof(cases[0]), MOST);

    for (int processes = 1; processes <= MOST; processes++)
        wrong |= prepare_fails_traced(processes);
    wrong |= weft_local_job(2, random_by_option, NULL);
    wrong |= mutation_ends();
    wrong |= one_stays_away();
    printf("%s\n", wrong == 0 ? "all good" : "FAILED");
    return wrong;
}
