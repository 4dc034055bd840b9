/*
 * stalled_receive - a receive with the wrong tag: what weft says of it, and how it ends.
 */
#include <weft/message.h>

#include "report.h"
#include "usage.h"

#include <stdint.h>
#include <stdio.h>

static const char about[] = "A receive with the wrong tag: the stall is reported.";

/* Process 0 sends tag 6, process 1 waits for tag 7; process 0 waits for process 1. */
static int run_stalled_receive(weft_job *job)
{
    uint64_t word = 1;
    weft_status status = WEFT_OK;

    if (weft_numbers_of(job)->processes != 2) {
        printf("stalled_receive: needs two processes: weftrun -n 2\n");
        return 0;
    }
    if (weft_numbers_of(job)->process == 1)
        return weft_host_receive(job, WEFT_COMM_HOST, 0, 7, &word, sizeof(word), NULL) != WEFT_OK;
    status = weft_host_send(job, WEFT_COMM_HOST, 1, 6, &word, sizeof(word));
    if (status == WEFT_OK)
        status = weft_host_receive(job, WEFT_COMM_HOST, 1, 1, &word, sizeof(word), NULL);
    return status != WEFT_OK;
}

int main(int argc, char **argv)
{
    weft_job *job;

    if (weft_open(&job, &argc, argv) != WEFT_OK)
        return 1;
    const int status = argc > 1 ? usage(job, argv[1], about) : run_stalled_receive(job);
    return weft_close(job) != WEFT_OK || !report_flushed() ? 1 : status;
}
