/* runtime/job/call.c - see the header. */
#include "runtime/job/call.h"

#include "base/fork.h"
#include "base/say.h"
#include "runtime/job/job.h"

void weft_job_here(struct weft_job *job)
{
    job->forks = weft_forks();
}

weft_status weft_job_owned(const struct weft_job *job, const char *call)
{
    if (job == NULL)
        return weft_err(WEFT_ERR_ARGUMENT, "%s: job is NULL", call);
    if (job->forks != weft_forks())
        return weft_err(WEFT_ERR_STATE,
                        "%s: this process was forked while the job was open, which its parent "
                        "alone may use",
                        call);
    return WEFT_OK;
}

weft_status weft_job_idle(struct weft_job *job, const char *call)
{
    const weft_status status = weft_job_owned(job, call);

    if (status != WEFT_OK)
        return status;
    if (weft_job_status(job) != WEFT_OK)
        return weft_job_status(job);
    if (job->ranks.running)
        return weft_refuse(job, weft_err(WEFT_ERR_STATE, "%s: a kernel runs", call));
    return WEFT_OK;
}
