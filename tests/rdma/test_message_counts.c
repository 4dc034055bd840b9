/*
 * rdma/test_message_counts.c - what an eager message costs over verbs: the work requests of its
 * sender, a job's process. One at most, as header and bytes share a packet, with others even.
 */
#include "net/verbs/state.h"
#include "runtime/job/job.h"

#include <stdio.h>
#include <string.h>
#include <weft/message.h>

enum { MESSAGES = 1000, BYTES = 1024, SKIPPED = 77 };

int main(void)
{
    static unsigned char bytes[BYTES];
    weft_job *job;
    weft_status status = weft_open(&job, NULL, NULL);
    bool wrong = false;

    if (status != WEFT_OK || strcmp(weft_net_name(job->proxy.net), "verbs") != 0)
        return printf("needs a job over verbs\n"), SKIPPED;
    const int me = job->numbers.process;
    const struct weft_verbs_counts *counts = &weft_net_transport(job->proxy.net)->counts;
    for (int i = -1; i < MESSAGES && status == WEFT_OK && !wrong; i++) {
        static unsigned long long before; /* the first message makes the connection */
        memset(bytes, i, BYTES);
        if (me == 0)
            status = weft_host_send(job, WEFT_COMM_HOST, 1, 0, bytes, BYTES);
        else if (me == 1)
            status = weft_host_receive(job, WEFT_COMM_HOST, 0, 0, bytes, BYTES, NULL);
        wrong = bytes[0] != (unsigned char)i || bytes[BYTES - 1] != (unsigned char)i;
        if (status != WEFT_OK || (i != -1 && i != MESSAGES - 1))
            continue;
        if (me == 0) /* an answer: all of them were handed on */
            status = weft_host_receive(job, WEFT_COMM_HOST, 1, 1, NULL, 0, NULL);
        else if (me == 1)
            status = weft_host_send(job, WEFT_COMM_HOST, 0, 1, NULL, 0);
        if (i == -1)
            before = counts->requests;
        else if (me == 0)
            printf("requests per eager message %.2f\n",
                   (double)(counts->requests - before) / MESSAGES);
        wrong |= i != -1 && me == 0 && counts->requests - before > MESSAGES + MESSAGES / 4;
    }
    status = status != WEFT_OK ? status : weft_close(job);
    return status != WEFT_OK || wrong;
}
