/*
 * stress/test_planted_race.c - a race between two processes, planted: a rank reads its window while
 * a rank of the other process puts into it, with nothing between them. The test passes if
 * ThreadSanitizer, which sees both processes as threads of one, reports it.
 */
#include "weft/device.h"

#include <stdio.h>

/* Both are at it at once, even if one begins late; what is over before the other begins may be
 * ordered by chance. */
enum { ROUNDS = 100000, WINDOW = 4096, PUT = 64 };

struct data {
    unsigned char *memory;
    uint64_t sum;
};

WEFT_KERNEL(planted, struct data, data)
{
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, data->memory, WINDOW);

    for (int i = 0; i < ROUNDS; i++) {
        if (weft_rank(self, WEFT_COMM_WORLD) == 0)
            weft_put(self, win, 1, 0, data->memory + WINDOW / 2, PUT);
        else
            for (int k = 0; k < PUT; k++)
                data->sum += data->memory[k];
    }
    weft_win_free(self, &win);
}

#ifndef __CUDACC__ /* the host's part */

static int process_main(void *argument)
{
    struct data data = {0};
    weft_job *job;

    (void)argument;
    if (weft_open(&job, NULL, NULL) != WEFT_OK)
        return 1;
    data.memory = weft_malloc(job, WINDOW);
    if (data.memory == NULL || weft_prepare(job, &planted, 1, 1) != WEFT_OK ||
        weft_run(job, &data, sizeof(data), NULL) != WEFT_OK)
        return 1;
    return weft_close(job);
}

int main(void)
{
    const int result = weft_local_job(2, process_main, NULL);
    printf("ran, result %d\n", result);
    return result;
}

#endif
