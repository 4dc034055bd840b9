/*
 * ends.c - what is said when a process has ended: of the one that failed, also who had ended
 * before, since the job may have missed them. And what is said when one is stopped, or goes on.
 */
#include "weftrun.h"

#include <weft/types.h>

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

enum { LOG_NAME = 300 };

static void ended_before_text(const struct job *job, char text[END_BYTES])
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

static void end_text(const struct job *job, int k, int status, char text[END_BYTES])
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

void verdict_say(struct verdict *verdict, const struct job *job)
{
    const bool unsaid = verdict->cause != CAUSE_NONE && verdict->cause != CAUSE_SAID;

    verdict->due = UINT64_MAX;
    if (!unsaid)
        return;
    verdict->cause = CAUSE_SAID; /* before it is said: that may take long, and come here again */
    if (job->options->verbosity != NORMAL)
        return;
    complain("%s", verdict->why);
    if (verdict->before[0] != 0)
        complain("%s", verdict->before);
}

void verdict_own(struct verdict *verdict, int status)
{
    if (status == 0 || verdict->cause != CAUSE_NONE)
        return;
    verdict->status = status;
    verdict->cause = CAUSE_SAID;
}

/* Where all is to be said, that is now. */
static void take(struct verdict *verdict, const struct job *job, enum cause cause, int status,
                 const char *text)
{
    if (job->options->verbosity == VERBOSE)
        complain("%s", text);
    if (cause <= verdict->cause)
        return;
    verdict->cause = cause;
    verdict->status = status;
    snprintf(verdict->why, sizeof(verdict->why), "%s", text);
    verdict->due = cause == CAUSE_PEER_LOST ? UINT64_MAX : after(VERDICT_S);
    if (cause == CAUSE_SIGNAL)
        verdict_say(verdict, job);
}

bool verdict_end(struct verdict *verdict, const struct job *job, int k, int status)
{
    const bool killed = WIFSIGNALED(status);
    const int result = killed ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    const enum cause cause = result == 0 ? CAUSE_NONE
                             : killed && !sigismember(&verdict->sent, WTERMSIG(status))
                                 ? CAUSE_SIGNAL
                             : result == WEFT_ERR_PEER_LOST ? CAUSE_PEER_LOST
                                                            : CAUSE_STATUS;
    char text[END_BYTES];

    if (result != 0 && verdict->cause == CAUSE_NONE)
        ended_before_text(job, verdict->before);
    end_text(job, k, status, text);
    take(verdict, job, cause, result, text);
    return result != 0;
}

void verdict_host(struct verdict *verdict, const struct job *job, int status, const char *text)
{
    take(verdict, job, CAUSE_SIGNAL, status, text);
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
