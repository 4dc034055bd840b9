/* runtime/job/tags.c - which tags parts of the program have taken. The same everywhere, without a
 * message: all processes make the same calls. One thread of the program at a time; the job owns the
 * list. */
#include "runtime/job/job.h"

#include <string.h>

/* Whether all of them are (taken), or all are not. */
static bool all_are(const struct weft_job *job, bool taken, int first, int count)
{
    for (int tag = first; tag < first + count; tag++)
        if (job->tags_taken[tag] != taken)
            return false;
    return true;
}

weft_status weft_tags_take(weft_job *job, int count, int *first)
{
    WEFT_TRY(weft_job_owned(job, "weft_tags_take"));
    if (count < 1 || count > WEFT_TAGS || first == NULL)
        return weft_refused(job, WEFT_ERR_ARGUMENT, "weft_tags_take: %d tags (1..%d)%s", count,
                            WEFT_TAGS, first == NULL ? ", first is NULL" : "");
    int at = WEFT_TAGS - count;
    while (at >= 0 && !all_are(job, false, at, count))
        at--;
    if (at < 0)
        return weft_refused(job, WEFT_ERR_LIMIT, "weft_tags_take: no %d tags in a row are left",
                            count);
    memset(job->tags_taken + at, true, (size_t)count);
    *first = at;
    return WEFT_OK;
}

weft_status weft_tags_give(weft_job *job, int first, int count)
{
    WEFT_TRY(weft_job_owned(job, "weft_tags_give"));
    if (count < 1 || first < 0 || first > WEFT_TAGS - count || !all_are(job, true, first, count))
        return weft_refused(job, WEFT_ERR_ARGUMENT,
                            "weft_tags_give: %d tags from %d on, which are not all taken", count,
                            first);
    memset(job->tags_taken + first, false, (size_t)count);
    return WEFT_OK;
}
