/*
 * runtime/job/call.h - what a call of the host program begins with: whether it may be made now.
 */
#ifndef WEFT_RUNTIME_JOB_CALL_H
#define WEFT_RUNTIME_JOB_CALL_H

#include "weft/weft.h"

/* This process opens the job. */
void weft_job_here(weft_job *job);

/*
 * Whether there is a job, and this process is the one that opened it, not a child of that. Any
 * thread. `call` is what the error speaks of. Errors: ARGUMENT, STATE.
 */
weft_status weft_job_owned(const weft_job *job, const char *call);

/* And whether it may be made now: the job has not failed, and no kernel runs. Also its error. */
weft_status weft_job_idle(weft_job *job, const char *call);

#endif
