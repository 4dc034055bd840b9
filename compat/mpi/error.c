/* compat/mpi/error.c - error classes, their texts, and handlers. */
#include "win.h"

#include <stdarg.h>
#include <stdio.h>

/* By their numbers. */
static const char *const classes[] = {
#define WEFT_MPI_ERROR(name, number, text) [number] = "MPI_" #name ": " text,
#include <mpi_errors.def>
};

/* Classes and codes of the program, from MPI_ERR_LASTCODE + 1 on. */
static struct added {
    int error_class;
    char text[MPI_MAX_ERROR_STRING];
} * added;
int weftmpi_last_code = MPI_ERR_LASTCODE;
_Thread_local struct weftmpi_call weftmpi_call;

/* By weft's statuses; of the others MPI_ERR_OTHER, which is not 0. */
static const int class_of[WEFT_STATUS_COUNT] = {
    [WEFT_ERR_BOUNDS] = MPI_ERR_TRUNCATE,
    [WEFT_ERR_RANK] = MPI_ERR_RANK,
    [WEFT_ERR_TAG] = MPI_ERR_TAG,
    [WEFT_ERR_COMM] = MPI_ERR_COMM,
    [WEFT_ERR_MEMORY] = MPI_ERR_NO_MEM,
    [WEFT_ERR_ARGUMENT] = MPI_ERR_ARG,
    [WEFT_ERR_UNSUPPORTED] = MPI_ERR_UNSUPPORTED_OPERATION,
};

struct weftmpi_errhandler *weftmpi_errhandler_of(struct weftmpi_object *object)
{
    LOCKED;
    return weftmpi_hold(object->errhandler);
}

void weftmpi_end_job(int error_class, const char *text)
{
    fprintf(stderr, "weft-mpi: [p%d] %s\n",
            weftmpi.job == NULL ? 0 : weft_numbers_of(weftmpi.job)->process, text);
    if (weftmpi.job != NULL)
        weft_abort(weftmpi.job, text);
    weftmpi_exit(error_class);
}

int weftmpi_fail(int error_class, const char *format, ...)
{
    const char *const name = weftmpi_call.name;
    char text[MPI_MAX_ERROR_STRING];
    va_list list;

    const int used = name == NULL ? 0 : snprintf(text, sizeof(text), "%s: ", name);
    va_start(list, format);
    weftmpi_lock(); /* a name may be among it */
    vsnprintf(text + used, sizeof(text) - (size_t)used, format, list);
    struct weftmpi_object *object = weftmpi_call.on;
    if (object == NULL || object->errhandler == NULL)
        object = &weftmpi_comms[0].object;
    struct weftmpi_errhandler *handler = weftmpi_hold(object->errhandler);
    weftmpi_unlock();
    va_end(list);
    if (handler == NULL || (handler->function == NULL && handler != &weftmpi_errhandlers[1]))
        weftmpi_end_job(error_class, text);
    if (handler->function != NULL) {
        CALLS_BACK;
        MPI_Comm handle = object->handle;
        int code = error_class;
        handler->function(&handle, &code);
    }
    weftmpi_leave(handler);
    return error_class;
}

int weftmpi_raise(weft_status status)
{
    return weftmpi_fail(class_of[status] != 0 ? class_of[status] : MPI_ERR_OTHER, "%s",
                        *weft_error(weftmpi.job) != '\0' ? weft_error(weftmpi.job)
                                                         : weft_status_text(status));
}

int weftmpi_failed_in(struct weftmpi_call call, weft_status status)
{
    CALLS_BACK;
    weftmpi_call = call;
    return weftmpi_failed(status);
}

int weftmpi_no_place(void)
{
    weftmpi_call.on = NULL;
    return weftmpi_fail(MPI_ERR_ARG, "a result at NULL");
}

int weftmpi_check_rank(int rank, int size)
{
    return HOLDS(rank >= 0 && rank < size, MPI_ERR_RANK, "rank %d of %d", rank, size);
}

int weftmpi_not_open(void)
{
    fprintf(stderr, "weft-mpi: %s was called %s\n", weftmpi_call.name,
            weftmpi.ended ? "after MPI_Finalize" : "before MPI_Init");
    weftmpi_exit(MPI_ERR_OTHER);
}

/* ---- classes and codes of the program -------------------------------------------------------- */

/* Returns what a code of the program stands for; NULL: it is none. Locked. */
static struct added *added_at(int code)
{
    return code > MPI_ERR_LASTCODE && code <= weftmpi_last_code
               ? &added[code - MPI_ERR_LASTCODE - 1]
               : NULL;
}

static int class_in(int code, int *error_class)
{
    TRY(PLACES(error_class));
    LOCKED;
    const struct added *at = added_at(code);
    TRY(HOLDS(code >= 0 && (code <= MPI_ERR_LASTCODE || at != NULL), MPI_ERR_ARG, "%d is no code",
              code));
    *error_class = at != NULL ? at->error_class : code;
    return MPI_SUCCESS;
}

/* Adds a code of that class, or a class of its own (0). */
static int add(int error_class, int *code)
{
    TRY(weftmpi_is_open());
    TRY(PLACES(code));
    LOCKED;
    const size_t count = (size_t)(weftmpi_last_code - MPI_ERR_LASTCODE);
    added = weftmpi_room(added, (count + 1) * sizeof(*added));
    *code = ++weftmpi_last_code;
    added[count] = (struct added){.error_class = error_class != 0 ? error_class : *code};
    return MPI_SUCCESS;
}

CALL(Add_error_class, (int *error_class), add(0, error_class))
API(Add_error_code, (int error_class, int *code))
{
    int known;
    OPEN_IN;
    TRY(class_in(error_class, &known));
    return known == error_class ? add(error_class, code)
                                : weftmpi_fail(MPI_ERR_ARG, "%d is no class", error_class);
}

API(Add_error_string, (int code, const char *text))
{
    OPEN_IN;
    OUT(text);
    LOCKED;
    struct added *at = added_at(code);
    TRY(HOLDS(at != NULL, MPI_ERR_ARG, "%d is no code of the program", code));
    snprintf(at->text, sizeof(at->text), "%s", text);
    return MPI_SUCCESS;
}

CALL(Error_class, (int code, int *error_class), class_in(code, error_class))

static int text_in(int code, char *text, int *length)
{
    TRY(PLACES(text, length));
    LOCKED;
    const struct added *at = added_at(code);
    const char *known = at != NULL ? at->text : NULL;
    if (code >= 0 && (size_t)code < sizeof(classes) / sizeof(*classes))
        known = classes[code];
    TRY(HOLDS(known != NULL || (code >= 0 && code <= MPI_ERR_LASTCODE), MPI_ERR_ARG,
              "%d is no code", code));
    *length = known != NULL ? snprintf(text, MPI_MAX_ERROR_STRING, "%s", known)
                            : snprintf(text, MPI_MAX_ERROR_STRING, "error %d", code);
    return MPI_SUCCESS;
}

CALL(Error_string, (int code, char *text, int *length), text_in(code, text, length))

/* ---- handlers -------------------------------------------------------------------------------- */

struct weftmpi_errhandler weftmpi_errhandlers[] = {
    {.object = {.handle = MPI_ERRORS_ARE_FATAL, .references = 1}},
    {.object = {.handle = MPI_ERRORS_RETURN, .references = 1}},
    {.object = {.handle = MPI_ERRORS_ABORT, .references = 1}},
};

static int make(enum weftmpi_kind kind, void (*function)(void), MPI_Errhandler *handle)
{
    TRY(HOLDS(function != NULL, MPI_ERR_ARG, "no function"));
    struct weftmpi_errhandler *handler = weftmpi_make(WEFTMPI_ERRHANDLER, sizeof(*handler));
    handler->kind = kind;
    handler->function = (MPI_Comm_errhandler_function *)function;
    return weftmpi_give(handler, handle);
}

static int set(struct weftmpi_object *object, enum weftmpi_kind kind, MPI_Errhandler handle)
{
    OBJECT_IN(handler, errhandler, WEFTMPI_ERRHANDLER, handle);

    TRY(HOLDS(handler->function == NULL || handler->kind == kind, MPI_ERR_ARG,
              "a handler of other objects"));
    LOCKED;
    weftmpi_hold(handler);
    weftmpi_leave(object->errhandler);
    object->errhandler = handler;
    return MPI_SUCCESS;
}

static int call_handler(int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;

    TRY(text_in(code, text, &length));
    weftmpi_fail(code, "%s", text);
    return MPI_SUCCESS;
}

#define HANDLERS(name, KIND, IN, type)                                                             \
    CALL(name##_create_errhandler,                                                                 \
         (MPI_##name##_errhandler_function * function, MPI_Errhandler * handle),                   \
         make(KIND, (void (*)(void))function, handle))                                             \
    ON(name##_set_errhandler, IN, (type handle, MPI_Errhandler errhandler),                        \
       set(&of->object, KIND, errhandler))                                                         \
    ASK(name##_get_errhandler, IN, type, MPI_Errhandler,                                           \
        weftmpi_errhandler_of(&of->object)->object.handle)                                         \
    ON(name##_call_errhandler, IN, (type handle, int code), ((void)of, call_handler(code)))
HANDLERS(Comm, WEFTMPI_COMM, COMM_IN, MPI_Comm)
HANDLERS(Win, WEFTMPI_WIN, WIN_IN, MPI_Win)

/* Functions of MPI 1 under their old names. */
SAME(Errhandler_create, Comm_create_errhandler)
SAME(Errhandler_set, Comm_set_errhandler)
SAME(Errhandler_get, Comm_get_errhandler)

#define HANDLER_IN(name, handle)                                                                   \
    ENTER;                                                                                         \
    OBJECT_IN(name, errhandler, WEFTMPI_ERRHANDLER, handle)
GIVE_BACK(Errhandler_free, HANDLER_IN, MPI_Errhandler, MPI_ERRHANDLER_NULL, true, MPI_SUCCESS)
