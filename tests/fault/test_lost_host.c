/*
 * fault/test_lost_host.c - a process of a job that waits on the control channel until another one is
 * lost, and says which and when. Not a test by itself: multi/test_hosts.sh runs it on several hosts.
 * usage: test_lost_host SECONDS; exit code 3 when somebody was lost, 0 when time was over
 */
#include "base/config.h"
#include "base/task.h"
#include "boot/control.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    const uint64_t wait_ns = (uint64_t)(argc > 1 ? atof(argv[1]) * 1e9 : 0);
    struct weft_config config;
    struct weft_control *control;
    struct weft_frame frame;

    if (weft_config_load(&config, NULL, NULL) != WEFT_OK ||
        weft_control_open(&control, &config) != WEFT_OK)
        return 1;
    printf("ready\n");
    fflush(stdout);
    const weft_status status = weft_control_next(control, &frame, wait_ns);
    const bool lost = status == WEFT_OK && frame.kind == WEFT_FRAME_LOST;
    if (lost)
        printf("process %d was lost\n", frame.source);
    fflush(stdout);
    weft_control_close(control, !lost);
    return lost ? 3 : status == WEFT_ERR_TIMEOUT ? 0 : 1;
}
