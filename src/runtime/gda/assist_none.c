/* runtime/gda/assist_none.c - a build without libibverbs. It keeps nothing. */
#include "runtime/gda/queues.h"

#include "base/say.h"

const char *weft_assist_missing(const struct weft_job *job)
{
    (void)job;
    return "this weft was built without libibverbs";
}

const char *weft_assist_device(const struct weft_job *job)
{
    return weft_assist_missing(job);
}

void weft_assist_free(struct weft_job *job)
{
    (void)job;
}

weft_status weft_assist_meet(struct weft_job *job, const int *each)
{
    (void)each;
    return weft_err(WEFT_ERR_CONFIG, "%s", weft_assist_missing(job));
}

void *weft_assist_link(const struct weft_job *job, int k, int process)
{
    (void)job, (void)k, (void)process;
    return NULL;
}

const struct weft_softnic_wire weft_assist_wire;
