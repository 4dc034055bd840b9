/*
 * fault/test_limits.c - a limit is reached exactly where its variable says, the creation that goes
 * beyond it fails with a reason, on all ranks, and what is freed can be used again. And a
 * communicator that goes before its windows is an error.
 */
#include "weft/device.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOWS = 3, COMMS = 6, BUILT_IN = 3, RANKS = 3 };

struct data {
    int windows, comms, wrong;
    int outlive; /* the window outlives its communicator */
};

/* How many can be made; frees them again. */
static int count_windows(weft_self *self, weft_comm comm, struct data *data)
{
    weft_win wins[2 * WINDOWS + 2];
    int n = 0;

    while (n < 2 * WINDOWS + 1 &&
           (wins[n] = weft_win_create(self, comm, NULL, 0)) != WEFT_WIN_NONE) {
        data->wrong += weft_failure(self) != WEFT_OK;
        n++;
    }
    data->wrong += weft_failure(self) != WEFT_ERR_LIMIT;
    for (int i = 0; i < n; i++)
        weft_win_free(self, &wins[i]);
    return n;
}

static int count_comms(weft_self *self, struct data *data)
{
    weft_comm comms[2 * COMMS + 2];
    int n = 0;

    while (n < 2 * COMMS + 1 &&
           (comms[n] = weft_comm_split(self, WEFT_COMM_WORLD, 0, 0)) != WEFT_COMM_NONE)
        n++;
    data->wrong += weft_failure(self) != WEFT_ERR_LIMIT;
    for (int i = 0; i < n; i++)
        weft_comm_free(self, &comms[i]);
    return n;
}

WEFT_KERNEL(limits, struct data, data)
{
    weft_enter(self);
    if (data->outlive) {
        weft_comm comm = weft_comm_split(self, WEFT_COMM_WORLD, 0, 0);
        weft_win_create(self, comm, NULL, 0);
        weft_comm_free(self, &comm);
        data->wrong++; /* must not be reached */
    }
    for (int round = 0; round < 3; round++) {
        const int windows = count_windows(self, WEFT_COMM_WORLD, data);
        const int local = count_windows(self, WEFT_COMM_DEVICE, data);
        const int comms = count_comms(self, data);
        data->wrong += windows != WINDOWS || local != WINDOWS;
        if (weft_rank(self, WEFT_COMM_DEVICE) == 0) {
            data->windows = windows;
            data->comms = comms;
        }
    }
    weft_leave(self);
}

static int process_main(void *argument)
{
    struct data data = {.outlive = *(const int *)argument};
    weft_job *job;

    if (weft_open(&job, NULL, NULL) != WEFT_OK)
        return 1;
    const weft_numbers *numbers = weft_numbers_of(job);
    weft_status status = weft_prepare(job, &limits, 1, RANKS);
    if (status == WEFT_OK)
        status = weft_run(job, &data, sizeof(data), NULL);
    const int comms = COMMS - (numbers->processes > 1 ? BUILT_IN : 0); /* they are shared */
    bool good = data.wrong == 0;
    if (data.outlive)
        good &= status == WEFT_ERR_COMM && strstr(weft_error(job), "was not freed before") != NULL;
    else
        good &= status == WEFT_OK && data.windows == WINDOWS && data.comms == comms;
    if (!good)
        printf("FAILED: process %d of %d: %s, %d windows, %d communicators, %d wrong answers\n",
               numbers->process, numbers->processes, weft_status_name(status), data.windows,
               data.comms, data.wrong);
    weft_close(job);
    return good ? 0 : 1;
}

int main(void)
{
    int result = 0;

    setenv("WEFT_WINDOWS", "3", 1);
    setenv("WEFT_COMMS", "6", 1);
    for (int outlive = 0; outlive <= 1; outlive++)
        for (int processes = 1; processes <= 3; processes++)
            result |= weft_local_job(processes, process_main, &outlive);
    printf("%s\n", result == 0 ? "all good" : "FAILED");
    return result;
}
