/*
 * runtime/job/module.h - what layers above the runtime add to every job. The topmost folder lists
 * them (task/modules.c), in the order in which they open; they close in reverse.
 */
#ifndef WEFT_RUNTIME_JOB_MODULE_H
#define WEFT_RUNTIME_JOB_MODULE_H

#include "runtime/job/job.h"

/* Any function may be NULL. */
struct weft_module {
    /* Before processes know of each other: adds kinds of notices. */
    weft_status (*open)(struct weft_job *job);
    /* All are connected, services do not run yet. Collective, blocking. */
    weft_status (*meet)(struct weft_job *job);
    /* Before each run of a kernel. Local. Errors: the job fails. */
    weft_status (*launch)(struct weft_job *job);
    /* All processes are in weft_close, the services still run. */
    void (*leave)(struct weft_job *job);
    /* Frees all. Nothing runs any more; also where open or meet failed, or did not come. */
    void (*close)(struct weft_job *job);
};

extern const struct weft_module weft_msg_module, weft_ccl_module, weft_teams_module,
    weft_pgas_module, weft_tasks_module;
extern const struct weft_module *const weft_modules[]; /* behind them NULL */

#endif
