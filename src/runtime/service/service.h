/*
 * runtime/service/service.h - what a module, here or in a layer above, does for a job: rounds of
 * the progress and receive tasks, frames of the control channel, commands of ranks, and what to say
 * of who waits for it. The runtime knows modules by this table alone.
 *
 * A kind of command and of wait has one owner. A frame goes to all who asked for its kind, in the
 * order in which they were added: so a loss is WEFT_FRAME_LOST.
 */
#ifndef WEFT_RUNTIME_SERVICE_SERVICE_H
#define WEFT_RUNTIME_SERVICE_SERVICE_H

#include "abi/command.h"
#include "net/net.h"
#include "rank/state.h"

#include <stdbool.h>

struct weft_job;
struct weft_frame;

enum { WEFT_SERVICES = 32, WEFT_SERVICE_KINDS = 32 /* of each sort, from 0 on */ };

/* A set of kinds. */
#define WEFT_KIND(kind) (1u << (kind))

/* What became of a command. */
enum weft_taken {
    WEFT_TAKEN_NOT,  /* it stays in the ring: look again later */
    WEFT_TAKEN,      /* and its lines are freed */
    WEFT_TAKEN_WRONG /* it cannot be: the job fails */
};

/* What a rank, or the host program (slot 0), waits for. */
struct weft_wait_seen {
    uint32_t slot, kind; /* kind: a weft_wait_kind */
    unsigned long long a, have, need;
};

enum weft_owned { WEFT_OWNS_COMMANDS, WEFT_OWNS_WAITS }; /* sorts of kinds with one owner */

typedef bool weft_service_round(struct weft_job *job);

struct weft_service {
    /* By side: a round of its task, under its progress lock. True: it did anything, or will have
     * to. */
    weft_service_round *round[2];
    uint32_t frames, owns[2]; /* sets of kinds; owns: by weft_owned */
    uint32_t frame_bytes;     /* that its frames have; 0: it looks itself */
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

/* A job's modules. */
struct weft_services {
    const struct weft_service *list[WEFT_SERVICES];
    const struct weft_service *owner[2][WEFT_SERVICE_KINDS]; /* by weft_owned and kind */
    weft_service_round *round[2][WEFT_SERVICES + 1];         /* by side; behind them NULL */
    uint32_t count, rounds[2];
};

/*
 * Adds one, for the life of the job. By weft_open, or in a collective call before any process can
 * send what is the module's. Errors: STATE (a kind has an owner), LIMIT.
 */
weft_status weft_service_add(struct weft_services *services, const struct weft_service *service);

/* NULL: nobody owns this kind. */
const struct weft_service *weft_service_owner(const struct weft_services *services,
                                              enum weft_owned sort, uint32_t kind);
/* What a rank was doing, as the module says whose work it is; "" for 0. */
void weft_services_work(const struct weft_job *job, uint64_t work, char *text, size_t bytes);
/* All rounds of a side. True: any did anything. */
bool weft_services_round(struct weft_job *job, enum weft_net_side side);
/* False: nobody asked for frames of this kind. */
bool weft_services_frame(struct weft_job *job, const struct weft_frame *frame);

#endif
