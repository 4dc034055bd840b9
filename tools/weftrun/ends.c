/*
 * ends.c - what is said when a process has ended: of the one that failed, also who had ended
 * before, since the job may have missed them. And what is said when one is stopped, or goes on.
 */
#include "weftrun.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

enum { LOG_NAME = 300 };

void ended_before_text(const struct job *job, char text[END_BYTES])
{
    int ended = 0, first = 0;

    for (int k = job->options->processes; k-- > 0;)
        if (!job->processes[k].running) {
            ended++;
            first = k;
        }
    text[0] = 0;
    if (ended == 1)
        snprintf(text, END_BYTES, "process %d had ended before, with status 0", first);
    else if (ended > 1)
        snprintf(text, END_BYTES, "process %d and %d more had ended before, with status 0", first,
                 ended - 1);
}

void end_text(const struct job *job, int k, int status, char text[END_BYTES])
{
    const struct process *process = &job->processes[k];
    const char *on = process->host != NULL ? " on " : "";
    const char *host = process->host != NULL ? process->host->name : "";
    const int pid = (int)process->pid;
    char see[LOG_NAME] = "";

    if (job->options->output_dir != NULL && !job->options->prefix)
        snprintf(see, sizeof(see), "; see %s/process-%d.log", job->options->output_dir, k);
    if (WIFSIGNALED(status))
        snprintf(text, END_BYTES, "process %d (pid %d%s%s) ended by signal %d (%s)%s", k, pid, on,
                 host, WTERMSIG(status), strsignal(WTERMSIG(status)), see);
    else
        snprintf(text, END_BYTES, "process %d (pid %d%s%s) ended with status %d%s", k, pid, on,
                 host, WEXITSTATUS(status), see);
}

/* A process that somebody stops looks like a job that hangs: say so. */
void say_stop(const struct job *job, pid_t pid, int status)
{
    for (int k = 0; k < job->options->processes; k++) {
        struct process *process = &job->processes[k];
        const bool stops = WIFSTOPPED(status);
        if (!process->running || process->pid != pid || stops == process->stopped)
            continue;
        process->stopped = stops;
        if (job->options->verbosity == QUIET)
            continue;
        if (stops)
            complain("process %d (pid %d) is stopped, by signal %d (%s)", k, pid, WSTOPSIG(status),
                     strsignal(WSTOPSIG(status)));
        else
            complain("process %d (pid %d) goes on", k, pid);
    }
}
