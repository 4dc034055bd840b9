/*
 * runtime/job/site.h - which process is where. It is known before any device is opened, since a
 * process takes a GPU by its number on its own host.
 */
#ifndef WEFT_RUNTIME_JOB_SITE_H
#define WEFT_RUNTIME_JOB_SITE_H

#include "runtime/job/job.h"

struct weft_site {
    char host[72]; /* name of the host: HOST_NAME_MAX is 64 */
    char boot[40]; /* the kernel's boot id: two hosts may share a name */
    int32_t pid;
    uint32_t kind; /* weft_kind of the device that the process is going to open */
    uint32_t user, reserved;
    uint64_t spaces[2]; /* IDs of its user and PID namespaces; 0: not known */
};

/* Numbers the nodes in the order of each one's first process; returns how many there are. */
int weft_site_nodes(const struct weft_site *all, int processes, int *node);

/*
 * Whether all may open each other's memory through /proc (base/share.h): the same user, in the same
 * namespaces. On one node.
 */
bool weft_site_together(const struct weft_site *all, int processes);

/* Counts processes before this one on its node that open a device of its kind: its turn. */
int weft_site_turn(const struct weft_site *all, int process);

/*
 * The processes tell each other where they are: then job->processes has their nodes, kinds and
 * names, job->together is known, and job->numbers has the nodes. *turn: this process's. Collective,
 * blocking: before the monitor reads the control channel, and after the kind of device is chosen.
 * Errors: MEMORY, SYSTEM, PEER_LOST, PROTOCOL.
 */
weft_status weft_site_meet(struct weft_job *job, int *turn);

#endif
