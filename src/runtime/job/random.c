/*
 * runtime/job/random.c - random mode (device/cpu/random/random.h) and the jobs of this process: it
 * lasts as long as one of them is open, and what it finds concerns them all. The one thread of
 * random mode runs it.
 */
#include "device/cpu/random/random.h"
#include "base/say.h"
#include "boot/local.h"
#include "order/model.h"
#include "order/order.h"
#include "runtime/job/job.h"
#include "runtime/watch/watch.h"

static int joined; /* open jobs that have joined */
static bool begun; /* 1: begun by a job, not by weft_local_job for all its processes */

static void on_race(const char *text, void *argument)
{
    (void)argument;
    for (struct weft_job *job = NULL; (job = weft_watched_next(job)) != NULL;)
        weft_job_fail(job, WEFT_ERR_RACE, "%s", text);
}

weft_status weft_random_join(struct weft_job *job)
{
    uint64_t seed;

    if (weft_config_random(&job->config, &seed)) {
        if (weft_model == NULL && weft_local_here()) /* this process is a thread already */
            return weft_err(WEFT_ERR_CONFIG,
                            "weft_local_job takes random mode from WEFT_CPU_SCHEDULE in the "
                            "environment, not from an option");
        if (weft_model == NULL) {
            WEFT_TRY(weft_random_begin(seed));
            begun = true;
        }
        weft_mutation = weft_order_by_name(job->config.mutate);
    }
    if (weft_model == NULL)
        return WEFT_OK;
    if (joined++ == 0)
        weft_random_on_race(on_race, NULL);
    job->random = true;
    return WEFT_OK;
}

void weft_random_leave(struct weft_job *job)
{
    if (job->random && --joined == 0)
        weft_random_on_race(NULL, NULL);
}

void weft_random_left(void)
{
    if (!begun || joined != 0)
        return;
    weft_random_end();
    begun = false;
    weft_mutation = ORDER_none;
}
