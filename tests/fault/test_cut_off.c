/*
 * fault/test_cut_off.c - a process of a job in which small and large messages and a collective are
 * under way most of the time, until the job fails; it says that it goes on. Not a test by itself:
 * multi/test_hosts.sh cuts it off. Exit code: the status.
 */
#include "weft/message.h"
#include "weft/team.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SMALL = 512, LARGE = 1 << 20, OPS = 4, MOST = 4 /* processes */ };
enum { PAUSE_US = 10000 }; /* between rounds, for whoever else runs here */

/* One of each from every process to the next, and meanwhile a piece of each to all. */
static weft_status one_round(weft_job *job, weft_team *team, char *memory, char *pieces)
{
    const int all = weft_numbers_of(job)->processes, me = weft_numbers_of(job)->process;
    const int next = (me + 1) % all, before = (me + all - 1) % all;
    weft_message_op ops[OPS];
    weft_team_op *collective = NULL;
    weft_status status = weft_team_allgather(team, NULL, LARGE, pieces, &collective);

    for (int i = 0; i < OPS && status == WEFT_OK; i += 2) {
        const size_t bytes = i == 0 ? SMALL : LARGE;
        char *const in = memory + (size_t)i * LARGE;
        status = weft_host_receive_begin(job, WEFT_COMM_HOST, before, i, in, bytes, &ops[i]);
        if (status == WEFT_OK)
            status =
                weft_host_send_begin(job, WEFT_COMM_HOST, next, i, in + LARGE, bytes, &ops[i + 1]);
    }
    if (status == WEFT_OK)
        status = weft_host_message_wait_all(job, ops, OPS, NULL);
    return status == WEFT_OK ? weft_team_wait(&collective) : status;
}

int main(int argc, char **argv)
{
    const int everybody[MOST] = {0, 1, 2, 3};
    weft_job *job;
    weft_comm group;
    weft_team *team = NULL;
    weft_status status = weft_open(&job, &argc, argv);

    if (status != WEFT_OK)
        return (int)status;
    const int all = weft_numbers_of(job)->processes, me = weft_numbers_of(job)->process;
    char *memory = calloc(OPS, LARGE), *pieces = calloc(MOST, LARGE);
    status = all <= MOST && memory != NULL && pieces != NULL
                 ? weft_message_group_take(job, 0, everybody, all, &group)
                 : WEFT_ERR_MEMORY;
    if (status == WEFT_OK)
        status = weft_team_open(job, group, all, me, "all", NULL, &team);
    for (int i = 0; status == WEFT_OK; i++) {
        status = one_round(job, team, memory, pieces);
        if (i % 4 == 3)
            printf(i == 3 ? "ready\n" : "on\n");
        fflush(stdout);
        usleep(PAUSE_US);
    }
    weft_team_close(&team);
    weft_close(job);
    free(pieces);
    free(memory);
    return (int)status;
}
