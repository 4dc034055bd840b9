/*
 * fault/test_task_random.c - random mode of programs with tasks: a gate that nobody opens, and a
 * body that waits for what nobody sends, are a deadlock at once.
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

/* gate: process 0 opens its gate once too seldom, or a body waits. */
static int run(void *gate)
{
    const bool gated = *(const bool *)gate;
    struct none none = {0};
    weft_job *job;

    EXPECT(weft_open(&job, NULL, NULL) == WEFT_OK);
    EXPECT(weft_tasks_begin(job, &stuck, &none, 1, 2) == WEFT_OK);
    for (int i = 0; i < 4 && weft_numbers_of(job)->process == 0; i++) {
        weft_task_desc desc = {.body = gated ? fine_id : waits_id};
        EXPECT(!gated || weft_gate_create(job, 2, &desc.after) == WEFT_OK);
        EXPECT(!gated || weft_gate_open(job, desc.after) == WEFT_OK);
        EXPECT(weft_task_create(job, &desc, NULL) == WEFT_OK);
    }
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
        for (int gated = 0; gated < 2; gated++)
            wrong |= weft_local_job(2, run, &(bool){gated != 0});
    }
    printf("%s\n", wrong ? "FAILED" : "all good");
    return wrong;
}
