/*
 * children.c - nothing stays behind: weftrun and its helpers inherit what their processes have left
 * running (they are subreapers) and kill it.
 */
#include "weftrun.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint64_t CHILDREN_NS = 5000000000; /* for them to die; what cannot is left */

/* SIGKILL to each child of this one, as the kernel lists them. */
static void kill_each(void)
{
    char path[64];
    int pid;

    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    FILE *list = fopen(path, "re");
    if (list == NULL)
        return; /* a kernel without the list: orphans cannot be found */
    while (fscanf(list, "%d", &pid) == 1)
        (void)kill(pid, SIGKILL);
    fclose(list);
}

void children_kill(void)
{
    const uint64_t deadline = weft_now_ns() + CHILDREN_NS;

    /* The death of one may hand over its children: again, until there are none. */
    while (weft_now_ns() < deadline) {
        kill_each();
        const pid_t ended = waitpid(-1, NULL, WNOHANG);
        if (ended < 0)
            break;
        if (ended == 0)
            poll(NULL, 0, 1);
    }
}

void children_end(struct job *job)
{
    children_kill();
    for (int k = 0; k < job->options->processes; k++)
        output_close(&job->processes[k]);
}
