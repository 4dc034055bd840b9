/*
 * fault/test_task_random.c - random mode of programs with tasks: a body that waits for what nobody
 * sends, and recorded tasks that wait for it, are a deadlock at once.
 */
#include "support/expect.h"
#include "weft/task.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { SEEDS = 10 };

struct none {
    int unused;
};

#define STUCK(X) X(fine) X(waits)
WEFT_TASK_IDS(STUCK)

WEFT_TASK(fine, struct none, args)
{
}

WEFT_TASK(waits, struct none, args)
{
    weft_wait(self, 3, 1);
}

WEFT_TASK_KERNEL(stuck, STUCK, struct none)

/* Created, or recorded: each task has the same data. */
static int run(void *recorded)
{
    struct none none = {0};
    weft_recording *recording;
    weft_win win;
    weft_job *job;

    EXPECT(weft_open(&job, NULL, NULL) == WEFT_OK);
    EXPECT(weft_host_win_create(job, weft_malloc(job, 64), 64, &win) == WEFT_OK);
    EXPECT(weft_tasks_begin(job, &stuck, &none, 1, 2) == WEFT_OK);
    EXPECT(weft_tasks_record(job, &recording) == WEFT_OK);
    for (int i = 0; i < 4 && weft_numbers_of(job)->process == 0; i++) {
        weft_task_desc desc = {.body = i == 0 ? waits_id : fine_id, .datas = 1};
        desc.data[0] = (weft_task_data_desc){.win = win, .bytes = 8, .mode = WEFT_TASK_OUT};
        if (*(const bool *)recorded)
            EXPECT(weft_tasks_add(recording, &desc) == WEFT_OK);
        else
            EXPECT(weft_task_create(job, &desc, NULL) == WEFT_OK);
    }
    EXPECT(weft_tasks_ready(recording) == WEFT_OK);
    if (weft_numbers_of(job)->process == 0 && *(const bool *)recorded)
        EXPECT(weft_tasks_run(recording, 2) == WEFT_ERR_DEADLOCK);
    EXPECT(weft_tasks_end(job) == WEFT_ERR_DEADLOCK);
    EXPECT(weft_close(job) == WEFT_ERR_DEADLOCK);
    return 0;
}

int main(void)
{
    int wrong = 0;
    char schedule[32];

    for (int seed = 1; seed <= SEEDS; seed++) {
        snprintf(schedule, sizeof(schedule), "random:%d", seed);
        setenv("WEFT_CPU_SCHEDULE", schedule, 1);
        for (int recorded = 0; recorded < 2; recorded++)
            wrong |= weft_local_job(2, run, &(bool){recorded != 0});
    }
    printf("%s\n", wrong ? "FAILED" : "all good");
    return wrong;
}
