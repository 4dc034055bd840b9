/*
 * fault/test_limits.c - a limit is reached exactly where its variable says, the creation that goes
 * beyond it fails with a reason, on all ranks, and what is freed can be used again. The smallest
 * and the largest values work.
 */
#include "weft/device.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUILT_IN = 3, RANKS = 3, ROUNDS = 3, MOST = 8 };

struct data {
    int windows, comms; /* that WEFT_WINDOWS and WEFT_COMMS promise */
    int built_in;       /* communicators that count, of those that processes share */
    bool reach;         /* whether to go to the limit */
    uint64_t from[RANKS], to[RANKS];
    int wrong;
};

static void expect(struct data *data, bool good)
{
    if (!good)
        __atomic_add_fetch(&data->wrong, 1, __ATOMIC_RELAXED);
}

/* As many as can be made are `most`; frees them again. */
static void fill_windows(weft_self *self, weft_comm comm, int most, struct data *data)
{
    weft_win wins[MOST + 1];
    int n = 0;

    while (n <= MOST && (wins[n] = weft_win_create(self, comm, NULL, 0)) != WEFT_WIN_NONE) {
        expect(data, weft_failure(self) == WEFT_OK);
        n++;
    }
    expect(data, n == most && weft_failure(self) == WEFT_ERR_LIMIT);
    for (int i = 0; i < n && i <= MOST; i++)
        weft_win_free(self, &wins[i]);
}

static void fill_comms(weft_self *self, weft_comm parent, int most, struct data *data)
{
    weft_comm comms[MOST + 1];
    int n = 0;

    while (n <= MOST && (comms[n] = weft_comm_split(self, parent, 0, 0)) != WEFT_COMM_NONE)
        n++;
    expect(data, n == most && weft_failure(self) == WEFT_ERR_LIMIT);
    for (int i = 0; i < n && i <= MOST; i++)
        weft_comm_free(self, &comms[i]);
}

/* A window of a comm made for it: a put through it arrives. */
static void use_window(weft_self *self, weft_comm parent, struct data *data)
{
    const int me = weft_rank(self, WEFT_COMM_DEVICE);
    uint64_t *const from = &data->from[me], *const to = &data->to[me];
    weft_comm comm = weft_comm_split(self, parent, 0, 0);
    weft_win win = weft_win_create(self, comm, to, sizeof(*to));

    *from = 42;
    weft_put_notify(self, win, weft_rank(self, comm), 0, from, sizeof(*from), 1);
    weft_wait(self, 1, 1);
    expect(data, *to == 42);
    *to = 0;
    weft_win_free(self, &win);
    weft_comm_free(self, &comm);
}

WEFT_KERNEL(limits, struct data, data)
{
    weft_enter(self);
    for (int round = 0; round < ROUNDS; round++) {
        use_window(self, WEFT_COMM_WORLD, data);
        use_window(self, WEFT_COMM_DEVICE, data);
        if (!data->reach)
            continue;
        fill_windows(self, WEFT_COMM_WORLD, data->windows, data);
        fill_windows(self, WEFT_COMM_DEVICE, data->windows, data);
        fill_comms(self, WEFT_COMM_WORLD, data->comms - data->built_in, data);
        fill_comms(self, WEFT_COMM_DEVICE, data->comms, data);
    }
    weft_leave(self);
}

static int process_main(void *argument)
{
    struct data data = *(const struct data *)argument;
    weft_job *job;

    if (weft_open(&job, NULL, NULL) != WEFT_OK)
        return 1;
    const weft_numbers *numbers = weft_numbers_of(job);
    data.built_in = numbers->processes > 1 ? BUILT_IN : 0;
    weft_status status = weft_prepare(job, &limits, 1, RANKS);
    if (status == WEFT_OK)
        status = weft_run(job, &data, sizeof(data), NULL);
    const bool good = status == WEFT_OK && data.wrong == 0;
    if (!good)
        printf("FAILED: process %d of %d, %d windows, %d communicators: %s, %d wrong answers\n",
               numbers->process, numbers->processes, data.windows, data.comms,
               weft_status_name(status), data.wrong);
    weft_close(job);
    return good ? 0 : 1;
}

static int run(int windows, int comms)
{
    struct data data = {.windows = windows, .comms = comms, .reach = windows <= MOST};
    char text[16];
    int result = 0;

    snprintf(text, sizeof(text), "%d", windows);
    setenv("WEFT_WINDOWS", text, 1);
    snprintf(text, sizeof(text), "%d", comms);
    setenv("WEFT_COMMS", text, 1);
    for (int processes = 1; processes <= 3; processes++)
        result |= weft_local_job(processes, process_main, &data);
    return result;
}

int main(void)
{
    setenv("WEFT_LOG", "error", 1); /* not the warning of every creation that fails */
    const int result = run(1, 4) | run(3, 6) | run(4096, 256);

    printf("%s\n", result == 0 ? "all good" : "FAILED");
    return result;
}
