/* compat/dart/tapi.c - the TaskAPI: tasks of weft whose data are global pointers. */
#include "internal.h"

#include <dart_tapi.h>

static bool begun;
static struct dart_tapi_arguments nothing; /* what the kernel's user data is */

dart_ret_t dart_tapi_begin(const weft_task_kernel *kernel, int threads)
{
    TRY_OPEN();
    TRY_PLACES(kernel);
    TRY_WEFT(weft_tasks_begin(weftdart.job, kernel, &nothing, threads, 0));
    begun = true;
    return DART_OK;
}

dart_ret_t dart_tapi_end(void)
{
    TRY_OPEN();
    if (!begun)
        return INVALID("dart_tapi_begin was not called");
    begun = false;
    return weftdart_result(weft_tasks_end(weftdart.job));
}

dart_ret_t weftdart_tapi_close(void)
{
    return begun ? dart_tapi_end() : DART_OK;
}

/* Adds one more piece of data to the task, unless it has no bytes. */
static dart_ret_t add_data(weft_task_desc *desc, dart_gptr_t gptr, size_t bytes,
                           weft_task_mode mode)
{
    weft_gwhere where;

    if (bytes == 0)
        return DART_OK;
    TRY(weftdart_where(gptr, bytes, &where));
    TRY_SEGMENT(segment, gptr.segid);
    if (segment->adopted && segment->team != DART_TEAM_ALL)
        return INVALID("memory that team %d has registered", segment->team);
    desc->data[desc->datas++] = (weft_task_data_desc){
        .win = where.win,
        .place = where.member,
        .offset = where.offset,
        .bytes = bytes,
        .mode = mode,
    };
    return DART_OK;
}

dart_ret_t dart_tapi_task_create(uint32_t body, dart_gptr_t in, size_t in_bytes, dart_gptr_t out,
                                 size_t out_bytes, const dart_tapi_config_t *config, int sync,
                                 dart_tapi_task_t *task)
{
    const bool several = config != NULL && config->calls > 1;
    const struct dart_tapi_arguments arguments = {in_bytes, out_bytes, several ? config->calls : 1};
    weft_task_desc desc = {.body = body,
                           .priority = sync ? 0 : 1,
                           .arguments = &arguments,
                           .arguments_bytes = sizeof(arguments)};

    TRY_OPEN();
    TRY(add_data(&desc, in, in_bytes, WEFT_TASK_IN));
    TRY(add_data(&desc, out, out_bytes, WEFT_TASK_INOUT));
    if (config != NULL) {
        desc.count = config->calls;
        desc.flags = config->where;
    }
    if (!sync)
        return weftdart_result(weft_task_create(weftdart.job, &desc, task));
    TRY_WEFT(weft_task_run(weftdart.job, &desc));
    if (task != NULL)
        *task = (dart_tapi_task_t){0, 0};
    return DART_OK;
}

/* Asks for the end of *task by one of weft's calls; *task becomes none if it has ended. */
static dart_ret_t ask(weft_status (*by)(weft_job *, weft_task_id, weft_task_status *),
                      dart_tapi_task_t *task, int32_t *finished, int32_t *cancelled)
{
    weft_task_status status = WEFT_TASK_DONE;

    TRY(weftdart_open());
    TRY_THERE(task, finished);
    if (task->generation != 0)
        TRY_WEFT(by(weftdart.job, *task, &status));
    *finished = status != WEFT_TASK_QUEUED;
    if (*finished && cancelled != NULL)
        *cancelled = status == WEFT_TASK_CANCELLED;
    if (*finished)
        *task = (dart_tapi_task_t){0, 0};
    return DART_OK;
}

dart_ret_t dart_tapi_task_wait(dart_tapi_task_t *task, int32_t *cancelled)
{
    int32_t finished;

    return NAMED(ask(weft_task_wait, task, &finished, cancelled));
}

CALL(dart_tapi_task_test, (dart_tapi_task_t * task, int32_t *finished, int32_t *cancelled),
     ask(weft_task_test, task, finished, cancelled))

dart_ret_t dart_tapi_task_cancel(dart_tapi_task_t task)
{
    TRY_OPEN();
    return weftdart_result(weft_task_cancel(weftdart.job, task));
}
