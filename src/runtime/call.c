/* runtime/call.c - see the header. */
#include "runtime/call.h"

#include "base/say.h"
#include "runtime/job.h"

#include <pthread.h>

/* How often this process, and those it was forked from, were forked since the first job. */
static uint32_t forks;

static void in_the_child(void)
{
    __atomic_store_n(&forks, forks + 1, __ATOMIC_RELAXED); /* it has one thread */
}

static void count_forks(void)
{
    pthread_atfork(NULL, NULL, in_the_child);
}

void weft_job_here(struct weft_job *job)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, count_forks);
    job->forks = __atomic_load_n(&forks, __ATOMIC_RELAXED);
}

weft_status weft_job_owned(const struct weft_job *job, const char *call)
{
    if (job == NULL)
        return weft_err(WEFT_ERR_ARGUMENT, "%s: job is NULL", call);
    if (job->forks != __atomic_load_n(&forks, __ATOMIC_RELAXED))
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
    if (job->running)
        return weft_refuse(job, weft_err(WEFT_ERR_STATE, "%s: a kernel runs", call));
    return WEFT_OK;
}
