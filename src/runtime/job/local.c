/* runtime/job/local.c - the processes of a job as tasks of this one. */
#include "boot/local.h"
#include "base/config.h"
#include "base/say.h"
#include "base/task.h"
#include "device/cpu/random/random.h"
#include "order/order.h"
#include "weft/weft.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST = 65536 }; /* processes, at most, as of WEFT_PROCESSES */

struct local_process {
    struct weft_task task;
    struct weft_local *group;
    int process, result;
    int (*program)(void *argument);
    void *argument;
};

static void process_main(void *argument)
{
    struct local_process *p = argument;

    weft_local_enter(p->group, p->process);
    p->result = p->program(p->argument);
    weft_local_gone(p->group, 1);
}

static int run_group(int processes, int (*program)(void *argument), void *argument)
{
    struct local_process *all = calloc((size_t)processes, sizeof(*all));
    struct weft_local *group = NULL;
    int started = 0, result = 0;

    if (all == NULL || weft_local_begin(&group, processes) != WEFT_OK) {
        free(all);
        return weft_err(WEFT_ERR_MEMORY, "weft_local_job: no memory for %d processes", processes);
    }
    while (started < processes) {
        struct local_process *p = &all[started];
        char name[16];
        *p = (struct local_process){
            .group = group, .process = started, .program = program, .argument = argument};
        snprintf(name, sizeof(name), "process %d", started & 0xffff);
        if (weft_task_start(&p->task, name, process_main, p) != WEFT_OK) {
            result = WEFT_ERR_SYSTEM;
            weft_local_gone(group, processes - started); /* those that run need not wait */
            break;
        }
        started++;
    }
    for (int i = 0; i < started; i++) {
        weft_task_join(&all[i].task);
        if (result == 0)
            result = all[i].result;
    }
    weft_local_end(group);
    free(all);
    return result;
}

int weft_local_job(int processes, int (*program)(void *argument), void *argument)
{
    struct weft_config config;
    uint64_t seed;

    if (processes < 1 || processes > MOST || program == NULL)
        return weft_err(WEFT_ERR_ARGUMENT, "weft_local_job: %d processes (1..%d)%s", processes,
                        MOST, program == NULL ? ", of program NULL" : "");
    WEFT_TRY(weft_config_load(&config, NULL, NULL));
    const bool random = weft_config_random(&config, &seed);
    if (random)
        WEFT_TRY(weft_random_begin(seed));
    const int result = run_group(processes, program, argument);
    if (random) {
        weft_random_end();
        weft_mutation = ORDER_none; /* as weft_open set it */
    }
    return result;
}
