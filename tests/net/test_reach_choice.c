/*
 * net/test_reach_choice.c - ranks whose device has no atomic operations on another's memory reach
 * it through the host, though it is mapped; the run says so. Two processes, as threads of this one,
 * on a device that the host cannot reach (support/far_device.h).
 */
#include "runtime/job/job.h"
#include "support/expect.h"
#include "support/far_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* With WEFT_PATH=auto. */
static int direct_if_it_can(void *unused)
{
    weft_job *job;

    (void)unused;
    EXPECT(weft_open(&job, NULL, NULL) == WEFT_OK);
    const int other = 1 - weft_numbers_of(job)->process;
    const bool direct = job->space.state.process_table[other].exposed != NULL;
    EXPECT(direct == !far_watch.no_atomics);
    EXPECT(direct == (job->space.state.signals->proxied == 0));
    EXPECT(weft_close(job) == WEFT_OK);
    return 0;
}

/* With WEFT_PATH=direct. */
static int direct_or_not_at_all(void *unused)
{
    weft_job *job;
    const weft_status status = weft_open(&job, NULL, NULL);

    (void)unused;
    EXPECT(status == (far_watch.no_atomics ? WEFT_ERR_CONFIG : WEFT_OK));
    if (status == WEFT_OK)
        return weft_close(job) != WEFT_OK;
    EXPECT(strstr(weft_error(NULL), "no atomic operations on the memory of that one") != NULL);
    return 0;
}

int main(void)
{
    int wrong = 0;

    for (int without = 0; without < 2; without++) {
        far_watch.no_atomics = without != 0;
        setenv("WEFT_PATH", "auto", 1);
        wrong |= weft_local_job(2, direct_if_it_can, NULL);
        setenv("WEFT_PATH", "direct", 1);
        wrong |= weft_local_job(2, direct_or_not_at_all, NULL);
    }
    printf("%s\n", wrong == 0 ? "all good" : "FAILED");
    return wrong;
}
