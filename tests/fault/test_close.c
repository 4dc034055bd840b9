/*
 * fault/test_close.c - what the host program put is at its target when the job is closed, even if
 * nobody flushed, and however much longer than the network's ring it is.
 */
#include "weft/weft.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROCESSES = 3, BYTES = 4 << 20 };

static unsigned char windows[PROCESSES][BYTES], sources[PROCESSES][BYTES];

static int process_main(void *unused)
{
    weft_job *job;
    weft_win win;

    (void)unused;
    if (weft_open(&job, NULL, NULL) != WEFT_OK)
        return 1;
    const int me = weft_numbers_of(job)->process, next = (me + 1) % PROCESSES;
    const int before = (me + PROCESSES - 1) % PROCESSES;
    memset(windows[me], 0, BYTES);
    memset(sources[me], me + 1, BYTES);
    weft_status status = weft_host_win_create(job, windows[me], BYTES, &win);
    if (status == WEFT_OK)
        status = weft_host_put(job, win, next, 0, sources[me], BYTES);
    if (weft_close(job) != WEFT_OK || status != WEFT_OK)
        return 1;
    size_t there = 0;
    for (size_t i = 0; i < BYTES; i++)
        there += windows[me][i] == before + 1;
    if (there != BYTES)
        printf("FAILED: process %d: %zu of %d bytes are there\n", me, there, BYTES);
    return there != BYTES;
}

int main(void)
{
    setenv("WEFT_PATH", "proxy", 1);
    const int result = weft_local_job(PROCESSES, process_main, NULL);

    printf("%s\n", result == 0 ? "all good" : "FAILED");
    return result;
}
