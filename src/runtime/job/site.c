/* runtime/job/site.c - see the header. Opening thread only. */
#include "runtime/job/site.h"

#include "base/say.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool same_node(const struct weft_site *a, const struct weft_site *b)
{
    return strcmp(a->host, b->host) == 0 && strcmp(a->boot, b->boot) == 0;
}

int weft_site_nodes(const struct weft_site *all, int processes, int *node)
{
    int nodes = 0;

    for (int p = 0; p < processes; p++) {
        int q = 0;
        while (!same_node(&all[q], &all[p]))
            q++;
        node[p] = q == p ? nodes++ : node[q];
    }
    return nodes;
}

int weft_site_turn(const struct weft_site *all, int process)
{
    int turn = 0;

    for (int p = 0; p < process; p++)
        turn += same_node(&all[p], &all[process]) && all[p].kind == all[process].kind;
    return turn;
}

bool weft_site_together(const struct weft_site *all, int processes)
{
    bool together = true;

    for (int p = 1; p < processes; p++)
        together = together && all[p].user == all[0].user &&
                   memcmp(all[p].spaces, all[0].spaces, sizeof(all[0].spaces)) == 0;
    return together;
}

static uint64_t namespace_of(const char *file)
{
    struct stat info;

    return stat(file, &info) == 0 ? info.st_ino : 0;
}

static weft_status read_boot_id(char *text, size_t bytes)
{
    static const char name[] = "/proc/sys/kernel/random/boot_id";
    FILE *f = fopen(name, "re");

    if (f == NULL && (errno == ENOENT || errno == EACCES))
        return WEFT_OK; /* then the host's name alone decides */
    if (f == NULL)      /* one that others can read: they would take this host for another */
        return weft_err(WEFT_ERR_SYSTEM, "cannot open %s: %s", name, strerror(errno));
    if (fgets(text, (int)bytes, f) == NULL)
        text[0] = 0;
    fclose(f);
    return WEFT_OK;
}

static weft_status own_site(const struct weft_job *job, struct weft_site *mine)
{
    *mine = (struct weft_site){
        .pid = (int32_t)getpid(),
        .user = (uint32_t)geteuid(),
        .spaces = {namespace_of("/proc/self/ns/user"), namespace_of("/proc/self/ns/pid")}};
    mine->kind = job->device_ops->host_access ? WEFT_KIND_CPU : WEFT_KIND_CUDA;
    if (gethostname(mine->host, sizeof(mine->host) - 1) != 0)
        return weft_err(WEFT_ERR_SYSTEM, "gethostname: %s", strerror(errno));
    return read_boot_id(mine->boot, sizeof(mine->boot));
}

/* One process's frame. */
static weft_status take_site(const struct weft_frame *frame, struct weft_site *all, bool *came)
{
    struct weft_site *site = &all[frame->source];

    if (frame->kind == WEFT_FRAME_LOST)
        return weft_err(WEFT_ERR_PEER_LOST, "process %d was lost while the job started",
                        frame->source);
    if (frame->kind != WEFT_FRAME_SITE || frame->bytes != sizeof(*site) || came[frame->source])
        return weft_err(WEFT_ERR_PROTOCOL,
                        "process %d sent a frame of kind %u with %u bytes while the job started",
                        frame->source, frame->kind, frame->bytes);
    memcpy(site, frame->payload, sizeof(*site));
    site->host[sizeof(site->host) - 1] = 0;
    site->boot[sizeof(site->boot) - 1] = 0;
    if (site->kind != WEFT_KIND_CPU && site->kind != WEFT_KIND_CUDA)
        return weft_err(WEFT_ERR_PROTOCOL, "process %d drives a device of kind %u", frame->source,
                        site->kind);
    came[frame->source] = true;
    return WEFT_OK;
}

/*
 * Gathers all sites. Everybody sees all frames in one order, and sends no other before having
 * these: so only they, and losses, come before they are complete. A stall is said again and again.
 */
static weft_status gather(struct weft_job *job, struct weft_site *all, bool *came)
{
    const double patience = job->config.stall_s > 0 ? job->config.stall_s : 3600;
    weft_status status = WEFT_OK;

    for (int missing = job->numbers.processes; missing > 0 && status == WEFT_OK;) {
        struct weft_frame frame;
        status = weft_control_next(job->control, &frame, (uint64_t)(patience * 1e9));
        if (status == WEFT_ERR_TIMEOUT) {
            weft_say(WEFT_SAY_WARN, "weft_open has waited %g s for %d of %d processes", patience,
                     missing, job->numbers.processes);
            status = WEFT_OK;
        } else if (status == WEFT_OK) {
            status = take_site(&frame, all, came);
            free(frame.payload);
            missing--;
        }
    }
    return status;
}

/* Sets what follows from the sites. */
static void number(struct weft_job *job, const struct weft_site *all, const int *node)
{
    weft_numbers *n = &job->numbers;

    n->node = node[n->process];
    for (int p = 0; p < n->processes; p++) {
        job->processes[p].node = node[p];
        job->processes[p].kind = (weft_kind)all[p].kind;
        n->node_processes += node[p] == n->node;
        n->node_process += node[p] == n->node && p < n->process;
        snprintf(job->processes[p].name, sizeof(job->processes[p].name),
                 "process %d (pid %d on %.40s)", p, (int)all[p].pid, all[p].host);
    }
}

weft_status weft_site_meet(struct weft_job *job, int *turn)
{
    const size_t processes = (size_t)job->numbers.processes;
    WEFT_FREED struct weft_site *all = calloc(processes, sizeof(*all));
    WEFT_FREED bool *came = calloc(processes, sizeof(*came));
    WEFT_FREED int *node = calloc(processes, sizeof(*node));
    struct weft_site mine;

    if (all == NULL || came == NULL || node == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for %zu processes", processes);
    WEFT_TRY(own_site(job, &mine));
    WEFT_TRY(weft_control_send(job->control, WEFT_FRAME_SITE, &mine, sizeof(mine)));
    WEFT_TRY(gather(job, all, came));
    job->numbers.nodes = weft_site_nodes(all, job->numbers.processes, node);
    job->together = weft_site_together(all, job->numbers.processes);
    number(job, all, node);
    *turn = weft_site_turn(all, job->numbers.process);
    return WEFT_OK;
}
