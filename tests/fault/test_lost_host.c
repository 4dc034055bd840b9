/*
 * fault/test_lost_host.c - a process of a job that waits on the control channel until another one
 * is lost, and says which. Not a test by itself: multi/test_hosts.sh and multi/test_pmix.sh run it.
 * usage: test_lost_host SECONDS [JOBS]; so many jobs come before that one. Exit code 3 when
 * somebody was lost, 0 when time was over.
 */
#include "base/config.h"
#include "base/task.h"
#include "boot/control.h"

#include <stdio.h>
#include <stdlib.h>

static weft_status open_job(struct weft_control **control, const struct weft_config *config)
{
    struct weft_config joined = *config; /* anew for each job */
    weft_status status = weft_control_join(control, &joined);

    if (status == WEFT_OK)
        printf("ready\n");
    fflush(stdout);
    return status;
}

int main(int argc, char **argv)
{
    const uint64_t wait_ns = (uint64_t)(argc > 1 ? atof(argv[1]) * 1e9 : 0);
    const int before = argc > 2 ? atoi(argv[2]) : 0;
    struct weft_config config;
    struct weft_control *control;
    struct weft_frame frame;

    if (weft_config_load(&config, NULL, NULL) != WEFT_OK)
        return 1;
    for (int i = 0; i < before; i++) {
        if (open_job(&control, &config) != WEFT_OK)
            return 1;
        weft_control_close(control, true);
    }
    if (open_job(&control, &config) != WEFT_OK)
        return 1;
    const weft_status status = weft_control_next(control, &frame, wait_ns);
    const bool lost = status == WEFT_OK && frame.kind == WEFT_FRAME_LOST;
    if (lost)
        printf("process %d was lost\n", frame.source);
    fflush(stdout);
    weft_control_close(control, !lost);
    return lost ? 3 : status == WEFT_ERR_TIMEOUT ? 0 : 1;
}
