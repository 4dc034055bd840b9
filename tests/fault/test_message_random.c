/*
 * fault/test_message_random.c - what random mode finds in programs with messages: receives that
 * wait for each other are a deadlock at once, and a send's buffer that is reused too early shows.
 */
#include "support/expect.h"
#include "weft/message.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { SEEDS = 20 };

static bool waits; /* the sender, before it reuses its buffer */
static int received;

static int both_receive(void *unused)
{
    weft_job *job;
    char byte;

    (void)unused;
    EXPECT(weft_open(&job, NULL, NULL) == WEFT_OK);
    const int other = 1 - weft_numbers_of(job)->process;
    EXPECT(weft_host_receive(job, WEFT_COMM_HOST, other, 1, &byte, 1, NULL) == WEFT_ERR_DEADLOCK);
    EXPECT(weft_close(job) == WEFT_ERR_DEADLOCK);
    return 0;
}

static int reuse(void *unused)
{
    weft_message_op op;
    weft_job *job;
    int value = 42;

    (void)unused;
    EXPECT(weft_open(&job, NULL, NULL) == WEFT_OK);
    if (weft_numbers_of(job)->process == 0) {
        EXPECT(weft_host_send_begin(job, WEFT_COMM_HOST, 1, 0, &value, sizeof(value), &op) ==
               WEFT_OK);
        if (waits)
            EXPECT(weft_host_message_wait(job, &op, NULL) == WEFT_OK);
        value = 0;
        EXPECT(weft_host_message_wait(job, &op, NULL) == WEFT_OK);
    } else {
        EXPECT(weft_host_receive(job, WEFT_COMM_HOST, 0, 0, &received, sizeof(received), NULL) ==
               WEFT_OK);
    }
    EXPECT(weft_close(job) == WEFT_OK);
    return 0;
}

int main(void)
{
    int wrong = 0, early = 0, late = 0;
    char schedule[32];

    for (int seed = 1; seed <= SEEDS; seed++) {
        snprintf(schedule, sizeof(schedule), "random:%d", seed);
        setenv("WEFT_CPU_SCHEDULE", schedule, 1);
        if (seed <= 3)
            wrong |= weft_local_job(2, both_receive, NULL);
        waits = false;
        wrong |= weft_local_job(2, reuse, NULL);
        early += received == 0;
        waits = true;
        wrong |= weft_local_job(2, reuse, NULL);
        late += received == 0;
    }
    printf("%d seeds: received 0 %d times, with the wait %d times\n", SEEDS, early, late);
    wrong |= early == 0 || late != 0;
    printf("%s\n", wrong ? "FAILED" : "all good");
    return wrong;
}
