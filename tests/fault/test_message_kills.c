/*
 * fault/test_message_kills.c - a process is killed in the middle of messages: while eager ones
 * stream, while a large one is under way, at either end, within a collective, and while it holds a
 * wildcard's match. All others end with PEER_LOST and its name within 10 s, and nothing is left.
 */
#include "support/fault_job.h"
#include "weft/message.h"
#include "weft/team.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROCESSES = 3, LARGE = 4 << 20, SMALL = 512, UNDER_WAY = 4 };

static char *memory; /* of large messages */

static weft_status opened(weft_job **job)
{
    const weft_status status = weft_open(job, NULL, NULL);

    memory = calloc(1, LARGE);
    if (status == WEFT_OK && memory != NULL)
        fault_add(FAULT_WORD_READY);
    return memory != NULL ? status : WEFT_ERR_MEMORY;
}

/* Until it fails: one more message of many, which the parent counts. */
static weft_status stream(weft_job *job, int process, size_t bytes)
{
    weft_status status = WEFT_OK;

    while (status == WEFT_OK && process == 0)
        status = weft_host_send(job, WEFT_COMM_HOST, 1, 1, memory, bytes);
    while (status == WEFT_OK && process == 1) {
        status = weft_host_receive(job, WEFT_COMM_HOST, 0, 1, memory, bytes, NULL);
        fault_add(FAULT_WORD_A);
    }
    return status;
}

/* Process 2 waits for whoever sends. */
static weft_status streaming(weft_job *job, int process, size_t bytes)
{
    return process < 2 ? stream(job, process, bytes)
                       : weft_host_receive(job, WEFT_COMM_HOST, WEFT_ANY, 7, NULL, 0, NULL);
}

static weft_status eager(weft_job *job, int process)
{
    return streaming(job, process, SMALL);
}

static weft_status rendezvous(weft_job *job, int process)
{
    return streaming(job, process, LARGE);
}

/* Process 0 receives from anyone: process 1 sends, and what process 2 sends is never received. */
static weft_status wildcard(weft_job *job, int process)
{
    weft_status status = WEFT_OK;

    if (process == 2)
        return weft_host_send_synchronous(job, WEFT_COMM_HOST, 0, 2, memory, LARGE);
    while (status == WEFT_OK && process == 1)
        status = weft_host_send(job, WEFT_COMM_HOST, 0, 1, memory, LARGE);
    while (status == WEFT_OK && process == 0) {
        weft_message_op op;
        status = weft_host_receive_begin(job, WEFT_COMM_HOST, WEFT_ANY, 1, memory, LARGE, &op);
        if (status == WEFT_OK)
            status = weft_host_message_wait(job, &op, NULL);
        fault_add(FAULT_WORD_A);
    }
    return status;
}

static weft_status collective(weft_job *job, int process)
{
    weft_team *team;
    weft_status status =
        weft_team_open(job, WEFT_COMM_HOST, PROCESSES, process, "all", NULL, &team);

    while (status == WEFT_OK) {
        weft_team_op *op;
        status = weft_team_allgather(team, NULL, LARGE / PROCESSES, memory, &op);
        if (status == WEFT_OK)
            status = weft_team_wait(&op);
        fault_add(FAULT_WORD_A);
    }
    weft_team_close(&team);
    return status;
}

/* ---- the cases ------------------------------------------------------------------------------- */

static const struct kill {
    const char *name;
    weft_status (*traffic)(weft_job *job, int process);
    int victim;
} kills[] = {{"a sender of small messages", eager, 0},
             {"a receiver of small messages", eager, 1},
             {"a sender of large messages", rendezvous, 0},
             {"a receiver of large messages", rendezvous, 1},
             {"a member within a collective", collective, 1},
             {"a wildcard's holder", wildcard, 0}};
static const struct kill *now;

static int body(int process)
{
    weft_job *job;
    weft_status status = opened(&job);

    if (status == WEFT_OK)
        status = now->traffic(job, process);
    weft_close(job);
    free(memory);
    return (int)status;
}

/* Files that a job of ours could have left. */
static int left_behind(void)
{
    DIR *dir = opendir("/dev/shm");
    int count = 0;

    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;)
        count += strstr(e->d_name, "weft") != NULL;
    if (dir != NULL)
        closedir(dir);
    return count;
}

static int run(const struct kill *kill, const char *path)
{
    static struct fault_job job;
    char name[96], victim[32];
    int wrong = 0;

    setenv("WEFT_PATH", path, 1);
    snprintf(name, sizeof(name), "%s, %s", kill->name, path);
    snprintf(victim, sizeof(victim), "process %d", kill->victim);
    now = kill;
    fault_start(&job, PROCESSES, body);
    fault_await(&job);
    while (fault_look(FAULT_WORD_A) < UNDER_WAY && fault_now() - job.started < FAULT_HANG_S)
        fault_says(&job, "", "", 0);
    fault_kill(&job, kill->victim, 0.02);
    const double killed = fault_now() - job.started;
    wrong |= fault_check(fault_wait(&job, FAULT_HANG_S), &job, name, 0, "it had to be ended");
    for (int p = 0; p < PROCESSES; p++) {
        if (p == kill->victim)
            continue;
        wrong |= fault_check(job.status[p] == WEFT_ERR_PEER_LOST, &job, name, p, "its status");
        wrong |= fault_check(strstr(job.text[p], victim) != NULL, &job, name, p, "no name");
        wrong |= fault_check(job.ended[p] - killed < 10 * fault_scale(), &job, name, p, "late");
    }
    wrong |= fault_check(left_behind() == 0, &job, name, 0, "something is left in /dev/shm");
    printf("%s %s\n", wrong ? "FAILED" : "passed", name);
    return wrong;
}

int main(void)
{
    int failed = 0;

    setbuf(stdout, NULL);
    for (size_t i = 0; i < sizeof(kills) / sizeof(kills[0]); i++) {
        failed += run(&kills[i], "auto");
        failed += run(&kills[i], "proxy");
    }
    printf("%d cases failed\n", failed);
    return failed != 0;
}
