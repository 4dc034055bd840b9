/*
 * runtime/service/service.h - what a module, here or in a layer above, does for a job: what it has
 * from the opening to the end, rounds of the progress and receive tasks, frames of the control
 * channel, commands of ranks, and what to say of who waits for it. The runtime knows modules by
 * this table alone. A kind of frame, of command and of wait has one owner.
 */
#ifndef WEFT_RUNTIME_SERVICE_SERVICE_H
#define WEFT_RUNTIME_SERVICE_SERVICE_H

#include "abi/command.h"
#include "net/net.h"
#include "rank/state.h"

#include <stdbool.h>

struct weft_job;
struct weft_frame;

/* A set of kinds, which are below 32. */
#define WEFT_KIND(kind) (1u << (kind))

/* What became of a command. */
enum weft_taken {
    WEFT_TAKEN_NOT,  /* it stays in the ring: look again later */
    WEFT_TAKEN,      /* it is done, and its lines are freed */
    WEFT_TAKEN_WRONG /* it cannot be: the job fails */
};

/* What a rank, or the host program (slot 0), waits for. */
struct weft_wait_seen {
    uint32_t slot, kind; /* kind: a weft_wait_kind */
    unsigned long long a, have, need;
};

enum weft_owned { WEFT_OWNS_FRAMES, WEFT_OWNS_COMMANDS, WEFT_OWNS_WAITS }; /* sorts of kinds */

typedef bool weft_service_round(struct weft_job *job);

/* Any function may be NULL. */
struct weft_service {
    /* Adds kinds of notices, before processes know of each other, in the order of the list. */
    weft_status (*open)(struct weft_job *job);
    /* All are connected, services do not run yet. Collective, blocking. */
    weft_status (*meet)(struct weft_job *job);
    /* Before each run of a kernel. Local. Errors: the job fails. */
    weft_status (*launch)(struct weft_job *job);
    /* All members free a group of host programs; this one makes no other before. */
    weft_status (*group_freed)(struct weft_job *job, weft_comm group);
    /* All processes are in weft_close, the services still run. */
    void (*leave)(struct weft_job *job);
    /* Frees all, in the reverse order. Nothing runs any more; also where open or meet failed, or
     * did not come. */
    void (*close)(struct weft_job *job);
    /* By side: a round of its task, under its progress lock. True: it did anything, or will have
     * to. */
    weft_service_round *round[2];
    uint32_t owns[3];     /* sets of kinds that it owns, by weft_owned */
    uint32_t frame_bytes; /* bytes of its frames; 0: it looks itself */
    /* Monitor only. */
    void (*frame)(struct weft_job *job, const struct weft_frame *frame);
    /* Progress task only. `alone`: nothing of the rank's earlier commands is left to be done. */
    enum weft_taken (*command)(struct weft_job *job, uint32_t slot,
                               const struct weft_command *command, bool alone);
    /* "; in task ..." of the number that a rank has as its work. Any thread. */
    void (*works_on)(const struct weft_job *job, uint64_t work, char *text, size_t bytes);
    /* Of a WEFT_TRACE_WORK: its name, and args for JSON ("\"task\":3"). No kernel runs. */
    void (*work_done)(const struct weft_job *job, const struct weft_trace_event *event, char *name,
                      size_t name_bytes, char *args, size_t args_bytes);
    /* "in weft_wait for tag 3: ...". Monitor only, the job's tables locked. */
    void (*waits_for)(const struct weft_job *job, const struct weft_wait_seen *wait, char *text,
                      size_t bytes);
    /* Waits that are no rank's: says those that last, as the watchdog does. Monitor only, now and
     * then, the job's tables locked. */
    void (*watch)(struct weft_job *job, uint64_t now);
};

extern const struct weft_service weft_proxy_service, weft_queues_service, weft_ask_service,
    weft_answer_service, weft_network_service, weft_failure_service, weft_exchange_service,
    weft_memory_service, weft_collective_service, weft_exposure_service, weft_waiting_service,
    weft_text_service, weft_msg_rounds, weft_msg_service, weft_msg_module, weft_ccl_service,
    weft_ccl_module, weft_teams_module, weft_pgas_module, weft_tasks_service, weft_tasks_module;
/* All modules, in the order of their rounds; behind them NULL. The topmost folder lists them
 * (task/modules.c). */
extern const struct weft_service *const weft_services[];

/* Finds who owns a kind; NULL: nobody. */
const struct weft_service *weft_service_owner(enum weft_owned sort, uint32_t kind);
/* Says what a rank was doing, as the module does whose work it is; "" for 0. */
void weft_services_work(const struct weft_job *job, uint64_t work, char *text, size_t bytes);
/* Does all rounds of a side. True: any did anything. */
bool weft_services_round(struct weft_job *job, enum weft_net_side side);
/* Hands a frame to who owns its kind. False: nobody does. */
bool weft_services_frame(struct weft_job *job, const struct weft_frame *frame);

#endif
