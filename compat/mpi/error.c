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

/* Ends the whole job, for an error that is fatal. */
static void die(const char *text, int error_class)
{
    if (weftmpi.job != NULL)
        weft_abort(weftmpi.job, text);
    weftmpi_exit(error_class);
}

struct weftmpi_errhandler *weftmpi_errhandler_of(struct weftmpi_object *object)
{
    LOCKED;
    return weftmpi_hold(object->errhandler);
}

/* Calls the handler of a communicator or window. */
static int raise_error(struct weftmpi_object *object, int error_class, const char *text)
{
    struct weftmpi_errhandler *handler = weftmpi_errhandler_of(object);

    if (handler == NULL || (handler->function == NULL && handler != &weftmpi_errhandlers[1])) {
        fprintf(stderr, "weft-mpi: [p%d] %s\n",
                weftmpi.job == NULL ? 0 : weft_numbers_of(weftmpi.job)->process, text);
        die(text, error_class);
    } else if (handler->function != NULL) {
        MPI_Comm handle = object->handle;
        int code = error_class;
        handler->function(&handle, &code);
    }
    weftmpi_leave(handler);
    return error_class;
}

int weftmpi_fail(void *on, const char *call, int error_class, const char *format, ...)
{
    char text[MPI_MAX_ERROR_STRING];
    va_list list;

    const int used = call == NULL ? 0 : snprintf(text, sizeof(text), "%s: ", call);
    va_start(list, format);
    weftmpi_lock(); /* a name may be among it */
    vsnprintf(text + used, sizeof(text) - (size_t)used, format, list);
    weftmpi_unlock();
    va_end(list);
    struct weftmpi_object *object = on; /* a datatype has no handler */
    if (object == NULL || object->errhandler == NULL)
        object = &weftmpi_comms[0].object;
    return raise_error(object, error_class, text);
}

int weftmpi_raise(void *on, const char *call, weft_status status)
{
    return weftmpi_fail(on, call, class_of[status] != 0 ? class_of[status] : MPI_ERR_OTHER, "%s",
                        *weft_error(weftmpi.job) != '\0' ? weft_error(weftmpi.job)
                                                         : weft_status_text(status));
}

int weftmpi_no_memory(void *on, const char *call)
{
    return weftmpi_fail(on, call, MPI_ERR_NO_MEM, "no memory");
}

int weftmpi_check_rank(void *on, const char *call, int rank, int size)
{
    return rank >= 0 && rank < size
               ? MPI_SUCCESS
               : weftmpi_fail(on, call, MPI_ERR_RANK, "rank %d of %d", rank, size);
}

int weftmpi_not_open(const char *call)
{
    fprintf(stderr, "weft-mpi: %s was called %s\n", call,
            weftmpi.ended ? "after MPI_Finalize" : "before MPI_Init");
    weftmpi_exit(MPI_ERR_OTHER);
}

/* ---- classes and codes of the program -------------------------------------------------------- */

/* What a code of the program stands for; NULL: it is none. Locked. */
static struct added *added_at(int code)
{
    return code > MPI_ERR_LASTCODE && code <= weftmpi_last_code
               ? &added[code - MPI_ERR_LASTCODE - 1]
               : NULL;
}

/* A code of that class, or a class of its own (0). */
static int add(const char *call, int error_class, int *code)
{
    TRY(weftmpi_is_open(call));
    TRY(weftmpi_place_in(call, code));
    LOCKED;
    const size_t count = (size_t)(weftmpi_last_code - MPI_ERR_LASTCODE);
    struct added *more = realloc(added, (count + 1) * sizeof(*added));
    TRY(weftmpi_memory_in(NULL, call, more));
    added = more;
    *code = ++weftmpi_last_code;
    more[count] = (struct added){.error_class = error_class != 0 ? error_class : *code};
    return MPI_SUCCESS;
}

CALL(Add_error_class, (int *error_class), add(__func__, 0, error_class))
API(Add_error_code, (int error_class, int *code))
{
    int known;

    TRY(PMPI_Error_class(error_class, &known));
    return known == error_class
               ? add(__func__, error_class, code)
               : weftmpi_fail(NULL, __func__, MPI_ERR_ARG, "%d is no class", error_class);
}

API(Add_error_string, (int code, const char *text))
{
    TRY(weftmpi_is_open(__func__));
    LOCKED;
    struct added *at = added_at(code);
    if (at == NULL)
        return weftmpi_fail(NULL, __func__, MPI_ERR_ARG, "%d is no code of the program", code);
    snprintf(at->text, sizeof(at->text), "%s", text);
    return MPI_SUCCESS;
}

API(Error_class, (int code, int *error_class))
{
    OUT(error_class);
    LOCKED;
    const struct added *at = added_at(code);
    if (code < 0 || (code > MPI_ERR_LASTCODE && at == NULL))
        return weftmpi_fail(NULL, __func__, MPI_ERR_ARG, "%d is no code", code);
    *error_class = at != NULL ? at->error_class : code;
    return MPI_SUCCESS;
}

API(Error_string, (int code, char *text, int *length))
{
    OUT(text);
    OUT(length);
    LOCKED;
    const struct added *at = added_at(code);
    const char *known = at != NULL ? at->text : NULL;
    if (code >= 0 && (size_t)code < sizeof(classes) / sizeof(*classes))
        known = classes[code];
    if (known == NULL && (code < 0 || code > MPI_ERR_LASTCODE))
        return weftmpi_fail(NULL, __func__, MPI_ERR_ARG, "%d is no code", code);
    *length = known != NULL ? snprintf(text, MPI_MAX_ERROR_STRING, "%s", known)
                            : snprintf(text, MPI_MAX_ERROR_STRING, "error %d", code);
    return MPI_SUCCESS;
}

/* ---- handlers -------------------------------------------------------------------------------- */

struct weftmpi_errhandler weftmpi_errhandlers[] = {
    {.object = {.handle = MPI_ERRORS_ARE_FATAL, .references = 1}},
    {.object = {.handle = MPI_ERRORS_RETURN, .references = 1}},
    {.object = {.handle = MPI_ERRORS_ABORT, .references = 1}},
};

static int make(const char *call, enum weftmpi_kind kind, void (*function)(void),
                MPI_Errhandler *handle)
{
    if (function == NULL)
        return weftmpi_fail(NULL, call, MPI_ERR_ARG, "no function");
    struct weftmpi_errhandler *handler = weftmpi_make(WEFTMPI_ERRHANDLER, sizeof(*handler));
    if (handler != NULL) {
        handler->kind = kind;
        handler->function = (MPI_Comm_errhandler_function *)function;
    }
    return weftmpi_give(call, handler, handle);
}

static int set(const char *call, struct weftmpi_object *object, enum weftmpi_kind kind,
               MPI_Errhandler handle)
{
    OBJECT_ON(object, handler, errhandler, WEFTMPI_ERRHANDLER, call, handle);

    if (handler->function != NULL && handler->kind != kind)
        return weftmpi_fail(object, call, MPI_ERR_ARG, "a handler of other objects");
    LOCKED;
    weftmpi_hold(handler);
    weftmpi_leave(object->errhandler);
    object->errhandler = handler;
    return MPI_SUCCESS;
}

static int call_handler(const char *call, struct weftmpi_object *object, int code)
{
    char text[MPI_MAX_ERROR_STRING], line[MPI_MAX_ERROR_STRING + 64];
    int length;

    TRY(PMPI_Error_string(code, text, &length));
    snprintf(line, sizeof(line), "%s: %s", call, text);
    raise_error(object, code, line);
    return MPI_SUCCESS;
}

#define HANDLERS(name, KIND, IN, type)                                                             \
    CALL(name##_create_errhandler,                                                                 \
         (MPI_##name##_errhandler_function * function, MPI_Errhandler * handle),                   \
         make(__func__, KIND, (void (*)(void))function, handle))                                   \
    ON(name##_set_errhandler, IN, (type handle, MPI_Errhandler errhandler),                        \
       set(__func__, &of->object, KIND, errhandler))                                               \
    ASK(name##_get_errhandler, IN, type, MPI_Errhandler,                                           \
        weftmpi_errhandler_of(&of->object)->object.handle)                                         \
    ON(name##_call_errhandler, IN, (type handle, int code),                                        \
       call_handler(__func__, &of->object, code))
HANDLERS(Comm, WEFTMPI_COMM, COMM_IN, MPI_Comm)
HANDLERS(Win, WEFTMPI_WIN, WIN_IN, MPI_Win)

/* Those of MPI 1. */
SAME(Errhandler_create, Comm_create_errhandler)
SAME(Errhandler_set, Comm_set_errhandler)
SAME(Errhandler_get, Comm_get_errhandler)

API(Errhandler_free, (MPI_Errhandler * handle))
{
    OBJECT_IN(handler, errhandler, WEFTMPI_ERRHANDLER, __func__, *handle);
    weftmpi_leave(handler);
    *handle = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
}
