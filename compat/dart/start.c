/* compat/dart/start.c - begins and ends the job, and says errors. */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

struct weftdart_state weftdart;
__thread const char *weftdart_call;

/* ---- errors ---------------------------------------------------------------------------------- */

dart_ret_t weftdart_refuse(dart_ret_t code, const char *format, ...)
{
    static const char *const names[] = {[DART_ERR_INVAL] = "INVAL",
                                        [DART_ERR_NOTFOUND] = "NOTFOUND",
                                        [DART_ERR_NOTINIT] = "NOTINIT",
                                        [DART_ERR_NOMEM] = "NOMEM"};
    char text[400];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fprintf(stderr, "dart: [unit %d] DART_ERR_%s: %s: %s\n",
            weftdart.job != NULL ? weftdart.unit : -1, names[code], weftdart_call, text);
    return code;
}

dart_ret_t weftdart_null(const char *names, const void *const places[])
{
    while (*++places != NULL) /* the first is none of them: PLACES_OF */
        names = strchr(names, ',') + 2;
    return INVALID("%.*s is NULL", (int)strcspn(names, ","), names);
}

dart_ret_t weftdart_open(void)
{
    weft_host_caller(weftdart_call);
    return weftdart.job != NULL
               ? DART_OK
               : weftdart_refuse(DART_ERR_NOTINIT, "not between dart_init and dart_exit");
}

dart_ret_t weftdart_no_memory(void)
{
    return weftdart_refuse(DART_ERR_NOMEM, "no memory in this process");
}

/* By weft's statuses; of the others DART_ERR_OTHER, which is not 0. */
static const dart_ret_t code_of[WEFT_STATUS_COUNT] = {
    [WEFT_ERR_ARGUMENT] = DART_ERR_INVAL,    [WEFT_ERR_BOUNDS] = DART_ERR_INVAL,
    [WEFT_ERR_RANK] = DART_ERR_INVAL,        [WEFT_ERR_TAG] = DART_ERR_INVAL,
    [WEFT_ERR_STATE] = DART_ERR_INVAL,       [WEFT_ERR_MISMATCH] = DART_ERR_INVAL,
    [WEFT_ERR_UNSUPPORTED] = DART_ERR_INVAL, [WEFT_ERR_WINDOW] = DART_ERR_NOTFOUND,
    [WEFT_ERR_COMM] = DART_ERR_NOTFOUND,     [WEFT_ERR_MEMORY] = DART_ERR_NOMEM,
    [WEFT_ERR_LIMIT] = DART_ERR_NOMEM,
};

dart_ret_t weftdart_result(weft_status status)
{
    return status == WEFT_OK || code_of[status] != 0 ? code_of[status] : DART_ERR_OTHER;
}

/* ---- the job --------------------------------------------------------------------------------- */

static void close_tables(void)
{
    weftdart_locality_close();
    weftdart_teams_close();
    weftdart_segments_close();
}

static dart_ret_t open_tables(void)
{
    const weft_numbers *const numbers = weft_numbers_of(weftdart.job);

    weftdart.unit = numbers->process;
    weftdart.units = numbers->processes;
    if (weftdart.units > WEFTDART_UNITS)
        return INVALID("%d units, %d are the most", weftdart.units, WEFTDART_UNITS);
    TRY_WEFT(weft_pgas_open(weftdart.job));
    TRY(weftdart_teams_open());
    return weftdart_locality_open();
}

/* Opens the job, with settings of the library's where the user has made none. */
static dart_ret_t begin_job(int *argc, char ***argv, weft_thread_level level)
{
    static const char *const usual[][2] = {{"WEFT_SEGMENTS", "1024"},
                                           {"WEFT_WINDOWS", "1024"},
                                           {"WEFT_COMMS", "256"},
                                           {"WEFT_HEAP_KERNEL_SHARE", "0"}};

    if (weftdart.job != NULL)
        return INVALID("it was called before");
    weft_host_caller(weftdart_call);
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
        setenv(usual[i][0], usual[i][1], 0);
    TRY_WEFT(weft_open_threads(&weftdart.job, argv == NULL ? NULL : argc,
                               argv == NULL ? NULL : *argv, level));
    const dart_ret_t code = open_tables();
    if (code != DART_OK) {
        weft_abort(weftdart.job, "dart_init failed");
        close_tables();
        weft_close(weftdart.job);
        weftdart.job = NULL;
    }
    return code;
}

CALL(dart_init, (int *argc, char ***argv), begin_job(argc, argv, WEFT_THREAD_SINGLE))

dart_ret_t dart_init_thread(int *argc, char ***argv, dart_thread_support_level_t *provided)
{
    TRY_PLACES(provided);
    TRY(begin_job(argc, argv, WEFT_THREAD_MULTIPLE));
    *provided = DART_THREAD_MULTIPLE;
    return DART_OK;
}

dart_ret_t dart_exit(void)
{
    TRY_OPEN();
    dart_ret_t code = weftdart_tapi_close();
    weft_host_caller(__func__);
    /* All end whole or none; weft_close returns errors that the program has been told, too. */
    if (code == DART_OK)
        code = weftdart_result(weft_host_barrier(weftdart.job));
    close_tables();
    const dart_ret_t closed = weftdart_result(weft_pgas_close(weftdart.job));
    weft_close(weftdart.job);
    weft_host_caller(NULL);
    weftdart.job = NULL;
    return code != DART_OK ? code : closed;
}

bool dart_initialized(void)
{
    return weftdart.job != NULL;
}

void dart_abort(int errorcode)
{
    if (weftdart.job != NULL)
        weft_abort(weftdart.job, "dart_abort");
    fflush(NULL);
    _exit((errorcode & 0xff) == 0 ? 1 : errorcode); /* of which the low byte is told */
}

void dart_config(dart_config_t **config)
{
    static dart_config_t own;

    *config = &own;
}
