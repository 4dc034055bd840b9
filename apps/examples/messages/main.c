/*
 * messages - a farm of tasks: process 0 hands numbers to whoever is free and takes the answers as
 * they come, from any process, with the number as tag. Without a kernel.
 */
#include <weft/message.h>

#include "report.h"
#include "usage.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { TASKS = 200, WORDS = 1 << 14, STOP = TASKS /* a tag that is no task's */ };

static const char about[] = "A farm of tasks, by messages between host programs.";

/* The work: so many numbers, drawn from the task's, which all are sent back with their sum. */
static uint64_t work(uint64_t task, uint64_t *numbers, size_t count)
{
    uint64_t sum = 0, next = task + 1;

    for (size_t i = 0; i < count; i++) {
        next = next * 6364136223846793005u + 1442695040888963407u;
        numbers[i] = next >> 40;
        sum += numbers[i];
    }
    return sum;
}

/* Some tasks have long answers. The last number is the sum. */
static size_t length_of(uint64_t task)
{
    return task % 5 == 0 ? WORDS : 1 + task % 50;
}

static weft_status hand_out(weft_job *job, int to, uint64_t *next)
{
    const int tag = *next < TASKS ? (int)*next : STOP;

    if (*next < TASKS)
        ++*next;
    return weft_host_send(job, WEFT_COMM_HOST, to, tag, NULL, 0);
}

/* Process 0: *wrong answers. */
static weft_status farm(weft_job *job, uint64_t *numbers, uint64_t *wrong)
{
    const int workers = weft_numbers_of(job)->processes - 1;
    uint64_t next = 0, again[WORDS];
    weft_status status = WEFT_OK;

    for (int p = 1; p <= workers && status == WEFT_OK; p++)
        status = hand_out(job, p, &next);
    for (uint64_t done = 0; done < TASKS && status == WEFT_OK; done++) {
        weft_message message;
        status = weft_host_receive(job, WEFT_COMM_HOST, WEFT_ANY, WEFT_ANY, numbers,
                                   (WORDS + 1) * sizeof(*numbers), &message);
        if (status != WEFT_OK)
            return status;
        const uint64_t task = (uint64_t)message.tag;
        const size_t count = length_of(task);
        *wrong += message.bytes != (count + 1) * sizeof(*numbers) ||
                  work(task, again, count) != numbers[count];
        status = hand_out(job, message.from, &next);
    }
    return status;
}

/* The others: until there is no more. */
static weft_status serve(weft_job *job, uint64_t *numbers)
{
    for (;;) {
        weft_message message;
        weft_status status = weft_host_receive(job, WEFT_COMM_HOST, 0, WEFT_ANY, NULL, 0, &message);
        if (status != WEFT_OK || message.tag == STOP)
            return status;
        const size_t count = length_of((uint64_t)message.tag);
        numbers[count] = work((uint64_t)message.tag, numbers, count);
        status = weft_host_send(job, WEFT_COMM_HOST, 0, message.tag, numbers,
                                (count + 1) * sizeof(*numbers));
        if (status != WEFT_OK)
            return status;
    }
}

static int run_messages(weft_job *job)
{
    uint64_t *numbers = malloc((WORDS + 1) * sizeof(*numbers)), wrong = 0;
    weft_status status = numbers != NULL ? WEFT_OK : WEFT_ERR_MEMORY;

    if (weft_numbers_of(job)->processes == 1) {
        fprintf(stderr, "messages: needs two processes: weftrun -n 2\n");
        free(numbers);
        return 2;
    }
    if (status == WEFT_OK)
        status =
            weft_numbers_of(job)->process == 0 ? farm(job, numbers, &wrong) : serve(job, numbers);
    free(numbers);
    if (status != WEFT_OK || weft_numbers_of(job)->process != 0)
        return status != WEFT_OK;
    printf("messages: %d tasks, %" PRIu64 " wrong\n", TASKS, wrong);
    return wrong != 0;
}

int main(int argc, char **argv)
{
    weft_job *job;

    if (weft_open(&job, &argc, argv) != WEFT_OK)
        return 1;
    const int status = argc > 1 ? usage(job, argv[1], about) : run_messages(job);
    return weft_close(job) != WEFT_OK || !report_flushed() ? 1 : status;
}
